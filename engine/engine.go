// Package engine compiles rules files and judges calls by them (content rules,
// sections 2, 3, 6 and 9): it takes a [rules.Set] and gives, for a [Call], a
// [Decision] with its reasons.
//
// Judging has no state, no I/O and no loop but over the call's own values, and
// what it may cost is counted. What cannot be judged refuses.
package engine

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"countersign/internal/casefold"
	"countersign/internal/celexpr"
	"countersign/internal/ijson"
	"countersign/internal/pathtext"
	"countersign/internal/verdict"
	"countersign/rules"
)

// Options say what judging needs from outside.
type Options struct {
	// Disk is looked at by path tests with "resolve": "disk", and by nothing else.
	// Rules with such a test need it.
	Disk pathtext.Disk
}

// Engine judges calls by one set of rules. It is safe for concurrent use and
// never changes: new rules are a new Engine.
type Engine struct {
	set     *rules.Set
	files   []*file
	anchors *anchors
	plans   *plans
	rules   []*rule // in the order of the set
	idle    [maxIdle]atomic.Pointer[judging]
}

// maxIdle is how many scratch memories are kept between calls. Calls beyond as
// many at once make new ones, which the collector takes back.
const maxIdle = 16

// file is a compiled rules file.
type file struct {
	src    *rules.File
	number int // of the files
}

// rule is a compiled rule.
type rule struct {
	file      *file
	src       *rules.Rule
	order     int        // in the set
	whole     uint8      // a bit for each of its covers
	counts    bool       // what it takes is known only by judging it
	when      *condition // nil: it applies to every call of its tools
	condition *condition
}

// wanted is the result of its condition with which a rule passes.
func (r *rule) wanted() verdict.Result {
	if r.src.Require != nil {
		return verdict.Holds
	}
	return verdict.Fails
}

// New compiles a set. An error names a condition that is not built into this
// version, or one that reading the rules should not have let through.
func New(set *rules.Set, o Options) (*Engine, error) {
	e := &Engine{set: set}
	c := newCompiler()
	c.disk = o.Disk
	e.anchors = c.anchors
	var all []*rule
	for _, src := range set.Files {
		f := &file{src: src, number: len(e.files)}
		doc, err := ijson.Parse(src.Source, ijson.Options{})
		if err != nil {
			return nil, fmt.Errorf("rules file %q: reading its text again: %w", src.Name, err)
		}
		texts := slices.Collect(doc.Root().Member("rules").Elements())
		for i, r := range src.Rules {
			if i >= len(texts) {
				return nil, fmt.Errorf("rules file %q: rule %q does not stand in its text", src.Name, r.ID)
			}
			c.rule, c.rulePointer = texts[i], r.Pointer
			k := &rule{file: f, src: r, order: len(all)}
			if k.when, err = c.condition(r.When); err == nil {
				k.condition, err = c.condition(r.Condition())
			}
			if err == nil && k.condition == nil {
				err = fmt.Errorf("%s: a rule without a condition", r.Pointer)
			}
			if err != nil {
				return nil, fmt.Errorf("rules file %q: rule %q: %w", src.Name, r.ID, err)
			}
			k.counts = k.when.counts() || k.condition.counts()
			all = append(all, k)
		}
		e.files = append(e.files, f)
	}
	e.rules = all
	e.plans = newPlans(groupsOf(all))
	return e, nil
}

// Limits gives the bounds of a call's arguments that are looked at before any
// rule (content rules, section 6): their bytes, and their levels of lists and
// objects.
func (e *Engine) Limits() (argumentBytes, depth int) { return e.set.Limits() }

// judging is the scratch memory of one call, and where its judging stands.
type judging struct {
	folder casefold.Folder
	picker picker
	values []ijson.Value // selected, a stack
	root   ijson.Value   // the call's arguments
	places []ijson.Value // of the anchors, absent where nothing is
	placed []int         // the anchors that have a value
	engine *Engine
	// The condition that decided the last rule, and its result.
	last   *condition
	result verdict.Result

	lefts      []budget // of each file
	fired      []uint8  // by a rule's order: its covers that fired
	touched    []int    // orders of rules of which one did
	candidates []*rule  // to be judged
	hits       []int32  // words found
	seenStates []uint64 // scratch of automata
	left       budget   // of the rule's file
	over       bool     // it is spent
	full       bool     // judge every part of a condition

	decoded, form, name, nameForm []byte            // texts
	forms                         map[string][]byte // folded forms of the call's texts
	formed                        int               // bytes of them
	seen                          []bool
	merged                        ijson.Doc // arguments with input responses
	mergedText                    []byte

	call   *Call
	facts  celexpr.Facts // of the call, once an expression asked
	asked  bool
	inner  [rules.MaxJSONNested]ijson.Doc // texts of json tests, one inside the other
	nested int
	large  bool // a text was read that takes much memory
}

