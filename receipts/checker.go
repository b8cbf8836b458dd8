package receipts

import (
	"crypto/sha256"
	"slices"
	"sync"

	"countersign/internal/ijson"
)

// Checker reads one book line by line and keeps up all that the next line, or
// the next proposal, is held against: chains, ids, totals, counts and windows.
// Reading a line and answering [Checker.Before] take time that does not grow with
// the book. It is safe for concurrent use.
type Checker struct {
	o CheckOptions
	v *verifier

	mu      sync.Mutex // guards everything below
	lines   lineParser
	tree    Tree
	size    int
	entries []*Entry // none with SummaryOnly
	whole   []Problem

	ids           map[string]Kind // of every readable record
	slips         map[string]*slipState
	passes        map[string]*passState
	terms         map[string]*termsState
	vouchings     map[string]*vouchingState
	cancellations map[string]string // sound ones, and the slip each ends
	chains        map[chainKey]*chainState
	seals         sealState
	latest        Time // that a sound entry states
	held          map[string]bool
	approved      recent // approvals whose signature was checked here

	faulty, unchecked, uncompared int // entries
	breached                      int
	firstBreach                   int
	counts                        Counts
	development                   bool
	notChecked                    []string
}

type slipState struct {
	*Slip
	fingerprint string
	usable      bool // its own check found nothing
	confirmed   bool // its signature was confirmed here
	scope       *scope
	cancelled   bool // by a sound cancellation in the book
}

type passState struct {
	*Pass
	slip    *slipState
	from    *passState // nil of the slip's agent
	depth   int        // 1 for a pass of the slip's agent
	sound   bool
	allowed bool // neither it nor one above goes deeper than the slip lets it
	scope   *scope
}

type termsState struct {
	*Terms
	usable    bool
	confirmed bool
}

type vouchingState struct {
	*Vouching
	sound bool
}

type chainKey struct{ slip, pass string }

type chainState struct {
	next int64  // seq of the next stub
	last string // fingerprint of the last stub
	when Time   // of the last stub
}

type sealState struct {
	last string // fingerprint of the last seal, "" before the first
	when Time
}

// NewChecker begins an empty book.
func NewChecker(o CheckOptions) *Checker {
	return &Checker{
		o:             o,
		v:             newVerifier(o.WithoutMethods),
		ids:           make(map[string]Kind),
		slips:         make(map[string]*slipState),
		passes:        make(map[string]*passState),
		terms:         make(map[string]*termsState),
		vouchings:     make(map[string]*vouchingState),
		cancellations: make(map[string]string),
		chains:        make(map[chainKey]*chainState),
		held:          make(map[string]bool),
		firstBreach:   -1,
		latest:        minTime,
	}
}

// Add reads the next line of the book, without its line feed, and says what was
// found. A finding on it may still come with a later line, where a window is
// overfilled by a stub dated before it; Result has them all.
func (c *Checker) Add(line []byte) Entry { return c.take(line, false) }

// AddOwn is Add for a line this program has itself just signed: signatures made
// with two keys are taken as checked. All else is checked as ever.
func (c *Checker) AddOwn(line []byte) Entry { return c.take(line, true) }

func (c *Checker) take(line []byte, own bool) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.apply(c.lines.read(line), own)
}

// Size is the number of entries read.
func (c *Checker) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Root is the top fingerprint of the lines read.
func (c *Checker) Root() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tree.Root().String()
}

// Slip is the content of a slip the book holds, in no way a word on whether it is
// sound; false where there is none.
func (c *Checker) Slip(fingerprint string) (*Slip, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.slips[fingerprint]
	if !ok {
		return nil, false
	}
	return s.Slip, true
}

// holds says whether a readable record of the book has this id.
func (c *Checker) holds(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.ids[id]
	return ok
}

// Next is the place of the next stub of a chain: its seq, the fingerprint of the
// stub before (empty where it is the first) and that stub's time.
func (c *Checker) Next(slip, pass string) (seq int64, previous string, when Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.chains[chainKey{slip, pass}]; s != nil {
		return s.next, s.last, s.when
	}
	return 0, "", minTime
}

