package receipts

import (
	"slices"

	"countersign/internal/ijson"
)

// Denial is the content of this project's own denial record (guard, section 4):
// the agent's own side states that a call was not taken, and who said no. It is
// counted against nobody. The published family has a denial of its own, which is
// another record.
type Denial struct {
	ID      string
	Slip    string // fingerprint
	After   string // fingerprint of the agent's last stub; "" before the first
	By      string // rule, slip, person or settings
	Action  string // "" where the tool has none
	Amount  *Amount
	With    string
	Details []Detail
	Code    string
	Rule    string // "file name/rule id", where By is rule
	When    Time
}

// maxRuleName bounds Denial.Rule, in code points: a file's name and a rule's id.
const maxRuleName = 400

// Append appends the content in canonical form.
func (d *Denial) Append(dst []byte) []byte {
	dst = append(dst, '{')
	if d.Action != "" {
		dst = append(appendText(dst, `"action":`, d.Action), ',')
	}
	if d.After != "" {
		dst = append(appendText(dst, `"after":`, d.After), ',')
	}
	if d.Amount != nil {
		dst = append(d.Amount.append(append(dst, `"amount":`...)), ',')
	}
	dst = appendText(dst, `"by":`, d.By)
	dst = appendText(dst, `,"code":`, d.Code)
	dst = appendDetails(append(dst, `,"details":`...), d.Details)
	dst = appendText(dst, `,"id":`, d.ID)
	dst = appendOptional(dst, `,"rule":`, d.Rule)
	dst = appendText(dst, `,"slip":`, d.Slip)
	dst = append(dst, `,"type":"countersign.denial.v0"`...)
	dst = appendTime(dst, `,"when":`, d.When)
	return append(appendText(dst, `,"with":`, d.With), '}')
}

// ReadDenial reads a denial's content.
func ReadDenial(payload []byte) (*Denial, error) {
	v, err := readContent(KindDenial, payload)
	if err != nil {
		return nil, err
	}
	return readDenial(v)
}

func readDenial(v ijson.Value) (*Denial, error) {
	m := open(v, "denial", "by code details id slip type when with", "action after amount rule")
	d := &Denial{
		ID:      m.id("id"),
		Slip:    m.digest("slip"),
		After:   m.digest("after"),
		By:      m.text("by", "rule, slip, person or settings", isDenier),
		Action:  m.action("action"),
		Amount:  m.amount("amount"),
		With:    m.short("with"),
		Details: m.details("details", 1, MaxDetails),
		Code:    m.text("code", "a code", isShort),
		Rule:    m.text("rule", "text of 1 to 400 characters", func(s string) bool { return isText(s, 1, maxRuleName) }),
		When:    m.time("when"),
	}
	if m.err == nil && !denialCode(d.By, d.Code) {
		m.failf("code: is not one that a %s gives", d.By)
	}
	if d.Rule != "" && d.By != "rule" {
		m.failf("rule: stands only where a rule said no")
	}
	if m.err != nil {
		return nil, m.err
	}
	return d, nil
}

func isDenier(s string) bool {
	return s == "rule" || s == "slip" || s == "person" || s == "settings"
}

// denialCode says whether who said no can have given this code: the codes of the
// check for the slip and the person.
func denialCode(by, code string) bool {
	switch by {
	case "rule":
		return slices.Contains([]string{"condition", "cannot-judge", "over-budget"}, code)
	case "settings":
		return slices.Contains([]string{"unlisted", "tool-changed", "schema", "bad-amount",
			"over-budget", "tasks-not-offered", "rules-not-pinned"}, code)
	}
	return Code(code).known()
}
