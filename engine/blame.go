package engine

import (
	"math"

	"countersign/internal/ijson"
	"countersign/internal/verdict"
	"countersign/rules"
)

// refusal says what is told of a rule that refuses: which test and which value
// decided, the first where there are several. The rule is the last one judged.
func (j *judging) refusal(r *rule, code Code) Refusal {
	x := Refusal{File: r.file.src.Name, Rule: r.src.ID, Code: code, Say: r.src.Say}
	if code == OverBudget {
		return x
	}
	kept, full := j.left, j.full
	j.left, j.full = budget{maxSelected, math.MaxInt}, false
	defer func() { j.left, j.full = kept, full }()

	c, result := j.deciding(j.last, j.result)
	if c.form == formCEL {
		x.Test, x.Found = CEL, true
		return x
	}
	t := c.test
	x.Test = t.checks[0].src.Kind
	x.Pointer = t.src.Select.Pointer.Text
	k := &t.checks[0]
	if t.kind == rules.Argv {
		x.Pointer, x.Found = argvText(&t.src.Select), result != verdict.Absent
	} else if t.present {
		x.Found = result == verdict.Holds == k.src.Present
	} else if v, o, ok := j.decidingValue(t, result); ok {
		x.Found = true
		if !t.sel.single {
			_, x.Pointer = place(j.root, v, t)
		}
		k, x.why = j.decidingCheck(t, v, o)
		x.Test = k.src.Kind
	}
	x.check = k
	return x
}

// deciding finds the first test or expression that a condition's result rests on,
// and its result.
func (j *judging) deciding(c *condition, r verdict.Result) (*condition, verdict.Result) {
	for c.form != formTest && c.form != formCEL {
		next := c.parts[0]
		rest := r
		switch c.form {
		case formNot:
			rest = j.condition(next, j.root, nil)
		default:
			for _, p := range c.parts {
				if j.condition(p, j.root, nil) == r {
					next = p
					break
				}
			}
		}
		c, r = next, rest
	}
	return c, r
}

// decidingValue finds the first value that a test's result rests on, if it
// selected any.
func (j *judging) decidingValue(t *test, r verdict.Result) (v ijson.Value, o outcome, ok bool) {
	base := len(j.values)
	j.values = j.pick(j.values, t.sel, j.root, maxSelected)
	defer j.drop(base)
	for _, v := range j.values[base:] {
		o := j.value(t, j.root, v, nil)
		is := verdict.Result(o)
		if o == wrongKind {
			is = verdict.CannotJudge
			if t.sel.deep && t.kind == rules.Some {
				is = verdict.Fails // passed over
			}
		}
		if is == r {
			return v, o, true
		}
	}
	return ijson.Value{}, 0, false
}

// decidingCheck finds the first check that a value's outcome rests on.
func (j *judging) decidingCheck(t *test, v ijson.Value, o outcome) (*check, string) {
	s := subject{v: v, kind: kindOf(v.Kind())}
	for i := range t.checks {
		k := &t.checks[i]
		is, why := j.judge(k, &s)
		if is == wrongKind {
			why = whyKind
			if o == fails && t.failsWrong() {
				is = fails
			}
		}
		if is == o {
			return k, why
		}
	}
	return &t.checks[0], ""
}
