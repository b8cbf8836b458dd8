package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
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
		return nil, err
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
	p.late.passed = func(c *Call) { p.GiveUp(c, errLate) }
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

// Causes for which a call is given up.
var errStopped = errors.New("the guard stops")

// cancelled is the cause of a call that its agent gave up, with the agent's own
// notification about it.
type cancelled struct{ notification *Message }

func (*cancelled) Error() string { return "the agent gave the call up" }

// Call is one tools/call on its way.
type Call struct {
	m    *Message
	peer Peer
	done func(Reply)

	tool      string
	arguments ijson.Value // absent ones stay absent
	input     ijson.Value // inputResponses
	state     ijson.Value // requestState
	meta      ijson.Value
	modern    bool // the request says its own protocol version

	entry       Tool
	amount      *receipts.Amount
	definition  *definition
	rules       *Rules
	argumentSum string // the digest of the arguments
	no          *refusal
	record      receipts.Call

	mu     sync.Mutex              // guards what follows
	cancel context.CancelCauseFunc // ends its waiting; nil where it does not wait
	cause  error                   // why it was given up; nil while it is not
	sent   int64                   // its number at the server; 0 while it is not there

	then func(*Message, string) // what follows its outcome
	over atomic.Bool            // it has its outcome
}

// refusal is why a call that was read is not made.
type refusal struct {
	by, code, rule string
	say            string // for the agent
	note           string // for the ledger alone
}

// Begin takes one tools/call into the pipeline. done is called once, with what
// the agent is to be given, when the call's receipt is written or when there is
// none to be. Where nothing can make the call wait it is at the server when Begin
// returns; otherwise it goes on in a goroutine that ends before done is called.
// The message must stay as it is until then.
func (p *Pipeline) Begin(m *Message, peer Peer, done func(Reply)) *Call {
	c := &Call{m: m, peer: peer, done: done}
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
			c.done(p.withheld(c, err))
			return
		}

		// Answer: only now.
		c.done(p.answer(c, answer, reason, receipt))
	})
}

// callParams are the members that params of a tools/call may have.
var callParams = paramsOf["tools/call"]

// read is the step Read: the shape of a tools/call.
func (p *Pipeline) read(c *Call) *fault {
	m := c.m
	bad := func(why string) *fault { return &fault{code: codeParams, id: m.ID.Raw(), why: why} }
	var name, task ijson.Value
	for member, value := range m.Params.Members() {
		switch {
		case member.Is("name"):
			name = value
		case member.Is("arguments"):
			c.arguments = value
		case member.Is("_meta"):
			c.meta = value
		case member.Is("inputResponses"):
			c.input = value
		case member.Is("requestState"):
			c.state = value
		case member.Is("task"):
			task = value
		default:
			return bad(fmt.Sprintf("params of tools/call hold a member that is none of %v", callParams))
		}
	}
	object := func(v ijson.Value) bool { return !v.Exists() || v.Kind() == ijson.Object }
	switch {
	case name.Kind() != ijson.String:
		return bad("params of tools/call have no name that is text")
	case !object(c.arguments):
		return bad("arguments that are not an object")
	case !object(c.meta):
		return bad("a _meta that is not an object")
	case !object(c.input):
		return bad("inputResponses that are not an object")
	case c.input.Exists() && c.arguments.Member("inputResponses").Exists():
		return bad("an argument named inputResponses beside the inputResponses of the call")
	case c.state.Exists() && c.state.Kind() != ijson.String:
		return bad("a requestState that is not text")
	}
	if info := c.meta.Member(metaClient); info.Kind() == ijson.Object {
		c.peer.ClientName, c.peer.ClientVersion = label(info.Member("name")), label(info.Member("version"))
	}
	c.tool = name.Text()
	c.modern = c.meta.Member(metaVersion).Kind() == ijson.String
	if task.Exists() {
		c.no = &refusal{by: "settings", code: "tasks-not-offered", say: "tasks are not offered here; call the tool without one"}
	}
	return nil
}

// Members of _meta that a request of the modern era says everything with.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaClient  = "io.modelcontextprotocol/clientInfo"
	metaAbility = "io.modelcontextprotocol/clientCapabilities"
)

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

// wait is the step Wait.
func (p *Pipeline) wait(ctx context.Context, c *Call) (Turn, error) {
	if err := c.peer.Place.come(ctx); err != nil {
		return nil, err
	}
	turn, err := p.chain.Take(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		turn.Release()
		return nil, context.Cause(ctx)
	}
	if p.recorded {
		// The chain has the order now. Without one, the place is kept until
		// the call is forwarded.
		c.peer.Place.pass()
	}
	return turn, nil
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
		Facts: engine.Facts{NoAction: c.entry.Action == "", NoClient: c.peer.ClientName == ""},
	}
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

// argumentDigest is the SHA-256 of the arguments' canonical form.
func (c *Call) argumentDigest() string {
	if c.argumentSum == "" {
		c.argumentSum = fingerprint([]byte("{}"))
		if c.arguments.Exists() {
			c.argumentSum = digest(c.arguments)
		}
	}
	return c.argumentSum
}

