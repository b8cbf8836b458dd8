package rulestest

import (
	"slices"

	"countersign/engine"
)

// outcome is what became of a call, as far as an expectation asks: the rules by
// their places in the set.
type outcome struct {
	unreadable, noCall bool
	refused, watched   []saying
	applied            int
}

// saying is one rule that refuses, or would.
type saying struct {
	rule int
	code engine.Code
}

func (s *Suite) outcome(j *Judged) outcome {
	o := outcome{unreadable: j.Unreadable != "", noCall: j.NoCall, applied: j.Decision.Applied}
	for _, r := range j.Decision.Refusals {
		o.refused = append(o.refused, saying{s.order[r.Rule], r.Code})
	}
	for _, r := range j.Decision.Watched {
		o.watched = append(o.watched, saying{s.order[r.Rule], r.Code})
	}
	return o
}

// expected is an expectation with its rules by their places in the set.
type expected struct {
	*Expect
	refused []int
	watched int
	code    engine.Code
	unruled bool
}

func (s *Suite) expected(c *Case) expected {
	e := expected{Expect: &c.Expect, unruled: c.Unruled, code: engine.Code(c.Expect.Code)}
	if e.code == "" {
		e.code = engine.Condition
	}
	for _, id := range c.Expect.Refused {
		e.refused = append(e.refused, s.order[id])
	}
	e.watched = s.order[c.Expect.Watched]
	return e
}

// The reasons why an expectation is not met that say more than what happened.
const (
	whyNothingLooked = `no rule applied, so nothing looked at this call; if that is meant, the case says "unruled": true`
	whyRuled         = `the case says "unruled", and a rule applied`
	whyOther         = "another happened"
	whyCode          = "a rule refuses, but not with that code"
	whyNotOnly       = "other rules refuse too"
	whyAlsoRefused   = "a watching rule is seen only where no other refuses"
)

// met says why what happened is not what was expected, "" where it is.
func (e *expected) met(o *outcome) string {
	switch {
	case e.Unreadable:
		if !o.unreadable {
			return whyOther
		}
		return ""
	case o.unreadable:
		return whyOther
	case e.Allowed:
		switch {
		case len(o.refused) > 0:
			return whyOther
		case o.noCall:
			return ""
		case e.unruled && o.applied > 0:
			return whyRuled
		case !e.unruled && o.applied == 0:
			return whyNothingLooked
		}
		return ""
	case e.Watched != "":
		if !slices.ContainsFunc(o.watched, func(s saying) bool { return s.rule == e.watched }) {
			return whyOther
		}
		if len(o.refused) > 0 {
			return whyAlsoRefused
		}
		return ""
	}
	for _, id := range e.refused {
		at := slices.IndexFunc(o.refused, func(s saying) bool { return s.rule == id })
		switch {
		case at < 0:
			return whyOther
		case o.refused[at].code != e.code:
			return whyCode
		}
	}
	if e.Only && len(o.refused) > len(e.refused) {
		return whyNotOnly
	}
	return ""
}
