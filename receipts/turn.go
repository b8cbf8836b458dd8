package receipts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Turn is the one call of a chain that is being decided.
type Turn struct {
	c    *Chain
	at   Time
	over bool

	checked  bool // Check allowed proposal
	proposal Proposal
	stub     Stub // of it, without what the answer adds
}

// Call is what is on record of a call, refused or made.
type Call struct {
	// Proposal is what was checked: action, amount, approval, and the details
	// arguments, tool name, rules and input responses, in this order.
	Proposal

	Tool           string // with its servers prefix
	Arguments      []byte // JSON text as received; nil where absent
	InputResponses []byte // JSON text as received; nil where absent
	Annotations    []byte // JSON text of the tool's annotations; nil where unknown
	Rules          []RulesFile
	Client         Client
	Upstream       string
	Watched        []Watched // watching rules that would have refused
}

// Refused is a call that is not made, and who said no.
type Refused struct {
	Call
	By       string // rule, slip, person or settings
	Code     string
	Rule     string // "file name/rule id", where By is rule
	Note     string // tells refusals of one code apart; never an argument's value
	NoDenial bool   // a request that is no tools/call: a ledger line and no denial
}

// At is T0, the moment the turn came, in whole seconds: the time of rules, check
// and stub. It is never before the chain's last stub or denial, except where the
// clock stands back by more than 5 s; Check then refuses.
func (t *Turn) At() time.Time { return t.at.Time() }

// Release ends a turn that did nothing. It is harmless after the others.
func (t *Turn) Release() {
	if !t.over {
		t.over = true
		t.c.turns.pass()
	}
}

// fill adds to a proposal what the chain knows itself.
func (t *Turn) fill(p Proposal) Proposal {
	p.Slip, p.With, p.When = t.c.Slip(), t.c.cfg.Service, t.at
	p.Details = slices.Clone(p.Details)
	return p
}

// Renew puts another slip in force in place of this one, as a start under it would:
// it is checked whole, goes into the book, and an open line in the ledger says that
// it is in force, and which rules come into force with it. Whoever has a turn from
// then on is judged under it, this turn too. A slip that is not fit, or not in force
// at this time, and a disk without room change nothing; any other error is final.
func (t *Turn) Renew(ctx context.Context, record []byte, rules []RulesFile) error {
	c := t.c
	if t.over {
		return errors.New("the turn is over")
	}
	t.checked = false
	if err := c.Err(); err != nil {
		return err
	}
	if err := checkRules(rules); err != nil {
		return err
	}
	s, err := c.checkSlip(record)
	if err != nil {
		return err
	}
	switch now := TimeOf(c.cfg.Clock()); {
	case now < s.ValidFrom:
		return fmt.Errorf("%w: it is from %s on", ErrNotYet, s.ValidFrom)
	case now >= s.ValidUntil:
		return fmt.Errorf("the slip was in force only until %s", s.ValidUntil)
	case c.checker.Cancelled(s.fingerprint):
		return errors.New("the slip was cancelled")
	}
	line, err := c.wasInForce(ctx, s, c.logs.Ledger.Size())
	if err != nil {
		return err
	}
	if line > 0 {
		return fmt.Errorf("%s:%d: the slip %s", c.cfg.Ledger, line, usedBefore)
	}
	if err := c.inPlace(); err != nil {
		return err
	}
	if err := c.takeOn(s, rules); err != nil {
		return c.noRoom(err)
	}
	return nil
}

// Check holds an action against the slip and the book (format, section 6.4), and
// tries the stub it would have. The proposal's Slip, With and When are the
// chain's own.
func (t *Turn) Check(p Proposal) Answer {
	t.proposal = t.fill(p)
	t.checked = false
	if t.over {
		return Answer{Problems: []Problem{problem(CodeCheckFailed, "the turn is over")}}
	}
	if t.c.blocked != "" {
		return Answer{Problems: []Problem{{CodeRecordNotSound, t.c.blocked}}}
	}
	if t.at < t.c.lastNo {
		return Answer{Problems: []Problem{{CodeTimeWentBackwards, "the action is dated before the last denial under its slip"}}}
	}
	a := t.c.checker.Before(t.proposal)
	if !a.Allowed {
		return a
	}
	if err := t.try(); err != nil {
		return Answer{Problems: []Problem{problem(CodeRecordNotSound, "the stub would spoil the book: %s", err)}, Needs: a.Needs}
	}
	t.checked = true
	return a
}

