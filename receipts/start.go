package receipts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"countersign/internal/ijson"
)

// StartError says what in the records of a chain stops a start.
type StartError struct {
	Chain    string
	Problems []StartProblem
}

// StartProblem is one thing that stops a start.
type StartProblem struct {
	File string // path
	Line int64  // 1 for the first; 0 where it is not about one line
	Msg  string // what was found, what was expected, what to do
}

func (p StartProblem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Msg)
	}
	return p.File + ": " + p.Msg
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the records of %q do not allow a start", e.Chain)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// maxKept is how many of the last receipts a start keeps whole, to make them
// again where the book lost them: far more than are written in the 50 ms that a
// book may lag.
const maxKept = 4096

// found is what a start found in the records.
type found struct {
	ledger ledgerState
	end    int64 // of the last whole line of the ledger, in bytes
	tail   tail  // behind it

	receipts []receiptRef // of all outcome lines, in order
	kept     []*keptReceipt
	refused  []denialRef // of all denials, in order

	book     bookEnd
	bookTail tail
	inBook   int // receipts the book holds

	denials     Extent
	denialsTail tail
	inDenials   int
}

// receiptRef says which receipt an outcome line has.
type receiptRef struct {
	line          int64 // of the ledger, 1 for the first
	stub, counter string
}

// keptReceipt is all that is needed to make a receipt again.
type keptReceipt struct {
	outcome  *OutcomeLine
	approval []byte
}

type denialRef struct {
	line   int64
	denial string // fingerprint
}

// tail is what stands behind the last whole line of a log.
type tail struct {
	bytes   []byte // without the zeros at the end
	zeros   int64
	newline bool // bytes are a whole line that lacks only its line end
}

func (t *tail) empty() bool { return len(t.bytes) == 0 && t.zeros == 0 }

// start reads and checks everything, and leaves the chain ready for its first
// turn.
func (c *Chain) start(ctx context.Context) error {
	var f found
	s := &StartError{Chain: c.cfg.Name}
	if err := c.readLedger(ctx, &f, s); err != nil {
		return err
	}
	if len(s.Problems) == 0 {
		if err := c.readBook(ctx, &f, s); err != nil {
			return err
		}
		if err := c.readDenials(ctx, &f, s); err != nil {
			return err
		}
	}
	c.held(&f, s)
	if len(s.Problems) > 0 {
		return s
	}
	return c.begin(&f)
}

func (s *StartError) add(file string, line int64, format string, args ...any) {
	s.Problems = append(s.Problems, StartProblem{file, line, fmt.Sprintf(format, args...)})
}

