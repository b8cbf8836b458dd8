package engine

import (
	"fmt"
	"strings"

	"countersign/internal/verdict"
)

// Text is the trace as a tree for the author of the rules, a rule a line and
// below it its conditions and the values they looked at. A > marks what the
// result rests on. Of values it holds places and kinds alone.
func (t Trace) Text() string {
	var b strings.Builder
	for i := range t.Rules {
		t.Rules[i].write(&b)
	}
	return b.String()
}

func (t *RuleTrace) write(b *strings.Builder) {
	fmt.Fprintf(b, "rule %s/%s: %s", t.File, t.Rule, t.Outcome)
	if t.Outcome == Refuses {
		fmt.Fprintf(b, " (%s)", t.Code)
	}
	if t.Watch {
		b.WriteString(", watching only")
	}
	b.WriteByte('\n')
	t.When.write(b, "when", 1)
	word := "refuse"
	if t.Require {
		word = "require"
	}
	t.Condition.write(b, word, 1)
}

// mark begins a line of a tree.
func mark(b *strings.Builder, decided bool, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	if decided {
		b.WriteString("> ")
	} else {
		b.WriteString("  ")
	}
}

func (n *ConditionTrace) write(b *strings.Builder, word string, depth int) {
	if n == nil {
		return
	}
	mark(b, n.Decided, depth)
	if word != "" {
		word += " "
	}
	b.WriteString(word + n.Form)
	if n.Selection != "" {
		fmt.Fprintf(b, " %s", n.Selection)
	}
	fmt.Fprintf(b, ": %s", n.Result)
	if n.Why != "" {
		fmt.Fprintf(b, " (%s)", n.Why)
	}
	b.WriteByte('\n')
	for _, p := range n.Parts {
		p.write(b, "", depth+1)
	}
	for _, v := range n.Values {
		v.write(b, depth+1)
	}
	if hidden := n.Selected - len(n.Values); hidden > 0 && n.Form != "argv" {
		mark(b, false, depth+1)
		fmt.Fprintf(b, "%d more values\n", hidden)
	}
	if n.Selected == 0 && len(n.Values) == 0 && len(n.Parts) == 0 && n.Form != CEL {
		mark(b, n.Decided, depth+1)
		b.WriteString("nothing is there\n")
	}
}

func (v *ValueTrace) write(b *strings.Builder, depth int) {
	mark(b, v.Decided, depth)
	at := v.Pointer
	if at == "" {
		at = "the arguments"
	}
	if v.Name {
		at = "the name of " + at
	}
	fmt.Fprintf(b, "%s (%s): %s\n", at, v.Kind, v.Result)
	for _, c := range v.Checks {
		mark(b, false, depth+1)
		fmt.Fprintf(b, "%s: %s", c.Test, c.Result)
		if c.Wrong {
			b.WriteString(", not a test for this kind")
		}
		if c.Why != "" {
			fmt.Fprintf(b, " (%s)", c.Why)
		}
		if c.Passing != "" && c.Result != verdict.Holds {
			fmt.Fprintf(b, "; would pass: %s", c.Passing)
		}
		b.WriteByte('\n')
		c.Inner.write(b, "inside", depth+2)
	}
}
