package receipts

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	"countersign/internal/ijson"
)

// SlipCheck checks slips that stand alone, outside a book, and remembers by their
// SHA-256 those it has found sound, so that checking the same bytes again costs one
// hash, and the bytes checked last cost one comparison. It is safe for concurrent
// use.
type SlipCheck struct {
	issuers []string
	v       *verifier

	mu       sync.Mutex // guards the three below
	sound    map[[sha256.Size]byte]*Slip
	last     []byte // the record found sound last, and its slip
	lastSlip *Slip
}

// maxSound bounds the slips remembered; past it all are forgotten.
const maxSound = 256

// NewSlipCheck checks slips against these thumbprints of passkeys; with none, it
// is not compared who signed.
func NewSlipCheck(issuers []string) *SlipCheck {
	return &SlipCheck{issuers: slices.Clone(issuers), v: newVerifier(nil), sound: make(map[[sha256.Size]byte]*Slip)}
}

// Check reads a slip's record and checks all of section 2.3. The slip it gives is
// shared and must not be changed.
func (c *SlipCheck) Check(record []byte) (*Slip, error) {
	sum, s := c.remembered(record)
	if s != nil {
		return s, nil
	}
	v, err := parseCanonical(new(ijson.Doc), record)
	if err != nil {
		return nil, err
	}
	r := new(lineParser).record(KindSlip, v)
	if r.fault != nil {
		return nil, r.fault
	}
	s = r.content.(*Slip)
	if o := c.v.passkey(r.env, &s.Issuer); o.err != nil {
		return nil, o.err
	}
	if len(c.issuers) > 0 && !slices.Contains(c.issuers, s.Issuer.Key.Thumbprint()) {
		return nil, problem(CodeIssuerNotExpected, "the slip's passkey is none of those it was to be signed with")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sound) >= maxSound {
		clear(c.sound)
	}
	c.sound[sum], c.last, c.lastSlip = s, bytes.Clone(record), s
	return s, nil
}

func (c *SlipCheck) remembered(record []byte) ([sha256.Size]byte, *Slip) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastSlip != nil && bytes.Equal(record, c.last) {
		return [sha256.Size]byte{}, c.lastSlip
	}
	sum := sha256.Sum256(record)
	return sum, c.sound[sum]
}
