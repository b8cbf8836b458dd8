package receipts

import (
	"slices"
	"strconv"

	"countersign/internal/ijson"
)

// Room a stub's line takes besides what the proposal fixes, in bytes (section 6.4,
// step 5): the stub's own signatures and members, the countersignature, and the
// JSON around them.
const (
	stubRoom             = 7300
	countersignatureRoom = 6900
	lineRoom             = 64
)

// Before is the check before acting (section 6.4): whether an action may be taken,
// held against the book as it stands and the calls in flight. Its steps are taken
// in the order of the table; the first problem ends it.
//
// An approval handed over is checked whole. The answer is no evidence of
// anything.
func (c *Checker) Before(p Proposal) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r *record
	stop := func(code Code, message string) Answer {
		return Answer{Problems: []Problem{{code, message}}}
	}
	switch { // 1 to 3
	case len(c.o.IssuerKeys) == 0:
		return stop(CodeRecordNotSound, "no issuer keys were given to hold slips against")
	case c.faulty > 0 || len(c.whole) > 0:
		return stop(CodeRecordNotSound, "the book has a problem")
	case c.unchecked > 0:
		return stop(CodeRecordNotSound, "the book was not wholly checked here")
	case c.uncompared > 0:
		return stop(CodeRecordNotSound, "the book holds a stub or pass that was not compared")
	case c.size >= MaxEntries:
		return stop(CodeTooLarge, "the book is full: it has "+strconv.Itoa(MaxEntries)+" entries")
	}
	// 4, 5
	if err := checkProposal(&p); err != nil {
		return Answer{Problems: []Problem{err.(Problem)}}
	}
	if !fits(&p) {
		return stop(CodeTooLarge, "the stub's line would be longer than "+strconv.Itoa(MaxLine)+" bytes")
	}
	if p.Approval != nil {
		var d ijson.Doc
		v, err := parseCanonical(&d, p.Approval)
		if err != nil {
			return Answer{Problems: []Problem{err.(Problem)}}
		}
		r = c.lines.record(KindApproval, v)
	}
	// 6 to 9
	s := p.stub()
	g, problem, ok := c.footing(s)
	if !ok {
		return Answer{Problems: []Problem{problem}}
	}
	// 10 to 13. Whether an approval is there is known only once it is read.
	answer := Answer{}
	hasKeys := g.service != nil && g.service.Keys != nil
	needs := c.findings(s, g, present{hasKeys, r != nil}, true, func(code Code) {
		if !slices.ContainsFunc(answer.Breaches, func(p Problem) bool { return p.Code == code }) {
			answer.Breaches = append(answer.Breaches, finding(code))
		}
	})
	answer.Needs = Needs{slices.Contains(needs, KindCountersignature), slices.Contains(needs, KindApproval)}
	if r != nil {
		if problems := c.handedOver(r, s, g); len(problems) > 0 {
			return Answer{Problems: problems[:1], Needs: answer.Needs}
		}
	}
	answer.Allowed = len(answer.Breaches) == 0
	return answer
}

// stub is the content of the stub the proposal would have, but for what only
// signing gives it.
func (p *Proposal) stub() *Stub {
	return &Stub{Slip: p.Slip, Action: p.Action, When: p.When, Amount: p.Amount, With: p.With,
		Details: p.Details, Terms: p.Terms, Pass: p.Pass}
}

// checkProposal is step 4.
func checkProposal(p *Proposal) error {
	bad := func(what string) error { return problem(CodeBadField, "proposal: %s is not of its form", what) }
	switch {
	case !isAction(p.Action):
		return bad("action")
	case !isDigest(p.Slip):
		return bad("slip")
	case p.Amount != nil && (!isUnit(p.Amount.Unit) || p.Amount.Value < 0 || p.Amount.Value > MaxInt):
		return bad("amount")
	case p.With != "" && !isShort(p.With):
		return bad("with")
	case p.Terms != "" && (!isDigest(p.Terms) || p.With == ""):
		return bad("terms")
	case p.Pass != "" && !isDigest(p.Pass):
		return bad("pass")
	case !p.When.valid():
		return bad("when")
	case len(p.Details) > MaxDetails:
		return bad("details")
	}
	for _, d := range p.Details {
		if !isText(d.Name, 1, maxName) || !isDigest(d.SHA256) {
			return bad("details")
		}
	}
	return nil
}

// fits is step 5: ceil(4n/3) for the content, and room for the rest.
func fits(p *Proposal) bool {
	n := len(`{"action":,"when":""}`) + len(timeLayout) + len(ijson.AppendString(nil, p.Action))
	if p.Amount != nil {
		n += len(`,"amount":`) + len(p.Amount.append(nil))
	}
	if len(p.Details) > 0 {
		n += len(`,"details":`) + len(appendDetails(nil, p.Details))
	}
	n += len(appendOptional(nil, `,"with":`, p.With))
	return (4*n+2)/3+stubRoom+len(p.Approval)+countersignatureRoom+lineRoom <= MaxLine
}

