package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// list makes sure that the server's tools are known: the guard lists them itself
// before the first call, and again once the server has said that they changed.
// One call lists, the others wait for it.
func (p *Pipeline) list(ctx context.Context, c *Call) error {
	if _, fresh := p.tools.find(c.tool); fresh {
		return nil
	}
	select {
	case p.listing <- struct{}{}:
		defer func() { <-p.listing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if _, fresh := p.tools.find(c.tool); fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	mark := p.tools.began()
	whole := map[string]*definition{}
	size := 0
	var cursor ijson.Value
	for range maxPages {
		answer, err := p.ask(ctx, c.peer.Upstream, listRequest(c, cursor))
		if err != nil {
			return err
		}
		if answer.Kind != Result {
			return errors.New("the server answered tools/list with an error")
		}
		page, err := readTools(answer.Result)
		if err != nil {
			return err
		}
		for name, d := range page {
			if _, twice := whole[name]; twice {
				return errors.New("a tool stands twice in the server's list")
			}
			whole[name] = d
			size += len(d.doc.Root().Raw())
		}
		if len(whole) > maxTools || size > maxToolBytes {
			return errTools
		}
		// An empty text is a cursor too; only absence ends the list.
		if cursor = answer.Result.Member("nextCursor"); !cursor.Exists() {
			changes, err := p.tools.replace(whole, mark)
			p.noticeChanges(changes)
			return err
		}
		if cursor.Kind() != ijson.String {
			return errors.New("the server's list of tools goes on at a cursor that is not text")
		}
	}
	return fmt.Errorf("the server's list of tools has more than %d pages", maxPages)
}

// listRequest is the guard's own tools/list. What a request of the modern era
// must say of its client is said as the call at hand says it.
func listRequest(c *Call, cursor ijson.Value) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{`)
	if cursor.Exists() {
		b = append(b, `"cursor":`...)
		b = append(b, cursor.Raw()...)
	}
	if c.modern {
		if cursor.Exists() {
			b = append(b, ',')
		}
		b = append(b, `"_meta":{`...)
		n := 0
		for _, name := range []string{metaVersion, metaClient, metaAbility} {
			if v := c.meta.Member(name); v.Exists() {
				if n > 0 {
					b = append(b, ',')
				}
				b = ijson.AppendString(b, name)
				b = append(b, ':')
				b = append(b, v.Raw()...)
				n++
			}
		}
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// ask sends a request of the guard's own and waits for the answer.
func (p *Pipeline) ask(ctx context.Context, up Upstream, line []byte) (*Message, error) {
	m := &Message{line: line}
	if f := m.read(fromAgent); f != nil {
		return nil, f
	}
	type settled struct {
		m   *Message
		err error
	}
	came := make(chan settled, 1)
	n, err := up.Open(func(m *Message, err error) { came <- settled{m, err} })
	if err == nil {
		err = up.Request(n, m)
	}
	if err != nil {
		return nil, err
	}
	select {
	case s := <-came:
		return s.m, s.err
	case <-ctx.Done():
	}
	if !up.Forget(n) {
		s := <-came
		return s.m, s.err
	}
	if err := up.Put(cancellation(n, reasonTimeout, nil)); err != nil {
		return nil, err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("the server did not answer %s within %v", m.Method, p.cfg.Timeout.Round(time.Second))
	}
	return nil, context.Cause(ctx)
}

// seen takes in a tools/list answer that goes to the agent: its definitions are
// remembered, and what may not be shown is cut out. The message it returns may be
// the same one.
func (p *Pipeline) seen(m *Message) (*Message, error) {
	changes, err := p.tools.learn(m.Result)
	p.noticeChanges(changes)
	if err != nil {
		return nil, err
	}
	line := filterTools(m, p.showing(m.Result))
	if len(line) == len(m.line) {
		return m, nil
	}
	cut := &Message{line: line}
	if f := cut.read(fromServer); f != nil {
		return nil, f
	}
	return cut, nil
}

// noticeChanges puts on record that a tool's name means something else now.
func (p *Pipeline) noticeChanges(changes []change) {
	for _, ch := range changes {
		p.log.Warn("the server changed a tool", "tool", short(ch.tool))
		err := p.chain.Notice(receipts.Notice{What: "tool-changed", Text: "the definition of tool " + short(ch.tool) + " is another than before", Hash: ch.fingerprint})
		if err != nil {
			p.log.Error("recording a notice", "err", err)
		}
	}
}

// noticeRestart puts on record that another process is behind the calls from now on.
func (p *Pipeline) noticeRestart() {
	if err := p.chain.Notice(receipts.Notice{What: "server-restarted", Text: "the tool server ended and was started again"}); err != nil {
		p.log.Error("recording a notice", "err", err)
	}
}
