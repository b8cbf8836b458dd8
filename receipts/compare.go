package receipts

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math"

	"countersign/internal/ijson"
)

// CompareInput is what is compared: a ledger with the book and the denials that
// were written beside it. Where a guard is running, open the book and the denials
// first, and say how long they were then: what it wrote since may be newer than what
// is read of the ledger.
type CompareInput struct {
	Ledger    io.Reader
	Book      io.Reader
	Denials   io.Reader         // nil: there is no such file
	PublicKey ed25519.PublicKey // of the ledger; nil: the one its first line names
	// Root is the book's top fingerprint: a book that was put aside whole is then
	// held against the lines of its time. Without it the book is the one that the
	// ledger goes on with, and one put aside in its place differs.
	Root string

	// BookSize and DenialsSize are the lengths in bytes when the two were opened,
	// where Measured says so. Lines behind them that the ledger does not hold are
	// then not counted as extra.
	Measured              bool
	BookSize, DenialsSize int64
}

// Difference is one record on which ledger and book (or denials) differ.
type Difference struct {
	What   string `json:"what"` // missing, extra, altered, out of order
	Of     Kind   `json:"of"`   // stub or denial
	ID     string `json:"id"`
	Ledger int64  `json:"ledger"` // line of the ledger, 1 for the first; 0 where it has none
	Line   int64  `json:"line"`   // line of the book or the denials; 0 where it has none
}

func (d Difference) String() string {
	where := "book"
	name := "receipt"
	if d.Of == KindDenial {
		where, name = "denials", "denial"
	}
	switch d.What {
	case "missing":
		return fmt.Sprintf("%s %s of ledger record %d is missing from the %s", name, d.ID, d.Ledger, where)
	case "extra":
		return fmt.Sprintf("%s %s on line %d of the %s is not in the ledger", name, d.ID, d.Line, where)
	case "altered":
		return fmt.Sprintf("%s %s on line %d of the %s is not what ledger record %d holds", name, d.ID, d.Line, where, d.Ledger)
	}
	return fmt.Sprintf("%s %s on line %d of the %s does not stand in the ledger's order (record %d)", name, d.ID, d.Line, where, d.Ledger)
}

// CompareReport is how a ledger and its book and denials compare.
type CompareReport struct {
	Receipts    int          `json:"receipts"`        // in the ledger, of this book
	Denials     int          `json:"denials"`         // in the ledger, beside this book
	Earlier     int          `json:"earlier"`         // receipts and denials of books put aside before
	Counted     int64        `json:"counted"`         // refusals the ledger only counted
	Aside       string       `json:"aside,omitempty"` // the name under which this book was put aside, "" where it was not
	OpenCall    int64        `json:"openCall"`        // line of a call without outcome; 0 for none
	Differences []Difference `json:"differences"`
	// LedgerOnly are receipts that name an approval: such a stub carries exactly
	// the approval's details, so what came of the call stands in the ledger alone.
	LedgerOnly []LedgerOnly `json:"ledgerOnly"`
	// Unsound are faults of the ledger itself, or lines of the other files that
	// could not be read: nothing is then known of what they hold.
	Unsound []string `json:"unsound"`
	// Altered says of the book and the denials that their lines are not those the
	// ledger names, where no difference and no fault says so already.
	Altered []string `json:"altered"`
	More    int      `json:"more"` // differences and faults past the first 1,000
}

// LedgerOnly is the outcome of a call whose receipt does not bind it.
type LedgerOnly struct {
	ID     string `json:"id"`     // of the stub
	Ledger int64  `json:"ledger"` // line of the ledger
	How    string `json:"how"`
	Result string `json:"result,omitempty"` // fingerprint of the answer
}

// maxDifferences bounds what a comparison lists.
const maxDifferences = 1000

// Clean says whether nothing differs and all could be read.
func (r *CompareReport) Clean() bool {
	return len(r.Differences) == 0 && len(r.Unsound) == 0 && len(r.Altered) == 0
}

func (r *CompareReport) differ(d Difference) {
	if len(r.Differences) == maxDifferences {
		r.More++
		return
	}
	r.Differences = append(r.Differences, d)
}

func (r *CompareReport) unsound(format string, args ...any) {
	if len(r.Unsound) == maxDifferences {
		r.More++
		return
	}
	r.Unsound = append(r.Unsound, fmt.Sprintf(format, args...))
}

// kept is one record the ledger holds.
type kept struct {
	line    int64
	id      string
	prints  [2]string // of a receipt stub and countersignature, of a denial its content
	matched bool
}

