package rulestest

import (
	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/verdict"
	"countersign/rules"
)

// Coverage is what the cases of a suite reached of its rules.
type Coverage struct {
	Rules []RuleCoverage // of all files, in order
	// Unmeasured counts list entries that were not looked at one by one, since
	// there were more than maxProbes. They count as not reached.
	Unmeasured int
}

// RuleCoverage is what reached one rule. Counts are of calls.
type RuleCoverage struct {
	File *rules.File
	Rule *rules.Rule
	// Refused counts calls its condition refuses, or would; CannotJudge those that
	// it cannot judge or that are over its budget.
	Applied, Refused, Passed, CannotJudge int64

	Tools      []EntryCoverage
	Conditions []ConditionCoverage // in the order of the file

	canPass, canRefuse bool
}

// ConditionCoverage is what was seen of one condition.
type ConditionCoverage struct {
	Pointer            string
	Offset, End        int // bytes of the file
	True, False        int64
	CannotJudge        int64
	Entries            []EntryCoverage
	canHold, canNot    bool
	probeTrue, probeNo bool
}

// EntryCoverage is what was seen of one entry of a list.
type EntryCoverage struct {
	Text        string // as it stands in the file
	Offset, End int
	True, False bool
	needsFalse  bool
}

// Missed is one thing no case reached.
type Missed struct {
	File        *rules.File
	Rule        *rules.Rule
	What        string // "never applied", "never true" …
	Of          string // the pointer, or the entry as it stands in the file
	Offset, End int    // bytes of the file
}

// Points are how much there is to reach and how much was.
func (c *Coverage) Points() (reached, all int) {
	all = c.Unmeasured
	for i := range c.Rules {
		c.Rules[i].points(func(ok bool, _ Missed) {
			all++
			if ok {
				reached++
			}
		})
	}
	return reached, all
}

// Percent is the share that was reached, rounded down; of nothing it is 100.
func (c *Coverage) Percent() int {
	reached, all := c.Points()
	if all == 0 {
		return 100
	}
	return reached * 100 / all
}

// Missed gives what was not reached, in the order of the files.
func (c *Coverage) Missed() []Missed {
	var out []Missed
	for i := range c.Rules {
		c.Rules[i].points(func(ok bool, m Missed) {
			if !ok {
				out = append(out, m)
			}
		})
	}
	return out
}

// points gives each thing there is to reach of a rule.
func (r *RuleCoverage) points(each func(reached bool, m Missed)) {
	point := func(ok bool, what, of string, offset, end int) {
		each(ok, Missed{r.File, r.Rule, what, of, offset, end})
	}
	at := r.Rule.Offset
	point(r.Applied > 0, "never applied", r.Rule.Pointer, at, at)
	if r.canRefuse {
		point(r.Refused > 0, "never refused", r.Rule.Pointer, at, at)
	}
	if r.canPass {
		point(r.Passed > 0, "never passed", r.Rule.Pointer, at, at)
	}
	entries := func(l []EntryCoverage) {
		for _, e := range l {
			point(e.True, "never true", e.Text, e.Offset, e.End)
			if e.needsFalse {
				point(e.False, "never false", e.Text, e.Offset, e.End)
			}
		}
	}
	entries(r.Tools)
	for i := range r.Conditions {
		c := &r.Conditions[i]
		if c.canHold {
			point(c.True > 0 || c.probeTrue, "never true", c.Pointer, c.Offset, c.End)
		}
		if c.canNot {
			point(c.False > 0 || c.probeNo, "never false", c.Pointer, c.Offset, c.End)
		}
		entries(c.Entries)
	}
}

// tally counts what one worker saw.
type tally struct {
	rules []ruleTally
	order map[string]int
}

type ruleTally struct {
	applied, refused, passed, cannot int64
	nodes                            map[string]*[3]int64 // true, false, cannot be judged, by pointer
	tools                            []int64
}

