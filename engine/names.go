package engine

import (
	"slices"

	"countersign/internal/looks"
	"countersign/rules"
)

// Names are the names of members that the rules of a tool speak of: those for the
// look-alike check of section 7 of the content rules that come from rules.
type Names struct {
	// Pointers are those of the tests, into the arguments: each Name among their
	// segments is known at its depth.
	Pointers []rules.Pointer
	// Anywhere are known at any depth: the names of named, onlyMembers and
	// hasMembers, and the constant names in expressions, sorted, none twice.
	Anywhere []string
}

// KnownNames gives the names that the rules for a tool know. It is worked out
// anew each time: the caller keeps it for as long as it keeps the Engine.
func (e *Engine) KnownNames(tool string) Names {
	var n Names
	seen := map[string]bool{}
	pointer := func(p rules.Pointer) {
		if !seen[p.Text] {
			seen[p.Text] = true
			n.Pointers = append(n.Pointers, p)
		}
	}
	for _, r := range e.plans.of(tool).inOrder() {
		for _, c := range []*condition{r.when, r.condition} {
			c.walk(func(t *test) {
				for _, p := range t.pointers() {
					pointer(p)
				}
				n.Anywhere = append(n.Anywhere, t.src.Select.Named...)
				for i := range t.checks {
					n.Anywhere = append(n.Anywhere, t.checks[i].src.Names...)
				}
			})
			n.Anywhere = append(n.Anywhere, c.constants()...)
		}
	}
	slices.Sort(n.Anywhere)
	n.Anywhere = slices.Compact(n.Anywhere)
	return n
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
	c.walk(func(t *test) {
		for _, pointer := range t.pointers() {
			var segs []string
			for _, p := range pointer.Segments {
				switch p.Kind {
				case rules.Name:
					segs = append(segs, p.Name)
				case rules.Any, rules.Element:
					segs = append(segs, looks.Any)
				}
			}
			if len(segs) > 0 {
				k.Pointers = append(k.Pointers, segs)
			}
		}
		k.Anywhere = append(k.Anywhere, t.src.Select.Named...)
		for i := range t.checks {
			k.Anywhere = append(k.Anywhere, t.checks[i].src.Names...)
		}
	})
	return looks.New(nil, k)
}
