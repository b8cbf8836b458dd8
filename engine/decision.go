package engine

import (
	"cmp"
	"fmt"
	"strings"

	"countersign/rules"
)

// Verdict is what was decided. The zero value refuses.
type Verdict uint8

const (
	Refused Verdict = iota
	Allowed
)

// String gives the word.
func (v Verdict) String() string {
	if v == Allowed {
		return "allowed"
	}
	return "refused"
}

// Code says why a rule refuses.
type Code string

const (
	// Condition: the rule's condition says so.
	Condition Code = "condition"
	// CannotJudge: the condition or the when cannot be judged.
	CannotJudge Code = "cannot-judge"
	// OverBudget: judging passed a limit of the rule's file.
	OverBudget Code = "over-budget"
)

// Decision is what the rules say of a call, with the reasons.
type Decision struct {
	Verdict Verdict
	// File and Rule name the first rule that refuses, Code and Say are its; all
	// are empty where the call is allowed. File and Rule are empty too where the
	// call is none the rules can judge: its arguments are no object, or hold a
	// member inputResponses beside input responses.
	File, Rule string
	Code       Code
	Say        string // "" where the rule has none
	// Applied counts the rules that name the tool and, of those Explain judged,
	// whose when held. Judge leaves a when alone that nothing hangs on, so it may
	// count rules that did not apply.
	Applied int
	// Refusals are the rules that refuse, in the order of the files: of Judge the
	// first alone, of Explain all.
	Refusals []Refusal
	// Watched are the watching rules that would have refused.
	Watched []Refusal
	// Steps counts the checks on values that the rules took; of Judge it may be
	// the most they could have taken.
	Steps int
	// Trace is of Explain alone.
	Trace Trace
}

// Refusal is one rule that refuses, or would if it did not only watch.
type Refusal struct {
	File, Rule string
	Code       Code
	Say        string
	// Test is the test that decided, "" where there is none: past a limit.
	Test rules.CheckKind
	// Pointer is where in the arguments, as far as it may be told: of names on
	// the way only those that the rule itself names, * for the others.
	Pointer string
	// Found says whether the test was held against a value there; else nothing
	// was selected.
	Found bool

	why   string
	check *check
}

// id is the rule's name over several files.
func (r Refusal) id() string { return r.File + "/" + r.Rule }

// Tell is what the agent is told of a refusal (content rules, section 9): at
// "say" the rule's own words alone; at "rule" also which rule, where and which
// kind of test; at "test" also what the test asks for. An unknown level is taken
// for "say". Never is any part of an argument's value told.
func (d Decision) Tell(level string) string {
	if d.Verdict == Allowed {
		return ""
	}
	if len(d.Refusals) == 0 {
		return "refused: the arguments are not an object that rules can judge"
	}
	return d.Refusals[0].tell(level)
}

func (r Refusal) tell(level string) string {
	if level != "rule" && level != "test" {
		return cmp.Or(r.Say, "refused by a rule")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "refused by the rule %s: ", r.id())
	where := "the arguments"
	switch {
	case r.Test == CEL: // which may ask for no argument at all
		where = "the call"
	case r.Pointer != "":
		where = "the argument " + r.Pointer
	}
	switch {
	case r.Code == OverBudget:
		b.WriteString("judging this call would cost more than the limits of the rules allow")
	case r.Test == "":
		b.WriteString("its condition")
	case !r.Found:
		fmt.Fprintf(&b, "nothing is there to hold against its test %q of %s", r.Test, where)
	case r.Code == CannotJudge:
		fmt.Fprintf(&b, "its test %q cannot judge %s", r.Test, where)
	default:
		fmt.Fprintf(&b, "its test %q of %s", r.Test, where)
	}
	if level == "test" {
		if r.why != "" {
			fmt.Fprintf(&b, " (%s)", r.why)
		}
		if r.check != nil {
			fmt.Fprintf(&b, "; the test: %s %s", r.Test, r.check.operandText())
		}
	}
	if r.Say != "" {
		b.WriteString(". ")
		b.WriteString(r.Say)
	}
	return b.String()
}
