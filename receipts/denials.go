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

// maxDenials bounds a file of denials: at 60 an hour, it fills in twenty years.
const maxDenials = 10_000_000

// VerifyDenials checks a file of denials (guard, section 4): canonical lines of one
// denial each, signed with the agent's keys of the slip they name, in the order of
// their times and with no id twice. keys gives an agent's keys by the fingerprint
// of a slip. An error is one of reading r.
func VerifyDenials(r io.Reader, keys func(slip string) (KeySet, bool)) ([]DenialEntry, error) {
	b := &bookReader{r: bufio.NewReaderSize(r, readBuffer)}
	v := newVerifier(nil)
	p := new(lineParser)
	ids := make(map[string]bool)
	last := make(map[string]Time) // by slip
	var out []DenialEntry
	for b.err == nil {
		line, ok := b.line()
		if !ok {
			break
		}
		if len(out) == maxDenials {
			return out, problem(CodeTooLarge, "there are more than %d denials", maxDenials)
		}
		e := DenialEntry{Index: len(out)}
		fail := func(err error) { e.Problems = append(e.Problems, asProblem(err)) }
		rec, err := p.denial(line)
		switch {
		case err != nil:
			fail(err)
		default:
			d := rec.content.(*Denial)
			e.Denial, e.Fingerprint = d, rec.fingerprint
			set, known := keys(d.Slip)
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
			ids[d.ID], last[d.Slip] = true, d.When
		}
		out = append(out, e)
	}
	if b.err != nil && !b.ended() {
		return out, fmt.Errorf("reading the denials: %w", b.err)
	}
	return out, nil
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
