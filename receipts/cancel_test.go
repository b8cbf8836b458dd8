package receipts_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"countersign/receipts"
)

// cancellation is a person's end of the world's slip.
func (w *world) cancellation(by person, id string, when time.Time) []byte {
	slip := receipts.Fingerprint(w.slip.Append(nil))
	c := receipts.Cancellation{ID: id, Slip: slip, When: receipts.TimeOf(when)}
	return by.sign(receipts.KindCancellation, c.Append(nil))
}

const cancelID, cancelID2 = "Y2FuY2VsY2FuY2VsY2FuYw", "Y2FuY2VsY2FuY2VsY2FuZA"

func (w *world) handIn(record []byte) string {
	w.t.Helper()
	path, err := receipts.HandInCancellation(w.cfg.Ledger, record)
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

// bookKinds gives the kinds of the book's lines.
func (w *world) bookKinds() string {
	w.t.Helper()
	var kinds []string
	for _, l := range w.lines(w.cfg.Book) {
		for _, k := range []string{"slip", "cancellation", "acknowledgement", "stub"} {
			if strings.HasPrefix(l, `{"`+k+`":`) || k == "stub" && strings.Contains(l, `"stub":`) {
				kinds = append(kinds, k)
				break
			}
		}
	}
	return strings.Join(kinds, " ")
}

// A cancellation stops every new call at once; its line and the acknowledgement
// stand behind the stub of the call in flight.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	f := copied(t, c, testCall(t, "files.read", `{}`))
	path := w.handIn(w.cancellation(w.person, cancelID, worldStart))
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("a call after it: %q", code)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is still there, though the book holds the cancellation")
	}
	if kinds := w.bookKinds(); kinds != "slip stub stub cancellation acknowledgement" {
		t.Fatalf("book: %s", kinds)
	}
	w.close(c)
	w.whole()
	c = w.open()
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("after a restart: %q", code)
	}
	// A second one is put into the book; it was acknowledged already.
	w.handIn(w.cancellation(w.person, cancelID2, worldStart))
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	if kinds := w.bookKinds(); kinds != "slip stub stub cancellation acknowledgement cancellation" {
		t.Fatalf("book: %s", kinds)
	}
	w.close(c)
	w.whole()
}

// One that is dated ahead stops calls at once, and is written when its time has
// come.
func TestCancelDatedAhead(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	w.handIn(w.cancellation(w.person, cancelID, worldStart.Add(301*time.Second)))
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("%q", code)
	}
	if kinds := w.bookKinds(); kinds != "slip" {
		t.Fatalf("book: %s", kinds)
	}
	w.clock.Add(time.Second)
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	if kinds := w.bookKinds(); kinds != "slip cancellation acknowledgement" {
		t.Fatalf("book: %s", kinds)
	}
}

// One that cannot be taken up stops every call until it is gone.
func TestCancelUnsound(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	for name, record := range map[string][]byte{
		"someone else's": w.cancellation(newPerson(9), cancelID, worldStart),
		"another slip's": w.person.sign(receipts.KindCancellation, (&receipts.Cancellation{ID: cancelID, Slip: lineDig, When: receipts.TimeOf(worldStart)}).Append(nil)),
	} {
		path := w.handIn(record)
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeRecordNotSound {
			t.Errorf("%s: %q", name, code)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
			t.Errorf("%s gone: %q", name, code)
		}
	}
	broken := w.cfg.Ledger + ".cancellation-x.json"
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeRecordNotSound {
		t.Errorf("not a record: %q", code)
	}
	if _, err := receipts.HandInCancellation(w.cfg.Ledger, []byte("{}")); err == nil {
		t.Error("what is no cancellation was handed in")
	}
	w.close(c)
	// Someone else's chain in the same folder is not concerned.
	if err := os.Rename(broken, filepath.Join(filepath.Dir(w.cfg.Ledger), "other.jsonl.cancellation-x.json")); err != nil {
		t.Fatal(err)
	}
	c = w.open()
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
		t.Errorf("another chain's: %q", code)
	}
}

