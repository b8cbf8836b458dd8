package engine

import (
	"cmp"
	"math"
	"slices"

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
	// Guesses of what asking costs, and of how often it fires.
	asks, fires float64
}

// cover is triggers, with a guess of what asking all of them costs, and of how
// often none fires.
type cover struct {
	triggers []trigger
	ask      float64
	quiet    float64
}

func coverBy(t trigger) cover { return cover{[]trigger{t}, t.asks, 1 - t.fires} }

// cost guesses what a cover costs a call: its asking, and judging the rule where
// it fires.
func (c cover) cost() float64 { return c.ask + (1-c.quiet)*costJudge }

// dear is the cover that any other is better than.
var dear = cover{ask: math.Inf(1)}

// Costs are guesses, in about nanoseconds; they choose between covers and decide
// nothing else.
const (
	costJudge  = 150.0 // judging a rule whose trigger fired
	costManual = 10.0  // asking something by itself
	costText   = 1.0   // asking for one of many texts or bounds at once
)

// never is the cover of what cannot be; it has no trigger that could fire.
var never = cover{quiet: 1}

// maxCovers is how many covers of one rule are asked, of which each must fire. The
// bits of rule.fired end there.
const maxCovers = 8

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

// coversOf gives the covers of a rule: it need be judged only where each of them
// fires. Where there are none it must be judged always.
func coversOf(r *rule) []cover {
	v := &coverer{map[asked]answered{}}
	bad := set(fails, absent, cannot)
	if r.wanted() == verdict.Fails {
		bad = set(holds, cannot)
	}
	var all []cover
	add := func(c cover, ok bool) {
		if ok {
			all = append(all, c)
		}
	}
	// What only judging tells the cost of must be judged wherever it would be if
	// every rule were, or the limits would end elsewhere.
	counts := r.condition.counts()
	switch {
	case r.when == nil && !counts:
		v.each(r.condition, bad, add)
	case r.when != nil && !r.when.counts():
		// It refuses only where its when holds or cannot be judged; and either the
		// when cannot be judged or the condition is bad.
		v.each(r.when, set(holds, cannot), add)
		if !counts {
			unjudged, may := v.cover(r.when, set(cannot))
			v.each(r.condition, bad, func(c cover, ok bool) { add(unjudged.or(c), ok && may) })
		}
	}
	slices.SortStableFunc(all, func(a, b cover) int { return cmp.Compare(a.cost(), b.cost()) })
	var chosen []cover
	fires := 1.0
	for i, c := range all {
		// The first is the best alone. Another is worth its asking where it keeps
		// the rule from being judged often enough.
		if i > 0 && (len(chosen) == maxCovers || fires*c.quiet*costJudge <= c.ask) {
			continue
		}
		chosen = append(chosen, c)
		fires *= 1 - c.quiet
	}
	return chosen
}

// each gives the covers that must all fire where the condition is bad: of an all
// or an any that is bad only where no part settles it, one for each part.
func (v *coverer) each(c *condition, bad outcomes, add func(cover, bool)) {
	switch {
	case c.form == formNot:
		v.each(c.parts[0], inverted(bad), add)
	case c.form == formAll && !bad.has(fails):
		for _, p := range c.parts {
			v.each(p, upTo(bad, holds), add)
		}
	case c.form == formAny && !bad.has(holds):
		for _, p := range c.parts {
			v.each(p, upTo(bad, fails), add)
		}
	default:
		add(v.cover(c, bad))
	}
}

// inverted gives the results of a condition for which not of it has one of bad.
func inverted(bad outcomes) (inner outcomes) {
	if bad.has(holds) {
		inner |= set(fails)
	}
	if bad.has(fails) {
		inner |= set(holds)
	}
	if bad.has(cannot) {
		inner |= set(cannot, absent)
	}
	return inner
}

// or joins two covers: a trigger of one or the other fires.
func (c cover) or(d cover) cover {
	out := cover{slices.Clip(c.triggers), c.ask, c.quiet}
	for _, t := range d.triggers {
		// Parts that look at one value ask the same of it; they stand near.
		if slices.Contains(out.triggers[max(0, len(out.triggers)-maxParts):], t) {
			continue
		}
		out.triggers = append(out.triggers, t)
		out.ask += t.asks
		out.quiet *= 1 - t.fires
	}
	return out
}

