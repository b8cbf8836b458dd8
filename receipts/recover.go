package receipts

import (
	"errors"
	"fmt"
	"sync"
)

// signer is the keys with this fingerprint, nil where they are not at hand.
func (c *Chain) signer(fingerprint string) *Signer {
	for _, s := range append([]*Signer{c.cfg.Agent, c.cfg.Guard}, c.cfg.OldKeys...) {
		if s.Keys().Fingerprint() == fingerprint {
			return s
		}
	}
	return nil
}

// keysAtHand looks whether all that must be signed again can be, before anything
// is changed.
func (f *found) keysAtHand() {
	if len(f.stop.Problems) > 0 {
		return
	}
	c := f.c
	need := func(line int64, call *CallLine, what string) {
		for _, k := range []struct{ whose, fp string }{{"agent", call.AgentKeys}, {"guard", call.GuardKeys}} {
			if c.signer(k.fp) == nil {
				f.stop.add(c.cfg.Ledger, line, "%s, under keys of the %s (%s) that are not in the settings any more. Finish it with `countersign settle --keys OLDFILE`; nothing was changed", what, k.whose, k.fp)
			}
		}
	}
	for _, r := range f.missing() {
		need(r.line, r.call, "the receipt of this line must be written again")
	}
	if call := f.ledger.call; call != nil {
		need(f.ledger.callSeq+1, call, "the call of this line was left open")
	}
	for i, d := range f.missingDenials() {
		if _, err := f.denialSigner(d); err != nil {
			f.stop.add(c.cfg.Ledger, f.refused[f.inDenials+i].line, "the denial of this line must be written again: %s. %s", err, notChanged)
		}
	}
}

// missing gives the receipts the book has to be given again.
func (f *found) missing() []*keptReceipt {
	n := len(f.receipts) - f.inBook
	return f.kept[len(f.kept)-n:]
}

func (f *found) missingDenials() [][]byte {
	n := len(f.refused) - f.inDenials
	return f.denials[len(f.denials)-n:]
}

// denialSigner is the keys of the agent whose denial it is.
func (f *found) denialSigner(content []byte) (*Signer, error) {
	d, err := ReadDenial(content)
	if err != nil {
		return nil, err
	}
	slip, ok := f.c.checker.Slip(d.Slip)
	if !ok {
		return nil, errors.New("the book does not hold its slip")
	}
	s := f.c.signer(slip.Agent.Keys.Fingerprint())
	if s == nil {
		return nil, errors.New("the agent's keys of that time are not in the settings any more; finish it with `countersign settle --keys OLDFILE`")
	}
	return s, nil
}

// recover finishes what was left open. Each step can be broken off anywhere: the
// next start finds what is left of it.
func (f *found) recover() error {
	c := f.c
	// What was read may stand in memory only, after a guard that was killed.
	if err := c.Sync(); err != nil {
		return err
	}
	c.book.pending, c.book.durable = nil, c.book.end
	if err := f.mendLedger(); err != nil {
		return err
	}
	if err := f.cut(&f.bookTail, c.logs.Book, "book", c.book.end.Bytes); err != nil {
		return err
	}
	if err := f.cut(&f.denialsTail, c.logs.Denials, "denials", c.denied.Bytes); err != nil {
		return err
	}
	again := f.missing()
	for _, r := range again {
		if err := c.writeAgain(r.call, r.outcome); err != nil {
			return err
		}
	}
	finished := f.ledger.call != nil
	if finished {
		if err := f.finishOpen(); err != nil {
			return err
		}
	}
	denials := f.missingDenials()
	for _, content := range denials {
		s, err := f.denialSigner(content)
		if err != nil {
			return err
		}
		record, err := s.Sign(KindDenial, content)
		if err != nil {
			return err
		}
		if err := c.logs.Denials.Reserve(MaxLine + 1); err != nil {
			return err
		}
		if err := c.appendDenial(record); err != nil {
			return err
		}
		if c.lastDenial, err = ReadDenial(content); err != nil {
			return err
		}
	}
	if len(again) == 0 && !finished && len(denials) == 0 {
		return nil
	}
	if err := c.Sync(); err != nil {
		return err
	}
	text := fmt.Sprintf("%d receipts and %d denials were written again", len(again), len(denials))
	if finished {
		text += "; the call that was out when the guard ended was finished as crashed, its outcome not known"
	}
	c.log.Warn("records were recovered; a notice in the ledger says so", "receipts", len(again), "denials", len(denials), "crashed", finished)
	return c.remark(&NoticeLine{What: noticeRecovered, Text: text})
}

// remark writes a line that is no call at a start.
func (c *Chain) remark(body LineBody) error {
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	_, err := c.ledger.append(body)
	return err
}

