package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"countersign/internal/ijson"
)

// Kind is what a message is, by JSON-RPC 2.0.
type Kind uint8

const (
	Request Kind = iota + 1
	Notification
	Result
	Failure // a response with an error
)

// Depths of the two directions, in levels of arrays and objects. A call's
// arguments may have 64 (content rules, section 6) and stand two levels deep in
// their message; a result may have 512 (guard.md, section 3, step 7).
const (
	agentDepth  = ijson.DefaultDepth + 2
	serverDepth = 512
)

// Codes of JSON-RPC errors. The guard emits none of its own.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
)

// Message is one JSON-RPC message and the line it came in, which nothing
// changes: what is judged and what is forwarded are the same bytes.
type Message struct {
	Kind   Kind
	Method string      // of a Request or Notification
	ID     ijson.Value // absent in a Notification
	Params ijson.Value // absent, or an object
	Result ijson.Value // of a Result
	Error  ijson.Value // of a Failure

	key     string // tells the ID from others; "" without one
	removed int    // credentials that were taken out of it
	line    []byte
	doc     ijson.Doc
	home    *pool // where it goes when it is done with; nil: nowhere
}

// free gives the message back. Nothing of it may be used afterwards.
func (m *Message) free() {
	if m != nil && m.home != nil {
		m.home.put(m)
	}
}

// copied is the message with memory of its own. It was read once already.
func (m *Message) copied() *Message {
	own := &Message{line: bytes.Clone(m.line)}
	own.read(fromAgent)
	return own
}

// Line is the message as it came, without the line's end.
func (m *Message) Line() []byte { return m.line }

// append appends the message with another id in place of its own.
func (m *Message) append(dst, id []byte) []byte {
	if !m.ID.Exists() {
		return append(dst, m.line...)
	}
	dst = append(dst, m.line[:m.ID.Start()]...)
	dst = append(dst, id...)
	return append(dst, m.line[m.ID.End():]...)
}

// fault is why a message goes no further.
type fault struct {
	code int    // of the JSON-RPC error
	id   []byte // as written by its sender, nil where none is readable
	why  string // for the sender, the log and the ledger; never text of the message
	mute bool   // nobody expects an answer
}

func (f *fault) Error() string { return f.why }

// side is where a message comes from, which decides how strictly it is read.
type side uint8

const (
	fromAgent side = iota
	fromServer
)

// read reads m.line as one message. On a fault m holds nothing of it.
func (m *Message) read(from side) *fault {
	o := ijson.Options{Depth: agentDepth}
	if from == fromServer {
		o = ijson.Options{Depth: serverDepth, Doubles: true, AnyName: true}
	}
	m.reset()
	if bytes.IndexByte(m.line, '\r') >= 0 {
		// White space to JSON, the end of a line to some readers.
		return &fault{code: codeParse, id: findID(m.line), why: "a carriage return inside the line"}
	}
	if err := m.doc.Parse(m.line, o); err != nil {
		why := "not one strict JSON value"
		var e *ijson.Error
		if errors.As(err, &e) {
			why = fmt.Sprintf("not one strict JSON value: byte %d: %s", e.Offset, e.Msg)
		}
		return &fault{code: codeParse, id: findID(m.line), why: why}
	}
	f := m.shape(from)
	if f != nil {
		m.reset()
	}
	return f
}

func (m *Message) reset() {
	m.Kind, m.Method, m.key, m.removed = 0, "", "", 0
	m.ID, m.Params, m.Result, m.Error = ijson.Value{}, ijson.Value{}, ijson.Value{}, ijson.Value{}
}

// envelope are the members a message may have.
var envelope = nameSet{"jsonrpc", "id", "method", "params", "result", "error"}

