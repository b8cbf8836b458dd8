// Package looks tells a member's name that only looks like a known one (content
// rules, section 7): it is none of the names known at its place, and equals one
// after simple case folding. Some server would take it for the other.
package looks

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/internal/ijson"
)

// Known are names that rules and settings give members of a value.
type Known struct {
	// Pointers lead to members, segment by segment, decoded. A segment that
	// matches anything is Any.
	Pointers [][]string
	// Anywhere are names at any depth.
	Anywhere []string
}

// Any stands in a pointer of Known for any member or element. It is no name a
// member can have.
const Any = "\x00"

// Names knows the names that members have at each depth. It is not changed once
// it is built.
//
// A place in a value is a state: the schemas that apply there and how far
// the pointers have come. The states are built ahead, each set of them once.
type Names struct {
	anywhere map[string]bool
	folded   map[string]string // folded names of anywhere to the names
	start    *state
}

type state struct {
	members map[string]*state // by exact name: the names known here
	folded  map[string]string // the same names, folded, to the names
	others  *state            // any other member
	element *state
}

// maxStates bounds what a schema that refers to itself in many ways can make of
// its states. Real ones have as many as they have objects.
const maxStates = 2000

var errLooks = errors.New("its members cannot be told apart by name and place")

// New builds the names that a schema gives (nil: none) and those of k.
func New(root *jsonschema.Schema, k Known) (*Names, error) {
	b := builder{pointers: k.Pointers, ids: map[*jsonschema.Schema]int{}, states: map[string]*state{}}
	var at spot
	if root != nil {
		at.schemas = []*jsonschema.Schema{root}
	}
	for i := range k.Pointers {
		at.steps = append(at.steps, stepped{i, 0})
	}
	l := &Names{anywhere: map[string]bool{}, folded: map[string]string{}, start: b.state(at)}
	for _, name := range k.Anywhere {
		l.anywhere[name] = true
		l.folded[ijson.FoldName(name)] = name
	}
	for len(b.todo) > 0 {
		if len(b.states) > maxStates {
			return nil, errLooks
		}
		next := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.fill(next.state, next.at)
	}
	return l, nil
}

// spot is what a state is made of.
type spot struct {
	schemas []*jsonschema.Schema
	steps   []stepped
}

// stepped is a pointer and how many of its segments lie behind.
type stepped struct{ pointer, segment int }

type work struct {
	state *state
	at    spot
}

type builder struct {
	pointers [][]string
	ids      map[*jsonschema.Schema]int
	states   map[string]*state
	todo     []work
}

// state is the state of a set, which may be empty; it is filled in later.
func (b *builder) state(at spot) *state {
	at.schemas = b.closure(at.schemas)
	slices.SortFunc(at.steps, func(x, y stepped) int {
		if x.pointer != y.pointer {
			return x.pointer - y.pointer
		}
		return x.segment - y.segment
	})
	at.steps = slices.Compact(at.steps)
	if len(at.schemas) == 0 && len(at.steps) == 0 {
		return nil
	}
	var key strings.Builder
	for _, s := range at.schemas {
		key.WriteString(strconv.Itoa(b.ids[s]))
		key.WriteByte(',')
	}
	for _, s := range at.steps {
		key.WriteString(strconv.Itoa(s.pointer))
		key.WriteByte('/')
		key.WriteString(strconv.Itoa(s.segment))
		key.WriteByte(';')
	}
	if s, ok := b.states[key.String()]; ok {
		return s
	}
	s := new(state)
	b.states[key.String()] = s
	b.todo = append(b.todo, work{s, at})
	return s
}

// closure adds the schemas that apply to the same value, in a fixed order.
func (b *builder) closure(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{}
	var add func(s *jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		if _, ok := b.ids[s]; !ok {
			b.ids[s] = len(b.ids)
		}
		Beside(s, add)
	}
	for _, s := range schemas {
		add(s)
	}
	return slices.SortedFunc(maps.Keys(seen), func(x, y *jsonschema.Schema) int { return b.ids[x] - b.ids[y] })
}

// fill works out what leads on from a state.
func (b *builder) fill(s *state, at spot) {
	var rest spot // of members without a name of their own, and of elements
	var elements spot
	for _, schema := range at.schemas {
		OfMembers(schema, func(sub *jsonschema.Schema) { rest.schemas = append(rest.schemas, sub) })
		OfElements(schema, func(sub *jsonschema.Schema) { elements.schemas = append(elements.schemas, sub) })
	}
	named := map[string]spot{}
	for _, schema := range at.schemas {
		for name, sub := range schema.Properties {
			p := named[name]
			p.schemas = append(p.schemas, sub)
			named[name] = p
		}
	}
	for _, st := range at.steps {
		segs := b.pointers[st.pointer]
		if st.segment == len(segs) {
			continue
		}
		seg, next := segs[st.segment], stepped{st.pointer, st.segment + 1}
		if seg == Any {
			rest.steps = append(rest.steps, next)
			elements.steps = append(elements.steps, next)
			continue
		}
		p := named[seg]
		p.steps = append(p.steps, next)
		named[seg] = p
		if _, err := strconv.Atoi(seg); err == nil {
			elements.steps = append(elements.steps, next)
		}
	}
	s.members = make(map[string]*state, len(named))
	s.folded = make(map[string]string, len(named))
	for name, p := range named {
		s.folded[ijson.FoldName(name)] = name
		p.schemas = append(p.schemas, rest.schemas...)
		p.steps = append(p.steps, rest.steps...)
		s.members[name] = b.state(p)
	}
	s.others = b.state(rest)
	s.element = b.state(elements)
}

// Alike looks through a value for a member that is none of the known names at
// its place but equals one after case folding, and returns the known name; ""
// where there is none.
func (l *Names) Alike(v ijson.Value) string {
	if len(l.anywhere) == 0 && l.start == nil {
		return ""
	}
	return l.look(v, l.start)
}

func (l *Names) look(v ijson.Value, s *state) string {
	if s == nil {
		if len(l.anywhere) == 0 {
			return ""
		}
		s = new(state)
	}
	for name, value := range v.Members() {
		text := name.Text()
		next, ok := s.members[text]
		if !ok {
			next = s.others
			if !l.anywhere[text] {
				folded := ijson.FoldName(text)
				if near, ok := s.folded[folded]; ok {
					return near
				}
				if near, ok := l.folded[folded]; ok {
					return near
				}
			}
		}
		if near := l.look(value, next); near != "" {
			return near
		}
	}
	for e := range v.Elements() {
		if near := l.look(e, s.element); near != "" {
			return near
		}
	}
	return ""
}