// mendLedger cuts off what is no whole line and writes a notice that names it.
func (f *found) mendLedger() error {
	c, t := f.c, &f.tail
	if t.empty() {
		return nil
	}
	n := &NoticeLine{What: noticeTail, File: "ledger", Bytes: int64(len(t.bytes)) + t.zeros, SHA256: t.sum()}
	switch {
	case t.newline:
		n.Text = "the last line lacked its line end, which was added; the line is whole"
	case len(t.bytes) > 0:
		n.Text = "a line that was not whole was cut off; a call it copied was not sent, one whose outcome it was is noted as crashed"
	default:
		n.Text = "zeros behind the last line: room set aside by a guard that was not closed, or a line lost in a power cut"
	}
	if err := c.logs.Ledger.Cut(f.end); err != nil {
		return err
	}
	if t.newline {
		if err := c.logs.Ledger.Append(nil); err != nil {
			return err
		}
		if err := c.logs.Ledger.Sync(); err != nil {
			return err
		}
	}
	c.log.Warn("the ledger's end was not whole and was mended; a notice in it says so", "bytes", n.Bytes, "line", f.ledger.lines)
	return c.remark(n)
}

// cut writes a notice of what is cut off a book or the denials, and cuts it off.
func (f *found) cut(t *tail, log Log, name string, size int64) error {
	if t.empty() {
		return nil
	}
	n := &NoticeLine{What: noticeTail, File: name, Bytes: int64(len(t.bytes)) + t.zeros, SHA256: t.sum(),
		Text: "what was not yet durable was cut off; the records it held are written again"}
	f.c.log.Warn("an end that was not whole is cut off; a notice in the ledger says so", "file", name, "bytes", n.Bytes)
	if err := f.c.remark(n); err != nil {
		return err
	}
	return log.Cut(size)
}

// finishOpen writes the outcome of the call that was out when the guard ended:
// what the server did is not known. Its receipt is dated T0, as ever.
func (f *found) finishOpen() error {
	c, call := f.c, f.ledger.call
	stub := *f.ledger.draft
	if stub.Approval == "" {
		stub.Details = append(stub.Details, Detail{Name: detailUnknown, SHA256: Fingerprint([]byte(ReasonCrashed))})
	}
	out := &OutcomeLine{Book: c.book.known(c.logs.Book.Synced()), Call: f.ledger.callSeq, How: ReasonCrashed, Stub: stub.Append(nil)}
	counter := Countersignature{Stub: Fingerprint(out.Stub), When: max(TimeOf(c.cfg.Clock()), stub.When)}
	out.Countersignature = counter.Append(nil)
	if err := c.remark(out); err != nil {
		return err
	}
	return c.writeAgain(call, out)
}

// detailUnknown names the detail of a stub whose call has no known outcome.
const detailUnknown = "countersign.outcome-not-known"

// writeAgain makes the receipt of an outcome line and appends it to the book.
// Both signatures are made deterministically, so it is the same bytes as ever.
func (c *Chain) writeAgain(call *CallLine, out *OutcomeLine) error {
	agent, guard := c.signer(call.AgentKeys), c.signer(call.GuardKeys)
	if agent == nil || guard == nil {
		return errors.New("the keys of a receipt are not at hand") // looked for by keysAtHand
	}
	var r signedPair
	r.sign(agent, guard, out).Wait()
	if err := r.err(); err != nil {
		return err
	}
	c.unmarked++
	return c.appendBook(AppendStubLine(nil, r.stub, r.counter, call.Approval))
}

// rollOver puts the book aside and begins a new one. The notice comes first: a
// start that finds it, and no open line behind it, completes what it announces.
func (f *found) rollOver() error {
	c := f.c
	next, _ := c.ledger.head()
	name := fmt.Sprintf("until-record-%d", next+1) // of the notice, so no two are alike
	n := &NoticeLine{What: noticeRollover, File: name, Bytes: c.book.end.Bytes, SHA256: c.checker.Root(),
		Text: fmt.Sprintf("a book of %d entries was put aside; sha256 is its top fingerprint", c.book.end.Lines)}
	if err := c.Sync(); err != nil {
		return err
	}
	if err := c.remark(n); err != nil {
		return err
	}
	if err := c.logs.Archive(name); err != nil {
		return err
	}
	c.checker = NewChecker(CheckOptions{IssuerKeys: c.cfg.IssuerKeys, SummaryOnly: true})
	c.book, c.denied, c.unmarked = bookEnd{}, Extent{}, 0
	clear(c.cancelled)
	c.cfg.Rollover = false
	return nil
}

// sign begins both pairs of signatures side by side.
func (r *signedPair) sign(agent, guard *Signer, l *OutcomeLine) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() { r.stub, r.stubErr = agent.Sign(KindStub, l.Stub) })
	wg.Go(func() { r.counter, r.counterErr = guard.Sign(KindCountersignature, l.Countersignature) })
	return &wg
}
