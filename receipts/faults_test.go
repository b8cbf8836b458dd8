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
		w.t.Fatalf("ledger and records differ: %v %v", r.Differences, r.Unsound)
	}
	return r
}

// A failed write or sync is final: what is told depends on whether the call was
// sent.
func TestFinal(t *testing.T) {
	const ledger, book = "ledger.jsonl", "book.jsonl"
	for _, row := range []struct {
		name     string
		op, file string
		nth      int // of this operation, counted from the call's start
		want     error
	}{
		// A call: ledger write (room), sync, write (call), sync; write (outcome), sync; book write.
		{"room for the call", "write", ledger, 1, receipts.ErrFinal},
		{"sync of the room", "sync", ledger, 1, receipts.ErrFinal},
		{"call line", "write", ledger, 2, receipts.ErrNotRecorded},
		{"sync of the call line", "sync", ledger, 2, receipts.ErrNotRecorded},
		{"outcome line", "write", ledger, 3, receipts.ErrWithheld},
		{"sync of the outcome line", "sync", ledger, 3, receipts.ErrWithheld},
		{"book line", "write", book, 1, receipts.ErrWithheld},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(row.name+" "+when, func(t *testing.T) {
				w, d := faulty(t)
				c := w.open()
				if err := c.Sync(); err != nil {
					t.Fatal(err)
				}
				fault := failNth(row.nth, row.op, row.file, errIO)
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
				if !errors.Is(err, row.want) || !errors.Is(err, errIO) {
					t.Fatalf("%v, want %v", err, row.want)
				}
				select {
				case <-c.Failed():
				default:
					t.Fatal("the failure is not told to the process")
				}
				turn.Release()
				if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrFinal) {
					t.Fatalf("a further call: %v, want ErrFinal", err)
				}
				if err := c.Notice(receipts.Notice{What: "x"}); !errors.Is(err, receipts.ErrFinal) {
					t.Fatalf("a notice: %v, want ErrFinal", err)
				}
				if err := c.Close(); err == nil {
					t.Fatal("closed as if nothing had happened")
				}
			})
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

// The denial is final too when it cannot be written after its line was.
func TestFinalDenial(t *testing.T) {
	w, d := faulty(t)
	c := w.open()
	d.set(failNth(1, "write", "book.jsonl.denials.jsonl", errIO), nil)
	turn, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = turn.Refuse(receipts.Refused{Call: testCall(t, "files.read", `{}`), By: "rule", Code: "condition", Rule: "a/b"})
	if !errors.Is(err, receipts.ErrFinal) {
		t.Fatalf("%v, want ErrFinal", err)
	}
	if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrFinal) {
		t.Fatalf("%v, want ErrFinal", err)
	}
}
