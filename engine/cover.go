package engine

import (
	"math"

	"countersign/internal/verdict"
	"countersign/rules"
)

// A rule need not be judged where it is known to pass. Its cover says when it is
// not: triggers of which at least one fires in every call that the rule refuses.
// A trigger is a small question about one selection, so that the questions of all
// rules about it are asked at once (group.go); only rules with a trigger that
// fired are judged. A cover may fire for calls that the rule lets through, never
// the other way round.

// outcomes is a set of outcomes, or of results.
type outcomes uint8

func set(list ...outcome) (s outcomes) {
	for _, o := range list {
		s |= 1 << o
	}
	return s
}

func (s outcomes) has(o outcome) bool { return s&(1<<o) != 0 }

// trigger is one question about what a selection selects.
type trigger struct {
	sel *selection
	// empty: fires where nothing is selected. Else it fires by a value of one of
	// the kinds, or by one with which check has an outcome of when.
	empty bool
	kinds kinds
	check *check // nil: kinds alone
	when  outcomes
}

// cover is a rule's triggers, and a guess of what they cost a call: their asking,
// and judging the rule where they fire.
type cover struct {
	triggers []trigger
	cost     float64
}

// Costs are guesses, in about nanoseconds; they choose between covers and decide
// nothing else.
const (
	costJudge  = 150.0 // judging a rule whose trigger fired
	costManual = 10.0  // asking something by itself
	costText   = 1.0   // asking for one of many texts at once
)

// never is the cover of what cannot be; it has no trigger that could fire.
var never = cover{}

// coverer works out covers. It keeps what it found of each condition, which is
// asked for again and again by those around it.
type coverer struct {
	known map[asked]answered
}

type asked struct {
	c   *condition
	bad outcomes
}

type answered struct {
	cover cover
	ok    bool
}

// coverOf gives the cover of a rule; ok is false where it has none and must be
// judged always.
func coverOf(r *rule) (cover, bool) {
	v := &coverer{map[asked]answered{}}
	bad := set(fails, absent, cannot)
	if r.wanted() == verdict.Fails {
		bad = set(holds, cannot)
	}
	c, ok := v.cover(r.condition, bad)
	if r.when == nil {
		return c, ok
	}
	// It refuses only where its when holds or cannot be judged. Either that is
	// asked, or whether the when cannot be judged and whether the condition is bad.
	applies, asks := v.cover(r.when, set(holds, cannot))
	unjudged, may := v.cover(r.when, set(cannot))
	if ok = ok && may; ok {
		c = c.and(unjudged)
	}
	if asks && (!ok || applies.cost < c.cost) {
		return applies, true
	}
	return c, ok
}

// and joins two covers: one trigger of either fires.
func (c cover) and(d cover) cover {
	return cover{append(c.triggers[:len(c.triggers):len(c.triggers)], d.triggers...), c.cost + d.cost}
}

// cover gives triggers of which one fires wherever the condition has one of the
// bad results.
func (v *coverer) cover(c *condition, bad outcomes) (cover, bool) {
	if bad &^= set(wrongKind); bad == 0 { // no result of a condition
		return never, true
	}
	key := asked{c, bad}
	a, ok := v.known[key]
	if !ok {
		a.cover, a.ok = v.find(c, bad)
		v.known[key] = a
	}
	return a.cover, a.ok
}

func (v *coverer) find(c *condition, bad outcomes) (cover, bool) {
	switch c.form {
	case formTest:
		return c.test.cover(bad)
	case formNot:
		var inner outcomes
		if bad.has(holds) {
			inner |= set(fails)
		}
		if bad.has(fails) {
			inner |= set(holds)
		}
		if bad.has(cannot) {
			inner |= set(cannot, absent)
		}
		return v.cover(c.parts[0], inner)
	case formAll:
		return coverParts(len(c.parts), func(i int, bad outcomes) (cover, bool) { return v.cover(c.parts[i], bad) }, bad, fails, holds)
	}
	return coverParts(len(c.parts), func(i int, bad outcomes) (cover, bool) { return v.cover(c.parts[i], bad) }, bad, holds, fails)
}

// ranks are the results between settled and otherwise of an all or an any (or of
// the checks on a value), the stronger first.
var ranks = [...]outcome{cannot, wrongKind, absent}

