package receipts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"time"

	"countersign/internal/ijson"
)

// maxKept is how many of the last receipts a start keeps whole, to make them
// again where the book lost them: far more than are written in the 50 ms that a
// book may lag.
const maxKept = 4096

const (
	lookFirst  = "Keep a copy of it, run `countersign ledger verify`, and look into it before anything else; nothing was changed"
	putBack    = "Put the newest ledger back; nothing was changed"
	notChanged = "Nothing was changed"
)

// found is what a start finds in the records.
type found struct {
	c    *Chain
	stop *StartError

	ledger ledgerState
	end    int64 // of the last whole line of the ledger, in bytes
	tail   tail  // behind it

	// Since the last mark, or the ledger's beginning:
	receipts []receiptRef   // of all outcome lines, in order
	kept     []*keptReceipt // the last of them, whole
	refused  []denialRef    // of all denials, in order
	denials  [][]byte       // the content of the last of them

	bookTail    tail
	inBook      int // of receipts: so many the book holds
	denialsTail tail
	inDenials   int // of refused: so many stand among the denials
}

// receiptRef says which receipt an outcome line has.
type receiptRef struct {
	line          int64 // of the ledger, 1 for the first
	stub, counter string
}

// keptReceipt is all that is needed to make a receipt again.
type keptReceipt struct {
	line    int64
	call    *CallLine
	outcome *OutcomeLine
}

type denialRef struct {
	line   int64
	denial string // fingerprint
}

// tail is what stands behind the last whole line of a log.
type tail struct {
	bytes   []byte // without the zeros at the end
	zeros   int64
	newline bool // the last line lacks its line end and is whole otherwise
}

func (t *tail) empty() bool { return len(t.bytes) == 0 && t.zeros == 0 && !t.newline }

// sum is the fingerprint of all that stands in the tail.
func (t *tail) sum() string {
	h := sha256.New()
	h.Write(t.bytes)
	zeros := make([]byte, fillPiece)
	for n := t.zeros; n > 0; n -= fillPiece {
		h.Write(zeros[:min(n, fillPiece)])
	}
	return encodeBase64url(h.Sum(nil))
}

// torn says whether a piece is what a power cut leaves of a line: without its
// end, or with zeros in it.
func (p *piece) torn() bool { return !p.whole || bytes.IndexByte(p.text, 0) >= 0 }

// rest reads a log from an offset to its end.
func rest(l Log, from int64) ([]byte, error) {
	b := make([]byte, l.Size()-from)
	_, err := io.ReadFull(section(l, from, l.Size()), b)
	return b, err
}

