package receipts

import (
	"bytes"
	"slices"

	"countersign/internal/ijson"
)

// ground is what a stub stands on: all a check of it looks up in the book.
type ground struct {
	slip    *slipState
	pass    *passState // nil for the slip's agent
	terms   *termsState
	service *Service // nil where with names none
	keys    KeySet   // that must have signed it
}

// ground looks up what a stub names, and puts into e whatever of it is missing,
// unsound or does not follow. It changes nothing. The zero ground means that
// nothing can be held against it.
func (c *Checker) ground(s *Stub, e *Entry) ground {
	var g ground
	e.Pass = s.Pass
	slip := c.usableSlip(e, s.Slip)
	if slip == nil {
		return ground{}
	}
	g.slip, g.keys = slip, slip.Agent.Keys
	if s.Pass != "" {
		if g.pass = c.soundPass(e, s.Pass, slip); g.pass == nil {
			return ground{}
		}
		g.keys = g.pass.To.Keys
	}
	if i := slices.IndexFunc(slip.With, func(w Service) bool { return w.ID == s.With }); i >= 0 {
		g.service = &slip.With[i]
	}
	chain := c.chains[chainKey{s.Slip, s.Pass}]
	if chain == nil {
		chain = &chainState{when: minTime}
	}
	if s.Seq != chain.next || s.Previous != chain.last {
		e.fail(problem(CodeChainBroken, "the stub does not follow on the one before in its chain"))
	}
	if s.When < chain.when {
		e.fail(problem(CodeTimeWentBackwards, "the stub is dated before the one before in its chain"))
	}
	if s.Terms != "" {
		g.terms = c.terms[s.Terms]
		switch {
		case g.terms == nil:
			e.fail(problem(CodeTermsNotFound, "no earlier entry is the terms this stub names"))
		case !g.terms.usable:
			e.fail(problem(CodeTermsUnusable, "the terms this stub names failed their check"))
		case g.service == nil || !g.service.Keys.Equal(g.terms.By.Keys):
			e.fail(problem(CodeTermsMismatch, "the terms this stub names are not signed with its service's keys"))
		}
	}
	return g
}

// stub checks a stub's entry: its own record, what stands beside it on its line,
// and, if nothing is wrong, the stub against its slip.
func (c *Checker) stub(p *parsed, s *Stub, e *Entry, own bool) {
	e.Countersignature, e.Approval = presence(p.countersignature), presence(p.approval)
	c.id(e, s.ID, KindStub)
	g := c.ground(s, e)
	if g.slip == nil {
		return
	}
	e.signedAs(c.signed(p.main, g.keys, own))
	c.chains[chainKey{s.Slip, s.Pass}] = &chainState{next: s.Seq + 1, last: p.main.fingerprint, when: s.When}
	if p.countersignature != nil {
		c.countersignature(p, g, e, own)
	}
	c.approval(p, s, g, e)
	if len(e.Problems) > 0 || e.Verified == VerifiedNone || !g.slip.confirmed || g.terms != nil && !g.terms.confirmed {
		return
	}
	e.Compared = true
	c.compare(s, g, e)
}

func presence(r *record) State {
	if r == nil {
		return StateAbsent
	}
	return StateUnchecked
}

// countersignature: section 3.2.
func (c *Checker) countersignature(p *parsed, g ground, e *Entry, own bool) {
	r := p.countersignature
	if r.fault != nil {
		e.fail(r.fault)
		return
	}
	if r.content.(*Countersignature).Stub != p.main.fingerprint {
		e.fail(problem(CodeCountersignatureWrongStub, "the countersignature names another stub"))
	}
	if g.service == nil || g.service.Keys == nil {
		e.fail(problem(CodeCountersignatureImpossible, "the slip gives no keys for the service the stub names"))
		return
	}
	o := c.signed(r, g.service.Keys, own)
	e.Countersignature = o.state()
	if o.invalid > 0 {
		e.fail(problem(CodeCountersignatureInvalid, "the countersignature does not fit the service's keys"))
	}
}

// approval: section 6.1, as far as it looks at what stands on the line.
func (c *Checker) approval(p *parsed, s *Stub, g ground, e *Entry) {
	r := p.approval
	if r == nil {
		if s.Approval != "" {
			e.fail(problem(CodeApprovalNotFound, "the stub names an approval that is not on its line"))
		}
		return
	}
	if r.fault != nil {
		e.fail(r.fault)
		return
	}
	if s.Approval != r.fingerprint {
		e.fail(problem(CodeApprovalMismatch, "the approval on the line is not the one the stub names"))
	}
	a := r.content.(*Approval)
	state, problems := c.checkApproval(r, g.slip, p.main.request, s.When)
	e.Approval = state
	for _, p := range problems {
		e.fail(p)
	}
	if _, ok := c.ids[a.ID]; !ok {
		c.ids[a.ID] = KindApproval
	}
}

