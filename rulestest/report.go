package rulestest

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
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
		if r.Failed() > 0 {
			code = ExitFailed
		}
	}
	if ran == 0 {
		return ExitFaulty
	}
	return code
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
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
	ran, failed := 0, 0
	for _, r := range reports {
		for i := range r.Results {
			x := &r.Results[i]
			switch {
			case !x.Passed:
				p.printf("FAIL %s: %s\n%s", x.File.Path, x.Case.Name, indented(x.Explanation()))
			case verbose && x.Case.Calls != nil:
				p.printf("pass %s: %s (%s, %d not judged again)\n", x.File.Path, x.Case.Name, plural(x.Calls, "recorded call"), x.Left)
			case verbose:
				p.printf("pass %s: %s\n", x.File.Path, x.Case.Name)
			}
		}
		ran += len(r.Results)
		failed += r.Failed()
	}
	for _, r := range reports {
		for _, f := range r.Suite.Set.Files {
			p.printf("%s: %s, %s, %s\n", f.Path, f.Name, plural(len(f.Rules), "rule"), f.Fingerprint)
		}
		if idle := r.Idle(); len(idle) > 0 {
			p.printf("applied in no case: %s\n", quotedList(idle))
		}
	}
	p.printf("%s: %d passed, %d failed\n", plural(ran, "case"), ran-failed, failed)
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
	Suites []JSONSuite `json:"suites"`
}

// JSONSuite is one suite of a JSONReport.
type JSONSuite struct {
	Rules []JSONRules `json:"rules"`
	Tests []string    `json:"tests"`
	Cases []JSONCase  `json:"cases"`
	// Idle are the rules that applied in no case.
	Idle []string `json:"idle"`

	Coverage *CoverageJSON `json:"coverage,omitempty"`
	Mutants  *MutantsJSON  `json:"mutants,omitempty"`
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

// WriteTAP writes reports in the Test Anything Protocol, version 14.
func WriteTAP(w io.Writer, reports []*Report) error {
	p := &printer{w: w}
	n := 0
	for _, r := range reports {
		n += len(r.Results)
	}
	p.printf("TAP version 14\n1..%d\n", n)
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
	}
	return p.err
}

var tapEscapes = strings.NewReplacer(`\`, `\\`, "#", `\#`, "\n", " ", "\r", " ")

func tapText(s string) string { return printable(tapEscapes.Replace(s)) }

// printable puts a space for control characters, which YAML and terminals take
// for their own.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7F || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
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
