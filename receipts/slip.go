package receipts

import (
	"slices"
	"strconv"

	"countersign/internal/ijson"
)

// Bounds of a slip (section 2.1).
const (
	maxSoftware = 16
	maxRequires = 64
	maxServices = 64
	maxPasses   = 10
	maxPurpose  = 1000       // code points
	maxPer      = 31_622_400 // seconds: 366 days
	coverMethod = "sha-256"
)

// Slip is the content of a permission slip (section 2.1): what a person lets an
// agent do.
type Slip struct {
	ID         string
	Issuer     Issuer
	Agent      Agent
	Actions    []string
	Limits     []Limit
	Requires   []Condition
	Never      []string
	With       []Service
	Passes     int64 // 1 to 10; 0: not to be passed on
	ValidFrom  Time
	ValidUntil Time
	Purpose    Covered
}

// Issuer is the person who signs, by their passkey.
type Issuer struct {
	Key    Key
	Name   Covered
	Origin string // of the page the passkey signed on
	RPID   string
}

// Agent is who may act.
type Agent struct {
	Keys     KeySet
	Name     Covered
	Software []Detail // a statement only
}

// Service is a party the agent may act with. Without keys it cannot countersign.
type Service struct {
	ID   string
	Name Covered
	Keys KeySet
}

// Covered is a text that may stand in a slip as the digest of its disclosure
// alone (section 6.11). Text is empty while it is covered and not disclosed.
type Covered struct {
	Text   string
	Digest string // "" where the text stands in the slip itself
}

// LimitKind says what a limit bounds.
type LimitKind string

const (
	LimitMax   LimitKind = "max"   // the sum of amounts
	LimitEach  LimitKind = "each"  // one amount
	LimitCount LimitKind = "count" // the number of stubs
)

// Limit bounds one action (section 2.1).
type Limit struct {
	Action string
	Kind   LimitKind
	Bound  int64
	Unit   string // of max and each
	Per    int64  // seconds, 1 to 31,622,400: any window of that length; 0: over all time; never of each
}

// Condition asks for a countersignature or an approval.
type Condition struct {
	Need     Kind   // KindCountersignature or KindApproval
	Action   string // "": every action
	HasAbove bool   // only amounts of Unit above Above
	Above    int64
	Unit     string
}

// Append appends the content in canonical form.
func (s *Slip) Append(dst []byte) []byte {
	dst = append(dst, '{')
	covered := s.Covered() > 0
	purposeCovered := s.Purpose.Digest != ""
	if purposeCovered {
		dst = append(s.Purpose.append(dst, "purpose"), ',')
	}
	if covered {
		dst = append(appendText(dst, `"_sd_alg":`, coverMethod), ',')
	}
	dst = append(appendTexts(dst, `"actions":`, s.Actions), `,"agent":`...)
	dst = s.Agent.append(dst)
	dst = appendText(dst, `,"id":`, s.ID)
	dst = s.Issuer.append(append(dst, `,"issuer":`...))
	dst = appendLimits(append(dst, `,"limits":`...), s.Limits)
	dst = appendTexts(dst, `,"never":`, s.Never)
	if s.Passes > 0 {
		dst = strconv.AppendInt(append(dst, `,"passes":`...), s.Passes, 10)
	}
	if !purposeCovered {
		dst = s.Purpose.append(append(dst, ','), "purpose")
	}
	dst = append(dst, `,"requires":[`...)
	for i, c := range s.Requires {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.append(dst)
	}
	dst = append(dst, `],"type":"provared.slip.v0"`...)
	dst = appendTime(dst, `,"validFrom":`, s.ValidFrom)
	dst = appendTime(dst, `,"validUntil":`, s.ValidUntil)
	dst = append(dst, `,"with":[`...)
	for i, w := range s.With {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.append(dst)
	}
	return append(dst, `]}`...)
}

// append writes the member that holds the text, or the digest in its place.
func (c Covered) append(dst []byte, name string) []byte {
	if c.Digest != "" {
		return appendTexts(dst, `"_sd":`, []string{c.Digest})
	}
	return appendText(append(append(append(dst, '"'), name...), `":`...), "", c.Text)
}

func (i Issuer) append(dst []byte) []byte {
	dst = append(dst, '{')
	if i.Name.Digest != "" {
		dst = append(i.Name.append(dst, "name"), ',')
	}
	dst = i.Key.Append(append(dst, `"key":`...))
	if i.Name.Digest == "" {
		dst = i.Name.append(append(dst, ','), "name")
	}
	dst = appendText(dst, `,"origin":`, i.Origin)
	return append(appendText(dst, `,"rpId":`, i.RPID), '}')
}

