package rulestest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"countersign/rulestest"
)

// The example of section 10, and one case of each form, run as a Go test.
func TestRunAsGoTest(t *testing.T) {
	rulestest.Run(t, "testdata/files/content-rules.test.json")
}

var expectRules = ruleFile(
	`{"id": "stay", "tools": ["read"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`,
	`{"id": "short", "tools": ["read"], "refuse": {"arg": "/path", "length": {"atLeast": 20}}}`,
	`{"id": "look", "tools": ["read", "look"], "mode": "watch", "refuse": {"arg": "/path", "startsWith": "/srv/odd"}}`,
	`{"id": "costly", "tools": ["cost"], "refuse": {"some": "/**", "is": "x"}}`,
	`{"id": "sometimes", "tools": ["when"], "when": {"arg": "/on", "is": true}, "refuse": {"arg": "/x", "is": 1}}`,
)

// Every form of an expectation, met and not met (content rules, section 10).
func TestExpectations(t *testing.T) {
	long := `{"path": "/srv/a-name-of-some-length"}`
	tests := []struct {
		name, call, expect string
		more               string // members of the case
		pass               bool
		why                string // in the explanation of one that fails
	}{
		{"allowed", `{"tool": "read", "arguments": {"path": "/srv/a"}}`, `"allowed"`, "", true, ""},
		{"allowed and refused", `{"tool": "read", "arguments": {"path": "/etc/a"}}`, `"allowed"`, "", false, `refused by "stay" (condition)`},
		{"allowed, a watching rule notices", `{"tool": "read", "arguments": {"path": "/srv/odd"}}`, `"allowed"`, "", true, ""},
		{"allowed, nothing looked", `{"tool": "other"}`, `"allowed"`, "", false, "no rule applied"},
		{"allowed, nothing looked, on purpose", `{"tool": "other"}`, `"allowed"`, `, "unruled": true`, true, ""},
		{"unruled, a rule applies", `{"tool": "read", "arguments": {"path": "/srv/a"}}`, `"allowed"`, `, "unruled": true`, false, "and a rule applied"},
		{"unruled, a watching rule applies", `{"tool": "look", "arguments": {"path": "/srv/a"}}`, `"allowed"`, `, "unruled": true`, false, "and a rule applied"},
		{"a when that does not hold applies nothing", `{"tool": "when", "arguments": {"x": 1}}`, `"allowed"`, "", false, "no rule applied"},
		{"a when that holds", `{"tool": "when", "arguments": {"on": true, "x": 2}}`, `"allowed"`, "", true, ""},
		{"unruled by a when", `{"tool": "when", "arguments": {"on": false, "x": 1}}`, `"allowed"`, `, "unruled": true`, true, ""},
		{"refused", `{"tool": "read", "arguments": {"path": "/etc/a"}}`, `{"refused": "stay"}`, "", true, ""},
		{"refused by another", `{"tool": "read", "arguments": {"path": "/etc/a"}}`, `{"refused": "short"}`, "", false, `refused by "stay"`},
		{"refused, but allowed", `{"tool": "read", "arguments": {"path": "/srv/a"}}`, `{"refused": "stay"}`, "", false, "allowed; rules that applied"},
		{"refused, with others", `{"tool": "read", "arguments": {"path": "/etc/a-name-of-some-length"}}`, `{"refused": "stay"}`, "", true, ""},
		{"refused alone, with others", `{"tool": "read", "arguments": {"path": "/etc/a-name-of-some-length"}}`, `{"refused": "stay", "only": true}`, "", false, "other rules refuse too"},
		{"refused by both", `{"tool": "read", "arguments": {"path": "/etc/a-name-of-some-length"}}`, `{"refused": ["stay", "short"], "only": true}`, "", true, ""},
		{"refused by both, by one only", `{"tool": "read", "arguments": ` + long + `}`, `{"refused": ["stay", "short"]}`, "", false, `refused by "short"`},
		{"without a code only condition counts", `{"tool": "read", "arguments": {"path": 1}}`, `{"refused": "stay"}`, "", false, "not with that code"},
		{"cannot-judge", `{"tool": "read", "arguments": {"path": "/srv/../a"}}`, `{"refused": "stay", "code": "cannot-judge"}`, "", true, ""},
		{"cannot-judge, but a condition", `{"tool": "read", "arguments": {"path": "/etc/a"}}`, `{"refused": "stay", "code": "cannot-judge"}`, "", false, "not with that code"},
		{"a code holds for each id", `{"tool": "read", "arguments": {"path": "/srv/../a-name-of-some-length"}}`, `{"refused": ["stay", "short"], "code": "cannot-judge"}`, "", false, "not with that code"},
		{"over-budget", `{"tool": "cost", "arguments": {"a": [` + strings.TrimSuffix(strings.Repeat("1,", 200), ",") + `]}}`, `{"refused": "costly", "code": "over-budget"}`, "", true, ""},
		{"watched", `{"tool": "read", "arguments": {"path": "/srv/odd"}}`, `{"watched": "look"}`, "", true, ""},
		{"watched, it cannot be judged", `{"tool": "look", "arguments": {"path": 1}}`, `{"watched": "look"}`, "", true, ""},
		{"watched, nothing noticed", `{"tool": "read", "arguments": {"path": "/srv/a"}}`, `{"watched": "look"}`, "", false, "allowed"},
		{"watched, but refused too", `{"tool": "read", "arguments": {"path": "/srv/odd/a-name-of-some-length"}}`, `{"watched": "look"}`, "", false, "only where no other refuses"},
		{"a watching rule refuses nothing", `{"tool": "look", "arguments": {"path": "/srv/odd"}}`, `{"refused": "look"}`, "", false, "watched by"},
		{"unreadable: a repeated name", `{"tool": "read", "raw": "{\"path\": 1, \"path\": 2}"}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable: a number", `{"tool": "read", "raw": "{\"path\": 9007199254740993}"}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable: no object", `{"tool": "read", "raw": "[]"}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable: bytes that are no text", `{"tool": "read", "rawBase64": "eyJwYXRoIjoi/yJ9"}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable: too long", `{"tool": "read", "arguments": {"path": "` + strings.Repeat("a", 2000) + `"}}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable: too deep", `{"tool": "read", "arguments": {"a": [[[[[[1]]]]]]}}`, `{"unreadable": true}`, "", true, ""},
		{"unreadable, but read", `{"tool": "read", "arguments": {"path": "/srv/a"}}`, `{"unreadable": true}`, "", false, "allowed"},
		{"allowed, but unreadable", `{"tool": "read", "raw": "{"}`, `"allowed"`, "", false, "unreadable"},
		{"refused, but unreadable", `{"tool": "read", "raw": "{"}`, `{"refused": "stay"}`, "", false, "unreadable"},
		{"raw text is judged", `{"tool": "read", "raw": " {\"path\" : \"\\u002fsrv\\/a\"} "}`, `"allowed"`, "", true, ""},
		{"absent arguments are none", `{"tool": "read"}`, `{"refused": "stay"}`, "", true, ""},
		{"a whole message", `{"message": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{\"path\":\"/etc\"}}}"}`, `{"refused": "stay"}`, "", true, ""},
		{"a message that does not read", `{"message": "{\"method\":\"tools/call\",\"method\":\"x\"}"}`, `{"unreadable": true}`, "", true, ""},
		{"a message whose arguments are too deep", `{"message": "{\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{\"a\":[[[[[[1]]]]]]}}}"}`, `{"unreadable": true}`, "", true, ""},
		{"of another message the reading alone", `{"message": "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"}`, `"allowed"`, "", true, ""},
	}
	text := strings.Replace(expectRules, `"name": "r",`, `"name": "r", "limits": {"values": 100, "argumentBytes": 1000, "depth": 6},`, 1)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := fmt.Sprintf(`{"name": %q, "call": %s, "expect": %s%s}`, test.name, test.call, test.expect, test.more)
			r := run(t, suite(t, text, testFile(c)), rulestest.RunOptions{})
			if len(r.Results) != 1 {
				t.Fatalf("%d results", len(r.Results))
			}
			got := &r.Results[0]
			if got.Passed != test.pass {
				t.Fatalf("passed %v, want %v\n%s", got.Passed, test.pass, got.Explanation())
			}
			if !test.pass && !strings.Contains(got.Explanation(), test.why) {
				t.Errorf("%q is not in\n%s", test.why, got.Explanation())
			}
		})
	}
}

