package rulestest

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The exit codes of a program that runs tests (content rules, section 10).
const (
	ExitPassed = 0
	ExitFailed = 1 // a case failed, or a threshold was missed
	ExitFaulty = 2 // a file or an option is wrong, or no test was found
)

// Exit is the exit code for reports: that no case ran is not that all passed.
func Exit(reports []*Report) int {
	ran, code := 0, ExitPassed
	for _, r := range reports {
		ran += len(r.Results)
		if r.Failed() > 0 || len(r.Missed) > 0 {
			code = ExitFailed
		}
	}
	if ran == 0 {
		return ExitFaulty
	}
	return code
}

// printer writes lines, in which nothing steers a terminal, and keeps the first
// error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, escaped(fmt.Sprintf(format, args...), func(r rune) bool { return r == '\n' || r == '\t' }))
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// WriteText writes reports for people: the failed cases, with verbose the others
// too, and a summary that says what was tested by its fingerprint, how many cases
// ran and which rules applied to none of their calls.
func WriteText(w io.Writer, reports []*Report, verbose bool) error {
	p := &printer{w: w}
	ran, failed, notRun, left := 0, 0, 0, 0
	for _, r := range reports {
		for i := range r.Results {
			x := &r.Results[i]
			left += x.Left
			switch {
			case !x.Passed:
				p.printf("FAIL %s: %s\n%s", printable(x.File.Path), printable(x.Case.Name), indented(x.Explanation()))
			case verbose && x.Case.Calls != nil:
				p.printf("pass %s: %s (%s, %d not judged again)\n", printable(x.File.Path), printable(x.Case.Name), plural(x.Calls, "recorded call"), x.Left)
			case verbose:
				p.printf("pass %s: %s\n", printable(x.File.Path), printable(x.Case.Name))
			}
		}
		ran += len(r.Results)
		failed += r.Failed()
		notRun += r.NotRun
	}
	for _, r := range reports {
		for _, f := range r.Suite.Set.Files {
			p.printf("%s: %s, %s, %s\n", f.Path, f.Name, plural(len(f.Rules), "rule"), f.Fingerprint)
		}
		if idle := r.Idle(); len(idle) > 0 {
			p.printf("applied in no case: %s\n", quotedList(idle))
		}
	}
	if left > 0 {
		p.printf("%s could not be judged again and passed in no case\n", plural(left, "recorded call"))
	}
	p.printf("%s: %d passed, %d failed", plural(ran, "case"), ran-failed, failed)
	if notRun > 0 {
		p.printf("; %d more not run", notRun)
	}
	p.printf("\n")
	return p.err
}

// maxListed is how many names a summary lists before it counts.
const maxListed = 20

func quotedList(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(n))
	}
	return b.String()
}

func indented(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// JSONReport is the answer of a run for programs.
type JSONReport struct {
	Passed int         `json:"passed"`
	Failed int         `json:"failed"`
	NotRun int         `json:"notRun"` // cases left out, by a pattern or behind one that failed
	Suites []JSONSuite `json:"suites"`
}

// JSONSuite is one suite of a JSONReport.
type JSONSuite struct {
	Rules []JSONRules `json:"rules"`
	Tests []string    `json:"tests"`
	Cases []JSONCase  `json:"cases"`
	// NotRun counts the suite's cases that are not among Cases.
	NotRun int `json:"notRun"`
	// Idle are the rules that applied in no case.
	Idle []string `json:"idle"`

	Coverage *CoverageJSON `json:"coverage,omitempty"`
	Mutants  *MutantsJSON  `json:"mutants,omitempty"`
	// Missed says the thresholds that were missed.
	Missed []string `json:"missed,omitempty"`
}

// JSONRules is a rules file that was tested.
type JSONRules struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Rules       int    `json:"rules"`
}

// JSONCase is one case.
type JSONCase struct {
	File     string `json:"file"`
	Name     string `json:"name"`
	Passed   bool   `json:"passed"`
	Calls    int    `json:"calls"`
	Left     int    `json:"left,omitempty"` // recorded calls that could not be judged again
	Call     string `json:"call,omitempty"`
	Expected string `json:"expected,omitempty"`
	Happened string `json:"happened,omitempty"`
	Because  string `json:"because,omitempty"`
	Trace    string `json:"trace,omitempty"`
}

