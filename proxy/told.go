package proxy

// What the agent is told of a call, and of a message that goes no further.

import (
	"context"
	"errors"
	"fmt"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// refuse ends a call that is not made: it is on record before the agent is told.
func (p *Pipeline) refuse(c *Call, turn Turn) Reply {
	err := turn.Refuse(receipts.Refused{Call: c.record, By: c.no.by, Code: c.no.code, Rule: c.no.rule, Note: c.no.note})
	p.log.Info("refused a call", c.no.attributes("tool", c.tool)...)
	r := Reply{Line: c.toolError(c.no.say)}
	if err != nil {
		p.log.Error("recording a refusal", "err", err)
		if final(err) {
			r.Fatal = err
		}
	}
	return r
}

// attributes are what the log says of a refusal: the name of the tool or method, and
// what is known beside it.
func (r *refusal) attributes(kind, name string) []any {
	all := []any{kind, short(name), "by", r.by, "code", r.code}
	if r.rule != "" {
		all = append(all, "rule", r.rule)
	}
	if r.note != "" {
		all = append(all, "note", r.note)
	}
	return all
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
// There is a reason where the outcome is not known.
func (p *Pipeline) withheld(c *Call, reason string, err error) Reply {
	p.log.Error("recording an outcome", "tool", short(c.tool), "err", err)
	say := "the server answered; its answer is withheld because it could not be recorded"
	switch reason {
	case "":
	case reasonCancelled:
		return Reply{Fatal: err} // nobody waits for it
	default:
		say = p.saysUnknown(reason) + ", and that could not be recorded"
	}
	return Reply{Line: c.toolError(say + "; do not repeat the call"), Fatal: err}
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
