package engine

import (
	"slices"

	"countersign/internal/looks"
	"countersign/rules"
)

// KnownNames gives the names of members that the rules for a tool speak of, for the
// look-alike check of section 7 of the content rules: the pointers of their tests
// into the arguments, and at any depth the names of named, onlyMembers and
// hasMembers and the constant names in expressions, sorted, none twice. It is worked
// out anew each time: the caller keeps it for as long as it keeps the Engine.
func (e *Engine) KnownNames(tool string) looks.Known {
	var k looks.Known
	seen := map[string]bool{}
	for _, r := range e.plans.of(tool).inOrder() {
		for _, c := range []*condition{r.when, r.condition} {
			c.walk(func(t *test) { t.speaksOf(&k, seen) })
			k.Anywhere = append(k.Anywhere, c.constants()...)
		}
	}
	slices.Sort(k.Anywhere)
	k.Anywhere = slices.Compact(k.Anywhere)
	return k
}

// speaksOf adds the names of a test, each pointer once.
func (t *test) speaksOf(k *looks.Known, seen map[string]bool) {
	for _, p := range t.pointers() {
		if segs := places(p); len(segs) > 0 && !seen[p.Text] {
			seen[p.Text] = true
			k.Pointers = append(k.Pointers, segs)
		}
	}
	k.Anywhere = append(k.Anywhere, t.src.Select.Named...)
	for i := range t.checks {
		k.Anywhere = append(k.Anywhere, t.checks[i].src.Names...)
	}
}

// places gives a pointer's segments up to where it stands for any depth.
func places(p rules.Pointer) (segs []string) {
	for _, s := range p.Segments {
		switch s.Kind {
		case rules.Name:
			segs = append(segs, s.Name)
		case rules.Any, rules.Element:
			segs = append(segs, looks.Any)
		}
	}
	return segs
}

// pointers are those of a test's selection.
func (t *test) pointers() []rules.Pointer {
	if t.kind == rules.Argv {
		return t.src.Select.Argv
	}
	return []rules.Pointer{t.src.Select.Pointer}
}

// constants are the constant names of members in a condition's expressions.
func (c *condition) constants() []string {
	if c == nil {
		return nil
	}
	if c.form == formCEL {
		return c.src.Program.Names
	}
	var names []string
	for _, p := range c.parts {
		names = append(names, p.constants()...)
	}
	return names
}

// known are the names that a condition's own tests speak of, for the text of a
// json test, which is read as strictly as a call (content rules, section 7).
func (c *condition) known() (*looks.Names, error) {
	var k looks.Known
	seen := map[string]bool{}
	c.walk(func(t *test) { t.speaksOf(&k, seen) })
	return looks.New(nil, k)
}
