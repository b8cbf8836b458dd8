package receipts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/receipts"
)

func TestChainCall(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	arguments := `{ "path": "/tmp/a\u0041", "n": 1.50 }`
	first, code := do(t, c, testCall(t, "files.read", arguments), answer(`{"content":[]}`))
	if code != "" {
		t.Fatal(code)
	}
	w.clock.Add(time.Second)
	second, _ := do(t, c, testCall(t, "files.read", ""), unknown("timeout"))
	if first.Seq != 0 || second.Seq != 1 || !second.When.Equal(worldStart.Add(time.Second)) {
		t.Fatalf("receipts %+v %+v", first, second)
	}
	w.close(c)

	r := w.sound()
	if r.Summary.Counts.Stubs != 2 || r.Summary.Counts.Countersigned != 2 {
		t.Fatalf("counts %+v", r.Summary.Counts)
	}
	stub := r.Entries[1].Content.(*receipts.Stub)
	wantNames := []string{"arguments", "provared.tool-name", "countersign.content-rules", "provared.tool-result"}
	var names []string
	for _, d := range stub.Details {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, wantNames) || stub.With != "guard" || stub.ID != first.ID || r.Entries[1].Fingerprint != first.Fingerprint {
		t.Fatalf("stub %+v", stub)
	}
	if got := r.Entries[2].Content.(*receipts.Stub).Details[3].Name; got != "countersign.outcome-not-known" {
		t.Fatalf("the second's last detail is %s", got)
	}
	if kinds := w.ledgerKinds(); !slices.Equal(kinds, []string{"open", "call", "outcome", "call", "outcome", "mark"}) {
		t.Fatalf("ledger holds %v", kinds)
	}
	lines := w.lines(w.cfg.Ledger)
	l, _ := receipts.ReadLine([]byte(lines[1]))
	if got := l.Body.(*receipts.CallLine).Arguments; got != arguments {
		t.Fatalf("arguments kept as %q, want the bytes as received %q", got, arguments)
	}
	o, _ := receipts.ReadLine([]byte(lines[4]))
	out := o.Body.(*receipts.OutcomeLine)
	if out.How != "timeout" || out.Call != 3 || out.Result != "" {
		t.Fatalf("outcome %+v", out)
	}
	for _, path := range []string{w.cfg.Ledger, w.cfg.Book, w.cfg.Book + ".denials.jsonl", w.cfg.Ledger + ".lock"} {
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want 0600", path, st.Mode(), err)
		}
	}
	if st, _ := os.Stat(filepath.Dir(w.cfg.Ledger)); st.Mode().Perm() != 0o700 {
		t.Errorf("state folder %v, want 0700", st.Mode())
	}
}

// The book an outcome names was durable when the line was written.
func TestChainBookExtent(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", ""), answer(`{}`))
	if err := c.Sync(); err != nil {
		t.Fatal(err)
	}
	do(t, c, testCall(t, "files.read", ""), answer(`{}`))
	w.close(c)
	book, ledger := w.lines(w.cfg.Book), w.lines(w.cfg.Ledger)
	l, _ := receipts.ReadLine([]byte(ledger[4]))
	got := l.Body.(*receipts.OutcomeLine).Book
	want := receipts.Extent{Bytes: int64(len(book[0]) + len(book[1]) + 2), Lines: 2, Last: receipts.Fingerprint([]byte(book[1]))}
	if got != want {
		t.Fatalf("the second outcome names the book %+v, want %+v", got, want)
	}
}

func TestChainGoesOn(t *testing.T) {
	w := newWorld(t)
	var last receipts.Receipt
	for i := range 3 {
		c := w.open()
		r, code := do(t, c, testCall(t, "files.read", ""), answer(`{}`))
		if code != "" || r.Seq != int64(i) {
			t.Fatalf("start %d: %+v %s", i, r, code)
		}
		last = r
		w.close(c)
	}
	r := w.sound()
	if n := len(r.Entries); n != 4 || r.Entries[3].Fingerprint != last.Fingerprint {
		t.Fatalf("%d entries", n)
	}
	if kinds := w.ledgerKinds(); !slices.Equal(kinds, []string{"open", "call", "outcome", "mark", "open", "call", "outcome", "mark", "open", "call", "outcome", "mark"}) {
		t.Fatalf("ledger holds %v: a clean stop leaves nothing to mend", kinds)
	}
	st, err := os.Stat(w.cfg.Ledger)
	if err != nil || st.Size() != int64(len(strings.Join(w.lines(w.cfg.Ledger), "\n"))+1) {
		t.Fatalf("a closed ledger must not hold zeros: %v", err)
	}
}