func (a Agent) append(dst []byte) []byte {
	dst = append(dst, '{')
	if a.Name.Digest != "" {
		dst = append(a.Name.append(dst, "name"), ',')
	}
	dst = a.Keys.Append(append(dst, `"keys":`...))
	if a.Name.Digest == "" {
		dst = a.Name.append(append(dst, ','), "name")
	}
	if len(a.Software) > 0 {
		dst = appendDetails(append(dst, `,"software":`...), a.Software)
	}
	return append(dst, '}')
}

func (w Service) append(dst []byte) []byte {
	dst = append(dst, '{')
	if w.Name.Digest != "" {
		dst = append(w.Name.append(dst, "name"), ',')
	}
	dst = appendText(dst, `"id":`, w.ID)
	if w.Keys != nil {
		dst = w.Keys.Append(append(dst, `,"keys":`...))
	}
	if w.Name.Digest == "" {
		dst = w.Name.append(append(dst, ','), "name")
	}
	return append(dst, '}')
}

func appendLimits(dst []byte, limits []Limit) []byte {
	dst = append(dst, '[')
	for i, l := range limits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l.append(dst)
	}
	return append(dst, ']')
}

func (l Limit) append(dst []byte) []byte {
	dst = appendText(dst, `{"action":`, l.Action)
	dst = append(append(append(dst, `,"`...), l.Kind...), `":`...)
	dst = strconv.AppendInt(dst, l.Bound, 10)
	if l.Per > 0 {
		dst = strconv.AppendInt(append(dst, `,"per":`...), l.Per, 10)
	}
	return append(appendOptional(dst, `,"unit":`, l.Unit), '}')
}

func (c Condition) append(dst []byte) []byte {
	dst = append(dst, '{')
	if c.HasAbove {
		dst = append(strconv.AppendInt(append(dst, `"above":`...), c.Above, 10), ',')
	}
	if c.Action != "" {
		dst = append(appendText(dst, `"action":`, c.Action), ',')
	}
	dst = appendText(dst, `"need":`, string(c.Need))
	return append(appendOptional(dst, `,"unit":`, c.Unit), '}')
}

// Service finds the service with this id.
func (s *Slip) Service(id string) (Service, bool) {
	for _, w := range s.With {
		if w.ID == id {
			return w, true
		}
	}
	return Service{}, false
}

// Covered is the number of fields that stand covered.
func (s *Slip) Covered() int {
	n := 0
	for _, c := range s.coverable() {
		if c.Digest != "" {
			n++
		}
	}
	return n
}

// coverable are the fields that may be covered, in no order that matters.
func (s *Slip) coverable() []*Covered {
	list := []*Covered{&s.Issuer.Name, &s.Agent.Name, &s.Purpose}
	for i := range s.With {
		list = append(list, &s.With[i].Name)
	}
	return list
}

// ReadSlip reads a slip's content; covered fields stay covered.
func ReadSlip(payload []byte) (*Slip, error) {
	v, err := readContent(KindSlip, payload)
	if err != nil {
		return nil, err
	}
	return readSlip(v)
}

