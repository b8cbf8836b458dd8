package receipts

import (
	"bytes"
	"slices"

	"countersign/internal/ijson"
)

// How a call ended, as its outcome line says: with a result, with one that says
// the tool failed (isError), or with a JSON-RPC error. Else one of Reasons.
const (
	HowResult    = "result"
	HowToolError = "tool-error"
	HowError     = "error"
)

// Reasons are why the outcome of a call can be not known (guard, section 3,
// step 6); a stub's countersign.outcome-not-known is the SHA-256 of one.
var reasons = []string{"timeout", "cancelled", "stopped", ReasonCrashed, "upstream-closed", "upstream-status", "session-lost", "unreadable"}

// ReasonCrashed is the outcome of a call that a guard left open; the next start
// writes it.
const ReasonCrashed = "crashed"

func isReason(s string) bool { return slices.Contains(reasons, s) }

func isHow(s string) bool {
	return s == HowResult || s == HowToolError || s == HowError || isReason(s)
}

// howOf tells how an answer ended its call from its canonical form,
// {"error":…} or {"result":…}; "" for anything else.
func howOf(canonical []byte) string {
	switch {
	case bytes.HasPrefix(canonical, []byte(`{"error":`)):
		return HowError
	case !bytes.HasPrefix(canonical, []byte(`{"result":`)):
		return ""
	case !bytes.Contains(canonical, []byte(`"isError":true`)):
		return HowResult
	}
	d, err := ijson.Parse(canonical, ijson.Options{Doubles: true, AnyName: true, Depth: 514}) // 512 levels of an answer and what stands around it
	if err != nil {
		return ""
	}
	if d.Root().Member("result").Member("isError").Bool() {
		return HowToolError
	}
	return HowResult
}