func TestChainRefused(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", ""), answer(`{}`))
	if _, code := do(t, c, testCall(t, "files.delete", `{"path":"/x"}`), answer(`{}`)); code != receipts.CodeActionNotAllowed {
		t.Fatalf("code %s", code)
	}
	turn, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = turn.Refuse(receipts.Refused{Call: testCall(t, "files.read", `{"path":"/x"}`), By: "rule", Code: "condition", Rule: "files/outside"})
	if err != nil {
		t.Fatal(err)
	}
	turn, _ = c.Take(t.Context())
	other := testCall(t, "", `{}`)
	other.Tool = "resources/read"
	other.Watched = []receipts.Watched{{Rule: "files/odd", Code: "condition"}}
	if err := turn.Refuse(receipts.Refused{Call: other, By: "rule", Code: "condition", Rule: "files/res", NoDenial: true}); err != nil {
		t.Fatal(err)
	}
	// A denial that would not be sound is an error, and nothing is written.
	turn, _ = c.Take(t.Context())
	if err := turn.Refuse(receipts.Refused{Call: other, By: "rule", Code: "no-such-code"}); err == nil {
		t.Fatal("a denial with a code no rule gives was written")
	}
	w.close(c)
	if kinds := w.ledgerKinds(); !slices.Equal(kinds, []string{"open", "call", "outcome", "refused", "refused", "refused", "watch", "mark"}) {
		t.Fatalf("ledger holds %v", kinds)
	}
	denials := w.lines(w.cfg.Book + ".denials.jsonl")
	if len(denials) != 2 {
		t.Fatalf("%d denials, want 2", len(denials))
	}
	for i, text := range denials {
		record := strings.TrimSuffix(strings.TrimPrefix(text, `{"denial":`), `}`)
		e, err := receipts.ReadEnvelope(receipts.KindDenial, []byte(record))
		if err != nil {
			t.Fatal(err)
		}
		l, _ := receipts.ReadLine([]byte(w.lines(w.cfg.Ledger)[3+i]))
		if string(l.Body.(*receipts.RefusedLine).Denial) != string(e.Payload) {
			t.Fatalf("denial %d is not what the ledger holds", i)
		}
		d, _ := receipts.ReadDenial(e.Payload)
		if d.After == "" || d.With != "guard" || d.Slip != c.Slip() {
			t.Fatalf("denial %+v", d)
		}
	}
	w.sound()
}

// What is copied is what was checked.
func TestChainCopyNeedsCheck(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	call := testCall(t, "files.read", "")
	turn, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	if _, err := turn.Copy(call); !errors.Is(err, receipts.ErrNotChecked) {
		t.Fatalf("unchecked: %v", err)
	}
	if a := turn.Check(testCall(t, "files.delete", "").Proposal); a.Allowed {
		t.Fatal("allowed")
	}
	if _, err := turn.Copy(testCall(t, "files.delete", "")); !errors.Is(err, receipts.ErrNotChecked) {
		t.Fatalf("refused by the slip: %v", err)
	}
	if a := turn.Check(call.Proposal); !a.Allowed {
		t.Fatal(a)
	}
	for name, change := range map[string]func(*receipts.Call){
		"action":    func(c *receipts.Call) { c.Action = "files.write" },
		"amount":    func(c *receipts.Call) { c.Amount = &receipts.Amount{Unit: "GBP", Value: 1} },
		"arguments": func(c *receipts.Call) { c.Details[0].SHA256 = lineDig },
		"approval":  func(c *receipts.Call) { c.Proposal.Approval = []byte(`{}`) },
	} {
		other := testCall(t, "files.read", "")
		change(&other)
		if _, err := turn.Copy(other); !errors.Is(err, receipts.ErrNotChecked) {
			t.Errorf("%s changed after the check: %v", name, err)
		}
	}
	f, err := turn.Copy(call)
	if err != nil {
		t.Fatal(err)
	}
	turn.Release() // harmless: the turn goes on with f
	busy, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Take(busy); err == nil {
		t.Fatal("a second call has the turn while one is out")
	}
	for name, o := range map[string]receipts.Outcome{
		"nothing":        {},
		"no reason":      unknown("boredom"),
		"both":           {Result: []byte(`{"result":{}}`), Unknown: "timeout"},
		"neither form":   {Result: []byte(`{"other":{}}`), Detail: receipts.Detail{Name: "x", SHA256: receipts.Fingerprint([]byte(`{"other":{}}`))}},
		"another digest": {Result: []byte(`{"result":{}}`), Detail: receipts.Detail{Name: "x", SHA256: lineDig}},
	} {
		if _, err := f.Finish(o); err == nil || errors.Is(err, receipts.ErrWithheld) {
			t.Errorf("%s: %v, want an error that leaves the call open", name, err)
		}
	}
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Finish(answer(`{}`)); err == nil {
		t.Fatal("finished twice")
	}
}

