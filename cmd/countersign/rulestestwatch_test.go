package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched runs rules test --watch in this process.
type watched struct {
	t     *testing.T
	dir   string
	lines *bufio.Scanner
	runs  int
}

// put writes files as editors do: whole, under another name, then in place.
func (w *watched) put(files ...string) {
	w.t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(w.dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path+"~", []byte(files[i+1]), 0o600); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			w.t.Fatal(err)
		}
	}
}

// until reads what is printed until the tests wait for a change, and wants a text
// in it. A change of several files may be seen as several: it reads on.
func (w *watched) until(want string) {
	w.t.Helper()
	var said strings.Builder
	for w.lines.Scan() {
		said.WriteString(w.lines.Text() + "\n")
		if !strings.Contains(w.lines.Text(), "waiting for a change") {
			continue
		}
		w.runs++
		if strings.Contains(said.String(), want) {
			return
		}
	}
	w.t.Fatalf("ended without %q:\n%s", want, &said)
}

const (
	watchRules = `{"format": "content-rules/v1", "name": "r", "rules": [{"id": "a", "tools": ["read"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}]}`
	watchTests = `{"format": "content-rules-tests/v1", "rules": "../rules/r.json", "cases": [{"name": "in", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}]}`
)

// Tests run again when a file they are made of changes, wherever it lies and
// however it is written, and not when their own report does.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	r, out := io.Pipe()
	w := &watched{t: t, dir: dir, lines: bufio.NewScanner(r)}
	w.put("tests/a.test.json", `{"format": "content-rules-tests/v1", "rules": `)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // a lost event ends the test
	defer stop()
	done := make(chan int, 1)
	go func() {
		p := &program{in: strings.NewReader(""), out: out, err: out, now: time.Now}
		done <- p.run(ctx, []string{"rules", "test", "--watch", "-v", "--sarif", filepath.Join(dir, "tests", "report.json"), dir})
		out.Close()
	}()
	w.until("not strict JSON") // in a folder below the one that was named

	w.put("tests/a.test.json", watchTests)
	w.until("rules/r.json: no such file")
	w.put("rules/r.json", watchRules) // in a folder that was not there
	w.until("1 case: 1 passed, 0 failed")
	before := w.runs
	w.put("rules/r.json", strings.Replace(watchRules, "/srv", "/etc", 1))
	w.until("1 case: 0 passed, 1 failed")
	w.put("rules/r.json", watchRules)
	w.until("1 case: 1 passed, 0 failed")
	if w.runs != before+2 {
		t.Errorf("%d runs for two changes: it runs for what it writes itself", w.runs-before)
	}

	// New folders, recorded calls that are no .json, and a folder taken away and put back.
	w.put("more/deep/b.test.json", strings.Replace(watchTests, "../rules", "../../rules", 1))
	w.until("2 cases: 2 passed, 0 failed")
	recorded := `{"format": "content-rules-tests/v1", "rules": "../../rules/r.json", "cases": [{"name": "all", "calls": "../../calls/*.log", "expect": "allowed"}]}`
	w.put("more/deep/b.test.json", recorded)
	w.until("no recorded call was found")
	w.put("calls/one.log", `{"tool": "read", "arguments": {"path": "/srv/a"}}`+"\n")
	w.until("all (1 recorded call, 0 not judged again)")
	f, err := os.OpenFile(filepath.Join(dir, "calls", "one.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"tool": "read", "arguments": {"path": "/srv/b"}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.until("all (2 recorded calls, 0 not judged again)")
	if err := os.RemoveAll(filepath.Join(dir, "rules")); err != nil {
		t.Fatal(err)
	}
	w.until("rules/r.json: no such file")
	w.put("rules/r.json", watchRules)
	w.until("2 cases: 2 passed, 0 failed")

	// The exit code is that of the last run.
	w.put("rules/r.json", strings.Replace(watchRules, "/srv", "/etc", 1))
	w.until("2 cases: 0 passed, 2 failed")
	stop()
	if code := <-done; code != exitNo {
		t.Errorf("exit code %d, want %d", code, exitNo)
	}
}

// A run that is broken off is not a pass.
func TestWatchInterrupted(t *testing.T) {
	dir := t.TempDir()
	w := &watched{t: t, dir: dir}
	w.put("rules/r.json", watchRules, "tests/a.test.json", watchTests)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{{"rules", "test", "--watch", dir}, {"rules", "test", dir}} {
		var out, errs strings.Builder
		p := &program{in: strings.NewReader(""), out: &out, err: &errs, now: time.Now}
		report := filepath.Join(t.TempDir(), "junit.xml")
		if code := p.run(ctx, append(args, "--junit", report)); code != exitCannot {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, exitCannot, &out, &errs)
		}
		if b, err := os.ReadFile(report); err != nil || !strings.Contains(string(b), "<error ") {
			t.Errorf("%v: the report says no error: %v %s", args, err, b)
		}
	}
}
