package receipts

import (
	"slices"
)

// slip checks a slip's entry: sections 2.1 and 2.3.
func (c *Checker) slip(p *parsed, s *Slip, e *Entry) {
	fp := p.main.fingerprint
	if _, ok := c.slips[fp]; ok {
		e.fail(problem(CodeDuplicateSlip, "the book holds this slip already"))
		// It is the same content: its own passkey is checked all the same.
	} else {
		c.id(e, s.ID, KindSlip)
	}
	e.IssuerKey, e.Covered, e.Development = s.Issuer.Key.Thumbprint(), s.Covered(), IsDevelopment(s)
	c.development = c.development || e.Development
	o := c.signedBy(p.main, &s.Issuer)
	e.Verified = o.verified()
	if o.err != nil {
		e.fail(o.err)
	}
	switch {
	case len(c.o.IssuerKeys) == 0:
		e.Notes = append(e.Notes, "no issuer keys were given to hold the slip's passkey against")
	case !slices.Contains(c.o.IssuerKeys, e.IssuerKey):
		e.fail(problem(CodeIssuerNotExpected, "the slip's passkey is none of those it was to be signed with"))
	}
	if e.Development {
		e.Notes = append(e.Notes, "the slip was signed by a stand-in for a passkey, made for development: no person stands behind it")
	}
	if d := c.o.Disclosures[fp]; len(d) > 0 && len(e.Problems) == 0 {
		if err := s.Reveal(d); err != nil {
			// The slip passes without them: they are dropped, and the whole check says so.
			c.wholeProblem(err.(Problem))
		}
	}
	if _, ok := c.slips[fp]; ok {
		return
	}
	c.slips[fp] = &slipState{
		Slip:        s,
		fingerprint: fp,
		usable:      len(e.Problems) == 0,
		confirmed:   e.Verified == VerifiedAll,
		scope:       newScope(s.Actions, s.Limits, s.Requires, s.ValidFrom, s.ValidUntil),
	}
}

// usableSlip finds the slip a record names. Without one nothing else of the record
// can be checked.
func (c *Checker) usableSlip(e *Entry, fingerprint string) *slipState {
	e.Slip = fingerprint
	s := c.slips[fingerprint]
	switch {
	case s == nil:
		e.fail(problem(CodeSlipMissing, "no earlier entry is the slip this record names"))
		return nil
	case !s.usable:
		e.fail(problem(CodeSlipUnusable, "the slip this record names failed its check"))
		return nil
	}
	return s
}

// soundPass finds the pass a record names, under this slip.
func (c *Checker) soundPass(e *Entry, fingerprint string, slip *slipState) *passState {
	p := c.passes[fingerprint]
	switch {
	case p == nil || !p.sound:
		e.fail(problem(CodePassMissing, "no earlier and sound entry is the pass this record names"))
		return nil
	case p.slip != slip:
		e.fail(problem(CodePassMismatch, "the pass this record names is one of another slip"))
		return nil
	}
	return p
}

// signedAs takes what became of a record's own signatures into its entry.
func (e *Entry) signedAs(o outcome) {
	e.Verified = o.verified()
	if o.invalid > 0 {
		e.fail(problem(CodeSignatureInvalid, "a signature does not fit its key"))
	}
}

// cancellation: section 6.5. Rule 2, which goes by stamps, is not worked out here.
func (c *Checker) cancellation(p *parsed, r *Cancellation, e *Entry) {
	c.id(e, r.ID, KindCancellation)
	s := c.usableSlip(e, r.Slip)
	if s == nil {
		return
	}
	o := c.signedBy(p.main, &s.Issuer)
	e.Verified = o.verified()
	if o.err != nil {
		e.fail(problem(CodeCancellationInvalid, "the cancellation is not signed by the slip's passkey (%s)", CodeOf(o.err)))
	}
	c.stamps(p, e)
	if len(e.Problems) > 0 || e.Verified != VerifiedAll {
		return
	}
	s.cancelled = true
	c.cancellations[p.main.fingerprint] = r.Slip
}

// stamps says that stamps beside a record are not checked here.
func (c *Checker) stamps(p *parsed, e *Entry) {
	if p.stampFault != nil {
		e.fail(p.stampFault)
	}
	if p.stamps > 0 {
		e.NotChecked = append(e.NotChecked, "stamps")
	}
}

// acknowledgement in a book: section 6.6. It changes no finding.
func (c *Checker) acknowledgement(p *parsed, r *Acknowledgement, e *Entry, own bool) {
	c.id(e, r.ID, KindAcknowledgement)
	e.Pass = r.Pass
	s := c.usableSlip(e, r.Slip)
	if s == nil {
		return
	}
	keys := s.Agent.Keys
	if r.Pass != "" {
		pass := c.soundPass(e, r.Pass, s)
		if pass == nil {
			return
		}
		keys = pass.To.Keys
	}
	e.signedAs(c.signed(p.main, keys, own))
	if c.cancellations[r.Cancellation] != r.Slip {
		e.fail(problem(CodeCancellationNotFound, "no earlier and sound entry is the cancellation this record acknowledges"))
	}
}