func TestChainHowOutcomes(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	errorResult := []byte(`{"error":{"code":-1,"message":"no"}}`)
	for how, o := range map[string]receipts.Outcome{
		"result":     answer(`{"content":[],"x":1e300}`),
		"tool-error": answer(`{"content":[],"isError":true}`),
		"error":      {Detail: receipts.Detail{Name: "provared.tool-result", SHA256: receipts.Fingerprint(errorResult)}, Result: errorResult, Status: 400, Removed: 2},
		"stopped":    unknown("stopped"),
	} {
		do(t, c, testCall(t, "files.read", ""), o)
		lines := w.lines(w.cfg.Ledger)
		l, err := receipts.ReadLine([]byte(lines[len(lines)-1]))
		if err != nil {
			t.Fatal(err)
		}
		out := l.Body.(*receipts.OutcomeLine)
		if out.How != how || out.Status != int64(o.Status) || out.Removed != int64(o.Removed) || (out.Result == "") != (o.Unknown != "") {
			t.Errorf("%s: %+v", how, out)
		}
	}
	nested := answer(`{"content":[{"text":"\"isError\":true","type":"text"},{"isError":true}]}`)
	do(t, c, testCall(t, "files.read", ""), nested)
	lines := w.lines(w.cfg.Ledger)
	l, _ := receipts.ReadLine([]byte(lines[len(lines)-1]))
	if how := l.Body.(*receipts.OutcomeLine).How; how != "result" {
		t.Errorf("an isError inside the content made it %q", how)
	}
}

func TestChainClockBack(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", ""), answer(`{}`))
	w.clock.Add(-5 * time.Second)
	r, code := do(t, c, testCall(t, "files.read", ""), answer(`{}`))
	if code != "" || !r.When.Equal(worldStart) {
		t.Fatalf("5 s back: %v %s, want the time of the last stub", r.When, code)
	}
	w.clock.Add(-time.Second)
	if _, code := do(t, c, testCall(t, "files.read", ""), answer(`{}`)); code != receipts.CodeTimeWentBackwards {
		t.Fatalf("6 s back: %s", code)
	}
	w.close(c)
	w.sound()
}

// Denials too are dated in the order they stand in, however the clock is set: what
// the guard writes its own checker must call sound, and a slip that has run out is
// not in force again for a clock put back, also over a restart.
func TestChainClockBackDenials(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			w := newWorld(t)
			w.cfg.MarkEvery = 1
			c := w.open()
			again := func() {
				if restart {
					w.close(c)
					c = w.open()
				}
			}
			refused := func(want receipts.Code) {
				t.Helper()
				again()
				if _, code := do(t, c, testCall(t, "files.delete", ""), answer(`{}`)); code != want {
					t.Fatalf("%q, want %q", code, want)
				}
			}
			refused(receipts.CodeActionNotAllowed)
			w.clock.Add(-2 * time.Second) // as a time server may set it
			refused(receipts.CodeActionNotAllowed)
			if r, code := do(t, c, testCall(t, "files.read", ""), answer(`{}`)); code != "" || !r.When.Equal(worldStart) {
				t.Fatalf("%v %q, want the time of the last denial", r.When, code)
			}
			w.clock.Add(48 * time.Hour)
			refused(receipts.CodeOutsideValidTime)
			w.clock.Add(-47 * time.Hour)
			again()
			if _, code := do(t, c, testCall(t, "files.read", ""), answer(`{}`)); code != receipts.CodeTimeWentBackwards {
				t.Fatalf("the slip had run out, and the clock was put back: %q", code)
			}
			refused(receipts.CodeTimeWentBackwards)
			w.close(c)
			w.sound()
			if r := w.clean(); r.Denials != 5 {
				t.Fatalf("%+v", r)
			}
			f, err := os.Open(w.cfg.Book + ".denials.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			list, err := receipts.VerifyDenials(f, receipts.DeniedBook{Keys: func(string) (receipts.KeySet, bool) { return w.cfg.Agent.Keys(), true }})
			if err != nil || len(list) != 5 {
				t.Fatal(len(list), err)
			}
			for _, d := range list {
				if len(d.Problems) > 0 {
					t.Errorf("line %d: %v", d.Index+1, d.Problems)
				}
			}
		})
	}
}

func TestChainBusy(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxWaiting = 0
	c := w.open()
	turn, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrBusy) {
		t.Fatalf("%v, want ErrBusy", err)
	}
	turn.Release()
	turn.Release()
	if turn, err = c.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !turn.At().Equal(worldStart) {
		t.Fatalf("T0 %v", turn.At())
	}
	turn.Release()
	if a := turn.Check(testCall(t, "files.read", "").Proposal); a.Allowed {
		t.Fatal("a turn that is over still checks")
	}
	if err := turn.Refuse(receipts.Refused{}); err == nil {
		t.Fatal("a turn that is over still refuses")
	}
	w.close(c)
	if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrClosed) {
		t.Fatalf("%v, want ErrClosed", err)
	}
}

