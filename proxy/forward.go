package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// Causes for which a call is given up.
var errStopped = errors.New("the guard stops")

// cancelled is the cause of a call that its agent gave up, with the agent's own
// notification about it.
type cancelled struct{ notification *Message }

func (*cancelled) Error() string { return "the agent gave the call up" }

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
		c.over.Store(true)
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

func (c *Call) settled() bool { return c.over.Load() }
func (c *Call) late()         { c.p.GiveUp(c, errLate) }

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
	c.over.Store(true)
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
