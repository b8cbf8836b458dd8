package receipts

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"countersign/internal/ijson"
)

// What notices of the chain's own are called.
const (
	noticeTail      = "recovered-tail" // an end that was not whole was cut off
	noticeRecovered = "recovered"      // receipts or denials were written again or finished
	noticeRollover  = "rollover"       // the book was put aside, and a new one begun
	noticeCancelled = "cancelled"      // a cancellation was taken into the book
	noticeCounted   = "counted"        // a counting line
)

// ledgerState is what reading a ledger line by line keeps up: the place in the
// chain, the key that signs, the call that is open. Start, verify and compare
// read through it, so that they hold the same lines to the same rules.
type ledgerState struct {
	key      ed25519.PublicKey // lines are held against it; nil: the one the first line names
	unsigned bool              // lines may be without signature

	lines int64  // read so far, and the seq of the next
	prev  string // hash of the last line

	first   *OpenLine
	call    *CallLine // the open call
	draft   *Stub     // its stub so far
	callSeq int64
	ended   *CallLine // the last call that has its outcome
	last    map[string]chainState

	// What the lines say of the other files: how far book and denials were known
	// to be durable, the last mark, and a rollover that no open line follows.
	durable, denied Extent
	mark            *MarkLine
	rollover        *NoticeLine

	doc ijson.Doc
}

// chainBreak says that a line does not stand in the chain: it is missing, out of
// place, altered, or signed by another key.
type chainBreak struct{ msg string }

func (e *chainBreak) Error() string { return e.msg }

// take reads the next line and holds it against those before. A line that cannot
// be read or does not stand in the chain leaves the state as it was; one whose
// content does not fit is taken in, with an error.
func (s *ledgerState) take(raw []byte) (Line, error) {
	l, err := readLine(&s.doc, raw)
	if err != nil {
		return Line{}, err
	}
	if err := s.chained(&l); err != nil {
		return l, err
	}
	s.lines, s.prev = s.lines+1, l.Hash
	return l, s.content(&l)
}

// chained checks number, prev and signature.
func (s *ledgerState) chained(l *Line) error {
	switch {
	case s.prev == anyPrev:
	case l.Seq != s.lines:
		return &chainBreak{fmt.Sprintf("it has number %d where %d must follow: a line is missing, or out of place", l.Seq, s.lines)}
	case l.Prev != s.prev:
		return &chainBreak{"its prev is not the fingerprint of the line before: one of the two was altered"}
	}
	key := s.key
	if open, ok := l.Body.(*OpenLine); ok && key == nil {
		key, _ = decodeBase64url([]byte(open.Key))
	}
	if key == nil {
		return &chainBreak{"the first line is not an open line, so no key is known"}
	}
	signed, valid := l.Signed(key)
	switch {
	case !signed && s.unsigned:
	case !signed:
		return &chainBreak{"it has no signature"}
	case !valid:
		return &chainBreak{"its signature does not fit the ledger's key: it was altered, or written by someone else"}
	}
	s.key = key
	return nil
}

// content holds what a line says against the lines before it.
func (s *ledgerState) content(l *Line) error {
	if s.first == nil && l.Kind != LineOpen && l.Kind != LineNotice {
		return errors.New("it stands before the first open line")
	}
	switch b := l.Body.(type) {
	case *OpenLine:
		if s.first == nil {
			s.first = b
		}
		s.durable, s.rollover = b.Book, nil
		if k, _ := decodeBase64url([]byte(b.Key)); !bytes.Equal(k, s.key) {
			return errors.New("it names another key than the one that signs")
		}
	case *KeyLine:
		s.key, _ = decodeBase64url([]byte(b.Key))
	case *CallLine:
		return s.copied(l.Seq, b)
	case *OutcomeLine:
		return s.finished(b)
	case *RefusedLine:
		if b.Denial != nil {
			if _, err := ReadDenial(b.Denial); err != nil {
				return fmt.Errorf("its denial is not sound: %w", err)
			}
		}
	case *WatchLine:
		if b.Of >= l.Seq {
			return errors.New("it speaks of a line that does not stand before it")
		}
	case *MarkLine:
		s.durable, s.denied, s.mark = b.Book, b.Denials, b
		if b.Ledger.Lines != 0 && (b.Ledger.Lines != l.Seq || b.Ledger.Last != l.Prev) {
			return errors.New("what it says of the ledger before it is not so")
		}
	case *NoticeLine:
		if b.What == noticeRollover {
			s.durable, s.denied, s.mark, s.rollover = Extent{}, Extent{}, nil, b
		}
	}
	return nil
}

// copied takes a call line in.
func (s *ledgerState) copied(seq int64, b *CallLine) error {
	open := s.call != nil
	s.call, s.callSeq, s.draft = b, seq, nil
	if open {
		return errors.New("a call is copied while the one before it has no outcome")
	}
	draft, err := ReadStub(b.Draft)
	if err != nil {
		return fmt.Errorf("its draft is not the content of a stub: %w", err)
	}
	s.draft = draft
	if b.Approval != nil {
		e, err := ReadEnvelope(KindApproval, b.Approval)
		if err != nil {
			return fmt.Errorf("its approval is not sound: %w", err)
		}
		if e.Fingerprint() != draft.Approval {
			return errors.New("its draft does not name its approval")
		}
	} else if draft.Approval != "" {
		return errors.New("its draft names an approval that is not there")
	}
	last, known := s.last[draft.Slip]
	if known && (draft.Seq != last.next || draft.Previous != last.last) {
		return errors.New("its draft does not follow the receipt before it")
	}
	return nil
}

// finished takes an outcome line in.
func (s *ledgerState) finished(b *OutcomeLine) error {
	call, draft := s.call, s.draft
	s.call, s.draft, s.ended = nil, nil, call
	s.durable = b.Book
	if call == nil || b.Call != s.callSeq {
		return errors.New("it is the outcome of no open call")
	}
	stub, err := ReadStub(b.Stub)
	if err != nil {
		return fmt.Errorf("its stub is not sound: %w", err)
	}
	counter, err := ReadCountersignature(b.Countersignature)
	if err != nil {
		return fmt.Errorf("its countersignature is not sound: %w", err)
	}
	fp := Fingerprint(b.Stub)
	if counter.Stub != fp {
		return errors.New("its countersignature names another stub")
	}
	if s.last == nil {
		s.last = make(map[string]chainState)
	}
	s.last[stub.Slip] = chainState{next: stub.Seq + 1, last: fp, when: stub.When}
	if draft != nil && !completes(draft, stub) {
		return errors.New("its stub is not that of the call it names")
	}
	return nil
}

// completes says whether a stub is a draft with at most one more detail.
func completes(draft, stub *Stub) bool {
	n := len(draft.Details)
	if len(stub.Details) < n || len(stub.Details) > n+1 || !slices.Equal(stub.Details[:n], draft.Details) {
		return false
	}
	same := *stub
	same.Details = draft.Details
	return bytes.Equal(same.Append(nil), draft.Append(nil))
}
