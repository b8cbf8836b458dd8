package engine

import (
	"fmt"
	"math"
	"strings"

	"countersign/internal/ijson"
	"countersign/internal/verdict"
	"countersign/rules"
)

// Trace is how Explain came to a decision, rule by rule. It holds places in the
// arguments, never a value of them; where names of members are what is judged,
// it holds those, so it is for the author of the rules and not for the agent.
type Trace struct {
	Rules []RuleTrace
}

// Outcome is what became of a rule.
type Outcome string

const (
	Passes     Outcome = "passes"
	Refuses    Outcome = "refuses"        // or would, of a watching rule
	NotApplied Outcome = "does not apply" // its when does not hold
	NotJudged  Outcome = "not judged"     // a limit was passed before
)

// RuleTrace is one rule of a trace.
type RuleTrace struct {
	File, Rule string
	Pointer    string // of the rule in its file
	Watch      bool
	Require    bool // its condition must hold; else it must not
	Outcome    Outcome
	Code       Code // of a rule that refuses
	Steps      int  // checks on values it took
	Values     int  // values it selected
	// When and Condition are nil where the rule has none, or it was not judged.
	When, Condition *ConditionTrace
}

// ConditionTrace is one condition of a trace.
type ConditionTrace struct {
	Form      string // all, any, not, cel, or of a test its selection: arg, some, every, argv
	Pointer   string // of the condition in the rules file
	Selection string // of a test: pointer, named and names as they select
	Result    verdict.Result
	Why       string // of an expression that does not hold: a short reason
	// Wanted is whether the rule passes (or, of a when, applies) rather where the
	// condition holds, or where it does not.
	Wanted verdict.Result
	// Decided: the result of what this stands in rests on it.
	Decided bool
	Parts   []*ConditionTrace
	// Selected counts the values a test selected; Values are some of them, those
	// that decided always among them.
	Selected int
	Values   []*ValueTrace
}

// ValueTrace is one selected value.
type ValueTrace struct {
	Pointer string // in the arguments
	Kind    string // string, number, boolean, null, array, object
	Name    bool   // a member's name, whose text ends Pointer, was judged
	Result  verdict.Result
	Wrong   bool // not of a kind the checks apply to
	Decided bool
	Checks  []CheckTrace
}

// CheckTrace is one check on a value.
type CheckTrace struct {
	Test   rules.CheckKind
	Result verdict.Result
	Wrong  bool   // the check does not apply to values of this kind
	Why    string // a short reason of a typed test
	// Passing says what would have passed.
	Passing string
	// Inner is the condition of a json test, held against the JSON in the text.
	Inner   *ConditionTrace
	operand string
}

// maxTraced is how many values of one test a trace shows before it keeps only
// those that are the first of their result: enough to see a pattern in.
const maxTraced = 16

const whyKind = "not of a kind the test applies to"

// traceRule begins the trace of a rule.
func traceRule(r *rule) RuleTrace {
	return RuleTrace{
		File: r.file.src.Name, Rule: r.src.ID, Pointer: r.src.Pointer,
		Watch: r.src.Watch, Require: r.src.Require != nil, Outcome: NotJudged,
	}
}

// traceOf begins the trace of a condition. wanted is the result with which the
// rule passes.
func traceOf(c *condition, wanted verdict.Result) *ConditionTrace {
	n := &ConditionTrace{Pointer: c.src.Pointer, Wanted: wanted}
	switch c.form {
	case formAll:
		n.Form = "all"
	case formAny:
		n.Form = "any"
	case formNot:
		n.Form = "not"
	case formTest:
		n.Form = string(c.test.kind)
		n.Selection = selectionText(&c.test.src.Select)
	case formCEL:
		n.Form, n.Selection = CEL, c.src.CEL
	}
	return n
}

// selectionText is a selection as a person reads it.
func selectionText(s *rules.Selection) string {
	p := s.Pointer.Text
	if s.Kind == rules.Argv {
		p = argvText(s)
	}
	if p == "" {
		p = "the arguments"
	}
	if s.Named != nil {
		p += " named " + strings.Join(s.Named, ", ")
	}
	if s.Names {
		p = "names of members under " + p
	}
	return p
}

// argvText is the pointers of an argv selection.
func argvText(s *rules.Selection) string {
	all := make([]string, len(s.Argv))
	for i, p := range s.Argv {
		all[i] = p.Text
	}
	return strings.Join(all, ", ")
}