// maxKept is the most scratch memory, in bytes, that is kept for the next call: one
// hostile call must not hold much for ever.
const maxKept = 1 << 20

// begin takes scratch memory, end gives it back.
func (e *Engine) begin() *judging {
	for i := range e.idle {
		if j := e.idle[i].Swap(nil); j != nil {
			return j
		}
	}
	return &judging{
		engine: e,
		places: make([]ijson.Value, e.anchors.count),
		fired:  make([]uint8, len(e.rules)),
		lefts:  make([]budget, len(e.files)),
	}
}

func (e *Engine) end(j *judging) {
	kept := cap(j.decoded) + cap(j.form) + cap(j.name) + cap(j.nameForm) + cap(j.seen) + 16*cap(j.values) + 4*cap(j.hits) +
		cap(j.picker.text) + cap(j.picker.form) + j.folder.Scratch() + cap(j.mergedText)
	if kept > maxKept || j.large {
		return
	}
	j.reset()
	for i := range e.idle {
		if e.idle[i].CompareAndSwap(nil, j) {
			return
		}
	}
}

// reset makes scratch memory ready for a call. What holds a call's text is let go.
func (j *judging) reset() {
	for _, i := range j.placed {
		j.places[i] = ijson.Value{}
	}
	for _, i := range j.touched {
		j.fired[i] = 0
	}
	j.placed, j.touched, j.candidates = j.placed[:0], j.touched[:0], j.candidates[:0]
	j.root, j.over, j.nested = ijson.Value{}, false, 0
	j.call, j.facts, j.asked = nil, celexpr.Facts{}, false
	j.forms, j.formed = nil, 0
}

// Judge decides a call. Of the rules that refuse it names the first alone.
func (e *Engine) Judge(c *Call) Decision { return e.decide(c, false) }

// Explain makes the same decision, judges every rule all the same and gives the
// whole trace.
func (e *Engine) Explain(c *Call) Decision { return e.decide(c, true) }

func (e *Engine) decide(c *Call, explain bool) Decision {
	j := e.begin()
	defer e.end(j)
	root, ok := j.arguments(c)
	if !ok {
		return Decision{Code: CannotJudge}
	}
	p := e.plans.of(c.Tool)
	d := Decision{Verdict: Allowed}
	if p.rules == 0 {
		return d
	}
	j.call = c
	j.place(e.anchors, root)
	if !explain {
		if steps, within := j.most(p); within {
			d.Steps, d.Applied = steps, p.rules
			if j.quick(p, &d) {
				return d
			}
			d, j.over = Decision{Verdict: Allowed}, false
		}
	}
	j.full = true
	for i, f := range e.files {
		j.lefts[i] = budget{f.src.Limits.Values, f.src.Limits.Steps}
	}
	for _, r := range p.inOrder() {
		j.apply(r, &j.lefts[r.file.number], &d, explain)
	}
	if !explain && len(d.Refusals) > 1 {
		d.Refusals = d.Refusals[:1]
	}
	return d
}

// quick decides a call that is within all limits but for what only judging tells:
// only the rules are judged whose triggers fire. It is false where a limit is
// passed after all, so that the rules must be judged one after the other.
func (j *judging) quick(p *plan, d *Decision) bool {
	for _, g := range p.groups {
		j.candidates = append(j.candidates, g.always...)
		for _, program := range g.programs {
			j.run(program)
		}
	}
	if len(j.candidates) == 0 {
		return true
	}
	slices.SortFunc(j.candidates, compareRules)
	for _, r := range j.candidates {
		passed := d.Verdict == Refused && !r.src.Watch
		var outcome Outcome
		var code Code
		if r.counts {
			// What it takes counts for those behind it, so it is judged in any case,
			// and whole.
			left := &j.lefts[r.file.number]
			before := left.steps
			j.left, j.full = *left, true
			outcome, code = j.judgeRule(r, j.root, nil)
			*left = j.left
			if left.values < 0 || left.steps < 0 {
				return false
			}
			d.Steps += before - left.steps
		} else if !passed {
			j.left, j.full = budget{maxSelected, math.MaxInt}, false
			outcome, code = j.judgeRule(r, j.root, nil)
		}
		if outcome == Refuses && !passed {
			d.add(r, j.refusal(r, code))
		}
		if j.over { // an expression spent its own budget
			break
		}
	}
	return true
}

