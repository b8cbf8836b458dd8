package receipts_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// twoOfEach is a guard with a receipt, a denial, a receipt and a denial: ledger
// lines open, call, outcome, refused, call, outcome, refused; a book of a slip and
// two stubs; two denials.
func twoOfEach(t testing.TB) (*world, *receipts.Chain) {
	w := newWorld(t)
	c := w.open()
	for range 2 {
		do(t, c, testCall(t, "files.read", `{"path":"/a"}`), answer(`{}`))
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	}
	return w, c
}

const (
	ledgerFile  = "state/ledger.jsonl"
	bookFile    = "book.jsonl"
	denialsFile = "book.jsonl.denials.jsonl"
)

// withoutZeros edits a ledger that has room behind its lines.
func withoutZeros(change func(string) string) func(string) string {
	return func(s string) string { return change(strings.TrimRight(s, "\x00")) }
}

func breakSignature(s string) string { return s[:len(s)-30] + flip(s[len(s)-30]) + s[len(s)-29:] }

// What a power cut cannot have done stops the start, which says what is wrong and
// changes nothing.
func TestStartStops(t *testing.T) {
	w, c := twoOfEach(t)
	if err := c.Sync(); err != nil {
		t.Fatal(err)
	}
	killed := w.killed() // since the last mark
	w.close(c)
	marked := w.killed() // a mark covers all
	for _, row := range []struct {
		name   string
		from   *world
		file   string
		change func(string) string
		want   []string
	}{
		{"last receipt missing", marked, bookFile, dropLine(-1), []string{"book.jsonl: it holds 2 lines, and 3 were durable"}},
		{"first receipt missing", marked, bookFile, dropLine(1), []string{"book.jsonl:2: chain-broken"}},
		{"book emptied", marked, bookFile, func(string) string { return "" }, []string{"book.jsonl: it holds 0 lines, and 3 were durable"}},
		{"half a receipt", marked, bookFile, cutBytes(100), []string{"book.jsonl:3: this line is not whole, and it was"}},
		{"book's line end missing", marked, bookFile, cutBytes(1), []string{"book.jsonl:3: this line is not whole, and it was"}},
		{"zeros inside the book", marked, bookFile, swap(`"payload"`, "\x00\x00\x00"), []string{"book.jsonl:1: this line is not whole, and it was"}},
		{"slip gone from the book", marked, bookFile, dropLine(0), []string{"book.jsonl:1: slip-missing"}},
		{"signature altered before a mark", marked, bookFile, breakSignature, []string{"book.jsonl: its first 3 lines are not those that the last mark"}},
		{"receipt twice", marked, bookFile, func(s string) string { return s + s[strings.LastIndex(s[:len(s)-1], "\n")+1:] }, []string{"book.jsonl:4: duplicate-id"}},
		{"ledger before its mark", marked, ledgerFile, dropLine(-1), nil}, // nothing is lost: as if killed
		{"ledger older by a call", marked, ledgerFile, func(s string) string {
			for range 4 {
				s = dropLine(-1)(s)
			}
			return s
		}, []string{"book.jsonl:3: the book holds a receipt", "older than the book"}},
		{"ledger emptied", marked, ledgerFile, func(string) string { return "" }, []string{"book.jsonl:2: the book holds a receipt"}},
		{"last ledger line broken", marked, ledgerFile, func(s string) string { return s[:len(s)-20] + " " + s[len(s)-19:] }, []string{"ledger.jsonl:8:"}},
		{"last denial missing", marked, denialsFile, dropLine(-1), []string{"denials.jsonl: it holds", "denials were cut off"}},
		{"last denial altered", marked, denialsFile, breakSignature, []string{"denials.jsonl:2: this is not the line that the last mark"}},
		{"a denial too many", marked, denialsFile, func(s string) string { return s + s[strings.Index(s, "\n")+1:] }, []string{"denials.jsonl:3: the ledger", "knows nothing of this denial"}},
		{"no denial", marked, denialsFile, func(s string) string { return s + "{}\n" }, []string{"denials.jsonl:3:"}},

		{"signature altered", killed, bookFile, breakSignature, []string{"book.jsonl:3: signature-invalid"}},
		{"first denial missing", killed, denialsFile, dropLine(0), []string{"denials.jsonl:1: this denial is not the one that", "ledger.jsonl:4"}},
		{"ledger line removed", killed, ledgerFile, dropLine(2), []string{"ledger.jsonl:3: it has number 3 where 2 must follow"}},
		{"ledger line altered", killed, ledgerFile, swap(`"tool":"tool"`, `"tool":"tooo"`), []string{"ledger.jsonl:2: its signature does not fit"}},
		{"ledger line broken", killed, ledgerFile, swap(`"tool":"tool"`, `"tool":tool`), []string{"ledger.jsonl:2: the line is not JSON"}},
		{"zeros inside the ledger", killed, ledgerFile, swap(`"tool":"tool"`, "\x00\x00\x00\x00"), []string{"ledger.jsonl:2: this line is not whole, and sound lines follow it"}},
		{"ledger and book cut", killed, ledgerFile, withoutZeros(func(s string) string { return dropLine(-1)(dropLine(-1)(s)) }), []string{"book.jsonl:3: the book holds a receipt"}},
		{"unknown receipt behind a torn line", killed, bookFile, func(s string) string {
			l := strings.SplitAfter(s, "\n")
			return l[0] + l[1][:100] + "\x00" + l[1][101:] + strings.Replace(l[2], `"stub":{"payload":"ey`, `"stub":{"payload":"fy`, 1)
		}, []string{"book.jsonl:2: this line is not whole, and a receipt that the ledger"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := row.from.killed()
			edit(t, filepath.Join(k.dir, row.file), row.change)
			before := k.snapshot()
			c, err := receipts.OpenChain(t.Context(), k.config())
			if row.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				k.close(c)
				return
			}
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
	t.Run("another ledger key", func(t *testing.T) {
		k := w.killed()
		k.cfg.LedgerKey = receipts.NewLedgerKey([32]byte{99})
		_, err := receipts.OpenChain(t.Context(), k.config())
		if err == nil || !strings.Contains(err.Error(), "ledger.jsonl:1: its signature does not fit the ledger's key") {
			t.Fatalf("%v", err)
		}
	})
}

// What a power cut can have done is mended, with notices; the records made again
// are the same bytes as ever.
func TestStartRecovers(t *testing.T) {
	w, c := twoOfEach(t)
	if err := c.Sync(); err != nil {
		t.Fatal(err)
	}
	killed := w.killed()
	w.close(c)
	book, denials := w.lines(w.cfg.Book), w.lines(w.cfg.Book+".denials.jsonl")
	hole := func(n int) func(string) string { // in the middle of line n
		return func(s string) string {
			l := strings.SplitAfter(s, "\n")
			l[n] = l[n][:50] + strings.Repeat("\x00", 512) + l[n][562:]
			return strings.Join(l, "")
		}
	}
	for _, row := range []struct {
		name, file string
		change     func(string) string
		tail       string // the file a recovered tail is noted of besides the ledger
		text       string // of the recovered notice
	}{
		{"last receipt missing", bookFile, dropLine(-1), "", "1 receipts and 0 denials"},
		{"both receipts missing", bookFile, func(s string) string { return dropLine(-1)(dropLine(-1)(s)) }, "", "2 receipts and 0 denials"},
		{"half a receipt", bookFile, cutBytes(100), "book", "1 receipts"},
		{"book's line end missing", bookFile, cutBytes(1), "book", "1 receipts"},
		{"zeros behind the book", bookFile, appendText("\x00\x00"), "book", ""},
		{"a fragment of the missing receipt", bookFile, func(s string) string { return dropLine(-1)(s) + `{"stub":` }, "book", "1 receipts"},
		{"hole in the last receipt", bookFile, hole(2), "book", "1 receipts"},
		{"hole in the first receipt", bookFile, hole(1), "book", "2 receipts"},
		{"hole of the whole first receipt", bookFile, func(s string) string {
			l := strings.SplitAfter(s, "\n")
			return l[0] + strings.Repeat("\x00", len(l[1])) + l[2]
		}, "book", "2 receipts"},
		{"last denial missing", denialsFile, dropLine(-1), "", "0 receipts and 1 denials"},
		{"denials emptied", denialsFile, func(string) string { return "" }, "", "2 denials"},
		{"half a denial", denialsFile, cutBytes(100), "denials", "1 denials"},
		{"hole in the first denial", denialsFile, hole(0), "denials", "2 denials"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := killed.killed()
			edit(t, filepath.Join(k.dir, row.file), row.change)
			c := k.open()
			tails, text := k.notices()
			want := []string{"ledger"} // zeros: it was killed
			if row.tail != "" {
				want = append(want, row.tail)
			}
			if !slices.Equal(tails, want) || !strings.Contains(text, row.text) || (text == "") != (row.text == "") {
				t.Errorf("notices of %v and %q, want %v and %q", tails, text, want, row.text)
			}
			if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != 2 {
				t.Fatalf("the next call: %+v %s", r, code)
			}
			k.close(c)
			if got := k.lines(k.cfg.Book); !slices.Equal(got[:3], book) {
				t.Error("the book is not what it was")
			}
			if got := k.lines(k.cfg.Book + ".denials.jsonl"); !slices.Equal(got, denials) {
				t.Error("the denials are not what they were")
			}
			k.whole()
			// A second start has nothing to recover.
			before, _ := k.notices()
			k.close(k.open())
			if after, _ := k.notices(); len(after) != len(before) {
				t.Error("the next start recovered again")
			}
		})
	}
}

// whole checks all three files and that they agree.
func (w *world) whole() {
	w.t.Helper()
	w.sound()
	w.clean()
	text, err := os.ReadFile(w.cfg.Ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	if r := verifyLedger(w.t, text, receipts.LedgerOptions{PublicKey: w.cfg.LedgerKey.Public()}); !r.Sound() || r.OpenCall > 0 {
		w.t.Fatalf("ledger: %s", r.Summary())
	}
}

// notices gives the files that recovered tails are noted of, and the text of the
// last notice of what was recovered.
func (w *world) notices() (tails []string, text string) {
	w.t.Helper()
	for _, line := range w.lines(w.cfg.Ledger) {
		l, err := receipts.ReadLine([]byte(line))
		if err != nil {
			w.t.Fatal(err)
		}
		if n, ok := l.Body.(*receipts.NoticeLine); ok {
			switch n.What {
			case "recovered-tail":
				tails = append(tails, n.File)
			case "recovered":
				text = n.Text
			}
		}
	}
	return tails, text
}

// A call that was out when the guard ended is finished: its outcome is not known,
// its receipt dated T0.
func TestStartOpenCall(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	k := w.killed()
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	k.clock = &testClock{now: worldStart.Add(time.Hour)}
	k.cfg.Clock = k.clock.Now
	c = k.open()
	if _, text := k.notices(); !strings.Contains(text, "finished as crashed") {
		t.Errorf("notice %q", text)
	}
	r := k.sound()
	last := r.Entries[len(r.Entries)-1]
	stub := last.Content.(*receipts.Stub)
	crashed := receipts.Detail{Name: "countersign.outcome-not-known", SHA256: receipts.Fingerprint([]byte("crashed"))}
	if stub.Action != "files.write" || stub.When != receipts.TimeOf(worldStart) || stub.Details[len(stub.Details)-1] != crashed || last.Countersignature != receipts.StateValid {
		t.Fatalf("receipt %+v", stub)
	}
	if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != 3 {
		t.Fatalf("the next call: %+v %s", r, code)
	}
	k.close(c)
	k.whole()
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
	k.whole()
}

// LEDG-01: the last line is cut short.
func TestLEDG01(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	f := copied(t, c, testCall(t, "files.read", `{}`))
	inFlight := w.killed() // open, call, outcome, call
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	w.close(c) // open, call, outcome, call, outcome, mark
	zeroes := strings.Repeat("\x00", 8)
	for _, row := range []struct {
		name    string
		from    *world
		change  func(string) string
		records int64 // whole ones that stay
		cut     func(was string) string
		crashed bool
	}{
		{"1 newline missing", w, cutBytes(1), 6, func(string) string { return "" }, false},
		{"2 record cut", w, cutBytes(20), 5, func(s string) string { return s }, false},
		{"2 record of a forwarded call's outcome cut", inFlight, withoutZeros(func(s string) string { return s + `{"at":"2026` }), 4, func(s string) string { return s }, true},
		{"3 fragment", w, appendText(`{"seq":6,"pre`), 6, func(s string) string { return s }, false},
		{"4 zeros", w, appendText(zeroes), 6, func(s string) string { return s }, false},
		{"fragment and zeros", w, appendText("{\"a\x00\x00"), 6, func(s string) string { return s }, false},
		{"hole in a line", w, appendText("{\"a\":\x00\x00\x00}\n"), 6, func(s string) string { return s }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := row.from.killed()
			edit(t, k.cfg.Ledger, row.change)
			damaged, _ := os.ReadFile(k.cfg.Ledger)
			lines := strings.SplitAfter(string(damaged), "\n")
			kept := strings.TrimSuffix(strings.Join(lines[:row.records], ""), "\n")
			cut := row.cut(strings.TrimPrefix(string(damaged), kept+"\n"))
			c := k.open()
			do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
			k.close(c)
			text, _ := os.ReadFile(k.cfg.Ledger)
			if !strings.HasPrefix(string(text), kept+"\n") {
				t.Fatal("the whole records before are not as they were")
			}
			rep := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: w.cfg.LedgerKey.Public()})
			if !rep.Sound() || len(rep.Recovered) != 1 || rep.Recovered[0] != row.records+1 || !strings.Contains(rep.Summary(), fmt.Sprintf("recovered tail at record %d", row.records+1)) {
				t.Fatalf("%s", rep.Summary())
			}
			l, err := receipts.ReadLine([]byte(k.lines(k.cfg.Ledger)[row.records]))
			if err != nil {
				t.Fatal(err)
			}
			n := l.Body.(*receipts.NoticeLine)
			if n.File != "ledger" || n.Bytes != int64(len(cut)) || n.SHA256 != receipts.Fingerprint([]byte(cut)) {
				t.Fatalf("notice %+v, want %d bytes", n, len(cut))
			}
			if _, text := k.notices(); strings.Contains(text, "crashed") != row.crashed {
				t.Errorf("recovered: %q", text)
			}
			k.whole()
		})
	}
	// An outcome that was durable, and whose receipt stands in the book, was not
	// cut by a power cut.
	k := w.killed()
	edit(t, k.cfg.Ledger, func(s string) string { return cutBytes(20)(dropLine(-1)(s)) })
	if _, err := receipts.OpenChain(t.Context(), k.config()); err == nil || !strings.Contains(err.Error(), "older than the book") {
		t.Fatalf("%v", err)
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
