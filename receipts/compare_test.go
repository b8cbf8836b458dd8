package receipts_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/receipts"
)

func (w *world) compare() receipts.CompareReport {
	w.t.Helper()
	open := func(path string) *os.File {
		f, err := os.Open(path)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { f.Close() })
		return f
	}
	r, err := receipts.Compare(receipts.CompareInput{Book: open(w.cfg.Book), Denials: open(w.cfg.Book + ".denials.jsonl"), Ledger: open(w.cfg.Ledger), PublicKey: w.cfg.LedgerKey.Public()})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// anew alters the last record of a file, and signs it with the agent's own keys.
func (w *world) anew(kind receipts.Kind) func(string) string {
	return func(s string) string {
		head := `"` + string(kind) + `":`
		at := strings.LastIndex(s, head) + len(head)
		_, rest, _ := strings.Cut(s[at:], `"payload":"`)
		text, _, _ := strings.Cut(rest, `"`)
		payload, err := b64.DecodeString(text)
		if err != nil {
			w.t.Fatal(err)
		}
		altered := strings.Replace(string(payload), `"when":"2026-11-30T12:00:00Z"`, `"when":"2026-11-30T12:00:01Z"`, 1)
		if altered == string(payload) {
			w.t.Fatal("nothing was altered")
		}
		record, err := w.cfg.Agent.Sign(kind, []byte(altered))
		if err != nil {
			w.t.Fatal(err)
		}
		return s[:at] + string(record) + "}\n"
	}
}

func TestCompare(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	for range 2 {
		do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	}
	w.close(c)
	if r := w.clean(); r.Receipts != 2 || r.Denials != 2 {
		t.Fatalf("%+v", r)
	}
	swapLast := func(s string) string {
		l := strings.SplitAfter(s, "\n")
		n := len(l) - 1
		l[n-1], l[n-2] = l[n-2], l[n-1]
		return strings.Join(l, "")
	}
	twice := func(s string) string {
		l := strings.SplitAfter(s, "\n")
		return s + l[len(l)-2]
	}
	signature := func(s string) string { return s[:len(s)-30] + flip(s[len(s)-30]) + s[len(s)-29:] }
	book, denials, ledger := "book.jsonl", "book.jsonl.denials.jsonl", "state/ledger.jsonl"
	for _, row := range []struct {
		name, file string
		change     func(string) string
		differ     []string
		unsound    string
	}{
		{name: "receipt missing", file: book, change: dropLine(1), differ: []string{"missing stub 3 0"}},
		{name: "last receipt missing", file: book, change: dropLine(-1), differ: []string{"missing stub 6 0"}},
		{name: "receipt twice", file: book, change: twice, differ: []string{"extra stub 0 4"}},
		{name: "receipts swapped", file: book, change: swapLast, differ: []string{"out of order stub 3 3"}},
		{name: "half a receipt", file: book, change: cutBytes(9), differ: []string{"missing stub 6 0"}, unsound: "line 3 of the book"},
		{name: "receipt signed anew", file: book, change: w.anew(receipts.KindStub), differ: []string{"altered stub 6 3"}},
		{name: "countersignature missing", file: book, change: func(s string) string {
			at := strings.LastIndex(s, `{"countersignature":`)
			return s[:at+1] + s[strings.LastIndex(s, `"stub":`):]
		}, differ: []string{"altered stub 6 3"}},
		{name: "denial signed anew", file: denials, change: w.anew(receipts.KindDenial), differ: []string{"altered denial 7 2"}},
		{name: "denial missing", file: denials, change: dropLine(0), differ: []string{"missing denial 4 0"}},
		{name: "denial twice", file: denials, change: twice, differ: []string{"extra denial 0 3"}},
		{name: "denial's signature altered", file: denials, change: signature, unsound: "signatures do not fit"},
		{name: "ledger shorter", file: ledger, change: func(s string) string { return dropLine(-1)(dropLine(-1)(dropLine(-1)(s))) }, differ: []string{"extra stub 0 3", "extra denial 0 2"}},
		{name: "ledger altered", file: ledger, change: swap(`"tool":"tool"`, `"tool":"tooo"`), unsound: "ledger record 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := w.killed()
			edit(t, filepath.Join(k.dir, row.file), row.change)
			r := k.compare()
			if r.Clean() {
				t.Fatal("clean")
			}
			var got []string
			for _, d := range r.Differences {
				got = append(got, fmt.Sprintf("%s %s %d %d", d.What, d.Of, d.Ledger, d.Line))
				if !strings.Contains(d.String(), d.ID) {
					t.Errorf("%s", d)
				}
			}
			if !slices.Equal(got, row.differ) {
				t.Errorf("differences %q, want %q", got, row.differ)
			}
			if (row.unsound == "") != (len(r.Unsound) == 0) || !strings.Contains(strings.Join(r.Unsound, "\n"), row.unsound) {
				t.Errorf("unsound %q, want %q", r.Unsound, row.unsound)
			}
		})
	}
}