func readSlip(v ijson.Value) (*Slip, error) {
	if err := checkCoverNames(v, true); err != nil {
		return nil, err
	}
	m := open(v, "slip", "actions agent id issuer limits never requires type validFrom validUntil with",
		"_sd _sd_alg passes purpose")
	s := &Slip{
		ID:         m.id("id"),
		Issuer:     m.issuer(),
		Agent:      m.agent(),
		Actions:    m.texts("actions", 1, maxActions, wantAction, isAction),
		Never:      m.texts("never", 0, maxNever, "a kind of action or a rule of conduct", isNever),
		With:       m.services(),
		Passes:     m.int("passes", 1, maxPasses),
		ValidFrom:  m.time("validFrom"),
		ValidUntil: m.time("validUntil"),
		Purpose:    m.covered("purpose", maxPurpose),
	}
	s.Limits = m.limits(s.Actions)
	s.Requires = m.requires(s.Actions)
	if m.err != nil {
		return nil, m.err
	}
	m.checkUnits(s)
	m.checkCover(s)
	if s.ValidUntil <= s.ValidFrom {
		m.failf("validUntil: must be later than validFrom")
	}
	for _, a := range s.Actions {
		if kind := kindOfAction(a); kind != "" && slices.Contains(s.Never, kind) {
			m.failf("actions: holds an action of a kind that never rules out")
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	return s, nil
}

func (m *members) issuer() Issuer {
	v := m.value("issuer")
	if !v.Exists() {
		return Issuer{}
	}
	in := open(v, "issuer", "key origin rpId", "_sd name")
	i := Issuer{
		Name: in.covered("name", maxName),
		RPID: in.text("rpId", "a website name in lower case", isRPID),
	}
	i.Origin = in.text("origin", "the address of a page: https:// (or http://localhost), a website name in lower case that is or ends in rpId, a port only if it is needed, and nothing more",
		func(s string) bool { return isOrigin(s, i.RPID) })
	if key := in.value("key"); key.Exists() {
		var err error
		if i.Key, err = readKey(key, passkeyMethods...); err != nil {
			in.fail(err)
		}
	}
	if in.err != nil {
		m.fail(in.err)
	}
	return i
}

func (m *members) agent() Agent {
	v := m.value("agent")
	if !v.Exists() {
		return Agent{}
	}
	in := open(v, "agent", "keys", "_sd name software")
	a := Agent{
		Keys:     in.keys("keys", Ed25519, MLDSA87),
		Name:     in.covered("name", maxName),
		Software: in.details("software", 1, maxSoftware),
	}
	if in.err != nil {
		m.fail(in.err)
	}
	return a
}

func (m *members) services() []Service {
	items := m.list("with", 0, maxServices)
	out := make([]Service, 0, len(items))
	for i, e := range items {
		in := open(e, "with["+strconv.Itoa(i)+"]", "id", "_sd keys name")
		w := Service{
			ID:   in.short("id"),
			Name: in.covered("name", maxName),
			Keys: in.keys("keys", Ed25519, MLDSA87),
		}
		if in.err == nil && slices.ContainsFunc(out, func(o Service) bool { return o.ID == w.ID }) {
			in.failf("with[%d].id: stands twice in the list", i)
		}
		if in.err != nil {
			m.fail(in.err)
			return nil
		}
		out = append(out, w)
	}
	return out
}

// limits reads the limits of a slip or pass on these actions.
func (m *members) limits(actions []string) []Limit {
	items := m.list("limits", 0, maxLimits)
	out := make([]Limit, 0, len(items))
	for i, e := range items {
		l, err := readBound(e, "limits["+strconv.Itoa(i)+"]")
		switch {
		case err != nil:
			m.fail(err)
		case !slices.Contains(actions, l.Action):
			m.failf("limits[%d].action: is not one of the actions", i)
		case slices.ContainsFunc(out, func(o Limit) bool {
			return o.Action == l.Action && o.Kind == l.Kind && o.Per == l.Per
		}):
			m.failf("limits[%d]: a limit of the same action, sort and period stands before it", i)
		}
		if m.err != nil {
			return nil
		}
		out = append(out, l)
	}
	return out
}

func readBound(v ijson.Value, what string) (Limit, error) {
	m := open(v, what, "action", "count each max per unit")
	l := Limit{Action: m.action("action"), Unit: m.unit("unit"), Per: m.int("per", 1, maxPer)}
	kinds := 0
	for _, kind := range []LimitKind{LimitMax, LimitEach, LimitCount} {
		if m.has(string(kind)) {
			kinds++
			l.Kind = kind
		}
	}
	if m.err == nil && (kinds != 1 || (l.Kind == LimitCount) != (l.Unit == "") || l.Kind == LimitEach && l.Per > 0) {
		m.failf("%s: must hold action and one of: max, unit; each, unit; count; max, per, unit; count, per", what)
	}
	least := int64(0)
	if l.Kind == LimitCount {
		least = 1
	}
	l.Bound = m.int(string(l.Kind), least, MaxInt)
	return l, m.err
}

func (m *members) requires(actions []string) []Condition {
	items := m.list("requires", 0, maxRequires)
	out := make([]Condition, 0, len(items))
	for i, e := range items {
		what := "requires[" + strconv.Itoa(i) + "]"
		in := open(e, what, "need", "above action unit")
		c := Condition{
			Need:     Kind(in.text("need", "countersignature or approval", isNeed)),
			Action:   in.action("action"),
			HasAbove: in.has("above"),
			Above:    in.int("above", 0, MaxInt),
			Unit:     in.unit("unit"),
		}
		switch {
		case in.err != nil:
		case c.HasAbove != (c.Unit != "") || c.HasAbove && c.Action == "":
			in.failf("%s: above and unit stand together, and only beside an action", what)
		case c.Action != "" && !slices.Contains(actions, c.Action):
			in.failf("%s.action: is not one of the actions", what)
		case slices.ContainsFunc(out, func(o Condition) bool { return o.Need == c.Need && o.Action == c.Action }):
			in.failf("%s: a condition of the same need and action stands before it", what)
		}
		if in.err != nil {
			m.fail(in.err)
			return nil
		}
		out = append(out, c)
	}
	return out
}

func isNeed(s string) bool {
	return s == string(KindCountersignature) || s == string(KindApproval)
}

// checkUnits: one unit per action over all limits and conditions.
func (m *members) checkUnits(s *Slip) {
	units := make(map[string]string)
	one := func(action, unit string) {
		if unit == "" {
			return
		}
		if have, ok := units[action]; ok && have != unit {
			m.failf("limits, requires: an action has more than one unit")
		}
		units[action] = unit
	}
	for _, l := range s.Limits {
		one(l.Action, l.Unit)
	}
	for _, c := range s.Requires {
		one(c.Action, c.Unit)
	}
}
