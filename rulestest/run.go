package rulestest

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"

	"countersign/engine"
	"countersign/internal/problem"
	"countersign/rules"
)

// RunOptions say which cases are run and how. The zero value runs all, on every
// processor.
type RunOptions struct {
	Match    *regexp.Regexp // of case names; nil: all
	FailFast bool           // stop at the first case, in their order, that fails
	Workers  int            // cases judged at once; 0: one for each processor
	Coverage bool           // measure what the cases reach
}

// Result is what became of one case.
type Result struct {
	File   *File
	Case   *Case
	Passed bool
	// Why a case failed, beside what happened: "" where that says enough.
	Why string
	// Calls is how many calls were judged: one, or the recorded ones. Left is how
	// many recorded ones could not be judged again.
	Calls, Left int

	// Of a case that failed, its call, or the first recorded one that failed.
	Judged Judged
	Call   string // the call as the test file has it; of a recorded one, where it stands
}

// Report is the results of one suite.
type Report struct {
	Suite   *Suite
	Results []Result // in the order of the test files and their cases
	Matched int      // cases that Match let through
	// NotRun counts the cases of the test files that did not run: those that Match
	// left out, and those behind one that failed with FailFast.
	NotRun int
	// Applied counts, for each rule of the set in its order, the calls it applied
	// to.
	Applied []int64

	Coverage *Coverage // where it was asked for
	Mutants  *Mutants  // where they were asked for
	Missed   []Finding // thresholds that were asked for and missed
}

// NotRun is the report of a suite none of whose cases ran.
func NotRun(s *Suite) *Report {
	return &Report{Suite: s, NotRun: s.cases(), Applied: make([]int64, len(s.rules))}
}

// cases counts the cases of all test files.
func (s *Suite) cases() int {
	n := 0
	for _, f := range s.Tests {
		n += len(f.Cases)
	}
	return n
}

// Failed counts the cases that failed.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Results {
		if !r.Results[i].Passed {
			n++
		}
	}
	return n
}

// Idle are the ids of the rules that applied to no call.
func (r *Report) Idle() []string {
	var idle []string
	for i, n := range r.Applied {
		if n == 0 {
			idle = append(idle, r.Suite.rules[i].ID)
		}
	}
	return idle
}

// task is one case to run.
type task struct {
	file *File
	c    *Case
	want expected
}

// tasks are the cases that match, in their order.
func (s *Suite) tasks(match *regexp.Regexp) []task {
	var all []task
	for _, f := range s.Tests {
		for i := range f.Cases {
			if c := &f.Cases[i]; match == nil || match.MatchString(c.Name) {
				all = append(all, task{f, c, s.expected(c)})
			}
		}
	}
	return all
}

// Run runs the suite's cases. Which worker runs which makes no difference to what
// comes out. An error is that of ctx, or says that the coverage could not be
// measured.
func (s *Suite) Run(ctx context.Context, o RunOptions) (*Report, error) {
	tasks := s.tasks(o.Match)
	run := &Report{Suite: s, Matched: len(tasks), Results: make([]Result, len(tasks)), Applied: make([]int64, len(s.rules))}
	seen, done, err := s.runTasks(ctx, o, tasks, run)
	if err == nil && done < len(tasks) {
		// Which cases behind the first that failed had begun is chance, and what
		// they reached does not count: once more, those up to it.
		tasks, run.Results, run.Applied = tasks[:done], run.Results[:done], make([]int64, len(s.rules))
		o.FailFast = false
		seen, _, err = s.runTasks(ctx, o, tasks, run)
	}
	run.NotRun = s.cases() - len(run.Results)
	if err != nil || !o.Coverage {
		return run, err
	}
	run.Coverage, err = s.cover(ctx, o, seen, tasks)
	return run, err
}

// runTasks runs tasks into a report and returns what they reached and how many of
// them ran.
func (s *Suite) runTasks(ctx context.Context, o RunOptions, tasks []task, run *Report) (*tally, int, error) {
	seen := newTally(s)
	done, err := s.each(ctx, o, len(tasks), func(w *worker, i int) bool {
		if o.Coverage && w.tally == nil {
			w.tally = newTally(s)
		}
		run.Results[i] = w.run(&tasks[i])
		return run.Results[i].Passed
	}, func(w *worker) {
		for i, n := range w.applied {
			run.Applied[i] += n
		}
		if w.tally != nil {
			seen.add(w.tally)
		}
	})
	return seen, done, err
}

