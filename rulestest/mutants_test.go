package rulestest_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"countersign/rulestest"
)

// Which mutants a rule has: kind and what is changed, in order.
func TestMutantsOfARule(t *testing.T) {
	tests := []struct {
		name string
		rule string // members beside id and tools
		want []string
	}{
		{"a condition alone", `"refuse": {"arg": "/a", "is": true}`, []string{"negated: the condition is negated"}},
		{"a not", `"refuse": {"not": {"arg": "/a", "is": true}}`, []string{"negated: the not is taken away", "negated: the condition is negated"}},
		{"parts", `"refuse": {"any": [{"arg": "/a", "is": true}, {"arg": "/b", "is": true}]}`, []string{
			"negated: the condition is negated", "entry: part 1 of any is dropped", "entry: part 2 of any is dropped", "negated: the condition is negated", "negated: the condition is negated"}},
		{"bounds", `"require": {"arg": "/a", "above": 0, "atMost": 1.25}`, []string{
			"negated: the condition is negated", "bound: above 0 is 1", "bound: above 0 is -1", "bound: above 0 is atLeast",
			"bound: atMost 1.25 is 1.26", "bound: atMost 1.25 is 1.24", "bound: atMost 1.25 is below"}},
		{"both bounds of a kind", `"require": {"arg": "/a", "above": 0, "atLeast": 1}`, []string{
			"negated: the condition is negated", "bound: above 0 is 1", "bound: above 0 is -1", "bound: atLeast 1 is 2", "bound: atLeast 1 is 0"}},
		{"a length", `"require": {"arg": "/a", "length": {"atLeast": 0, "atMost": 9}}`, []string{
			"negated: the condition is negated", "bound: length atLeast 0 is 1", "bound: length atMost 9 is 10", "bound: length atMost 9 is 8"}},
		{"every", `"require": {"every": "/a/#", "type": ["string", "null"]}`, []string{
			"negated: the condition is negated", "selection: every is some", `entry: "string" is dropped`, `entry: "null" is dropped`}},
		{"some, names and fold", `"refuse": {"some": "/**", "named": ["p", "q"], "contains": ["x", "y"], "fold": true}`, []string{
			"negated: the condition is negated", "selection: some is every", "named: named is dropped", "fold: fold is dropped",
			`entry: "p" is dropped`, `entry: "q" is dropped`, `entry: "x" is dropped`, `entry: "y" is dropped`}},
		{"fold added", `"refuse": {"arg": "/a", "startsWith": "x"}`, []string{"negated: the condition is negated", "fold: fold is added"}},
		{"globs", `"require": {"arg": "/a", "like": ["a?", "*b"]}`, []string{
			"negated: the condition is negated", "fold: fold is added", `entry: "a?" is dropped`, `entry: "*b" is dropped`,
			`glob: "a?" is "a?*"`, `glob: "a?" is "*a?"`, `glob: "a?" is "a*"`, `glob: "*b" is "*b*"`}},
		{"paths", `"require": {"arg": "/a", "path": {"under": ["/srv/a", "/"], "notLike": ["/**/*/.env", "/a/**"]}}`, []string{
			"negated: the condition is negated", "fold: the path's fold is true",
			`entry: "/srv/a" is dropped`, `entry: "/" is dropped`, `glob: "/srv/a" is "/srv"`,
			`entry: "/**/*/.env" is dropped`, `entry: "/a/**" is dropped`, `glob: "/**/*/.env" is "/**/**/.env"`, `glob: "/**/*/.env" is "/**/*/.env*"`, `glob: "/a/**" is "/a*/**"`}},
		{"a command", `"require": {"arg": "/a", "command": {"programs": ["git", "ls"], "argv": [["git", "log"], ["ls", "**"]]}}`, []string{
			"negated: the condition is negated", `entry: "git" is dropped`, `entry: "ls" is dropped`,
			`entry: ["git", "log"] is dropped`, `entry: ["ls", "**"] is dropped`, `glob: ["git", "log"] is ["git", "log", "**"]`}},
		{"a URL", `"require": {"arg": "/a", "url": {"host": ["a.example", "*.b.example"]}}`, []string{
			"negated: the condition is negated", `entry: "a.example" is dropped`, `entry: "*.b.example" is dropped`,
			`glob: "a.example" is "**.a.example"`, `glob: "*.b.example" is "**.b.example"`}},
		{"inside text", `"require": {"arg": "/a", "json": {"arg": "/b", "atMost": 1}}`, []string{
			"negated: the condition is negated", "negated: the condition is negated", "bound: atMost 1 is 2", "bound: atMost 1 is 0", "bound: atMost 1 is below"}},
		{"a tool that is shut", `"refuse": {"arg": "", "type": ["object", "null"]}`, []string{"negated: the condition is negated"}},
		{"a when", `"when": {"arg": "/on", "is": true}, "refuse": {"arg": "/a", "is": true}`, []string{"negated: the condition is negated", "negated: the condition is negated"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := bare(t, ruleFile(`{"id": "r", "tools": ["t"], `+test.rule+`}`), "")
			m, err := s.Mutate(t.Context(), rulestest.MutantOptions{Tries: -1})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range m.All {
				got = append(got, x.Kind+": "+x.What)
			}
			// Of every rule: taken out, its mode, its tools.
			want := append([]string{"removed: the rule is taken out", "mode: the mode is watch"}, test.want...)
			tools := `glob: "t" is "*"`
			left := map[string]int{}
			for _, w := range append(want, tools) {
				left[w]++
			}
			for _, g := range got {
				left[g]--
			}
			for k, n := range left {
				if n != 0 {
					t.Errorf("%+d of %s", n, k)
				}
			}
			if t.Failed() || m.Unread > 0 {
				t.Errorf("%d changes are no rules file; got\n%s", m.Unread, strings.Join(got, "\n"))
			}
		})
	}
}

