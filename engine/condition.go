package engine

import (
	"fmt"

	"countersign/internal/ijson"
	"countersign/internal/verdict"
	"countersign/rules"
)

// form is which of the conditions of section 2 a condition is.
type form uint8

const (
	formAll form = iota
	formAny
	formNot
	formTest
	formCEL
)

// condition is a compiled condition.
type condition struct {
	form  form
	parts []*condition // of all and any; of not its one
	test  *test
	src   *rules.Condition
}

// test is a compiled test: a selection and the checks on each selected value.
type test struct {
	kind    rules.SelectKind
	sel     *selection
	present bool // the one check is present
	checks  []check
	src     *rules.Test
}

func (c *compiler) condition(src *rules.Condition) (*condition, error) {
	switch {
	case src == nil:
		return nil, nil
	case src.Test != nil:
		t, err := c.test(src)
		return &condition{form: formTest, test: t, src: src}, err
	case src.Not != nil:
		return c.parts(formNot, []*rules.Condition{src.Not}, src)
	case src.All != nil:
		return c.parts(formAll, src.All, src)
	case src.Any != nil:
		return c.parts(formAny, src.Any, src)
	case src.Program != nil:
		return &condition{form: formCEL, src: src}, nil
	}
	return nil, fmt.Errorf("%s: a condition of no form", src.Pointer)
}

func (c *compiler) parts(f form, parts []*rules.Condition, src *rules.Condition) (*condition, error) {
	n := &condition{form: f, src: src}
	for _, p := range parts {
		k, err := c.condition(p)
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, k)
	}
	return n, nil
}

func (c *compiler) test(src *rules.Condition) (*test, error) {
	t := &test{src: src.Test, kind: src.Test.Select.Kind, sel: c.selection(src.Test)}
	switch t.kind {
	case rules.Arg, rules.Some, rules.Every, rules.Argv:
	default:
		return nil, fmt.Errorf("%s: an unknown selection %q", src.Pointer, t.kind)
	}
	for i := range src.Test.Checks {
		k, err := c.check(&src.Test.Checks[i], src.Test.Fold)
		if err != nil {
			return nil, err
		}
		if t.sel.deep && k.src.Kind != rules.OfType && k.src.Kind != rules.Length {
			k.applies &^= kindArray | kindObject // a leaf that is one is empty, and of the wrong kind
		}
		t.checks = append(t.checks, k)
	}
	if len(t.checks) == 0 {
		return nil, fmt.Errorf("%s: a test of nothing", src.Pointer)
	}
	t.present = t.checks[0].src.Kind == rules.Present
	return t, nil
}

// budget is what is left of a file's limits for a call (section 6).
type budget struct {
	values int // to be selected
	steps  int // checks on values
}

// condition holds a condition against a value: a call's arguments. With j.full
// or n every part is judged, so that what is counted does not hang on which part
// settled the result. Once j.over is set no result means anything.
func (j *judging) condition(c *condition, root ijson.Value, n *ConditionTrace) verdict.Result {
	if j.over {
		return verdict.CannotJudge
	}
	var r verdict.Result
	switch c.form {
	case formTest:
		r = j.test(c.test, root, n)
	case formCEL:
		r = j.expression(c.src.Program, n)
	case formNot:
		switch j.condition(c.parts[0], root, n.part(c, 0)) {
		case verdict.Holds:
			r = verdict.Fails
		case verdict.Fails:
			r = verdict.Holds
		default:
			r = verdict.CannotJudge
		}
	default:
		r = j.parts(c, root, n)
	}
	if n != nil {
		n.Result = r
	}
	return r
}

// parts judges an all or an any: settled by a part that fails, or holds; else
// one that cannot be judged, then one that is absent, decides.
func (j *judging) parts(c *condition, root ijson.Value, n *ConditionTrace) verdict.Result {
	settled, otherwise := verdict.Fails, verdict.Holds
	if c.form == formAny {
		settled, otherwise = otherwise, settled
	}
	var is, unjudged, missing bool
	for i, p := range c.parts {
		switch j.condition(p, root, n.part(c, i)) {
		case settled:
			is = true
		case verdict.CannotJudge:
			unjudged = true
		case verdict.Absent:
			missing = true
		}
		if is && !j.full {
			break
		}
	}
	switch {
	case is:
		return settled
	case unjudged:
		return verdict.CannotJudge
	case missing:
		return verdict.Absent
	}
	return otherwise
}

// test selects values and holds them against the checks.
func (j *judging) test(t *test, root ijson.Value, n *ConditionTrace) verdict.Result {
	if t.kind == rules.Argv {
		return j.argv(t, root, n)
	}
	if t.sel.single && root == j.root {
		// No selection is walked where the pointer's own value is all there is.
		if v := j.places[t.sel.at]; v.Exists() {
			return j.selected(t, root, []ijson.Value{v}, n)
		}
		return j.selected(t, root, nil, n)
	}
	base := len(j.values)
	j.values = j.pick(j.values, t.sel, root, j.left.values)
	r := j.selected(t, root, j.values[base:], n)
	j.drop(base)
	return r
}