// Cancelled says whether the book, or a held copy, holds a sound cancellation of
// a slip.
func (c *Checker) Cancelled(slip string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slips[slip]
	return c.held[slip] || s != nil && s.cancelled
}

// apply holds one line against the book and counts it in.
func (c *Checker) apply(p *parsed, own bool) *Entry {
	e := &Entry{Index: c.size, Kind: p.kind, Verified: VerifiedNone}
	if c.size >= MaxEntries {
		e.fail(problem(CodeTooLarge, "the book has more than %d entries", MaxEntries))
		c.wholeProblem(e.Problems[0])
		return e
	}
	switch {
	case p.fault != nil:
		e.fail(p.fault)
	case p.main.fault != nil:
		e.fail(p.main.fault)
		if p.main.env != nil {
			e.Fingerprint = p.main.fingerprint
		}
	default:
		e.Fingerprint, e.Content = p.main.fingerprint, p.main.content
		c.record(p, e, own)
	}
	c.close(p, e)
	return e
}

// record sends a readable record to the check of its kind.
func (c *Checker) record(p *parsed, e *Entry, own bool) {
	switch content := p.main.content.(type) {
	case *Slip:
		c.slip(p, content, e)
	case *Stub:
		c.stub(p, content, e, own)
	case *Cancellation:
		c.cancellation(p, content, e)
	case *Acknowledgement:
		c.acknowledgement(p, content, e, own)
	case *Refusal:
		c.refusal(p, content, e)
	case *Terms:
		c.termsRecord(p, content, e)
	case *Pass:
		c.pass(p, content, e, own)
	case *Vouching:
		c.vouching(p, content, e)
	case *Withdrawal:
		c.withdrawal(p, content, e)
	case *Seal:
		c.seal(p, content, e)
	default:
		e.fail(problem(CodeCheckFailed, "no check is known for this kind of record"))
	}
}

// close counts an entry into the book.
func (c *Checker) close(p *parsed, e *Entry) {
	for _, n := range e.NotChecked {
		if !slices.Contains(c.notChecked, n) {
			c.notChecked = append(c.notChecked, n)
		}
	}
	if len(e.Problems) > 0 {
		c.faulty++
	} else {
		c.note(p, e)
	}
	if e.Verified != VerifiedAll || !settled(e.Countersignature) || !settled(e.Approval) || len(e.NotChecked) > 0 {
		c.unchecked++
	}
	if (e.Kind == KindStub || e.Kind == KindPass) && !e.Compared {
		c.uncompared++
	}
	if len(e.Breaches) > 0 {
		c.breach(e.Index)
	}
	c.tally(e)
	c.tree.Add(p.leaf)
	c.size++
	if !c.o.SummaryOnly {
		c.entries = append(c.entries, e)
	}
}

func settled(s State) bool { return s == "" || s == StateAbsent || s == StateValid }

// note keeps the latest time a sound entry states, for seals: its own, and those
// of what stands beside a stub.
func (c *Checker) note(p *parsed, e *Entry) {
	switch r := e.Content.(type) {
	case *Stub:
		c.latest = max(c.latest, r.When)
		if p.countersignature != nil {
			c.latest = max(c.latest, p.countersignature.content.(*Countersignature).When)
		}
		if p.approval != nil {
			c.latest = max(c.latest, p.approval.content.(*Approval).When)
		}
	case *Cancellation:
		c.latest = max(c.latest, r.When)
	case *Acknowledgement:
		c.latest = max(c.latest, r.When)
	case *Refusal:
		c.latest = max(c.latest, r.When)
	case *Pass:
		c.latest = max(c.latest, r.When)
	case *Vouching:
		c.latest = max(c.latest, r.When)
	case *Withdrawal:
		c.latest = max(c.latest, r.When)
	}
}

func (c *Checker) breach(index int) {
	c.breached++
	if c.firstBreach < 0 || index < c.firstBreach {
		c.firstBreach = index
	}
}

