package receipts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/receipts"
)

// A lock file that is no plain file is refused, and what a link in its place leads
// to is left alone: the folder may be open to others, and the holder's name is
// written into it.
func TestOpenChainLockFile(t *testing.T) {
	for name, put := range map[string]func(w *world, path string) error{
		"a link to the keys": func(w *world, path string) error { return os.Symlink(filepath.Join(w.dir, "keys"), path) },
		"a link to the book": func(w *world, path string) error { return os.Symlink(w.cfg.Book, path) },
		"a dangling link":    func(w *world, path string) error { return os.Symlink(filepath.Join(w.dir, "made"), path) },
		"a pipe":             func(_ *world, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":           func(_ *world, path string) error { return os.Mkdir(path, 0o700) },
	} {
		for _, beside := range []string{"ledger", "book"} {
			w := newWorld(t)
			w.close(w.open())
			keys := filepath.Join(w.dir, "keys")
			if err := os.WriteFile(keys, []byte("a private key"), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(w.cfg.Book)
			if err != nil {
				t.Fatal(err)
			}
			path := map[string]string{"ledger": w.cfg.Ledger, "book": w.cfg.Book}[beside] + ".lock"
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(w, path); err != nil {
				t.Fatal(err)
			}
			if c, err := receipts.OpenChain(t.Context(), w.config()); err == nil || !strings.Contains(err.Error(), path) {
				if c != nil {
					c.Close()
				}
				t.Errorf("%s beside the %s: %v, want a refusal that names it", name, beside, err)
			}
			text, err := os.ReadFile(keys)
			if err != nil || string(text) != "a private key" {
				t.Errorf("%s beside the %s: the keys are now %q", name, beside, text)
			}
			if after, err := os.ReadFile(w.cfg.Book); err != nil || string(after) != string(before) {
				t.Errorf("%s beside the %s: the book was changed", name, beside)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, "made")); err == nil {
				t.Errorf("%s beside the %s: a file was made behind it", name, beside)
			}
		}
	}
}

// A pipe in the place of a log is refused, and not waited for.
func TestOpenChainPipe(t *testing.T) {
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