// keptList is the records of one kind, in the ledger's order.
type keptList struct {
	of   Kind
	list []kept
	byID map[string]int
	next int // where an entry in order would match
}

func (k *keptList) add(line int64, id string, prints [2]string) {
	if k.byID == nil {
		k.byID = map[string]int{}
	}
	k.byID[id] = len(k.list)
	k.list = append(k.list, kept{line: line, id: id, prints: prints})
}

// match holds one record of the book or the denials against the list. newer says
// that the record may have come after the ledger was read.
func (k *keptList) match(r *CompareReport, line int64, id string, prints [2]string, newer bool) {
	i, ok := k.byID[id]
	if !ok && newer {
		return
	}
	if !ok || k.list[i].matched {
		r.differ(Difference{What: "extra", Of: k.of, ID: id, Line: line})
		return
	}
	k.list[i].matched = true
	switch {
	case k.list[i].prints != prints:
		r.differ(Difference{What: "altered", Of: k.of, ID: id, Ledger: k.list[i].line, Line: line})
	case i < k.next:
		r.differ(Difference{What: "out of order", Of: k.of, ID: id, Ledger: k.list[i].line, Line: line})
	}
	k.next = max(k.next, i+1)
}

func (k *keptList) missing(r *CompareReport) {
	for _, e := range k.list {
		if !e.matched {
			r.differ(Difference{What: "missing", Of: k.of, ID: e.id, Ledger: e.line})
		}
	}
}

// Compare holds a ledger against its book and its denials: each receipt of an
// outcome line must be in the book, each denial of a refused line among the
// denials, unaltered and in order, and no others; and what the ledger says of the
// lines of both, so that no other line was altered, added or taken away either. It
// checks the ledger's chain and signatures; those of the book are for [VerifyBook].
// An error is one of reading.
func Compare(in CompareInput) (CompareReport, error) {
	r := CompareReport{Differences: []Difference{}, LedgerOnly: []LedgerOnly{}, Unsound: []string{}, Altered: []string{}} // in JSON a list is one also where it is empty
	receipts, denials := keptList{of: KindStub}, keptList{of: KindDenial}
	s := ledgerState{key: in.PublicKey}
	var book, no known
	line := int64(0)
	for p, err := range pieces(&zeroTail{r: in.Ledger}, 0, maxLedgerLine) {
		if err != nil {
			return r, fmt.Errorf("reading the ledger: %w", err)
		}
		line++
		l, err := s.take(p.text)
		if err != nil {
			r.unsound("ledger record %d: %s", line, err)
			if !s.resync(&l) {
				return r, nil
			}
		}
		if r.Aside != "" {
			continue // the line is of a later book; its chain and signature are checked
		}
		switch b := l.Body.(type) {
		case *OpenLine:
			book.add(line, b.Book, "")
		case *MarkLine:
			book.add(line, b.Book, b.Root)
			no.add(line, b.Denials, "")
		case *OutcomeLine:
			book.add(line, b.Book, "")
			if stub, err := ReadStub(b.Stub); err == nil {
				receipts.add(line, stub.ID, [2]string{Fingerprint(b.Stub), Fingerprint(b.Countersignature)})
				if stub.Approval != "" {
					r.LedgerOnly = append(r.LedgerOnly, LedgerOnly{stub.ID, line, b.How, b.Result})
				}
			}
		case *NoticeLine:
			switch {
			case b.What != noticeRollover:
			case in.Root != "" && in.Root == b.SHA256:
				r.Aside = b.File
			default:
				r.Earlier += len(receipts.list) + len(denials.list)
				r.LedgerOnly = []LedgerOnly{}
				book, no = nil, nil
				receipts, denials = keptList{of: KindStub}, keptList{of: KindDenial}
			}
		case *RefusedLine:
			r.Counted += b.Count
			if b.Denial == nil {
				continue
			}
			if d, err := ReadDenial(b.Denial); err == nil {
				denials.add(line, d.ID, [2]string{Fingerprint(b.Denial)})
			}
		}
	}
	if s.call != nil && r.Aside == "" {
		r.OpenCall = s.callSeq + 1
	}
	r.Receipts, r.Denials = len(receipts.list), len(denials.list)
	h := holding{r: &r, agents: map[string]KeySet{}, v: newVerifier(nil)}
	if in.Denials == nil {
		in.Denials = bytes.NewReader(nil)
	}
	if !in.Measured {
		in.BookSize, in.DenialsSize = math.MaxInt64, math.MaxInt64
	}
	altered, err := h.read(in.Book, in.BookSize, &receipts, "book", book)
	if err != nil {
		return r, err
	}
	alteredNo, err := h.read(in.Denials, in.DenialsSize, &denials, "denials", no)
	if err != nil {
		return r, err
	}
	receipts.missing(&r)
	denials.missing(&r)
	if r.Clean() { // else it is what was said already, or follows from it
		for _, why := range []string{altered, alteredNo} {
			if why != "" {
				r.Altered = append(r.Altered, why)
			}
		}
	}
	return r, nil
}

