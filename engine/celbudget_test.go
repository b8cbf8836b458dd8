package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/engine"
)

// dearExpressions are within the budget of celFile by their estimate, and pass it
// on dearArguments: by the call's values that are touched, or by what CEL counts
// while it runs.
var dearExpressions = map[string]string{
	"values touched": "args.l.all(x, args.a == args.b)",
	"cost counted":   sharing(20) + " == " + sharing(20),
	"error dropped":  "args.l.all(x, args.a == args.b) || true",
}

// sharing is a small list that, written out, is 2^levels long.
func sharing(levels int) string {
	s := "[1]"
	for i := range levels {
		s += fmt.Sprintf(".map(v%d, [v%d, v%d])", i, i, i)
	}
	return s
}

func listOf(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

var (
	dearArguments  = `{"l":` + listOf(40, "1") + `,"a":` + listOf(40, listOf(40, listOf(40, `"s3cret"`))) + `,"b":` + listOf(40, listOf(40, listOf(40, `"s3cret"`))) + `,"bad":true}`
	cheapArguments = `{"l":[1],"a":[1],"b":[1]}`
)

func celFile(rules ...string) []byte {
	return []byte(`{"format":"content-rules/v1","name":"t","limits":{"cel":4000,"celText":64,"celItems":40},"rules":[` + strings.Join(rules, ",") + `]}`)
}

// An expression that spends its budget while it runs refuses, whatever stands
// around it, and nothing behind it is judged.
func TestExpressionOverBudget(t *testing.T) {
	const after = `{"id":"after","tools":["t"],"refuse":{"arg":"/bad","is":true}}`
	for name, expr := range dearExpressions {
		for where, rule := range map[string]string{
			"require": `"require":{"cel":%q}`,
			"refuse":  `"refuse":{"cel":%q}`,
			"not":     `"refuse":{"not":{"cel":%q}}`,
			"any":     `"require":{"any":[{"arg":"/l","type":"array"},{"cel":%q}]}`,
			"all":     `"refuse":{"all":[{"arg":"/l","type":"string"},{"cel":%q}]}`,
			"when":    `"when":{"cel":%q},"refuse":{"arg":"/l","type":"string"}`,
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				e := compile(t, celFile(`{"id":"dear","tools":["t"],"say":"Too much.",`+fmt.Sprintf(rule, expr)+`}`, after))
				d := decide(t, e, "t", dearArguments)
				if d.Verdict != engine.Refused || d.Rule != "dear" || d.Code != engine.OverBudget || len(d.Refusals) != 1 {
					t.Fatalf("%v by %q (%s), %d refusals", d.Verdict, d.Rule, d.Code, len(d.Refusals))
				}
				const told = "refused by the rule t/dear: judging this call would cost more than the limits of the rules allow. Too much."
				for level, want := range map[string]string{"say": "Too much.", "rule": told, "test": told} {
					if got := d.Tell(level); got != want {
						t.Errorf("at %s: %q, want %q", level, got, want)
					}
				}
				x := e.Explain(&engine.Call{Tool: "t", Arguments: parse(t, []byte(dearArguments))})
				if first, second := x.Trace.Rules[0], x.Trace.Rules[1]; first.Outcome != engine.Refuses || first.Code != engine.OverBudget || second.Outcome != engine.NotJudged {
					t.Errorf("traced as %s (%s), then %s", first.Outcome, first.Code, second.Outcome)
				}
				text := x.Trace.Text()
				if !strings.Contains(text, "rule t/dear: refuses (over-budget)") || !strings.Contains(text, "the expression's budget is spent") ||
					!strings.Contains(text, "rule t/after: not judged") || strings.Contains(text, "s3cret") {
					t.Errorf("the trace:\n%s", text)
				}
			})
		}
	}
	// On a call that costs less, the same rules judge all there is.
	e := compile(t, celFile(`{"id":"dear","tools":["t"],"require":{"cel":"`+dearExpressions["values touched"]+`"}}`, after))
	for args, want := range map[string]string{cheapArguments: "ALLOW", strings.Replace(cheapArguments, "[1]", "[1],\"bad\":true", 1): "DENY"} {
		if d := decide(t, e, "t", args); outcomeOf(d) != want {
			t.Errorf("%s: %s, want %s", args, outcomeOf(d), want)
		}
	}
}

// A watching rule that spends its budget refuses nothing, and an enforcing one that
// stands behind it in the file was judged before it.
func TestWatchedExpressionOverBudget(t *testing.T) {
	watching := `{"id":"dear","tools":["t"],"mode":"watch","require":{"cel":"` + dearExpressions["values touched"] + `"}}`
	for after, want := range map[string]string{
		`{"id":"after","tools":["t"],"refuse":{"arg":"/bad","is":false}}`: "ALLOW",
		`{"id":"after","tools":["t"],"refuse":{"arg":"/bad","is":true}}`:  "DENY",
	} {
		e := compile(t, celFile(watching, after))
		c := &engine.Call{Tool: "t", Arguments: parse(t, []byte(dearArguments))}
		for _, d := range []engine.Decision{e.Judge(c), e.Explain(c)} {
			if outcomeOf(d) != want || len(d.Watched) != 1 || d.Watched[0].Code != engine.OverBudget {
				t.Errorf("%s, watched %+v; want %s", outcomeOf(d), d.Watched, want)
			}
		}
	}
}