// footing is steps 6 to 9: what the action would stand on.
func (c *Checker) footing(s *Stub) (ground, Problem, bool) {
	no := func(code Code, message string) (ground, Problem, bool) {
		return ground{}, Problem{code, message}, false
	}
	slip := c.slips[s.Slip]
	switch {
	case slip == nil:
		return no(CodeSlipMissing, "the book does not hold the slip")
	case !slip.usable || !slip.confirmed:
		return no(CodeRecordNotSound, "the slip was not confirmed here")
	}
	g := ground{slip: slip, keys: slip.Agent.Keys}
	if s.Pass != "" {
		g.pass = c.passes[s.Pass]
		switch {
		case g.pass == nil || !g.pass.sound:
			return no(CodePassMissing, "the book does not hold the pass, or it is not sound")
		case g.pass.slip != slip:
			return no(CodePassMismatch, "the pass is one of another slip")
		}
		g.keys = g.pass.To.Keys
	}
	if i := slices.IndexFunc(slip.With, func(w Service) bool { return w.ID == s.With }); i >= 0 {
		g.service = &slip.With[i]
	}
	if chain := c.chains[chainKey{s.Slip, s.Pass}]; chain != nil && s.When < chain.when {
		return no(CodeTimeWentBackwards, "the action is dated before the last stub of its chain")
	}
	if s.Terms != "" {
		g.terms = c.terms[s.Terms]
		switch {
		case g.terms == nil || !g.terms.usable || !g.terms.confirmed:
			return no(CodeTermsNotFound, "the book does not hold the terms, or they are not sound")
		case g.service == nil || !g.service.Keys.Equal(g.terms.By.Keys):
			return no(CodeTermsMismatch, "the terms are not signed with the service's keys")
		}
	}
	return g, Problem{}, true
}

// handedOver is step 12 for an approval that was handed over. One whose signature
// fits is remembered, so that its line need not check it again.
func (c *Checker) handedOver(r *record, s *Stub, g ground) []Problem {
	if r.fault != nil {
		return []Problem{asProblem(r.fault)}
	}
	request, err := requestOf(s)
	if err != nil {
		return []Problem{asProblem(err)}
	}
	state, problems := c.checkApproval(r, g.slip, request, s.When)
	if state == StateValid && !c.approved.has(r.sum) {
		c.approved.add(r.sum)
	}
	if len(problems) == 0 && state != StateValid {
		problems = append(problems, problem(CodeRecordNotSound, "the approval's signature could not be checked here"))
	}
	return problems
}

func asProblem(err error) Problem {
	if p, ok := err.(Problem); ok {
		return p
	}
	return problem(CodeOf(err), "the check met something it did not expect")
}

// Try reads a stub that is not signed yet as the next line of the book would be
// read, with its approval's record beside it (nil for none), and gives what would
// be a problem. Signatures still to be made count as good. It changes nothing.
//
// Digests the stub does not have yet may stand as placeholders of their length.
func (c *Checker) Try(s *Stub, approval []byte) []Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	var e Entry
	payload := s.Append(nil)
	if _, err := ReadStub(payload); err != nil {
		return []Problem{asProblem(err)}
	}
	if c.size >= MaxEntries {
		e.fail(problem(CodeTooLarge, "the book has %d entries", MaxEntries))
	}
	if size := base64url.EncodedLen(len(payload)) + stubRoom + len(approval) + countersignatureRoom + lineRoom; size > MaxLine {
		e.fail(problem(CodeTooLarge, "the stub's line would be longer than %d bytes", MaxLine))
	}
	if _, ok := c.ids[s.ID]; ok {
		e.fail(problem(CodeDuplicateID, "an earlier record has the same id"))
	}
	g := c.ground(s, &e)
	if g.slip == nil {
		return e.Problems
	}
	if approval == nil {
		if s.Approval != "" {
			e.fail(problem(CodeApprovalNotFound, "the stub names an approval that is not on its line"))
		}
		return e.Problems
	}
	var d ijson.Doc
	v, err := parseCanonical(&d, approval)
	if err != nil {
		return append(e.Problems, asProblem(err))
	}
	r := c.lines.record(KindApproval, v)
	if r.fault != nil {
		return append(e.Problems, asProblem(r.fault))
	}
	if s.Approval != r.fingerprint {
		e.fail(problem(CodeApprovalMismatch, "the approval is not the one the stub names"))
	}
	if r.content.(*Approval).ID == s.ID {
		e.fail(problem(CodeDuplicateID, "the approval has the stub's id"))
	}
	request, err := requestOf(s)
	if err != nil {
		return append(e.Problems, asProblem(err))
	}
	_, problems := c.checkApproval(r, g.slip, request, s.When)
	return append(e.Problems, problems...)
}

// Reserve counts a call in flight against the limits of its slip and pass, for
// every chain, until release is called: once its stub stands in the book, or it is
// known that there will be none. release may be called from any goroutine, and
// more than once.
func (c *Checker) Reserve(p Proposal) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := act{p.Action, p.Amount, p.When}
	var list []func()
	if s := c.slips[p.Slip]; s != nil {
		list = append(list, s.scope.reserve(a))
	}
	for pass := c.passes[p.Pass]; pass != nil; pass = pass.from {
		list = append(list, pass.scope.reserve(a))
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range list {
			r()
		}
		list = nil
	}
}