// A slip that was cancelled, or ran out, while the guard was down: the open call is
// finished first, dated T0, then the cancellation.
func TestStartOpenCallCancelled(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	k := w.killed()
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	k.clock = &testClock{now: worldStart.Add(48 * time.Hour)} // expired too
	k.cfg.Clock = k.clock.Now
	k.handIn(k.cancellation(k.person, cancelID, worldStart.Add(time.Hour)))
	c = k.open()
	if kinds := k.bookKinds(); kinds != "slip stub stub stub cancellation acknowledgement" {
		t.Fatalf("book: %s", kinds)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeOutsideValidTime && code != receipts.CodeAfterCancellation {
		t.Fatalf("%q", code)
	}
	k.close(c)
	k.whole()
	stub := k.sound().Entries[3].Content.(*receipts.Stub)
	if stub.When != receipts.TimeOf(worldStart) {
		t.Fatalf("the open call's receipt is dated %s", stub.When)
	}
}

// newKeys gives the world a new slip under new keys of agent and guard.
func (w *world) newKeys(id string) {
	w.t.Helper()
	var signers [2]*receipts.Signer
	for i := range signers {
		var err error
		if signers[i], err = receipts.NewSigner([32]byte{byte(i), 31}, [32]byte{byte(i), 32}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.cfg.Agent, w.cfg.Guard = signers[0], signers[1]
	w.slip.Agent.Keys = signers[0].Keys()
	w.slip.With = []receipts.Service{{ID: "guard", Name: receipts.Covered{Text: "The guard"}, Keys: signers[1].Keys()}}
	w.newSlip(id)
}

func (w *world) newSlip(id string) {
	w.slip.ID = id
	w.cfg.Slip = w.person.sign(receipts.KindSlip, w.slip.Append(nil))
}

const slipID2 = "bmV3c2xpcG5ld3NsaXBuZQ"

// An open call under slip S1 while the settings name S2: finished under S1 with
// the keys it names, then S2 is taken on, its chain from 0.
func TestStartNewSlip(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	k := w.killed()
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	k.newSlip(slipID2)
	c = k.open()
	r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	if code != "" || r.Seq != 0 {
		t.Fatalf("%+v %s, want the first of a chain", r, code)
	}
	if kinds := k.bookKinds(); kinds != "slip stub stub stub slip stub" {
		t.Fatalf("book: %s", kinds)
	}
	k.close(c)
	k.whole()
}

// The keys of an open call are not in the settings any more: the start stops and
// names settle; with them it goes on.
func TestStartSettle(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	k := w.killed()
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	lost := w.killed() // a receipt and a denial short
	old := []*receipts.Signer{k.cfg.Agent, k.cfg.Guard}
	k.newKeys(slipID2)
	before := k.snapshot()
	_, err := receipts.OpenChain(t.Context(), k.config())
	if err == nil || !strings.Contains(err.Error(), "settle --keys") || !strings.Contains(err.Error(), "ledger.jsonl:8") || strings.Count(err.Error(), "\n") != 2 {
		t.Fatalf("%v", err)
	}
	for path, text := range k.snapshot() {
		if before[path] != text {
			t.Errorf("%s was changed", path)
		}
	}
	k.cfg.OldKeys = old
	c = k.open()
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	k.close(c)
	if kinds := k.bookKinds(); kinds != "slip stub stub stub slip stub" {
		t.Fatalf("book: %s", kinds)
	}
	k.whole()
	k.cfg.OldKeys = nil
	k.close(k.open())

	lost.newKeys(slipID2)
	edit(t, lost.cfg.Book, dropLine(-1))
	edit(t, lost.cfg.Book+".denials.jsonl", dropLine(-1))
	_, err = receipts.OpenChain(t.Context(), lost.config())
	if err == nil || strings.Count(err.Error(), "settle --keys") != 3 {
		t.Fatalf("%v", err)
	}
	lost.cfg.OldKeys = old
	lost.close(lost.open())
	lost.whole()
}

// A rollover puts the book aside and begins a new one; the ledger goes on.
func TestRollover(t *testing.T) {
	w, c := twoOfEach(t)
	f := copied(t, c, testCall(t, "files.write", `{"x":1}`))
	k := w.killed()
	if _, err := f.Finish(answer(`{}`)); err != nil {
		t.Fatal(err)
	}
	k.cfg.Rollover = true
	if _, err := receipts.OpenChain(t.Context(), k.config()); err == nil || !strings.Contains(err.Error(), "under a new slip") {
		t.Fatalf("under the same slip: %v", err)
	}
	k.newSlip(slipID2)
	c = k.open()
	k.cfg.Rollover = false
	do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	k.close(c)
	if kinds := k.bookKinds(); kinds != "slip stub" {
		t.Fatalf("book: %s", kinds)
	}
	k.whole()
	if r := k.compare(); r.Receipts != 1 || r.Denials != 1 || r.Earlier != 5 {
		t.Fatalf("%+v", r)
	}
	const aside = ".until-record-12" // open 2 calls 2 refusals, a call, tail, outcome, recovered
	if len(k.lines(k.cfg.Book+aside)) != 4 || len(k.lines(k.cfg.Book+".denials.jsonl"+aside)) != 2 {
		t.Fatal("what was put aside is not whole")
	}
	// The book that was put aside is held against the lines of its own time, by its
	// root alone: one that lost its last line is no longer it, and the guard's own
	// comparison, which gives no root, takes none in the place of the present one.
	old := receipts.CompareInput{PublicKey: k.cfg.LedgerKey.Public()}
	joined := func(lines []string) *strings.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }
	compare := func(book []string, root string) receipts.CompareReport {
		old.Ledger, old.Denials = joined(k.lines(k.cfg.Ledger)), joined(k.lines(receipts.DenialsBeside(k.cfg.Book+aside)))
		old.Book, old.Root = joined(book), root
		r, err := receipts.Compare(old)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	lines := k.lines(k.cfg.Book + aside)
	rootOf := func(lines []string) string {
		r, err := receipts.VerifyBook(joined(lines), receipts.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Root
	}
	if r := compare(lines, rootOf(lines)); !r.Clean() || r.Receipts != 3 || r.Denials != 2 || r.Earlier != 0 || "."+r.Aside != aside {
		t.Errorf("the book put aside: %+v", r)
	}
	if r := compare(lines, ""); r.Clean() || r.Aside != "" {
		t.Errorf("the book put aside in the place of the present one: %+v", r)
	}
	if r := compare(lines[:3], rootOf(lines[:3])); r.Clean() || r.Aside != "" {
		t.Errorf("the book put aside, cut: %+v", r)
	}
	c = k.open()
	if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != 1 {
		t.Fatalf("%+v %s", r, code)
	}
	k.close(c)
	k.whole()
}

// A rollover that was broken off anywhere is completed.
func TestRolloverBrokenOff(t *testing.T) {
	w, c := twoOfEach(t)
	w.close(c)
	w.newSlip(slipID2)
	for nth := 1; ; nth++ {
		k := w.killed()
		d := &faultDisk{Disk: receipts.OSDisk()}
		d.set(nil, nthOf(nth, errIO))
		files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 64 << 10})
		cfg := k.config()
		cfg.Store, cfg.Rollover = files, true
		c, err := receipts.OpenChain(t.Context(), cfg)
		files.Close()
		if err == nil {
			c.Close()
			if nth < 10 {
				t.Fatalf("only %d operations", nth)
			}
			break
		}
		k = k.killed()
		// Which of the two depends on how far it came; both end the same.
		k.cfg.Rollover = k.rolloverPending()
		c = k.open()
		k.cfg.Rollover = false
		do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
		k.close(c)
		if kinds := k.bookKinds(); kinds != "slip stub" {
			t.Fatalf("broken off at operation %d: book: %s", nth, kinds)
		}
		k.whole()
	}
}

// A slip whose book was put aside is never taken on again: what was used of it, and
// its cancellation, stand in the old book. That holds for a second rollover, and for
// a start that completes one under other settings.
func TestRolloverBack(t *testing.T) {
	w := newWorld(t, func(s *receipts.Slip) {
		s.Limits = []receipts.Limit{{Action: "files.write", Kind: receipts.LimitCount, Bound: 1}}
	})
	w.cfg.MarkEvery = 1
	c := w.open()
	do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
	w.handIn(w.cancellation(w.person, cancelID, worldStart))
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatal(code)
	}
	w.close(c)
	first := w.cfg.Slip
	refused := func(t *testing.T, k *world, rollover bool) {
		t.Helper()
		k.cfg.Slip, k.cfg.Rollover = first, rollover
		ledger := k.lines(k.cfg.Ledger)
		c, err := receipts.OpenChain(t.Context(), k.config())
		if err == nil {
			_, code := do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
			c.Close()
			t.Fatalf("a used and cancelled slip was taken on again, and its call answered %q", code)
		}
		var stop *receipts.StartError
		if !errors.As(err, &stop) || !strings.Contains(err.Error(), "was in force here") || len(k.lines(k.cfg.Ledger)) != len(ledger) {
			t.Fatalf("%v", err)
		}
	}
	t.Run("second rollover", func(t *testing.T) {
		k := w.killed()
		k.newSlip(slipID2)
		k.cfg.Rollover = true
		c := k.open()
		do(t, c, testCall(t, "files.write", `{}`), answer(`{}`))
		k.close(c)
		refused(t, k, true)
		refused(t, k, false) // without a rollover it would enter the second book
	})
	t.Run("rollover broken off", func(t *testing.T) {
		k := w.killed()
		k.newSlip(slipID2)
		cfg := k.config()
		cfg.Rollover = true
		d := &faultDisk{Disk: receipts.OSDisk()}
		d.set(func(string, string) error { // behind the notice, before the slip
			if !k.rolloverPending() {
				return errIO
			}
			return nil
		}, nil)
		files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 64 << 10})
		cfg.Store = files
		if c, err := receipts.OpenChain(t.Context(), cfg); err == nil {
			c.Close()
			t.Fatal("the rollover was not broken off")
		}
		files.Close()
		if k.rolloverPending() {
			t.Fatal("broken off before its notice")
		}
		refused(t, k, false)
	})
}

