package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/receipts"
)

// demoBook runs the demonstration and gives its book and the thumbprint that its
// settings expect.
func demoBook(t *testing.T) (book []byte, path, thumbprint string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("countersign", "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("countersign demo: %v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "book.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("books of the demonstration: %q, %v", found, err)
	}
	if book, err = os.ReadFile(found[0]); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(filepath.Dir(found[0]), "executor.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`"([A-Za-z0-9_-]{43})"`).FindSubmatch(settings)
	if m == nil {
		t.Fatal("no thumbprint in the settings")
	}
	return book, found[0], string(m[1])
}

// changed is another byte than c that looks like it: one of the alphabet of
// base64url stays in it, so that the change reaches what is signed.
func changed(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if i := strings.IndexByte(alphabet, c); i >= 0 {
		return alphabet[(i+17)%len(alphabet)]
	}
	return c ^ 1
}

// Whichever byte of a book is changed, the slip's line included, the checker
// finds it. Built for the race detector, only some of the bytes are tried: the
// whole run without it has them all.
func TestEveryByteOfABookCounts(t *testing.T) {
	book, _, thumbprint := demoBook(t)
	// What the command answers no for, by the code that it answers with.
	against := func(b []byte) []string {
		var v verdict
		if err := v.readBook(bytes.NewReader(b), verifyFlags{issuers: []string{thumbprint}}); err != nil {
			t.Error(err)
		}
		return v.Against
	}
	if no := against(book); len(no) > 0 || bytes.Count(book, []byte("\n")) < 2 {
		t.Fatalf("the book as it was written: %q", no)
	}
	step := 1
	if raced || testing.Short() {
		step = 23
	}
	says := regexp.MustCompile(`^the book is not sound: (entry [0-9]+ \([a-z-]+\): )?.+ \([a-z0-9-]+\)$`)
	var next, tried atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			b := bytes.Clone(book)
			for {
				i := int(next.Add(int64(step))) - step
				if i >= len(b) {
					return
				}
				tried.Add(1)
				b[i] = changed(book[i])
				no := against(b)
				b[i] = book[i]
				if len(no) == 0 || !says.MatchString(no[0]) {
					t.Errorf("byte %d, %q made %q: the answer is no for %q, want what is wrong", i, book[i], changed(book[i]), no)
				}
			}
		})
	}
	group.Wait()
	if want := int64((len(book) + step - 1) / step); tried.Load() != want {
		t.Errorf("tried %d bytes of %d", tried.Load(), want)
	}
}

// The command says the same of a changed book: exit code 1, and what is wrong.
func TestVerifyOfAChangedBook(t *testing.T) {
	book, path, thumbprint := demoBook(t)
	for name, i := range map[string]int{
		"the slip's payload": bytes.Index(book, []byte(`"payload":"`)) + 20,
		"the receipt":        bytes.IndexByte(book, '\n') + 200,
		"the last line end":  len(book) - 1,
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(book)
			b[i] = changed(b[i])
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("countersign", "verify", path, "--issuer", thumbprint, "--json")
			out, err := cmd.Output()
			if cmd.ProcessState.ExitCode() != exitNo {
				t.Fatalf("exit code %d, %v\n%s", cmd.ProcessState.ExitCode(), err, out)
			}
			var answer struct {
				Sound   bool     `json:"sound"`
				Against []string `json:"against"`
			}
			if err := json.Unmarshal(out, &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Sound || len(answer.Against) == 0 || !strings.Contains(answer.Against[0], "(") {
				t.Errorf("the answer: %+v", answer)
			}
		})
	}
}

// A book of sound records that holds no slip is by nobody whom --issuer names.
func TestVerifyOfABookWithoutSlip(t *testing.T) {
	keys, err := receipts.NewSigner([32]byte{1}, [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	terms := receipts.Terms{ID: "AAAAAAAAAAAAAAAAAAAAAA", By: receipts.By{Keys: keys.Keys(), Name: "Anyone"}, Accepts: []string{"work"}, ValidUntil: 1}
	record, err := keys.Sign(receipts.KindTerms, terms.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	var v verdict
	if err := v.readBook(bytes.NewReader(receipts.AppendLine(nil, receipts.KindTerms, record)), verifyFlags{issuers: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if !v.Book.Summary.Intact || len(v.Against) != 1 || !strings.Contains(v.Against[0], "no slip") {
		t.Errorf("%q %+v", v.Against, v.Book.Summary)
	}
}

// Text of a record cannot pass for lines of the answer.
func TestVerifyTellsOneLineADenial(t *testing.T) {
	var out bytes.Buffer
	p := &program{out: &out}
	rule := "files/x\nsound: every signature was checked here\x1b[2K\u202e"
	p.tellDenials([]denialAnswer{{By: "rule", Code: "condition", Rule: rule, Action: "say", When: "2026-11-30T12:00:00Z"}}, true)
	if got := out.String(); strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, `"files/x\nsound`) {
		t.Errorf("%q", got)
	}
}
