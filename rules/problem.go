package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/ijson"
)

// MaxProblems is the most problems or warnings told at once: a file with more
// has one cause, and a screen has an end.
const MaxProblems = 100

// Problem is one fault of a rules file, or one warning.
type Problem struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in code points
	Pointer string // JSON pointer of the place in the file, "" for the whole
	Code    string // of a warning (section 11); "" for a fault
	Msg     string // what is wrong, what was expected
	Offset  int    // byte offset of the place
}

// String gives the one line of a problem: file:line:column: /pointer: what is
// wrong, a warning's code behind it in brackets.
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

// Problems are sorted by file, in the order they were given, and by place. Where
// there were more than MaxProblems, a last one says how many.
type Problems []Problem

// String gives a line for each.
func (ps Problems) String() string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Err is nil where there are none, else an error whose text is String's without
// the last line end.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return problemsError(strings.TrimSuffix(ps.String(), "\n"))
}

type problemsError string

func (e problemsError) Error() string { return string(e) }

// settle sorts the problems of one file by place, fills in lines and columns and
// cuts them to MaxProblems. Dropped is how many more there were before.
func settle(file string, src []byte, ps []Problem, dropped int) Problems {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Code, b.Code))
	})
	ps = slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Offset == b.Offset && a.Pointer == b.Pointer && a.Code == b.Code && a.Msg == b.Msg
	})
	more := max(len(ps)-MaxProblems, 0) + dropped
	if more > 0 {
		ps = ps[:min(len(ps), MaxProblems)]
		last := ps[len(ps)-1]
		ps = append(ps, Problem{Offset: last.Offset, Msg: fmt.Sprintf("%d more", more)})
	}
	// One walk over the text for all of them, since they are sorted.
	line, column, at := 1, 1, 0
	for i := range ps {
		to := min(max(ps[i].Offset, at), len(src))
		l, c := ijson.Position(src[at:to], to-at)
		if l > 1 {
			line, column = line+l-1, c
		} else {
			column += c - 1
		}
		at = to
		ps[i].File, ps[i].Line, ps[i].Column, ps[i].Offset = file, line, column, to
	}
	return ps
}
