package receipts_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/receipts"
)

// The power-cut test makes mixed calls on a simulated disk, and then has the power
// fail after every single operation on it, with what was not synced lost, kept,
// torn or reordered. Each start must end with one receipt for every call that was
// forwarded, none twice, every denial there, a sound book, and a chain that goes
// on.
//
// By default each moment is tried with one of the four fates in turn; with
// COUNTERSIGN_POWERCUTS=all with all four. -short tries every 16th.
func TestPowerCuts(t *testing.T) {
	calls := 200
	short := testing.Short() || raceEnabled
	if short {
		calls = 40
	}
	var d *simDisk
	var w *world
	synctest.Test(t, func(t *testing.T) { w, d = powerCutCalls(t, calls) })
	w.t = t

	step, all := 1, os.Getenv("COUNTERSIGN_POWERCUTS") == "all"
	if short {
		step = 16
	}
	starts := 0
	r := d.replay()
	slip := 0
	for r.next() {
		if n := r.count("slip"); n > slip {
			slip = n
		}
		if r.at%step != 0 {
			continue
		}
		for i, fate := range simFates {
			if !all && i != r.at/step%len(simFates) {
				continue
			}
			starts++
			files := r.cut(fate, 1)
			name := fmt.Sprintf("after operation %d of %d (%s), %s", r.at, len(r.ops), describe(r.ops[r.at-1]), fate.name)
			w.cfg.Slip = w.slips[slip]
			again := w.afterCut(name, files, r, starts)
			// Every so often the power fails again in the middle of the recovery.
			if starts%8 == 0 {
				s := again.replay()
				stop := 1 + starts/8*7%len(again.ops)
				for s.at < stop && s.next() {
				}
				w.afterCut(name+fmt.Sprintf(", and after operation %d of the recovery", s.at), s.cut(simFates[starts/8%len(simFates)], 2), r, starts)
			}
		}
	}
	t.Logf("%d starts over %d operations on the disk", starts, len(d.ops))
}

func describe(o simOp) string {
	if o.kind == "event" {
		return "event " + o.to
	}
	return fmt.Sprintf("%s %s %d+%d", o.kind, o.file, o.off, len(o.data))
}

