package receipts

import (
	"slices"
	"strconv"

	"countersign/internal/ijson"
)

// By is who signs a refusal, terms, a vouching or a seal.
type By struct {
	Keys KeySet
	Name string
}

func (b By) append(dst []byte) []byte {
	dst = b.Keys.Append(append(dst, `{"keys":`...))
	return append(appendText(dst, `,"name":`, b.Name), '}')
}

func (m *members) by(name string, methods ...Method) By {
	v := m.value(name)
	if !v.Exists() {
		return By{}
	}
	in := open(v, name, "keys name", "")
	b := By{Keys: in.keys("keys", methods...), Name: in.name("name")}
	if in.err != nil {
		m.fail(in.err)
	}
	return b
}

// Refusal is the content of a refusal (section 6.2): a service's own word that it
// turned an agent away. It is counted against nobody.
type Refusal struct {
	ID     string
	Slip   string // fingerprint
	By     By
	Action string // any short: the action refused need not be on the shared list
	Amount *Amount
	Reason string
	When   Time
}

// Append appends the content in canonical form.
func (r *Refusal) Append(dst []byte) []byte {
	dst = appendText(dst, `{"action":`, r.Action)
	if r.Amount != nil {
		dst = r.Amount.append(append(dst, `,"amount":`...))
	}
	dst = r.By.append(append(dst, `,"by":`...))
	dst = appendText(dst, `,"id":`, r.ID)
	dst = appendText(dst, `,"reason":`, r.Reason)
	dst = appendText(dst, `,"slip":`, r.Slip)
	dst = append(dst, `,"type":"provared.refusal.v0"`...)
	return append(appendTime(dst, `,"when":`, r.When), '}')
}

// ReadRefusal reads a refusal's content.
func ReadRefusal(payload []byte) (*Refusal, error) {
	v, err := readContent(KindRefusal, payload)
	if err != nil {
		return nil, err
	}
	return readRefusal(v)
}

func readRefusal(v ijson.Value) (*Refusal, error) {
	m := open(v, "refusal", "action by id reason slip type when", "amount")
	r := &Refusal{
		ID:     m.id("id"),
		Slip:   m.digest("slip"),
		By:     m.by("by", Ed25519, MLDSA87),
		Action: m.short("action"),
		Amount: m.amount("amount"),
		Reason: m.text("reason", "one of the reasons of the format", isRefusalReason),
		When:   m.time("when"),
	}
	if m.err != nil {
		return nil, m.err
	}
	return r, nil
}

func isRefusalReason(s string) bool {
	switch s {
	case "not-in-slip", "over-limit", "outside-valid-time", "slip-not-sound", "needs-approval", "against-terms", "other":
		return true
	}
	return false
}

// Terms is the content of a service's terms for agents (section 6.3).
type Terms struct {
	ID         string
	By         By
	Accepts    []string
	Never      []string
	ValidFrom  Time
	ValidUntil Time
}

// Append appends the content in canonical form.
func (t *Terms) Append(dst []byte) []byte {
	dst = appendTexts(dst, `{"accepts":`, t.Accepts)
	dst = t.By.append(append(dst, `,"by":`...))
	dst = appendText(dst, `,"id":`, t.ID)
	dst = appendTexts(dst, `,"never":`, t.Never)
	dst = append(dst, `,"type":"provared.terms.v0"`...)
	dst = appendTime(dst, `,"validFrom":`, t.ValidFrom)
	return append(appendTime(dst, `,"validUntil":`, t.ValidUntil), '}')
}

// ReadTerms reads the content of terms.
func ReadTerms(payload []byte) (*Terms, error) {
	v, err := readContent(KindTerms, payload)
	if err != nil {
		return nil, err
	}
	return readTerms(v)
}