// readLedger reads the ledger from its last mark on, and finds its end.
func (f *found) readLedger(ctx context.Context) error {
	log, path := f.c.logs.Ledger, f.c.cfg.Ledger
	f.ledger.key = f.c.cfg.LedgerKey.Public()
	f.tail.zeros = log.Zeroed()
	from, err := f.fromMark(log)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if len(f.stop.Problems) > 0 {
		return nil
	}
	f.end = from
	bad := int64(0) // line of the first that is not whole
	for p, err := range pieces(section(log, from, log.Size()), from, maxLedgerLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if bad > 0 {
			if l, err := readLine(&f.ledger.doc, p.text); err == nil {
				if _, ours := l.Signed(f.ledger.key); ours {
					f.stop.add(path, bad, "this line is not whole, and sound lines follow it: the ledger was damaged after it was written. %s", lookFirst)
					return nil
				}
			}
			continue
		}
		l, err := f.ledger.take(p.text)
		if err == nil {
			f.end = p.off + int64(len(p.text))
			if p.whole {
				f.end++
			} else {
				f.tail.newline = true
			}
			f.remember(&l)
			continue
		}
		if l.Hash != "" || !p.torn() { // a line that can be read was not torn
			f.stop.add(path, f.ledger.lines+1, "%s: the ledger was damaged or altered after it was written. %s", err, lookFirst)
			return nil
		}
		bad = f.ledger.lines + 1
		if f.tail.bytes, err = rest(log, p.off); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return nil
}

// fromMark finds the last mark, sets the state to what it says and gives the
// offset behind it; without one that is 0. What went through in the last hour is
// counted on the way and before it.
func (f *found) fromMark(log Log) (from int64, err error) {
	hour := f.c.cfg.Clock().Add(-time.Hour)
	var denials, notices []time.Time
	var mark *Line // whose line before has not been seen
	for p, err := range backwards(log, log.Size(), maxLedgerLine) {
		if err != nil {
			return 0, err
		}
		if from == 0 && p.whole && bytes.Contains(p.text, []byte(`"kind":"mark"`)) {
			l, err := readLine(&f.ledger.doc, p.text)
			_, ok := l.Body.(*MarkLine)
			if _, ours := l.Signed(f.ledger.key); err == nil && ok && ours {
				from = p.off + int64(len(p.text)) + 1
				f.ledger.lines, f.ledger.prev, f.ledger.first = l.Seq+1, l.Hash, &OpenLine{}
				if err := f.ledger.content(&l); err != nil {
					f.stop.add(f.c.cfg.Ledger, l.Seq+1, "%s: the ledger was damaged or altered after it was written. %s", err, lookFirst)
					return from, nil
				}
				if err := f.beforeMark(log, &l, p.off); err != nil {
					return 0, err
				}
				mark = &l
				continue
			}
		}
		if mark != nil {
			if Fingerprint(p.text) != mark.Prev {
				f.stop.add(f.c.cfg.Ledger, mark.Seq, "the line before the last mark is not the one that the mark names: a line is missing, doubled or altered. %s", lookFirst)
				return from, nil
			}
			mark = nil
		}
		if from == 0 {
			continue // read again, forwards, and counted then
		}
		at, ok := lineAt(p.text)
		if !ok || at.Before(hour) || len(denials) >= f.c.denials.most && len(notices) >= f.c.notices.most {
			break
		}
		switch {
		case bytes.Contains(p.text, []byte(`"kind":"refused"`)) && bytes.Contains(p.text, []byte(`"code":"`)):
			denials = append(denials, at)
		case bytes.Contains(p.text, []byte(`"kind":"notice"`)):
			notices = append(notices, at)
		}
	}
	for _, at := range slices.Backward(denials) {
		f.c.denials.took(at)
	}
	for _, at := range slices.Backward(notices) {
		f.c.notices.took(at)
	}
	return from, nil
}

// beforeMark holds what can be seen of the ledger before a mark, without reading
// it, against the mark: its length, and its first line.
func (f *found) beforeMark(log Log, mark *Line, off int64) error {
	path := f.c.cfg.Ledger
	if e := mark.Body.(*MarkLine).Ledger; e.Lines != 0 && e.Bytes != off {
		f.stop.add(path, mark.Seq+1, "%d bytes stand before this mark, and there were %d when it was written: lines are missing, doubled or altered. %s", off, e.Bytes, lookFirst)
		return nil
	}
	for p, err := range pieces(section(log, 0, off), 0, maxLedgerLine) {
		if err != nil {
			return err
		}
		first := ledgerState{key: f.ledger.key}
		l, err := readLine(&first.doc, p.text)
		if open, ok := l.Body.(*OpenLine); err == nil && ok {
			first.key, _ = decodeBase64url([]byte(open.Key)) // the ledger may have had another key then
		}
		if err == nil {
			err = first.chained(&l)
		}
		if err == nil {
			err = first.content(&l)
		}
		if err != nil {
			f.stop.add(path, 1, "this is not the ledger's first line (%s): the ledger was damaged or altered after it was written. %s", err, lookFirst)
		}
		return nil
	}
	f.stop.add(path, 1, "the ledger begins with a mark: its beginning is missing. %s", lookFirst)
	return nil
}

// lineAt finds a ledger line's at without reading the line. No text inside can
// look like it, since there its quotes are escaped.
func lineAt(line []byte) (time.Time, bool) {
	_, after, ok := bytes.Cut(line, []byte(`"at":"`))
	if !ok || len(after) < len(lineTimeLayout) {
		return time.Time{}, false
	}
	t, err := time.Parse(lineTimeLayout, string(after[:len(lineTimeLayout)]))
	return t, err == nil
}

// remember keeps what later steps need of a ledger line.
func (f *found) remember(l *Line) {
	switch b := l.Body.(type) {
	case *OutcomeLine:
		f.receipts = append(f.receipts, receiptRef{line: l.Seq + 1, stub: Fingerprint(b.Stub), counter: Fingerprint(b.Countersignature)})
		f.kept = last(append(f.kept, &keptReceipt{line: l.Seq + 1, call: f.ledger.ended, outcome: b}))
	case *RefusedLine:
		if b.Count == 0 {
			f.c.denials.took(l.At)
		}
		if b.Denial != nil {
			f.refused = append(f.refused, denialRef{l.Seq + 1, Fingerprint(b.Denial)})
			f.denials = last(append(f.denials, b.Denial))
		}
	case *NoticeLine:
		f.c.notices.took(l.At)
		if b.What == noticeRollover {
			f.receipts, f.kept, f.refused, f.denials = nil, nil, nil, nil
		}
	case *MarkLine:
		// All before it was durable, in these files, when it was written.
		f.receipts, f.kept, f.refused, f.denials = nil, nil, nil, nil
	}
}

// last keeps the last maxKept of a list.
func last[T any](list []T) []T {
	if len(list) > 2*maxKept {
		list = append(list[:0], list[len(list)-maxKept:]...)
	}
	return list
}

// readBook reads the book into a new checker and holds its receipts against the
// ledger's. Up to the last mark its lines were checked before the mark was
// written, and its root shows that they are the same; up to where the ledger
// says it was durable nothing may be missing.
func (f *found) readBook(ctx context.Context) error {
	c, log, path := f.c, f.c.logs.Book, f.c.cfg.Book
	c.checker = NewChecker(CheckOptions{IssuerKeys: c.cfg.IssuerKeys, SummaryOnly: true})
	f.bookTail.zeros = log.Zeroed()
	durable, mark := f.ledger.durable, f.ledger.mark
	var marked int64 // lines the mark covers
	if mark != nil {
		marked = mark.Book.Lines
	}
	torn := false
	for p, err := range pieces(section(log, 0, log.Size()), 0, MaxLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line := c.book.end.Lines + 1
		if torn {
			if f.unknownReceipt(&p) {
				f.stop.add(path, line, "this line is not whole, and a receipt that the ledger %s knows nothing of follows it. %s", c.cfg.Ledger, putBack)
				return nil
			}
			continue
		}
		if p.torn() {
			if p.off < durable.Bytes {
				f.stop.add(path, line, "this line is not whole, and it was when %s was last written: the book was damaged since. %s", c.cfg.Ledger, notChanged)
				return nil
			}
			torn = true
			if f.bookTail.bytes, err = rest(log, p.off); err != nil {
				return fmt.Errorf("reading %s: %w", path, err)
			}
			continue
		}
		add := c.checker.Add
		if line <= marked {
			add = c.checker.AddOwn
		}
		e := add(p.text)
		c.book.wrote(p.text)
		if len(e.Problems) > 0 {
			if e.Problems[0].Code == CodeIssuerNotExpected {
				f.stop.add(path, line, "a slip by %s, which agent.issuerKeys does not name (%s): keep the thumbprint there for as long as the book holds the slip. %s", e.IssuerKey, e.Problems[0].Code, notChanged)
				return nil
			}
			f.stop.add(path, line, "%s: %s. The book is not sound; look into it with `countersign verify`. %s", e.Problems[0].Code, e.Problems[0].Message, notChanged)
			return nil
		}
		c.remember(&e)
		if line == marked && (c.book.end != mark.Book || c.checker.Root() != mark.Root) {
			f.stop.add(path, 0, "its first %d lines are not those that the last mark in %s names: the book was altered. %s", line, c.cfg.Ledger, notChanged)
			return nil
		}
		if line == durable.Lines && c.book.end != durable {
			f.stop.add(path, line, "this line is not the one that %s names as durable: the book was altered. %s", c.cfg.Ledger, notChanged)
			return nil
		}
		if e.Kind == KindStub && line > marked && !f.isNext(line, p.text) {
			return nil
		}
	}
	if c.book.end.Lines < max(durable.Lines, marked) {
		f.stop.add(path, 0, "it holds %d lines, and %d were durable when %s was last written: lines were cut off. Put them back; nothing was changed", c.book.end.Lines, max(durable.Lines, marked), c.cfg.Ledger)
		return nil
	}
	if why := f.bookTailAgainst(); why != "" {
		f.stop.add(path, c.book.end.Lines+1, "this line is not whole, and %s: the ledger is older than the book, or one of the two was altered. %s", why, putBack)
		return nil
	}
	if missing := len(f.receipts) - f.inBook; missing > min(maxKept, len(f.kept)) {
		f.stop.add(path, 0, "it lacks %d receipts of %s, more than can have been lost in a power cut. %s", missing, c.cfg.Ledger, notChanged)
	}
	return nil
}

// isNext holds a receipt in the book against the ledger's next.
func (f *found) isNext(line int64, text []byte) bool {
	path, ledger := f.c.cfg.Book, f.c.cfg.Ledger
	if f.inBook >= len(f.receipts) {
		f.stop.add(path, line, "the book holds a receipt that the ledger %s knows nothing of: the ledger is older than the book. %s", ledger, putBack)
		return false
	}
	ref := f.receipts[f.inBook]
	if stub, counter := bookPrints(text); stub != ref.stub || counter != ref.counter {
		f.stop.add(path, line, "this receipt is not the one that %s:%d holds: one of the two was altered. %s", ledger, ref.line, notChanged)
		return false
	}
	f.inBook++
	return true
}

// unknownReceipt says whether a piece behind the torn line is a whole receipt
// that no outcome line has.
func (f *found) unknownReceipt(p *piece) bool {
	if p.torn() {
		return false
	}
	stub, _ := bookPrints(p.text)
	return stub != "" && !slices.ContainsFunc(f.receipts, func(r receiptRef) bool { return r.stub == stub })
}

// bookPrints gives the fingerprints of the stub and the countersignature of a
// book line, "" for one that is not there.
func bookPrints(line []byte) (stub, counter string) {
	var d ijson.Doc
	if d.Parse(line, ijson.Options{Depth: maxDepth}) != nil {
		return "", ""
	}
	print := func(name string) string {
		v := d.Root().Member(name)
		if !v.Exists() {
			return ""
		}
		payload, err := decodeBase64url(v.Member("payload").Bytes(nil))
		if err != nil {
			return ""
		}
		return Fingerprint(payload)
	}
	return print("stub"), print("countersignature")
}

// readDenials holds the denials behind the last mark against the refused lines of
// the ledger.
func (f *found) readDenials(ctx context.Context) error {
	c, log, path := f.c, f.c.logs.Denials, Place{Book: f.c.cfg.Book}.Denials()
	f.denialsTail.zeros = log.Zeroed()
	c.denied = f.ledger.denied
	if log.Size() < c.denied.Bytes {
		f.stop.add(path, 0, "it holds %d bytes, and %d were durable when the last mark in %s was written: denials were cut off. Put them back; nothing was changed", log.Size(), c.denied.Bytes, c.cfg.Ledger)
		return nil
	}
	for p, err := range backwards(log, c.denied.Bytes, MaxLine) {
		if err != nil || !p.whole || Fingerprint(p.text) != c.denied.Last {
			f.stop.add(path, c.denied.Lines, "this is not the line that the last mark in %s names: the denials were altered. %s", c.cfg.Ledger, notChanged)
			return nil
		}
		if _, c.lastDenial, err = readDenialLine(p.text); err != nil {
			f.stop.add(path, c.denied.Lines, "%s. %s", err, notChanged)
			return nil
		}
		break
	}
	torn := false
	for p, err := range pieces(section(log, c.denied.Bytes, log.Size()), c.denied.Bytes, MaxLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line := c.denied.Lines + 1
		if p.torn() && !torn {
			torn = true
			if f.denialsTail.bytes, err = rest(log, p.off); err != nil {
				return fmt.Errorf("reading %s: %w", path, err)
			}
		}
		if p.torn() {
			continue
		}
		denial, content, err := readDenialLine(p.text)
		if err != nil {
			if !torn {
				f.stop.add(path, line, "%s. %s", err, notChanged)
				return nil
			}
			continue
		}
		known := slices.ContainsFunc(f.refused, func(r denialRef) bool { return r.denial == denial })
		switch {
		case torn && known:
			continue
		case torn || f.inDenials >= len(f.refused):
			f.stop.add(path, line, "the ledger %s knows nothing of this denial: the ledger is older. %s", c.cfg.Ledger, putBack)
			return nil
		}
		if ref := f.refused[f.inDenials]; denial != ref.denial {
			f.stop.add(path, line, "this denial is not the one that %s:%d holds: one of the two was altered. %s", c.cfg.Ledger, ref.line, notChanged)
			return nil
		}
		f.inDenials++
		c.lastDenial = content
		c.denied = c.denied.with(p.text)
	}
	if why := f.denialsTailAgainst(); why != "" {
		f.stop.add(path, c.denied.Lines+1, "this line is not whole, and %s: the ledger is older than the denials, or one of the two was altered. %s", why, putBack)
		return nil
	}
	if missing := len(f.refused) - f.inDenials; missing > min(maxKept, len(f.denials)) {
		f.stop.add(path, 0, "it lacks %d denials of %s, more than can have been lost in a power cut. %s", missing, c.cfg.Ledger, notChanged)
	}
	return nil
}

// readDenialLine gives the denial on a line and its fingerprint. Its signatures
// are not looked at.
func readDenialLine(line []byte) (string, *Denial, error) {
	var d, content ijson.Doc
	v, err := parseLine(&d, line)
	if err != nil {
		return "", nil, err
	}
	m := open(v, "line", "denial", "")
	if m.err != nil {
		return "", nil, m.err
	}
	e, err := readEnvelope(KindDenial, m.value("denial"), &content)
	if err != nil {
		return "", nil, err
	}
	denial, err := readDenial(e.content)
	if err != nil {
		return "", nil, err
	}
	return e.Fingerprint(), denial, nil
}
