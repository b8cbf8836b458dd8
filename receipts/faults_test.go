package receipts_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/receipts"
)

// faulty is a world on a disk that can fail, with no more room set aside than is
// needed at a time.
func faulty(t testing.TB) (*world, *faultDisk) {
	w := newWorld(t)
	d := &faultDisk{Disk: receipts.OSDisk()}
	files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 1})
	t.Cleanup(func() { files.Close() })
	w.disk, w.files = d, files
	return w, d
}

// LEDG-03: the record cannot be written. A full disk refuses the call before
// anything is sent, a denied call stays denied, and once there is room again the
// next call goes through.
func TestLEDG03(t *testing.T) {
	const ledger, book, denials = "ledger.jsonl", "book.jsonl", "book.jsonl.denials.jsonl"
	for _, row := range []struct{ name, op, file string }{
		{"ledger full", "write", ledger},
		{"no room for the receipt", "reserve", book},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, d := faulty(t)
			c := w.open()
			do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
			if err := c.Sync(); err != nil {
				t.Fatal(err)
			}
			before := w.snapshot()
			full := true
			d.set(func(op, file string) error {
				if full && op == row.op && file == row.file {
					return errFull
				}
				return nil
			}, nil)
			turn, err := c.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			big := testCall(t, "files.read", `{"a":"`+strings.Repeat("x", 64<<10)+`"}`)
			if a := turn.Check(big.Proposal); !a.Allowed {
				t.Fatal(a)
			}
			if _, err := turn.Copy(big); !errors.Is(err, receipts.ErrNoRoom) {
				t.Fatalf("%v, want ErrNoRoom", err)
			}
			turn.Release()
			if c.Err() != nil {
				t.Fatalf("a full disk is not final: %v", c.Err())
			}
			after := w.snapshot()
			for path, text := range before {
				if strings.TrimRight(after[path], "\x00") != strings.TrimRight(text, "\x00") {
					t.Fatalf("%s was written to", path)
				}
			}
			full = false
			if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
				t.Fatalf("with room again: %s", code)
			}
			w.close(c)
			w.sound()
			w.clean()
		})
	}
	for _, row := range []struct{ name, op, file string }{
		{"denied, ledger full", "write", ledger},
		{"denied, denials full", "reserve", denials},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, d := faulty(t)
			c := w.open()
			full := true
			d.set(func(op, file string) error {
				if full && op == row.op && file == row.file {
					return errFull
				}
				return nil
			}, nil)
			refuse := func() error {
				turn, err := c.Take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return turn.Refuse(receipts.Refused{Call: testCall(t, "files.read", `{}`), By: "rule", Code: "condition", Rule: "a/b"})
			}
			err := refuse()
			for i := 0; err == nil && i < 200; i++ {
				err = refuse()
			}
			if !errors.Is(err, receipts.ErrNoRoom) || c.Err() != nil {
				t.Fatalf("%v, final %v, want ErrNoRoom and no final error", err, c.Err())
			}
			full = false
			if err := refuse(); err != nil {
				t.Fatal(err)
			}
			w.close(c)
			w.clean()
		})
	}
}

// clean compares the ledger with book and denials, and verifies it.
func (w *world) clean() receipts.CompareReport {
	w.t.Helper()
	r := w.compare()
	if !r.Clean() {
		w.t.Fatalf("ledger and records differ: %v %v %v", r.Differences, r.Unsound, r.Altered)
	}
	return r
}

