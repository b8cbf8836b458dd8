package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/engine"
	"countersign/internal/verdict"
	"countersign/rules"
)

// What the agent is told at each level, to the letter. The value that decided is
// in none of it, nor are the entries of a named list, nor names that the rule
// does not hold.
func TestTell(t *testing.T) {
	const secret = "s3cr3t-value"
	for _, c := range []struct {
		name, rule, args string
		say, rule_, test string
	}{
		{"a text", `{"id": "r", "tools": ["*"], "refuse": {"arg": "/a", "startsWith": "s3"}, "say": "No secrets."}`, `{"a":"s3cr3t-value"}`,
			"No secrets.",
			`refused by the rule t/r: its test "startsWith" of the argument /a. No secrets.`,
			`refused by the rule t/r: its test "startsWith" of the argument /a; the test: startsWith "s3". No secrets.`},
		{"no words of its own", `{"id": "r", "tools": ["*"], "require": {"arg": "/a", "length": {"atMost": 3}}}`, `{"a":"s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: its test "length" of the argument /a`,
			`refused by the rule t/r: its test "length" of the argument /a; the test: length {"atMost":3}`},
		{"a named list", `{"id": "r", "tools": ["*"], "refuse": {"some": "/**", "contains": "@words", "fold": true}}`, `{"o":[1,{"my s3cr3t-value":"s3cr3t-value"}]}`,
			"refused by a rule",
			`refused by the rule t/r: its test "contains" of the argument /*/1/*`,
			`refused by the rule t/r: its test "contains" of the argument /*/1/*; the test: contains "@words"`},
		{"a name the rule holds", `{"id": "r", "tools": ["*"], "require": {"every": "/o/**", "named": ["path"], "path": {"under": ["/srv"]}}}`, `{"o":[{"path":"/etc/s3cr3t-value"}]}`,
			"refused by a rule",
			`refused by the rule t/r: its test "path" of the argument /o/0/path`,
			`refused by the rule t/r: its test "path" of the argument /o/0/path (under none of the roots); the test: path {"under":["/srv"]}`},
		{"cannot be judged", `{"id": "r", "tools": ["*"], "require": {"arg": "/p", "path": {"under": ["/srv"]}}}`, `{"p":"/srv/../s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: its test "path" cannot judge the argument /p`,
			`refused by the rule t/r: its test "path" cannot judge the argument /p (a .. segment); the test: path {"under":["/srv"]}`},
		{"a wrong kind", `{"id": "r", "tools": ["*"], "refuse": {"arg": "/p", "above": 5}}`, `{"p":"s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: its test "above" cannot judge the argument /p`,
			`refused by the rule t/r: its test "above" cannot judge the argument /p (not of a kind the test applies to); the test: above 5`},
		{"nothing there", `{"id": "r", "tools": ["*"], "require": {"every": "/p/#", "is": 1}}`, `{"p":"s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: nothing is there to hold against its test "is" of the argument /p/#`,
			`refused by the rule t/r: nothing is there to hold against its test "is" of the argument /p/#; the test: is 1`},
		{"a member's name", `{"id": "r", "tools": ["*"], "refuse": {"some": "/o", "names": true, "contains": "s3"}}`, `{"o":{"s3cr3t-value":1}}`,
			"refused by a rule",
			`refused by the rule t/r: its test "contains" of the argument /o/*`,
			`refused by the rule t/r: its test "contains" of the argument /o/*; the test: contains "s3"`},
		{"the whole", `{"id": "r", "tools": ["*"], "require": {"arg": "", "onlyMembers": ["a"]}}`, `{"s3cr3t-value":1}`,
			"refused by a rule",
			`refused by the rule t/r: its test "onlyMembers" of the arguments`,
			`refused by the rule t/r: its test "onlyMembers" of the arguments; the test: onlyMembers ["a"]`},
		{"what must be there", `{"id": "r", "tools": ["*"], "require": {"arg": "/a", "present": true}}`, `{}`,
			"refused by a rule",
			`refused by the rule t/r: nothing is there to hold against its test "present" of the argument /a`,
			`refused by the rule t/r: nothing is there to hold against its test "present" of the argument /a; the test: present true`},
		{"what must not be there", `{"id": "r", "tools": ["*"], "refuse": {"arg": "/a", "present": true}}`, `{"a":"s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: its test "present" of the argument /a`,
			`refused by the rule t/r: its test "present" of the argument /a; the test: present true`},
		{"the part of many that decided", `{"id": "r", "tools": ["*"], "refuse": {"all": [{"not": {"arg": "/a", "is": 1}}, {"any": [{"arg": "/b", "is": 2}, {"arg": "/c", "is": 3}]}]}}`, `{"a":2,"b":1,"c":3}`,
			"refused by a rule",
			`refused by the rule t/r: its test "is" of the argument /a`,
			`refused by the rule t/r: its test "is" of the argument /a; the test: is 1`},
		{"a when that cannot be judged", `{"id": "r", "tools": ["*"], "when": {"arg": "/a", "above": 1}, "refuse": {"arg": "/b", "is": 2}}`, `{"a":"s3cr3t-value"}`,
			"refused by a rule",
			`refused by the rule t/r: its test "above" cannot judge the argument /a`,
			`refused by the rule t/r: its test "above" cannot judge the argument /a (not of a kind the test applies to); the test: above 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := compile(t, fmt.Appendf(nil, `{"format": "content-rules/v1", "name": "t", "lists": {"words": ["s3", "hunter2"]}, "rules": [%s]}`, c.rule))
			call := &engine.Call{Tool: "x", Arguments: parse(t, []byte(c.args))}
			for _, d := range []engine.Decision{e.Judge(call), e.Explain(call)} {
				for level, want := range map[string]string{"say": c.say, "rule": c.rule_, "test": c.test, "": c.say, "Rule": c.say} {
					got := d.Tell(level)
					if got != want {
						t.Errorf("at %q:\n got %s\nwant %s", level, got, want)
					}
					for _, not := range []string{secret, "hunter2", "cr3t"} {
						if strings.Contains(got, not) {
							t.Errorf("at %q the agent is told %q: %s", level, not, got)
						}
					}
				}
			}
		})
	}
}

func TestTellOverBudget(t *testing.T) {
	e := compile(t, []byte(`{"format": "content-rules/v1", "name": "t", "limits": {"steps": 3}, "rules": [
		{"id": "r", "tools": ["*"], "refuse": {"some": "/**", "is": "x"}, "say": "Too much."}]}`))
	d := decide(t, e, "x", `{"a":[1,2,3,4]}`)
	if want := "refused by the rule t/r: judging this call would cost more than the limits of the rules allow. Too much."; d.Tell("rule") != want || d.Code != engine.OverBudget {
		t.Errorf("%s: %s", d.Code, d.Tell("rule"))
	}
	if d := decide(t, e, "x", `{"a":[1,2,3]}`); d.Verdict != engine.Allowed || d.Tell("test") != "" {
		t.Errorf("at the limit: %+v", d)
	}
}

// A long operand is cut, and not in the middle of a character.
func TestTellLongOperand(t *testing.T) {
	long := strings.Repeat("é", 1000)
	d := decide(t, compile(t, one(`{"id": "r", "tools": ["*"], "require": {"arg": "/a", "is": "`+long+`"}}`)), "x", `{"a":"b"}`)
	told := d.Tell("test")
	if len(told) > 500 || strings.ContainsRune(told, '\uFFFD') || !strings.Contains(told, "é…") {
		t.Errorf("%d bytes: %s", len(told), told)
	}
}

// The trace is a tree of what was judged: which rule applied, which condition
// decided, on which value, and what would have passed.
func TestExplain(t *testing.T) {
	e := compile(t, one(
		`{"id": "skipped", "tools": ["*"], "when": {"arg": "/mode", "is": "off"}, "refuse": {"arg": "/a", "present": true}}`,
		`{"id": "fine", "tools": ["x"], "require": {"arg": "/n", "atMost": 5}}`,
		`{"id": "other", "tools": ["y"], "refuse": {"arg": "/a", "present": true}}`,
		`{"id": "bad", "tools": ["x"], "require": {"all": [{"arg": "/n", "is": 1}, {"any": [{"every": "/l/#", "oneOf": ["a", "b"]}, {"not": {"arg": "/n", "is": 1}}]}]}}`,
		`{"id": "watched", "tools": ["x"], "mode": "watch", "refuse": {"some": "/l/#", "is": "c"}}`))
	d := e.Explain(&engine.Call{Tool: "x", Arguments: parse(t, []byte(`{"n":1,"l":["a","c","b"],"a":0}`))})
	if d.Verdict != engine.Refused || d.Rule != "bad" || d.Applied != 3 || len(d.Refusals) != 1 || len(d.Watched) != 1 || d.Watched[0].Rule != "watched" {
		t.Fatalf("%+v", d)
	}
	var got []string
	for _, r := range d.Trace.Rules {
		got = append(got, fmt.Sprintf("%s %s %s %d", r.Rule, r.Outcome, r.Code, r.Steps))
	}
	want := "skipped does not apply  1|fine passes  1|bad refuses condition 5|watched refuses condition 3"
	if s := strings.Join(got, "|"); s != want {
		t.Fatalf("got  %s\nwant %s", s, want)
	}
	if d.Steps != 10 {
		t.Errorf("%d steps", d.Steps)
	}
	bad := d.Trace.Rules[2]
	if bad.Pointer != "/rules/3" || !bad.Require || bad.When != nil {
		t.Errorf("%+v", bad)
	}
	top := bad.Condition
	if top.Form != "all" || top.Result != verdict.Fails || !top.Decided || top.Parts[0].Decided || !top.Parts[1].Decided {
		t.Errorf("%+v", top)
	}
	every := top.Parts[1].Parts[0]
	if every.Form != "every" || every.Selection != "/l/#" || every.Pointer != "/rules/3/require/all/1/any/0" || every.Selected != 3 || len(every.Values) != 3 {
		t.Fatalf("%+v", every)
	}
	v := every.Values[1]
	if !v.Decided || v.Pointer != "/l/1" || v.Kind != "string" || v.Result != verdict.Fails || every.Values[0].Decided {
		t.Errorf("%+v", v)
	}
	if k := v.Checks[0]; k.Test != rules.OneOf || k.Passing != `one of ["a","b"]` || k.Result != verdict.Fails {
		t.Errorf("%+v", k)
	}
	not := top.Parts[1].Parts[1]
	if inner := not.Parts[0]; not.Form != "not" || !inner.Decided || inner.Wanted != verdict.Fails || inner.Values[0].Checks[0].Passing != "anything but 1" {
		t.Errorf("%+v", inner)
	}
	if when := d.Trace.Rules[0].When; when == nil || when.Result != verdict.Absent || d.Trace.Rules[0].Condition != nil {
		t.Errorf("%+v", when)
	}
}

// A trace of many values keeps the first ones and the first of each result.
func TestExplainManyValues(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"some": "/l/#", "is": 7}}`))
	d := e.Explain(&engine.Call{Tool: "x", Arguments: parse(t, []byte(`{"l":[`+strings.Repeat("1,", 500)+`7,7,"x"]}`))})
	c := d.Trace.Rules[0].Condition
	if c.Selected != 503 || len(c.Values) != 18 || c.Values[16].Pointer != "/l/500" || !c.Values[16].Decided || c.Values[17].Pointer != "/l/502" || !c.Values[17].Wrong {
		t.Errorf("%d selected, %d traced", c.Selected, len(c.Values))
	}
}