// powerCutCalls makes the calls, in a bubble whose time passes between them, so
// that the book is synced in the background at different moments.
func powerCutCalls(t *testing.T, calls int) (*world, *simDisk) {
	w := newWorld(t, func(s *receipts.Slip) {
		s.Limits = []receipts.Limit{{Action: "files.write", Kind: receipts.LimitCount, Bound: int64(calls / 8)}}
		s.ValidFrom, s.ValidUntil = receipts.TimeOf(time.Now().Add(-time.Hour)), receipts.TimeOf(time.Now().Add(48*time.Hour))
	})
	for i, id := range []string{firstID, slipID2, slipID3} {
		w.newSlip(id)
		w.slips[i] = w.cfg.Slip
	}
	w.cfg.Slip = w.slips[0]
	d := newSimDisk(nil)
	files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 192 << 10})
	defer files.Close()
	w.files, w.cfg.Clock, w.cfg.MarkEvery, w.cfg.DenialsPerHour = files, time.Now, 16, 3600
	w.cfg.Ledger, w.cfg.Book = "/sim/state/ledger.jsonl", "/sim/book.jsonl"
	open := func() *receipts.Chain {
		c, err := receipts.OpenChain(t.Context(), w.config())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	for i := range calls {
		switch i {
		case calls / 4:
			w.close(c)
			c = open()
		case calls / 2:
			w.close(c)
			d.event("slip")
			w.cfg.Slip = w.slips[1]
			c = open()
		case calls * 5 / 8: // now in a guard that runs
			d.event("slip")
			w.cfg.Slip = w.slips[2]
			turn, err := c.TakeFirst(t.Context())
			if err == nil {
				err = turn.Renew(t.Context(), w.cfg.Slip, lineRules)
			}
			if err != nil {
				t.Fatal(err)
			}
			turn.Release()
		case calls * 7 / 8:
			other := w.slip
			other.ID = slipID3
			cancel := receipts.Cancellation{ID: cancelID, Slip: receipts.Fingerprint(other.Append(nil)), When: receipts.TimeOf(time.Now())}
			d.put(w.cfg.Ledger+".cancellation-x.json", w.person.sign(receipts.KindCancellation, cancel.Append(nil)))
		}
		if i%3 == 0 {
			time.Sleep(time.Duration(i%7) * 17 * time.Millisecond)
		}
		turn, err := c.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		action := []string{"files.read", "files.read", "files.write", "files.read", "files.delete"}[i%5]
		call := testCall(t, action, fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", i*37%700)))
		if i%11 == 0 {
			call.Watched = []receipts.Watched{{Rule: "a/w", Code: "condition"}}
		}
		if i%13 == 7 {
			if err := turn.Refuse(receipts.Refused{Call: call, By: "rule", Code: "condition", Rule: "a/b"}); err != nil {
				t.Fatal(err)
			}
			d.event("refused")
			continue
		}
		if a := turn.Check(call.Proposal); !a.Allowed {
			p, _ := a.First()
			if err := turn.Refuse(receipts.Refused{Call: call, By: "slip", Code: string(p.Code)}); err != nil {
				t.Fatal(err)
			}
			d.event("refused")
			continue
		}
		f, err := turn.Copy(call)
		if err != nil {
			t.Fatal(err)
		}
		d.event("forwarded %s", f.ID())
		time.Sleep(time.Duration(i%4) * 15 * time.Millisecond)
		out := answer(fmt.Sprintf(`{"content":[],"n":%d}`, i))
		if i%17 == 3 {
			out = unknown("timeout")
		}
		r, err := f.Finish(out)
		if err != nil {
			t.Fatal(err)
		}
		d.event("answered %s %s", r.ID, r.Fingerprint)
	}
	w.close(c)
	return w, d
}

// afterCut starts on what a cut left and checks everything. It gives the disk,
// with the log of the start.
func (w *world) afterCut(name string, left map[string][]byte, r *simReplay, n int) *simDisk {
	t := w.t
	t.Helper()
	d := newSimDisk(left)
	files := receipts.NewFiles(d, receipts.FilesOptions{Ahead: 192 << 10})
	defer files.Close()
	k := *w
	k.files = files
	k.cfg.Clock = func() time.Time { return bubbleStart.Add(time.Hour) }
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	c, err := receipts.OpenChain(t.Context(), k.config())
	if err != nil {
		fail("%v", err)
	}
	started := &simDisk{base: left, ops: slices.Clone(d.ops)}
	// The chain goes on, unless its slip was cancelled.
	_, code := do(t, c, testCall(t, "files.read", `{"after":"the cut"}`), answer(`{}`))
	if code != "" && code != receipts.CodeAfterCancellation {
		fail("the next call is refused: %s", code)
	}
	if err := c.Close(); err != nil {
		fail("closing: %v", err)
	}

	// One receipt for each forwarded call, none twice, those that were answered
	// as they were answered.
	prints := map[string]string{}
	for i, line := range simLines(d.files[w.cfg.Book]) {
		id, fp := stubOf(t, line)
		if id == "" {
			continue
		}
		if _, ok := prints[id]; ok {
			fail("two receipts of the call %s, one on line %d", id, i+1)
		}
		prints[id] = fp
	}
	refused := 0
	for _, e := range r.events {
		part := strings.Fields(e)
		switch part[0] {
		case "forwarded":
			if prints[part[1]] == "" {
				fail("no receipt of the forwarded call %s", part[1])
			}
		case "answered":
			if prints[part[1]] != part[2] {
				fail("the receipt of the answered call %s is another than the agent was given", part[1])
			}
		case "refused":
			refused++
		}
	}
	denials := simLines(d.files[w.cfg.Book+".denials.jsonl"])
	seen := map[string]bool{}
	for _, line := range denials {
		if seen[line] {
			fail("a denial stands twice")
		}
		seen[line] = true
	}
	if len(denials) < refused {
		fail("%d denials of %d refused calls", len(denials), refused)
	}
	if n%16 != 0 {
		return started
	}

	// From time to time everything is checked in full, and started once more.
	report, err := receipts.VerifyBook(bytes.NewReader(d.files[w.cfg.Book]), receipts.CheckOptions{IssuerKeys: w.cfg.IssuerKeys})
	if err != nil || !report.Summary.Intact || !report.Summary.WithinSlips {
		fail("the book is not sound: %+v %v", report.Summary, report.Problems)
	}
	ledger, err := receipts.VerifyLedger(bytes.NewReader(d.files[w.cfg.Ledger]), receipts.LedgerOptions{PublicKey: w.cfg.LedgerKey.Public()})
	if err != nil || !ledger.Sound() || ledger.OpenCall > 0 {
		fail("ledger: %s", ledger.Summary())
	}
	compared, err := receipts.Compare(receipts.CompareInput{Ledger: bytes.NewReader(d.files[w.cfg.Ledger]), Book: bytes.NewReader(d.files[w.cfg.Book]),
		Denials: bytes.NewReader(d.files[w.cfg.Book+".denials.jsonl"]), PublicKey: w.cfg.LedgerKey.Public()})
	if err != nil || !compared.Clean() || compared.Denials != len(denials) {
		fail("%v %v %v", err, compared.Differences, compared.Unsound)
	}
	notices := bytes.Count(d.files[w.cfg.Ledger], []byte(`"what":"recovered`))
	c, err = receipts.OpenChain(t.Context(), k.config())
	if err != nil {
		fail("a second start: %v", err)
	}
	if err := c.Close(); err != nil {
		fail("closing: %v", err)
	}
	if bytes.Count(d.files[w.cfg.Ledger], []byte(`"what":"recovered`)) != notices {
		fail("a second start recovered again")
	}
	return started
}

// bubbleStart is when the clock of a synctest bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func simLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// stubOf gives id and fingerprint of the stub on a book line, "" for none.
func stubOf(t testing.TB, line string) (id, fingerprint string) {
	_, after, ok := strings.Cut(line, `"stub":{"payload":"`)
	if !ok {
		return "", ""
	}
	encoded, _, _ := strings.Cut(after, `"`)
	payload, err := b64.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := receipts.ReadStub(payload)
	if err != nil {
		t.Fatal(err)
	}
	return stub.ID, receipts.Fingerprint(payload)
}