// part begins the trace of a condition's part. Like all that follow it does
// nothing where nothing is traced.
func (n *ConditionTrace) part(c *condition, i int) *ConditionTrace {
	if n == nil {
		return nil
	}
	wanted := n.Wanted
	if c.form == formNot {
		wanted = opposite(wanted)
	}
	p := traceOf(c.parts[i], wanted)
	n.Parts = append(n.Parts, p)
	return p
}

// passing says what would have passed a check, or what would not, where the rule
// wants it to fail.
func passing(test rules.CheckKind, operand string, wanted verdict.Result) string {
	text := string(test) + " " + operand
	switch test {
	case rules.Present:
		if (operand == "true") == (wanted == verdict.Holds) {
			return "something there"
		}
		return "nothing there"
	case rules.OfType:
		text = "a value of type " + operand
	case rules.Is:
		text = operand
	case rules.OneOf:
		text = "one of " + operand
	case rules.Contains:
		text = "a text that contains " + operand
	case rules.StartsWith:
		text = "a text that starts with " + operand
	case rules.EndsWith:
		text = "a text that ends with " + operand
	case rules.Like:
		text = "a text like " + operand
	case rules.Matches:
		text = "a text that " + operand + " matches whole"
	case rules.Finds:
		text = "a text in which " + operand + " finds something"
	case rules.Length:
		text = "a length within " + operand
	case rules.Above:
		text = "a number above " + operand
	case rules.AtLeast:
		text = "a number of at least " + operand
	case rules.Below:
		text = "a number below " + operand
	case rules.AtMost:
		text = "a number of at most " + operand
	case rules.OnlyMembers:
		text = "an object without members other than " + operand
	case rules.HasMembers:
		text = "an object with the members " + operand
	case rules.Path:
		text = "a path that fits " + operand
	case rules.URL:
		text = "a URL that fits " + operand
	case rules.Command:
		text = "a command that fits " + operand
	case rules.Email:
		text = "addresses that fit " + operand
	case rules.JSON:
		text = "JSON on which " + operand + " holds"
	}
	if wanted != verdict.Holds {
		return "anything but " + text
	}
	return text
}

func opposite(r verdict.Result) verdict.Result {
	if r == verdict.Holds {
		return verdict.Fails
	}
	return verdict.Holds
}

// traceValue holds a value against the checks of a test once more, for the trace.
// That takes nothing from the budget.
func (j *judging) traceValue(t *test, root ijson.Value, s *subject, wanted verdict.Result) *ValueTrace {
	left, over := j.left, j.over
	j.left = budget{maxSelected, math.MaxInt}
	defer func() { j.left, j.over = left, over }()
	full, _ := place(root, s.v, t)
	v := &ValueTrace{Pointer: full, Kind: kindName(s.v.Kind()), Name: t.sel.names}
	for i := range t.checks {
		k := &t.checks[i]
		var o outcome
		var why string
		var inner *ConditionTrace
		if k.inner != nil && k.applies&s.kind != 0 {
			inner = traceOf(k.inner, wanted)
			o, why = j.inside(k, s, inner)
		} else {
			o, why = j.judge(k, s)
		}
		if o == wrongKind {
			why = whyKind
			if t.failsWrong() {
				o = fails
			}
		}
		v.check(k, o, why, inner)
	}
	return v
}

// argv traces a test of a list of words.
func (n *ConditionTrace) argv(t *test, o outcome, why string, words int) {
	if n == nil {
		return
	}
	n.Selected = words
	v := &ValueTrace{Pointer: argvText(&t.src.Select), Kind: "array"}
	if o == absent {
		v.Kind = "absent"
	} else {
		v.check(&t.checks[0], o, why, nil)
	}
	n.keep(t, v, o)
}

func (v *ValueTrace) check(k *check, o outcome, why string, inner *ConditionTrace) {
	c := CheckTrace{Test: k.src.Kind, Result: verdict.CannotJudge, Wrong: o == wrongKind, Why: why, Inner: inner}
	if o != wrongKind {
		c.Result = verdict.Result(o)
	}
	c.operand = k.operandText()
	v.Checks = append(v.Checks, c)
}

// shown is a value's result as a trace shows it.
func shown(t *test, o outcome) verdict.Result {
	switch {
	case o != wrongKind:
		return verdict.Result(o)
	case t.sel.deep && t.kind == rules.Some:
		return verdict.Fails // passed over
	}
	return verdict.CannotJudge
}

