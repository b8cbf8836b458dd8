package rules

import (
	"slices"

	"countersign/internal/ijson"
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
	c := &Condition{Pointer: p.ptr, Offset: p.v.Start()}
	faults := r.told()
	if !r.object(p, "a condition", conditionMembers) {
		return c
	}
	form, selection, check := "", "", ""
	for n := range p.v.Members() {
		name := n.Text()
		switch {
		case slices.Contains(formNames, name):
			if form != "" {
				r.fault(p.member(name), "%q beside %q, expected one of them in a condition; put both into an \"all\" or an \"any\"", name, form)
				continue
			}
			form = name
		case slices.Contains(selectionNames, name):
			if selection != "" {
				r.fault(p.member(name), "%q beside %q, expected one selection in a test", name, selection)
				continue
			}
			selection = name
		case slices.Contains(checkNames, name) && check == "":
			check = name
		}
	}
	if form != "" {
		for n := range p.v.Members() {
			name := n.Text()
			if slices.Contains(conditionMembers, name) && !slices.Contains(formNames, name) {
				r.fault(p.member(name), "%q beside %q, expected it in a condition of its own", name, form)
			}
		}
		r.form(c, p.member(form), form)
		return c
	}
	if selection == "" && r.told() == faults {
		if check == "" {
			r.fault(p, "expected a condition: %s, or a test with %s", oneOfNames(formNames), oneOfNames(selectionNames))
		} else {
			r.fault(p, "a test without a selection, expected %s beside %q", oneOfNames(selectionNames), check)
		}
	}
	c.Test = r.test(p, selection, r.told() > faults)
	return c
}

// told counts the faults so far.
func (r *reader) told() int { return len(r.problems) + r.dropped }

func (r *reader) form(c *Condition, p place, form string) {
	switch form {
	case "all":
		c.All = r.parts(p)
	case "any":
		c.Any = r.parts(p)
	case "not":
		c.Not = r.condition(p)
	case "cel":
		if r.jsonIn > 0 {
			r.fault(p, "cel inside a json test, expected a condition without one")
			return
		}
		if !r.built(p, "cel", "cel") {
			return
		}
		if p.v.Kind() != ijson.String {
			r.fault(p, "expected an expression as a text, got %s", kindOf(p.v))
			return
		}
		if c.CEL = p.v.Text(); c.CEL == "" {
			r.fault(p, "an empty expression")
		}
	}
}

func (r *reader) parts(p place) []*Condition {
	if !r.list(p, "conditions", MaxParts) {
		return nil
	}
	parts := make([]*Condition, 0, p.v.Len())
	i := 0
	for v := range p.v.Elements() {
		parts = append(parts, r.condition(p.element(v, i)))
		i++
	}
	return parts
}

// test reads the members of a test. Faulty says that something of it was
// reported already, so that what may follow from it is not.
func (r *reader) test(p place, selection string, faulty bool) *Test {
	t := &Test{}
	if selection != "" {
		t.Select = r.selection(p, selection)
	}
	if m := p.member("fold"); m.v.Exists() {
		if m.v.Kind() != ijson.True {
			r.fault(m, "expected true, got %s; without fold texts are compared exactly", kindOf(m.v))
		}
		t.Fold = true
	}
	before := r.told()
	for n, v := range p.v.Members() {
		name := n.Text()
		if !slices.Contains(checkNames, name) {
			continue
		}
		c := Check{Kind: CheckKind(name), Pointer: p.ptr + "/" + name, Offset: v.Start()}
		r.check(&c, p.member(name))
		t.Checks = append(t.Checks, c)
	}
	if len(t.Checks) == 0 && selection != "" && !faulty {
		r.fault(p, "a selection without a test, expected one of section 3 beside %q: \"present\", \"is\", \"contains\", \"path\" …", selection)
	}
	if r.together(p, t); r.told() == before {
		r.bounds(p, t)
	}
	return t
}

func (r *reader) selection(p place, kind string) Selection {
	s := Selection{Kind: SelectKind(kind)}
	at := p.member(kind)
	if s.Kind == Argv {
		if r.built(at, "argv", "the selection argv") {
			s.Argv = r.argv(at)
		}
	} else {
		s.Pointer = r.pointer(at, s.Kind != Arg)
	}
	if m := p.member("named"); m.v.Exists() {
		if !s.Pointer.Deep() && s.Kind != "" {
			r.fault(m, `named beside a pointer that does not end in **, expected it only where leaves at any depth are selected`)
		}
		s.Named = r.named(m)
	}
	if m := p.member("names"); m.v.Exists() {
		s.Names = true
		switch {
		case m.v.Kind() != ijson.True:
			r.fault(m, "expected true, got %s; without names the values are looked at", kindOf(m.v))
		case s.Kind == Arg || s.Kind == Argv:
			r.fault(m, "names beside %q, expected it beside \"some\" or \"every\"", s.Kind)
		case s.Named != nil:
			r.fault(m, "names beside named, expected one of the two")
		}
	}
	return s
}

func (r *reader) pointer(p place, wild bool) Pointer {
	if p.v.Kind() != ijson.String {
		r.fault(p, "expected a pointer as a text, got %s", kindOf(p.v))
		return Pointer{}
	}
	ptr, err := parsePointer(p.v.Text())
	if err != nil {
		r.fault(p, "%v", err)
		return ptr
	}
	if !wild && ptr.Wild() {
		r.fault(p, "a wildcard in a pointer that names one value; a literal * is ~2 and a literal # is ~3, many values are selected with some or every")
	}
	return ptr
}

func (r *reader) argv(p place) []Pointer {
	if !r.list(p, "pointers", MaxParts) {
		return nil
	}
	seen := map[Scalar]int{}
	var ps []Pointer
	i := 0
	for v := range p.v.Elements() {
		at := p.element(v, i)
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
	if p.v.Kind() == ijson.String {
		r.fault(p, "expected a list of member names, got a text; write [%s], a list of the file cannot stand here", quoted(p.v.Text()))
		return nil
	}
	if !r.list(p, "member names", MaxEntries) {
		return nil
	}
	seen := map[Scalar]int{}
	names := make([]string, 0, p.v.Len())
	i := 0
	for v := range p.v.Elements() {
		at := p.element(v, i)
		switch {
		case v.Kind() != ijson.String:
			r.fault(at, "expected a member name, got %s", kindOf(v))
		case !soundName(v.Text()):
			r.fault(at, "%v", errNoSuchName)
		case r.once(seen, Scalar{Type: TypeString, Text: v.Text()}, at, i):
			names = append(names, v.Text())
		}
		i++
	}
	return names
}
