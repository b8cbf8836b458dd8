package receipts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/internal/ijson"
)

// StartError says what in the records of a chain stops a start. Nothing was
// changed then.
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

func (e *StartError) add(file string, line int64, format string, args ...any) {
	e.Problems = append(e.Problems, StartProblem{file, line, fmt.Sprintf(format, args...)})
}

// start is guard.md, section 3, step 9: it reads and checks everything, finishes
// what was left open, and leaves the chain ready for its first turn. Until all
// was read and found fit for it, nothing is changed.
func (c *Chain) start(ctx context.Context) error {
	f := found{c: c, stop: &StartError{Chain: c.cfg.Name}}
	if err := f.readLedger(ctx); err != nil {
		return err
	}
	if len(f.stop.Problems) > 0 {
		return f.stop
	}
	c.ledger = &ledger{log: c.logs.Ledger, key: c.cfg.LedgerKey, clock: c.cfg.Clock, seq: f.ledger.lines, prev: f.ledger.prev}
	if n := f.ledger.rollover; n != nil {
		// A rollover that was broken off is completed before the book is read.
		if err := c.logs.Archive(n.File); err != nil {
			return err
		}
		c.cfg.Rollover = false
	}
	if err := f.readBook(ctx); err != nil {
		return err
	}
	if err := f.readDenials(ctx); err != nil {
		return err
	}
	f.keysAtHand()
	slip, err := c.checkSlip(c.cfg.Slip)
	if err == nil && len(f.stop.Problems) == 0 {
		var line int64
		if line, err = c.wasInForce(ctx, slip, f.end); line > 0 {
			f.stop.add(c.cfg.Ledger, line, "the slip of the settings %s. %s", usedBefore, notChanged)
		}
	}
	if err != nil {
		return err
	}
	if len(f.stop.Problems) > 0 {
		return f.stop
	}

	if err := f.recover(); err != nil {
		return err
	}
	if c.cfg.Rollover {
		if err := f.rollOver(); err != nil {
			return err
		}
		if slip, err = c.checkSlip(c.cfg.Slip); err != nil {
			return err
		}
	}
	if n := c.book.end.Lines; n >= MaxEntries*9/10 {
		c.log.Warn("the book is nearly full: begin a new one with `countersign rollover`, under a new slip", "entries", n, "most", MaxEntries)
	}
	return c.takeOn(slip, c.cfg.Rules)
}

// slipCheck is a slip held against the book and the keys.
type slipCheck struct {
	*Slip
	fingerprint string
	line        []byte // of the book
	inBook      bool
}

// checkSlip reads a slip and holds it against the keys at hand and the book.
// Nothing is changed.
func (c *Chain) checkSlip(record []byte) (slipCheck, error) {
	s := slipCheck{line: AppendLine(nil, KindSlip, record)}
	e, err := ReadEnvelope(KindSlip, record)
	if err != nil {
		return s, fmt.Errorf("the slip of %q: %w", c.cfg.Name, err)
	}
	if s.Slip, err = ReadSlip(e.Payload); err != nil {
		return s, fmt.Errorf("the slip of %q: %w", c.cfg.Name, err)
	}
	s.fingerprint = e.Fingerprint()
	if !s.Agent.Keys.Equal(c.cfg.Agent.Keys()) {
		return s, fmt.Errorf("the slip of %q names other keys of the agent than the key file holds: sign a slip with the keys that `countersign keys` prints", c.cfg.Name)
	}
	service, ok := s.Service(c.cfg.Service)
	if !ok || !service.Keys.Equal(c.cfg.Guard.Keys()) {
		return s, fmt.Errorf("the slip of %q does not name the guard %q with the keys of its key file: sign a slip with what `countersign keys` prints", c.cfg.Name, c.cfg.Service)
	}
	_, s.inBook = c.checker.Slip(s.fingerprint)
	if s.inBook && c.cfg.Rollover {
		return s, fmt.Errorf("the book of %q holds the slip of the settings already: a new book is begun under a new slip, put there while no guard runs that takes it on", c.cfg.Name)
	}
	if !s.inBook && c.checker.holds(s.ID) {
		return s, fmt.Errorf("the slip of %q has the id of another record in its book, and what is used once goes by ids: sign it with an id of its own", c.cfg.Name)
	}
	if !s.inBook && !c.cfg.Rollover && c.checker.Size() >= MaxEntries {
		return s, fmt.Errorf("the book of %q is full, and has no room for a new slip: begin a new one with `countersign rollover`", c.cfg.Name)
	}
	// Tried on a checker of its own: what is wrong with it must not be in ours.
	trial := NewChecker(CheckOptions{IssuerKeys: c.cfg.IssuerKeys, SummaryOnly: true})
	if entry := trial.Add(s.line); len(entry.Problems) > 0 {
		return s, fmt.Errorf("the slip of %q: %w", c.cfg.Name, entry.Problems[0])
	}
	return s, nil
}

