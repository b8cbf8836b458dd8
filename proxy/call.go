package proxy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// Call is one tools/call on its way.
type Call struct {
	p    *Pipeline
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
	say            string             // for the agent
	note           string             // for the ledger alone
	watched        []receipts.Watched // of a request that is no call; a call's are in its record
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
