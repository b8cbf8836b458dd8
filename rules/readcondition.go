package rules

import (
	"slices"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

var (
	formNames      = []string{"all", "any", "not", "cel"}
	selectionNames = []string{string(Arg), string(Some), string(Every), string(Argv)}
	besideNames    = []string{"named", "names", "fold"}
	checkNames     = []string{
		string(Present), string(OfType), string(Is), string(OneOf), string(Contains), string(StartsWith),
		string(EndsWith), string(Like), string(Matches), string(Finds), string(Length), string(Above),
		string(AtLeast), string(Below), string(AtMost), string(OnlyMembers), string(HasMembers), string(JSON),
		string(Path), string(URL), string(Command), string(Email),
	}
	conditionMembers = slices.Concat(formNames, selectionNames, besideNames, checkNames)
)

// condition reads a condition. It never returns nil, so that reading goes on
// after a fault.
func (r *reader) condition(p place) *Condition {
	c := &Condition{Pointer: p.Pointer, Offset: p.Value.Start()}
	if !r.Object(p, "a condition", conditionMembers) {
		return c
	}
	form, selection, check, unknown := "", "", "", false
	for n := range p.Value.Members() {
		name := n.Text()
		switch {
		case slices.Contains(formNames, name):
			if form != "" {
				r.Fault(p.Member(name), "%q beside %q, expected one of them in a condition; put both into an \"all\" or an \"any\"", name, form)
				continue
			}
			form = name
		case slices.Contains(selectionNames, name):
			if selection != "" {
				r.Fault(p.Member(name), "%q beside %q, expected one selection in a test", name, selection)
				continue
			}
			selection = name
		case slices.Contains(checkNames, name) && check == "":
			check = name
		default:
			unknown = unknown || !slices.Contains(conditionMembers, name)
		}
	}
	if form != "" {
		for n := range p.Value.Members() {
			name := n.Text()
			if slices.Contains(conditionMembers, name) && !slices.Contains(formNames, name) {
				r.Fault(p.Member(name), "%q beside %q, expected it in a condition of its own", name, form)
			}
		}
		r.form(c, p.Member(form), form)
		return c
	}
	if selection == "" && !unknown {
		if check == "" {
			r.Fault(p, "expected a condition: %s, or a test with %s", problem.OneOf(formNames), problem.OneOf(selectionNames))
		} else {
			r.Fault(p, "a test without a selection, expected %s beside %q", problem.OneOf(selectionNames), check)
		}
	}
	c.Test = r.test(p, selection, unknown)
	return c
}

func (r *reader) form(c *Condition, p place, form string) {
	switch form {
	case "all":
		c.All = r.parts(p)
	case "any":
		c.Any = r.parts(p)
	case "not":
		required := r.required
		r.required = false
		c.Not = r.condition(p)
		r.required = required
	case "cel":
		if r.jsonIn > 0 {
			r.Fault(p, "cel inside a json test, expected a condition without one")
			return
		}
		r.expression(c, p)
	}
}

func (r *reader) parts(p place) []*Condition {
	if !r.List(p, "conditions", MaxParts) {
		return nil
	}
	parts := make([]*Condition, 0, p.Value.Len())
	i := 0
	for v := range p.Value.Elements() {
		parts = append(parts, r.condition(p.Element(v, i)))
		i++
	}
	return parts
}

// test reads the members of a test. Unknown says that it has unknown ones, which
// were reported: then that others are missing is not.
func (r *reader) test(p place, selection string, unknown bool) *Test {
	t := &Test{}
	if selection != "" {
		t.Select = r.selection(p, selection)
		t.namedAt = p.Member("named").Value.Start()
	}
	if m := p.Member("fold"); m.Value.Exists() {
		if m.Value.Kind() != ijson.True {
			r.Fault(m, "expected true, got %s; without fold texts are compared exactly", problem.KindOf(m.Value))
		}
		t.Fold, t.foldAt = true, m.Value.Start()
	}
	outer := r.fold
	r.fold = t.Fold
	defer func() { r.fold = outer }()
	for n, v := range p.Value.Members() {
		name := n.Text()
		if !slices.Contains(checkNames, name) {
			continue
		}
		c := Check{Kind: CheckKind(name), Pointer: p.Pointer + "/" + name, Offset: v.Start(), Written: v.Raw()}
		r.check(&c, p.Member(name))
		t.Checks = append(t.Checks, c)
	}
	if len(t.Checks) == 0 && selection != "" && !unknown {
		r.Fault(p, "a selection without a test, expected one beside %q: \"present\", \"is\", \"contains\", \"path\" …", selection)
	}
	r.together(p, t)
	r.bounds(p, t)
	return t
}

func (r *reader) selection(p place, kind string) Selection {
	s := Selection{Kind: SelectKind(kind)}
	at := p.Member(kind)
	if s.Kind == Argv {
		s.Argv = r.argv(at)
	} else {
		s.Pointer = r.pointer(at, s.Kind != Arg)
	}
	if m := p.Member("named"); m.Value.Exists() {
		if !s.Pointer.Deep() && s.Kind != "" {
			r.Fault(m, `named beside a pointer that does not end in **, expected it only where leaves at any depth are selected`)
		}
		s.Named = r.named(m)
	}
	if m := p.Member("names"); m.Value.Exists() {
		s.Names = true
		switch {
		case m.Value.Kind() != ijson.True:
			r.Fault(m, "expected true, got %s; without names the values are looked at", problem.KindOf(m.Value))
		case s.Kind == Arg || s.Kind == Argv:
			r.Fault(m, "names beside %q, expected it beside \"some\" or \"every\"", s.Kind)
		case s.Named != nil:
			r.Fault(m, "names beside named, expected one of the two")
		}
	}
	return s
}

func (r *reader) pointer(p place, wild bool) Pointer {
	if p.Value.Kind() != ijson.String {
		r.Fault(p, "expected a pointer as a text, got %s", problem.KindOf(p.Value))
		return Pointer{}
	}
	ptr, err := parsePointer(p.Value.Text())
	if err != nil {
		r.Fault(p, "%v", err)
		return ptr
	}
	if !wild && ptr.Wild() {
		r.Fault(p, "a wildcard in a pointer that names one value; a literal * is ~2 and a literal # is ~3, many values are selected with some or every")
	}
	return ptr
}

func (r *reader) argv(p place) []Pointer {
	if !r.List(p, "pointers", MaxParts) {
		return nil
	}
	seen := map[Scalar]int{}
	var ps []Pointer
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		ptr := r.pointer(at, false)
		if r.once(seen, Scalar{Type: TypeString, Text: ptr.Text}, at, i) {
			ps = append(ps, ptr)
		}
		i++
	}
	return ps
}

// named reads the member names beside a ** pointer; no list may stand for them.
func (r *reader) named(p place) []string {
	if p.Value.Kind() == ijson.String {
		r.Fault(p, "expected a list of member names, got a text; write [%s], a list of the file cannot stand here", problem.Quoted(p.Value.Text()))
		return nil
	}
	if !r.List(p, "member names", MaxEntries) {
		return nil
	}
	seen := map[Scalar]int{}
	names := make([]string, 0, p.Value.Len())
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		switch {
		case v.Kind() != ijson.String:
			r.Fault(at, "expected a member name, got %s", problem.KindOf(v))
		case !soundName(v.Text()):
			r.Fault(at, "%v", errNoSuchName)
		case r.once(seen, Scalar{Type: TypeString, Text: v.Text()}, at, i):
			names = append(names, v.Text())
		}
		i++
	}
	return names
}
