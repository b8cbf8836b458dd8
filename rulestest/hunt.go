package rulestest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

// hunt looks for a call that tells two versions of some rules apart.
type hunt struct {
	s             *Suite
	w             *written
	c             *change
	before, after *part
	seed          uint64

	doc ijson.Doc
	now time.Time
}

// Bounds of a hunt beside its tries.
const (
	maxBases     = 60  // calls that others are made from
	maxHuntTools = 24  // tools calls are made for
	maxTelling   = 4   // calls that tell apart, of which the shortest is kept
	contextEvery = 100 // tries between looks at whether to go on
)

// made is a call that was made up.
type made struct {
	tool string
	args *tree
}

// find gives a case that passes with the rules as they are and fails with the
// others, "" where none of so many calls does, and how many were tried.
func (h *hunt) find(ctx context.Context, cases []prepared, tries int) (text string, tried int) {
	h.now = DefaultNow
	var found []made
	var last *tree
	for m := range h.calls(cases) {
		if tried == tries || len(found) == maxTelling || tried%contextEvery == 0 && ctx.Err() != nil {
			break
		}
		tried++
		if h.tells(m.tool, m.args) != nil {
			found = append(found, m)
			last = m.args
		}
	}
	if last == nil {
		return "", tried
	}
	var best made
	for _, m := range found {
		m.args = shrink(m.args, func(t *tree) bool { return h.tells(m.tool, t) != nil })
		if best.args == nil || len(m.args.String()) < len(best.args.String()) {
			best = m
		}
	}
	e := h.tells(best.tool, best.args)
	if e == nil {
		return "", tried
	}
	return caseText("tells apart: "+h.c.what, best.tool, best.args.String(), e), tried
}

// tells gives the expectation that a call meets with the rules as they are and
// not with the others, nil where they treat it alike.
func (h *hunt) tells(tool string, args *tree) *expected {
	call, ok := h.s.readCall(tool, args.append(nil), &h.doc, h.now)
	if !ok {
		return nil
	}
	a, b := h.before.says(call, true), h.after.says(call, true)
	if sameOutcome(&a, &b) {
		return nil
	}
	d := h.s.engine.Explain(call)
	base := h.s.outcome(&Judged{Decision: d})
	if overBudget(&base) {
		return nil
	}
	other := instead(&base, h.s.appliedOf(&d), h.after.rules, &b)
	return h.s.telling(&base, &other)
}

func sameOutcome(a, b *outcome) bool {
	return slices.Equal(a.refused, b.refused) && slices.Equal(a.watched, b.watched) && (a.applied == 0) == (b.applied == 0)
}

// telling is an expectation that one outcome meets and another does not, nil where
// none can say the difference.
func (s *Suite) telling(a, b *outcome) *expected {
	var all []expected
	if len(a.refused) == 0 {
		all = append(all, expected{Expect: &Expect{Allowed: true}, unruled: a.applied == 0})
		for _, w := range a.watched {
			all = append(all, expected{Expect: &Expect{Watched: s.rules[w.rule].ID}, watched: w.rule})
		}
	}
	refused := func(of []saying, code engine.Code, only bool) {
		e := expected{Expect: &Expect{Only: only}, code: code}
		if code != engine.Condition {
			e.Code = string(code)
		}
		for _, x := range of {
			if x.code == code {
				e.Refused = append(e.Refused, s.rules[x.rule].ID)
				e.refused = append(e.refused, x.rule)
			}
		}
		if len(e.refused) > 0 {
			all = append(all, e)
		}
	}
	for _, x := range a.refused {
		refused([]saying{x}, x.code, false)
	}
	refused(a.refused, engine.Condition, true)
	refused(a.refused, engine.CannotJudge, true)
	for i := range all {
		if all[i].met(a) == "" && all[i].met(b) != "" {
			return &all[i]
		}
	}
	return nil
}

// caseText is a case as a test file has it.
func caseText(name, tool, args string, e *expected) string {
	return object("name", quote(name), "call", object("tool", quote(tool), "arguments", args), "expect", e.text(), "unruled", boolText(e.unruled))
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return ""
}

// text is an expectation as a test file has it.
func (e *expected) text() string {
	switch {
	case e.Unreadable:
		return `{"unreadable": true}`
	case e.Allowed:
		return `"allowed"`
	case e.Watched != "":
		return object("watched", quote(e.Watched))
	}
	ids := quote(e.Refused[0])
	if len(e.Refused) > 1 {
		q := make([]string, len(e.Refused))
		for i, id := range e.Refused {
			q[i] = quote(id)
		}
		ids = list(q...)
	}
	code := ""
	if e.Code != "" {
		code = quote(e.Code)
	}
	return object("refused", ids, "code", code, "only", boolText(e.Only))
}