// arguments is the object that pointers point into: the call's arguments, input
// responses a member of them.
func (j *judging) arguments(c *Call) (ijson.Value, bool) {
	if c.Arguments.Exists() && c.Arguments.Kind() != ijson.Object {
		return ijson.Value{}, false
	}
	if c.Arguments.Exists() && !c.InputResponses.Exists() {
		return c.Arguments, true
	}
	b := append(j.mergedText[:0], '{')
	if raw := c.Arguments.Raw(); c.Arguments.Len() > 0 {
		b = append(b, raw[1:len(raw)-1]...)
		if c.InputResponses.Exists() {
			b = append(b, ',')
		}
	}
	if c.InputResponses.Exists() {
		b = append(b, `"inputResponses":`...)
		b = append(b, c.InputResponses.Raw()...)
	}
	b = append(b, '}')
	j.mergedText = b
	j.large = len(b) > maxKept/maxNodeSize
	// Both were read before, one member deeper at most; what can fail is that the
	// arguments have a member of that name themselves.
	if err := j.merged.Parse(b, ijson.Options{Depth: math.MaxInt}); err != nil {
		return ijson.Value{}, false
	}
	return j.merged.Root(), true
}

// apply judges one rule within its file's budget and adds what comes of it to the
// decision.
func (j *judging) apply(r *rule, left *budget, d *Decision, explain bool) {
	if j.over {
		if explain {
			d.Trace.Rules = append(d.Trace.Rules, traceRule(r))
		}
		return
	}
	var t *RuleTrace
	if explain {
		d.Trace.Rules = append(d.Trace.Rules, traceRule(r))
		t = &d.Trace.Rules[len(d.Trace.Rules)-1]
	}
	before := *left
	j.left = before
	outcome, code := j.judgeRule(r, j.root, t)
	*left = budget{max(j.left.values, 0), max(j.left.steps, 0)}
	d.Steps += before.steps - left.steps
	if outcome != NotApplied {
		d.Applied++
	}
	if t != nil {
		t.Steps, t.Values = before.steps-left.steps, before.values-left.values
		t.decide()
	}
	if outcome == Refuses {
		d.add(r, j.refusal(r, code))
	}
}

// add adds a rule that refuses.
func (d *Decision) add(r *rule, x Refusal) {
	if r.src.Watch {
		d.Watched = append(d.Watched, x)
		return
	}
	if d.Verdict == Allowed {
		d.Verdict, d.File, d.Rule, d.Code, d.Say = Refused, x.File, x.Rule, x.Code, x.Say
	}
	d.Refusals = append(d.Refusals, x)
}

// judgeRule judges one rule within j.left. A limit passed refuses whatever else
// came out.
func (j *judging) judgeRule(r *rule, root ijson.Value, t *RuleTrace) (Outcome, Code) {
	o, code := j.judgeWhole(r, root, t)
	if j.over {
		o, code = Refuses, OverBudget
	}
	if t != nil {
		t.Outcome, t.Code = o, code
	}
	return o, code
}

func (j *judging) judgeWhole(r *rule, root ijson.Value, t *RuleTrace) (Outcome, Code) {
	j.last = nil
	if r.when != nil {
		var n *ConditionTrace
		if t != nil {
			n = traceOf(r.when, verdict.Fails)
			t.When = n
		}
		switch j.condition(r.when, root, n) {
		case verdict.Fails, verdict.Absent:
			return NotApplied, ""
		case verdict.CannotJudge:
			j.last, j.result = r.when, verdict.CannotJudge
			return Refuses, CannotJudge
		}
	}
	var n *ConditionTrace
	if t != nil {
		n = traceOf(r.condition, r.wanted())
		t.Condition = n
	}
	j.last, j.result = r.condition, j.condition(r.condition, root, n)
	switch j.result {
	case verdict.CannotJudge:
		return Refuses, CannotJudge
	case verdict.Holds:
		if r.wanted() == verdict.Holds {
			return Passes, ""
		}
		return Refuses, Condition
	}
	// It does not hold; absent at the top counts as that.
	if r.wanted() == verdict.Holds {
		return Refuses, Condition
	}
	return Passes, ""
}
