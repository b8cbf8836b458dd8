package proxy

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"countersign/internal/ijson"
)

// fromServer takes one message that the server sends of itself. It owns the
// message.
func (s *session) fromServer(m *Message) {
	defer m.free()
	switch {
	case m.Kind == Request && !s.p.passes(m.Method):
		s.log.Info("refused a request of the server", "method", short(m.Method))
		if err := s.up.Put(errorLine(m.ID.Raw(), codeMethod, "this method is not let through here")); err != nil {
			s.log.Debug("the tool server did not take a refusal", "err", err)
		}
	case m.Kind == Request:
		s.ask(m)
	case m.Kind != Notification: // an error under no id
		s.send(m.line)
	case m.Method == "notifications/cancelled":
		s.serverCancelled(m)
	case tellsOfTasks(m.Method):
		// It may hold the result of a call, for which there would be no receipt.
		s.log.Warn("kept a notification of the server back: tasks are not offered", "method", short(m.Method))
	case !s.p.passes(m.Method):
		s.log.Info("kept a notification of the server back", "method", short(m.Method))
	default:
		if m.Method == "notifications/tools/list_changed" {
			s.p.tools.stale()
		}
		if at := m.Params.Member("_meta").Member(metaSubscription); at.Exists() {
			if n, ok := number(at); ok {
				s.mu.Lock()
				id := s.listens[n]
				s.mu.Unlock()
				if id != nil {
					s.send(apply(m.line, []edit{{at.Start(), at.End(), id}}))
					return
				}
			}
		}
		s.send(m.line)
	}
}

// ask passes a request of the server on, under a number of this connection's own.
func (s *session) ask(m *Message) {
	why := ""
	s.mu.Lock()
	n := s.last + 1
	switch _, twice := s.askedAs[m.key]; {
	case twice:
		why = "the id is that of a request that is open still"
	case len(s.asked) >= MaxOpen:
		why = ErrCrowded.Error()
	default:
		s.last = n
		s.asked[n] = asked{bytes.Clone(m.ID.Raw()), m.key}
		s.askedAs[m.key] = n
	}
	s.mu.Unlock()
	if why != "" {
		s.log.Warn("refused a request of the server", "method", short(m.Method), "err", why)
		if err := s.up.Put(errorLine(m.ID.Raw(), codeRequest, why)); err != nil {
			s.log.Debug("the tool server did not take a refusal", "err", err)
		}
		return
	}
	s.sendMessage(m, strconv.AppendInt(nil, n, 10))
}

// down is called when the server has ended and what was open there is settled. Its
// own requests are given up for it: another process would not know the answers.
func (s *session) down() {
	s.p.tools.stale()
	s.mu.Lock()
	numbers := slices.Sorted(maps.Keys(s.asked))
	clear(s.asked)
	clear(s.askedAs)
	s.mu.Unlock()
	for _, n := range numbers {
		s.send(cancellation(n, "the tool server ended", nil))
	}
}

// back is called when another server is there. What it said it would tell of its
// lists is told for it: they may be others now.
func (s *session) back(declared ijson.Value) {
	s.p.noticeRestart()
	for _, list := range []string{"tools", "prompts", "resources"} {
		if declared.Member(list).Member("listChanged").Bool() {
			s.send([]byte(`{"jsonrpc":"2.0","method":"notifications/` + list + `/list_changed"}`))
		}
	}
}

// serverCancelled passes on that the server gives up a request of its own, or
// ends a subscription of the agent's.
func (s *session) serverCancelled(m *Message) {
	at := m.Params.Member("requestId")
	var id []byte
	key, _ := readID(at)
	s.mu.Lock()
	if n, ok := s.askedAs[key]; ok {
		delete(s.askedAs, key)
		delete(s.asked, n)
		id = strconv.AppendInt(nil, n, 10)
	} else if n, ok := number(at); ok && s.listens[n] != nil && s.up.Forget(n) {
		id = s.listens[n]
		delete(s.listens, n)
		for key, r := range s.open {
			if r.number == n {
				delete(s.open, key)
			}
		}
		s.checkIdle()
	}
	s.mu.Unlock()
	if id == nil {
		s.log.Debug("dropped a cancellation of the server's: the request is not open")
		return
	}
	s.send(apply(m.line, []edit{{at.Start(), at.End(), id}}))
}