// checkApproval holds an approval against a slip, what was asked for, and when.
// It changes nothing but what is remembered of checked signatures.
func (c *Checker) checkApproval(r *record, slip *slipState, request []byte, when Time) (State, []Problem) {
	var problems []Problem
	fail := func(code Code, message string) { problems = append(problems, Problem{code, message}) }
	a := r.content.(*Approval)
	if a.Slip != slip.fingerprint || !bytes.Equal(r.request, request) {
		fail(CodeApprovalMismatch, "the approval is for another action than the stub's, or for another slip")
	}
	switch kind, ok := c.ids[a.ID]; {
	case ok && kind == KindApproval:
		fail(CodeApprovalReused, "the approval was used on an earlier line")
	case ok:
		fail(CodeDuplicateID, "an earlier record has the approval's id")
	}
	state := StateValid
	if !c.approved.has(r.sum) {
		o := c.signedBy(r, &slip.Issuer)
		if state = o.state(); o.err != nil {
			fail(CodeApprovalInvalid, "the approval is not signed by the slip's passkey ("+string(CodeOf(o.err))+")")
		}
	}
	if a.When > when+ClockSlack {
		fail(CodeApprovalDatedAfterStub, "the approval is dated after the action it approves")
	}
	return state, problems
}

// compare holds a stub against its slip, its pass and those above it, and counts
// it in (section 3.4). Only a stub without a problem comes here.
func (c *Checker) compare(s *Stub, g ground, e *Entry) {
	a := act{s.Action, s.Amount, s.When}
	e.Needs = c.findings(s, g, present{e.Countersignature != StateAbsent, e.Approval != StateAbsent}, false, e.find)
	overfull := func(entry int) { c.overfull(entry) }
	g.slip.scope.add(a, e.Index, overfull)
	for p := g.pass; p != nil; p = p.from {
		p.scope.add(a, e.Index, overfull)
	}
	e.Running = g.slip.scope.running(s.Action)
}

// overfull gives an earlier entry the finding that a stub read only now, and
// dated before it, has overfilled its window.
func (c *Checker) overfull(index int) {
	if !c.o.SummaryOnly {
		e := c.entries[index]
		before := len(e.Breaches)
		e.find(CodeOverPeriodLimit)
		if before > 0 || len(e.Breaches) == before {
			return
		}
	}
	c.breach(index)
}

// present says what stands beside a stub, or will.
type present struct{ countersignature, approval bool }

// findings are those of section 3.4 that a stub is, or would be: with ahead set,
// calls in flight and later-dated stubs are looked at too. It gives what the
// slip's conditions ask for.
func (c *Checker) findings(s *Stub, g ground, has present, ahead bool, found func(Code)) []Kind {
	a := act{s.Action, s.Amount, s.When}
	slip := g.slip
	if kind := kindOfAction(s.Action); kind != "" && slices.Contains(slip.Never, kind) {
		found(CodeProhibited)
	}
	if s.With != "" && g.service == nil {
		found(CodePartyNotAllowed)
	}
	slip.scope.findings(a, ahead, found)
	for p := g.pass; p != nil; p = p.from {
		p.scope.findings(a, ahead, found)
	}
	if g.pass != nil && !g.pass.allowed {
		found(CodePassNotAllowed)
	}
	if slip.cancelled || ahead && c.held[slip.fingerprint] {
		found(CodeAfterCancellation)
	}
	if t := g.terms; t != nil && (!slices.Contains(t.Accepts, s.Action) || s.When < t.ValidFrom || s.When >= t.ValidUntil) {
		found(CodeOutsideTerms)
	}
	var needs []Kind
	for _, r := range slip.Requires {
		if !applies(r, a) || slices.Contains(needs, r.Need) {
			continue
		}
		needs = append(needs, r.Need)
		switch {
		case r.Need == KindApproval && !has.approval:
			found(CodeApprovalMissing)
		case r.Need == KindCountersignature && !has.countersignature:
			found(CodeCountersignatureMissing)
		}
	}
	return needs
}

// applies says whether a condition asks for something of this act. Without a
// usable amount, one that looks at amounts does not.
func applies(r Condition, a act) bool {
	if r.Action != "" && r.Action != a.action {
		return false
	}
	return !r.HasAbove || a.amount != nil && a.amount.Unit == r.Unit && a.amount.Value > r.Above
}

// finding words a finding.
func finding(code Code) Problem {
	text := "the stub goes beyond its slip"
	switch code {
	case CodeActionNotAllowed:
		text = "the action is not among those allowed"
	case CodePartyNotAllowed:
		text = "the service is not one of the slip's"
	case CodeOutsideValidTime:
		text = "the time is outside that of the slip or pass"
	case CodeAmountMissing:
		text = "a limit or condition names a unit, and there is no amount in it"
	case CodeOverLimit:
		text = "the sum of amounts is above the limit"
	case CodeOverEachLimit:
		text = "the amount is above the limit for one action"
	case CodeOverCountLimit:
		text = "there are more actions than the limit allows"
	case CodeOverPeriodLimit:
		text = "within one period there is more than the limit allows"
	case CodeCountersignatureMissing:
		text = "a countersignature is required, and there is none"
	case CodeApprovalMissing:
		text = "an approval is required, and there is none"
	case CodeProhibited:
		text = "the action is of a kind the slip rules out"
	case CodeAfterCancellation:
		text = "the slip was cancelled before"
	case CodePassNotAllowed:
		text = "the slip does not let a pass go this deep"
	case CodePassWider:
		text = "the pass hands on more than its writer holds"
	case CodeOutsideTerms:
		text = "the service's terms do not accept the action, or not at that time"
	}
	return Problem{code, text}
}

// requestOf is what an approval must agree with, of a stub not yet signed.
func requestOf(s *Stub) ([]byte, error) {
	var d ijson.Doc
	if err := d.Parse(s.Append(nil), ijson.Options{Depth: maxDepth}); err != nil {
		return nil, problem(CodeBadField, "the action, amount, details or service are not well-formed text")
	}
	return appendRequest(nil, d.Root())
}
