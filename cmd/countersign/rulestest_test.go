package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/rulestest"
)

// What goes no further in the guard goes no further in a test of rules, be it run
// by the command, with the guard's reader, or as a Go test, with the tests' own.
func TestMessagesAreReadAsTheGuardDoes(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"/srv/a"}}}`
	with := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	messages := map[string]string{good: "allowed"}
	for _, m := range []string{
		// Members of the envelope and of params in other letters, K being the sign for Kelvin.
		with(`"jsonrpc"`, `"JSONRPC"`), with(`"id"`, `"ID"`), with(`"method"`, `"Method"`), with(`"params"`, `"PARAMS"`),
		with(`"id":1`, `"id":1,"Method":"ping"`), with(`"id":1`, `"id":1,"Params":{}`), with(`"id":1`, `"id":1,"paramſ":{}`),
		with(`"id":1`, `"id":1,"RESULT":1`), with(`"id":1`, `"id":1,"Error":1`),
		with(`"name"`, `"Name"`), with(`"arguments"`, `"Arguments"`), with(`"name"`, `"Arguments":{},"name"`), with(`"name"`, `"argumentſ":{},"name"`),
		with(`"name"`, `"_Meta":{},"name"`), with(`"name"`, `"taſk":{},"name"`), with(`"name"`, `"taſ\u212a":{},"name"`),
		with(`"name"`, `"inputresponses":{},"name"`), with(`"name"`, `"RequestState":"a","name"`),
		with(`tools/call`, `Tools/Call`), with(`tools/call`, `tools/call/`), with(`tools/call`, ` toolſ.call`),
		// What else no call is.
		with(`"id":1`, `"id":1,"more":1`), with(`"name"`, `"more":1,"name"`), with(`"jsonrpc":"2.0",`, ``), with(`"2.0"`, `"1.0"`), with(`"id":1,`, ``),
		with(`"id":1`, `"id":null`), with(`"id":1`, `"id":1.5`), with(`"id":1`, `"id":1,"result":{}`), with(`"read"`, `5`), with(`"name":"read",`, ``),
		with(`{"path":"/srv/a"}`, `[]`), with(`{"path":"/srv/a"}`, `null`), with(`"name"`, `"_meta":1,"name"`), with(`"name"`, `"inputResponses":[],"name"`),
		with(`"name"`, `"requestState":1,"name"`), with(`"name"`, `"task":{},"name"`), with(`{"path":"/srv/a"}`, `{"path":"/srv/a","path":"/b"}`),
		"[" + good + "]", good + good, "", `"a"`, strings.Replace(good, ",", ",\r", 1), `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","method":"ping","Id":1}`,
	} {
		messages[m] = `{"unreadable": true}`
	}
	for _, m := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		messages[m] = `"allowed"`
	}
	messages[good] = `"allowed"`
	var cases []string
	for m, want := range messages {
		cases = append(cases, `{"name": `+strconv.Quote("m"+strconv.Itoa(len(cases)))+`, "call": {"message": `+asJSON(m)+`}, "expect": `+want+`}`)
	}
	dir := t.TempDir()
	tests := strings.Replace(watchTests, "../rules/", "", 1)
	tests = tests[:strings.Index(tests, "[")+1] + strings.Join(cases, ",\n") + "]}"
	for name, text := range map[string]string{"r.json": watchRules, "r.test.json": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, o := range map[string]rulestest.Options{"the guard's": testOptions(), "the tests'": {}} {
		t.Run(name, func(t *testing.T) { rulestest.RunWith(t, dir, o) })
	}
}

func asJSON(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", `\r`).Replace(s) + `"`
}

// An answer that nobody could read is none.
func TestAnswersOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"r.json": watchRules, "r.test.json": strings.Replace(watchTests, "../rules/", "", 1), "calls": `{"tool": "read"}`,
		"tools.json": `{"tools": [{"name": "read"}]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, args := range []string{
		"rules fingerprint r.json", "rules fingerprint r.json --json", "rules check r.json", "rules coverage --tools tools.json r.json", "rules capture calls",
		"rules watch-report calls", "rules diff r.json r.json", "rules test", "rules test --tap", "rules test --json", "rules test --coverage", "rules test --mutants",
		"rules test --min 100",
	} {
		var errs strings.Builder
		p := &program{in: strings.NewReader(""), out: fullDisk{}, err: &errs, now: time.Now}
		if code := p.run(t.Context(), strings.Fields(args)); code != exitCannot || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%s: exit code %d, %q", args, code, errs.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
