package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/receipts"
	"countersign/rules"
)

// lifecycle are the methods that no setting can keep back: without them there is
// no connection.
var lifecycle = []string{
	"initialize", "notifications/initialized", "server/discover", "ping",
	"notifications/cancelled", "notifications/progress",
}

// passes says whether the settings let a method through, from either side.
func (p *Pipeline) passes(method string) bool {
	return p.cfg.PassThrough == nil || slices.Contains(p.cfg.PassThrough, "*") ||
		slices.Contains(p.cfg.PassThrough, method) || slices.Contains(lifecycle, method) ||
		strings.HasPrefix(method, "tools/") || method == "notifications/tools/list_changed"
}

// judged says whether requests of a method are judged or refused by their method:
// such a message without an id is no notification, and a server that did what it
// says all the same would have done it unjudged.
func judged(method string) bool {
	return rules.IsMethod(method) || strings.HasPrefix(method, "tools/") || ofTasks(method)
}

// keeps is why a request other than tools/call is kept from the server; nil lets
// it pass. Rules may name some of these methods as if they were tools, their
// params being the arguments. A refusal by rule is to be recorded.
func (p *Pipeline) keeps(m *Message, peer Peer) (*fault, *refusal) {
	id := m.ID.Raw()
	if ofTasks(m.Method) {
		return &fault{code: codeMethod, id: id, why: "tasks are not offered here"}, nil
	}
	if !p.passes(m.Method) {
		return &fault{code: codeMethod, id: id, why: "this method is not let through here"}, nil
	}
	inForce := p.rules.Load()
	// The globs of rules mean tools alone, and only these methods may be named.
	if !rules.IsMethod(m.Method) || !inForce.name(m.Method) {
		return nil, nil
	}
	names, err := inForce.looks(m.Method, nil, nil)
	if err != nil {
		return &fault{code: codeInternal, id: id, why: err.Error()}, nil
	}
	if near := names.Alike(m.Params); near != "" {
		return &fault{code: codeParams, id: id, why: fmt.Sprintf("a member of params that differs from %q only in case", near)}, nil
	}
	most, levels := inForce.limits()
	if n := len(m.Params.Raw()); n > most {
		return &fault{code: codeParams, id: id, why: fmt.Sprintf("params of %d bytes, at most %d may be", n, most)}, nil
	}
	if levels < ijson.DefaultDepth && m.Params.Depth() > levels {
		return &fault{code: codeParams, id: id, why: fmt.Sprintf("params nested deeper than %d levels", levels)}, nil
	}
	facts := p.facts(peer)
	facts.NoAction, facts.NoAmount, facts.NoAnnotations = true, true, true
	d := inForce.judge(&engine.Call{
		Tool: m.Method, Arguments: m.Params, Agent: p.cfg.Agent, Upstream: p.cfg.Upstream,
		ClientName: peer.ClientName, ClientVersion: peer.ClientVersion, Now: p.now(),
		Facts: facts,
	})
	watched := p.watched(d)
	if d.Verdict == engine.Allowed {
		p.noticeWatched(m.Method, watched)
		return nil, nil
	}
	no := p.refusedBy(d)
	no.watched = watched
	return nil, no
}

// noticeWatched puts on record that watching rules would have refused a request that
// passes. It has no line of its own that theirs could be of.
func (p *Pipeline) noticeWatched(method string, watched []receipts.Watched) {
	if len(watched) == 0 {
		return
	}
	text := fmt.Sprintf("the watching rule %s would have refused %s (%s)", watched[0].Rule, method, watched[0].Code)
	if more := len(watched) - 1; more > 0 {
		text += fmt.Sprintf(", and so would %d more", more)
	}
	if err := p.chain.Notice(receipts.Notice{What: "watched", Text: text}); err != nil {
		p.log.Error("recording a notice", "err", err)
	}
}

// refuseRequest records that a request other than tools/call was refused, and
// answers it.
func (p *Pipeline) refuseRequest(ctx context.Context, m *Message, peer Peer, no *refusal) Reply {
	p.log.Info("refused a request", no.attributes("method", m.Method)...)
	r := Reply{Line: errorLine(m.ID.Raw(), codeParams, no.say)}
	turn, err := p.chain.Take(ctx)
	if err == nil {
		defer turn.Release()
		record := receipts.Call{
			Tool: m.Method, Arguments: m.Params.Raw(), Upstream: p.cfg.Upstream,
			Client:  receipts.Client{Name: peer.ClientName, Version: peer.ClientVersion},
			Watched: no.watched,
		}
		if p.recorded {
			record.Details = []receipts.Detail{{Name: detailArguments, SHA256: digest(m.Params)}}
		}
		err = turn.Refuse(receipts.Refused{Call: record, By: no.by, Code: no.code, Rule: no.rule, NoDenial: true})
	}
	switch {
	case err == nil:
	case errors.Is(err, receipts.ErrBusy), ctx.Err() != nil:
		// Refused all the same; there was no turn to write it in.
		p.log.Warn("a refused request is not on record", "err", err)
	default:
		p.log.Error("recording a refusal", "err", err)
		if final(err) {
			r.Fatal = err
		}
	}
	return r
}