// A named list is changed for all rules that use it at once.
func TestMutantsOfANamedList(t *testing.T) {
	s := bare(t, `{"format": "content-rules/v1", "name": "r", "lists": {"w": ["x", "y"]}, "rules": [
		{"id": "a", "tools": ["t"], "refuse": {"arg": "/a", "contains": "@w"}},
		{"id": "b", "tools": ["u"], "require": {"arg": "/a", "oneOf": "@w"}},
		{"id": "c", "tools": ["v"], "refuse": {"arg": "/a", "is": "@w-"}}]}`, "")
	m, err := s.Mutate(t.Context(), rulestest.MutantOptions{Tries: -1})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, x := range m.All {
		if strings.HasPrefix(x.Pointer, "/lists/") {
			n++
			if got := fmt.Sprint(x.Rules); got != "[a b]" {
				t.Errorf("%s changes %s", x.What, got)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d mutants of the list, want 2", n)
	}
}

// Rules do not look at each other: what a changed rule says alone, put in the
// place of what it said, is what the whole changed set says. A budget, which
// rules share, is the exception, and there the whole set is judged.
func TestPartsSayWhatTheWholeSays(t *testing.T) {
	files := []string{expectRules, manyRules(12)}
	for _, suite := range []string{"filesystem", "git", "memory"} {
		b, err := os.ReadFile(servers + "/" + suite + "/content-rules.json")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(b))
	}
	n := 0
	for _, text := range files {
		s := bare(t, text, "")
		checked, err := s.CheckParts(t.Context(), 40)
		if err != nil {
			t.Error(err)
		}
		n += checked
	}
	if n < 1000 {
		t.Errorf("%d judgements compared", n)
	}
}

func TestMutantsWhileACaseFails(t *testing.T) {
	s := suite(t, expectRules, testFile(`{"name": "wrong", "call": {"tool": "read", "arguments": {"path": "/etc"}}, "expect": "allowed"}`))
	if _, err := s.Mutate(t.Context(), rulestest.MutantOptions{}); !errors.Is(err, rulestest.ErrFailing) {
		t.Errorf("got %v", err)
	}
}

// The case that is printed for a mutant alive passes with the rules as they are,
// and with it the mutant is killed.
func TestThePrintedCaseKills(t *testing.T) {
	for _, text := range []string{expectRules, manyRules(8)} {
		s := suite(t, text, testFile(`{"name": "nothing", "call": {"tool": "zz"}, "expect": "allowed", "unruled": true}`))
		if strings.Contains(text, `"*"`) {
			s = suite(t, text, testFile(`{"name": "nothing", "call": {"tool": "zz"}, "expect": "allowed"}`))
		}
		before := mutate(t, s)
		var cases []string
		for i, x := range before.All {
			if x.State == rulestest.Alive {
				cases = append(cases, strings.Replace(x.Case, `{"name": "`, fmt.Sprintf(`{"name": "%d `, i), 1))
			}
		}
		if len(cases) < 20 {
			t.Fatalf("%d alive without a test", len(cases))
		}
		s = suite(t, text, testFile(cases...))
		if r := run(t, s, rulestest.RunOptions{}); r.Failed() > 0 {
			var b strings.Builder
			if err := rulestest.WriteText(&b, []*rulestest.Report{r}, false); err != nil {
				t.Fatal(err)
			}
			t.Error(b.String())
		}
		after := mutate(t, s)
		for i, x := range after.All {
			if x.State == rulestest.Alive {
				t.Errorf("%s: %s is alive still; its case: %s", x.Kind, x.What, before.All[i].Case)
			}
		}
	}
}

// Over a budget the whole set is judged for each mutant.
func TestMutantsOverABudget(t *testing.T) {
	text := strings.Replace(expectRules, `"name": "r",`, `"name": "r", "limits": {"values": 20},`, 1)
	long := `[` + strings.TrimSuffix(strings.Repeat(`1,`, 30), ",") + `]`
	s := suite(t, text, testFile(
		`{"name": "costly", "call": {"tool": "cost", "arguments": {"a": `+long+`}}, "expect": {"refused": "costly", "code": "over-budget"}}`,
		`{"name": "cheap", "call": {"tool": "cost", "arguments": {"a": "x"}}, "expect": {"refused": "costly"}}`))
	m := mutate(t, s)
	for _, x := range m.All {
		if x.State != rulestest.Killed && strings.Join(x.Rules, "") == "costly" && x.Kind == rulestest.KindRemoved {
			t.Errorf("%s is %s", x.What, x.State)
		}
	}
}

// Recorded calls that mutants were not tried with are told of: one of them might
// have noticed.
func TestMutantsTellOfCallsLeftOut(t *testing.T) {
	var b strings.Builder
	for range 10_003 {
		b.WriteString(`{"tool": "x", "arguments": {"n": 1}}` + "\n")
	}
	s := loadOne(t, folder(t, map[string]string{
		"content-rules.json":      ruleFile(`{"id": "a", "tools": ["x"], "refuse": {"arg": "/n", "is": 2}}`),
		"content-rules.test.json": testFile(`{"name": "all", "calls": "calls.jsonl", "expect": "allowed"}`),
		"calls.jsonl":             b.String(),
	}))
	m := mutate(t, s)
	var text strings.Builder
	if err := m.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	if m.LeftCalls != 3 || !strings.Contains(text.String(), "3 recorded calls of the cases were not tried") {
		t.Errorf("%d left out:\n%s", m.LeftCalls, &text)
	}
}
