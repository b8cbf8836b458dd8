package receipts

import (
	"countersign/internal/ijson"
)

// Approval is the content of an approval (section 6.1): the person's word for
// one action under their slip.
type Approval struct {
	ID      string
	Slip    string // fingerprint
	Action  string
	When    Time
	Amount  *Amount
	With    string
	Details []Detail
}

// Append appends the content in canonical form.
func (a *Approval) Append(dst []byte) []byte {
	dst = appendText(dst, `{"action":`, a.Action)
	if a.Amount != nil {
		dst = a.Amount.append(append(dst, `,"amount":`...))
	}
	if len(a.Details) > 0 {
		dst = appendDetails(append(dst, `,"details":`...), a.Details)
	}
	dst = appendText(dst, `,"id":`, a.ID)
	dst = appendText(dst, `,"slip":`, a.Slip)
	dst = append(dst, `,"type":"provared.approval.v0"`...)
	dst = appendTime(dst, `,"when":`, a.When)
	dst = appendOptional(dst, `,"with":`, a.With)
	return append(dst, '}')
}

// ReadApproval reads an approval's content.
func ReadApproval(payload []byte) (*Approval, error) {
	v, err := readContent(KindApproval, payload)
	if err != nil {
		return nil, err
	}
	return readApproval(v)
}

func readApproval(v ijson.Value) (*Approval, error) {
	m := open(v, "approval", "action id slip type when", "amount details with")
	a := &Approval{
		ID:      m.id("id"),
		Slip:    m.digest("slip"),
		Action:  m.action("action"),
		Amount:  m.amount("amount"),
		With:    m.short("with"),
		Details: m.details("details", 1, MaxDetails),
		When:    m.time("when"),
	}
	if m.err != nil {
		return nil, m.err
	}
	return a, nil
}

// appendRequest appends what an approval and its stub must agree on, as canonical
// text: action, amount, details and with, each where it is there. Two contents
// ask for the same thing exactly when these texts are equal.
func appendRequest(dst []byte, content ijson.Value) ([]byte, error) {
	if k := content.Kind(); k == 0 || k == ijson.Null {
		return nil, problem(CodeCheckFailed, "there is no content to ask for anything")
	}
	if !content.Member("action").Exists() {
		return nil, problem(CodePayloadNotCanonical, "the content has no action")
	}
	for i, name := range []string{"action", "amount", "details", "with"} {
		v := content.Member(name)
		if !v.Exists() {
			continue
		}
		if !narrow(v) {
			return nil, problem(CodePayloadNotCanonical, "only objects, lists, strings and whole numbers from 0 to %d are allowed", int64(MaxInt))
		}
		if i == 0 {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = ijson.AppendCanonical(dst, v)
	}
	return append(dst, '}'), nil
}