func readTerms(v ijson.Value) (*Terms, error) {
	m := open(v, "terms", "accepts by id never type validFrom validUntil", "")
	t := &Terms{
		ID:         m.id("id"),
		By:         m.by("by", Ed25519, MLDSA87),
		Accepts:    m.texts("accepts", 1, maxActions, wantAction, isAction),
		Never:      m.texts("never", 0, maxNever, "a kind of action or a rule of conduct", isNever),
		ValidFrom:  m.time("validFrom"),
		ValidUntil: m.time("validUntil"),
	}
	m.validity(t.ValidFrom, t.ValidUntil)
	for _, a := range t.Accepts {
		if kind := kindOfAction(a); kind != "" && slices.Contains(t.Never, kind) {
			m.failf("accepts: holds an action of a kind that never rules out")
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	return t, nil
}

// validity: a time of validity ends after it begins.
func (m *members) validity(from, until Time) {
	if until <= from {
		m.failf("validUntil: must be later than validFrom")
	}
}

// Pass is the content of a pass (section 6.7): an agent lets a helper act under
// its slip, within narrower bounds.
type Pass struct {
	ID         string
	Slip       string // fingerprint
	From       string // fingerprint of the writer's own pass; "" of the slip's agent
	To         By
	Actions    []string
	Limits     []Limit
	ValidFrom  Time
	ValidUntil Time
	When       Time
}

// Append appends the content in canonical form.
func (p *Pass) Append(dst []byte) []byte {
	dst = appendTexts(dst, `{"actions":`, p.Actions)
	dst = appendOptional(dst, `,"from":`, p.From)
	dst = appendText(dst, `,"id":`, p.ID)
	dst = appendLimits(append(dst, `,"limits":`...), p.Limits)
	dst = appendText(dst, `,"slip":`, p.Slip)
	dst = p.To.append(append(dst, `,"to":`...))
	dst = append(dst, `,"type":"provared.pass.v0"`...)
	dst = appendTime(dst, `,"validFrom":`, p.ValidFrom)
	dst = appendTime(dst, `,"validUntil":`, p.ValidUntil)
	return append(appendTime(dst, `,"when":`, p.When), '}')
}

// ReadPass reads a pass's content.
func ReadPass(payload []byte) (*Pass, error) {
	v, err := readContent(KindPass, payload)
	if err != nil {
		return nil, err
	}
	return readPass(v)
}

func readPass(v ijson.Value) (*Pass, error) {
	m := open(v, "pass", "actions id limits slip to type validFrom validUntil when", "from")
	p := &Pass{
		ID:         m.id("id"),
		Slip:       m.digest("slip"),
		From:       m.digest("from"),
		To:         m.by("to", Ed25519, MLDSA87),
		Actions:    m.texts("actions", 1, maxActions, wantAction, isAction),
		ValidFrom:  m.time("validFrom"),
		ValidUntil: m.time("validUntil"),
		When:       m.time("when"),
	}
	p.Limits = m.limits(p.Actions)
	m.validity(p.ValidFrom, p.ValidUntil)
	units := Slip{Limits: p.Limits}
	m.checkUnits(&units)
	if m.err != nil {
		return nil, m.err
	}
	return p, nil
}

// Seal is the content of a seal (section 6.8): a recorder saw the first Size
// entries of a book.
type Seal struct {
	ID       string
	By       By // with three keys
	Size     int64
	Root     string
	Previous string // fingerprint of the seal before; "" on the first
	When     Time
}

// Append appends the content in canonical form.
func (s *Seal) Append(dst []byte) []byte {
	dst = s.By.append(append(dst, `{"by":`...))
	dst = appendText(dst, `,"id":`, s.ID)
	dst = appendOptional(dst, `,"previous":`, s.Previous)
	dst = appendText(dst, `,"root":`, s.Root)
	dst = strconv.AppendInt(append(dst, `,"size":`...), s.Size, 10)
	dst = append(dst, `,"type":"provared.seal.v0"`...)
	return append(appendTime(dst, `,"when":`, s.When), '}')
}

// ReadSeal reads a seal's content.
func ReadSeal(payload []byte) (*Seal, error) {
	v, err := readContent(KindSeal, payload)
	if err != nil {
		return nil, err
	}
	return readSeal(v)
}

func readSeal(v ijson.Value) (*Seal, error) {
	m := open(v, "seal", "by id root size type when", "previous")
	s := &Seal{
		ID:       m.id("id"),
		By:       m.by("by", Ed25519, MLDSA87, SLHDSA256s),
		Size:     m.int("size", 1, MaxInt),
		Root:     m.digest("root"),
		Previous: m.digest("previous"),
		When:     m.time("when"),
	}
	if m.err != nil {
		return nil, m.err
	}
	return s, nil
}

// Vouching is the content of a vouching (section 6.10): an organisation says
// whose keys some keys are.
type Vouching struct {
	ID         string
	By         By
	For        Vouched
	ValidFrom  Time
	ValidUntil Time
	When       Time
}

// Vouched is what a vouching names: a person by their passkey, an agent, service
// or recorder by its keys.
type Vouched struct {
	Kind string // person, agent, service or recorder
	Key  Key    // of a person
	Keys KeySet // of the others
	Name string
}

func (f Vouched) append(dst []byte) []byte {
	if f.Kind == "person" {
		dst = f.Key.Append(append(dst, `{"key":`...))
	} else {
		dst = f.Keys.Append(append(dst, `{"keys":`...))
	}
	dst = appendText(dst, `,"kind":`, f.Kind)
	return append(appendText(dst, `,"name":`, f.Name), '}')
}

// Append appends the content in canonical form.
func (c *Vouching) Append(dst []byte) []byte {
	dst = c.By.append(append(dst, `{"by":`...))
	dst = c.For.append(append(dst, `,"for":`...))
	dst = appendText(dst, `,"id":`, c.ID)
	dst = append(dst, `,"type":"provared.vouching.v0"`...)
	dst = appendTime(dst, `,"validFrom":`, c.ValidFrom)
	dst = appendTime(dst, `,"validUntil":`, c.ValidUntil)
	return append(appendTime(dst, `,"when":`, c.When), '}')
}

// ReadVouching reads a vouching's content.
func ReadVouching(payload []byte) (*Vouching, error) {
	v, err := readContent(KindVouching, payload)
	if err != nil {
		return nil, err
	}
	return readVouching(v)
}

func readVouching(v ijson.Value) (*Vouching, error) {
	m := open(v, "vouching", "by for id type validFrom validUntil when", "")
	c := &Vouching{
		ID:         m.id("id"),
		By:         m.by("by", Ed25519, MLDSA87),
		ValidFrom:  m.time("validFrom"),
		ValidUntil: m.time("validUntil"),
		When:       m.time("when"),
	}
	m.validity(c.ValidFrom, c.ValidUntil)
	c.For = m.vouched()
	if m.err != nil {
		return nil, m.err
	}
	return c, nil
}

func (m *members) vouched() Vouched {
	v := m.value("for")
	if !v.Exists() {
		return Vouched{}
	}
	f := Vouched{Kind: v.Member("kind").Text()}
	names := "keys kind name"
	if f.Kind == "person" {
		names = "key kind name"
	}
	in := open(v, "for", names, "")
	f.Name = in.name("name")
	switch f.Kind {
	case "person":
		if in.err == nil {
			var err error
			if f.Key, err = readKey(in.value("key"), passkeyMethods...); err != nil {
				in.fail(err)
			}
		}
	case "agent", "service":
		f.Keys = in.keys("keys", Ed25519, MLDSA87)
	case "recorder":
		f.Keys = in.keys("keys", Ed25519, MLDSA87, SLHDSA256s)
	default:
		in.failf("for.kind: must be person, agent, service or recorder")
	}
	if in.err != nil {
		m.fail(in.err)
	}
	return f
}

// Withdrawal is the content of a withdrawal (section 6.10): an organisation takes
// a vouching back.
type Withdrawal struct {
	ID       string
	Vouching string // fingerprint
	When     Time
}

// Append appends the content in canonical form.
func (w *Withdrawal) Append(dst []byte) []byte {
	dst = appendText(dst, `{"id":`, w.ID)
	dst = append(dst, `,"type":"provared.withdrawal.v0"`...)
	dst = appendText(dst, `,"vouching":`, w.Vouching)
	return append(appendTime(dst, `,"when":`, w.When), '}')
}

// ReadWithdrawal reads a withdrawal's content.
func ReadWithdrawal(payload []byte) (*Withdrawal, error) {
	v, err := readContent(KindWithdrawal, payload)
	if err != nil {
		return nil, err
	}
	return readWithdrawal(v)
}

func readWithdrawal(v ijson.Value) (*Withdrawal, error) {
	m := open(v, "withdrawal", "id type vouching when", "")
	w := &Withdrawal{ID: m.id("id"), Vouching: m.digest("vouching"), When: m.time("when")}
	if m.err != nil {
		return nil, m.err
	}
	return w, nil
}
