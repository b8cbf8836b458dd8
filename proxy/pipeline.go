package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/receipts"
	"countersign/rules"
)

// Pipeline takes calls through the steps of guard.md, section 3. It may be used
// by any number of connections of one agent at once.
type Pipeline struct {
	cfg      Config
	chain    Chain
	recorded bool // chain is a real one, which needs digests
	rules    atomic.Pointer[Rules]
	pins     atomic.Pointer[Pins]
	tools    catalog
	listing  chan struct{} // holds one token: who has it lists the tools
	rounds   rounds
	late     deadlines
	secrets  *Secrets
	log      *slog.Logger
	now      func() time.Time
}

// New makes the pipeline of one agent. A nil chain is mode rules: no slip is
// asked and nothing is written. Rules, log and now may be nil.
func New(cfg Config, rules *Rules, chain Chain, log *slog.Logger, now func() time.Time) (*Pipeline, error) {
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	secrets, err := NewSecrets(cfg.Credentials)
	if err != nil {
		return nil, fmt.Errorf("a credential: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	p := &Pipeline{cfg: cfg, chain: chain, recorded: chain != nil, listing: make(chan struct{}, 1), secrets: secrets, log: log, now: now}
	if chain == nil {
		p.chain = unrecorded{now}
	}
	p.late.after = cfg.Timeout
	p.rules.Store(rules)
	return p, nil
}

// SetRules puts other rules in force, for the calls whose turn comes from now on.
func (p *Pipeline) SetRules(rules *Rules) { p.rules.Store(rules) }

// Peer is the connection that a call comes from.
type Peer struct {
	Upstream                  Upstream
	ClientName, ClientVersion string // what the client said of itself at the start
	Place                     *Place // the call's place among those of its connection; nil: none before it
}

// Reply is what the agent gets for a call.
type Reply struct {
	Line []byte // one message, without a line's end; nil where none is expected
	// Fatal says that records can no longer be written: the guard has to stop
	// once the agent has its answer.
	Fatal error
}

// Begin takes one tools/call into the pipeline. done is called once, with what
// the agent is to be given, when the call's receipt is written or when there is
// none to be. Where nothing can make the call wait it is at the server when Begin
// returns; otherwise it goes on in a goroutine that ends before done is called.
// The message must stay as it is until then.
func (p *Pipeline) Begin(m *Message, peer Peer, done func(Reply)) *Call {
	c := &Call{p: p, m: m, peer: peer, done: done}
	if !p.recorded && peer.Place == nil && p.tools.fresh() {
		p.run(context.Background(), c)
		return c
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c.cancel = cancel
	go func() {
		defer cancel(nil)
		p.run(ctx, c)
	}()
	return c
}

// run takes a call through the steps of guard.md, section 3.
func (p *Pipeline) run(ctx context.Context, c *Call) {
	defer c.peer.Place.pass()

	// Read: what is not a call goes no further.
	if f := p.read(c); f != nil {
		c.done(p.fault(c.m, f))
		return
	}

	// A server that is being started again is waited for before anything is
	// written: of a call that cannot be sent there is nothing to record.
	if c.cancel != nil {
		if err := c.peer.Upstream.Await(ctx); err != nil {
			c.done(p.unturned(ctx, c, err))
			return
		}
	}

	// Name: action and amount, by the tool's name and the settings alone.
	if err := p.name(ctx, c); err != nil {
		c.done(p.unturned(ctx, c, err))
		return
	}

	// Wait: one call at a time. T0 is when the turn came.
	turn, err := p.wait(ctx, c)
	if err != nil {
		c.done(p.unturned(ctx, c, err))
		return
	}

	// What the tool was may have changed while the call waited.
	if c.cancel != nil && c.no == nil && !p.asNamed(c) {
		if err := p.name(ctx, c); err != nil {
			turn.Release()
			c.done(p.unturned(ctx, c, err))
			return
		}
	}

	// Judge: schema, content rules, then the slip.
	f := p.judge(c, turn)
	switch {
	case f != nil:
		turn.Release()
		c.done(p.fault(c.m, f))
		return
	case c.no != nil:
		c.done(p.refuse(c, turn))
		return
	}

	// Copy: on the disk before a byte goes upstream.
	flight, err := turn.Copy(c.record)
	if err != nil {
		turn.Release()
		if c.state.Exists() { // it was not used
			p.rounds.give(c.state.Text(), c.tool, c.argumentDigest())
		}
		c.done(p.unrecordable(c, err))
		return
	}

	// Forward: the call's own bytes.
	p.forward(c, func(answer *Message, reason string) {
		defer answer.free()

		// Outcome: what the agent will be given is digested and recorded.
		outcome := p.outcome(c, answer, reason)
		receipt, err := flight.Finish(outcome)
		if err != nil {
			c.done(p.withheld(c, reason, err))
			return
		}

		// Answer: only now.
		c.done(p.answer(c, answer, reason, receipt))
	})
}

// notOffered is what the agent is told of a tool that it may not call and of one
// that does not exist: the same.
const notOffered = "this tool is not offered here"

// name is the step Name. The error is that there is no server to ask for its tools.
func (p *Pipeline) name(ctx context.Context, c *Call) error {
	no := func(code, say, note string) {
		if c.no == nil {
			c.no = &refusal{by: "settings", code: code, say: say, note: note}
		}
	}
	if rules.IsMethod(c.tool) {
		no("unlisted", notOffered, "a tool with the name of a method, which rules could not tell from it")
		return nil
	}
	entry, offered := p.cfg.offered(c.tool)
	if !offered {
		note := "no entry in the settings"
		if _, n := p.cfg.tool(c.tool); n > 1 {
			note = "two globs of the settings name it"
		}
		if d, _ := p.tools.find(c.tool); d != nil {
			note += "; the server has such a tool"
		}
		no("unlisted", notOffered, note)
		return nil
	}
	c.entry = entry
	if err := p.list(ctx, c); errors.Is(err, ErrUpstreamClosed) {
		return err
	} else if err != nil {
		no("schema", "the tool server's list of tools cannot be read, so no call can be held against it", err.Error())
		return nil
	}
	d, _ := p.tools.find(c.tool)
	if d == nil {
		no("unlisted", notOffered, "the server has no such tool")
		return nil
	}
	c.definition = d
	if !p.pinned(c.tool, d) {
		no("tool-changed", notPinned, "")
		return nil
	}
	if err := d.ready(c.tool, p.log); err != nil {
		no("schema", err.Error(), "")
		return nil
	}
	if entry.Amount != nil {
		var wrong string
		if c.amount, wrong = entry.Amount.amount(c.arguments); wrong != "" {
			no("bad-amount", wrong, "")
		}
	}
	return nil
}

// asNamed says whether a tool is still what it was in the step Name.
func (p *Pipeline) asNamed(c *Call) bool {
	d, fresh := p.tools.find(c.tool)
	return fresh && d == c.definition && p.pins.Load().hold(c.tool, d)
}

// wait is the step Wait.
func (p *Pipeline) wait(ctx context.Context, c *Call) (Turn, error) {
	if err := c.peer.Place.come(ctx); err != nil {
		return nil, err
	}
	turn, err := p.turn(ctx, c)
	if err == nil && p.recorded {
		// The chain has the order now. Without one, the place is kept until
		// the call is forwarded.
		c.peer.Place.pass()
	}
	return turn, err
}

// turn waits for a turn in which there is a server: it may have ended while the
// call waited, and a turn is not kept while it is started again.
func (p *Pipeline) turn(ctx context.Context, c *Call) (Turn, error) {
	for {
		turn, err := p.chain.Take(ctx)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			turn.Release()
			return nil, context.Cause(ctx)
		}
		if c.cancel == nil || c.peer.Upstream.There() {
			return turn, nil
		}
		turn.Release()
		if err := c.peer.Upstream.Await(ctx); err != nil {
			return nil, err
		}
	}
}

// judge is the step Judge. It sets c.no where the call is refused; a fault is
// for what is answered at the level of messages.
func (p *Pipeline) judge(c *Call, turn Turn) *fault {
	c.rules = p.rules.Load()
	if p.recorded {
		c.record = p.recordOf(c)
	}
	if c.no != nil {
		return nil
	}
	bad := func(why string) *fault { return &fault{code: codeParams, id: c.m.ID.Raw(), why: why} }
	most, levels := c.rules.limits()
	if n := len(c.arguments.Raw()); n > most {
		return bad(fmt.Sprintf("arguments of %d bytes, at most %d may be", n, most))
	}
	if levels < ijson.DefaultDepth && c.arguments.Depth() > levels {
		return bad(fmt.Sprintf("arguments nested deeper than %d levels", levels))
	}
	var pointers [][]string
	if c.entry.Amount != nil {
		pointers = append(pointers, segments(c.entry.Amount.Arg))
	}
	names, err := c.rules.looks(c.tool, c.definition, pointers)
	if err != nil {
		c.no = &refusal{by: "settings", code: "schema", say: "the tool's input schema cannot be used: " + err.Error()}
		return nil
	}
	if near := names.Alike(c.arguments); near != "" {
		return bad(fmt.Sprintf("a member of the arguments that differs from %q only in case", near))
	}
	if s := c.definition.schema; s != nil && !p.cfg.SkipSchemas {
		if m := s.check(c.arguments); m != nil {
			c.no = &refusal{by: "settings", code: m.code, say: m.why}
			return nil
		}
	}
	question := engine.Call{
		Tool: c.tool, Arguments: c.arguments, InputResponses: c.input, Action: c.entry.Action,
		Agent: p.cfg.Agent, Upstream: p.cfg.Upstream,
		ClientName: c.peer.ClientName, ClientVersion: c.peer.ClientVersion,
		Annotations: c.definition.annotations, Now: turn.At(),
		Facts: p.facts(c.peer),
	}
	question.Facts.NoAction = c.entry.Action == ""
	if c.amount != nil {
		question.Amount = &engine.Amount{Unit: c.amount.Unit, Value: c.amount.Value}
	}
	d := c.rules.judge(&question)
	c.record.Watched = p.watched(d)
	if d.Verdict != engine.Allowed {
		c.no = p.refusedBy(d)
		return nil
	}
	if a := turn.Check(c.record.Proposal); !a.Allowed {
		c.no = &refusal{by: "slip", code: string(receipts.CodeCheckFailed), say: "refused by the slip"}
		if first, ok := a.First(); ok {
			c.no.code = string(first.Code)
			c.no.say = "refused by the slip: " + first.Error()
		}
		return nil
	}
	if c.state.Exists() && !p.rounds.take(c.state.Text(), c.tool, c.argumentDigest()) {
		return bad("a requestState that was not given for this call, or was given back before")
	}
	return nil
}

// facts says which facts there are none of. One that has no text is not given: taken
// for an empty text, it would pass a rule that refuses by what it is.
func (p *Pipeline) facts(peer Peer) engine.Facts {
	return engine.Facts{NoAgent: p.cfg.Agent == "", NoUpstream: p.cfg.Upstream == "", NoClient: peer.ClientName == ""}
}

// refusedBy is the refusal of a decision by the rules.
func (p *Pipeline) refusedBy(d engine.Decision) *refusal {
	no := &refusal{by: "rule", code: string(d.Code), say: d.Tell(p.cfg.Tell)}
	if d.Rule != "" {
		no.rule = d.File + "/" + d.Rule
	}
	return no
}

// watched are the watching rules that would have refused. Where nothing is
// recorded they are logged here, else with the call.
func (p *Pipeline) watched(d engine.Decision) []receipts.Watched {
	var w []receipts.Watched
	for _, r := range d.Watched {
		w = append(w, receipts.Watched{Rule: r.File + "/" + r.Rule, Code: string(r.Code)})
		p.log.Info("a watching rule would have refused", "rule", r.File+"/"+r.Rule, "code", string(r.Code))
	}
	return w
}
