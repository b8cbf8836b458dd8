package receipts_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/receipts"
)

// What is no plain file is refused, without waiting for the other end of a pipe.
func TestOpenPlain(t *testing.T) {
	dir := t.TempDir()
	plain, pipe, link := filepath.Join(dir, "plain"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, os.DevNull} {
		if f, err := receipts.OpenPlain(path); err == nil || !strings.Contains(err.Error(), "not a plain file") {
			if f != nil {
				f.Close()
			}
			t.Errorf("%s: %v, want a refusal", path, err)
		}
	}
	for _, path := range []string{plain, link} {
		f, err := receipts.OpenPlain(path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		f.Close()
	}
	// The store refuses one in the place of a log, and of a cancellation.
	for _, name := range []string{"ledger", "book", "denials"} {
		w := newWorld(t)
		path := map[string]string{"ledger": w.cfg.Ledger, "book": w.cfg.Book, "denials": w.cfg.Book + ".denials.jsonl"}[name]
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := receipts.OpenChain(t.Context(), w.config()); err == nil || !strings.Contains(err.Error(), "not a plain file") {
			if c != nil {
				c.Close()
			}
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}
