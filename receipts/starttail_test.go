package receipts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/receipts"
)

// An older ledger beside a book or denials whose end was cut: the end is taken for
// no power cut's, however little is missing of it, and nothing is changed.
func TestStartTornEndUnawaited(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	one := func() {
		do(t, c, testCall(t, "files.write", `{"path":"/a"}`), answer(`{}`))
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
		if err := c.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	one()
	running := w.killed()
	w.close(c)
	closed := w.killed() // with a mark
	c = w.open()
	flight := copied(t, c, testCall(t, "files.write", `{"path":"/b"}`))
	out := w.killed() // a call is out
	if _, err := flight.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	finished := w.killed()
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	one()
	w.close(c)

	older := map[string]*world{"killed": running, "closed": closed, "a call out": out, "a receipt awaited": finished}
	withoutLast := func(n int) func(string) string { // lines kept besides the cut one
		return func(s string) string { return strings.Join(strings.SplitAfter(s, "\n")[:n], "") }
	}
	for _, row := range []struct {
		name, ledger, file string
		change             func(string) string
		want               string
	}{
		{"line end missing", "killed", bookFile, func(s string) string { return cutBytes(1)(withoutLast(3)(s)) }, "older than the book"},
		{"line end missing after a close", "closed", bookFile, func(s string) string { return cutBytes(1)(withoutLast(3)(s)) }, "older than the book"},
		{"half the receipt missing", "closed", bookFile, func(s string) string { return cutBytes(5000)(withoutLast(3)(s)) }, "older than the book"},
		{"one byte of the receipt", "closed", bookFile, func(s string) string { return withoutLast(2)(s) + "{" }, "older than the book"},
		{"beginning of the receipt zeroed", "closed", bookFile, func(s string) string {
			return withoutLast(2)(s) + strings.Repeat("\x00", 512) + strings.Split(s, "\n")[2][512:] + "\n"
		}, "older than the book"},
		{"a call out, line end missing", "a call out", bookFile, func(s string) string { return cutBytes(1)(withoutLast(3)(s)) }, "older than the book"},
		{"a receipt awaited, another's line end missing", "a receipt awaited", bookFile, func(s string) string {
			return withoutLast(2)(s) + strings.TrimSuffix(strings.SplitAfter(s, "\n")[3], "\n")
		}, "older than the book"},
		{"a receipt awaited, another's end missing", "a receipt awaited", bookFile, func(s string) string {
			return withoutLast(2)(s) + cutBytes(3)(strings.SplitAfter(s, "\n")[3])
		}, "older than the book"},
		{"a fragment", "closed", bookFile, func(s string) string { return withoutLast(2)(s) + `{"stub":` }, "older than the book"},
		{"denial's line end missing", "killed", denialsFile, func(s string) string { return cutBytes(1)(withoutLast(2)(s)) }, "older than the denials"},
		{"denial's line end missing after a close", "closed", denialsFile, func(s string) string { return cutBytes(1)(withoutLast(2)(s)) }, "older than the denials"},
		{"half a denial", "closed", denialsFile, func(s string) string { return cutBytes(900)(withoutLast(2)(s)) }, "older than the denials"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := older[row.ledger].killed()
			newest, err := os.ReadFile(filepath.Join(w.dir, row.file))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(k.dir, row.file)
			if err := os.WriteFile(path, []byte(row.change(string(newest))), 0o600); err != nil {
				t.Fatal(err)
			}
			k.stops(t, row.want)
		})
	}
	t.Run("zeros alone", func(t *testing.T) {
		k := closed.killed()
		edit(t, k.cfg.Book, appendText("\x00\x00\x00"))
		edit(t, k.cfg.Book+".denials.jsonl", appendText("\x00\x00\x00"))
		k.close(k.open())
		k.whole()
	})
}

// What a power cut leaves of the first slip's line is mended, though the ledger
// does not announce it.
func TestStartTornSlip(t *testing.T) {
	w := newWorld(t)
	line := receipts.AppendLine(nil, receipts.KindSlip, w.cfg.Slip)
	for name, left := range map[string]string{
		"one byte":  "{",
		"half":      string(line[:len(line)/2]),
		"no end":    string(line),
		"beginning": strings.Repeat("\x00", 512) + string(line[512:]) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			k := w.killed()
			if err := os.WriteFile(k.cfg.Book, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			k.close(k.open())
			k.whole()
		})
	}
}

// stops fails the test unless the start stops with these words and changes nothing.
func (w *world) stops(t *testing.T, want string) {
	t.Helper()
	before := w.snapshot()
	c, err := receipts.OpenChain(t.Context(), w.config())
	var stop *receipts.StartError
	if !errors.As(err, &stop) || !strings.Contains(err.Error(), want) {
		if c != nil {
			c.Close()
		}
		t.Fatalf("%v, want a StartError that says %q", err, want)
	}
	for path, text := range w.snapshot() {
		if before[path] != text {
			t.Errorf("%s was changed", path)
		}
	}
}