// What a failing case shows: the call, both sides, and the part of the trace that
// decided.
func TestExplanation(t *testing.T) {
	s := suite(t, expectRules, testFile(`{"name": "x", "call": {"tool": "read",
		"arguments": {"path": "/etc/a"}}, "expect": "allowed"}`))
	got := run(t, s, rulestest.RunOptions{}).Results[0].Explanation()
	want := `call:     {"tool":"read","arguments":{"path":"/etc/a"}}
expected: allowed
happened: refused by "stay" (condition)
  rule r/stay refuses (condition)
    require: arg /path: does not hold
`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "what would pass: a path that fits {\"under\":[\"/srv\"]}") {
		t.Errorf("got\n%s", got)
	}
}

func TestStableWhateverTheWorkers(t *testing.T) {
	var cases []string
	for i := range 300 {
		path := "/srv/a"
		if i%7 == 0 {
			path = "/etc/a"
		}
		cases = append(cases, fmt.Sprintf(`{"name": "%d", "call": {"tool": "read", "arguments": {"path": %q}}, "expect": "allowed"}`, i, path))
	}
	s := suite(t, expectRules, testFile(cases...))
	var outs []string
	for _, workers := range []int{1, 2, 9} {
		for _, fast := range []bool{false, true} {
			r := run(t, s, rulestest.RunOptions{Workers: workers, FailFast: fast, Coverage: true})
			var b strings.Builder
			if err := errors.Join(rulestest.WriteText(&b, []*rulestest.Report{r}, true), r.Coverage.WriteText(&b), rulestest.WriteTAP(&b, []*rulestest.Report{r})); err != nil {
				t.Fatal(err)
			}
			outs = append(outs, b.String())
			if fast && (len(r.Results) != 1 || r.Results[0].Passed) {
				t.Errorf("with FailFast %d results", len(r.Results))
			}
		}
	}
	for i := 2; i < len(outs); i++ {
		if outs[i] != outs[i%2] {
			t.Errorf("run %d differs:\n%s\nfrom\n%s", i, outs[i], outs[i%2])
		}
	}
}

