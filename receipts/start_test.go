package receipts_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/receipts"
)

// killed gives a world whose files are as a guard killed at this moment leaves
// them.
func (w *world) killed() *world {
	w.t.Helper()
	k := *w
	k.dir = w.t.TempDir()
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.dir, path)
		if err != nil || rel == "." {
			return err
		}
		to := filepath.Join(k.dir, rel)
		if d.IsDir() {
			return os.Mkdir(to, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	move := func(path string) string {
		rel, err := filepath.Rel(w.dir, path)
		if err != nil {
			w.t.Fatal(err)
		}
		return filepath.Join(k.dir, rel)
	}
	k.cfg.Ledger, k.cfg.Book = move(w.cfg.Ledger), move(w.cfg.Book)
	return &k
}

// copied takes a call as far as its copy.
func copied(t testing.TB, c *receipts.Chain, call receipts.Call) *receipts.InFlight {
	t.Helper()
	turn, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a := turn.Check(call.Proposal); !a.Allowed {
		t.Fatal(a)
	}
	f, err := turn.Copy(call)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func edit(t testing.TB, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := change(string(text))
	if to == string(text) {
		t.Fatal("the edit changes nothing")
	}
	if err := os.WriteFile(path, []byte(to), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dropLine takes the nth line (0 for the first, -1 for the last) out.
func dropLine(n int) func(string) string {
	return func(s string) string {
		lines := strings.SplitAfter(strings.TrimRight(s, "\x00"), "\n")
		lines = lines[:len(lines)-1]
		if n < 0 {
			n += len(lines)
		}
		return strings.Join(append(lines[:n:n], lines[n+1:]...), "")
	}
}

func appendText(more string) func(string) string { return func(s string) string { return s + more } }
func cutBytes(n int) func(string) string         { return func(s string) string { return s[:len(s)-n] } }
func swap(old, to string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, to, 1) }
}

// A start that finds an open call, or a book unlike the ledger, stops and says so,
// and changes nothing.
func TestStartStops(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{"path":"/a"}`), answer(`{}`))
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	do(t, c, testCall(t, "files.read", `{"path":"/b"}`), answer(`{}`))
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	w.close(c)
	// open call outcome refused call outcome refused; slip stub stub; denial denial
	ledger, book, denials := "state/ledger.jsonl", "book.jsonl", "book.jsonl.denials.jsonl"
	for _, row := range []struct {
		name, file string
		change     func(string) string
		want       []string
	}{
		{"last receipt missing", book, dropLine(-1), []string{"book.jsonl", "lacks the last 1 of the 2 receipts"}},
		{"first receipt missing", book, dropLine(1), []string{"book.jsonl:2: chain-broken"}},
		{"book emptied", book, func(string) string { return "" }, []string{"lacks the last 2 of the 2 receipts"}},
		{"half a receipt", book, cutBytes(100), []string{"book.jsonl:3: the last line is not whole"}},
		{"book's line end missing", book, cutBytes(1), []string{"book.jsonl:3: the last line is not whole"}},
		{"zeros behind the book", book, appendText("\x00\x00"), []string{"book.jsonl:4: the last line is not whole"}},
		{"a fragment behind the book", book, appendText(`{"stub":`), []string{"book.jsonl:4: the last line is not whole"}},
		{"slip gone from the book", book, dropLine(0), []string{"book.jsonl:1: slip-missing"}},
		{"signature altered", book, func(s string) string { return s[:len(s)-30] + flip(s[len(s)-30]) + s[len(s)-29:] }, []string{"book.jsonl:3:", "not sound"}},
		{"ledger older by a call", ledger, func(s string) string { return dropLine(-1)(dropLine(-1)(dropLine(-1)(s))) }, []string{"book.jsonl:3: the book holds a receipt", "older than the book"}},
		{"ledger emptied", ledger, func(string) string { return "" }, []string{"book.jsonl:2: the book holds a receipt"}},
		{"ledger line removed", ledger, dropLine(2), []string{"ledger.jsonl:3: it has number 3 where 2 must follow"}},
		{"ledger line altered", ledger, swap(`"tool":"tool"`, `"tool":"tooo"`), []string{"ledger.jsonl:2: its signature does not fit"}},
		{"ledger line broken", ledger, swap(`"tool":"tool"`, `"tool":tool`), []string{"ledger.jsonl:2: the line is not JSON"}},
		{"zeros inside the ledger", ledger, swap(`"tool":"tool"`, "\x00\x00\x00\x00"), []string{"ledger.jsonl:2: this line is not whole, and sound lines follow it"}},
		{"last ledger line broken", ledger, func(s string) string { return s[:len(s)-20] + " " + s[len(s)-19:] }, []string{"ledger.jsonl:7:"}},
		{"last denial missing", denials, dropLine(-1), []string{"denials.jsonl:2: 1 denials"}},
		{"first denial missing", denials, dropLine(0), []string{"denials.jsonl:1: this denial is not the one that", "ledger.jsonl:4"}},
		{"denials emptied", denials, func(string) string { return "" }, []string{"denials.jsonl:1: 2 denials"}},
		{"a denial too many", denials, func(s string) string { return s + s[strings.Index(s, "\n")+1:] }, []string{"denials.jsonl:3: the ledger", "knows nothing of this denial"}},
		{"no denial", denials, func(s string) string { return s + "{}\n" }, []string{"denials.jsonl:3:"}},
		{"half a denial", denials, cutBytes(100), []string{"denials.jsonl:2: 1 denials"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := w.killed()
			edit(t, filepath.Join(k.dir, row.file), row.change)
			before := k.snapshot()
			c, err := receipts.OpenChain(t.Context(), k.config())
			var stop *receipts.StartError
			if !errors.As(err, &stop) {
				if c != nil {
					c.Close()
				}
				t.Fatalf("%v, want a StartError", err)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
			for path, text := range k.snapshot() {
				if before[path] != text {
					t.Errorf("%s was changed", path)
				}
			}
			// The locks are free again, so a mended start is possible.
			if _, err := receipts.OpenChain(t.Context(), k.config()); !errors.As(err, &stop) {
				t.Errorf("again: %v", err)
			}
		})
	}
	t.Run("open call", func(t *testing.T) {
		c := w.open()
		f := copied(t, c, testCall(t, "files.read", `{}`))
		k := w.killed()
		if _, err := f.Finish(answer(`{}`)); err != nil {
			t.Fatal(err)
		}
		w.close(c)
		_, err := receipts.OpenChain(t.Context(), k.config())
		var stop *receipts.StartError
		if !errors.As(err, &stop) || !strings.Contains(err.Error(), "ledger.jsonl:9: the call of this line has no outcome") {
			t.Fatalf("%v", err)
		}
	})
	t.Run("another ledger key", func(t *testing.T) {
		k := w.killed()
		k.cfg.LedgerKey = receipts.NewLedgerKey([32]byte{99})
		_, err := receipts.OpenChain(t.Context(), k.config())
		if err == nil || !strings.Contains(err.Error(), "ledger.jsonl:1: its signature does not fit the ledger's key") {
			t.Fatalf("%v", err)
		}
	})
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// snapshot is the content of all the world's files but the lock files.
func (w *world) snapshot() map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// A guard that is killed leaves room for lines behind the last one; the next
// start says so in the ledger and goes on.
func TestStartAfterKill(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	if err := c.Sync(); err != nil {
		t.Fatal(err)
	}
	k := w.killed()
	c = k.open()
	r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	if code != "" || r.Seq != 1 {
		t.Fatalf("%+v %s", r, code)
	}
	k.close(c)
	k.sound()
	text, _ := os.ReadFile(k.cfg.Ledger)
	rep := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: k.cfg.LedgerKey.Public()})
	if !rep.Sound() || len(rep.Recovered) != 1 || rep.Recovered[0] != 4 {
		t.Fatalf("%s", rep.Summary())
	}
}

// LEDG-01: the last line is cut short.
func TestLEDG01(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	w.close(c)
	whole, _ := os.ReadFile(w.cfg.Ledger) // open, call, outcome
	lines := strings.SplitAfter(string(whole), "\n")
	key := w.cfg.LedgerKey.Public()
	for _, row := range []struct {
		name    string
		change  func(string) string
		stops   string // why the start stops instead
		cut     string // what the notice is about
		records int64  // whole ones before the notice
	}{
		{name: "1 newline missing", change: cutBytes(1), cut: "", records: 3},
		{name: "2 record cut", change: cutBytes(20), stops: "older than the book"}, // it was an outcome, and its receipt is in the book
		{name: "3 fragment", change: appendText(`{"seq":3,"pre`), cut: `{"seq":3,"pre`, records: 3},
		{name: "4 zeros", change: appendText("\x00\x00\x00\x00\x00\x00\x00\x00"), cut: "\x00\x00\x00\x00\x00\x00\x00\x00", records: 3},
		{name: "fragment and zeros", change: appendText("{\"a\x00\x00"), cut: "{\"a\x00\x00", records: 3},
		{name: "hole in a line", change: appendText("{\"a\":\x00\x00\x00}\n"), cut: "{\"a\":\x00\x00\x00}\n", records: 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := w.killed()
			edit(t, k.cfg.Ledger, row.change)
			c, err := receipts.OpenChain(t.Context(), k.config())
			if row.stops != "" {
				if err == nil || !strings.Contains(err.Error(), row.stops) {
					t.Fatalf("%v, want %q", err, row.stops)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
			k.close(c)
			text, _ := os.ReadFile(k.cfg.Ledger)
			if !strings.HasPrefix(string(text), strings.Join(lines, "")) {
				t.Fatal("the whole records before are not as they were")
			}
			rep := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: key})
			if !rep.Sound() || len(rep.Recovered) != 1 || rep.Recovered[0] != row.records+1 || !strings.Contains(rep.Summary(), "recovered tail at record 4") {
				t.Fatalf("%s", rep.Summary())
			}
			l, err := receipts.ReadLine([]byte(k.lines(k.cfg.Ledger)[row.records]))
			if err != nil {
				t.Fatal(err)
			}
			n := l.Body.(*receipts.NoticeLine)
			if n.File != "ledger" || n.Bytes != int64(len(row.cut)) || n.SHA256 != receipts.Fingerprint([]byte(row.cut)) {
				t.Fatalf("notice %+v, want %d bytes", n, len(row.cut))
			}
			k.sound()
		})
	}
}

// SLIP-01 a: the slip allows an action three times; across restarts too.
func TestSLIP01a(t *testing.T) {
	w := newWorld(t, func(s *receipts.Slip) { s.Limits[0].Bound = 1 })
	c := w.open()
	if _, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != "" {
		t.Fatal(code)
	}
	if _, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != receipts.CodeOverCountLimit {
		t.Fatalf("a second time: %q", code)
	}
	w.close(c)
	c = w.open()
	if _, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != receipts.CodeOverCountLimit {
		t.Fatalf("after a restart: %q", code)
	}
}

// SLIP-01 b: a guard killed right after the answer has counted the call.
func TestSLIP01b(t *testing.T) {
	w := newWorld(t, func(s *receipts.Slip) { s.Limits[0].Bound = 1 })
	c := w.open()
	do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
	k := w.killed()
	c = k.open()
	if _, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != receipts.CodeOverCountLimit {
		t.Fatalf("after the kill: %q", code)
	}
}

// SLIP-01 c: of two guards on one state, and of two calls at once, one is let
// through.
func TestSLIP01c(t *testing.T) {
	w := newWorld(t, func(s *receipts.Slip) { s.Limits[0].Bound = 1 })
	start := make(chan struct{})
	type opened struct {
		c   *receipts.Chain
		err error
	}
	results := make(chan opened)
	for range 2 {
		go func() {
			<-start
			c, err := receipts.OpenChain(t.Context(), w.config())
			results <- opened{c, err}
		}()
	}
	close(start)
	a, b := <-results, <-results
	if a.err != nil {
		a, b = b, a
	}
	var held *receipts.HeldError
	if a.err != nil || !errors.As(b.err, &held) {
		t.Fatalf("two guards: %v, %v", a.err, b.err)
	}
	defer a.c.Close()
	codes := make(chan receipts.Code)
	for range 2 {
		go func() {
			_, code := do(t, a.c, testCall(t, "files.write", `{}`), answer(`{}`))
			codes <- code
		}()
	}
	if x, y := <-codes, <-codes; x+y != receipts.CodeOverCountLimit {
		t.Fatalf("two calls at once: %q, %q, want one of them let through", x, y)
	}
}

// SLIP-01 d: used is used, also when the server answered with an error.
func TestSLIP01d(t *testing.T) {
	w := newWorld(t, func(s *receipts.Slip) { s.Limits[0].Bound = 1 })
	c := w.open()
	bad := []byte(`{"error":{"code":-32000,"message":"no"}}`)
	do(t, c, testCall(t, "files.write", `{}`), receipts.Outcome{Detail: receipts.Detail{Name: "provared.tool-result", SHA256: receipts.Fingerprint(bad)}, Result: bad})
	if _, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != receipts.CodeOverCountLimit {
		t.Fatalf("after an error: %q", code)
	}
}

// SLIP-01 e: a slip that differs only in the spelling of its base64 is refused.
func TestSLIP01e(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	w.close(c)
	record := string(w.cfg.Slip)
	i := strings.LastIndex(record, `"}]}`) - 1 // last character of the signature: 86 characters, 4 bits of it unused
	for name, other := range map[string]string{
		"unused bits": record[:i] + map[string]string{"A": "B", "Q": "R", "g": "h", "w": "x"}[record[i:i+1]] + record[i+1:],
		"padding":     record[:i+1] + "==" + record[i+1:],
		"line end":    record[:i] + `\n` + record[i:],
		"space":       record[:i+1] + " " + record[i+1:],
		"white space": " " + record,
	} {
		cfg := w.config()
		cfg.Slip = []byte(other)
		if other == record {
			t.Fatalf("%s: nothing changed", name)
		}
		if c, err := receipts.OpenChain(t.Context(), cfg); err == nil {
			c.Close()
			t.Errorf("%s: the start takes it", name)
		}
	}
}