// Every rule that refuses is named by Explain, the first alone by Judge, and they
// name the same one first.
func TestEveryRefusal(t *testing.T) {
	e := compile(t,
		one(`{"id": "a", "tools": ["x"], "refuse": {"arg": "/n", "above": 10}}`,
			`{"id": "b", "tools": ["*"], "refuse": {"arg": "/n", "above": 5}, "say": "B."}`,
			`{"id": "w", "tools": ["*"], "mode": "watch", "require": {"arg": "/n", "is": 0}}`),
		[]byte(strings.Replace(string(one(
			`{"id": "c", "tools": ["x", "z"], "refuse": {"arg": "/n", "above": 1}}`,
			`{"id": "d", "tools": ["x"], "require": {"arg": "/n", "type": "string"}}`)), `"t"`, `"u"`, 1)))
	c := &engine.Call{Tool: "x", Arguments: parse(t, []byte(`{"n":7}`))}
	ids := func(list []engine.Refusal) (s []string) {
		for _, r := range list {
			s = append(s, r.File+"/"+r.Rule)
		}
		return
	}
	d, x := e.Judge(c), e.Explain(c)
	if got := fmt.Sprint(ids(x.Refusals), ids(x.Watched)); got != "[t/b u/c u/d] [t/w]" {
		t.Error("Explain:", got)
	}
	if got := fmt.Sprintf("%v %v %s %s %s", ids(d.Refusals), ids(d.Watched), d.File, d.Rule, d.Say); got != "[t/b] [t/w] t b B." {
		t.Error("Judge:", got)
	}
	if d := decide(t, e, "x", `{"n":0}`); d.Rule != "d" || len(d.Watched) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestKnownNames(t *testing.T) {
	e := compile(t, one(
		`{"id": "a", "tools": ["x"], "when": {"arg": "/in/here", "present": true}, "require": {"every": "/**", "named": ["path", "Paths"], "path": {"under": ["/srv"]}}}`,
		`{"id": "b", "tools": ["*"], "refuse": {"not": {"arg": "/in/here", "hasMembers": ["id"], "onlyMembers": ["id", "path"]}}}`,
		`{"id": "c", "tools": ["y"], "refuse": {"some": "/only/y/*", "is": 1}}`))
	n := e.KnownNames("x")
	if fmt.Sprint(n.Pointers, n.Anywhere) != "[[in here]] [Paths id path]" {
		t.Errorf("%+v", n)
	}
	if n := e.KnownNames("z"); len(n.Pointers) != 1 || len(n.Anywhere) != 2 {
		t.Errorf("%+v", n)
	}
}

func TestNoRules(t *testing.T) {
	set, problems := rules.ReadSet(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(set, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := e.Judge(&engine.Call{Tool: "x"}); d.Verdict != engine.Allowed || d.Applied != 0 {
		t.Errorf("%+v", d)
	}
	if b, depth := e.Limits(); b != 1<<20 || depth != 64 {
		t.Error(b, depth)
	}
	var zero engine.Decision
	if zero.Verdict == engine.Allowed || zero.Tell("say") == "" {
		t.Error("a decision that nobody made allows")
	}
}
