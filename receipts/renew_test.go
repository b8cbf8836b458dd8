package receipts_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/receipts"
)

const slipID3 = "dGhpcmRzbGlwdGhpcmRzbA"

// otherRules are rules files that come into force with a slip.
var otherRules = []receipts.RulesFile{{Name: "later", SHA256: receipts.Fingerprint([]byte("later"))}}

// renew puts the slip of the world's settings in force while the guard runs.
func (w *world) renew(c *receipts.Chain) error {
	w.t.Helper()
	turn, err := c.TakeFirst(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer turn.Release()
	return turn.Renew(w.t.Context(), w.cfg.Slip, otherRules)
}

// opens are the ledger's open lines.
func (w *world) opens() []*receipts.OpenLine {
	w.t.Helper()
	var out []*receipts.OpenLine
	for _, text := range w.lines(w.cfg.Ledger) {
		l, err := receipts.ReadLine([]byte(text))
		if err != nil {
			w.t.Fatal(err)
		}
		if b, ok := l.Body.(*receipts.OpenLine); ok {
			out = append(out, b)
		}
	}
	return out
}

// onceWrite lets files.write be called once.
func onceWrite(s *receipts.Slip) {
	s.Limits = []receipts.Limit{{Action: "files.write", Kind: receipts.LimitCount, Bound: 1}}
}

// A new slip in a guard that runs: its chain begins at 0 and its limits anew, the
// old slip's receipts stay sound, and the ledger names slip and rules in an open
// line. Back under the old slip what was used of it is used.
func TestRenew(t *testing.T) {
	w := newWorld(t, onceWrite)
	first := w.cfg.Slip
	c := w.open()
	write, read := testCall(t, "files.write", `{}`), testCall(t, "files.read", `{}`)
	expect := func(call receipts.Call, seq int64, want receipts.Code) {
		t.Helper()
		if r, code := do(t, c, call, answer(`{}`)); code != want || code == "" && r.Seq != seq {
			t.Fatalf("receipt %d %q, want %d %q", r.Seq, code, seq, want)
		}
	}
	expect(write, 0, "")
	expect(read, 1, "")
	expect(write, 0, receipts.CodeOverCountLimit)
	old := c.Slip()

	w.newSlip(slipID2)
	if err := w.renew(c); err != nil {
		t.Fatal(err)
	}
	second := c.Slip()
	if second != receipts.Fingerprint(w.slip.Append(nil)) || second == old {
		t.Fatalf("in force: %s", second)
	}
	expect(write, 0, "")
	expect(write, 0, receipts.CodeOverCountLimit)

	w.cfg.Slip = first
	if err := w.renew(c); err != nil {
		t.Fatal(err)
	}
	expect(write, 0, receipts.CodeOverCountLimit)
	expect(read, 2, "")
	k := w.killed()
	w.close(c)
	w.whole()
	k.close(k.open()) // as a kill leaves it, under the slip it had last
	k.whole()

	if kinds := w.bookKinds(); kinds != "slip stub stub slip stub stub" {
		t.Errorf("book: %s", kinds)
	}
	opens := w.opens()
	var slips []string
	for _, o := range opens {
		slips = append(slips, o.Slip)
	}
	if !slices.Equal(slips, []string{old, second, old}) {
		t.Fatalf("open lines of the slips %v", slips)
	}
	if !slices.Equal(opens[0].Rules, lineRules) || !slices.Equal(opens[1].Rules, otherRules) || opens[1].Book.Lines != 4 || opens[1].Settings != opens[0].Settings {
		t.Errorf("open lines %+v, %+v", opens[0], opens[1])
	}

	// A start goes on with whichever the settings name.
	w.newSlip(slipID2)
	c = w.open()
	expect(read, 1, "")
	expect(write, 0, receipts.CodeOverCountLimit)
	w.close(c)
	w.whole()
}

// What keeps a slip from being put in force: nothing is changed then, and calls go
// on under the one before.
func TestRenewNot(t *testing.T) {
	change := func(f func(*world)) func(*world, *receipts.Chain) {
		return func(w *world, _ *receipts.Chain) { f(w); w.newSlip(w.slip.ID) }
	}
	for name, row := range map[string]struct {
		slip func(w *world, c *receipts.Chain)
		want string
	}{
		"not a record": {func(w *world, _ *receipts.Chain) { w.cfg.Slip = []byte(`{}`) }, "the slip of"},
		"altered": {func(w *world, _ *receipts.Chain) {
			w.newSlip(slipID2)
			w.cfg.Slip = []byte(breakSignature(string(w.cfg.Slip)))
		}, "the slip of"},
		"for other keys of the agent": {change(func(w *world) { w.slip.Agent.Keys = w.cfg.Guard.Keys() }), "other keys of the agent"},
		"for another guard":           {change(func(w *world) { w.slip.With[0].ID = "other" }), "does not name the guard"},
		"over":                        {change(func(w *world) { w.slip.ValidUntil = receipts.TimeOf(worldStart) }), "in force only until"},
		"later":                       {change(func(w *world) { w.slip.ValidFrom = receipts.TimeOf(worldStart.Add(time.Hour)) }), "not in force yet"},
		"with an id that is used": {func(w *world, _ *receipts.Chain) {
			w.slip.Purpose.Text = "another"
			w.newSlip(firstID)
		}, "has the id of another record"},
		"by somebody else": {func(w *world, _ *receipts.Chain) {
			w.person = newPerson(77)
			w.slip.Issuer.Key = w.person.jwk(w.t)
			w.newSlip(slipID2)
		}, "passkey"},
		"cancelled": {func(w *world, c *receipts.Chain) {
			first, firstRecord := w.slip, w.cfg.Slip
			w.newSlip(slipID2)
			if err := w.renew(c); err != nil {
				w.t.Fatal(err)
			}
			w.handIn(w.cancellation(w.person, cancelID, worldStart))
			if _, code := do(w.t, c, testCall(w.t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
				w.t.Fatal(code)
			}
			second := w.cfg.Slip
			w.slip, w.cfg.Slip = first, firstRecord
			if err := w.renew(c); err != nil {
				w.t.Fatal(err)
			}
			w.cfg.Slip = second
		}, "was cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.slip.ID = slipID2
			c := w.open()
			do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
			in := c.Slip()
			row.slip(w, c)
			before := w.snapshot()
			if err := w.renew(c); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v, want %q", err, row.want)
			}
			if after := w.snapshot(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("something was written")
			}
			if c.Slip() != in || c.Err() != nil {
				t.Fatalf("in force: %s, %v", c.Slip(), c.Err())
			}
			if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != 1 {
				t.Fatalf("the next call: %d %s", r.Seq, code)
			}
			w.close(c)
			w.clean()
		})
	}
}