func TestStopsWhenAsked(t *testing.T) {
	s := loadOne(t, "testdata/files")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, rulestest.RunOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if _, err := s.Mutate(ctx, rulestest.MutantOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Mutate: %v", err)
	}
}

// TEST-02: that nothing ran is not that all passed.
func TestTEST02(t *testing.T) {
	rules := ruleFile(`{"id": "a", "tools": ["x"], "refuse": {"arg": "/p", "is": 1}}`)
	load := func(files map[string]string, path string) error {
		files["content-rules.json"] = rules
		dir := folder(t, files)
		_, problems, err := rulestest.Load([]string{dir + path}, rulestest.Options{})
		if err != nil {
			return err
		}
		return problems.Err()
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		path  string
		want  string
	}{
		{"an empty test file", map[string]string{"a.test.json": ""}, "", "not strict JSON"},
		{"no cases", map[string]string{"a.test.json": testFile()}, "", "an empty list, expected 1 to"},
		{"rules that are not there", map[string]string{"a.test.json": strings.Replace(testFile(`{"name": "a", "call": {"tool": "x"}, "expect": "allowed"}`), "content-rules.json", "gone.json", 1)}, "", `"gone.json"`},
		{"a folder without a test file", map[string]string{"a.json": "{}"}, "", "no test file was found"},
		{"a path that is not there", map[string]string{}, "/gone", "no such file"},
		{"no expectation", map[string]string{"a.test.json": testFile(`{"name": "a", "call": {"tool": "x"}}`)}, "", `a case without "expect", which it needs`},
		{"an id no rule has", map[string]string{"a.test.json": testFile(`{"name": "a", "call": {"tool": "x"}, "expect": {"refused": ["a", "b"]}}`)}, "", `/cases/0/expect/refused/1: no rule has the id "b", expected the id of one of them`},
		{"an unknown code", map[string]string{"a.test.json": testFile(`{"name": "a", "call": {"tool": "x"}, "expect": {"refused": "a", "code": "cannot-juge"}}`)}, "", `did you mean "cannot-judge"?`},
		{"skipped", map[string]string{"a.test.json": testFile(`{"name": "a", "skip": true, "call": {"tool": "x"}, "expect": "allowed"}`)}, "", `unknown member "skip" of a case`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := load(test.files, test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	t.Run("a filter that matches no case", func(t *testing.T) {
		s := suite(t, rules, testFile(`{"name": "a", "call": {"tool": "x"}, "expect": "allowed"}`))
		r := run(t, s, rulestest.RunOptions{Match: regexp.MustCompile("zz")})
		if got := rulestest.Exit([]*rulestest.Report{r}); got != rulestest.ExitFaulty {
			t.Errorf("exit code %d, want %d", got, rulestest.ExitFaulty)
		}
		if got := rulestest.Exit(nil); got != rulestest.ExitFaulty {
			t.Errorf("of nothing: exit code %d", got)
		}
	})
	t.Run("the summary names what was loaded, run and never applied", func(t *testing.T) {
		s := suite(t, ruleFile(`{"id": "a", "tools": ["x"], "refuse": {"arg": "/p", "is": 1}}`, `{"id": "idle", "tools": ["y"], "refuse": {"arg": "/p", "is": 1}}`),
			testFile(`{"name": "a", "call": {"tool": "x"}, "expect": "allowed"}`))
		r := run(t, s, rulestest.RunOptions{})
		var b strings.Builder
		if err := rulestest.WriteText(&b, []*rulestest.Report{r}, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"2 rules", s.Set.Files[0].Fingerprint, `applied in no case: "idle"`, "1 case: 1 passed, 0 failed"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in\n%s", want, b.String())
			}
		}
		if got := rulestest.Exit([]*rulestest.Report{r}); got != rulestest.ExitPassed {
			t.Errorf("exit code %d", got)
		}
	})
}

// TEST-01, for test files: one slip of the pen each.
func TestTEST01(t *testing.T) {
	good := `{"name": "a", "call": {"tool": "x", "arguments": {}}, "expect": {"refused": "a"}}`
	if _, problems := rulestest.Read("t", []byte(testFile(good))); len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, test := range []struct{ name, from, to, want string }{
		{"a misspelt member", `"expect"`, `"expects"`, `/cases/0/expects: unknown member "expects" of a case, did you mean "expect"?`},
		{"a misspelt argument", `"arguments"`, `"agument"`, `did you mean "arguments"?`},
		{"a misspelt verdict", `"refused"`, `"refuse"`, `did you mean "refused"?`},
		{"tools where tool belongs", `"tool"`, `"tools"`, `did you mean "tool"?`},
		{"an empty list", `{"refused": "a"}`, `{"refused": []}`, "an empty list"},
		{"an id twice", `{"refused": "a"}`, `{"refused": ["a", "a"]}`, "stands in the list twice"},
		{"the same member twice", `"name": "a"`, `"name": "a", "name": "b"`, "a member name stands twice"},
		{"an unknown word", `{"refused": "a"}`, `"allow"`, `unknown expectation "allow"`},
		{"two expectations", `{"refused": "a"}`, `{"refused": "a", "watched": "b"}`, "expected exactly one of"},
		{"only without refused", `{"refused": "a"}`, `{"watched": "a", "only": true}`, `"only" goes with "refused" alone`},
		{"unreadable false", `{"refused": "a"}`, `{"unreadable": false}`, "expected true"},
		{"unruled and refused", `"expect"`, `"unruled": true, "expect"`, `a case without a rule is always "allowed"`},
		{"no call", `"call": {"tool": "x", "arguments": {}}, `, ``, `exactly one of "call" and "calls"`},
		{"both", `"call": `, `"calls": "x", "call": `, `exactly one of "call" and "calls"`},
		{"arguments and raw", `"arguments": {}`, `"arguments": {}, "raw": "{}"`, `at most one of "arguments", "raw" and "rawBase64"`},
		{"bytes not in base64", `"arguments": {}`, `"rawBase64": "e30"`, "in base64"},
		{"a message and a tool", `"arguments": {}`, `"message": "{}"`, `a "message" is a whole call`},
		{"a time that is none", `"expect"`, `"now": "2026-13-01", "expect"`, "expected a time"},
		{"a version from the future", `content-rules-tests/v1`, `content-rules-tests/v2`, "expected exactly"},
		{"an unknown member of the file", `"cases"`, `"case"`, `did you mean "cases"?`},
		{"two cases of one name", good, good + "," + good, "the name of case 1 too"},
		{"a fraction of an amount", `"arguments": {}`, `"amount": {"unit": "GBP", "value": 1.5}`, "expected a whole number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(testFile(good), test.from, test.to, 1)
			f, problems := rulestest.Read("t.json", []byte(text))
			if f != nil || !strings.Contains(problems.String(), test.want) {
				t.Errorf("got\n%s\nwant %q in it", problems, test.want)
			}
			if !strings.HasPrefix(problems.String(), "t.json:") {
				t.Errorf("no place in %s", problems)
			}
		})
	}
}

func TestFind(t *testing.T) {
	one := testFile(`{"name": "a", "call": {"tool": "x"}, "expect": "allowed"}`)
	dir := folder(t, map[string]string{
		"content-rules.json": "{}", "content-rules.test.json": one, "deep/er/b.test.json": one, "deep/not.json": "{}", "x.test.json.bak": one,
	})
	for _, test := range []struct {
		name  string
		paths []string
		want  []string
	}{
		{"a folder, to any depth", []string{dir}, []string{"content-rules.test.json", "deep/er/b.test.json"}},
		{"a rules file", []string{dir + "/content-rules.json"}, []string{"content-rules.test.json"}},
		{"twice", []string{dir + "/deep", dir + "/deep/er/b.test.json"}, []string{"deep/er/b.test.json"}},
	} {
		got, err := rulestest.Find(test.paths)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if _, err := rulestest.Find([]string{dir + "/deep/not.json"}); !errors.Is(err, rulestest.ErrNothing) {
		t.Errorf("a rules file without tests: %v", err)
	}
}

// Test files of the same rules are one suite, so that what they reach is taken
// together.
func TestSuitesByRules(t *testing.T) {
	rules := ruleFile(`{"id": "a", "tools": ["x", "y"], "refuse": {"arg": "/p", "is": 1}}`)
	case1 := `{"name": "a", "call": {"tool": "x"}, "expect": "allowed"}`
	case2 := `{"name": "a", "call": {"tool": "y", "arguments": {"p": 1}}, "expect": {"refused": "a"}}`
	dir := folder(t, map[string]string{
		"content-rules.json": rules, "a.test.json": testFile(case1), "b.test.json": testFile(case2),
		"sub/content-rules.json": rules, "sub/c.test.json": testFile(case1),
		"sub/d.test.json": strings.Replace(testFile(case1), `"content-rules.json"`, `"../content-rules.json"`, 1),
	})
	all, problems, err := rulestest.Load([]string{dir}, rulestest.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if len(all) != 2 || len(all[0].Tests) != 3 || len(all[1].Tests) != 1 {
		t.Fatalf("%d suites", len(all))
	}
	if got := run(t, all[0], rulestest.RunOptions{Coverage: true}).Coverage.Percent(); got != 100 {
		t.Errorf("together they reach %d%%", got)
	}
}

// Names are those of the rules and of the server's schemas; the guard's reader of
// messages, which stands in a room above, is taken from outside.
func TestReadersFromOutside(t *testing.T) {
	dir := folder(t, map[string]string{
		"content-rules.json": ruleFile(`{"id": "a", "tools": ["x"], "refuse": {"arg": "/path", "is": 1}}`),
		"tools.json":         `{"tools": [{"name": "x", "inputSchema": {"type": "object", "properties": {"head": {}}}}]}`,
		"a.test.json": `{"format": "content-rules-tests/v1", "rules": "content-rules.json", "tools": "tools.json", "cases": [
			{"name": "a name that only looks like one", "call": {"tool": "x", "arguments": {"Path": 1}}, "expect": {"unreadable": true}},
			{"name": "a name that looks like one of the schema", "call": {"tool": "x", "arguments": {"HEAD": 1}}, "expect": {"unreadable": true}},
			{"name": "the names themselves", "call": {"tool": "x", "arguments": {"path": 2, "head": 1}}, "expect": "allowed"},
			{"name": "a message the guard does not take", "call": {"message": "{}"}, "expect": {"unreadable": true}}]}`,
	})
	o := rulestest.Options{
		ReadMessage: func([]byte) (rulestest.Message, error) { return rulestest.Message{}, errors.New("no method") },
	}
	rulestest.RunWith(t, dir, o)
}

func TestAnnotationsOfTheServer(t *testing.T) {
	s, err := rulestest.ReadServer("t", []byte(`{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x", "annotations": {"readOnlyHint": true}}], "resources": [{"uri": "a"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Resources || !s.Tool("x").Annotations.Member("readOnlyHint").Bool() || s.Tool("y") != nil {
		t.Errorf("%+v", s)
	}
	for _, test := range []struct{ text, want string }{
		{`[]`, "expected the answer to tools/list"},
		{`{"tools": [{}]}`, "/tools/0: a tool without a name"},
		{`{"tools": [{"name": "x"}, {"name": "x"}]}`, "/tools/1: the name \"x\""},
		{`{"tools": [{"name": "x", "name": "y"}]}`, "t:1:26: not strict JSON"},
	} {
		if _, err := rulestest.ReadServer("t", []byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
}

// What is named is what is tested: tests beside a rules file that are of other
// rules are a fault.
func TestTestsBesideAreOfTheRules(t *testing.T) {
	dir := folder(t, map[string]string{
		"content-rules.json": expectRules, "other.json": expectRules,
		"other.test.json": testFile(`{"name": "a", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`),
	})
	other := filepath.Join(dir, "other.json")
	_, problems, err := rulestest.Load([]string{other}, rulestest.Options{})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Msg, "tests of other rules") || problems[0].Pointer != "/rules" {
		t.Errorf("%v, %v", problems, err)
	}
	if _, problems, err = rulestest.Load([]string{filepath.Join(dir, "other.test.json")}, rulestest.Options{}); err != nil || len(problems) > 0 {
		t.Errorf("the test file itself: %v, %v", problems, err)
	}
}

// A file that is named in two ways is one, and a link to a folder is the folder.
func TestFilesAreCountedOnce(t *testing.T) {
	dir := folder(t, map[string]string{
		"in/content-rules.json": expectRules,
		"in/a.test.json":        testFile(`{"name": "a", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`),
		"in/b.test.json":        testFile(`{"name": "b", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`),
	})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("in", link); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{{link}, {link, filepath.Join(dir, "in", "a.test.json")}, {filepath.Join(dir, "in", "b.test.json"), filepath.Join(link, "a.test.json")}} {
		all, problems, err := rulestest.Load(paths, rulestest.Options{})
		if err = errors.Join(err, problems.Err()); err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || len(all[0].Tests) != 2 {
			t.Errorf("%q: %d suites, the first of %d files", paths, len(all), len(all[0].Tests))
		}
	}
}
