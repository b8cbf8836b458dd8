package engine_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/verdict"
)

// hostileRules are legal and as dear as rules get: every selection wide, every
// kind of test, patterns that double, globs of many alternatives, long lists.
func hostileRules(limits string) []byte {
	var list strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&list, `"word %d a", `, i)
	}
	var rules []string
	add := func(condition string) {
		rules = append(rules, fmt.Sprintf(`{"id": "r%d", "tools": ["*"], "refuse": %s}`, len(rules), condition))
	}
	add(`{"some": "/**", "contains": "@many", "fold": true}`)
	add(`{"some": "/**", "startsWith": "@many"}`)
	add(`{"some": "/**", "oneOf": "@many", "fold": true}`)
	add(`{"some": "/**", "finds": "[ab]*a[ab]{14}c"}`)
	add(`{"some": "/**", "finds": "(x+x+)+y"}`)
	add(`{"some": "/**", "matches": "(a|aa)+b"}`)
	add(`{"some": "/**", "like": ["*a*a*a*a*a*a*b", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}c*", "*?*?*?*?z"]}`)
	add(`{"some": "/**", "named": ["path", "PATH"], "fold": true, "path": {"under": ["/nowhere"]}}`)
	add(`{"some": "/*/*", "type": "null"}`)
	add(`{"some": "", "names": true, "like": ["*z*y*x*"], "fold": true}`)
	add(`{"all": [{"every": "/**", "length": {"atMost": 0}}, {"not": {"some": "/**", "is": "a"}}, {"any": [{"some": "/**", "above": 1e300}, {"some": "/#/**", "is": 1}]}]}`)
	add(`{"arg": "", "hasMembers": ["nothing", "of it"]}`)
	return []byte(fmt.Sprintf(`{"format": "content-rules/v1", "name": "hostile", "limits": %s, "lists": {"many": [%s"end"]}, "rules": [%s]}`,
		limits, list.String(), strings.Join(rules, ",\n")))
}

// hostileCalls are calls of about n bytes: deep, wide and long, and of texts that
// make patterns, globs and folding work.
func hostileCalls(n int) map[string][]byte {
	repeat := func(s string) string { return strings.Repeat(s, max(1, n/len(s))) }
	quoted := func(s string) []byte { return []byte(`{"a":"` + s + `"}`) }
	wide := bytes.NewBufferString(`{"a":0`)
	for i := 0; wide.Len() < n; i++ {
		fmt.Fprintf(wide, `,"name %d":"a"`, i)
	}
	wide.WriteByte('}')
	deepOnes := []byte(`{"a":[` + strings.TrimSuffix(repeat(strings.Repeat("[", 60)+"1"+strings.Repeat("]", 60)+","), ",") + `]}`)
	return map[string][]byte{
		"long":             quoted(repeat("a")),
		"long, as":         quoted(repeat("ab")),
		"long, escapes":    quoted(repeat(`\u0061`)),
		"long, xs":         quoted(repeat("x")),
		"long, words":      quoted(repeat("word 1 ")),
		"long, folding":    quoted(repeat("ﷺ")), // eighteen letters each, folded
		"long, marks":      quoted("a" + repeat("\u0301\u0316")),
		"long, ignorable":  quoted(repeat("\u00ad")),
		"elements":         []byte(`{"a":[` + strings.TrimSuffix(repeat("1,"), ",") + `]}`),
		"empty lists":      []byte(`{"a":[` + strings.TrimSuffix(repeat("[],"), ",") + `]}`),
		"texts":            []byte(`{"a":[` + strings.TrimSuffix(repeat(`"a",`), ",") + `]}`),
		"paths":            []byte(`{"path":[` + strings.TrimSuffix(repeat(`"/nowhere-else/a",`), ",") + `]}`),
		"wide":             wide.Bytes(),
		"deep, many times": deepOnes,
	}
}