// firstID is the id of the slip that a world begins with.
const firstID = "c2xpcHNsaXBzbGlwc2xpcA"

// A slip that came into force in a guard that ran, and whose book was put aside, is
// not taken on again, at a start nor later.
func TestRenewPutAside(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	w.newSlip(slipID2)
	second := w.cfg.Slip
	if err := w.renew(c); err != nil {
		t.Fatal(err)
	}
	do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
	w.close(c)
	w.newSlip(slipID3)
	w.cfg.Rollover = true
	c = w.open()
	w.cfg.Slip, w.cfg.Rollover = second, false
	if err := w.renew(c); err == nil || !strings.Contains(err.Error(), "was in force here") {
		t.Fatalf("renewed: %v", err)
	}
	w.close(c)
	var stop *receipts.StartError
	if _, err := receipts.OpenChain(t.Context(), w.config()); !errors.As(err, &stop) || !strings.Contains(err.Error(), "was in force here") {
		t.Fatalf("started: %v", err)
	}
	w.whole()
}

// A cancellation of the new slip that was handed in before it was in force ends it
// at once: a person meant it to end.
func TestRenewCancelledAhead(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	w.newSlip(slipID2)
	w.handIn(w.cancellation(w.person, cancelID, worldStart))
	if err := w.renew(c); err != nil {
		t.Fatal(err)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("a call under the cancelled slip: %q", code)
	}
	w.close(c)
	if kinds := w.bookKinds(); kinds != "slip slip cancellation acknowledgement" {
		t.Errorf("book: %s", kinds)
	}
	w.whole()
}