func newTally(s *Suite) *tally {
	t := &tally{rules: make([]ruleTally, len(s.rules)), order: s.order}
	for i := range t.rules {
		t.rules[i].nodes = map[string]*[3]int64{}
		t.rules[i].tools = make([]int64, len(s.rules[i].Tools))
	}
	return t
}

func (t *tally) saw(s *Suite, tool string, d *engine.Decision) {
	for i := range d.Trace.Rules {
		x := &d.Trace.Rules[i]
		at, ok := t.order[x.Rule]
		if !ok || x.Outcome == engine.NotJudged {
			continue
		}
		r := &t.rules[at]
		r.node(x.When)
		r.node(x.Condition)
		switch {
		case x.Outcome == engine.NotApplied:
			continue
		case x.Outcome == engine.Passes:
			r.passed++
		case x.Code == engine.Condition:
			r.refused++
		default:
			r.cannot++
		}
		r.applied++
		for k, name := range s.rules[at].Tools {
			if name.Matches(tool) {
				r.tools[k]++
			}
		}
	}
}

func (r *ruleTally) node(n *engine.ConditionTrace) {
	if n == nil {
		return
	}
	c := r.nodes[n.Pointer]
	if c == nil {
		c = new([3]int64)
		r.nodes[n.Pointer] = c
	}
	switch n.Result {
	case verdict.Holds:
		c[0]++
	case verdict.CannotJudge:
		c[2]++
	default:
		c[1]++
	}
	for _, p := range n.Parts {
		r.node(p)
	}
}

// add takes in what another saw.
func (t *tally) add(o *tally) {
	for i := range t.rules {
		a, b := &t.rules[i], &o.rules[i]
		a.applied += b.applied
		a.refused += b.refused
		a.passed += b.passed
		a.cannot += b.cannot
		for k := range b.tools {
			a.tools[k] += b.tools[k]
		}
		for p, n := range b.nodes {
			if a.nodes[p] == nil {
				a.nodes[p] = new([3]int64)
			}
			for k := range n {
				a.nodes[p][k] += n[k]
			}
		}
	}
}

// coverage makes the coverage of what was tallied; the entries of lists are left
// to probes.
func (t *tally) coverage(s *Suite, texts map[*rules.File]*written) *Coverage {
	c := &Coverage{}
	for i, r := range s.rules {
		w := texts[s.ruleFiles[i]]
		n := &t.rules[i]
		rc := RuleCoverage{
			File: s.ruleFiles[i], Rule: r, Applied: n.applied, Refused: n.refused, Passed: n.passed, CannotJudge: n.cannot,
			canPass: true, canRefuse: true,
		}
		if holds, known := always(r.Condition()); known {
			rc.canPass = holds == (r.Require != nil)
			rc.canRefuse = !rc.canPass
		}
		k := 0
		for v := range w.at(r.Pointer + "/tools").Elements() {
			rc.Tools = append(rc.Tools, EntryCoverage{Text: raw(v), Offset: v.Start(), End: v.End(), True: n.tools[k] > 0})
			k++
		}
		w.eachCondition(r, func(c *rules.Condition, _ bool) {
			v := w.at(c.Pointer)
			cc := ConditionCoverage{Pointer: c.Pointer, Offset: v.Start(), End: v.End(), canHold: true, canNot: true}
			if holds, known := always(c); known {
				cc.canHold, cc.canNot = holds, !holds
			}
			if seen := n.nodes[c.Pointer]; seen != nil {
				cc.True, cc.False, cc.CannotJudge = seen[0], seen[1], seen[2]
			}
			rc.Conditions = append(rc.Conditions, cc)
		})
		c.Rules = append(c.Rules, rc)
	}
	return c
}

// condition is the coverage of a condition, nil where there is none.
func (r *RuleCoverage) condition(pointer string) *ConditionCoverage {
	for i := range r.Conditions {
		if r.Conditions[i].Pointer == pointer {
			return &r.Conditions[i]
		}
	}
	return nil
}

// entry begins the coverage of a list's entry.
func entry(v ijson.Value) EntryCoverage {
	return EntryCoverage{Text: raw(v), Offset: v.Start(), End: v.End(), needsFalse: true}
}
