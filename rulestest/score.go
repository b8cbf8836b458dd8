package rulestest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

// Bounds of trying mutants.
const (
	// DefaultTries is how many calls are tried to tell a mutant apart that no case
	// noticed.
	DefaultTries = 3000
	// MaxMutants bounds the mutants of a suite; the others are counted.
	MaxMutants = 20_000
	// maxRecordedKept bounds the recorded calls of one case that mutants are tried
	// with.
	maxRecordedKept = 10_000
)

// ErrFailing says that mutants mean nothing while cases fail.
var ErrFailing = errors.New("a case fails; mutants are tried once all pass")

// State is what became of a mutant.
type State string

const (
	Killed State = "killed" // a case fails with it
	Alive  State = "alive"  // no case fails, and a call tells it apart
	// Untold: no case fails, and no call was found that tells it apart.
	Untold State = "not told apart"
)

// Mutant is one small change of the rules and what became of it.
type Mutant struct {
	Kind    string
	State   State
	File    *rules.File
	Rules   []string // ids of the rules it changes
	Pointer string   // of the changed place
	Offset  int      // byte offset there
	What    string   // says the change
	By      string   // of a killed one: the first case that fails
	Case    string   // of one alive: a case that would fail, ready for the test file
	Tries   int      // of one not told apart: the calls that were tried
}

// Mutants is what became of all mutants of a suite.
type Mutants struct {
	All []Mutant
	// Left counts mutants that were not tried, since there were more than
	// MaxMutants. Unread counts changes that are no rules file.
	Left, Unread int
	// LeftCalls counts recorded calls of cases that no mutant was tried with, since a
	// case had more than maxRecordedKept: one of them may notice what no other does.
	LeftCalls int
}

// Count is how many mutants of a kind ("" for all) are in a state.
func (m *Mutants) Count(kind string, state State) int {
	n := 0
	for i := range m.All {
		if (kind == "" || m.All[i].Kind == kind) && m.All[i].State == state {
			n++
		}
	}
	return n
}

// Percent is the share of killed ones among those that a call can tell apart, as
// far as is known, rounded down; of none it is 100.
func (m *Mutants) Percent() int {
	killed, alive := m.Count("", Killed), m.Count("", Alive)
	if killed+alive == 0 {
		return 100
	}
	return killed * 100 / (killed + alive)
}

// MutantOptions say how mutants are tried. The zero value is ready.
type MutantOptions struct {
	Workers int
	Tries   int // calls tried for one that no case noticed; 0: DefaultTries, under 0: none
}

// prepared is a call of a case, read, and what the rules say of it.
type prepared struct {
	t       *task
	call    engine.Call
	base    outcome
	applied []int // the rules that applied
}

// Mutate tries every mutant of the suite's rules. An error is ErrFailing where a
// case fails as the rules are.
func (s *Suite) Mutate(ctx context.Context, o MutantOptions) (*Mutants, error) {
	p, leftCalls, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	out := &Mutants{LeftCalls: leftCalls}
	var all []change
	var of []*written
	for _, f := range s.Set.Files {
		w, err := newWritten(f)
		if err != nil {
			return nil, fmt.Errorf("reading %s again: %w", f.Path, err)
		}
		for _, c := range s.changes(w) {
			if len(all) == MaxMutants {
				out.Left++
				continue
			}
			all, of = append(all, c), append(of, w)
		}
	}
	tries := o.Tries
	if tries == 0 {
		tries = DefaultTries
	}
	found := make([]*Mutant, len(all))
	_, err = s.each(ctx, RunOptions{Workers: o.Workers}, len(all), func(_ *worker, i int) bool {
		found[i] = s.try(ctx, &all[i], of[i], p, tries, uint64(i))
		return true
	}, func(*worker) {})
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m == nil {
			out.Unread++
			continue
		}
		out.All = append(out.All, *m)
	}
	return out, nil
}

// prepare reads all calls once and judges them by the rules as they are. left
// counts recorded calls beyond those that are kept.
func (s *Suite) prepare(ctx context.Context) (out []prepared, left int, err error) {
	tasks := s.tasks(nil)
	for i := range tasks {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		t := &tasks[i]
		kept := 0
		w := worker{judge: judge{s: s}}
		failing := ""
		w.eachCall(t, func(c *Call) {
			if kept == maxRecordedKept {
				left++
				return
			}
			kept++
			j := judge{s: s, e: s.engine} // its own text, which stays
			read, judged := j.read(c, t.c.Now)
			if read != nil {
				judged = Judged{Decision: s.engine.Explain(read), tool: read.Tool}
			}
			o := s.outcome(&judged)
			if why := t.want.met(&o); why != "" && failing == "" {
				failing = t.c.Name
			}
			if read == nil {
				return
			}
			out = append(out, prepared{t: t, call: *read, base: o, applied: s.appliedOf(&judged.Decision)})
		})
		if failing != "" || kept == 0 {
			return nil, 0, fmt.Errorf("%w: %s: %s", ErrFailing, t.file.Path, t.c.Name)
		}
	}
	return out, left, nil
}

func (s *Suite) appliedOf(d *engine.Decision) []int {
	var out []int
	for i := range d.Trace.Rules {
		if r := &d.Trace.Rules[i]; applied(r) {
			out = append(out, s.order[r.Rule])
		}
	}
	return out
}

// part is some rules of the set compiled alone. Rules do not look at each other,
// so that what they say together is what each says, but for budgets.
type part struct {
	s     *Suite
	e     *engine.Engine
	set   *rules.Set
	rules []int // the rules of the set that it stands for
	whens bool
}