// refusal: section 6.2.
func (c *Checker) refusal(p *parsed, r *Refusal, e *Entry) {
	c.id(e, r.ID, KindRefusal)
	e.Signer = r.By.Keys.Fingerprint()
	e.signedAs(c.signed(p.main, r.By.Keys, false))
	s := c.usableSlip(e, r.Slip)
	if s == nil {
		return
	}
	for _, w := range s.With {
		if w.Keys != nil && w.Keys.Equal(r.By.Keys) {
			e.Service = w.ID
		}
	}
	if e.Service == "" {
		e.Notes = append(e.Notes, "the refusal is signed by a stranger to the slip")
	}
}

// termsRecord: section 6.3.
func (c *Checker) termsRecord(p *parsed, r *Terms, e *Entry) {
	c.id(e, r.ID, KindTerms)
	e.Signer = r.By.Keys.Fingerprint()
	e.signedAs(c.signed(p.main, r.By.Keys, false))
	if _, ok := c.terms[p.main.fingerprint]; !ok {
		c.terms[p.main.fingerprint] = &termsState{Terms: r, usable: len(e.Problems) == 0, confirmed: e.Verified == VerifiedAll}
	}
}

// pass: section 6.7.
func (c *Checker) pass(p *parsed, r *Pass, e *Entry, own bool) {
	c.id(e, r.ID, KindPass)
	s := c.usableSlip(e, r.Slip)
	if s == nil {
		return
	}
	state := &passState{Pass: r, slip: s, depth: 1, allowed: true,
		scope: newScope(r.Actions, r.Limits, nil, r.ValidFrom, r.ValidUntil)}
	keys, writer := s.Agent.Keys, s.scope
	if r.From != "" {
		state.from = c.soundPass(e, r.From, s)
		if state.from == nil {
			return
		}
		keys, writer = state.from.To.Keys, state.from.scope
		state.depth, state.allowed = state.from.depth+1, state.from.allowed
	}
	e.signedAs(c.signed(p.main, keys, own))
	if state.depth > maxPasses {
		e.fail(problem(CodePassTooDeep, "more than %d passes in a row", maxPasses))
	}
	state.allowed = state.allowed && int64(state.depth) <= s.Passes
	state.sound = len(e.Problems) == 0 && e.Verified != VerifiedNone
	if _, ok := c.passes[p.main.fingerprint]; !ok {
		c.passes[p.main.fingerprint] = state
	}
	if !state.sound || !s.confirmed {
		return
	}
	e.Compared = true
	if !state.allowed {
		e.find(CodePassNotAllowed)
	}
	wider := r.ValidFrom < writer.from || r.ValidUntil > writer.until
	for _, a := range r.Actions {
		wider = wider || !slices.Contains(writer.actions, a)
	}
	if wider {
		e.find(CodePassWider)
	}
	if r.When < writer.from || r.When >= writer.until {
		e.find(CodeOutsideValidTime)
	}
	if s.cancelled {
		e.find(CodeAfterCancellation)
	}
}

// vouching: section 6.10. Which names it backs is not worked out here.
func (c *Checker) vouching(p *parsed, r *Vouching, e *Entry) {
	c.id(e, r.ID, KindVouching)
	e.Signer = r.By.Keys.Fingerprint()
	e.signedAs(c.signed(p.main, r.By.Keys, false))
	e.NotChecked = append(e.NotChecked, "names backed by a vouching")
	if _, ok := c.vouchings[p.main.fingerprint]; !ok {
		c.vouchings[p.main.fingerprint] = &vouchingState{Vouching: r, sound: len(e.Problems) == 0 && e.Verified == VerifiedAll}
	}
}

func (c *Checker) withdrawal(p *parsed, r *Withdrawal, e *Entry) {
	c.id(e, r.ID, KindWithdrawal)
	v := c.vouchings[r.Vouching]
	if v == nil || !v.sound {
		e.fail(problem(CodeVouchingMissing, "no earlier and sound entry is the vouching this record withdraws"))
		return
	}
	e.Signer = v.By.Keys.Fingerprint()
	e.signedAs(c.signed(p.main, v.By.Keys, false))
}

// seal: section 6.8 but its stamps.
func (c *Checker) seal(p *parsed, r *Seal, e *Entry) {
	c.id(e, r.ID, KindSeal)
	e.Signer = r.By.Keys.Fingerprint()
	e.signedAs(c.signed(p.main, r.By.Keys, false))
	if r.Size != int64(c.size) || r.Root != c.tree.Root().String() {
		e.fail(problem(CodeSealMismatch, "the seal's size or root is not that of the entries before it"))
	}
	if r.Previous != c.seals.last {
		e.fail(problem(CodeSealChainBroken, "the seal does not follow on the one before"))
	}
	if c.seals.last != "" && r.When < c.seals.when || r.When < c.latest-ClockSlack {
		e.fail(problem(CodeTimeWentBackwards, "the seal is dated before what it follows"))
	}
	switch {
	case len(c.o.SealKeys) == 0:
		e.Notes = append(e.Notes, "no seal keys were given to hold the seal's keys against")
	case !slices.Contains(c.o.SealKeys, e.Signer):
		e.fail(problem(CodeSealerNotExpected, "the seal's keys are none of those it was to be signed with"))
	}
	c.stamps(p, e)
	c.seals = sealState{p.main.fingerprint, r.When}
}