// cover makes the coverage of what was seen, and of the entries of lists.
func (s *Suite) cover(ctx context.Context, o RunOptions, seen *tally, tasks []task) (*Coverage, error) {
	texts := map[*rules.File]*written{}
	for _, f := range s.Set.Files {
		w, err := newWritten(f)
		if err != nil {
			return nil, fmt.Errorf("reading %s again: %w", f.Path, err)
		}
		texts[f] = w
	}
	c := seen.coverage(s, texts)
	probes, left := s.probes(c, texts)
	probes, more := s.sound(probes)
	c.Unmeasured = left + more
	return c, s.runProbes(ctx, o, tasks, probes)
}

// worker runs cases one after the other.
type worker struct {
	judge   judge
	applied []int64
	tally   *tally    // nil where coverage is not measured
	seen    [][2]bool // of probes
}

// each calls do for the numbers up to n, several at once, and last once for each
// worker, one after the other. It returns how many were done: with FailFast those
// up to the first for which do is false.
func (s *Suite) each(ctx context.Context, o RunOptions, n int, do func(*worker, int) bool, last func(*worker)) (int, error) {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(min(workers, n), 1)
	var next, stop atomic.Int64
	stop.Store(int64(n))
	all := make([]*worker, workers)
	var wait sync.WaitGroup
	for k := range all {
		w := &worker{judge: judge{s: s, e: s.engine}, applied: make([]int64, len(s.rules))}
		all[k] = w
		wait.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= stop.Load() {
					return
				}
				if do(w, int(i)) || !o.FailFast {
					continue
				}
				for at := stop.Load(); i+1 < at && !stop.CompareAndSwap(at, i+1); at = stop.Load() {
				}
			}
		})
	}
	wait.Wait()
	for _, w := range all {
		last(w)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return int(stop.Load()), nil
}

func (w *worker) run(t *task) Result {
	r := Result{File: t.file, Case: t.c}
	if t.c.Calls != nil {
		w.runRecorded(t, &r)
		return r
	}
	why, judged := w.one(t, t.c.Call)
	r.Calls = 1
	if r.Passed = why == ""; !r.Passed {
		r.Why, r.Judged, r.Call = otherwise(why), judged, string(compact(nil, t.c.Call.text))
	}
	return r
}

// otherwise leaves out a reason that says no more than what happened.
func otherwise(why string) string {
	if why == whyOther {
		return ""
	}
	return why
}

// one judges a call and says why the case fails, "" where it passes.
func (w *worker) one(t *task, c *Call) (string, Judged) {
	judged := w.judge.call(c, t.c.Now)
	for i := range judged.Decision.Trace.Rules {
		if r := &judged.Decision.Trace.Rules[i]; applied(r) {
			if at, ok := w.judge.s.order[r.Rule]; ok {
				w.applied[at]++
			}
		}
	}
	if w.tally != nil {
		w.tally.saw(w.judge.s, judged.tool, &judged.Decision)
	}
	o := w.judge.s.outcome(&judged)
	return t.want.met(&o), judged
}

// eachCall gives the calls of a case. Recorded ones that cannot be read were told
// of when the case ran.
func (w *worker) eachCall(t *task, f func(*Call)) {
	if t.c.Call != nil {
		f(t.c.Call)
		return
	}
	_, _ = w.judge.s.eachRecorded(t.file, t.c, func(c *Call) error {
		f(c)
		return nil
	})
}

// runRecorded holds every recorded call that a case names to its expectation.
func (w *worker) runRecorded(t *task, r *Result) {
	failed := 0
	left, err := w.judge.s.eachRecorded(t.file, t.c, func(c *Call) error {
		r.Calls++
		if why, judged := w.one(t, c); why != "" {
			if failed == 0 {
				r.Why, r.Judged, r.Call = otherwise(why), judged, fmt.Sprintf("%s: tool %s", c.from, problem.Quoted(c.Tool))
			}
			failed++
		}
		return nil
	})
	r.Left = left
	switch {
	case err != nil:
		r.Why = err.Error()
	case r.Calls == 0 && left > 0:
		r.Why = fmt.Sprintf("%d recorded calls, none of which can be judged again", left)
	case r.Calls == 0:
		r.Why = fmt.Sprintf("no recorded call was found under %s", problem.Quoted(t.c.Calls.Glob))
	case failed == 0:
		r.Passed = true
	case failed > 1:
		if r.Why != "" {
			r.Why += "; "
		}
		r.Why += fmt.Sprintf("%d of %d recorded calls fail, this one first", failed, r.Calls)
	}
}

// compact takes the white space out of strict JSON.
func compact(dst, src []byte) []byte {
	text := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case text && c == '\\':
			dst = append(dst, c)
			i++
			c = src[i]
		case c == '"':
			text = !text
		case !text && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// applied: was the rule for this call, as its when has it?
func applied(t *engine.RuleTrace) bool {
	return t.Outcome == engine.Passes || t.Outcome == engine.Refuses
}
