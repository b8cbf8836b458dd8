package rulestest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

// Bounds of what calls are made from.
const (
	maxBases     = 60 // calls that others are made from
	maxMakeTools = 24 // tools calls are made for
	maxMoved     = 12 // calls that are tried as they are for every tool
	maxVaried    = 6  // calls that every value is tried in
	maxWays      = 48 // ways a value is put into a call
)

// made is a call that was made up.
type made struct {
	tool string
	args *tree
}

// maker makes calls up: such as rules are likely to tell apart, since they hold
// what the rules ask for, what is nearly that, or nothing.
type maker struct {
	sets   []*rules.Set
	only   []string // ids of the rules it is about; nil: all
	server *Server
	seed   uint64
}

func (m *maker) about(r *rules.Rule) bool { return m.only == nil || slices.Contains(m.only, r.ID) }

// names says whether one of the rules is for a tool.
func (m *maker) names(tool string) bool {
	for _, set := range m.sets {
		for _, f := range set.Files {
			for _, r := range f.Rules {
				if m.about(r) && r.Names(tool) {
					return true
				}
			}
		}
	}
	return false
}

// calls gives calls that are likely to tell the two apart: the suite's own, ones
// with each value that the rules ask for in its place, then such at random.
func (m *maker) calls(cases []*engine.Call) func(func(made) bool) {
	return func(yield func(made) bool) {
		tools := m.tools(cases)
		spots := m.spots()
		bases := m.bases(cases, tools, spots)
		for _, b := range bases {
			if !yield(b) {
				return
			}
		}
		for _, b := range bases[:min(len(bases), maxMoved)] {
			for _, tool := range tools {
				if tool != b.tool && !yield(made{tool, b.args}) {
					return
				}
			}
		}
		mine := slices.DeleteFunc(slices.Clone(bases), func(b made) bool { return !m.names(b.tool) })
		if len(mine) == 0 || len(spots) == 0 {
			return
		}
		// The values of one version alone are tried in every way first, then all
		// values in one way after the other.
		for _, fresh := range []bool{true, false} {
			for k := range mine[:min(len(mine), maxVaried)] {
				for way := range maxWays {
					for i := range spots {
						sp := &spots[i]
						if way >= sp.ways() {
							continue
						}
						for n, v := range sp.values {
							if n < sp.fresh != fresh {
								continue
							}
							t := mine[k].args.clone()
							sp.put(t, v, way)
							if !yield(made{mine[k].tool, t}) {
								return
							}
						}
					}
				}
			}
		}
		r := rand.New(rand.NewPCG(m.seed, 0x7e57))
		for {
			b := mine[r.IntN(len(mine))]
			t := b.args.clone()
			for range 1 + r.IntN(3) {
				sp := &spots[r.IntN(len(spots))]
				if len(sp.values) > 0 {
					sp.put(t, sp.values[r.IntN(len(sp.values))], r.IntN(sp.ways()))
				}
			}
			if !yield(made{b.tool, t}) {
				return
			}
		}
	}
}