// maxParts is how far back a cover is searched for the same trigger.
const maxParts = 32

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
	case formCEL:
		return never, false
	case formNot:
		return v.cover(c.parts[0], inverted(bad))
	case formAll:
		return coverParts(len(c.parts), func(i int, bad outcomes) (cover, bool) { return v.cover(c.parts[i], bad) }, bad, fails, holds)
	}
	return coverParts(len(c.parts), func(i int, bad outcomes) (cover, bool) { return v.cover(c.parts[i], bad) }, bad, holds, fails)
}

// ranks are the results between settled and otherwise of an all or an any (or of
// the checks on a value), the stronger first.
var ranks = [...]outcome{cannot, wrongKind, absent}

// upTo gives what every part has of an all or an any (or of the checks on a value)
// that has one of the bad results, which do not hold what settles it: something
// weaker than the whole, or the same.
func upTo(bad outcomes, otherwise outcome) (parts outcomes) {
	weaker := set(otherwise)
	if bad.has(otherwise) {
		parts = weaker
	}
	for i := len(ranks) - 1; i >= 0; i-- {
		weaker |= set(ranks[i])
		if bad.has(ranks[i]) {
			parts = weaker
		}
	}
	return parts
}

// coverParts gives the cover of parts taken together: settled decides where any
// part has it, otherwise is the result only where all parts have it, and each of
// ranks needs a part of it and none of what is stronger.
func coverParts(n int, part func(i int, bad outcomes) (cover, bool), bad outcomes, settled, otherwise outcome) (cover, bool) {
	best, ok := dear, false
	if !bad.has(settled) {
		for i := range n {
			if c, can := part(i, upTo(bad, otherwise)); can && c.cost() < best.cost() {
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
			all = all.or(c)
		}
	}
	if can && bad.has(otherwise) {
		least, found := dear, false
		for i := range n {
			if c, can := part(i, set(otherwise)); can && c.cost() < least.cost() {
				least, found = c, true
			}
		}
		all, can = all.or(least), found
	}
	if can && all.cost() < best.cost() {
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
			c = c.or(coverBy(trigger{sel: t.sel, kinds: kindAll, fires: 0.3}))
		}
		if bad.has(not) {
			c = c.or(coverBy(trigger{sel: t.sel, empty: true, fires: 0.5}))
		}
		return c, true
	}
	if slices.ContainsFunc(t.checks, func(k check) bool { return k.inner != nil }) {
		return never, false
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
		c = c.or(coverBy(trigger{sel: t.sel, empty: true, fires: 0.3}))
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
			c = c.or(coverBy(trigger{sel: t.sel, kinds: other, fires: 0.05}))
		}
	}
	if when := bad &^ set(wrongKind, absent); when != 0 {
		c = c.or(coverBy(trigger{sel: t.sel, check: k, when: when, asks: k.asking(when), fires: k.firing(when)}))
	}
	return c
}

// asking guesses what one answer costs.
func (k *check) asking(when outcomes) float64 {
	switch k.src.Kind {
	case rules.Is, rules.OneOf, rules.Contains, rules.StartsWith, rules.EndsWith, rules.Above, rules.AtLeast, rules.Below, rules.AtMost:
		if when&^set(cannot) == set(holds) {
			return costText
		}
	case rules.Path, rules.Email:
		return 20 * costManual
	case rules.URL:
		return 100 * costManual
	case rules.Command:
		return 1000 * costManual
	case rules.Matches, rules.Finds:
		return 5 * costManual
	}
	return costManual
}

// firing guesses how often the answer is one that fires.
func (k *check) firing(when outcomes) float64 {
	often := 0.5
	switch k.src.Kind {
	case rules.Is:
		often = 0.2 // often what chooses the calls a rule is about
	case rules.OneOf:
		often = 0.05
		if k.applies&^(kindBool|kindNull) == 0 {
			often = 0.5
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith, rules.Matches, rules.Finds:
		often = 0.02
	case rules.Like, rules.Path, rules.URL, rules.Command, rules.Email:
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