// try makes the stub the proposal would have, with a digest in the place of the
// result's, and has the checker read it.
func (t *Turn) try() error {
	id, err := NewID(&t.c.rand)
	if err != nil {
		return fmt.Errorf("drawing its id: %w", err)
	}
	approval := ""
	if t.proposal.Approval != nil {
		e, err := ReadEnvelope(KindApproval, t.proposal.Approval)
		if err != nil {
			return err
		}
		approval = e.Fingerprint()
	}
	t.stub = t.c.nextStub(&t.proposal, id, approval)
	trial := t.stub
	if approval == "" {
		trial.Details = append(slices.Clone(trial.Details), Detail{Name: strings.Repeat("x", maxName), SHA256: t.c.Slip()})
	}
	if problems := t.c.checker.Try(&trial, t.proposal.Approval); len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// nextStub is the stub of a proposal, without what the answer adds to its details.
func (c *Chain) nextStub(p *Proposal, id, approval string) Stub {
	return Stub{ID: id, Slip: p.Slip, Seq: c.seq, Previous: c.previous, Action: p.Action, When: p.When,
		Amount: p.Amount, With: p.With, Details: p.Details, Approval: approval}
}

// Refuse records a call that is not made: its line in the ledger is durable on
// return, its denial written. It ends the turn. An error means that it could not
// be recorded; the call stays refused.
func (t *Turn) Refuse(r Refused) error {
	if t.over {
		return errors.New("the turn is over")
	}
	defer t.Release()
	c := t.c
	p := t.fill(r.Proposal)
	if !isDenier(r.By) || !isShort(r.Code) {
		return errors.New("a refusal needs who said no, and a code")
	}
	c.counts.Lock()
	ok := c.denials.allow(c.cfg.Clock())
	c.counts.Unlock()
	if !ok {
		c.wakeKeeper()
		return nil
	}
	line := &RefusedLine{By: r.By, Code: r.Code, Note: bounded(r.Note, maxLineText), Rule: bounded(r.Rule, maxRuleName), Tool: bounded(r.Tool, maxPeerText)}
	var denial *Denial
	if r.NoDenial {
		line.Details = p.Details
	} else {
		id, err := NewID(&c.rand)
		if err != nil {
			return fmt.Errorf("drawing the id of a denial: %w", err)
		}
		denial = &Denial{ID: id, Slip: c.Slip(), After: c.previous, By: r.By, Action: p.Action, Amount: p.Amount,
			With: p.With, Details: p.Details, Code: r.Code, Rule: r.Rule,
			When: max(t.at, c.last, c.lastNo)} // denials stand in order whatever the clock does; the ledger's line has the clock
		line.Denial = denial.Append(nil)
		if _, err := ReadDenial(line.Denial); err != nil {
			return fmt.Errorf("the denial would not be sound: %w", err)
		}
	}
	if err := c.inPlace(); err != nil {
		return err
	}
	if err := c.ledger.reserve(otherRoom); err != nil {
		return c.noRoom(err)
	}
	if denial != nil {
		if err := c.logs.Denials.Reserve(MaxLine + 1); err != nil {
			return c.noRoom(err)
		}
	}
	// The line becomes durable while the denial is signed.
	var record []byte
	var signErr error
	var signing sync.WaitGroup
	if denial != nil {
		signing.Go(func() { record, signErr = c.cfg.Agent.Sign(KindDenial, line.Denial) })
	}
	seq, err := c.ledger.append(line)
	signing.Wait()
	if err = errors.Join(err, signErr); err == nil && denial != nil {
		c.lastNo, c.lastDenial = denial.When, denial
		err = c.appendDenial(record)
	}
	if err == nil && len(r.Watched) > 0 {
		_, err = c.ledger.append(watchLine(seq, r.Watched))
	}
	if err != nil {
		c.fail(err)
		return c.Err()
	}
	c.markIfDue()
	return c.Err()
}

// appendDenial writes a denial's line, which is made durable soon.
func (c *Chain) appendDenial(record []byte) error {
	line := AppendLine(nil, KindDenial, record)
	if err := c.logs.Denials.Append(line); err != nil {
		return err
	}
	c.logs.Denials.SyncSoon()
	c.denied = c.denied.with(line)
	c.unmarked++
	return nil
}

func watchLine(of int64, watched []Watched) *WatchLine {
	l := &WatchLine{Of: of}
	for i, w := range watched {
		if i == maxWatched {
			l.More = int64(len(watched) - maxWatched)
			break
		}
		l.Rules = append(l.Rules, Watched{Rule: bounded(w.Rule, maxRuleName), Code: bounded(w.Code, maxShort)})
	}
	return l
}

// Copy writes the guard's own copy of a call that Check allowed in this turn.
// When it returns the copy is durable and the call may be forwarded; the turn
// then ends with Finish. ErrNoRoom means that there is no room for all the call
// may need: nothing was written, the turn can still be released, and a later
// call may work. ErrNotRecorded is final.
func (t *Turn) Copy(call Call) (*InFlight, error) {
	c := t.c
	p := t.fill(call.Proposal)
	if t.over || !t.checked || !sameProposal(&p, &t.proposal) {
		return nil, ErrNotChecked
	}
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	if err := call.check(); err != nil {
		return nil, err
	}
	f := &InFlight{t: t, stub: t.stub, approval: bytes.Clone(p.Approval)}
	line := &CallLine{Agent: c.cfg.Name, AgentKeys: c.agentKeys, GuardKeys: c.guardKeys,
		Annotations: string(call.Annotations), Approval: f.approval, Arguments: string(call.Arguments), InputResponses: string(call.InputResponses),
		Client: Client{Name: bounded(call.Client.Name, maxPeerText), Version: bounded(call.Client.Version, maxPeerText)},
		Draft:  f.stub.Append(nil), Rules: call.Rules, Tool: call.Tool, Upstream: bounded(call.Upstream, maxPeerText)}
	size := len(line.Draft) + len(line.Approval) + callRest
	for _, text := range []string{line.Annotations, line.Arguments, line.InputResponses} {
		size += 2 * len(text) // JSON text as a string: quotes and backslashes double, and it holds no other controls than white space
	}
	if size > maxLedgerLine {
		return nil, fmt.Errorf("the call is too large to be copied: %d bytes, at most %d", size, maxLedgerLine)
	}
	if err := c.inPlace(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	if err := c.ledger.reserve(size + outcomeRoom); err != nil {
		return nil, c.noRoom(err)
	}
	if err := c.logs.Book.Reserve(MaxLine + 1); err != nil {
		return nil, c.noRoom(err)
	}
	var err error
	if f.call, err = c.ledger.append(line); err == nil && len(call.Watched) > 0 {
		_, err = c.ledger.append(watchLine(f.call, call.Watched))
	}
	if err != nil {
		c.fail(err)
		return nil, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	f.release = c.checker.Reserve(p)
	t.over = true // the turn goes on with f
	return f, nil
}

// check looks at what a call line will hold and nothing else has looked at.
func (c *Call) check() error {
	for what, text := range map[string][]byte{"tool's name": []byte(c.Tool), "arguments": c.Arguments, "input responses": c.InputResponses, "annotations": c.Annotations} {
		if !utf8.Valid(text) {
			return fmt.Errorf("the %s of the call are not UTF-8", what)
		}
	}
	if len(c.Tool) > maxToolName {
		return fmt.Errorf("the tool's name is longer than %d bytes", maxToolName)
	}
	return checkRules(c.Rules)
}

func checkRules(files []RulesFile) error {
	if len(files) > maxRulesFiles {
		return fmt.Errorf("more than %d rules files", maxRulesFiles)
	}
	for _, f := range files {
		if !isText(f.Name, 1, maxName) || !isDigest(f.SHA256) {
			return errors.New("a rules file needs a name of 1 to 200 characters and a fingerprint")
		}
	}
	return nil
}

// callRest is the room for what a call line holds besides its texts, in bytes:
// 16 rules files of under 1,300 bytes, peers of under 5,000, the tool's name, in
// which a byte may become six, keys, chain and signature.
const callRest = 40 << 10

// sameProposal says whether what is to be copied is what was checked.
func sameProposal(a, b *Proposal) bool {
	amounts := a.Amount == nil && b.Amount == nil || a.Amount != nil && b.Amount != nil && *a.Amount == *b.Amount
	return amounts && a.Slip == b.Slip && a.Action == b.Action && a.With == b.With && a.When == b.When &&
		a.Terms == b.Terms && a.Pass == b.Pass && slices.Equal(a.Details, b.Details) && bytes.Equal(a.Approval, b.Approval)
}