func (c *Checker) tally(e *Entry) {
	n := &c.counts
	switch e.Kind {
	case KindSlip:
		n.Slips++
	case KindStub:
		n.Stubs++
		switch e.Countersignature {
		case StateValid:
			n.Countersigned++
		case StateAbsent:
			n.OneSided++
		}
		if e.Approval == StateValid {
			n.Approved++
		}
	case KindRefusal:
		n.Refusals++
	case KindTerms:
		n.Terms++
	case KindSeal:
		n.Seals++
	case KindCancellation:
		n.Cancellations++
	case KindAcknowledgement:
		n.Acknowledgements++
	case KindVouching:
		n.Vouchings++
	case KindWithdrawal:
		n.Withdrawals++
	case KindPass:
		n.Passes++
	}
}

func (e *Entry) fail(err error) {
	p, ok := err.(Problem)
	if !ok {
		p = problem(CodeOf(err), "the check met something it did not expect")
	}
	e.Problems = append(e.Problems, p)
}

func (e *Entry) find(code Code) {
	if !slices.ContainsFunc(e.Breaches, func(p Problem) bool { return p.Code == code }) {
		e.Breaches = append(e.Breaches, finding(code))
	}
}

func (c *Checker) wholeProblem(p Problem) {
	if !slices.Contains(c.whole, p) {
		c.whole = append(c.whole, p)
	}
}

// signed checks a record's signatures against a key set, unless a worker did so
// beforehand under the same keys.
func (c *Checker) signed(r *record, keys KeySet, own bool) outcome {
	if own {
		return outcome{valid: len(r.env.parts)}
	}
	if m := r.made; m != nil && m.issuer == nil && m.keys.Equal(keys) {
		return m.outcome
	}
	return c.v.keySet(r.env, keys)
}

// signedBy is signed for a passkey's record.
func (c *Checker) signedBy(r *record, issuer *Issuer) outcome {
	if m := r.made; m != nil && m.issuer != nil && m.issuer.same(issuer) {
		return m.outcome
	}
	return c.v.passkey(r.env, issuer)
}

// same says whether two issuers are alike in all a passkey's check looks at.
func (i *Issuer) same(o *Issuer) bool {
	return i == o || i.Key.Equal(o.Key) && i.Origin == o.Origin && i.RPID == o.RPID
}

// id refuses an id the book holds already, and keeps it.
func (c *Checker) id(e *Entry, id string, kind Kind) {
	if _, ok := c.ids[id]; ok {
		e.fail(problem(CodeDuplicateID, "an earlier record has the same id"))
		return
	}
	c.ids[id] = kind
}

// maxApproved bounds how many checked approvals are remembered.
const maxApproved = 64

// recent remembers the last few digests it was given.
type recent struct {
	sums [maxApproved][sha256.Size]byte
	next int
	full bool
}

func (r *recent) add(sum [sha256.Size]byte) {
	r.sums[r.next] = sum
	r.next = (r.next + 1) % maxApproved
	r.full = r.full || r.next == 0
}

func (r *recent) has(sum [sha256.Size]byte) bool {
	n := r.next
	if r.full {
		n = maxApproved
	}
	return slices.Contains(r.sums[:n], sum)
}

// MaxHeld bounds the cancellations held beside a book (section 6.5).
const MaxHeld = 16

// Hold takes a cancellation that the book does not hold yet: if it is sound,
// nothing under its slip is allowed before acting from now on. An error says what
// is wrong with it. Stamps beside it are not checked here.
func (c *Checker) Hold(cancellation []byte) (*Cancellation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var d ijson.Doc
	v, err := parseCanonical(&d, cancellation)
	if err != nil {
		return nil, err
	}
	r := c.lines.record(KindCancellation, v)
	if r.fault != nil {
		return nil, r.fault
	}
	content := r.content.(*Cancellation)
	s := c.slips[content.Slip]
	switch {
	case s == nil:
		return nil, problem(CodeSlipMissing, "the cancellation is of a slip the book does not hold")
	case !s.usable:
		return nil, problem(CodeSlipUnusable, "the cancellation's slip failed its check")
	}
	if o := c.signedBy(r, &s.Issuer); o.state() != StateValid {
		return nil, problem(CodeCancellationInvalid, "the cancellation is not signed by the slip's passkey")
	}
	if _, ok := c.held[content.Slip]; !ok && len(c.held) >= MaxHeld {
		return nil, problem(CodeBadField, "more than %d slips with held cancellations", MaxHeld)
	}
	c.held[content.Slip] = true
	return content, nil
}