// recordOf is what is on record of the call, whatever comes of it.
func (p *Pipeline) recordOf(c *Call) receipts.Call {
	details := []receipts.Detail{
		{Name: detailArguments, SHA256: c.argumentDigest()},
		{Name: p.cfg.detailPrefix() + detailTool, SHA256: fingerprint([]byte(c.tool))},
	}
	for _, f := range c.rules.fingerprints() {
		details = append(details, receipts.Detail{Name: detailRules, SHA256: f.SHA256})
	}
	if c.input.Exists() {
		details = append(details, receipts.Detail{Name: detailInput, SHA256: digest(c.input)})
	}
	r := receipts.Call{
		Proposal:       receipts.Proposal{Action: c.entry.Action, Amount: c.amount, With: p.cfg.Service, Details: details},
		Tool:           c.tool,
		Arguments:      c.arguments.Raw(),
		InputResponses: c.input.Raw(),
		Rules:          c.rules.fingerprints(),
		Client:         receipts.Client{Name: c.peer.ClientName, Version: c.peer.ClientVersion},
		Upstream:       p.cfg.Upstream,
	}
	if c.definition != nil {
		r.Annotations = c.definition.annotations.Raw()
	}
	return r
}

// refuse ends a call that is not made: it is on record before the agent is told.
func (p *Pipeline) refuse(c *Call, turn Turn) Reply {
	err := turn.Refuse(receipts.Refused{Call: c.record, By: c.no.by, Code: c.no.code, Rule: c.no.rule, Note: c.no.note})
	p.log.Info("refused a call", "tool", short(c.tool), "by", c.no.by, "code", c.no.code, "rule", c.no.rule, "note", c.no.note)
	r := Reply{Line: c.toolError(c.no.say)}
	if err != nil {
		p.log.Error("recording a refusal", "err", err)
		if final(err) {
			r.Fatal = err
		}
	}
	return r
}

// forward is the step Forward: it sends the call, and has then called once, with
// what comes of it. Where the outcome is not known there is a reason in place of
// an answer. then is called from the goroutine in which the server's messages
// come, unless there are records to write.
func (p *Pipeline) forward(c *Call, then func(*Message, string)) {
	if p.recorded {
		inner := then
		then = func(m *Message, reason string) { go inner(m, reason) }
	}
	c.then = then
	n, err := c.peer.Upstream.Open(func(m *Message, err error) {
		c.settled()
		then(m, unknown(err))
	})
	if err == nil {
		err = c.peer.Upstream.Request(n, c.m)
	}
	c.peer.Place.pass()
	if err != nil {
		p.log.Warn("the tool server did not take a call", "tool", short(c.tool), "err", err)
		then(nil, reasonClosed)
		return
	}
	p.late.add(c)
	c.mu.Lock()
	c.sent = n
	cause := c.cause
	c.mu.Unlock()
	if cause != nil { // given up while it was being sent
		p.abandon(c, n, cause)
	}
}

// settled takes a call that has its answer from those that may be late.
func (c *Call) settled() { c.over.Store(true) }

// GiveUp gives a call up: before it is sent it never will be, afterwards its
// outcome is not known. A call that has its answer already goes on.
func (p *Pipeline) GiveUp(c *Call, cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	n, cancel := c.sent, c.cancel
	c.mu.Unlock()
	switch {
	case n != 0:
		p.abandon(c, n, cause)
	case cancel != nil:
		cancel(cause)
	}
}

// errLate is the cause of a call that has no answer in time.
var errLate = errors.New("no answer in time")

// abandon gives up waiting for the answer to a call that was sent, and tells the
// server.
func (p *Pipeline) abandon(c *Call, n int64, cause error) {
	if !c.peer.Upstream.Forget(n) {
		return // its answer came at the same moment
	}
	c.settled()
	reason, notification := reasonStopped, (*Message)(nil)
	var gaveUp *cancelled
	switch {
	case errors.As(cause, &gaveUp):
		reason, notification = reasonCancelled, gaveUp.notification
	case errors.Is(cause, errLate):
		reason = reasonTimeout
	}
	if err := c.peer.Upstream.Put(cancellation(n, reason, notification)); err != nil {
		p.log.Debug("the tool server did not take a cancellation", "err", err)
	}
	c.then(nil, reason)
}

// unknown is why the outcome of a call is not known, by what its upstream says.
func unknown(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrUnreadable):
		return reasonUnreadable
	}
	return reasonClosed
}