// shape holds the message that was read against JSON-RPC 2.0 and fills in m.
func (m *Message) shape(from side) *fault {
	root := m.doc.Root()
	if root.Kind() == ijson.Array {
		return &fault{code: codeRequest, why: "a batch, expected one message"}
	}
	if root.Kind() != ijson.Object {
		return &fault{code: codeRequest, why: "not an object, expected one message"}
	}
	var version, id, method, params ijson.Value
	var odd string
	for name, value := range root.Members() {
		switch {
		case name.Is("jsonrpc"):
			version = value
		case name.Is("id"):
			id = value
		case name.Is("method"):
			method = value
		case name.Is("params"):
			params = value
		case name.Is("result"):
			m.Result = value
		case name.Is("error"):
			m.Error = value
		case envelope.alike(name) != "":
			odd = fmt.Sprintf("a member that differs from %q only in case", envelope.alike(name))
		case from == fromAgent && odd == "":
			// Peers do not agree on what to do with one: some drop the message.
			odd = "a member that JSON-RPC does not know"
		}
	}
	bad := func(why string) *fault {
		f := &fault{code: codeRequest, why: why}
		if _, ok := readID(id); ok {
			f.id = bytes.Clone(id.Raw())
		} else if method.Kind() == ijson.String && !id.Exists() && !m.Result.Exists() && !m.Error.Exists() {
			f.mute = odd == "" // a notification is never answered
		}
		return f
	}
	if odd != "" {
		return bad(odd)
	}
	if !version.Is("2.0") {
		return bad(`no member jsonrpc that is "2.0"`)
	}
	if id.Exists() {
		var ok bool
		if m.key, ok = readID(id); !ok && !(from == fromServer && id.Kind() == ijson.Null && m.Error.Exists()) {
			return bad(fmt.Sprintf("an id that is neither text nor a whole number within ±9007199254740991, of at most %d bytes", maxID))
		}
	}
	answers := 0
	for _, v := range []ijson.Value{m.Result, m.Error} {
		if v.Exists() {
			answers++
		}
	}
	switch {
	case method.Exists() && answers > 0:
		return bad("both a method and an answer")
	case method.Exists():
		if method.Kind() != ijson.String {
			return bad("a method that is not text")
		}
		if params.Exists() && params.Kind() != ijson.Object {
			return bad("params that are not an object")
		}
		m.Method, m.Params = methodText(method), params
		if from == fromAgent {
			if why := misspelt(m.Method); why != "" {
				return bad(why)
			}
		}
		m.Kind = Notification
		if id.Exists() {
			m.Kind = Request
		}
		if f := m.paramNames(); f != nil {
			return bad(f.why)
		}
	case answers == 2:
		return bad("both a result and an error")
	case answers == 0:
		return bad("neither a method nor an answer")
	case params.Exists():
		return bad("an answer with params")
	case m.Error.Exists():
		if m.Error.Kind() != ijson.Object || m.Error.Member("message").Kind() != ijson.String {
			return bad("an error that is not an object with a message")
		}
		if _, ok := m.Error.Member("code").Int(); !ok {
			return bad("an error whose code is not a whole number")
		}
		if !id.Exists() && from == fromAgent {
			return bad("an answer without an id")
		}
		m.Kind = Failure
	default:
		if !id.Exists() {
			return bad("an answer without an id")
		}
		m.Kind = Result
	}
	if m.key != "" {
		m.ID = id
	}
	return nil
}

// methodText is the text of a method, without a copy for those that are usual.
func methodText(v ijson.Value) string {
	var scratch [64]byte
	b := v.Bytes(scratch[:0])
	for _, usual := range usualMethods {
		if string(b) == usual {
			return usual
		}
	}
	return string(b)
}

var usualMethods = [...]string{"tools/call", "notifications/progress", "notifications/message", "tools/list", "ping"}

// nameSet is a small set of known member names.
type nameSet []string

// alike is the known name that a name is not but equals after simple case
// folding (content rules, section 7), else "".
func (n nameSet) alike(name ijson.Value) string {
	var scratch [32]byte
	b := name.Bytes(scratch[:0])
	for _, known := range n {
		if string(b) == known {
			return ""
		}
	}
	text, folded := string(b), ""
	for _, known := range n {
		// A folded character can be longer than the plain one, never shorter.
		if len(text) >= len(known) && len(text) <= 3*len(known) {
			if folded == "" {
				folded = ijson.FoldName(text)
			}
			if folded == ijson.FoldName(known) {
				return known
			}
		}
	}
	return ""
}

// paramsOf are the members of params that a reader on either side gives a
// meaning. Another spelling of one is refused: the guard, or some server, would
// take it for another thing than its peer does.
var paramsOf = map[string]nameSet{
	"tools/call":              {"_meta", "name", "arguments", "inputResponses", "requestState", "task"},
	"tools/list":              {"_meta", "cursor"},
	"prompts/list":            {"_meta", "cursor"},
	"prompts/get":             {"_meta", "name", "arguments", "inputResponses", "requestState"},
	"resources/list":          {"_meta", "cursor"},
	"resources/read":          {"_meta", "uri", "inputResponses", "requestState"},
	"resources/subscribe":     {"_meta", "uri"},
	"resources/unsubscribe":   {"_meta", "uri"},
	"completion/complete":     {"_meta", "ref", "argument", "context"},
	"initialize":              {"_meta", "protocolVersion", "capabilities", "clientInfo"},
	"notifications/cancelled": {"_meta", "requestId", "reason"},
	"notifications/progress":  {"_meta", "progressToken", "progress", "total", "message"},
	"subscriptions/listen":    {"_meta", "notifications"},
	"logging/setLevel":        {"_meta", "level"},
	"tasks/get":               {"_meta", "taskId"},
	"tasks/result":            {"_meta", "taskId"},
	"tasks/cancel":            {"_meta", "taskId"},
	"tasks/update":            {"_meta", "taskId", "inputResponses"},
}

var anyParams = nameSet{"_meta"}

// paramNames refuses members of params that are a known one but for case.
func (m *Message) paramNames() *fault {
	known, ok := paramsOf[m.Method]
	if !ok {
		known = anyParams
	}
	for name := range m.Params.Members() {
		if near := known.alike(name); near != "" {
			return &fault{why: fmt.Sprintf("a member of params that differs from %q only in case", near)}
		}
	}
	return nil
}

// keepBytes is the largest line whose memory is used again: most messages are
// far below, and a rare large one should not stay for good.
const keepBytes = 64 << 10

// pool hands out messages whose memory is used again. A message has one owner
// at a time; the last one gives it back.
type pool struct{ free sync.Pool }

func (p *pool) get() *Message {
	if m, ok := p.free.Get().(*Message); ok {
		return m
	}
	return &Message{home: p}
}

func (p *pool) put(m *Message) {
	if cap(m.line) > keepBytes {
		return
	}
	m.reset()
	p.free.Put(m)
}
