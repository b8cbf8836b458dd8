package rulestest

import (
	"slices"
	"strings"

	"countersign/internal/ijson"
	"countersign/rules"
)

// A tool's inputSchema is looked at as far as it says which members and values
// there are; no value is held to it here.

// Bounds of looking through a schema: references can go in circles and alternatives
// multiply.
const (
	maxSchemas     = 256  // schemas that apply to one value
	maxSchemaDepth = 8    // levels of members and elements that are followed
	maxMembers     = 512  // names of members of one value
	maxArguments   = 1000 // places of one tool's arguments, the outermost first
)

// shape is all that a schema says of the value at one place: the schemas that
// apply there, alternatives among them.
type shape struct {
	root    ijson.Value
	schemas []ijson.Value
}

// shapeOf is the shape of a tool's arguments.
func shapeOf(t *Tool) shape {
	s := shape{root: t.Schema}
	s.add(t.Schema)
	return s
}

// add takes in a schema with what it refers to and is made of.
func (s *shape) add(v ijson.Value) {
	if v.Kind() != ijson.Object || len(s.schemas) >= maxSchemas {
		return
	}
	for _, known := range s.schemas {
		if known == v {
			return
		}
	}
	s.schemas = append(s.schemas, v)
	if ref := v.Member("$ref"); ref.Kind() == ijson.String {
		if p, ok := strings.CutPrefix(ref.Text(), "#"); ok {
			if to, err := s.root.Pointer(p); err == nil {
				s.add(to)
			}
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		for e := range v.Member(name).Elements() {
			s.add(e)
		}
	}
	for _, name := range []string{"if", "then", "else"} {
		s.add(v.Member(name))
	}
}

// known says whether anything is said of the value.
func (s shape) known() bool { return len(s.schemas) > 0 }

// open says whether the value may have members, or elements, that the schema says
// nothing more of: whether a pointer that goes on below it may be meant.
func (s *shape) open() bool {
	for _, v := range s.schemas {
		if a := v.Member("additionalProperties"); a.Kind() == ijson.True || a.Kind() == ijson.Object {
			return true
		}
		if v.Member("patternProperties").Len() > 0 {
			return true
		}
	}
	return !s.says("properties") && !s.says("items") && !s.says("prefixItems")
}

func (s *shape) says(name string) bool {
	return slices.ContainsFunc(s.schemas, func(v ijson.Value) bool { return v.Member(name).Exists() })
}

// member is the shape of a member; known is false where no schema names it.
func (s *shape) member(name string) shape {
	out := shape{root: s.root}
	for _, v := range s.schemas {
		out.add(v.Member("properties").Member(name))
	}
	return out
}

// members are the names of the members that the schemas name, in their order, the
// first maxMembers of them.
func (s *shape) members() []string {
	var out []string
	seen := map[string]bool{}
	for _, v := range s.schemas {
		for n := range v.Member("properties").Members() {
			name := n.Text()
			if len(out) == maxMembers {
				return out
			}
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// element is the shape of any element of a list.
func (s *shape) element() shape {
	out := shape{root: s.root}
	for _, v := range s.schemas {
		out.add(v.Member("items"))
		for e := range v.Member("prefixItems").Elements() {
			out.add(e)
		}
		for e := range v.Member("items").Elements() { // as older drafts have it
			out.add(e)
		}
	}
	return out
}

// types are the kinds a value may have; nil where nothing is said.
func (s *shape) types() []string {
	var out []string
	add := func(t string) {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, v := range s.schemas {
		switch t := v.Member("type"); t.Kind() {
		case ijson.String:
			add(t.Text())
		case ijson.Array:
			for e := range t.Elements() {
				add(e.Text())
			}
		default:
			if e, c := v.Member("enum"), v.Member("const"); e.Exists() || c.Exists() {
				for x := range e.Elements() {
					add(kindWord(x))
				}
				if c.Exists() {
					add(kindWord(c))
				}
			} else if !combined(v) {
				return nil // this one lets anything be
			}
		}
	}
	return out
}

// combined: is what a schema says said by the schemas it is made of?
func combined(v ijson.Value) bool {
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if v.Member(name).Exists() {
			return true
		}
	}
	return false
}

func kindWord(v ijson.Value) string {
	switch v.Kind() {
	case ijson.Null:
		return "null"
	case ijson.True, ijson.False:
		return "boolean"
	case ijson.Number:
		if _, whole := v.Int(); whole {
			return "integer"
		}
		return "number"
	case ijson.String:
		return "string"
	case ijson.Array:
		return "array"
	}
	return "object"
}

// enum are the only values a value may have; ok is false where there are others.
func (s *shape) enum() (values []ijson.Value, ok bool) {
	for _, v := range s.schemas {
		e, c := v.Member("enum"), v.Member("const")
		switch {
		case e.Kind() == ijson.Array:
			values = slices.AppendSeq(values, e.Elements())
		case c.Exists():
			values = append(values, c)
		case !combined(v):
			return nil, false
		}
	}
	return values, len(values) > 0
}

// defaultValue is the default of the value, absent where there is none.
func (s *shape) defaultValue() ijson.Value {
	for _, v := range s.schemas {
		if d := v.Member("default"); d.Exists() {
			return d
		}
	}
	return ijson.Value{}
}

// along follows a pointer from the arguments. found is false where the schema has
// no such place and says what there is instead; at is the segment where it ends.
func (s *shape) along(segs []rules.Segment) (to shape, at int, found bool) {
	to = *s
	for i, seg := range segs {
		var next shape
		switch {
		case seg.Kind == rules.Deep:
			return to, i, true
		case seg.Kind == rules.Element:
			next = to.element()
		case seg.Kind == rules.Any:
			next = to.element()
			for _, name := range to.members() {
				m := to.member(name)
				for _, v := range m.schemas {
					next.root = to.root
					next.add(v)
				}
			}
		default:
			if next = to.member(seg.Name); !next.known() && seg.Index >= 0 {
				next = to.element()
			}
		}
		if !next.known() {
			if to.open() {
				return shape{root: s.root}, i, true // nothing is said from here on
			}
			return to, i, false
		}
		to = next
	}
	return to, len(segs), true
}

// argument is one place of a tool's arguments that a schema names.
type argument struct {
	names []string // members on the way; "#" for elements
	shape shape
	needs bool // required, all along the way
}

// name is the last member's.
func (a *argument) name() string {
	for _, n := range slices.Backward(a.names) {
		if n != "#" {
			return n
		}
	}
	return ""
}

// pointer is the place as rules write it.
func (a *argument) pointer() string {
	var b strings.Builder
	for _, n := range a.names {
		b.WriteByte('/')
		if n == "#" {
			b.WriteByte('#')
			continue
		}
		n = strings.ReplaceAll(strings.ReplaceAll(n, "~", "~0"), "/", "~1")
		switch n {
		case "*":
			n = "~2"
		case "#":
			n = "~3"
		case "**":
			n = "~2~2"
		}
		b.WriteString(n)
	}
	return b.String()
}

// arguments are the places that a tool's schema names, outermost first, at most
// maxArguments of them.
func arguments(t *Tool) []argument {
	level := []argument{{shape: shapeOf(t), needs: true}}
	var out []argument
	for depth := 0; depth < maxSchemaDepth && len(level) > 0; depth++ {
		var next []argument
		for i := range level {
			a := &level[i]
			add := func(name string, s shape, needs bool) {
				if len(out)+len(next) < maxArguments {
					next = append(next, argument{append(slices.Clone(a.names), name), s, needs})
				}
			}
			for _, n := range a.shape.members() {
				add(n, a.shape.member(n), a.needs && a.shape.requires(n))
			}
			if e := a.shape.element(); e.known() {
				add("#", e, a.needs)
			}
			if len(out)+len(next) >= maxArguments {
				break
			}
		}
		out = append(out, next...)
		level = next
	}
	return out
}

// requires: must the value have a member of this name?
func (s *shape) requires(name string) bool {
	if len(s.schemas) == 0 {
		return false
	}
	for e := range s.schemas[0].Member("required").Elements() {
		if e.Is(name) {
			return true
		}
	}
	return false
}
