package rulestest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/engine"
	"countersign/internal/verdict"
)

// maxShown is how much of a call a failing case shows, in bytes.
const maxShown = 4000

// Explanation is what a failing case shows: its call, what was expected, what
// happened, and what decided it.
func (r *Result) Explanation() string {
	var b strings.Builder
	call := r.Call
	if len(call) > maxShown {
		n := maxShown
		for n > 0 && !utf8.RuneStart(call[n]) {
			n--
		}
		call = call[:n] + "…"
	}
	if call != "" {
		fmt.Fprintf(&b, "call:     %s\n", call)
	}
	fmt.Fprintf(&b, "expected: %s\n", r.Case.expectation())
	if r.Call != "" {
		fmt.Fprintf(&b, "happened: %s\n", r.Judged)
	}
	if r.Why != "" {
		fmt.Fprintf(&b, "because:  %s\n", r.Why)
	}
	decided(&b, r)
	return b.String()
}

func (c *Case) expectation() string {
	if c.Unruled {
		return "allowed, with no rule that applies"
	}
	return c.Expect.String()
}

// decided writes the part of the trace that matters: the rules that refuse or
// would, and those that were expected to.
func decided(b *strings.Builder, r *Result) {
	asked := map[string]bool{r.Case.Expect.Watched: true}
	for _, id := range r.Case.Expect.Refused {
		asked[id] = true
	}
	shown := map[string]bool{}
	for i := range r.Judged.Decision.Trace.Rules {
		t := &r.Judged.Decision.Trace.Rules[i]
		shown[t.Rule] = true
		if t.Outcome == engine.Refuses || asked[t.Rule] || r.Case.Unruled && applied(t) {
			writeRule(b, t)
		}
	}
	if r.Judged.Unreadable != "" || r.Call == "" {
		return
	}
	for _, id := range append([]string{r.Case.Expect.Watched}, r.Case.Expect.Refused...) {
		if id != "" && !shown[id] {
			fmt.Fprintf(b, "  rule %s is not for this tool\n", strconv.Quote(id))
		}
	}
}

func writeRule(b *strings.Builder, t *engine.RuleTrace) {
	fmt.Fprintf(b, "  rule %s/%s %s", t.File, t.Rule, t.Outcome)
	if t.Outcome == engine.Refuses {
		fmt.Fprintf(b, " (%s)", t.Code)
	}
	if t.Watch {
		b.WriteString(", it watches only")
	}
	b.WriteByte('\n')
	if t.When != nil {
		writeCondition(b, "when", t.When, 2)
	}
	if t.Condition != nil {
		word := "refuse"
		if t.Require {
			word = "require"
		}
		writeCondition(b, word, t.Condition, 2)
	}
}

// writeCondition writes a condition and, of its parts, those it rests on.
func writeCondition(b *strings.Builder, word string, n *engine.ConditionTrace, depth int) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s%s: %s", indent, word, n.Form)
	if n.Selection != "" {
		fmt.Fprintf(b, " %s", n.Selection)
	}
	fmt.Fprintf(b, ": %s\n", n.Result)
	for _, p := range n.Parts {
		if p.Decided {
			writeCondition(b, "part", p, depth+1)
		}
	}
	if n.Selected == 0 && len(n.Values) == 0 && len(n.Parts) == 0 && n.Selection != "" {
		fmt.Fprintf(b, "%s  nothing is there\n", indent)
	}
	for _, v := range n.Values {
		if v.Decided {
			writeValue(b, v, indent+"  ")
		}
	}
}

func writeValue(b *strings.Builder, v *engine.ValueTrace, indent string) {
	at := v.Pointer
	if at == "" {
		at = "the arguments"
	}
	fmt.Fprintf(b, "%s%s (%s): %s", indent, at, v.Kind, v.Result)
	for _, c := range v.Checks {
		if c.Result == verdict.Holds && v.Result != verdict.Holds {
			continue
		}
		fmt.Fprintf(b, "; %s", c.Test)
		if c.Why != "" {
			fmt.Fprintf(b, ": %s", c.Why)
		}
		if c.Passing != "" {
			fmt.Fprintf(b, "; what would pass: %s", c.Passing)
		}
		break
	}
	b.WriteByte('\n')
}
