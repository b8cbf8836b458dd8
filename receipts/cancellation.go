package receipts

import (
	"countersign/internal/ijson"
)

// Cancellation is the content of a cancellation (section 6.5): the person ends a
// slip.
type Cancellation struct {
	ID   string
	Slip string // fingerprint
	When Time
}

// Append appends the content in canonical form.
func (c *Cancellation) Append(dst []byte) []byte {
	dst = appendText(dst, `{"id":`, c.ID)
	dst = appendText(dst, `,"slip":`, c.Slip)
	dst = append(dst, `,"type":"provared.cancellation.v0"`...)
	return append(appendTime(dst, `,"when":`, c.When), '}')
}

// ReadCancellation reads a cancellation's content.
func ReadCancellation(payload []byte) (*Cancellation, error) {
	v, err := readContent(KindCancellation, payload)
	if err != nil {
		return nil, err
	}
	return readCancellation(v)
}

func readCancellation(v ijson.Value) (*Cancellation, error) {
	m := open(v, "cancellation", "id slip type when", "")
	c := &Cancellation{ID: m.id("id"), Slip: m.digest("slip"), When: m.time("when")}
	if m.err != nil {
		return nil, m.err
	}
	return c, nil
}

// Acknowledgement is the content of an acknowledgement (section 6.6): the agent
// has learned of a cancellation.
type Acknowledgement struct {
	ID           string
	Slip         string // fingerprint
	Cancellation string // fingerprint
	Pass         string // fingerprint, of a helper
	When         Time
}

// Append appends the content in canonical form.
func (a *Acknowledgement) Append(dst []byte) []byte {
	dst = appendText(dst, `{"cancellation":`, a.Cancellation)
	dst = appendText(dst, `,"id":`, a.ID)
	dst = appendOptional(dst, `,"pass":`, a.Pass)
	dst = appendText(dst, `,"slip":`, a.Slip)
	dst = append(dst, `,"type":"provared.acknowledgement.v0"`...)
	return append(appendTime(dst, `,"when":`, a.When), '}')
}

// ReadAcknowledgement reads an acknowledgement's content.
func ReadAcknowledgement(payload []byte) (*Acknowledgement, error) {
	v, err := readContent(KindAcknowledgement, payload)
	if err != nil {
		return nil, err
	}
	return readAcknowledgement(v)
}

func readAcknowledgement(v ijson.Value) (*Acknowledgement, error) {
	m := open(v, "acknowledgement", "cancellation id slip type when", "pass")
	a := &Acknowledgement{
		ID:           m.id("id"),
		Slip:         m.digest("slip"),
		Cancellation: m.digest("cancellation"),
		Pass:         m.digest("pass"),
		When:         m.time("when"),
	}
	if m.err != nil {
		return nil, m.err
	}
	return a, nil
}