// What judging counts, and the memory it takes, grow with the size of the call and
// no faster, whatever the rules.
func TestCostIsLinear(t *testing.T) {
	const most = `{"values": 10000000, "steps": 100000000}`
	e := compile(t, hostileRules(most))
	small, large := hostileCalls(4<<10), hostileCalls(32<<10)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			var steps [2]int
			var memory [2]uint64
			for i, raw := range [][]byte{small[name], large[name]} {
				c := &engine.Call{Tool: "x", Arguments: parse(t, raw)}
				d := e.Explain(c)
				if d.Code == engine.OverBudget {
					t.Fatal("over budget within the largest limits")
				}
				steps[i] = d.Steps
				e.Judge(c) // scratch memory grows once
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				j := e.Judge(c)
				runtime.ReadMemStats(&after)
				memory[i] = after.TotalAlloc - before.TotalAlloc
				if j.Verdict != d.Verdict || j.Rule != d.Rule {
					t.Fatalf("Judge: %s %s; Explain: %s %s", j.Verdict, j.Rule, d.Verdict, d.Rule)
				}
			}
			growth := float64(len(large[name])) / float64(len(small[name]))
			if float64(steps[1]) > 1.2*growth*float64(steps[0])+100 {
				t.Errorf("%d bytes take %d steps, %d bytes %d", len(small[name]), steps[0], len(large[name]), steps[1])
			}
			if limit := uint64(200 * len(large[name])); memory[1] > limit {
				t.Errorf("%d bytes of memory for a call of %d", memory[1], len(large[name]))
			}
			t.Logf("%d to %d bytes: %d to %d steps, %d to %d bytes of memory", len(small[name]), len(large[name]), steps[0], steps[1], memory[0], memory[1])
		})
	}
}

// No call takes more steps, or selects more values, than the limits allow; what
// would refuses with its own code.
func TestLimitsHold(t *testing.T) {
	for _, c := range []struct{ values, steps int }{{100_000, 1_000_000}, {100, 1_000_000}, {100_000, 100}, {1, 1}} {
		e := compile(t, hostileRules(fmt.Sprintf(`{"values": %d, "steps": %d}`, c.values, c.steps)))
		over := 0
		for name, raw := range hostileCalls(100 << 10) {
			d := e.Explain(&engine.Call{Tool: "x", Arguments: parse(t, raw)})
			j := e.Judge(&engine.Call{Tool: "x", Arguments: parse(t, raw)})
			values := 0
			for _, r := range d.Trace.Rules {
				values += r.Values
			}
			if d.Steps > c.steps || values > c.values || j.Steps > c.steps {
				t.Errorf("%s: %d and %d steps of %d, %d values of %d", name, d.Steps, j.Steps, c.steps, values, c.values)
			}
			if j.Verdict != d.Verdict || j.Rule != d.Rule || j.Code != d.Code {
				t.Errorf("%s: Judge %s %s, Explain %s %s", name, j.Rule, j.Code, d.Rule, d.Code)
			}
			for _, r := range d.Refusals {
				if r.Code == engine.OverBudget {
					over++
				}
			}
			if n := len(d.Trace.Rules); d.Code == engine.OverBudget && d.Rule != "r11" && d.Trace.Rules[n-1].Outcome != engine.NotJudged {
				t.Errorf("%s: judged on past the limit", name)
			}
		}
		if c.values < 1000 && over == 0 {
			t.Errorf("%+v: no call was over budget", c)
		}
	}
}

