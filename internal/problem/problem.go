// Package problem reads files that people write (settings, rules, tests of rules)
// and tells every fault of a file in one run, each with its place:
//
//	file:line:column: /json/pointer: what is wrong, what was expected
//
// It holds what those readers share; what a member means is theirs.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/ijson"
)

// Max is the most problems told of one file: more of them have one cause, and a
// screen has an end.
const Max = 100

// Problem is one fault of a file, or one warning.
type Problem struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in code points
	Pointer string // JSON pointer (RFC 6901) of the place, "" for the whole file
	Code    string // of a warning, or of a fault that callers tell apart; else ""
	Msg     string // what is wrong, what was expected
	Offset  int    // byte offset of the place
}

// String gives a problem's one line, its code behind it in brackets.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Pointer != "" {
		fmt.Fprintf(&b, "%s: ", p.Pointer)
	}
	b.WriteString(p.Msg)
	if p.Code != "" {
		fmt.Fprintf(&b, " [%s]", p.Code)
	}
	return b.String()
}

// List is the problems of one or more files, in the order of the files and, in a
// file, of their places. Where there were more than Max, a last one says how many.
type List []Problem

// String gives a line for each.
func (l List) String() string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Err is nil where there are none, else an error with a line for each.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return errors.New(strings.TrimSuffix(l.String(), "\n"))
}

// Settle sorts the problems of one file by place, takes out what stands there
// twice, fills in lines and columns and keeps Max of them. Dropped is how many
// there were beside those in l.
func Settle(file string, src []byte, l []Problem, dropped int) List {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Code, b.Code))
	})
	l = slices.CompactFunc(l, func(a, b Problem) bool {
		return a.Offset == b.Offset && a.Pointer == b.Pointer && a.Code == b.Code && a.Msg == b.Msg
	})
	if more := max(len(l)-Max, 0) + dropped; more > 0 {
		l = l[:min(len(l), Max)]
		l = append(l, Problem{Offset: l[len(l)-1].Offset, Msg: fmt.Sprintf("%d more", more)})
	}
	// One walk over the text for all of them, since they are sorted.
	line, column, at := 1, 1, 0
	for i := range l {
		to := min(max(l[i].Offset, at), len(src))
		down, right := ijson.Position(src[at:to], to-at)
		if down > 1 {
			line, column = line+down-1, right
		} else {
			column += right - 1
		}
		at = to
		l[i].File, l[i].Line, l[i].Column, l[i].Offset = file, line, column, to
	}
	return l
}