// Another slip with the id of one in the book is refused before anything is written,
// whether it would enter that book or begin a new one.
func TestSlipWithUsedID(t *testing.T) {
	w, c := twoOfEach(t)
	w.close(c)
	w.slip.Purpose.Text = "another purpose"
	w.newSlip(w.slip.ID)
	before := w.snapshot()
	for _, rollover := range []bool{false, true} {
		w.cfg.Rollover = rollover
		c, err := receipts.OpenChain(t.Context(), w.config())
		if err == nil || !strings.Contains(err.Error(), "with an id of its own") {
			if err == nil {
				c.Close()
			}
			t.Errorf("rollover %v: %v", rollover, err)
		}
	}
	if after := w.snapshot(); !maps.Equal(before, after) {
		t.Error("something was changed")
	}
}

// Whatever stands where a cancellation is handed in stops every call until it is
// gone, also what is no plain file; one put right in place is taken up.
func TestCancelNoPlainFile(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	path := w.cfg.Ledger + ".cancellation-x.json"
	record := w.cancellation(w.person, cancelID, worldStart)
	for name, put := range map[string]func() error{
		"a dangling link": func() error { return os.Symlink(filepath.Join(w.dir, "none"), path) },
		"a pipe":          func() error { return syscall.Mkfifo(path, 0o600) },
		"a folder":        func() error { return os.Mkdir(path, 0o700) },
		"unreadable":      func() error { return os.WriteFile(path, record[:40], 0o600) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeRecordNotSound {
			t.Errorf("%s: %q", name, code)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
			t.Errorf("%s gone: %q", name, code)
		}
	}
	// Where the folder was last changed long enough ago for its list to be kept.
	aged := func() {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Dir(path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	aged()
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" {
		t.Fatal(code)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte(" "), receipts.MaxLine+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeRecordNotSound {
			t.Fatalf("too long to be read: %q", code)
		}
	}
	if err := os.WriteFile(path, record[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	aged()
	for range 2 {
		if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeRecordNotSound {
			t.Fatalf("unreadable: %q", code)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("put right in place: %q", code)
	}
	if kinds := w.bookKinds(); !strings.HasSuffix(kinds, "cancellation acknowledgement") {
		t.Fatalf("book: %s", kinds)
	}
	w.close(c)
	w.whole()
}

// A link to a cancellation is a cancellation.
func TestCancelByLink(t *testing.T) {
	w := newWorld(t)
	c := w.open()
	elsewhere := filepath.Join(w.dir, "elsewhere.json")
	if err := os.WriteFile(elsewhere, w.cancellation(w.person, cancelID, worldStart), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, w.cfg.Ledger+".cancellation-x.json"); err != nil {
		t.Fatal(err)
	}
	if _, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != receipts.CodeAfterCancellation {
		t.Fatalf("%q", code)
	}
	w.close(c)
	w.whole()
}

// rolloverPending says whether the ledger has no notice of a rollover yet.
func (w *world) rolloverPending() bool {
	text, err := os.ReadFile(w.cfg.Ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	return !bytes.Contains(text, []byte(`"what":"rollover"`))
}

// nthOf fails the nth operation of any kind.
func nthOf(n int, err error) func(string, string) error {
	var count atomic.Int64
	return func(string, string) error {
		if count.Add(1) == int64(n) {
			return err
		}
		return nil
	}
}

// A mark lets a start check only what follows: what stands before is held against
// the mark's root.
func TestMarks(t *testing.T) {
	w := newWorld(t)
	w.cfg.MarkEvery = 4
	c := w.open()
	for range 6 {
		do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	}
	k := w.killed()
	w.close(c)
	marks := 0
	for _, kind := range k.ledgerKinds() {
		if kind == "mark" {
			marks++
		}
	}
	if marks != 3 {
		t.Fatalf("%d marks, want one every 4 records", marks)
	}
	c = k.open()
	if r, code := do(t, c, testCall(t, "files.read", `{}`), answer(`{}`)); code != "" || r.Seq != 6 {
		t.Fatalf("%+v %s", r, code)
	}
	k.close(c)
	k.whole()
}

// Denials of the last hour count across a restart, also those before a mark.
func TestDenialsAcrossStarts(t *testing.T) {
	w := newWorld(t)
	w.cfg.DenialsPerHour = 3
	for range 5 {
		c := w.open()
		do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
		w.close(c)
	}
	if n := len(w.lines(w.cfg.Book + ".denials.jsonl")); n != 3 {
		t.Fatalf("%d denials in one hour, want 3", n)
	}
	w.clock.Add(time.Hour + time.Second)
	c := w.open()
	do(t, c, testCall(t, "files.delete", `{}`), answer(`{}`))
	w.close(c)
	if n := len(w.lines(w.cfg.Book + ".denials.jsonl")); n != 4 {
		t.Fatalf("%d denials after an hour, want 4", n)
	}
	w.whole()
}