// known is what a ledger says of a file: that it had these lines, durably, when a
// line was written. Lines and bytes of it only ever grow.
type known []knownExtent

type knownExtent struct {
	line int64 // of the ledger
	Extent
	root string // "" where the line names none
}

func (k *known) add(line int64, e Extent, root string) {
	if n := len(*k); n > 0 && (*k)[n-1].Extent == e && root == "" {
		return
	}
	if e.Lines > 0 {
		*k = append(*k, knownExtent{line, e, root})
	}
}

// against holds the file as far as it was read against the next extents, and says
// where it differs, "" where it does not.
func (k *known) against(e Extent, tree *Tree, name string) string {
	for len(*k) > 0 && (*k)[0].Lines <= e.Lines {
		next := (*k)[0]
		if next.Extent != e || next.root != "" && next.root != tree.Root().String() {
			return fmt.Sprintf("the first %d lines of the %s are not those that ledger record %d names: one was altered, added or taken away", next.Lines, name, next.line)
		}
		*k = (*k)[1:]
	}
	return ""
}

// holding reads a book, and then the denials, against the ledger's records.
type holding struct {
	r      *CompareReport
	agents map[string]KeySet // of the slips in the book, by fingerprint
	v      *verifier

	outer, content, counter ijson.Doc
}

// read matches a file's records, and says where its lines are not those the ledger
// knows of, whatever they hold: "" where they are.
func (h *holding) read(from io.Reader, size int64, k *keptList, name string, lines known) (altered string, err error) {
	var end Extent
	var tree Tree
	for p, err := range pieces(&zeroTail{r: from}, 0, MaxLine) {
		if err != nil {
			return "", fmt.Errorf("reading the %s: %w", name, err)
		}
		end = end.with(p.text)
		tree.Add(LeafHash(p.text))
		if err := h.line(&p, end.Lines, k, p.off >= size); err != nil {
			h.r.unsound("line %d of the %s: %s", end.Lines, name, err)
		}
		if altered == "" {
			altered = lines.against(end, &tree, name)
		}
	}
	if n := len(lines); altered == "" && n > 0 {
		last := lines[n-1]
		altered = fmt.Sprintf("the %s ends with line %d, and had %d when ledger record %d was written: lines were cut off", name, end.Lines, last.Lines, last.line)
	}
	return altered, nil
}

// line matches the record of one line. An error says why it could not be read.
func (h *holding) line(p *piece, line int64, k *keptList, newer bool) error {
	if newer && !p.whole {
		return nil // being written
	}
	v, err := parseLine(&h.outer, p.text)
	if err != nil {
		return err
	}
	if !p.whole {
		return errors.New("it lacks its line end")
	}
	record := v.Member(string(k.of))
	if !record.Exists() {
		if k.of == KindDenial {
			return errors.New("it holds no denial")
		}
		if slip := v.Member(string(KindSlip)); slip.Exists() {
			return h.slip(slip)
		}
		return nil // another kind of record of a book
	}
	e, err := readEnvelope(k.of, record, &h.content)
	if err != nil {
		return err
	}
	prints := [2]string{e.Fingerprint()}
	id := e.content.Member("id").Text()
	if !isID(id) {
		return errors.New("its record has no id")
	}
	if counter := v.Member(string(KindCountersignature)); counter.Exists() {
		c, err := readEnvelope(KindCountersignature, counter, &h.counter)
		if err != nil {
			return err
		}
		prints[1] = c.Fingerprint()
	}
	k.match(h.r, line, id, prints, newer)
	if k.of == KindDenial {
		keys := h.agents[e.content.Member("slip").Text()]
		if keys == nil {
			return errors.New("its slip is not in the book, so its signatures could not be checked")
		}
		if h.v.keySet(e, keys).verified() != VerifiedAll {
			return errors.New("its signatures do not fit the agent's keys")
		}
	}
	return nil
}

func (h *holding) slip(v ijson.Value) error {
	e, err := readEnvelope(KindSlip, v, &h.content)
	if err != nil {
		return err
	}
	s, err := readSlip(e.content)
	if err == nil {
		h.agents[e.Fingerprint()] = s.Agent.Keys
	}
	return err
}