// wants: does the trace show one more value with this outcome? It shows the first
// ones, and the first of each result.
func (n *ConditionTrace) wants(t *test, o outcome) bool {
	if len(n.Values) < maxTraced {
		return true
	}
	r := shown(t, o)
	for _, v := range n.Values {
		if v.Result == r && v.Wrong == (o == wrongKind) {
			return false
		}
	}
	return true
}

// keep takes a value into the trace.
func (n *ConditionTrace) keep(t *test, v *ValueTrace, o outcome) {
	v.Result, v.Wrong = shown(t, o), o == wrongKind
	for i := range v.Checks {
		c := &v.Checks[i]
		c.Passing = passing(c.Test, c.operand, n.Wanted)
	}
	n.Values = append(n.Values, v)
}

// present traces the one test that needs no value.
func (n *ConditionTrace) present(t *test, r verdict.Result, found []ijson.Value) {
	if n == nil {
		return
	}
	v := &ValueTrace{Pointer: t.src.Select.Pointer.Text, Kind: "absent", Result: r}
	if len(found) > 0 {
		v.Kind = kindName(found[0].Kind())
	}
	k := &t.checks[0]
	c := CheckTrace{Test: rules.Present, Result: r, operand: k.operandText()}
	c.Passing = passing(c.Test, c.operand, n.Wanted)
	v.Checks = []CheckTrace{c}
	n.Values = append(n.Values, v)
}

// decide marks what decided. Past a limit no result means anything.
func (t *RuleTrace) decide() {
	if t.Code != OverBudget {
		t.When.decide()
		t.Condition.decide()
	}
}

// decide marks what a condition's result rests on, from the whole to the values.
func (n *ConditionTrace) decide() {
	if n == nil {
		return
	}
	n.Decided = true
	for _, p := range n.Parts {
		if n.Form == "not" || restsOn(n, p.Result) {
			p.decide()
		}
	}
	for _, v := range n.Values {
		if n.Form == string(rules.Arg) || n.Form == string(rules.Argv) || restsOn(n, v.Result) {
			v.Decided = true
			for _, c := range v.Checks {
				c.Inner.decide()
			}
		}
	}
}

// restsOn: does a result of an all, any, some or every rest on a part with this
// one? Where they all have the result of the whole, on all of them.
func restsOn(n *ConditionTrace, part verdict.Result) bool { return part == n.Result }

// place gives a value's pointer under root, whole and as far as it may be told:
// names that the rule does not hold stand as *.
func place(root, v ijson.Value, t *test) (full, told string) {
	var f, s strings.Builder
	for at := root; at.Start() != v.Start() || at.End() != v.End(); {
		next := ijson.Value{}
		if at.Kind() == ijson.Array {
			i := 0
			for e := range at.Elements() {
				if e.Start() <= v.Start() && v.End() <= e.End() {
					next = e
					break
				}
				i++
			}
			fmt.Fprintf(&f, "/%d", i)
			fmt.Fprintf(&s, "/%d", i)
		}
		for n, m := range at.Members() {
			is := n.Start() == v.Start()
			if !is && (v.Start() < m.Start() || m.End() < v.End()) {
				continue
			}
			name := n.Text()
			f.WriteByte('/')
			f.WriteString(escapeSegment(name))
			s.WriteByte('/')
			if t.tells(name) && !is {
				s.WriteString(escapeSegment(name))
			} else {
				s.WriteByte('*')
			}
			if !is {
				next = m
			}
			break
		}
		if !next.Exists() {
			break
		}
		at = next
	}
	return f.String(), s.String()
}

// tells: is the name one that stands in the rule, so that it tells the agent
// nothing of what it sent?
func (t *test) tells(name string) bool {
	for _, s := range t.sel.segs {
		if s.Kind == rules.Name && s.Name == name {
			return true
		}
	}
	for _, n := range t.src.Select.Named {
		if n == name {
			return true
		}
	}
	return false
}

func escapeSegment(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func kindName(k ijson.Kind) string {
	switch k {
	case ijson.Null:
		return "null"
	case ijson.True, ijson.False:
		return "boolean"
	case ijson.Number:
		return "number"
	case ijson.String:
		return "string"
	case ijson.Array:
		return "array"
	case ijson.Object:
		return "object"
	}
	return "absent"
}