// tools are those that calls are made for: of the rules, of the cases, of the server, and one that nobody knows.
func (m *maker) tools(cases []*engine.Call) []string {
	var out []string
	add := func(s string) {
		if len(out) < maxMakeTools && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	known := m.server.names()
	for _, set := range m.sets {
		for _, f := range set.Files {
			for _, r := range f.Rules {
				if !m.about(r) {
					continue
				}
				for _, t := range r.Tools {
					if t.Exact() {
						add(t.Text)
						continue
					}
					for _, name := range known {
						if t.Matches(name) {
							add(name)
							break
						}
					}
					if s := globSamples(t.Text, 0)[0]; t.Matches(s) {
						add(s)
					}
				}
			}
		}
	}
	for i := range cases {
		add(cases[i].Tool)
	}
	for _, name := range known {
		add(name)
	}
	if len(out) == maxMakeTools {
		out = out[:maxMakeTools-1]
	}
	add("some_other_tool")
	return out
}

// spot is a place that the rules look at, with values for it.
type spot struct {
	sel    *rules.Selection
	values []*tree
	fresh  int // of them, how many only one version of the rules asks for; they come first
}

// spots are the places that the rules look at.
func (m *maker) spots() []spot {
	var out []spot
	in := map[string]int{} // in how many of the sets a value is
	for _, set := range m.sets {
		from := len(out)
		for _, f := range set.Files {
			w, err := newWritten(f)
			if err != nil {
				continue
			}
			for _, r := range f.Rules {
				if m.about(r) {
					out = append(out, w.spots(r)...)
				}
			}
		}
		seen := map[string]bool{}
		for i := range out[from:] {
			for _, v := range out[from+i].values {
				seen[v.String()] = true
			}
		}
		for v := range seen {
			in[v]++
		}
	}
	for i := range out {
		sp := &out[i]
		var fresh, rest []*tree
		for _, v := range sp.values {
			if in[v.String()] == 1 {
				fresh = append(fresh, v)
			} else {
				rest = append(rest, v)
			}
		}
		sp.values, sp.fresh = append(fresh, rest...), len(fresh)
	}
	return out
}

func (w *written) spots(r *rules.Rule) []spot {
	var out []spot
	w.eachCondition(r, func(c *rules.Condition, _ bool) {
		switch {
		case insideJSON(r, c):
		case c.Test != nil:
			out = append(out, spot{sel: &c.Test.Select, values: w.candidates(c)})
		case c.CEL != "":
			names, values := celCandidates(c.CEL)
			for _, n := range names {
				out = append(out, spot{sel: &rules.Selection{Kind: rules.Arg, Pointer: pointerTo(n)}, values: values})
			}
		}
	})
	return out
}

func pointerTo(name string) rules.Pointer {
	return rules.Pointer{Text: "/" + name, Segments: []rules.Segment{{Kind: rules.Name, Name: name, Index: -1}}}
}

// bases are calls that others are made from: those of the cases, and one with
// what each test asks for.
func (m *maker) bases(cases []*engine.Call, tools []string, spots []spot) []made {
	var out []made
	seen := map[string]bool{}
	add := func(tool string, t *tree) {
		if key := tool + " " + t.String(); len(out) < maxBases && len(key) < maxMade && !seen[key] {
			seen[key] = true
			out = append(out, made{tool, t})
		}
	}
	for _, own := range []bool{true, false} {
		if !own {
			whole := empty()
			for i := range spots {
				if len(spots[i].values) > 0 {
					spots[i].put(whole, spots[i].values[0], 0)
				}
			}
			for _, tool := range tools {
				if m.names(tool) {
					add(tool, whole)
					add(tool, empty())
				}
			}
		}
		for i := range cases {
			c := cases[i]
			if m.names(c.Tool) != own {
				continue
			}
			if !c.Arguments.Exists() {
				add(c.Tool, empty())
			} else if len(c.Arguments.Raw()) < maxMade {
				add(c.Tool, treeOf(c.Arguments))
			}
		}
	}
	for _, tool := range tools {
		add(tool, empty())
	}
	return out
}

// ways are how many ways there are to put a value in a spot.
func (sp *spot) ways() int {
	switch {
	case sp.sel.Kind == rules.Argv:
		return 1 + len(sp.sel.Argv)
	case sp.sel.Names, sp.sel.Pointer.Deep():
		return deepWays + 2*len(sp.sel.Named)
	case sp.sel.Pointer.Wild():
		return 5
	}
	return 2
}

// put puts a value in the spot, in one of its ways.
func (sp *spot) put(t *tree, v *tree, way int) {
	segs := sp.sel.Pointer.Segments
	switch {
	case sp.sel.Kind == rules.Argv:
		if way == 0 {
			words := v
			if v.kind != ijson.Array {
				words = array(v)
			}
			if len(words.kids) > 0 && len(sp.sel.Argv) > 1 {
				t.set(sp.sel.Argv[0].Segments, words.kids[0])
				t.set(sp.sel.Argv[1].Segments, array(words.kids[1:]...))
			} else {
				t.set(sp.sel.Argv[0].Segments, words)
			}
			return
		}
		t.set(sp.sel.Argv[way-1].Segments, v)
	case sp.sel.Names || sp.sel.Pointer.Deep():
		if sp.sel.Pointer.Deep() {
			segs = segs[:len(segs)-1]
		}
		sp.putDeep(t, segs, v, way)
	case sp.sel.Pointer.Wild():
		sp.putWild(t, segs, v, way)
	case way == 1:
		t.set(segs, nil)
	default:
		t.set(segs, v)
	}
}

// putDeep puts a leaf, or a member's name, under a place.
func (sp *spot) putDeep(t *tree, segs []rules.Segment, v *tree, way int) {
	if sp.sel.Names {
		name := strings.Trim(v.String(), `"`)
		if v.kind != 0 || name == "" {
			name = "zz"
		}
		v = scalar("1")
		switch way {
		case 1:
			t.set(segs, member(name, v))
		case 2, 3:
			under(t, segs, "zz", member(name, v))
		default:
			under(t, segs, name, v)
		}
		return
	}
	name, kept := "zz", "zz"
	if len(sp.sel.Named) > 0 {
		kept = sp.sel.Named[0]
		if way >= deepWays {
			name = sp.sel.Named[(way-deepWays)%len(sp.sel.Named)]
		}
	}
	switch way {
	case 0:
		under(t, segs, kept, v)
	case 1:
		t.set(segs, member(kept, v))
	case 2:
		under(t, segs, "zz", v) // beside what named keeps
	case 3:
		under(t, segs, "zz", member(kept, v)) // one more that it keeps
	case 4:
		under(t, segs, wide(kept), v)
	default:
		if way >= deepWays+len(sp.sel.Named) {
			t.set(segs, member(name, v))
			return
		}
		under(t, segs, name, v)
	}
}

// deepWays are the ways to put a value under ** that any name has.
const deepWays = 5

// putWild puts a value where a wildcard stands: alone, beside what is there, or
// takes all away.
func (sp *spot) putWild(t *tree, segs []rules.Segment, v *tree, way int) {
	at := slices.IndexFunc(segs, func(s rules.Segment) bool { return s.Kind != rules.Name })
	head, seg, tail := segs[:at], segs[at], segs[at+1:]
	one := v
	if len(tail) > 0 {
		one = empty()
		one.set(tail, v)
	}
	old := t.at(head)
	switch {
	case way == 1:
		t.set(head, nil)
	case way == 2 && seg.Kind == rules.Any:
		t.set(head, member("a", one))
	case way == 3 && old != nil && old.kind == ijson.Array:
		t.set(head, array(append(slices.Clone(old.kids), one)...))
	case way == 4:
		t.set(head, array())
	case way == 0:
		t.set(head, array(one))
	default:
		t.set(head, array(one, one))
	}
}

// under sets a member of the object at a place, beside what it has.
func under(t *tree, segs []rules.Segment, name string, v *tree) {
	t.set(append(slices.Clone(segs), rules.Segment{Kind: rules.Name, Name: name, Index: -1}), v)
}

// at is the tree at a place, nil where there is none.
func (t *tree) at(segs []rules.Segment) *tree {
	for _, s := range segs {
		i := t.index(s.Name)
		if t.kind == ijson.Array && s.Index >= 0 {
			i = s.Index
		}
		if i < 0 || i >= len(t.kids) {
			return nil
		}
		t = t.kids[i]
	}
	return t
}

// place puts a value where a selection would find it.
func place(t *tree, sel *rules.Selection, v *tree) {
	(&spot{sel: sel}).put(t, v, 0)
}