// part compiles the rules of a change as they are, or changed. Where a case is
// over a budget, which the rules of a file share, it is the whole set.
func (s *Suite) part(w *written, c *change, changed bool, whole bool) (*part, bool) {
	p := &part{s: s, rules: c.rules}
	var sources []rules.Source
	if whole {
		p.rules = nil
		for i := range s.rules {
			p.rules = append(p.rules, i)
		}
		for _, f := range s.Set.Files {
			if f != w.file {
				sources = append(sources, rules.Source{Path: f.Path, Data: f.Source})
			}
		}
	}
	var texts []string
	for i, r := range s.rules {
		mine := slices.Contains(c.rules, i)
		switch {
		case s.ruleFiles[i] != w.file || !whole && !mine:
		case changed && mine && c.list == "":
			if c.rule != "" {
				texts = append(texts, c.rule)
			}
		default:
			texts = append(texts, raw(w.at(r.Pointer)))
		}
	}
	if len(texts) > 0 {
		root := w.doc.Root()
		var lists []string
		together := strings.Join(texts, " ")
		for n, v := range root.Member("lists").Members() {
			text := raw(v)
			if changed && n.Text() == c.list {
				text = c.entries
			}
			if whole || usesList(together, n.Text()) {
				lists = append(lists, n.Text(), text)
			}
		}
		all := ""
		if len(lists) > 0 {
			all = object(lists...)
		}
		sources = append(sources, rules.Source{Path: w.file.Path, Data: []byte(object("format", quote(rules.Version),
			"name", raw(root.Member("name")), "limits", raw(root.Member("limits")), "lists", all, "rules", list(texts...)))})
	}
	set, problems := rules.ReadSet(sources)
	if len(problems) > 0 {
		return nil, false
	}
	e, err := engine.New(set, s.options.Engine)
	if err != nil {
		return nil, false
	}
	for _, f := range set.Files {
		for _, r := range f.Rules {
			p.whens = p.whens || r.When != nil
		}
	}
	p.e, p.set = e, set
	return p, true
}

// names says whether any of its rules is for a tool.
func (p *part) names(tool string) bool {
	for _, f := range p.set.Files {
		for _, r := range f.Rules {
			if r.Names(tool) {
				return true
			}
		}
	}
	return false
}

// says is what its rules alone say of a call. Without counting, applied is only
// good to know that no rule is for the tool.
func (p *part) says(c *engine.Call, counting bool) outcome {
	var d engine.Decision
	if len(p.rules) == 1 && !(counting && p.whens) {
		d = p.e.Judge(c)
	} else {
		d = p.e.Explain(c)
	}
	return p.s.outcome(&Judged{Decision: d})
}

// instead is an outcome with what some rules say put in the place of what they
// said.
func instead(base *outcome, applied []int, of []int, say *outcome) outcome {
	o := outcome{applied: say.applied}
	keep := func(from, add []saying) []saying {
		var out []saying
		for _, x := range from {
			if !slices.Contains(of, x.rule) {
				out = append(out, x)
			}
		}
		return append(out, add...)
	}
	o.refused, o.watched = keep(base.refused, say.refused), keep(base.watched, say.watched)
	for _, r := range applied {
		if !slices.Contains(of, r) {
			o.applied++
		}
	}
	return o
}

// try tries one mutant; nil where the change is no rules file.
func (s *Suite) try(ctx context.Context, c *change, w *written, cases []prepared, tries int, seed uint64) *Mutant {
	whole := slices.ContainsFunc(cases, func(p prepared) bool { return overBudget(&p.base) })
	after, ok := s.part(w, c, true, whole)
	if !ok {
		return nil
	}
	m := &Mutant{Kind: c.kind, File: w.file, Pointer: c.pointer, Offset: c.offset, What: c.what}
	for _, i := range c.rules {
		m.Rules = append(m.Rules, s.rules[i].ID)
	}
	for i := range cases {
		p := &cases[i]
		if !after.names(p.call.Tool) && !slices.ContainsFunc(c.rules, func(r int) bool { return s.rules[r].Names(p.call.Tool) }) {
			continue
		}
		say := after.says(&p.call, p.t.want.Allowed)
		o := instead(&p.base, p.applied, after.rules, &say)
		if p.t.want.met(&o) != "" {
			m.State, m.By = Killed, p.t.c.Name
			return m
		}
	}
	m.State = Untold
	before, ok := s.part(w, c, false, whole)
	if !ok || tries < 0 {
		return m
	}
	h := hunt{s: s, w: w, c: c, before: before, after: after, seed: seed}
	if m.Case, m.Tries = h.find(ctx, cases, tries); m.Case != "" {
		m.State = Alive
	}
	return m
}

func overBudget(o *outcome) bool {
	over := func(s saying) bool { return s.code == engine.OverBudget }
	return slices.ContainsFunc(o.refused, over) || slices.ContainsFunc(o.watched, over)
}

// readCall reads arguments that were made up, as the guard would.
func (s *Suite) readCall(tool string, arguments []byte, doc *ijson.Doc, now time.Time) (*engine.Call, bool) {
	if len(arguments) > s.bytes || doc.Parse(arguments, ijson.Options{Depth: s.depth}) != nil {
		return nil, false
	}
	c := &Call{Tool: tool, Arguments: arguments}
	e := &engine.Call{Tool: tool, Arguments: doc.Root(), Now: now}
	if s.alike != nil && s.alike(tool, e.Arguments) != "" {
		return nil, false
	}
	(&judge{s: s}).facts(e, c)
	return e, true
}
