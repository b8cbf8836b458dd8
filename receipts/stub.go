package receipts

import (
	"strconv"

	"countersign/internal/ijson"
)

// Stub is the content of a stub (section 3.1): what an agent says it did under a
// slip. Empty texts and nil are members that are absent.
type Stub struct {
	ID       string
	Slip     string // fingerprint
	Seq      int64  // 0 first in its chain
	Previous string // fingerprint of the stub before; exactly if Seq > 0
	Action   string
	When     Time
	Amount   *Amount
	With     string // the id of a service of the slip
	Details  []Detail
	Approval string // fingerprint
	Terms    string // fingerprint; needs With
	Pass     string // fingerprint
}

// Append appends the content in canonical form.
func (s *Stub) Append(dst []byte) []byte {
	dst = appendText(dst, `{"action":`, s.Action)
	if s.Amount != nil {
		dst = s.Amount.append(append(dst, `,"amount":`...))
	}
	dst = appendOptional(dst, `,"approval":`, s.Approval)
	if len(s.Details) > 0 {
		dst = appendDetails(append(dst, `,"details":`...), s.Details)
	}
	dst = appendText(dst, `,"id":`, s.ID)
	dst = appendOptional(dst, `,"pass":`, s.Pass)
	dst = appendOptional(dst, `,"previous":`, s.Previous)
	dst = strconv.AppendInt(append(dst, `,"seq":`...), s.Seq, 10)
	dst = appendText(dst, `,"slip":`, s.Slip)
	dst = appendOptional(dst, `,"terms":`, s.Terms)
	dst = append(dst, `,"type":"provared.stub.v0"`...)
	dst = appendTime(dst, `,"when":`, s.When)
	dst = appendOptional(dst, `,"with":`, s.With)
	return append(dst, '}')
}

// ReadStub reads a stub's content.
func ReadStub(payload []byte) (*Stub, error) {
	v, err := readContent(KindStub, payload)
	if err != nil {
		return nil, err
	}
	return readStub(v)
}

// readStub reads the members; which type they name is not its question.
func readStub(v ijson.Value) (*Stub, error) {
	m := open(v, "stub", "action id seq slip type when", "amount approval details pass previous terms with")
	s := &Stub{
		ID:       m.id("id"),
		Slip:     m.digest("slip"),
		Seq:      m.int("seq", 0, MaxInt),
		Action:   m.action("action"),
		When:     m.time("when"),
		Previous: m.digest("previous"),
		Amount:   m.amount("amount"),
		With:     m.short("with"),
		Details:  m.details("details", 1, MaxDetails),
		Approval: m.digest("approval"),
		Terms:    m.digest("terms"),
		Pass:     m.digest("pass"),
	}
	switch {
	case s.Seq > 0 && s.Previous == "":
		m.failf("previous: is missing in a stub that is not the first")
	case s.Seq == 0 && s.Previous != "":
		m.failf("previous: must not be in the first stub of a chain")
	case s.Terms != "" && s.With == "":
		m.failf("terms: must stand beside the service they are of (with)")
	}
	if m.err != nil {
		return nil, m.err
	}
	return s, nil
}

// Countersignature is the content of a countersignature (section 3.2).
type Countersignature struct {
	Stub string // fingerprint
	When Time
}

// Append appends the content in canonical form.
func (c *Countersignature) Append(dst []byte) []byte {
	dst = appendText(dst, `{"stub":`, c.Stub)
	dst = append(dst, `,"type":"provared.countersignature.v0"`...)
	return append(appendTime(dst, `,"when":`, c.When), '}')
}

// ReadCountersignature reads a countersignature's content.
func ReadCountersignature(payload []byte) (*Countersignature, error) {
	v, err := readContent(KindCountersignature, payload)
	if err != nil {
		return nil, err
	}
	return readCountersignature(v)
}

func readCountersignature(v ijson.Value) (*Countersignature, error) {
	m := open(v, "countersignature", "stub type when", "")
	c := &Countersignature{Stub: m.digest("stub"), When: m.time("when")}
	if m.err != nil {
		return nil, m.err
	}
	return c, nil
}
