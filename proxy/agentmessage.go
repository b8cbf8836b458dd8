package proxy

import (
	"bytes"
	"errors"

	"countersign/internal/ijson"
)

// AgentMessage is a message of an agent as the guard reads it.
type AgentMessage struct {
	Method         string // "" of an answer
	Tool           string // of a tools/call
	Arguments      ijson.Value
	InputResponses ijson.Value
}

// ReadAgentMessage reads one message as the guard reads it from an agent, without
// answering it: so that tests of rules can show what goes no further. An error says
// why it would not.
func ReadAgentMessage(line []byte) (AgentMessage, error) {
	m := &Message{line: bytes.Clone(line)}
	if f := m.read(fromAgent); f != nil {
		return AgentMessage{}, f
	}
	a := AgentMessage{Method: m.Method}
	if m.Method != "tools/call" {
		return a, nil
	}
	if m.Kind != Request {
		return AgentMessage{}, errors.New("a tools/call without an id")
	}
	c := &Call{m: m}
	if f := (&Pipeline{}).read(c); f != nil {
		return AgentMessage{}, f
	}
	if c.no != nil {
		return AgentMessage{}, errors.New(c.no.say)
	}
	a.Tool, a.Arguments, a.InputResponses = c.tool, c.arguments, c.input
	return a, nil
}