// argv holds a command test against the texts and lists of texts at its pointers,
// taken together as one list of words.
func (j *judging) argv(t *test, root ijson.Value, n *ConditionTrace) verdict.Result {
	var words []string
	found, sound := false, true
	for _, p := range t.src.Select.Argv {
		v := walk(root, p.Segments)
		if !v.Exists() {
			continue
		}
		found = true
		var ok bool
		words, ok = appendWords(words, v)
		sound = sound && ok
	}
	j.left.values -= max(len(words), 1)
	j.left.steps -= len(t.checks)
	if j.left.values < 0 || j.left.steps < 0 {
		j.over = true
		return verdict.CannotJudge
	}
	o, why := absent, ""
	switch {
	case !found:
	case !sound:
		o, why = cannot, "a value that is no text and no list of texts"
	default:
		o, why = argv(&t.checks[0], words)
	}
	n.argv(t, o, why, len(words))
	return verdict.Result(o)
}

// walk is the one value at a pointer without wildcards.
func walk(v ijson.Value, segs []rules.Segment) ijson.Value {
	for _, s := range segs {
		switch v.Kind() {
		case ijson.Object:
			v = v.Member(s.Name)
		case ijson.Array:
			at, i := ijson.Value{}, 0
			for e := range v.Elements() {
				if i == s.Index {
					at = e
					break
				}
				i++
			}
			v = at
		default:
			return ijson.Value{}
		}
	}
	return v
}

// selected holds the values a test selected against its checks.
func (j *judging) selected(t *test, root ijson.Value, values []ijson.Value, n *ConditionTrace) verdict.Result {
	j.left.values -= len(values)
	j.left.steps -= len(t.checks) * max(len(values), 1)
	if j.left.values < 0 || j.left.steps < 0 {
		j.over = true
		return verdict.CannotJudge
	}
	if n != nil {
		n.Selected = len(values)
	}
	if t.present {
		r := verdict.Fails
		if (len(values) > 0) == t.checks[0].src.Present {
			r = verdict.Holds
		}
		n.present(t, r, values)
		return r
	}
	var seen [wrongKind + 1]bool
	for _, v := range values {
		o := j.value(t, root, v, n)
		seen[o] = true
		if !j.full && (o == holds && t.kind == rules.Some || o == fails && t.kind == rules.Every) {
			break
		}
	}
	switch t.kind {
	case rules.Arg:
		if len(values) == 0 {
			return verdict.Absent
		}
		return t.sel.combine(&seen, cannot, fails, absent, holds)
	case rules.Some:
		return t.sel.combine(&seen, holds, cannot, absent, fails)
	}
	if len(values) == 0 {
		return verdict.Fails
	}
	return t.sel.combine(&seen, fails, cannot, absent, holds)
}

// drop lets the values selected since base go, and with them the call's text.
func (j *judging) drop(base int) {
	clear(j.values[base:])
	j.values = j.values[:base]
}

// combine gives the first of the outcomes, in the order given, that a value had;
// the last where none had any. A value of a wrong kind counts as one that cannot
// be judged, but under ** as none for some (every took it for a failure before).
func (s *selection) combine(seen *[wrongKind + 1]bool, order ...outcome) verdict.Result {
	if seen[wrongKind] && !s.deep {
		seen[cannot] = true
	}
	for _, o := range order {
		if seen[o] {
			return verdict.Result(o)
		}
	}
	return verdict.Result(order[len(order)-1])
}

// value holds one value against all checks of a test. They are taken together as
// all takes its parts; that a check is not for this kind of value comes behind a
// failure and what cannot be judged.
func (j *judging) value(t *test, root, v ijson.Value, n *ConditionTrace) outcome {
	s := subject{v: v, kind: kindOf(v.Kind())}
	var seen [wrongKind + 1]bool
	for i := range t.checks {
		o, _ := j.judge(&t.checks[i], &s)
		if o == wrongKind && t.failsWrong() {
			o = fails
		}
		seen[o] = true
		if o == fails && !j.full {
			break
		}
	}
	o := holds
	switch {
	case seen[fails]:
		o = fails
	case seen[cannot]:
		o = cannot
	case seen[wrongKind]:
		o = wrongKind
	case seen[absent]:
		o = absent
	}
	if n != nil && n.wants(t, o) {
		n.keep(t, j.traceValue(t, root, &s, n.Wanted), o)
	}
	return o
}

// failsWrong: under a pointer that ends in **, every fails by a value of a kind
// that a check does not apply to.
func (t *test) failsWrong() bool { return t.sel.deep && t.kind == rules.Every }
