// Package verdict holds the four results a condition of a rule can have
// (content rules, section 2). It stands below the rules and the judges of typed
// tests, which both speak of results and know nothing of each other.
package verdict

import "fmt"

// Result is what holding a condition against a call gave.
type Result uint8

const (
	// Fails: the condition does not hold. It is the zero value, so a result
	// that nobody set lets no require pass.
	Fails Result = iota
	// Holds: the condition holds.
	Holds
	// Absent: an arg test found nothing at its pointer.
	Absent
	// CannotJudge: the value is of the wrong kind, or cannot be understood in
	// one way only.
	CannotJudge
)

// String gives the words of the rules' documentation.
func (r Result) String() string {
	switch r {
	case Fails:
		return "does not hold"
	case Holds:
		return "holds"
	case Absent:
		return "absent"
	}
	return "cannot be judged"
}

// OperandError says what is wrong with the operand of a typed test, and where.
type OperandError struct {
	Member string
	Index  int // in the member's list; -1: the whole member
	Msg    string
}

// BadOperand is an *OperandError.
func BadOperand(member string, index int, msg string) error {
	return &OperandError{Member: member, Index: index, Msg: msg}
}

func (e *OperandError) Error() string {
	if e.Index < 0 {
		return e.Member + ": " + e.Msg
	}
	return fmt.Sprintf("%s/%d: %s", e.Member, e.Index, e.Msg)
}