// What a fault in the middle of a call leads to: what the agent is told, whether
// the process must end, and what the next start makes of the call.
func TestFaults(t *testing.T) {
	const (
		ledger, book = "ledger.jsonl", "book.jsonl"
		none         = "no receipt"
		crashed      = "a receipt that says crashed"
		answered     = "the receipt of the answer"
	)
	for _, row := range []struct {
		name     string
		op, file string
		nth      int // of this operation, counted from the call's start
		err      error
		told     error
		final    bool
		before   string // next start, where the operation failed before it took hold
		after    string // and where after
	}{
		// A call: ledger write (room), sync, book reserve; write (copy), sync;
		// write (outcome), sync; book write; and soon a book sync.
		{"room for the call, disk full", "write", ledger, 1, errFull, receipts.ErrNoRoom, false, none, none},
		{"room for the call", "write", ledger, 1, errIO, receipts.ErrFinal, true, none, none},
		{"sync of the room, disk full", "sync", ledger, 1, errFull, receipts.ErrFinal, true, none, none},
		{"sync of the room", "sync", ledger, 1, errIO, receipts.ErrFinal, true, none, none},
		{"room for the receipt, disk full", "reserve", book, 1, errFull, receipts.ErrNoRoom, false, none, none},
		{"room for the receipt", "reserve", book, 1, errIO, receipts.ErrFinal, true, none, none},
		{"copy, disk full", "write", ledger, 2, errFull, receipts.ErrNotRecorded, true, none, crashed},
		{"copy", "write", ledger, 2, errIO, receipts.ErrNotRecorded, true, none, crashed},
		{"sync of the copy", "sync", ledger, 2, errIO, receipts.ErrNotRecorded, true, crashed, crashed},
		{"outcome, disk full", "write", ledger, 3, errFull, receipts.ErrWithheld, true, crashed, answered},
		{"outcome", "write", ledger, 3, errIO, receipts.ErrWithheld, true, crashed, answered},
		{"sync of the outcome", "sync", ledger, 3, errIO, receipts.ErrWithheld, true, answered, answered},
		{"receipt, disk full", "write", book, 1, errFull, receipts.ErrWithheld, true, answered, answered},
		{"receipt", "write", book, 1, errIO, receipts.ErrWithheld, true, answered, answered},
	} {
		for when, next := range map[string]string{"before": row.before, "after": row.after} {
			t.Run(row.name+", "+when, func(t *testing.T) {
				w, d := faulty(t)
				c := w.open()
				if err := c.Sync(); err != nil {
					t.Fatal(err)
				}
				fault := failNth(row.nth, row.op, row.file, row.err)
				if when == "before" {
					d.set(fault, nil)
				} else {
					d.set(nil, fault)
				}
				turn, err := c.Take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				call := testCall(t, "files.read", `{"a":"`+strings.Repeat("x", 64<<10)+`"}`)
				if a := turn.Check(call.Proposal); !a.Allowed {
					t.Fatal(a)
				}
				f, err := turn.Copy(call)
				if err == nil {
					_, err = f.Finish(answer(`{}`))
				}
				if !errors.Is(err, row.told) || !errors.Is(err, row.err) && row.told != receipts.ErrFinal {
					t.Fatalf("told %v, want %v", err, row.told)
				}
				turn.Release()
				k := w.killed() // what the process leaves
				d.set(nil, nil)
				w.settledAs(c, row.final)
				closed := c.Close()
				if (closed != nil) != row.final {
					t.Fatalf("closed: %v", closed)
				}

				c = k.open()
				if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != map[string]int64{none: 0, crashed: 1, answered: 1}[next] {
					t.Fatalf("the next start's call: %+v %s", r, code)
				}
				k.close(c)
				k.whole()
				how := ""
				for _, line := range k.lines(k.cfg.Ledger) {
					l, _ := receipts.ReadLine([]byte(line))
					if o, ok := l.Body.(*receipts.OutcomeLine); ok {
						how = o.How
						break
					}
				}
				if (how == receipts.ReasonCrashed) != (next == crashed) {
					t.Fatalf("the next start ended the call as %q, want %s", how, next)
				}
			})
		}
	}
}

// settledAs: after a final fault nothing is taken any more, after a full disk
// everything is.
func (w *world) settledAs(c *receipts.Chain, final bool) {
	w.t.Helper()
	if !final {
		if c.Err() != nil {
			w.t.Fatalf("final: %v", c.Err())
		}
		if _, code := do(w.t, c, testCall(w.t, "files.write", `{}`), answer(`{}`)); code != "" {
			w.t.Fatalf("the next call: %s", code)
		}
		return
	}
	select {
	case <-c.Failed():
	default:
		w.t.Fatal("the failure is not told to the process")
	}
	if _, err := c.Take(w.t.Context()); !errors.Is(err, receipts.ErrFinal) {
		w.t.Fatalf("a further call: %v, want ErrFinal", err)
	}
	if err := c.Notice(receipts.Notice{What: "x"}); !errors.Is(err, receipts.ErrFinal) {
		w.t.Fatalf("a notice: %v, want ErrFinal", err)
	}
}

