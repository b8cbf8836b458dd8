package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/internal/problem"
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
	book, err := os.Open(a.Book)
	if errors.Is(err, fs.ErrNotExist) {
		book = nil
	} else if err != nil {
		return fmt.Errorf("reading the book: %w", err)
	} else {
		defer book.Close()
	}
	ledger, err := os.Open(a.Ledger)
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
	for _, p := range r.Problems {
		w.at(f.Name(), p.Line, "%s", p.Msg)
	}
	return nil
}

func (w *world) readBook(f *os.File) error {
	r, err := receipts.VerifyBook(f, receipts.CheckOptions{IssuerKeys: w.settings.Agent.IssuerKeys})
	if err != nil {
		return fmt.Errorf("reading the book: %w", err)
	}
	for _, e := range r.Entries {
		for _, p := range e.Problems {
			w.at(f.Name(), int64(e.Index)+1, "%s (%s)", p.Message, p.Code)
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
	r, err := compareFiles(a.Ledger, a.Book, key)
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
		w.at(path, line, "%s", d)
	}
	return nil
}
