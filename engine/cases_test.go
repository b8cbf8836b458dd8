package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
)

// The cases are public bug reports retold (the project's own words; the reports
// are named in docs). Each is a table of calls with the outcome wanted: ALLOW,
// DENY (the rule's condition says so) or UNJUDGED (denied, since it cannot be
// judged).

// one is a rules file of the rules given.
func one(list ...string) []byte {
	return []byte(`{"format": "content-rules/v1", "name": "t", "rules": [` + strings.Join(list, ",\n") + `]}`)
}

// decide judges a call in both ways, which must agree.
func decide(t *testing.T, e *engine.Engine, tool, args string) engine.Decision {
	t.Helper()
	c := &engine.Call{Tool: tool}
	if args != "" {
		c.Arguments = parse(t, []byte(args))
	}
	d, x := e.Judge(c), e.Explain(c)
	if d.Verdict != x.Verdict || d.Rule != x.Rule || d.Code != x.Code || d.Say != x.Say {
		t.Fatalf("Judge: %v %s %s; Explain: %v %s %s", d.Verdict, d.Rule, d.Code, x.Verdict, x.Rule, x.Code)
	}
	return d
}

func outcomeOf(d engine.Decision) string {
	switch {
	case d.Verdict == engine.Allowed:
		return "ALLOW"
	case d.Code == engine.CannotJudge:
		return "UNJUDGED"
	case d.Code == engine.OverBudget:
		return "OVER"
	}
	return "DENY"
}

type row struct{ args, want string }

func hold(t *testing.T, e *engine.Engine, tool string, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := outcomeOf(decide(t, e, tool, r.args)); got != r.want {
			t.Errorf("%s: got %s, want %s", r.args, got, r.want)
		}
	}
}

func TestCEL01AsTests(t *testing.T) {
	// The JSON half of the case: a test cannot judge another kind, and a missing
	// member does not match a refuse unless the rule asks for it.
	e := compile(t, one(`{"id": "r", "tools": ["transfer"], "refuse": {"arg": "/blocked", "is": true}}`))
	hold(t, e, "transfer", []row{
		{`{"to":"acct-1","blocked":true}`, "DENY"},
		{`{"to":"acct-1","blocked":false}`, "ALLOW"},
		{`{"to":"acct-1"}`, "ALLOW"},
		{`{"to":"acct-1","blocked":"true"}`, "UNJUDGED"},
		{`{"to":"acct-1","blocked":null}`, "UNJUDGED"},
	})
	asks := compile(t, one(`{"id": "r", "tools": ["transfer"], "refuse": {"any": [{"arg": "/blocked", "present": false}, {"arg": "/blocked", "is": true}]}}`))
	hold(t, asks, "transfer", []row{{`{"to":"acct-1"}`, "DENY"}, {`{"blocked":false}`, "ALLOW"}})
	mirror := compile(t, one(`{"id": "r", "tools": ["transfer"], "require": {"arg": "/amount", "below": 100}}`))
	hold(t, mirror, "transfer", []row{{`{}`, "DENY"}, {`{"amount":99}`, "ALLOW"}, {`{"amount":100}`, "DENY"}})
}