// A list of 100,000 elements is judged to its end where the limits allow it.
func TestLongList(t *testing.T) {
	raw := []byte(`{"l":[` + strings.Repeat("1,", 99_999) + `2]}`)
	e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"some": "/l/#", "is": 2}}`))
	d := e.Judge(&engine.Call{Tool: "x", Arguments: parse(t, raw)})
	if d.Rule != "r" || d.Code != engine.Condition || d.Refusals[0].Pointer != "/l/99999" {
		t.Errorf("%+v", d)
	}
	more := []byte(`{"l":[` + strings.Repeat("1,", 100_000) + `2]}`)
	if d := e.Judge(&engine.Call{Tool: "x", Arguments: parse(t, more)}); d.Code != engine.OverBudget {
		t.Errorf("one value past the default limit: %+v", d)
	}
}

// The watching rules have what is left of the budget, and refuse nothing.
func TestWatchedOverBudget(t *testing.T) {
	e := compile(t, []byte(`{"format": "content-rules/v1", "name": "t", "limits": {"steps": 5}, "rules": [
		{"id": "w", "tools": ["*"], "mode": "watch", "refuse": {"some": "/**", "is": "x"}},
		{"id": "e", "tools": ["*"], "refuse": {"some": "/**", "is": "x"}},
		{"id": "v", "tools": ["*"], "mode": "watch", "refuse": {"arg": "/a", "present": false}}]}`))
	for _, c := range []struct {
		args    string
		watched string
	}{
		{`{"a":[1,2]}`, "[]"},
		{`{"a":[1,2,3]}`, "[w over-budget]"},
	} {
		d := decide(t, e, "x", c.args)
		got := []string{}
		for _, w := range d.Watched {
			got = append(got, w.Rule+" "+string(w.Code))
		}
		if d.Verdict != engine.Allowed || fmt.Sprint(got) != c.watched {
			t.Errorf("%s: %s, watched %v, want %s", c.args, d.Verdict, got, c.watched)
		}
	}
}

func TestWorstSteps(t *testing.T) {
	e := compile(t, []byte(`{"format": "content-rules/v1", "name": "t", "limits": {"argumentBytes": 1000}, "rules": [
		{"id": "a", "tools": ["x"], "refuse": {"arg": "/a", "is": 1}},
		{"id": "b", "tools": ["x", "y"], "refuse": {"some": "/**", "contains": "b", "length": {"atMost": 3}}},
		{"id": "c", "tools": ["*"], "refuse": {"arg": "/t", "json": {"some": "/**", "is": 1}}},
		{"id": "d", "tools": ["y"], "refuse": {"arg": "/a", "finds": "[ab]*[bc][ab]{14}"}}]}`))
	// x: a 1, b 2 for each of at most 501 values, c 1 and 1 for each of 501 in the text
	if w := e.WorstSteps(); len(w) != 1 || w["t"] != 1+2*501+1+501 {
		t.Errorf("%v", w)
	}
	if s := e.SlowPatterns(); len(s) != 1 || s[0] != (engine.SlowPattern{File: "t", Rule: "d", Pointer: "/rules/3/refuse/finds"}) {
		t.Errorf("%v", s)
	}
}

// Calls at once share an Engine and nothing else.
func TestAtOnce(t *testing.T) {
	e := compile(t, one(
		`{"id": "r", "tools": ["t*"], "refuse": {"some": "/**", "contains": ["ab", "cd", "ef", "gh", "ij"], "fold": true}}`,
		`{"id": "j", "tools": ["t*"], "refuse": {"arg": "/j", "json": {"arg": "/x", "is": "\u0062ad"}, "contains": "\"x\""}}`))
	calls := []row{
		{`{"a":"xxAbxx"}`, "DENY"}, {`{"a":["x",{"b":"y\u0065f"}]}`, "DENY"}, {`{"a":"quite fine"}`, "ALLOW"},
		{`{"j":"{\"x\":\"bad\"}"}`, "DENY"}, {`{"j":"{\"x\":\"goo\\u0064\"}"}`, "ALLOW"}, {`{"j":"\"x\" no"}`, "UNJUDGED"}, {`{}`, "ALLOW"},
	}
	done := make(chan error)
	for w := range 8 {
		go func() {
			for i := range 200 {
				c := calls[(i+w)%len(calls)]
				v, err := ijson.Parse([]byte(c.args), ijson.Options{})
				if err != nil {
					done <- err
					return
				}
				d := e.Judge(&engine.Call{Tool: fmt.Sprint("t", i%40), Arguments: v.Root()})
				if got := outcomeOf(d); got != c.want {
					done <- fmt.Errorf("%s: got %s, want %s", c.args, got, c.want)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// The texts of a json test stand in memory that its own tests use: what stands
// beside it in the same test sees the text as it was.
func TestBesideJSON(t *testing.T) {
	const other = `{\"a\":\"a long enough text with an \\u0065scape\",\"b\":1}`
	for _, c := range []struct{ rule, args, want string }{
		{`{"arg": "/x", "json": {"arg": "/a", "contains": "escape"}, "endsWith": ":1}"}`, `{"x":"` + other + `"}`, "DENY"},
		{`{"arg": "/x", "fold": true, "json": {"arg": "/a", "contains": "ESCAPE", "fold": true}, "endsWith": "\"B\":1}", "length": {"atLeast": 50}}`, `{"x":"` + other + `"}`, "DENY"},
		{`{"arg": "/x", "json": {"arg": "/a", "contains": "escape"}, "endsWith": ":2}"}`, `{"x":"` + other + `"}`, "ALLOW"},
		{`{"some": "/*", "json": {"some": "/**", "json": {"arg": "/y", "is": 3}}, "contains": "y"}`, `{"p":"{\"q\":\"{\\\"y\\\":3}\"}"}`, "DENY"},
	} {
		e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": `+c.rule+`}`))
		hold(t, e, "x", []row{{c.args, c.want}})
		d := e.Explain(&engine.Call{Tool: "x", Arguments: parse(t, []byte(c.args))})
		v := d.Trace.Rules[0].Condition.Values[0]
		var inner *engine.ConditionTrace
		for _, k := range v.Checks {
			if k.Inner != nil {
				inner = k.Inner
			}
		}
		if inner == nil || inner.Result != verdict.Holds {
			t.Errorf("%s: no trace of what holds inside", c.rule)
		}
	}
}
