package settings

import (
	"fmt"

	"countersign/internal/problem"
)

// Codes of problems that commands tell apart; the others have none.
const (
	CodePlaceholder = "placeholder" // a value still written <like this>
	CodeNotBuilt    = "not-built"   // a member whose part this version lacks
	CodeWarning     = "warning"
)

// Problem is one fault of the settings file, or a warning.
type Problem = problem.Problem

// Problems are the problems of one file, by place, at most problem.Max of them.
type Problems = problem.List

// note adds a problem. Past the most that are told they are only counted.
func (r *reader) note(offset int, ptr, code, format string, args ...any) {
	const kept = 4 * problem.Max // more than are told, since a few are taken out again
	if len(r.problems) >= kept {
		r.dropped++
		return
	}
	r.problems = append(r.problems, Problem{Offset: offset, Pointer: ptr, Code: code, Msg: fmt.Sprintf(format, args...)})
}