// coverParts gives the cover of parts taken together: settled decides where any
// part has it, otherwise is the result only where all parts have it, and each of
// ranks needs a part of it and none of what is stronger.
func coverParts(n int, part func(i int, bad outcomes) (cover, bool), bad outcomes, settled, otherwise outcome) (cover, bool) {
	// Every part has a result that is weaker than or the same as the whole's, so
	// where the whole is bad, any one part may be asked for all of those.
	weaker := set(otherwise)
	one := outcomes(0)
	if bad.has(otherwise) {
		one = weaker
	}
	for i := len(ranks) - 1; i >= 0; i-- {
		weaker |= set(ranks[i])
		if bad.has(ranks[i]) {
			one = weaker
		}
	}
	best, ok := cover{cost: math.Inf(1)}, false
	if !bad.has(settled) {
		for i := range n {
			if c, can := part(i, one); can && c.cost < best.cost {
				best, ok = c, true
			}
		}
	}
	// Or each part is asked for what makes the whole bad by itself, and any one
	// for what needs all.
	some := bad &^ set(otherwise)
	all, can := never, true
	for i := 0; i < n && can; i++ {
		var c cover
		if c, can = part(i, some); can {
			all = all.and(c)
		}
	}
	if can && bad.has(otherwise) {
		least, found := cover{cost: math.Inf(1)}, false
		for i := range n {
			if c, can := part(i, set(otherwise)); can && c.cost < least.cost {
				least, found = c, true
			}
		}
		all, can = all.and(least), found
	}
	if can && all.cost < best.cost {
		best, ok = all, true
	}
	return best, ok
}

// cover gives the triggers of a test.
func (t *test) cover(bad outcomes) (cover, bool) {
	if t.present {
		there, not := holds, fails
		if !t.checks[0].src.Present {
			there, not = not, there
		}
		c := never
		if bad.has(there) {
			c = c.and(cover{[]trigger{{sel: t.sel, kinds: kindAll}}, 0.3 * costJudge})
		}
		if bad.has(not) {
			c = c.and(cover{[]trigger{{sel: t.sel, empty: true}}, 0.5 * costJudge})
		}
		return c, true
	}
	// Which outcomes of a value may make the whole bad, and is it bad with none?
	values, empty := bad, false
	switch t.kind {
	case rules.Arg:
		empty = bad.has(absent)
	case rules.Some, rules.Every:
		empty = bad.has(fails)
	default:
		return never, false
	}
	if bad.has(cannot) && !(t.sel.deep && t.kind == rules.Some) {
		values |= set(wrongKind)
	}
	if bad.has(fails) && t.sel.deep {
		// some passes over a wrong kind, so all values may be of one; every fails.
		values |= set(wrongKind)
	}
	c, ok := coverParts(len(t.checks), func(i int, bad outcomes) (cover, bool) { return t.checks[i].cover(t, bad), true }, values, fails, holds)
	if ok && empty {
		c = c.and(cover{[]trigger{{sel: t.sel, empty: true}}, 0.3 * costJudge})
	}
	return c, ok
}

// cover gives the triggers of one check.
func (k *check) cover(t *test, bad outcomes) cover {
	c := never
	if bad == 0 {
		return c
	}
	if bad.has(wrongKind) {
		if other := kindAll &^ k.applies; other != 0 {
			c = c.and(cover{[]trigger{{sel: t.sel, kinds: other}}, 0.05 * costJudge})
		}
	}
	if when := bad &^ set(wrongKind, absent); when != 0 {
		c = c.and(cover{[]trigger{{sel: t.sel, check: k, when: when}}, k.asking(when) + k.firing(when)*costJudge})
	}
	return c
}

// asking guesses what one answer costs.
func (k *check) asking(when outcomes) float64 {
	switch k.src.Kind {
	case rules.Is, rules.OneOf, rules.Contains, rules.StartsWith, rules.EndsWith:
		if when == set(holds) {
			return costText
		}
	case rules.Path:
		return 20 * costManual
	case rules.Matches, rules.Finds:
		return 5 * costManual
	}
	return costManual
}

// firing guesses how often the answer is one that fires.
func (k *check) firing(when outcomes) float64 {
	often := 0.5
	switch k.src.Kind {
	case rules.Is, rules.OneOf:
		often = 0.05
		if k.applies&^(kindBool|kindNull) == 0 {
			often = 0.5
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith, rules.Matches, rules.Finds:
		often = 0.02
	case rules.Like, rules.Path:
		often = 0.1
	case rules.Above, rules.AtLeast, rules.Below, rules.AtMost, rules.Length, rules.HasMembers:
		often = 0.2
	}
	switch {
	case when.has(holds) && when.has(fails):
		return 1
	case when.has(holds):
		return often
	case when.has(fails):
		return 0.1 // what is asked for mostly holds
	}
	return 0.02
}