const usedBefore = "was in force here, under a book that was put aside since: what was used of it would begin anew. Sign a new slip"

// wasInForce finds the ledger's line that put a slip in force which the book does not
// hold, 0 for none. Its book was put aside then, and what was used of it and a
// cancellation of it stand there: it is never taken on again. An open line names each
// slip that came into force, once the book held it durably. The whole ledger, of so
// many bytes, is read for that, which a slip costs only once.
func (c *Chain) wasInForce(ctx context.Context, s slipCheck, size int64) (line int64, err error) {
	if s.inBook {
		return 0, nil
	}
	named := []byte(`"slip":"` + s.fingerprint + `"`)
	var doc ijson.Doc
	for p, err := range pieces(section(c.logs.Ledger, 0, size), 0, maxLedgerLine) {
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", c.cfg.Ledger, err)
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if !bytes.Contains(p.text, named) {
			continue
		}
		l, err := readLine(&doc, p.text)
		if open, ok := l.Body.(*OpenLine); err == nil && ok && open.Slip == s.fingerprint {
			return l.Seq + 1, nil
		}
	}
	return 0, nil
}

// takeOn puts a slip that was checked in force, at a start and in a turn. It goes
// into the book, where it is not there yet, and with it the agent's chain of stubs
// begins; then the open line says that it is in force. Broken off between the two it
// stands in the book and nothing was done under it. Until the open line is durable
// the chain goes by what was in force before.
func (c *Chain) takeOn(s slipCheck, rules []RulesFile) error {
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	if !s.inBook {
		if err := c.appendBook(s.line); err != nil {
			return err
		}
		if err := c.logs.Book.Sync(); err != nil {
			return err
		}
	}
	if err := c.takeCancellations(); err != nil {
		return err
	}
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	_, err := c.ledger.append(&OpenLine{Agent: c.cfg.Name, Book: c.book.known(c.logs.Book.Synced()), Key: c.cfg.LedgerKey.PublicText(),
		Rules: rules, Service: c.cfg.Service, Settings: c.cfg.Settings, Slip: s.fingerprint, Version: c.cfg.Version})
	if err != nil {
		return err
	}
	c.slip.Store(&s.fingerprint)
	c.seq, c.previous, c.last = c.checker.Next(s.fingerprint, "")
	c.lastNo = minTime
	if d := c.lastDenial; d != nil && d.Slip == s.fingerprint {
		c.lastNo = d.When
	}
	return nil
}

// errUnsound says that a line would spoil the book. The checker has seen it, the
// book not.
var errUnsound = errors.New("a line for the book is not sound")

// appendBook takes a line into the checker and the book. It is not synced.
func (c *Chain) appendBook(line []byte) error {
	if err := c.logs.Book.Reserve(len(line) + 1); err != nil {
		return err
	}
	if e := c.checker.Add(line); len(e.Problems) > 0 {
		return fmt.Errorf("%w: %w", errUnsound, e.Problems[0])
	}
	if err := c.logs.Book.Append(line); err != nil {
		return err
	}
	c.book.wrote(line)
	return nil
}
