package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/ijson"
)

// MaxProblems is the most problems told of one file: more of them have one
// cause, and a screen has an end.
const MaxProblems = 100

// Codes of problems that commands tell apart; the others have none.
const (
	CodePlaceholder = "placeholder" // a value still written <like this>
	CodeNotBuilt    = "not-built"   // a member whose part this version lacks
	CodeWarning     = "warning"
)

// Problem is one fault of the settings file, or a warning.
type Problem struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in code points
	Pointer string // JSON pointer (RFC 6901) of the place, "" for the whole file
	Code    string // one of the codes above, or ""
	Msg     string // what is wrong, what was expected
	offset  int
}

// String gives the problem's one line: file:line:column: /pointer: what is wrong.
func (p Problem) String() string {
	if p.Pointer == "" {
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Pointer, p.Msg)
}

// Problems are the problems of one file, by place.
type Problems []Problem

// Err is nil where there are none, else an error with a line for each.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return errors.New(strings.TrimSuffix(ps.String(), "\n"))
}

// String gives a line for each.
func (ps Problems) String() string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// place sorts problems, fills in where they stand and cuts them to MaxProblems.
func place(file string, src []byte, ps []Problem) Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(a.offset, b.offset) })
	if more := len(ps) - MaxProblems; more > 0 {
		ps = ps[:MaxProblems+1]
		ps[MaxProblems] = Problem{offset: ps[MaxProblems].offset, Msg: fmt.Sprintf("%d more", more)}
	}
	for i := range ps {
		ps[i].File = file
		ps[i].Line, ps[i].Column = ijson.Position(src, ps[i].offset)
	}
	return ps
}
