package rulestest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/rulestest"
)

// call is a call line of a ledger, as far as judging again reads one.
func call(seq int, tool, arguments string, print string) string {
	return fmt.Sprintf(`{"arguments":%q,"at":"2026-11-30T08:%02d:00.000Z","draft":{"action":"provared.data.read","when":"2026-11-30T08:%02d:00Z"},"kind":"call","peers":{"agent":"a","client":{"name":"c","version":"1"},"upstream":"u"},"rules":[{"name":"r","sha256":%q}],"seq":%d,"tool":%q}`,
		arguments, seq%60, seq%60, print, seq, tool)
}

func ledger(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// REPLAY-01, judging again: every recorded call once and in its order, the same
// call three times stays three; what could not be judged again is counted; with
// which rules it was recorded is said first; twice over the same ledger the same.
func TestREPLAY01(t *testing.T) {
	old := bare(t, ruleFile(`{"id": "few", "tools": ["roll", "add"], "require": {"any": [{"arg": "/n", "present": false}, {"arg": "/n", "atMost": 10}]}}`), "")
	now := bare(t, ruleFile(`{"id": "few", "tools": ["roll", "add"], "require": {"any": [{"arg": "/n", "present": false}, {"arg": "/n", "atMost": 5}]}}`), "")
	print := old.Set.Files[0].Fingerprint
	path := ledger(t,
		`{"agent":"a","kind":"open","seq":0}`,
		call(1, "roll", `{}`, print), `{"call":1,"kind":"outcome","seq":2}`,
		call(3, "roll", `{}`, print), `{"call":3,"kind":"outcome","seq":4}`,
		`{"at":"2026-11-30T07:59:00.000Z","by":"rule","code":"condition","details":[],"kind":"refused","rule":"r/few","seq":5,"tool":"roll"}`,
		// Two open at once, answered in the other order, the clock an hour back.
		call(6, "add", `{"n": 7}`, print), strings.ReplaceAll(call(7, "add", `{"n":3}`, print), "T08:", "T07:"),
		`{"call":7,"kind":"outcome","seq":8}`, `{"call":6,"kind":"outcome","seq":9}`,
		call(10, "roll", `{}`, "another"),
		`{"count":4,"kind":"refused","seq":11,"span":{}}`,
	)
	var order []string
	if err := rulestest.ReadRecorded(path, func(r *rulestest.Recorded) error {
		order = append(order, fmt.Sprintf("%d %s %q", r.Seq, r.Call.Tool, r.Why))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{`1 roll ""`, `3 roll ""`, `5 roll "its arguments were not kept, only their digest"`, `6 add ""`, `7 add ""`, `10 roll ""`, `11  "4 refused calls, only counted, not kept one by one"`}
	if strings.Join(order, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	var outs [2]string
	for i := range outs {
		d, err := rulestest.Compare(t.Context(), old, now, rulestest.DiffOptions{Calls: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		if r := d.Recorded; r.Judged != 5 || r.Changed != 1 || r.Strayed != 0 || !d.Differs() {
			t.Errorf("%+v", r)
		}
		var b strings.Builder
		if err := d.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		outs[i] = b.String()
	}
	if outs[0] != outs[1] {
		t.Errorf("twice over one ledger, two answers:\n%s\n%s", outs[0], outs[1])
	}
	text := strings.ReplaceAll(outs[0], path, "ledger")
	wantText := `r: rule "few" differs in require
1 call recorded with r another, not with the old rules
1 record not judged again: 4 refused calls, only counted, not kept one by one
1 record not judged again: its arguments were not kept, only their digest
ledger:7: add
  old: allowed; rules that applied: 1
  new: refused by "few" (condition)
r/few: refuses 1 more, 0 fewer, 0 with another code
5 recorded calls judged by both, 1 decided differently
`
	if text != wantText {
		t.Errorf("got\n%s\nwant\n%s", text, wantText)
	}
	// Rules that decide a call otherwise than they did when it was recorded: the
	// ledger and the rules do not belong together, and the first such is named.
	strayed := ledger(t, call(1, "roll", `{}`, print), call(2, "add", `{"n": 11}`, print), call(3, "add", `{"n": 12}`, print))
	d, err := rulestest.Compare(t.Context(), old, old, rulestest.DiffOptions{Calls: []string{strayed}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Recorded.Strayed != 2 || !strings.Contains(d.Recorded.FirstStrayed, "ledger.jsonl:2: recorded as allowed, now refused") {
		t.Errorf("%+v", d.Recorded)
	}
}

func TestRecordedCallsInACase(t *testing.T) {
	rules := ruleFile(`{"id": "few", "tools": ["add"], "require": {"arg": "/n", "atMost": 10}}`)
	dir := folder(t, map[string]string{
		"content-rules.json": rules,
		"l/a.jsonl":          call(1, "add", `{"n": 7}`, "x") + "\n" + call(2, "roll", `{}`, "x") + "\n" + call(3, "add", `{"n": 12}`, "x") + "\n",
		"l/b.json":           "{\n  \"tool\": \"add\",\n  \"arguments\": {\"n\": 1}\n}\n",
		"l/c.jsonl":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":2}}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		"refused.jsonl":      `{"at":"2026-11-30T07:59:00.000Z","by":"rule","code":"condition","kind":"refused","seq":5,"tool":"add"}`,
		"bad.jsonl":          "{}",
	})
	for _, test := range []struct {
		name, calls, expect string
		pass                bool
		n, left             int
		why                 string
	}{
		{"of a tool", `{"files": "l", "tool": "roll"}`, `"allowed"`, false, 1, 0, "no rule applied"},
		{"one file", `"l/b.json"`, `"allowed"`, true, 1, 0, ""},
		{"messages", `"l/c.jsonl"`, `"allowed"`, true, 1, 0, ""},
		{"a folder, one fails", `{"files": "l", "tool": "add"}`, `"allowed"`, false, 4, 0, `refused by "few"`},
		{"a glob", `{"files": "l/[bc].json*"}`, `"allowed"`, true, 2, 0, ""},
		{"none", `"gone/*.jsonl"`, `"allowed"`, false, 0, 0, "no recorded call was found"},
		{"none of the tool", `{"files": "l", "tool": "zz"}`, `"allowed"`, false, 0, 0, "no recorded call was found"},
		{"none that can be judged again", `"refused.jsonl"`, `"allowed"`, false, 0, 1, "none of which can be judged again"},
		{"what is no call", `"bad.jsonl"`, `"allowed"`, false, 0, 0, "expected a line of a ledger"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "a.test.json"), []byte(testFile(`{"name": "a", "calls": `+test.calls+`, "expect": `+test.expect+`}`)), 0o600); err != nil {
				t.Fatal(err)
			}
			got := run(t, loadOne(t, dir), rulestest.RunOptions{}).Results[0]
			if got.Passed != test.pass || got.Calls != test.n || got.Left != test.left {
				t.Errorf("passed %v, %d calls, %d left\n%s", got.Passed, got.Calls, got.Left, got.Explanation())
			}
			if !strings.Contains(got.Explanation(), test.why) {
				t.Errorf("%q is not in\n%s", test.why, got.Explanation())
			}
		})
	}
}

// What is captured is a case that passes, with all that the rules could look at.
func TestCapture(t *testing.T) {
	text := ruleFile(
		`{"id": "few", "tools": ["add"], "require": {"all": [{"arg": "/n", "atMost": 10}, {"cel": "action == 'provared.data.read' && client.name == 'c' && agent == 'a' && upstream == 'u' && now.getHours() == 8"}]}}`,
		`{"id": "asked", "tools": ["ask"], "require": {"arg": "/inputResponses/ok", "is": true}}`)
	s := bare(t, text, "")
	path := ledger(t,
		call(1, "add", `{"n": 7}`, "x"), call(2, "add", `{"n" : 12}`, "x"), call(3, "zz", `{}`, "x"), call(4, "add", `{"n":"x"}`, "x"),
		strings.Replace(call(5, "ask", `{"q":1}`, "x"), `"kind"`, `"inputResponses":"{\"ok\":true}","kind"`, 1),
		strings.Replace(call(6, "add", `{"n":"x"}`, "x"), `"when"`, `"details":[{"name":"countersign.arguments-redacted","sha256":"x"}],"when"`, 1),
	)
	var cases []string
	refused := 0
	err := rulestest.ReadRecorded(path, func(r *rulestest.Recorded) error {
		c, err := rulestest.Capture(r, "", s)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "redacted") {
				t.Error(err)
			}
			return nil
		}
		cases = append(cases, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 5 || refused != 1 {
		t.Fatalf("%d cases, %d refused", len(cases), refused)
	}
	r := run(t, suite(t, text, testFile(cases...)), rulestest.RunOptions{})
	for i := range r.Results {
		if !r.Results[i].Passed {
			t.Errorf("%s\n%s", cases[i], r.Results[i].Explanation())
		}
	}
	for i, want := range []string{`"expect": "allowed"`, `"expect": {"refused": "few"}`, `"unruled": true`, `"code": "cannot-judge"`, `"message": "{`} {
		if !strings.Contains(cases[i], want) {
			t.Errorf("%s is not in %s", want, cases[i])
		}
	}
	if !strings.Contains(cases[1], `"arguments": {"n" : 12}`) {
		t.Errorf("not the text as it was recorded: %s", cases[1])
	}
}

// A record may hold what no case can: that is said, and no case is written that
// the reader of test files would refuse.
func TestCaptureOfWhatNoCaseHolds(t *testing.T) {
	for want, line := range map[string]string{
		"/call/tool: an empty text":    call(1, "", `{}`, "x"),
		"/call/tool: a text of 5000":   call(1, strings.Repeat("t", 5000), `{}`, "x"),
		"/call/amount/value: ":         strings.Replace(call(1, "add", `{}`, "x"), `"draft":{`, `"draft":{"amount":{"unit":"EUR","value":-1},`, 1),
		"/call/client/name: a text of": strings.Replace(call(1, "add", `{}`, "x"), `"name":"c"`, `"name":"`+strings.Repeat("c", 5000)+`"`, 1),
	} {
		err := rulestest.ReadRecorded(ledger(t, line), func(r *rulestest.Recorded) error {
			text, err := rulestest.Capture(r, "short", nil)
			if err == nil || !strings.Contains(err.Error(), "cannot be a case: "+want) {
				t.Errorf("%q is not in %v; captured %q", want, err, text)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWatched(t *testing.T) {
	path := ledger(t,
		call(1, "add", `{"n": 7}`, "x"), `{"kind":"watch","of":1,"rules":[{"code":"condition","rule":"r/a"},{"code":"cannot-judge","rule":"r/b"}],"more":2,"seq":2}`,
		call(3, "add", `{"n": 7}`, "x"), `{"kind":"outcome","seq":4}`,
		`{"at":"2026-11-30T09:59:00.000Z","by":"slip","code":"no-room","kind":"refused","seq":5,"tool":"mul"}`, `{"kind":"watch","of":5,"rules":[{"code":"condition","rule":"r/a"}],"seq":6}`,
	)
	set := bare(t, ruleFile(`{"id": "a", "tools": ["add"], "mode": "watch", "refuse": {"arg": "/n", "is": 7}}`, `{"id": "quiet", "tools": ["add"], "mode": "watch", "refuse": {"arg": "/n", "is": 8}}`), "").Set
	r, err := rulestest.Watched([]string{path}, set)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `r/a: would have refused 2 calls of 3, 1 of them refused by others
  codes: condition 2
  tools: add 1, mul 1
  from 2026-11-30T08:01:00Z until 2026-11-30T09:59:00Z
  such as L:1, L:5
r/b: would have refused 1 call of 3; no watching rule of the given files
  codes: cannot-judge 1
  tools: add 1
  from 2026-11-30T08:01:00Z until 2026-11-30T08:01:00Z
  such as L:1
r/quiet: would have refused 0 calls of 3
2 more notices are counted in the ledger without a name
2 calls judged by other rules than these, which may have noticed less
3 recorded calls read
`
	if got := strings.ReplaceAll(b.String(), path, "L"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := rulestest.Watched([]string{path + "gone"}, nil); err == nil {
		t.Error("a ledger that is not there")
	}
}

// What differs in the files, and a call that shows it.
func TestDiff(t *testing.T) {
	base := `{"format": "content-rules/v1", "name": "r", "lists": {"w": ["x", "y"]}, "rules": [
		{"id": "a", "tools": ["t"], "refuse": {"arg": "/a", "contains": "@w"}},
		{"id": "b", "tools": ["t"], "require": {"arg": "/n", "atMost": 10}, "say": "Small ones."}]}`
	for _, test := range []struct {
		name, from, to string
		structure      []string
		differs        bool
	}{
		{"nothing but layout", `"lists": `, `"lists":   `, nil, false},
		{"a bound", `"atMost": 10`, `"atMost": 11`, []string{`r: rule "b" differs in require`}, true},
		{"what is told alone", `Small ones.`, `Tiny ones.`, []string{`r: rule "b" differs in say`}, false},
		{"a list", `["x", "y"]`, `["x", "z", "w"]`, []string{`r: list "w": "y" gone; "z", "w" new`}, true},
		{"a rule gone", `{"id": "a", "tools": ["t"], "refuse": {"arg": "/a", "contains": "@w"}},`, ``, []string{`r: list "w" is gone`, `r: rule "a" is gone`}, true},
		{"a mode", `"id": "b",`, `"id": "b", "mode": "watch",`, []string{`r: rule "b" differs in mode`}, true},
		{"a limit", `"lists": `, `"limits": {"steps": 1}, "lists": `, []string{`r: limits differs`}, true},
		{"the order of rules is none of it", `"id": "a"`, `"id": "a"`, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.Replace(base, test.from, test.to, 1)
			if strings.Contains(test.name, "gone") {
				changed = strings.Replace(changed, `"lists": {"w": ["x", "y"]}, `, "", 1)
			}
			before, after := bare(t, base, ""), bare(t, changed, "")
			d, err := rulestest.Compare(t.Context(), before, after, rulestest.DiffOptions{Tries: 4000})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(d.Structure, "\n"); got != strings.Join(test.structure, "\n") {
				t.Errorf("got %q, want %q", got, test.structure)
			}
			if d.Differs() != test.differs {
				t.Errorf("differs %v: %+v", d.Differs(), d.Search)
			}
			var b strings.Builder
			if err := d.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if !test.differs && !d.Same && !strings.Contains(b.String(), "that does not show that none does") {
				t.Errorf("not said plainly:\n%s", b.String())
			}
			if strings.Contains(b.String(), "equal") {
				t.Errorf("says equal:\n%s", b.String())
			}
		})
	}
}

// A captured case comes out as it says, whatever the record held that no case can
// hold.
func TestCapturedCasesPass(t *testing.T) {
	rule := ruleFile(`{"id": "a", "tools": ["*"], "refuse": {"cel": "agent == 'x'"}}`)
	s := bare(t, rule, "")
	path := ledger(t,
		strings.Replace(call(1, "add", `{}`, "x"), `"agent":"a"`, `"agent":""`, 1), // a fact no case can give
		`{"tool": "add", "rawBase64": "eyJwYXRoIjoi/yJ9"}`, `{"tool": "add", "raw": "{"}`, `{"tool": "add", "agent": "x"}`,
	)
	var cases []string
	err := rulestest.ReadRecorded(path, func(r *rulestest.Recorded) error {
		text, err := rulestest.Capture(r, "", s)
		cases = append(cases, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 4 || !strings.Contains(cases[1], `"rawBase64": "eyJwYXRoIjoi/yJ9"`) {
		t.Fatalf("%q", cases)
	}
	if r := run(t, suite(t, rule, testFile(cases...)), rulestest.RunOptions{}); r.Failed() > 0 || len(r.Results) != 4 {
		for i := range r.Results {
			t.Errorf("%s", r.Results[i].Explanation())
		}
	}
}
