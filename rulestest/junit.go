package rulestest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Error   *junitFailure `xml:"error,omitempty"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes reports as JUnit XML: a suite for each test file, with the
// fingerprints of the rules it tested as properties, and one for the thresholds
// that were missed. Faults, for which nothing could run, are errors: an empty
// report would be read as a pass. No times are in it, so the
// same run writes the same bytes.
func WriteJUnit(w io.Writer, reports []*Report, faults []Finding) error {
	var all junitSuites
	for _, r := range reports {
		var tested []junitProperty
		for _, f := range r.Suite.Set.Files {
			tested = append(tested, junitProperty{"content-rules:" + f.Name, f.Fingerprint})
		}
		if r.NotRun > 0 {
			tested = append(tested, junitProperty{"cases not run", strconv.Itoa(r.NotRun)})
		}
		results := r.Results
		for _, f := range r.Suite.Tests {
			s := junitSuite{Name: f.Path, Properties: tested}
			at := newLines(f.Source)
			for len(results) > 0 && results[0].File == f {
				x := &results[0]
				results = results[1:]
				line, _ := at.position(x.Case.Offset)
				c := junitCase{Name: x.Case.Name, Class: f.Path, File: f.Path, Line: line}
				if !x.Passed {
					s.Failures++
					c.Failure = &junitFailure{Message: fmt.Sprintf("expected %s", x.Case.expectation()), Type: CodeCaseFailed, Text: x.Explanation()}
				}
				s.Cases = append(s.Cases, c)
				s.Tests++
			}
			all.Suites = append(all.Suites, s)
			all.Tests += s.Tests
			all.Failures += s.Failures
		}
		if len(r.Missed) == 0 {
			continue
		}
		s := junitSuite{Name: "thresholds", Properties: tested, Tests: len(r.Missed), Failures: len(r.Missed)}
		for _, m := range r.Missed {
			s.Cases = append(s.Cases, junitCase{Name: m.Message, Class: m.File, File: m.File, Line: m.Line,
				Failure: &junitFailure{Message: m.Message, Type: m.Code}})
		}
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
	}
	for _, f := range faults {
		all.Suites = append(all.Suites, junitSuite{Name: f.File, Tests: 1, Errors: 1, Cases: []junitCase{{
			Name: "tests can be run", Class: f.File, File: f.File, Line: f.Line,
			Error: &junitFailure{Message: f.Message, Type: f.Code, Text: f.String()},
		}}})
		all.Tests++
		all.Errors++
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