// Lines that are no receipts, and what of a receipt's line is no content, are held
// against what the ledger says of the files' lines.
func TestCompareLines(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	w.handIn(w.cancellation(w.person, cancelID, worldStart))
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	w.close(c)
	if kinds := w.bookKinds(); kinds != "slip stub cancellation acknowledgement" {
		t.Fatal(kinds)
	}
	w.clean()
	again := w.person.sign(receipts.KindCancellation, (&receipts.Cancellation{ID: cancelID2, Slip: receipts.Fingerprint(w.slip.Append(nil)), When: receipts.TimeOf(worldStart)}).Append(nil))
	book, denials := "book.jsonl", "book.jsonl.denials.jsonl"
	for name, row := range map[string]struct {
		file   string
		change func(string) string
		want   string
	}{
		"cancellation taken away":    {book, dropLine(2), "lines were cut off"},
		"both taken away":            {book, func(s string) string { return dropLine(-1)(dropLine(-1)(s)) }, "lines were cut off"},
		"acknowledgement taken away": {book, dropLine(-1), "lines were cut off"},
		"a cancellation added": {book, func(s string) string {
			return s[:strings.LastIndex(s, `{"acknow`)] + string(receipts.AppendLine(nil, receipts.KindCancellation, again)) + "\n" + s[strings.LastIndex(s, `{"acknow`):]
		}, "not those that ledger record"},
		"a receipt's signature": {book, func(s string) string {
			i := strings.Index(s, `"signature":"`) + 4000
			j := strings.Index(s[i:], `"signature":"`) + i + 40
			return s[:j] + flip(s[j]) + s[j+1:]
		}, "not those that ledger record"},
		"the slip's line taken away": {book, dropLine(0), ""},
		"all denials":                {denials, func(string) string { return "" }, ""},
	} {
		k := w.killed()
		edit(t, filepath.Join(k.dir, row.file), row.change)
		r := k.compare()
		if r.Clean() || !strings.Contains(strings.Join(r.Altered, "\n"), row.want) {
			t.Errorf("%s: %v %v %v, want %q", name, r.Differences, r.Unsound, r.Altered, row.want)
		}
	}
}

// A guard that runs goes on writing while it is compared: what it wrote since is no
// difference.
func TestCompareWhileRunning(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	both := func() {
		do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	}
	both()
	in := receipts.CompareInput{PublicKey: w.cfg.LedgerKey.Public(), Measured: true}
	open := func(path string, size *int64) io.Reader {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if size != nil {
			st, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			*size = st.Size()
		}
		return f
	}
	in.Book, in.Denials = open(w.cfg.Book, &in.BookSize), open(w.cfg.Book+".denials.jsonl", &in.DenialsSize)
	both()
	in.Ledger = &atEnd{r: open(w.cfg.Ledger, nil), do: both}
	if r, err := receipts.Compare(in); err != nil || !r.Clean() || r.Receipts != 2 || r.Denials != 2 {
		t.Fatalf("%+v %v", r, err)
	}
}

// atEnd does something once, when its reader has come to its end.
type atEnd struct {
	r  io.Reader
	do func()
}

func (a *atEnd) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if err == io.EOF && a.do != nil {
		a.do()
		a.do = nil
	}
	return n, err
}

// Whatever mix of calls is made, the ledger verifies, the book passes the format's
// checker and the two agree, with restarts between.
func TestChainMix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, func(s *receipts.Slip) {
			s.Limits = []receipts.Limit{
				{Action: "files.write", Kind: receipts.LimitCount, Bound: 4},
				{Action: "files.read", Kind: receipts.LimitCount, Bound: 3, Per: 60},
			}
		})
		c := w.open()
		receiptsMade, denied := 0, 0
		n := rapid.IntRange(1, 12).Draw(rt, "calls")
		for range n {
			switch rapid.SampledFrom([]string{"call", "call", "call", "rule", "restart", "wait", "notice"}).Draw(rt, "do") {
			case "call":
				action := rapid.SampledFrom([]string{"files.read", "files.write", "files.delete"}).Draw(rt, "action")
				args := rapid.SampledFrom([]string{"", "{}", `{"path":"/a","n":[1,2.5,-0.25e2]}`, `{"ü":"\u00fc\ud83d\ude00"}`}).Draw(rt, "arguments")
				o := rapid.SampledFrom([]receipts.Outcome{answer(`{}`), answer(`{"isError":true}`), unknown("timeout"), unknown("stopped")}).Draw(rt, "outcome")
				if _, code := do(t, c, testCall(t, action, args), o); code != "" {
					denied++
				} else {
					receiptsMade++
				}
			case "rule":
				turn, err := c.Take(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				call := testCall(t, "files.read", `{"a":1}`)
				call.Watched = []receipts.Watched{{Rule: "a/w", Code: "condition"}}
				if err := turn.Refuse(receipts.Refused{Call: call, By: "rule", Code: "condition", Rule: "a/b"}); err != nil {
					rt.Fatal(err)
				}
				denied++
			case "restart":
				w.close(c)
				c = w.open()
			case "wait":
				w.clock.Add(31e9)
			case "notice":
				if err := c.Notice(receipts.Notice{What: "refused-message", Text: "line \u2028 end"}); err != nil {
					rt.Fatal(err)
				}
			}
		}
		w.close(c)
		text, err := os.ReadFile(w.cfg.Ledger)
		if err != nil {
			rt.Fatal(err)
		}
		if r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: w.cfg.LedgerKey.Public()}); !r.Sound() || len(r.Recovered) > 0 {
			rt.Fatalf("ledger: %s", r.Summary())
		}
		if r := w.sound(); r.Summary.Counts.Stubs != receiptsMade {
			rt.Fatalf("%d stubs in the book, %d calls made", r.Summary.Counts.Stubs, receiptsMade)
		}
		if r := w.clean(); r.Receipts != receiptsMade || r.Denials != denied {
			rt.Fatalf("%+v, want %d and %d", r, receiptsMade, denied)
		}
	})
}