func TestCEL02AbsentArguments(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["transfer"], "refuse": {"arg": "/meta/owner", "is": "root"}}`))
	hold(t, e, "transfer", []row{
		{"", "ALLOW"}, // params without arguments: {}
		{`{}`, "ALLOW"},
		{`{"meta":{"owner":"root"}}`, "DENY"},
		{`{"meta":[{"owner":"root"}]}`, "ALLOW"}, // nothing is at the pointer
		{`{"meta":"root"}`, "ALLOW"},
		{`null`, "UNJUDGED"},
		{`[]`, "UNJUDGED"},
		{`"x"`, "UNJUDGED"},
	})
	for _, none := range []string{`null`, `[]`} {
		d := decide(t, compile(t, one(`{"id": "r", "tools": ["other"], "refuse": {"arg": "/a", "is": 1}}`)), "transfer", none)
		if d.Verdict != engine.Refused || d.Rule != "" || d.Tell("test") == "" {
			t.Errorf("arguments %s: %+v, want them refused without a rule", none, d)
		}
	}
}

func TestRULE01AllOfAnEmptyList(t *testing.T) {
	rule := `{"id": "r", "tools": ["read_many"], "require": {"every": "/paths/%s", "path": {"under": ["/srv/app"]}}}`
	e := compile(t, one(fmt.Sprintf(rule, "#")))
	hold(t, e, "read_many", []row{
		{`{"paths":["/srv/app/a","/srv/app/b"]}`, "ALLOW"},
		{`{"paths":["/srv/app/a","/etc/b"]}`, "DENY"},
		{`{"paths":[]}`, "DENY"},
		{`{"paths":"/srv/app/a"}`, "DENY"},
		{`{"paths":{"0":"/srv/app/a"}}`, "DENY"},
		{`{"paths":["/srv/app/a",7]}`, "UNJUDGED"},
		{`{"paths":["/srv/app/a",null]}`, "UNJUDGED"},
		{`{}`, "DENY"},
	})
	hold(t, compile(t, one(fmt.Sprintf(rule, "*"))), "read_many", []row{
		{`{"paths":{"0":"/srv/app/a"}}`, "ALLOW"}, // * selects members as well
		{`{"paths":{"0":"/etc/a"}}`, "DENY"},
		{`{"paths":[]}`, "DENY"},
	})
}

func TestRULE02NumberAsText(t *testing.T) {
	e := compile(t, one(
		`{"id": "not-over", "tools": ["pay"], "refuse": {"arg": "/amount", "above": 1000}}`,
		`{"id": "within", "tools": ["pay"], "require": {"arg": "/amount", "atLeast": 0, "atMost": 1000}}`))
	hold(t, e, "pay", []row{
		{`{"amount":500}`, "ALLOW"},
		{`{"amount":1000}`, "ALLOW"},
		{`{"amount":1000.0000001}`, "DENY"},
		{`{"amount":1e3}`, "ALLOW"},
		{`{"amount":5000}`, "DENY"},
		{`{"amount":"5000"}`, "UNJUDGED"},
		{`{"amount":"500"}`, "UNJUDGED"},
		{`{"amount":true}`, "UNJUDGED"},
		{`{"amount":[500]}`, "UNJUDGED"},
		{`{"amount":-1}`, "DENY"},
		{`{}`, "DENY"},
	})
}

func TestRULE03AnotherToolOrArgument(t *testing.T) {
	// The closed answer for what a rule does not mention: only these arguments.
	// That nothing else is written leaves the other tools to the settings, which
	// refuse what they do not list; here a rule does it, with names that match.
	e := compile(t, one(
		`{"id": "only", "tools": ["read_text_file"], "require": {"all": [{"arg": "", "onlyMembers": ["path"]}, {"arg": "/path", "is": "/srv/app/a.md"}]}}`,
		`{"id": "rest", "tools": ["*"], "when": {"not": {"arg": "", "onlyMembers": ["path"]}}, "refuse": {"arg": "", "type": "object"}}`))
	for _, c := range []struct{ tool, args, want string }{
		{"read_text_file", `{"path":"/srv/app/a.md"}`, "ALLOW"},
		{"read_multiple_files", `{"paths":["/etc/passwd"]}`, "DENY"},
		{"read_text_file", `{"path":["/srv/app/a.md","/etc/passwd"]}`, "UNJUDGED"},
		{"read_text_file", `{"path":"/srv/app/a.md","paths":["/etc/x"]}`, "DENY"},
	} {
		if got := outcomeOf(decide(t, e, c.tool, c.args)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.args, got, c.want)
		}
	}
	// Names of tools are compared exactly: no rule of the one tool applies to these.
	for _, tool := range []string{"Read_Text_File", "read_text_file ", "read_text_files"} {
		d := e.Explain(&engine.Call{Tool: tool, Arguments: parse(t, []byte(`{"path":"/x"}`))})
		for _, r := range d.Trace.Rules {
			if r.Rule == "only" {
				t.Errorf("the rule of read_text_file applies to %q", tool)
			}
		}
	}
}

func TestRE01OnlyLooksAnchored(t *testing.T) {
	for _, c := range []struct{ re, host, want string }{
		{`console\.example\.test`, "console.example.test", "ALLOW"},
		{`console\.example\.test`, "evil-console.example.test.attacker.test", "DENY"},
		{`^console\.example\.test$`, "console.example.test", "ALLOW"}, // anchors of its own do no harm
		{`^a\.test$|b\.test`, "b.test.attacker.test", "DENY"},
		{`^a\.test$|b\.test`, "b.test", "ALLOW"},
		{`^[a-z]+\.test$`, "abc.test\n", "DENY"},
		{`(?m)^good\.test$`, "good.test\nevil.test", "DENY"},
		{`(?i)^kilo\.test$`, "\u212Ailo.test", "ALLOW"}, // RE2 folds the Kelvin sign to k
		{`a|ab`, "ab", "ALLOW"},                         // the whole, not the first alternative that fits
	} {
		re, _ := json.Marshal(c.re)
		host, _ := json.Marshal(map[string]string{"host": c.host})
		e := compile(t, one(fmt.Sprintf(`{"id": "r", "tools": ["fetch"], "require": {"arg": "/host", "matches": %s}}`, re)))
		if got := outcomeOf(decide(t, e, "fetch", string(host))); got != c.want {
			t.Errorf("%s on %q: got %s, want %s", c.re, c.host, got, c.want)
		}
	}
}

func TestRE02NoBacktracking(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/value", "matches": "^(a+)+$"}}`))
	hold(t, e, "x", []row{
		{`{"value":"` + strings.Repeat("a", 1_000_000) + `b"}`, "ALLOW"},
		{`{"value":"` + strings.Repeat("a", 1_000) + `"}`, "DENY"},
	})
	// The value of the case, well under a second.
	c := &engine.Call{Tool: "x", Arguments: parse(t, []byte(`{"value":"`+strings.Repeat("a", 1_000_000)+`b"}`))}
	least := time.Hour
	for range 5 {
		begun := time.Now()
		e.Judge(c)
		least = min(least, time.Since(begun))
	}
	if least > time.Second/2 {
		t.Errorf("decided in %v", least)
	}
}

