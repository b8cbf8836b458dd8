package rulestest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/problem"
)

// Finding is one thing an author should look at, with its place: what reports
// for other programs are made of.
type Finding struct {
	Code    string // of FindingCodes, or a warning code of section 11
	Warning bool   // else it is a failure
	File    string
	Line    int // from 1
	Column  int // from 1, in code points
	Message string
}

// The codes of findings beside the warnings of section 11.
const (
	CodeCaseFailed = "case-failed"
	CodeNotReached = "not-reached"
	CodeMutant     = "mutant-alive"
	CodeThreshold  = "threshold-missed"
	CodeFault      = "fault" // a file is wrong, or nothing ran
)

// meanings say what the codes of findings mean.
var meanings = map[string]string{
	CodeCaseFailed: "A case of a test file did not come out as it expects.",
	CodeNotReached: "No case reached this part of the rules.",
	CodeMutant:     "A small change of the rules is noticed by no case.",
	CodeThreshold:  "A share that was asked for was not reached.",
	CodeFault:      "The tests could not be run.",
}

// Faults are problems of files, for which nothing could run, as findings.
func Faults(l problem.List) []Finding {
	var out []Finding
	for _, p := range l {
		out = append(out, Finding{Code: CodeFault, File: p.File, Line: p.Line, Column: p.Column, Message: strings.TrimPrefix(p.Pointer+": "+p.Msg, ": ")})
	}
	return out
}

// Fault is an error of a path, for which nothing could run, as a finding.
func Fault(path string, err error) Finding {
	return Finding{Code: CodeFault, File: path, Line: 1, Column: 1, Message: err.Error()}
}

// Findings are the failed cases and missed thresholds as findings.
func (r *Report) Findings() []Finding {
	var out []Finding
	places := map[*File]*lines{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Passed {
			continue
		}
		at := places[x.File]
		if at == nil {
			at = newLines(x.File.Source)
			places[x.File] = at
		}
		line, column := at.position(x.Case.Offset)
		out = append(out, Finding{
			Code: CodeCaseFailed, File: x.File.Path, Line: line, Column: column,
			Message: fmt.Sprintf("%s\n%s", x.Case.Name, x.Explanation()),
		})
	}
	return append(out, r.Missed...)
}

// String is a finding on one line.
func (f Finding) String() string {
	first, _, _ := strings.Cut(f.Message, "\n")
	return fmt.Sprintf("%s:%d:%d: %s [%s]", f.File, f.Line, f.Column, first, f.Code)
}

// lines finds the line of many offsets of one text.
type lines struct {
	src    []byte
	starts []int
}

func newLines(src []byte) *lines {
	l := &lines{src: src, starts: []int{0}}
	for i, c := range src {
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// position is the line and column of an offset, both from 1; the column counts
// code points.
func (l *lines) position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(l.src))
	i, found := slices.BinarySearchFunc(l.starts, offset, cmp.Compare[int])
	if !found {
		i--
	}
	column = 1
	for _, c := range l.src[l.starts[i]:offset] {
		if c&0xC0 != 0x80 {
			column++
		}
	}
	return i + 1, column
}
