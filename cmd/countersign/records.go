package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/internal/settings"
	"countersign/receipts"
)

// nearlyFull is the share of a book's entries at which check warns: a new slip and
// a new book take a person some time.
const nearlyFull = receipts.MaxEntries / 10 * 9

// readRecords looks at the ledger, the book and the denials that are there
// already, and notes what would stop a start. An error is one of reading them.
func (w *world) readRecords() error {
	a := w.settings.Agent
	if !w.signs() || a == nil || a.Book == "" || a.Ledger == "" {
		return nil
	}
	book, err := plainfile.Open(a.Book)
	if errors.Is(err, fs.ErrNotExist) {
		book = nil
	} else if err != nil {
		return fmt.Errorf("reading the book: %w", err)
	} else {
		defer book.Close()
	}
	ledger, err := plainfile.Open(a.Ledger)
	if errors.Is(err, fs.ErrNotExist) {
		ledger = nil
	} else if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	} else {
		defer ledger.Close()
	}
	if ledger != nil {
		if err := w.readLedger(ledger); err != nil {
			return err
		}
	}
	if book != nil {
		if err := w.readBook(book); err != nil {
			return err
		}
	}
	switch {
	case ledger == nil && book == nil:
		return nil
	case ledger == nil:
		w.at(a.Ledger, 0, "the ledger is not there, and the book %s is: put the ledger back, or keep the book elsewhere and begin a new one", a.Book)
		return nil
	case book == nil:
		w.at(a.Book, 0, "the book is not there, and the ledger %s is: put the book back", a.Ledger)
		return nil
	}
	return w.holdRecords()
}

// at notes a problem on a line of a record file; 0 is no line in particular.
func (w *world) at(path string, line int64, format string, args ...any) {
	w.problems = append(w.problems, problem.Problem{File: path, Line: int(max(line, 1)), Column: 1, Msg: fmt.Sprintf(format, args...)})
}

func (w *world) readLedger(f *os.File) error {
	var o receipts.LedgerOptions
	if w.ledgerKey != nil {
		o.PublicKey = w.ledgerKey.Public()
	}
	r, err := receipts.VerifyLedger(f, o)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	half, err := torn(f)
	if err != nil {
		return err
	}
	for _, p := range r.Problems {
		if half && p.Line >= r.Lines {
			w.mended(f.Name(), p.Line)
			continue
		}
		w.at(f.Name(), p.Line, "%s", p.Msg)
	}
	if r.OpenCall > 0 {
		w.note(f.Name(), r.OpenCall, "the call of this line has no outcome: a guard runs and the call is out, or it ended meanwhile and the next start finishes the receipt")
	}
	return nil
}

// note is a warning about a line of a record file.
func (w *world) note(path string, line int64, format string, args ...any) {
	w.warnings = append(w.warnings, problem.Problem{File: path, Line: int(max(line, 1)), Column: 1, Code: settings.CodeWarning, Msg: fmt.Sprintf(format, args...)})
}

// mended warns of what a power cut leaves and the next start mends.
func (w *world) mended(path string, line int64) {
	w.note(path, line, "the last line is not whole: a guard is writing it, or one was cut off while it did and the next start mends it")
}

// torn says whether a file of lines ends in the middle of one. Zeros at its end,
// which are room set aside, do not count.
func torn(f *os.File) (bool, error) {
	const piece = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	b := make([]byte, piece)
	for end := info.Size(); end > 0; end -= piece {
		at := max(end-piece, 0)
		n, err := f.ReadAt(b[:end-at], at)
		if err != nil && err != io.EOF {
			return false, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		if rest := bytes.TrimRight(b[:n], "\x00"); len(rest) > 0 {
			return rest[len(rest)-1] != '\n', nil
		}
	}
	return false, nil
}

func (w *world) readBook(f *os.File) error {
	r, err := receipts.VerifyBook(f, receipts.CheckOptions{IssuerKeys: w.settings.Agent.IssuerKeys})
	if err != nil {
		return fmt.Errorf("reading the book: %w", err)
	}
	half, err := torn(f)
	if err != nil {
		return err
	}
	unknown := false // a slip is by a passkey that the settings do not name
	for _, e := range r.Entries {
		if half && e.Index == r.Size-1 && len(e.Problems) > 0 {
			w.mended(f.Name(), int64(e.Index)+1)
			continue
		}
		for _, p := range e.Problems {
			switch {
			case p.Code == receipts.CodeIssuerNotExpected:
				unknown = true
				w.at(f.Name(), int64(e.Index)+1, "a slip by %s, which agent.issuerKeys does not name: keep the thumbprint there for as long as the book holds the slip (%s)", e.IssuerKey, p.Code)
			case unknown && p.Code == receipts.CodeSlipUnusable: // what follows from it
			default:
				w.at(f.Name(), int64(e.Index)+1, "%s (%s)", p.Message, p.Code)
			}
		}
	}
	for _, p := range r.Problems {
		w.at(f.Name(), 0, "%s (%s)", p.Message, p.Code)
	}
	if r.Size >= nearlyFull {
		w.warn("/agent/book", "the book has %d of at most %d entries: a new slip, and with it a new book, will be needed soon", r.Size, receipts.MaxEntries)
	}
	return nil
}

// holdRecords holds ledger, book and denials against each other.
func (w *world) holdRecords() error {
	a := w.settings.Agent
	var key []byte
	if w.ledgerKey != nil {
		key = w.ledgerKey.Public()
	}
	r, err := compareFiles(a.Ledger, a.Book, key, "")
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		path, line := a.Ledger, d.Ledger
		if d.Line > 0 {
			if path, line = a.Book, d.Line; d.Of == receipts.KindDenial {
				path = receipts.Place{Book: a.Book}.Denials()
			}
		}
		if d.What == "missing" && d.Of == receipts.KindStub {
			// What a power cut took from the book's end, a start writes again. One
			// taken from its middle breaks the chain, which the book itself shows.
			w.note(path, line, "%s: the next start writes it again", d)
			continue
		}
		w.at(path, line, "%s", d)
	}
	for _, why := range r.Altered {
		w.at(a.Ledger, 0, "%s", why)
	}
	return nil
}
