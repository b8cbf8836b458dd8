package receipts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/receipts"
)

// One guard alone writes to a ledger and a book, by whatever path it reaches them,
// and also where the lock file was taken away.
func TestChainHeldByFile(t *testing.T) {
	link := func(t *testing.T, how func(string, string) error, from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := how(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name  string
		other func(t *testing.T, w *world, cfg *receipts.ChainConfig)
		owner string
	}{
		{"ledger by a link", func(t *testing.T, w *world, cfg *receipts.ChainConfig) {
			cfg.Ledger, cfg.Book = filepath.Join(w.dir, "o", "ledger.jsonl"), filepath.Join(w.dir, "o", "book.jsonl")
			link(t, os.Symlink, w.cfg.Ledger, cfg.Ledger)
		}, "held by process "},
		{"book by a link", func(t *testing.T, w *world, cfg *receipts.ChainConfig) {
			cfg.Ledger, cfg.Book = filepath.Join(w.dir, "o", "ledger.jsonl"), filepath.Join(w.dir, "o", "book.jsonl")
			link(t, os.Symlink, w.cfg.Book, cfg.Book)
		}, "held by process "},
		{"book by a hard link", func(t *testing.T, w *world, cfg *receipts.ChainConfig) {
			cfg.Ledger, cfg.Book = filepath.Join(w.dir, "o", "ledger.jsonl"), filepath.Join(w.dir, "o", "book.jsonl")
			link(t, os.Link, w.cfg.Book, cfg.Book)
		}, "a process that left no name"},
		{"folder by a link", func(t *testing.T, w *world, cfg *receipts.ChainConfig) {
			cfg.Ledger = filepath.Join(w.dir, "o", "ledger.jsonl")
			link(t, os.Symlink, filepath.Dir(w.cfg.Ledger), filepath.Dir(cfg.Ledger))
		}, "held by process "},
		{"lock files removed", func(t *testing.T, w *world, cfg *receipts.ChainConfig) {
			for _, path := range []string{w.cfg.Ledger, w.cfg.Book} {
				if err := os.Remove(path + ".lock"); err != nil {
					t.Fatal(err)
				}
			}
		}, "a process that left no name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			c := w.open()
			cfg := w.config()
			row.other(t, w, &cfg)
			second, err := receipts.OpenChain(t.Context(), cfg)
			var held *receipts.HeldError
			if !errors.As(err, &held) || !strings.Contains(err.Error(), row.owner) {
				if second != nil {
					second.Close()
				}
				t.Fatalf("%v, want a HeldError that says %q", err, row.owner)
			}
			// The first goes on, and once it ends its records are free.
			do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
			w.close(c)
			w.close(w.open())
			w.whole()
		})
	}
}