func TestChainLocked(t *testing.T) {
	w := newWorld(t)
	w.open()
	_, err := receipts.OpenChain(t.Context(), w.config())
	var held *receipts.HeldError
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "process") || !strings.Contains(err.Error(), "ledger.jsonl.lock") {
		t.Fatalf("a second guard: %v", err)
	}
	// Another ledger, the same book.
	cfg := w.config()
	cfg.Ledger = filepath.Join(w.dir, "other", "ledger.jsonl")
	if _, err := receipts.OpenChain(t.Context(), cfg); !errors.As(err, &held) || !strings.Contains(err.Error(), "book.jsonl.lock") {
		t.Fatalf("a second guard on the book: %v", err)
	}
}

// Past denialsPerHour there is one counting line a minute, and past 60 notices one
// an hour; closing writes what was only counted.
func TestChainCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.DenialsPerHour = 2
		w.cfg.Clock = time.Now
		s := w.slip
		s.ValidFrom, s.ValidUntil = receipts.TimeOf(time.Now().Add(-time.Hour)), receipts.TimeOf(time.Now().Add(48*time.Hour))
		w.cfg.Slip = w.person.sign(receipts.KindSlip, s.Append(nil))
		c, err := receipts.OpenChain(t.Context(), w.config())
		if err != nil {
			t.Fatal(err)
		}
		deny := func() {
			turn, err := c.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Refuse(receipts.Refused{Call: testCall(t, "", `{}`), By: "settings", Code: "unlisted"}); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			deny()
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		kinds := w.ledgerKinds()
		if !slices.Equal(kinds, []string{"open", "refused", "refused", "refused"}) {
			t.Fatalf("ledger holds %v", kinds)
		}
		l, _ := receipts.ReadLine([]byte(w.lines(w.cfg.Ledger)[3]))
		if b := l.Body.(*receipts.RefusedLine); b.Count != 3 || b.Until.Sub(b.From) != 2*time.Second {
			t.Fatalf("counting line %+v", b)
		}
		if n := len(w.lines(w.cfg.Book + ".denials.jsonl")); n != 2 {
			t.Fatalf("%d denials", n)
		}
		time.Sleep(time.Hour)
		deny()
		if n := len(w.lines(w.cfg.Book + ".denials.jsonl")); n != 3 {
			t.Fatalf("%d denials an hour later", n)
		}
		for range 65 {
			if err := c.Notice(receipts.Notice{What: "refused-message", Bytes: 3, Hash: lineDig}); err != nil {
				t.Fatal(err)
			}
		}
		deny()
		deny()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		kinds = w.ledgerKinds()
		if n := len(kinds); n != 5+60+4 || kinds[n-3] != "refused" || kinds[n-2] != "notice" {
			t.Fatalf("ledger holds %d lines %v", n, kinds[4:])
		}
	})
}

func TestChainConfig(t *testing.T) {
	w := newWorld(t)
	_, err := receipts.OpenChain(t.Context(), receipts.ChainConfig{Name: "Files"})
	for _, want := range []string{"a name", "a store", "a slip", "the agent's keys", "a clock"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	for name, row := range map[string]struct {
		change func(*receipts.ChainConfig)
		want   string
	}{
		"slip not a record":     {func(c *receipts.ChainConfig) { c.Slip = []byte(`{}`) }, "slip"},
		"slip of someone else":  {func(c *receipts.ChainConfig) { c.Slip = newPerson(9).sign(receipts.KindSlip, w.slip.Append(nil)) }, "signature-invalid"},
		"issuer not expected":   {func(c *receipts.ChainConfig) { c.IssuerKeys = []string{lineDig} }, "issuer-not-expected"},
		"other agent keys":      {func(c *receipts.ChainConfig) { c.Agent = c.Guard }, "other keys of the agent"},
		"guard not in the slip": {func(c *receipts.ChainConfig) { c.Service = "other" }, "does not name the guard"},
		"other keys of a guard": {func(c *receipts.ChainConfig) { c.Guard = c.Agent }, "does not name the guard"},
	} {
		cfg := w.config()
		row.change(&cfg)
		if c, err := receipts.OpenChain(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
			if c != nil {
				c.Close()
			}
		}
		if w.lines(w.cfg.Ledger) != nil || w.lines(w.cfg.Book) != nil {
			t.Errorf("%s: something was written", name)
		}
	}
}