// The new slip waits for the call that is out, and comes ahead of those that wait and
// in the way of none: they are judged under it.
func TestRenewTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, onceWrite)
		w.cfg.Clock = func() time.Time { return worldStart }
		w.cfg.MaxWaiting = 2
		c, err := receipts.OpenChain(t.Context(), w.config())
		if err != nil {
			t.Fatal(err)
		}
		f := copied(t, c, testCall(t, "files.write", `{}`))
		waiting := make(chan string, 2)
		wait := func(action string) {
			go func() {
				r, code := do(t, c, testCall(t, action, `{}`), answer(`{}`))
				waiting <- fmt.Sprintf("%s %d %s", action, r.Seq, code)
			}()
			synctest.Wait()
		}
		wait("files.write")
		old := c.Slip()
		w.newSlip(slipID2)
		renewed := make(chan error)
		go func() { renewed <- w.renew(c) }()
		synctest.Wait()
		if c.Slip() != old {
			t.Fatal("a slip was put in force while a call was out")
		}
		wait("files.read")
		if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrBusy) {
			t.Fatalf("a third that waits: %v, want ErrBusy", err)
		}
		if _, err := f.Finish(answer(`{}`)); err != nil {
			t.Fatal(err)
		}
		if err := <-renewed; err != nil {
			t.Fatal(err)
		}
		if a, b := <-waiting, <-waiting; a != "files.write 0 " || b != "files.read 1 " {
			t.Errorf("the calls that waited: %q, %q", a, b)
		}
		w.close(c)
		if kinds := w.bookKinds(); kinds != "slip stub slip stub stub" {
			t.Errorf("book: %s", kinds)
		}
		w.whole()
	})
}

// Each operation of putting a slip in force failing once, before and after it took
// hold: a full disk leaves the old slip in force, anything else is final, and the
// next start takes on the new one, as the settings name it.
func TestRenewFaults(t *testing.T) {
	for _, cause := range []error{errIO, errFull} {
		for _, when := range []string{"before", "after"} {
			if cause == errFull && when == "after" {
				continue // a full disk writes nothing
			}
			for nth := 1; ; nth++ {
				w, d := faulty(t)
				onceWrite(&w.slip)
				w.newSlip(firstID)
				c := w.open()
				do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
				do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
				w.close(c)
				c = w.open() // which gave back the room that was set aside
				name := fmt.Sprintf("operation %d, %s, %v", nth, when, cause)
				fault := nthOf(nth, cause)
				if cause == errFull {
					fault = fullFrom(nth)
				}
				if when == "before" {
					d.set(fault, nil)
				} else {
					d.set(nil, fault)
				}
				old, at := c.Slip(), d.reached()
				w.newSlip(slipID2)
				err := w.renew(c)
				k := w.killed()
				reached := d.reached() - at
				d.set(nil, nil)
				if err == nil {
					if c.Slip() == old {
						t.Fatalf("%s: the old slip is in force", name)
					}
					w.close(c)
					if reached >= nth {
						t.Fatalf("%s: it was not told", name)
					}
					if nth < 8 { // room in the ledger: write, sync; in the book; its line: write, sync; the ledger's
						t.Fatalf("only %d operations", nth-1)
					}
					break
				}
				if c.Slip() != old {
					t.Fatalf("%s: the new slip is in force after %v", name, err)
				}
				if final := c.Err() != nil; final != !errors.Is(err, receipts.ErrNoRoom) || final != errors.Is(err, receipts.ErrFinal) {
					t.Fatalf("%s: %v, final %v", name, err, c.Err())
				}
				if c.Err() == nil {
					// With room again the old slip goes on, and the new one can come.
					if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
						t.Fatalf("%s: the next call: %s", name, code)
					}
					if err := w.renew(c); err != nil {
						t.Fatalf("%s: again: %v", name, err)
					}
					if r, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != "" || r.Seq != 0 {
						t.Fatalf("%s: a call under it: %d %s", name, r.Seq, code)
					}
					w.close(c)
					w.whole()
				} else {
					c.Close()
				}
				c = k.open()
				if r, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`)); code != "" || r.Seq != 0 {
					t.Fatalf("%s: the next start's call: %d %s", name, r.Seq, code)
				}
				k.close(c)
				k.whole()
				if kinds := k.bookKinds(); kinds != "slip stub slip stub" {
					t.Fatalf("%s: book: %s", name, kinds)
				}
				if text, err := os.ReadFile(k.cfg.Book + ".denials.jsonl"); err != nil || strings.Count(string(text), "\n") != 1 {
					t.Fatalf("%s: %v, denials %q", name, err, text)
				}
			}
		}
	}
}

// fullFrom is a disk that is full from the nth operation on.
func fullFrom(n int) func(string, string) error {
	var count atomic.Int64
	return func(string, string) error {
		if count.Add(1) >= int64(n) {
			return errFull
		}
		return nil
	}
}
