package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/receipts"
)

// command runs one command line in this process and gives what it printed.
func command(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{in: strings.NewReader(in), out: &stdout, err: &stderr, now: time.Now, rand: rand.Reader}
	code = p.run(context.Background(), args)
	return code, stdout.String(), stderr.String()
}

// signedWorld makes settings, keys and a slip signed by a stand-in that is kept,
// so that it can sign more.
func signedWorld(t *testing.T) (config string, slip func() string, passkey *receipts.DevelopmentPasskey) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, "executor.json")
	passkey, err := receipts.NewDevelopmentPasskey("Test", "http://localhost:8797", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := demoSettings("countersign", passkey.Issuer().Key.Thumbprint())
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"executor.json": settings, "content-rules.json": []byte(demoRules)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := command(t, "", "keys", "--config", config); code != exitDone {
		t.Fatal(errs)
	}
	slip = func() string {
		w, err := load(config)
		if err != nil {
			t.Fatal(err)
		}
		w.readRules()
		w.readKeys(false)
		if err := w.problems.Err(); err != nil {
			t.Fatal(err)
		}
		id, err := receipts.NewID(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		content := &receipts.Slip{
			ID:    id,
			Agent: receipts.Agent{Keys: w.agent.Keys(), Name: receipts.Covered{Text: "agent"}, Software: []receipts.Detail{{Name: softwareName, SHA256: w.rules.Files[0].Fingerprint}}},
			// Both of the demonstration's actions.
			Actions:   actionsOf(w.settings),
			Requires:  []receipts.Condition{{Need: receipts.KindCountersignature}},
			With:      []receipts.Service{{ID: w.settings.Service, Name: receipts.Covered{Text: "Guard"}, Keys: w.guard.Keys()}},
			ValidFrom: receipts.TimeOf(time.Now().Add(-time.Minute)), ValidUntil: receipts.TimeOf(time.Now().Add(time.Hour)),
			Purpose: receipts.Covered{Text: "A test."},
		}
		record, err := passkey.SignSlip(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := replaceFile(w.settings.Agent.Slip, record); err != nil {
			t.Fatal(err)
		}
		return receipts.Fingerprint(content.Append(nil))
	}
	return config, slip, passkey
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello there"}}}
`

// The end of a slip is handed in as a file, once it was found to be signed by the
// slip's own passkey; from then on every call is refused.
func TestCancel(t *testing.T) {
	config, sign, passkey := signedWorld(t)
	slip := sign()
	if _, out, errs := command(t, hello, "stdio", "--config", config); !strings.Contains(out, `"text":"hello there"`) {
		t.Fatalf("the call before it: %s\n%s", out, errs)
	}
	cancellation := func(by *receipts.DevelopmentPasskey) string {
		id, err := receipts.NewID(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		record, err := by.SignCancellation(&receipts.Cancellation{ID: id, Slip: slip, When: receipts.TimeOf(time.Now())})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "cancellation.json")
		if err := os.WriteFile(path, append(record, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stranger, err := receipts.NewDevelopmentPasskey("Stranger", "http://localhost:8797", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, "", "cancel", "--config", config, "--file", cancellation(stranger))
	if code != exitCannot || out != "" || !strings.Contains(errs, "cancellation-invalid") {
		t.Errorf("a stranger's: code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := command(t, "", "cancel", "--config", config); code != exitCannot || !strings.Contains(errs, "--file") {
		t.Errorf("without a file: code %d, %q", code, errs)
	}
	code, out, errs = command(t, "", "cancel", "--config", config, "--file", cancellation(passkey))
	if code != exitDone {
		t.Fatalf("code %d, %s", code, errs)
	}
	if _, err := os.Stat(strings.TrimSpace(out)); err != nil {
		t.Errorf("the file it names: %v", err)
	}
	if _, out, errs := command(t, hello, "stdio", "--config", config); !strings.Contains(out, "after-cancellation") {
		t.Errorf("the call after it: %s\n%s", out, errs)
	}
	code, out, _ = command(t, "", "verify", filepath.Join(filepath.Dir(config), "book.jsonl"), "--issuer", passkey.Issuer().Key.Thumbprint(), "--entries")
	if code != exitDone || !strings.Contains(out, "cancellation") || !strings.Contains(out, "acknowledgement") {
		t.Errorf("the book: code %d\n%s", code, out)
	}
}

// A new book is begun under a new slip, and under no other.
func TestRollover(t *testing.T) {
	config, sign, passkey := signedWorld(t)
	sign()
	dir := filepath.Dir(config)
	if _, out, errs := command(t, hello, "stdio", "--config", config); !strings.Contains(out, `"text":"hello there"`) {
		t.Fatalf("%s\n%s", out, errs)
	}
	if code, _, errs := command(t, "", "rollover", "--config", config); code != exitCannot || !strings.Contains(errs, "a new book is begun under a new slip") {
		t.Errorf("under the old slip: code %d, %q", code, errs)
	}
	sign()
	if code, _, errs := command(t, "", "rollover", "--config", config); code != exitDone {
		t.Fatalf("code %d, %s", code, errs)
	}
	if code, out, _ := command(t, "", "verify", filepath.Join(dir, "book.jsonl"), "--issuer", passkey.Issuer().Key.Thumbprint()); code != exitDone || !strings.Contains(out, "slips 1, receipts 0") {
		t.Errorf("the new book: code %d\n%s", code, out)
	}
	if code, out, _ := command(t, "", "check", "--config", config); code != exitDone {
		t.Errorf("check after it: code %d\n%s", code, out)
	}
	if _, out, errs := command(t, hello, "stdio", "--config", config); !strings.Contains(out, `"text":"hello there"`) {
		t.Errorf("a call after it: %s\n%s", out, errs)
	}
	old, err := filepath.Glob(filepath.Join(dir, "book.jsonl.until*"))
	if err != nil || len(old) != 1 {
		t.Fatalf("the old book: %q, %v", old, err)
	}
	// The old book is checked and compared as the new one is.
	for _, book := range []string{old[0], filepath.Join(dir, "book.jsonl")} {
		code, out, errs := command(t, "", "verify", book, "--issuer", passkey.Issuer().Key.Thumbprint(), "--ledger", filepath.Join(dir, "ledger.jsonl"))
		if code != exitDone || !strings.Contains(out, "ledger and book agree: 1 receipt") {
			t.Errorf("%s: code %d\n%s%s", book, code, out, errs)
		}
	}
}

// settle needs keys beside the settings', and leaves whole records whole.
func TestSettle(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	if code, _, errs := command(t, "", "settle", "--config", config); code != exitCannot || !strings.Contains(errs, "no --keys") {
		t.Errorf("without keys: code %d, %q", code, errs)
	}
	old := filepath.Join(filepath.Dir(config), "keys", "old.keys")
	if _, err := receipts.CreateSigner(old, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "", "settle", "--config", config, "--keys", old); code != exitDone || !strings.Contains(errs, "the records of agent are whole") {
		t.Errorf("code %d, %q", code, errs)
	}
	if code, _, errs := command(t, "", "settle", "--config", config, "--keys", filepath.Join(t.TempDir(), "none")); code != exitCannot || !strings.Contains(errs, "the old keys") {
		t.Errorf("keys that are not there: code %d, %q", code, errs)
	}
}