func TestGLOB01ZeroDirectories(t *testing.T) {
	for _, c := range []struct{ glob, path, want string }{
		{"**/.env", ".env", "UNJUDGED"}, // relative, and no base is given
		{"**/.env", "/.env", "DENY"},
		{"**/.env", "/srv/app/.env", "DENY"},
		{"/**/.env", "/.env", "DENY"},
		{"/**/.env", "/srv/app/.env", "DENY"},
		{"/srv/app/**/*", "/srv/app/a.txt", "DENY"},
		{"/srv/app/**/*", "/srv/app//a.txt", "DENY"},
		{"/srv/app/*", "/srv/app/a/b.txt", "ALLOW"},
		{"/srv/*/secret", "/srv/a/b/secret", "ALLOW"},
	} {
		e := compile(t, one(fmt.Sprintf(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/path", "path": {"like": [%q]}}}`, c.glob)))
		if got := outcomeOf(decide(t, e, "x", fmt.Sprintf(`{"path":%q}`, c.path))); got != c.want {
			t.Errorf("%s on %s: got %s, want %s", c.glob, c.path, got, c.want)
		}
	}
	based := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/path", "path": {"like": ["/**/.env"], "base": "/srv/app"}}}`))
	hold(t, based, "x", []row{{`{"path":".env"}`, "DENY"}, {`{"path":"a.env"}`, "ALLOW"}})
}

func TestGLOB02TheFolderItself(t *testing.T) {
	for _, c := range []struct{ glob, path, want string }{
		{"/**", "/etc/passwd", "DENY"},
		{"/**", "/", "DENY"},
		{"/srv/app/**", "/srv/app/x", "DENY"},
		{"/srv/app/**", "/srv/app", "DENY"},
		{"/srv/app/**", "/srv/app/", "DENY"},
		{"/srv/app/**", "/srv/apple", "ALLOW"},
	} {
		e := compile(t, one(fmt.Sprintf(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/path", "path": {"like": [%q]}}}`, c.glob)))
		if got := outcomeOf(decide(t, e, "x", fmt.Sprintf(`{"path":%q}`, c.path))); got != c.want {
			t.Errorf("%s on %s: got %s, want %s", c.glob, c.path, got, c.want)
		}
	}
}

func TestPATH01SiblingFolder(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv/app"]}}}`))
	hold(t, e, "read_file", []row{
		{`{"path":"/srv/app/notes.txt"}`, "ALLOW"},
		{`{"path":"/srv/app"}`, "ALLOW"},
		{`{"path":"/srv/app/"}`, "ALLOW"},
		{`{"path":"/srv//app/./notes.txt"}`, "ALLOW"},
		{`{"path":"/srv/app/sub/../notes.txt"}`, "UNJUDGED"},
		{`{"path":"/srv/app-old/notes.txt"}`, "DENY"},
		{`{"path":"/srv/application.txt"}`, "DENY"},
		{`{"path":"/srv/app/../app-old/notes.txt"}`, "UNJUDGED"},
		{`{"path":"/srv/app/../../etc/passwd"}`, "UNJUDGED"},
		{`{"path":"srv/app/notes.txt"}`, "UNJUDGED"},
		{`{"path":""}`, "UNJUDGED"},
	})
}

func TestPATH02AnotherLetterCase(t *testing.T) {
	e := compile(t, one(
		`{"id": "inside", "tools": ["*"], "require": {"arg": "/path", "path": {"under": ["/srv/app"]}}}`,
		`{"id": "hidden", "tools": ["*"], "refuse": {"arg": "/path", "path": {"like": ["/**/.env/**", "/**/.ssh/**"], "fold": true}}}`))
	hold(t, e, "x", []row{
		{`{"path":"/srv/app/.env"}`, "DENY"},
		{`{"path":"/srv/app/.ENV"}`, "DENY"},
		{`{"path":"/srv/app/.Ssh/id_test"}`, "DENY"},
		{`{"path":"/SRV/APP/readme.md"}`, "DENY"},
		{`{"path":"/srv/app/readme.md"}`, "ALLOW"},
	})
}

func TestPATH03EncodedSeparators(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/docs"]}}}`))
	hold(t, e, "read_file", []row{
		{`{"path":"/docs/100%25.txt"}`, "ALLOW"},
		{`{"path":"/docs/%2e%2e/etc/passwd"}`, "UNJUDGED"},
		{`{"path":"/docs/%252e%252e/etc/passwd"}`, "UNJUDGED"},
		{`{"path":"/docs/%2%65%2%65/etc/passwd"}`, "UNJUDGED"},
		{`{"path":"file:///docs/a.md"}`, "UNJUDGED"},
	})
}

func TestJSON02WholeNumbers(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["get"], "refuse": {"arg": "/id", "is": 9007199254740992}}`))
	hold(t, e, "get", []row{
		{`{"id":9007199254740992}`, "DENY"},
		{`{"id":9007199254740992.0}`, "DENY"},
		{`{"id":9007199254740991}`, "ALLOW"},
		{`{"id":-9007199254740991}`, "ALLOW"},
	})
	for _, no := range []string{"9223372036854775807", "9007199254740993", "9007199254740993.0"} {
		if _, err := ijson.Parse([]byte(`{"id":`+no+`}`), ijson.Options{}); err == nil {
			t.Errorf("%s can be read, so it may be taken for another number", no)
		}
	}
}

// Input responses are judged as the argument member inputResponses.
func TestInputResponses(t *testing.T) {
	e := compile(t, one(
		`{"id": "in", "tools": ["*"], "refuse": {"some": "/inputResponses/**", "contains": "secret"}}`,
		`{"id": "named", "tools": ["*"], "refuse": {"some": "", "names": true, "is": "inputResponses"}, "mode": "watch"}`,
		`{"id": "few", "tools": ["*"], "require": {"arg": "", "onlyMembers": ["a", "inputResponses"], "length": {"atMost": 2}}}`))
	for _, c := range []struct {
		name, args, in, want string
		rule                 string
		watched              int
	}{
		{"none", `{"a":"secret"}`, "", "ALLOW", "", 0},
		{"a clean one", `{"a":1}`, `{"x":{"content":"y"}}`, "ALLOW", "", 1},
		{"a bad one", `{"a":1}`, `{"x":{"content":"my secret"}}`, "DENY", "in", 1},
		{"no arguments", ``, `{"x":"secret"}`, "DENY", "in", 1},
		{"empty arguments", `{ }`, `{"x":"fine"}`, "ALLOW", "", 1},
		{"an argument of that name, no responses", `{"inputResponses":"secret"}`, "", "DENY", "in", 1},
		{"an argument of that name beside them", `{"inputResponses":1}`, `{"x":1}`, "UNJUDGED", "", 0},
		{"the same, spelt with an escape", `{"input\u0052esponses":1}`, `{"x":1}`, "UNJUDGED", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := &engine.Call{Tool: "x"}
			if c.args != "" {
				call.Arguments = parse(t, []byte(c.args))
			}
			if c.in != "" {
				call.InputResponses = parse(t, []byte(c.in))
			}
			for _, d := range []engine.Decision{e.Judge(call), e.Explain(call)} {
				if outcomeOf(d) != c.want || d.Rule != c.rule || len(d.Watched) != c.watched {
					t.Errorf("got %s by %q, %d watched; want %s by %q, %d", outcomeOf(d), d.Rule, len(d.Watched), c.want, c.rule, c.watched)
				}
			}
		})
	}
}
