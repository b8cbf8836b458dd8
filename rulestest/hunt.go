package rulestest

import (
	"context"
	"slices"
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
	maxTelling   = 4   // calls that tell apart, of which the shortest is kept
	contextEvery = 100 // tries between looks at whether to go on
)

// find gives a case that passes with the rules as they are and fails with the
// others, "" where none of so many calls does, and how many were tried.
func (h *hunt) find(ctx context.Context, cases []prepared, tries int) (text string, tried int) {
	h.now = DefaultNow
	type telling struct {
		made
		e *expected
	}
	var found []telling
	mk := maker{sets: []*rules.Set{h.before.set, h.after.set}, server: h.s.Server, seed: h.seed}
	for _, i := range h.c.rules {
		mk.only = append(mk.only, h.s.rules[i].ID)
	}
	var known []*engine.Call
	for i := range cases {
		known = append(known, &cases[i].call)
	}
	for m := range mk.calls(known) {
		if tried == tries || len(found) == maxTelling || tried%contextEvery == 0 && ctx.Err() != nil {
			break
		}
		tried++
		if e := h.tells(m.tool, m.args); e != nil {
			found = append(found, telling{m, e})
		}
	}
	if len(found) == 0 {
		return "", tried
	}
	// A call that the rules can judge says more than a shorter one they cannot.
	var best telling
	for _, m := range found {
		m.args = shrink(m.args, func(t *tree) bool {
			e := h.tells(m.tool, t)
			return e != nil && e.Code == m.e.Code
		})
		if m.e = h.tells(m.tool, m.args); m.e == nil {
			continue
		}
		if best.e == nil || m.e.Code == best.e.Code && len(m.args.String()) < len(best.args.String()) || m.e.Code == "" && best.e.Code != "" {
			best = m
		}
	}
	if best.e == nil {
		return "", tried
	}
	return caseText("tells apart: "+h.c.what, best.tool, best.args.String(), best.e), tried
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
