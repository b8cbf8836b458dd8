package rulestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

// Bench is what judging the calls of a suite's cases costs on this machine.
type Bench struct {
	Calls int         `json:"calls"` // cases whose calls could be judged
	Whole Cost        `json:"whole"` // all rules together
	Rules []RuleCost  `json:"rules"`
	Files []FileWorst `json:"files"`
}

// Cost is the mean for one call.
type Cost struct {
	Nanoseconds float64 `json:"ns"`
	Allocations float64 `json:"allocations"`
	Steps       float64 `json:"steps"` // checks on values, every rule judged whole
}

// RuleCost is what one rule costs a call of its tools, by itself.
type RuleCost struct {
	Rule string `json:"rule"` // file/id
	Cost
	Calls       int      `json:"calls"`                 // that the rule is for; 0: nothing was measured
	Expressions []uint64 `json:"expressions,omitempty"` // the most units each of its CEL expressions can cost
}

// FileWorst is the most steps that judging one call by a file can take, and the
// limit that ends it.
type FileWorst struct {
	File  string `json:"file"`
	Steps int    `json:"worstSteps"`
	Limit int    `json:"limit"`
}

// ErrNoCalls says that no case has a call that can be judged.
var ErrNoCalls = errors.New("no case has a call that can be judged, so there is nothing to measure")

// Measure judges the calls of the suite's cases again and again, about as long as
// each says for all rules together and for each rule by itself.
func (s *Suite) Measure(ctx context.Context, each time.Duration) (*Bench, error) {
	var calls []engine.Call
	for _, f := range s.Tests {
		for i := range f.Cases {
			if c := &f.Cases[i]; c.Call != nil {
				j := judge{s: s, e: s.engine} // its documents stay with the call
				if call, _ := j.read(c.Call, c.Now); call != nil {
					calls = append(calls, *call)
				}
			}
		}
	}
	if len(calls) == 0 {
		return nil, ErrNoCalls
	}
	b := &Bench{Calls: len(calls), Whole: measure(ctx, s.engine, calls, each)}
	for i, r := range s.rules {
		f := s.ruleFiles[i]
		cost := RuleCost{Rule: f.Name + "/" + r.ID, Expressions: expressions(r)}
		var own []engine.Call
		for k := range calls {
			if r.Names(calls[k].Tool) {
				own = append(own, calls[k])
			}
		}
		if cost.Calls = len(own); cost.Calls > 0 {
			e, err := s.alone(f, r)
			if err != nil {
				return nil, fmt.Errorf("compiling %s alone: %w", cost.Rule, err)
			}
			cost.Cost = measure(ctx, e, own, each)
		}
		b.Rules = append(b.Rules, cost)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	worst := s.engine.WorstSteps()
	for _, f := range s.Set.Files {
		b.Files = append(b.Files, FileWorst{f.Name, worst[f.Name], f.Limits.Steps})
	}
	return b, nil
}

// alone is an engine of one rule of a file.
func (s *Suite) alone(f *rules.File, r *rules.Rule) (*engine.Engine, error) {
	doc, err := ijson.Parse(f.Source, ijson.Options{})
	if err != nil {
		return nil, err
	}
	rule, err := doc.Root().Pointer(r.Pointer)
	if err != nil {
		return nil, err
	}
	src := splice(f.Source, doc.Root().Member("rules"), list(raw(rule)))
	one, problems := rules.ReadSet([]rules.Source{{Path: f.Path, Data: src}})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return engine.New(one, s.options.Engine)
}

// measure gives the mean cost of a call.
func measure(ctx context.Context, e *engine.Engine, calls []engine.Call, each time.Duration) Cost {
	var c Cost
	for i := range calls {
		d := e.Explain(&calls[i])
		c.Steps += float64(d.Steps) / float64(len(calls))
		e.Judge(&calls[i]) // what the first judgement of a tool makes is made
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, begun := 0, time.Now()
	for elapsed := time.Duration(0); elapsed < each && ctx.Err() == nil; elapsed = time.Since(begun) {
		for i := range calls {
			e.Judge(&calls[i])
		}
		n += len(calls)
	}
	spent := time.Since(begun)
	runtime.ReadMemStats(&after)
	c.Nanoseconds = float64(spent.Nanoseconds()) / float64(n)
	c.Allocations = float64(after.Mallocs-before.Mallocs) / float64(n)
	return c
}

// expressions are the worst costs of a rule's expressions.
func expressions(r *rules.Rule) (costs []uint64) {
	for _, c := range []*rules.Condition{r.When, r.Condition()} {
		c.Walk(func(c *rules.Condition) {
			if c.Program != nil {
				costs = append(costs, c.Program.Most)
			}
		})
	}
	return costs
}

// WriteText writes the costs as a table.
func (b *Bench) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%10s %8s %8s  rule (mean of a call; %d calls)\n%10.0f %8.1f %8.1f  all together\n", "ns", "allocs", "steps", b.Calls, b.Whole.Nanoseconds, b.Whole.Allocations, b.Whole.Steps)
	for _, r := range b.Rules {
		if err != nil {
			return err
		}
		if r.Calls == 0 {
			_, err = fmt.Fprintf(w, "%10s %8s %8s  %s: no call is for it\n", "-", "-", "-", r.Rule)
			continue
		}
		cel := ""
		for _, x := range r.Expressions {
			cel += fmt.Sprintf(", an expression of at most %d units", x)
		}
		_, err = fmt.Fprintf(w, "%10.0f %8.1f %8.1f  %s%s\n", r.Nanoseconds, r.Allocations, r.Steps, r.Rule, cel)
	}
	for _, f := range b.Files {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s: at most %d steps a call, the limit is %d\n", f.File, f.Steps, f.Limit)
		}
	}
	return err
}
