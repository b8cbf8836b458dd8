package receipts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/receipts"
)

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
