package receipts

import (
	"bufio"
	"fmt"
	"io"

	"countersign/internal/ijson"
)

// DenialEntry is what was found about one line of a file of denials. A sound one
// is its own side's word, and is counted against nobody.
type DenialEntry struct {
	Index       int       `json:"index"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Problems    []Problem `json:"problems"`
	Denial      *Denial   `json:"-"` // nil where it was not read
}

const (
	// maxDenials bounds a file of denials: at 60 an hour, it fills in twenty years.
	maxDenials = 10_000_000

	// maxUnsound is how many lines that are not sound are told of; the lines behind
	// are then not read, as a small file of empty lines would fill the memory.
	maxUnsound = 1000
)

// DeniedBook is what denials are held against: the book they stand beside.
type DeniedBook struct {
	// Keys gives an agent's keys by the fingerprint of a slip.
	Keys func(slip string) (KeySet, bool)
	// Stub gives the seq of an agent's stub by its fingerprint and its slip's; nil
	// compares nothing with stubs.
	Stub func(slip, stub string) (seq int64, ok bool)
}

// VerifyDenials checks a file of denials (guard, section 4): canonical lines of one
// denial each, signed with the agent's keys of the slip they name, in the order of
// their times and of the stubs they stand after, and with no id twice. An error is
// one of reading r.
func VerifyDenials(r io.Reader, book DeniedBook) ([]DenialEntry, error) {
	b := &bookReader{r: bufio.NewReaderSize(r, readBuffer)}
	v := newVerifier(nil)
	p := new(lineParser)
	ids := make(map[string]bool)
	last := make(map[string]Time)   // by slip
	after := make(map[string]int64) // by slip: one more than the seq of the stub named last
	var out []DenialEntry
	unsound := 0
	for b.err == nil {
		line, ok := b.line()
		if !ok {
			break
		}
		if len(out) == maxDenials {
			return out, problem(CodeTooLarge, "there are more than %d denials", maxDenials)
		}
		e := DenialEntry{Index: len(out), Problems: []Problem{}}
		fail := func(err error) { e.Problems = append(e.Problems, asProblem(err)) }
		rec, err := p.denial(line)
		switch {
		case err != nil:
			fail(err)
		default:
			d := rec.content.(*Denial)
			e.Denial, e.Fingerprint = d, rec.fingerprint
			set, known := book.Keys(d.Slip)
			switch {
			case !known:
				fail(problem(CodeSlipMissing, "the slip the denial names is not known"))
			case v.keySet(rec.env, set).verified() != VerifiedAll:
				fail(problem(CodeSignatureInvalid, "a signature does not fit the agent's keys"))
			}
			if ids[d.ID] {
				fail(problem(CodeDuplicateID, "an earlier denial has the same id"))
			}
			if before, ok := last[d.Slip]; ok && d.When < before {
				fail(problem(CodeTimeWentBackwards, "the denial is dated before the one before"))
			}
			if known && book.Stub != nil {
				if err := d.follows(book, after); err != nil {
					fail(err)
				}
			}
			ids[d.ID], last[d.Slip] = true, d.When
		}
		if len(e.Problems) > 0 {
			unsound++
		}
		if unsound > maxUnsound {
			e.Problems = []Problem{problem(CodeCheckFailed, "more than %d lines are not sound: this one and those behind it were not looked at", maxUnsound)}
			e.Denial = nil
			return append(out, e), nil
		}
		out = append(out, e)
	}
	if b.err != nil && !b.ended() {
		return out, fmt.Errorf("reading the denials: %w", b.err)
	}
	return out, nil
}

// follows holds the stub a denial names as the agent's last against the book, and
// against what the denials before it named.
func (d *Denial) follows(book DeniedBook, after map[string]int64) error {
	place := int64(0) // before the first
	if d.After != "" {
		seq, ok := book.Stub(d.Slip, d.After)
		if !ok {
			return problem(CodeChainBroken, "the book holds no such stub as the denial names for the agent's last")
		}
		place = seq + 1
	}
	if place < after[d.Slip] {
		return problem(CodeChainBroken, "the denial stands after an earlier stub than the denial before")
	}
	after[d.Slip] = place
	return nil
}

// denial reads a line {"denial": record}.
func (p *lineParser) denial(line bookLine) (*record, error) {
	if line.tooLong {
		return nil, problem(CodeTooLarge, "the line is longer than %d bytes", MaxLine)
	}
	v, err := parseLine(&p.outer, line.text)
	if err != nil {
		return nil, err
	}
	if v.Kind() != ijson.Object || v.Len() != 1 || !v.Member(string(KindDenial)).Exists() {
		return nil, problem(CodeUnknownEntry, "the line is no denial")
	}
	r := p.record(KindDenial, v.Member(string(KindDenial)))
	return r, r.fault
}