// readLedger reads the ledger and finds its end.
func (c *Chain) readLedger(ctx context.Context, f *found, s *StartError) error {
	log := c.logs.Ledger
	size := log.Size()
	f.ledger.key = c.cfg.LedgerKey.Public()
	f.tail.zeros = log.Zeroed()
	hour := c.cfg.Clock().Add(-time.Hour)
	bad := int64(0) // line of the first that is not whole and sound
	for p, err := range pieces(section(log, 0, size), 0, maxLedgerLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", c.cfg.Ledger, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if bad > 0 {
			if l, err := readLine(&f.ledger.doc, p.text); err == nil {
				if _, ours := l.Signed(f.ledger.key); ours {
					s.add(c.cfg.Ledger, bad, "this line is not whole, and sound lines follow it: the ledger was damaged after it was written. %s", lookBefore)
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
			c.remember(f, &l, hour)
			continue
		}
		if l.Hash != "" || p.whole && bytes.IndexByte(p.text, 0) < 0 {
			// A power cut leaves no line that can be read, but one without its
			// end, or with zeros in it.
			s.add(c.cfg.Ledger, f.ledger.lines+1, "%s: the ledger was damaged or altered after it was written. %s", err, lookBefore)
			return nil
		}
		bad = f.ledger.lines + 1
		rest := make([]byte, size-p.off)
		if _, err := log.ReadAt(rest, p.off); err != nil {
			return fmt.Errorf("reading %s: %w", c.cfg.Ledger, err)
		}
		f.tail.bytes = rest
	}
	return nil
}

const lookBefore = "Keep a copy of it, run `countersign ledger verify` and look into it before anything else; nothing was changed"

// remember keeps what later steps need of a ledger line.
func (c *Chain) remember(f *found, l *Line, hour time.Time) {
	switch b := l.Body.(type) {
	case *OutcomeLine:
		ref := receiptRef{line: l.Seq + 1, stub: Fingerprint(b.Stub), counter: Fingerprint(b.Countersignature)}
		f.receipts = append(f.receipts, ref)
		f.kept = append(f.kept, &keptReceipt{outcome: b})
		if len(f.kept) > maxKept {
			f.kept = append(f.kept[:0], f.kept[1:]...)
		}
	case *RefusedLine:
		if b.Denial != nil {
			f.refused = append(f.refused, denialRef{l.Seq + 1, Fingerprint(b.Denial)})
			if l.At.After(hour) {
				c.denials.took(l.At)
			}
		}
	case *NoticeLine:
		if l.At.After(hour) {
			c.notices.took(l.At)
		}
	}
}

// readBook reads the book into a new checker and holds its receipts against the
// ledger's.
func (c *Chain) readBook(ctx context.Context, f *found, s *StartError) error {
	c.checker = NewChecker(CheckOptions{IssuerKeys: c.cfg.IssuerKeys, SummaryOnly: true})
	log := c.logs.Book
	f.bookTail.zeros = log.Zeroed()
	for p, err := range pieces(section(log, 0, log.Size()), 0, MaxLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", c.cfg.Book, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line := f.book.end.Lines + 1
		if !p.whole || bytes.IndexByte(p.text, 0) >= 0 {
			f.bookTail.bytes = bytes.Clone(p.text)
			break
		}
		e := c.checker.Add(p.text)
		f.book.wrote(p.text)
		if len(e.Problems) > 0 {
			s.add(c.cfg.Book, line, "%s: %s. The book is not sound; look into it with `countersign verify`", e.Problems[0].Code, e.Problems[0].Message)
			return nil
		}
		if e.Kind != KindStub {
			continue
		}
		if f.inBook >= len(f.receipts) {
			s.add(c.cfg.Book, line, "the book holds a receipt that the ledger %s knows nothing of: the ledger is older than the book. Put the newest ledger back; nothing was changed", c.cfg.Ledger)
			return nil
		}
		ref := f.receipts[f.inBook]
		stub, counter := bookPrints(p.text)
		if stub != ref.stub || counter != ref.counter {
			s.add(c.cfg.Book, line, "this receipt is not the one that %s:%d holds: one of the two was altered. Nothing was changed", c.cfg.Ledger, ref.line)
			return nil
		}
		f.inBook++
	}
	f.book.pending, f.book.durable = nil, f.book.end
	return nil
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

// readDenials holds the denials against the refused lines of the ledger.
func (c *Chain) readDenials(ctx context.Context, f *found, s *StartError) error {
	log, path := c.logs.Denials, Place{Book: c.cfg.Book}.Denials()
	f.denialsTail.zeros = log.Zeroed()
	for p, err := range pieces(section(log, 0, log.Size()), 0, MaxLine) {
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line := f.denials.Lines + 1
		if !p.whole || bytes.IndexByte(p.text, 0) >= 0 {
			f.denialsTail.bytes = bytes.Clone(p.text)
			break
		}
		denial, err := readDenialLine(p.text)
		if err != nil {
			s.add(path, line, "%s. Nothing was changed", err)
			return nil
		}
		if f.inDenials >= len(f.refused) {
			s.add(path, line, "the ledger %s knows nothing of this denial: the ledger is older. Put the newest ledger back; nothing was changed", c.cfg.Ledger)
			return nil
		}
		if ref := f.refused[f.inDenials]; denial != ref.denial {
			s.add(path, line, "this denial is not the one that %s:%d holds: one of the two was altered. Nothing was changed", c.cfg.Ledger, ref.line)
			return nil
		}
		f.inDenials++
		f.denials = Extent{Bytes: f.denials.Bytes + int64(len(p.text)) + 1, Lines: line, Last: Fingerprint(p.text)}
	}
	return nil
}

// readDenialLine gives the fingerprint of the denial on a line. Its signatures
// are not looked at.
func readDenialLine(line []byte) (string, error) {
	var d, content ijson.Doc
	v, err := parseLine(&d, line)
	if err != nil {
		return "", err
	}
	m := open(v, "line", "denial", "")
	if m.err != nil {
		return "", m.err
	}
	e, err := readEnvelope(KindDenial, m.value("denial"), &content)
	if err != nil {
		return "", err
	}
	if _, err := readDenial(e.content); err != nil {
		return "", err
	}
	return e.Fingerprint(), nil
}

// held says what of all that was found stops the start.
func (c *Chain) held(f *found, s *StartError) {
	if len(s.Problems) > 0 {
		return
	}
	if f.ledger.call != nil {
		s.add(c.cfg.Ledger, f.ledger.callSeq+1, "the call of this line has no outcome: the guard ended while it was out, so what the server did is not known. This version cannot finish its receipt")
	}
	if n := len(f.receipts) - f.inBook; n > 0 {
		s.add(c.cfg.Book, 0, "the book lacks the last %d of the %d receipts that %s holds. This version cannot write them again", n, len(f.receipts), c.cfg.Ledger)
	}
	if len(f.bookTail.bytes) > 0 || f.bookTail.zeros > 0 {
		s.add(c.cfg.Book, f.book.end.Lines+1, "the last line is not whole. This version cannot write it again")
	}
	if n := len(f.refused) - f.inDenials; n > 0 || !f.denialsTail.empty() {
		s.add(Place{Book: c.cfg.Book}.Denials(), f.denials.Lines+1, "%d denials that %s holds are missing. This version cannot write them again", n, c.cfg.Ledger)
	}
}

// begin makes everything found durable, mends the ledger's end, takes the slip on
// and writes the open line.
func (c *Chain) begin(f *found) error {
	c.ledger = &ledger{log: c.logs.Ledger, key: c.cfg.LedgerKey, clock: c.cfg.Clock, seq: f.ledger.lines, prev: f.ledger.prev}
	// What was read may stand in memory only, after a guard that was killed.
	for _, l := range []Log{c.logs.Ledger, c.logs.Book, c.logs.Denials} {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	if err := c.mendLedger(f); err != nil {
		return err
	}
	c.book = f.book
	if err := c.takeSlip(f); err != nil {
		return err
	}
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	_, err := c.ledger.append(&OpenLine{Agent: c.cfg.Name, Book: c.book.known(c.logs.Book.Synced()), Key: c.cfg.LedgerKey.PublicText(),
		Rules: c.cfg.Rules, Service: c.cfg.Service, Settings: c.cfg.Settings, Slip: c.slip, Version: c.cfg.Version})
	return err
}

// noticeTail is what the notice of a mended end is called.
const noticeTail = "recovered-tail"

// mendLedger cuts off what is no whole line and writes a notice that names it.
func (c *Chain) mendLedger(f *found) error {
	t := &f.tail
	if t.empty() && !t.newline {
		return nil
	}
	n := &NoticeLine{What: noticeTail, File: "ledger", Bytes: int64(len(t.bytes)) + t.zeros, SHA256: t.sum()}
	switch {
	case t.newline:
		n.Text = "the last line lacked its line end, which was added; the line is whole"
	case len(t.bytes) > 0:
		n.Text = "a line that was not whole was cut off; a call it copied was not sent, or has its outcome noted as crashed"
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
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	c.log.Warn("the ledger's end was not whole and was mended; a notice in it says so", "bytes", n.Bytes, "line", f.ledger.lines)
	_, err := c.ledger.append(n)
	return err
}

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

// takeSlip holds the slip of the settings against keys and book, and puts it
// into the book where it is not there yet.
func (c *Chain) takeSlip(f *found) error {
	e, err := ReadEnvelope(KindSlip, c.cfg.Slip)
	if err != nil {
		return fmt.Errorf("the slip of %q: %w", c.cfg.Name, err)
	}
	c.slip = e.Fingerprint()
	slip, inBook := c.checker.Slip(c.slip)
	line := AppendLine(nil, KindSlip, c.cfg.Slip)
	if !inBook {
		if entry := c.checker.Add(line); len(entry.Problems) > 0 {
			return fmt.Errorf("the slip of %q: %w", c.cfg.Name, entry.Problems[0])
		}
		slip, _ = c.checker.Slip(c.slip)
	}
	if slip == nil {
		return fmt.Errorf("the slip of %q was not taken into the book", c.cfg.Name)
	}
	if !slip.Agent.Keys.Equal(c.cfg.Agent.Keys()) {
		return fmt.Errorf("the slip of %q names other keys of the agent than the key file holds: sign a slip with the keys that `countersign keys` prints", c.cfg.Name)
	}
	service, ok := slip.Service(c.cfg.Service)
	if !ok || !service.Keys.Equal(c.cfg.Guard.Keys()) {
		return fmt.Errorf("the slip of %q does not name the guard %q with the keys of its key file: sign a slip with what `countersign keys` prints", c.cfg.Name, c.cfg.Service)
	}
	if !inBook {
		if err := c.logs.Book.Reserve(len(line) + 1); err != nil {
			return err
		}
		if err := c.logs.Book.Append(line); err != nil {
			return err
		}
		if err := c.logs.Book.Sync(); err != nil {
			return err
		}
		c.book.wrote(line)
	}
	c.seq, c.previous, c.last = c.checker.Next(c.slip, "")
	return nil
}
