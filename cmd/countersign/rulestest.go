package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"countersign/proxy"
	"countersign/rulestest"
)

// testFlags are the options of rules test.
type testFlags struct {
	run                 string
	verbose, failFast   bool
	watch               bool
	coverage, mutants   bool
	least, leastKilled  int
	tries               int
	junit, sarif, html  string
	github, tap         bool
	match               *regexp.Regexp
	wantMin, wantKilled bool
}

// testOptions are what rules need from outside where they are tested.
func testOptions() rulestest.Options {
	return rulestest.Options{Engine: engineOptions(), ReadMessage: readMessage}
}

// readMessage reads a message of a test as the guard does.
func readMessage(line []byte) (rulestest.Message, error) {
	m, err := proxy.ReadAgentMessage(line)
	return rulestest.Message(m), err
}

func (p *program) rulesTestCommand() *cobra.Command {
	var f testFlags
	cmd := p.answers(&cobra.Command{
		Use:   "test [PATH…]",
		Short: "Run the tests of rules, and measure what they reach",
		Long: `test runs test files: those named, the one beside a rules file that is named, or
all below a folder (the present one if none is named). A failing case shows its
call, what was expected, what happened and what decided it.

--coverage says what of the rules no case reached. --mutants changes the rules in
small ways and says which changes no case notices, each with a case that would.

Exit codes: 0 all passed; 1 a case failed or a threshold was missed; 2 a file or
an option is wrong, or no case ran.`,
		// -run is spelt as Go's tests have it, which the parser of options would
		// take for three short ones.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := p.testArgs(cmd, args, &f)
			if err != nil || args == nil {
				return err
			}
			if f.watch {
				return p.watchTests(cmd.Context(), args, &f)
			}
			return p.runTests(cmd.Context(), args, &f)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "only cases whose names match this `PATTERN` (also -run)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "name the cases that pass, and the mutants that are killed")
	flags.BoolVar(&f.failFast, "fail-fast", false, "stop at the first case that fails")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file changes, until interrupted")
	flags.BoolVar(&f.coverage, "coverage", false, "say what no case reached")
	flags.IntVar(&f.least, "min", 0, "fail under this percentage of coverage")
	flags.StringVar(&f.html, "html", "", "write the coverage as a page to this file")
	flags.BoolVar(&f.mutants, "mutants", false, "say which small changes of the rules no case notices")
	flags.IntVar(&f.leastKilled, "min-killed", 0, "fail under this percentage of killed mutants, of those that some call tells apart")
	flags.IntVar(&f.tries, "tries", rulestest.DefaultTries, "calls to try for a mutant that no case notices")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to this file")
	flags.StringVar(&f.sarif, "sarif", "", "write a SARIF 2.1.0 log to this file")
	flags.BoolVar(&f.github, "github", false, "print annotations for GitHub in place of the report")
	flags.BoolVar(&f.tap, "tap", false, "print TAP in place of the report")
	return cmd
}

// testArgs reads the command line of rules test; no arguments are nil after help.
func (p *program) testArgs(cmd *cobra.Command, args []string, f *testFlags) ([]string, error) {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	cmd.DisableFlagParsing = false
	if err := cmd.ParseFlags(args); err != nil {
		return nil, cmd.FlagErrorFunc()(cmd, err)
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return nil, cmd.Help()
	}
	if p.logAs != "text" && p.logAs != "json" {
		return nil, fmt.Errorf("--log %q, expected text or json", p.logAs)
	}
	f.wantMin, f.wantKilled = cmd.Flags().Changed("min"), cmd.Flags().Changed("min-killed")
	for _, of := range []struct {
		flag string
		n    int
	}{{"min", f.least}, {"min-killed", f.leastKilled}} {
		if of.n < 0 || of.n > 100 {
			return nil, fmt.Errorf("--%s %d, expected a percentage from 0 to 100", of.flag, of.n)
		}
	}
	if f.tries < 0 {
		return nil, fmt.Errorf("--tries %d, expected 0 or more", f.tries)
	}
	forms := 0
	for _, on := range []bool{p.asJSON, f.github, f.tap} {
		if on {
			forms++
		}
	}
	if forms > 1 {
		return nil, errors.New("--json, --github and --tap are three forms of one answer, expected at most one of them")
	}
	if f.run != "" {
		var err error
		if f.match, err = regexp.Compile(f.run); err != nil {
			return nil, fmt.Errorf("--run %q is no pattern: %w", f.run, err)
		}
	}
	f.coverage = f.coverage || f.wantMin || f.html != ""
	f.mutants = f.mutants || f.wantKilled
	if f.mutants && f.match != nil {
		return nil, errors.New("mutants are tried with all cases, expected no --run beside --mutants or --min-killed")
	}
	if f.wantKilled && f.tries < rulestest.DefaultTries {
		// What no call was tried for is told apart by none and would count as well held.
		return nil, fmt.Errorf("--min-killed with --tries %d, expected at least the %d calls that a share rests on", f.tries, rulestest.DefaultTries)
	}
	if args = cmd.Flags().Args(); len(args) == 0 {
		args = []string{"."}
	}
	return args, nil
}

// runTests runs the tests once and tells what came out.
func (p *program) runTests(ctx context.Context, paths []string, f *testFlags) error {
	_, err := p.loadAndTest(ctx, paths, f)
	return err
}

// loadAndTest loads the suites and runs them. Why nothing could be run stands in
// the reports too.
func (p *program) loadAndTest(ctx context.Context, paths []string, f *testFlags) ([]*rulestest.Suite, error) {
	if err := clearReports(f.reports(nil, nil)); err != nil {
		return nil, err
	}
	suites, problems, err := rulestest.Load(paths, testOptions())
	faults := rulestest.Faults(problems)
	switch {
	case err != nil:
		faults = append(faults, rulestest.Fault(paths[0], err))
	case len(problems) > 0:
		err = problems.Err()
	default:
		var reports []*rulestest.Report
		if reports, err = p.testSuites(ctx, suites, f); err == nil {
			return suites, p.tellTests(reports, f)
		}
		faults = append(faults, rulestest.Fault(paths[0], err))
	}
	told := writeReports(f.reports(nil, faults))
	if f.github {
		told = errors.Join(told, rulestest.WriteGitHub(p.out, faults))
	}
	return suites, errors.Join(err, told)
}

// reports are the files that were asked for.
func (f *testFlags) reports(reports []*rulestest.Report, faults []rulestest.Finding) []reportFile {
	all := []reportFile{
		{"junit", f.junit, []string{"<?xml"}, func(w io.Writer) error { return rulestest.WriteJUnit(w, reports, faults) }},
		{"sarif", f.sarif, []string{"/sarif-", "sarif-schema"}, func(w io.Writer) error {
			return rulestest.WriteSARIF(w, append(findings(reports), faults...), version)
		}},
		{"html", f.html, []string{"<!DOCTYPE html", "<!doctype html"}, func(w io.Writer) error { return writePages(w, reports) }},
	}
	return slices.DeleteFunc(all, func(r reportFile) bool { return r.path == "" || r.option == "html" && len(faults) > 0 })
}

// testSuites runs the suites. An error says why there is no result.
func (p *program) testSuites(ctx context.Context, suites []*rulestest.Suite, f *testFlags) ([]*rulestest.Report, error) {
	var reports []*rulestest.Report
	cases, passed := 0, true
	for _, s := range suites {
		for _, file := range s.Tests {
			cases += len(file.Cases)
		}
		if !passed && f.failFast {
			reports = append(reports, rulestest.NotRun(s))
			continue
		}
		r, err := s.Run(ctx, rulestest.RunOptions{Match: f.match, FailFast: f.failFast, Coverage: f.coverage})
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
		if r.Failed() > 0 {
			passed = false
		}
	}
	if rulestest.Exit(reports) == rulestest.ExitFaulty {
		return nil, hint(fmt.Errorf("no case ran: of %s none matches --run %q", plural(cases, "case"), f.run), "a run of nothing is not a pass")
	}
	if f.mutants && !passed {
		p.note("no mutant was tried, since a case fails")
	}
	if f.mutants && passed {
		tries := f.tries
		if tries == 0 {
			tries = -1
		}
		for _, r := range reports {
			var err error
			if r.Mutants, err = r.Suite.Mutate(ctx, rulestest.MutantOptions{Tries: tries}); err != nil {
				return nil, err
			}
		}
	}
	f.missed(reports)
	return reports, nil
}

// missed notes the thresholds that each suite missed.
func (f *testFlags) missed(reports []*rulestest.Report) {
	for _, r := range reports {
		miss := func(format string, args ...any) {
			r.Missed = append(r.Missed, rulestest.Finding{Code: rulestest.CodeThreshold, File: r.Suite.Paths[0], Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)})
		}
		switch c := r.Coverage; {
		case !f.wantMin:
		case c == nil:
			miss("no coverage was measured, since a case before fails")
		case c.Percent() < f.least:
			miss("coverage is %d%%, under the %d%% asked for", c.Percent(), f.least)
		}
		switch m := r.Mutants; {
		case !f.wantKilled:
		case m == nil:
			miss("no mutant was tried, since a case fails")
		case m.Percent() < f.leastKilled:
			miss("%d%% of the mutants are killed, under the %d%% asked for", m.Percent(), f.leastKilled)
		case f.leastKilled == 100 && m.Left > 0:
			miss("%d mutants were not tried", m.Left)
		}
	}
}

// tellTests writes the answer, errNo where it is no, in each form that was asked for.
func (p *program) tellTests(reports []*rulestest.Report, f *testFlags) error {
	if err := writeReports(f.reports(reports, nil)); err != nil {
		return err
	}
	var err error
	switch {
	case p.asJSON:
		err = rulestest.WriteJSON(p.out, reports)
	case f.github:
		err = rulestest.WriteGitHub(p.out, findings(reports))
	case f.tap:
		err = rulestest.WriteTAP(p.out, reports)
	default:
		err = p.tellText(reports, f.verbose)
	}
	if err == nil && rulestest.Exit(reports) != rulestest.ExitPassed {
		return errNo
	}
	return err
}

// tellText writes the answer for people.
func (p *program) tellText(reports []*rulestest.Report, verbose bool) error {
	if err := rulestest.WriteText(p.out, reports, verbose); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Coverage != nil {
			if err := r.Coverage.WriteText(p.out); err != nil {
				return err
			}
		}
		if r.Mutants != nil {
			if err := r.Mutants.WriteText(p.out, verbose); err != nil {
				return err
			}
		}
	}
	for _, r := range reports {
		for _, m := range r.Missed {
			p.say("%s: %s", m.File, m.Message)
		}
	}
	return nil
}

// findings are all that reports have found.
func findings(reports []*rulestest.Report) []rulestest.Finding {
	var out []rulestest.Finding
	for _, r := range reports {
		out = append(out, r.Findings()...)
		if r.Coverage != nil {
			out = append(out, r.Coverage.Findings()...)
		}
		if r.Mutants != nil {
			out = append(out, r.Mutants.Findings()...)
		}
	}
	return out
}

// writePages writes the coverage of all suites as one page.
func writePages(w io.Writer, reports []*rulestest.Report) error {
	whole := &rulestest.Coverage{}
	for _, r := range reports {
		if r.Coverage == nil {
			continue
		}
		whole.Rules = append(whole.Rules, r.Coverage.Rules...)
		whole.Unmeasured += r.Coverage.Unmeasured
	}
	return whole.WritePage(w)
}

// testCommands are the commands that test rules.
func (p *program) testCommands() []*cobra.Command {
	return []*cobra.Command{p.rulesTestCommand(), p.rulesCoverageCommand(), p.rulesDiffCommand(), p.rulesCaptureCommand(), p.rulesWatchReportCommand()}
}