// calls gives calls that are likely to tell the two apart: the suite's own, ones
// with each value that the rules ask for in its place, then such at random.
func (h *hunt) calls(cases []prepared) func(func(made) bool) {
	return func(yield func(made) bool) {
		tools := h.tools(cases)
		spots := h.spots()
		bases := h.bases(cases, tools, spots)
		for _, b := range bases {
			if !yield(b) {
				return
			}
		}
		for _, b := range bases {
			for _, tool := range tools {
				if tool != b.tool && !yield(made{tool, b.args}) {
					return
				}
			}
		}
		mine := slices.DeleteFunc(slices.Clone(bases), func(b made) bool { return !h.before.names(b.tool) && !h.after.names(b.tool) })
		if len(mine) == 0 || len(spots) == 0 {
			return
		}
		for i := range spots {
			sp := &spots[i]
			for _, v := range sp.values {
				for k := range mine[:min(len(mine), 6)] {
					b := mine[k]
					for how := range sp.ways() {
						t := b.args.clone()
						sp.put(t, v, how)
						if !yield(made{b.tool, t}) {
							return
						}
					}
				}
			}
		}
		r := rand.New(rand.NewPCG(h.seed, 0x7e57))
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

// tools are those that calls are made for: of the two versions of the rules, of
// the cases, of the server, and one that nobody knows.
func (h *hunt) tools(cases []prepared) []string {
	var out []string
	add := func(s string) {
		if len(out) < maxHuntTools && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	known := h.s.Server.names()
	for _, p := range []*part{h.before, h.after} {
		for _, f := range p.set.Files {
			for _, r := range f.Rules {
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
		add(cases[i].call.Tool)
	}
	for _, name := range known {
		add(name)
	}
	if len(out) == maxHuntTools {
		out = out[:maxHuntTools-1]
	}
	add("some_other_tool")
	return out
}

// spot is a place that the rules look at, with values for it.
type spot struct {
	sel    *rules.Selection
	values []*tree
}

// spots are the places of both versions of the rules.
func (h *hunt) spots() []spot {
	var out []spot
	ids := h.ids()
	for _, p := range []*part{h.before, h.after} {
		for _, f := range p.set.Files {
			w, err := newWritten(f)
			if err != nil {
				continue
			}
			for _, r := range f.Rules {
				if !slices.Contains(ids, r.ID) {
					continue
				}
				w.eachCondition(r, func(c *rules.Condition, _ bool) {
					switch {
					case insideJSON(r, c):
					case c.Test != nil:
						out = append(out, spot{&c.Test.Select, w.candidates(c)})
					case c.CEL != "":
						names, values := celCandidates(c.CEL)
						for _, n := range names {
							out = append(out, spot{&rules.Selection{Kind: rules.Arg, Pointer: pointerTo(n)}, values})
						}
					}
				})
			}
		}
	}
	return out
}

func (h *hunt) ids() []string {
	var out []string
	for _, i := range h.c.rules {
		out = append(out, h.s.rules[i].ID)
	}
	return out
}

func pointerTo(name string) rules.Pointer {
	return rules.Pointer{Text: "/" + name, Segments: []rules.Segment{{Kind: rules.Name, Name: name, Index: -1}}}
}

// bases are calls that others are made from: those of the cases, and one with
// what each test asks for.
func (h *hunt) bases(cases []prepared, tools []string, spots []spot) []made {
	var out []made
	seen := map[string]bool{}
	add := func(tool string, t *tree) {
		if key := tool + " " + t.String(); len(out) < maxBases && len(key) < maxMade && !seen[key] {
			seen[key] = true
			out = append(out, made{tool, t})
		}
	}
	mine := func(tool string) bool { return h.before.names(tool) || h.after.names(tool) }
	for _, own := range []bool{true, false} {
		if !own {
			whole := empty()
			for i := range spots {
				if len(spots[i].values) > 0 {
					spots[i].put(whole, spots[i].values[0], 0)
				}
			}
			for _, tool := range tools {
				if mine(tool) {
					add(tool, whole)
					add(tool, empty())
				}
			}
		}
		for i := range cases {
			c := &cases[i].call
			if mine(c.Tool) != own {
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
		return 4 + len(sp.sel.Named)
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
		case 2:
			under(t, segs, "zz", member(name, v))
		default:
			under(t, segs, name, v)
		}
		return
	}
	name := "zz"
	if len(sp.sel.Named) > 0 && way >= 4 {
		name = sp.sel.Named[way-4]
	}
	switch way {
	case 0:
		if len(sp.sel.Named) > 0 {
			name = sp.sel.Named[0]
		}
		under(t, segs, name, v)
	case 1:
		if len(sp.sel.Named) > 0 {
			name = sp.sel.Named[0]
		}
		t.set(segs, member(name, v))
	case 2:
		under(t, segs, "zz", v) // beside what named keeps
	case 3:
		if len(sp.sel.Named) > 0 {
			name = wide(sp.sel.Named[0])
		}
		under(t, segs, name, array(v, text("x")))
	default:
		under(t, segs, name, v)
	}
}

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