// A fault in the middle of a refusal: the call stays refused, and its denial is
// written by the next start where its line was.
func TestFaultsRefusing(t *testing.T) {
	const ledger, denials = "ledger.jsonl", "book.jsonl.denials.jsonl"
	for _, row := range []struct {
		name          string
		op, file      string
		nth           int
		err, told     error
		final         bool
		before, after int // denials after the next start
	}{
		{"room for the line, disk full", "write", ledger, 1, errFull, receipts.ErrNoRoom, false, 0, 0},
		{"room for the line", "write", ledger, 1, errIO, receipts.ErrFinal, true, 0, 0},
		{"room for the denial, disk full", "reserve", denials, 1, errFull, receipts.ErrNoRoom, false, 0, 0},
		{"line", "write", ledger, 2, errIO, receipts.ErrFinal, true, 0, 1},
		{"sync of the line", "sync", ledger, 2, errIO, receipts.ErrFinal, true, 1, 1},
		{"denial, disk full", "write", denials, 1, errFull, receipts.ErrFinal, true, 1, 1},
		{"denial", "write", denials, 1, errIO, receipts.ErrFinal, true, 1, 1},
	} {
		for when, want := range map[string]int{"before": row.before, "after": row.after} {
			t.Run(row.name+", "+when, func(t *testing.T) {
				w, d := faulty(t)
				c := w.open()
				if err := c.Sync(); err != nil {
					t.Fatal(err)
				}
				fault := failNth(row.nth, row.op, row.file, row.err)
				if when == "before" {
					d.set(fault, nil)
				} else {
					d.set(nil, fault)
				}
				turn, err := c.Take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				err = turn.Refuse(receipts.Refused{Call: testCall(t, "files.read", `{}`), By: "rule", Code: "condition", Rule: "a/b"})
				if !errors.Is(err, row.told) {
					t.Fatalf("told %v, want %v", err, row.told)
				}
				if (c.Err() != nil) != row.final {
					t.Fatalf("final: %v", c.Err())
				}
				k := w.killed()
				d.set(nil, nil)
				c.Close()
				c = k.open()
				k.close(c)
				k.whole()
				if n := len(k.lines(k.cfg.Book + ".denials.jsonl")); n != want {
					t.Fatalf("%d denials after the next start, want %d", n, want)
				}
			})
		}
	}
}

// Each operation of a start, and of a stop, failing once, before and after it took
// hold: the start stops with the error, and the next one ends as if nothing had
// been.
func TestFaultsAtStart(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	left := w.killed() // an open call
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	w.close(c)
	edit(t, left.cfg.Book, cutBytes(100))
	edit(t, left.cfg.Book+".denials.jsonl", dropLine(-1))
	edit(t, left.cfg.Ledger, withoutZeros(appendText(`{"at":"2026-`)))
	left.handIn(left.cancellation(left.person, cancelID, worldStart))
	for _, cause := range []error{errIO, errFull} {
		for _, when := range []string{"before", "after"} {
			if cause == errFull && when == "after" {
				continue // a full disk writes nothing
			}
			failed, step := 0, 1
			if testing.Short() || raceEnabled {
				step = 5
			}
			for nth := 1; ; nth += step {
				k := left.killed()
				d := &faultDisk{Disk: receipts.OSDisk()}
				fault := nthOf(nth, cause)
				if when == "before" {
					d.set(fault, nil)
				} else {
					d.set(nil, fault)
				}
				files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 1})
				cfg := k.config()
				cfg.Store = files
				c, err := receipts.OpenChain(t.Context(), cfg)
				if err == nil {
					err = c.Close()
				}
				files.Close()
				if err == nil && d.reached() < nth {
					break
				}
				if err != nil {
					failed++
				}
				k = k.killed()
				c = k.open()
				k.close(c)
				k.whole()
				if kinds := k.bookKinds(); kinds != "slip stub stub stub cancellation acknowledgement" {
					t.Fatalf("operation %d failed %s it took hold: book: %s", nth, when, kinds)
				}
				if n := len(k.lines(k.cfg.Book + ".denials.jsonl")); n != 2 {
					t.Fatalf("operation %d failed %s it took hold: %d denials", nth, when, n)
				}
			}
			if failed < 20/step {
				t.Errorf("%s %v: only %d operations failed", when, cause, failed)
			}
		}
	}
}

// A background sync of the book that fails is final too.
func TestFinalBookSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := faulty(t)
		w.cfg.Clock = func() time.Time { return worldStart }
		c, err := receipts.OpenChain(t.Context(), w.config())
		if err != nil {
			t.Fatal(err)
		}
		d.set(nil, failNth(1, "sync", "book.jsonl", errIO))
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
			t.Fatal(code)
		}
		if c.Err() != nil {
			t.Fatal("failed too early")
		}
		time.Sleep(50 * time.Millisecond) // of the bubble's time: what a book may lag
		synctest.Wait()
		if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrFinal) {
			t.Fatalf("50 ms later: %v, want ErrFinal", err)
		}
		c.Close()
	})
}