// JSON gives reports as one value for programs.
func JSON(reports []*Report) *JSONReport {
	out := &JSONReport{Suites: []JSONSuite{}}
	for _, r := range reports {
		s := JSONSuite{Cases: make([]JSONCase, 0, len(r.Results)), Idle: r.Idle()}
		if s.Idle == nil {
			s.Idle = []string{}
		}
		for _, f := range r.Suite.Set.Files {
			s.Rules = append(s.Rules, JSONRules{f.Path, f.Name, f.Fingerprint, len(f.Rules)})
		}
		for _, f := range r.Suite.Tests {
			s.Tests = append(s.Tests, f.Path)
		}
		for i := range r.Results {
			x := &r.Results[i]
			c := JSONCase{File: x.File.Path, Name: x.Case.Name, Passed: x.Passed, Calls: x.Calls, Left: x.Left}
			if x.Passed {
				out.Passed++
			} else {
				out.Failed++
				c.Call, c.Expected, c.Because = x.Call, x.Case.expectation(), x.Why
				if x.Call != "" {
					c.Happened = x.Judged.String()
				}
				var b strings.Builder
				decided(&b, x)
				c.Trace = b.String()
			}
			s.Cases = append(s.Cases, c)
		}
		out.NotRun += r.NotRun
		s.NotRun = r.NotRun
		for _, m := range r.Missed {
			s.Missed = append(s.Missed, m.Message)
		}
		if r.Coverage != nil {
			s.Coverage = r.Coverage.JSON()
		}
		if r.Mutants != nil {
			s.Mutants = r.Mutants.JSON()
		}
		out.Suites = append(out.Suites, s)
	}
	return out
}

// WriteJSON writes reports as JSON.
func WriteJSON(w io.Writer, reports []*Report) error { return writeJSON(w, JSON(reports)) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WriteTAP writes reports in the Test Anything Protocol, version 13: nothing of 14
// is in them, and prove takes a pass for a failure where it reads 14.
func WriteTAP(w io.Writer, reports []*Report) error {
	p := &printer{w: w}
	n, notRun := 0, 0
	for _, r := range reports {
		n += len(r.Results) + len(r.Missed)
		notRun += r.NotRun
	}
	p.printf("TAP version 13\n1..%d\n", n)
	if notRun > 0 {
		p.printf("# %s not run\n", plural(notRun, "more case"))
	}
	n = 0
	for _, r := range reports {
		for i := range r.Results {
			x := &r.Results[i]
			n++
			if x.Passed {
				p.printf("ok %d - %s\n", n, tapText(x.Case.Name))
				continue
			}
			p.printf("not ok %d - %s\n  ---\n  at: %s\n  message: |\n", n, tapText(x.Case.Name), strconv.Quote(x.File.Path))
			for line := range strings.Lines(x.Explanation()) {
				p.printf("    %s\n", printable(strings.TrimSuffix(line, "\n")))
			}
			p.printf("  ...\n")
		}
		for _, m := range r.Missed {
			n++
			p.printf("not ok %d - %s\n", n, tapText(m.File+": "+m.Message))
		}
	}
	return p.err
}

var tapEscapes = strings.NewReplacer(`\`, `\\`, "#", `\#`)

func tapText(s string) string { return tapEscapes.Replace(printable(s)) }

// printable is a text as one line: what breaks a line, steers a terminal or turns
// the order of its letters about is written as JSON has it escaped. A name of a
// case can say nothing that its report does not.
func printable(s string) string { return escaped(s, func(rune) bool { return false }) }

func escaped(s string, keep func(rune) bool) string {
	odd := func(r rune) bool {
		return !keep(r) && (unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == '\uFFFE' || r == '\uFFFF')
	}
	if !strings.ContainsFunc(s, odd) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r) // of bytes that are no text, the replacement character
		}
	}
	return b.String()
}

var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes findings as annotations that GitHub's runner shows beside
// the lines they are of.
func WriteGitHub(w io.Writer, findings []Finding) error {
	p := &printer{w: w}
	for _, f := range findings {
		level := "error"
		if f.Warning {
			level = "warning"
		}
		p.printf("::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, githubProperty.Replace(f.File), f.Line, f.Column,
			githubProperty.Replace(f.Code), githubData.Replace(strings.TrimSuffix(f.Message, "\n")))
	}
	return p.err
}