// cancellation is the notification that request n is given up: the agent's own,
// with the request's number put in, or one of ours.
func cancellation(n int64, reason string, own *Message) []byte {
	id := strconv.AppendInt(nil, n, 10)
	if own != nil {
		at := own.Params.Member("requestId")
		return bytes.Join([][]byte{own.line[:at.Start()], id, own.line[at.End():]}, nil)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%q}}`, id, reason)
}

// outcome is the step Outcome: the digest of what the agent will be given.
func (p *Pipeline) outcome(c *Call, answer *Message, reason string) receipts.Outcome {
	var o receipts.Outcome
	switch {
	case !p.recorded:
		return o
	case answer == nil:
		o.Unknown = reason
		o.Detail = receipts.Detail{Name: detailUnknown, SHA256: fingerprint([]byte(reason))}
		return o
	case answer.Kind == Result:
		o.Result = append(ijson.AppendCanonical([]byte(`{"result":`), answer.Result), '}')
	default:
		o.Result = append(ijson.AppendCanonical([]byte(`{"error":`), answer.Error), '}')
	}
	o.Removed = answer.removed
	o.Detail = receipts.Detail{Name: p.cfg.detailPrefix() + detailResult, SHA256: fingerprint(o.Result)}
	return o
}

// answer is the step Answer.
func (p *Pipeline) answer(c *Call, answer *Message, reason string, receipt receipts.Receipt) Reply {
	if answer == nil {
		p.log.Warn("the outcome of a call is not known", "tool", short(c.tool), "reason", reason)
		if reason == reasonCancelled {
			return Reply{} // nobody waits for it
		}
		return Reply{Line: c.toolError(p.saysUnknown(reason))}
	}
	if answer.Result.Member("resultType").Is("input_required") {
		if state := answer.Result.Member("requestState"); state.Kind() == ijson.String {
			p.rounds.give(state.Text(), c.tool, c.argumentDigest())
		}
	}
	if p.cfg.CallIDInMeta && receipt.ID != "" && answer.Result.Kind() == ijson.Object {
		return Reply{Line: withReceipt(answer, c.m.ID.Raw(), receipt)}
	}
	return Reply{Line: answer.append(make([]byte, 0, len(answer.line)+len(c.m.ID.Raw())), c.m.ID.Raw())}
}

// saysUnknown is what the agent is told where the outcome is not known.
func (p *Pipeline) saysUnknown(reason string) string {
	var what string
	switch reason {
	case reasonTimeout:
		what = fmt.Sprintf("the tool server did not answer within %v", p.cfg.Timeout)
	case reasonStopped:
		what = "the guard stopped while this call was with the tool server"
	case reasonUnreadable:
		return "the tool server answered; its answer cannot be read in only one way and is withheld, so the outcome is not known"
	default:
		what = "the tool server closed its connection while this call was with it"
	}
	return what + ", so the outcome is not known"
}

// unturned answers a call whose turn did not come. Nothing of it was sent.
func (p *Pipeline) unturned(ctx context.Context, c *Call, err error) Reply {
	var gaveUp *cancelled
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &gaveUp):
		return Reply{}
	case cause != nil:
		return Reply{Line: c.toolError("the guard stops; the call was not sent")}
	case errors.Is(err, receipts.ErrBusy):
		p.log.Info("turned a call away", "tool", short(c.tool), "err", err)
		return Reply{Line: c.toolError("busy: " + err.Error() + "; the call was not sent")}
	case errors.Is(err, ErrUpstreamClosed):
		p.log.Warn("turned a call away", "tool", short(c.tool), "err", err)
		return Reply{Line: c.toolError(err.Error() + "; the call was not sent")}
	}
	return p.unrecordable(c, err)
}

// unrecordable answers a call that cannot be recorded and is therefore not sent.
func (p *Pipeline) unrecordable(c *Call, err error) Reply {
	p.log.Error("recording a call", "tool", short(c.tool), "err", err)
	r := Reply{Line: c.toolError("the call cannot be recorded now and was not sent")}
	if final(err) {
		r.Fatal = err
	}
	return r
}

// withheld answers a call that was made and whose outcome cannot be recorded.
func (p *Pipeline) withheld(c *Call, err error) Reply {
	p.log.Error("recording an outcome", "tool", short(c.tool), "err", err)
	return Reply{
		Line:  c.toolError("the server answered; its answer is withheld because it could not be recorded; do not repeat the call"),
		Fatal: err,
	}
}

// fault answers a message that goes no further, and puts it on record.
func (p *Pipeline) fault(m *Message, f *fault) Reply {
	p.noticeMessage(f, m.line, len(m.line))
	if f.mute {
		return Reply{}
	}
	return Reply{Line: errorLine(f.id, f.code, f.why)}
}

// noticeMessage puts a refused message on record. line is nil where it was not
// kept.
func (p *Pipeline) noticeMessage(f *fault, line []byte, size int) {
	n := receipts.Notice{What: "refused-message", Text: f.why, Bytes: int64(size)}
	if line != nil {
		n.Hash = fingerprint(line)
	}
	p.log.Warn("refused a message", "bytes", size, "err", f.why)
	if err := p.chain.Notice(n); err != nil {
		p.log.Error("recording a notice", "err", err)
	}
}

// label is what a client says of itself, cut to the length of a name.
func label(v ijson.Value) string {
	const most = 200 // code points: a name of the record format
	text := v.Text()
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i]
		}
	}
	return text
}

// short bounds what an agent can make us log of a name.
func short(name string) string {
	const most = 128 // the longest name the protocol advises
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}
