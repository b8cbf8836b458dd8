package rulestest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// Format is the value of a test file's format member.
const Format = "content-rules-tests/v1"

// Bounds of a test file.
const (
	MaxBytes  = 32 << 20 // a file: 10,000 cases with calls of some size
	MaxCases  = 100_000  // cases of a file
	MaxName   = 1000     // code points of a case's name
	maxDepth  = 80       // levels: a call's 64 and those around it
	maxRules  = 64       // rules files of a test file
	maxPath   = 4096     // bytes of a path
	maxFact   = 4096     // code points of a fact
	maxExpect = 4096     // rules an expectation names: those of a file
)

// DefaultNow is the time of a case that names none.
var DefaultNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// File is one test file (content rules, section 10), read and found sound. Its
// paths are as written, from the file's folder.
type File struct {
	Path  string
	Rules []string
	Tools string // "" where there is none
	Cases []Case

	Source []byte
}

// Case is one case.
type Case struct {
	Name string
	Now  time.Time

	Call   *Call  // or
	Calls  *Calls // recorded calls, one expectation for all
	Expect Expect
	// Unruled: no rule applies, on purpose.
	Unruled bool

	Pointer string
	Offset  int
}

// Call is the call of a case: a tool and arguments, or a message.
type Call struct {
	Tool string
	// Arguments is their exact text; nil where the call has none. It need not be
	// JSON: what cannot be read is a case's subject too.
	Arguments []byte
	// Message is the text of a whole message, in place of the two above.
	Message []byte

	Action, Agent, Upstream *string // nil: not given
	Client                  *Client
	Annotations             ijson.Value // absent: not given
	Amount                  *Amount

	text           []byte    // as it stands in the test file
	now            time.Time // of a recorded call; zero: the case's
	inputResponses []byte    // of a recorded call
	from           string    // of a recorded call: file and line
}

// Client is what a client says of itself.
type Client struct{ Name, Version string }

// Amount is what a call spends.
type Amount struct {
	Unit  string
	Value int64
}

// Calls are recorded calls.
type Calls struct {
	Glob string // path or glob of files or ledgers
	Tool string // "": of any tool
}

// Expect is what a case expects. Exactly one of Allowed, Refused, Watched and
// Unreadable is set.
type Expect struct {
	Allowed     bool
	Refused     []string // ids, each of which refuses
	refusedList bool     // they stood in a list
	Code        string   // of each; "" stands for condition
	Only        bool     // no other rule refuses
	Watched     string
	Unreadable  bool
}

// codes are those a refusal can have.
var codes = []string{"condition", "cannot-judge", "over-budget"}

// Read reads one test file. Problems are faults of the file; with any, there is
// no File.
func Read(path string, src []byte) (*File, problem.List) {
	var r reader
	if len(src) > MaxBytes {
		r.FaultAt(0, "", "a file of %d bytes, at most %d can be read", len(src), MaxBytes)
		return nil, r.Settle(path, src)
	}
	doc, err := ijson.Parse(src, ijson.Options{Depth: maxDepth})
	if err != nil {
		at, msg := 0, err.Error()
		if e, ok := err.(*ijson.Error); ok {
			at, msg = e.Offset, e.Msg
		}
		r.FaultAt(at, "", "not strict JSON: %s", msg)
		return nil, r.Settle(path, src)
	}
	f := &File{Path: path, Source: src}
	r.file(problem.Place{Value: doc.Root()}, f)
	if len(r.Problems) > 0 {
		return nil, r.Settle(path, src)
	}
	return f, nil
}

type reader struct{ problem.Reader }

func (r *reader) file(p problem.Place, f *File) {
	if !r.Object(p, "a test file", []string{"format", "rules", "tools", "now", "cases"}, "format", "rules", "cases") {
		return
	}
	if v := p.Member("format"); v.Value.Exists() && !v.Value.Is(Format) {
		r.Fault(v, "expected exactly %q", Format)
	}
	switch v := p.Member("rules"); v.Value.Kind() {
	case 0:
	case ijson.Array:
		if r.List(v, "paths of rules files", maxRules) {
			i := 0
			for e := range v.Value.Elements() {
				if s, ok := r.path(v.Element(e, i)); ok {
					if slices.Contains(f.Rules, s) {
						r.Fault(v.Element(e, i), "stands in the list twice")
					}
					f.Rules = append(f.Rules, s)
				}
				i++
			}
		}
	default:
		if s, ok := r.path(v); ok {
			f.Rules = []string{s}
		}
	}
	if v := p.Member("tools"); v.Value.Exists() {
		f.Tools, _ = r.path(v)
	}
	now := DefaultNow
	if v := p.Member("now"); v.Value.Exists() {
		now = r.time(v)
	}
	cases := p.Member("cases")
	if !cases.Value.Exists() || !r.List(cases, "cases", MaxCases) {
		return
	}
	names := map[string]int{}
	i := 0
	for e := range cases.Value.Elements() {
		c := r.testCase(cases.Element(e, i), now)
		if first, twice := names[c.Name]; twice && c.Name != "" {
			r.Fault(cases.Element(e, i).Member("name"), "the name of case %d too, expected one of its own", first+1)
		} else {
			names[c.Name] = i
		}
		f.Cases = append(f.Cases, c)
		i++
	}
}

func (r *reader) path(p problem.Place) (string, bool) {
	s, ok := r.Text(p, maxPath)
	if ok && strings.ContainsRune(s, 0) {
		r.Fault(p, "a path with a NUL in it")
		return "", false
	}
	return s, ok
}

// time reads a time of RFC 3339.
func (r *reader) time(p problem.Place) time.Time {
	if p.Value.Kind() == ijson.String {
		if t, err := time.Parse(time.RFC3339Nano, p.Value.Text()); err == nil {
			return t
		}
	}
	r.Fault(p, "expected a time such as \"2026-11-30T09:00:00Z\"")
	return time.Time{}
}

func (r *reader) testCase(p problem.Place, now time.Time) Case {
	c := Case{Now: now, Pointer: p.Pointer, Offset: p.Value.Start()}
	if !r.Object(p, "a case", []string{"name", "call", "calls", "expect", "unruled", "now"}, "name", "expect") {
		return c
	}
	if v := p.Member("name"); v.Value.Exists() {
		c.Name, _ = r.Text(v, MaxName)
	}
	if v := p.Member("now"); v.Value.Exists() {
		c.Now = r.time(v)
	}
	if v := p.Member("unruled"); v.Value.Exists() {
		c.Unruled, _ = r.Bool(v)
	}
	call, calls := p.Member("call"), p.Member("calls")
	switch {
	case call.Value.Exists() == calls.Value.Exists():
		r.Fault(p, `expected exactly one of "call" and "calls" in a case`)
	case call.Value.Exists():
		c.Call = r.call(call)
	default:
		c.Calls = r.calls(calls)
	}
	if v := p.Member("expect"); v.Value.Exists() {
		c.Expect = r.expect(v)
		if c.Unruled && !c.Expect.Allowed {
			r.Fault(v, `a case without a rule is always "allowed"`)
		}
	}
	return c
}

func (r *reader) calls(p problem.Place) *Calls {
	c := &Calls{}
	if p.Value.Kind() == ijson.String {
		c.Glob, _ = r.path(p)
		return c
	}
	if r.Object(p, "recorded calls", []string{"files", "tool"}, "files") {
		if v := p.Member("files"); v.Value.Exists() {
			c.Glob, _ = r.path(v)
		}
		if v := p.Member("tool"); v.Value.Exists() {
			c.Tool, _ = r.Text(v, maxFact)
		}
	}
	return c
}

func (r *reader) call(p problem.Place) *Call {
	c := &Call{text: p.Value.Raw()}
	known := []string{"tool", "arguments", "raw", "rawBase64", "message", "action", "amount", "agent", "client", "upstream", "annotations"}
	tool, message := p.Member("tool"), p.Member("message")
	needed := []string{"tool"}
	if message.Value.Exists() {
		needed = nil
	}
	if !r.Object(p, "a call", known, needed...) {
		return c
	}
	given := 0
	for _, name := range []string{"arguments", "raw", "rawBase64"} {
		v := p.Member(name)
		if !v.Value.Exists() {
			continue
		}
		given++
		switch name {
		case "arguments":
			c.Arguments = v.Value.Raw()
		case "raw":
			if v.Value.Kind() != ijson.String {
				r.Fault(v, "expected the text of the arguments, got %s", problem.KindOf(v.Value))
				continue
			}
			c.Arguments = []byte(v.Value.Text())
		default:
			b, err := base64.StdEncoding.Strict().DecodeString(v.Value.Text())
			if v.Value.Kind() != ijson.String || err != nil || strings.ContainsAny(v.Value.Text(), "\r\n") {
				r.Fault(v, "expected the bytes of the arguments in base64 (RFC 4648 section 4, padded)")
				continue
			}
			c.Arguments = b
		}
	}
	switch {
	case message.Value.Exists():
		if tool.Value.Exists() || given > 0 {
			r.Fault(p, `a "message" is a whole call, expected no "tool" and no arguments beside it`)
		}
		if message.Value.Kind() != ijson.String {
			r.Fault(message, "expected the text of a message, got %s", problem.KindOf(message.Value))
		}
		c.Message = []byte(message.Value.Text())
	case !tool.Value.Exists(): // told already
	case given > 1:
		r.Fault(p, `expected at most one of "arguments", "raw" and "rawBase64"`)
	default:
		c.Tool, _ = r.Text(tool, maxFact)
	}
	for name, to := range map[string]**string{"action": &c.Action, "agent": &c.Agent, "upstream": &c.Upstream} {
		if v := p.Member(name); v.Value.Exists() {
			if s, ok := r.Text(v, maxFact); ok {
				*to = &s
			}
		}
	}
	if v := p.Member("client"); v.Value.Exists() && r.Object(v, "a client", []string{"name", "version"}, "name") {
		c.Client = &Client{}
		if n := v.Member("name"); n.Value.Exists() {
			c.Client.Name, _ = r.Text(n, maxFact)
		}
		if n := v.Member("version"); n.Value.Exists() {
			c.Client.Version, _ = r.Text(n, maxFact)
		}
	}
	if v := p.Member("annotations"); v.Value.Exists() {
		if v.Value.Kind() != ijson.Object {
			r.Fault(v, "expected the tool's annotations as an object, got %s", problem.KindOf(v.Value))
		}
		c.Annotations = v.Value
	}
	if v := p.Member("amount"); v.Value.Exists() && r.Object(v, "an amount", []string{"unit", "value"}, "unit", "value") {
		c.Amount = &Amount{}
		if u := v.Member("unit"); u.Value.Exists() {
			c.Amount.Unit, _ = r.Text(u, maxFact)
		}
		if n := v.Member("value"); n.Value.Exists() {
			c.Amount.Value, _ = r.Whole(n, 0, 1<<53-1)
		}
	}
	return c
}

func (r *reader) expect(p problem.Place) Expect {
	var e Expect
	if p.Value.Kind() == ijson.String {
		if !p.Value.Is("allowed") {
			r.Fault(p, `unknown expectation %s, expected "allowed" or an object with "refused", "watched" or "unreadable"`, problem.Quoted(p.Value.Text()))
		}
		e.Allowed = true
		return e
	}
	if !r.Object(p, "an expectation", []string{"refused", "code", "only", "watched", "unreadable"}) {
		return e
	}
	refused, watched, unreadable := p.Member("refused"), p.Member("watched"), p.Member("unreadable")
	kinds := 0
	for _, v := range []problem.Place{refused, watched, unreadable} {
		if v.Value.Exists() {
			kinds++
		}
	}
	if kinds != 1 {
		r.Fault(p, `expected exactly one of "refused", "watched" and "unreadable"`)
		return e
	}
	for _, name := range []string{"code", "only"} {
		if v := p.Member(name); v.Value.Exists() && !refused.Value.Exists() {
			r.Fault(v, `%q goes with "refused" alone`, name)
		}
	}
	switch {
	case watched.Value.Exists():
		e.Watched, _ = r.Text(watched, maxFact)
	case unreadable.Value.Exists():
		if ok, read := r.Bool(unreadable); read && !ok {
			r.Fault(unreadable, "expected true")
		}
		e.Unreadable = true
	case refused.Value.Kind() == ijson.Array:
		e.refusedList = true
		if r.List(refused, "ids of rules", maxExpect) {
			i := 0
			for v := range refused.Value.Elements() {
				if id, ok := r.Text(refused.Element(v, i), maxFact); ok {
					if slices.Contains(e.Refused, id) {
						r.Fault(refused.Element(v, i), "stands in the list twice")
					}
					e.Refused = append(e.Refused, id)
				}
				i++
			}
		}
	default:
		if id, ok := r.Text(refused, maxFact); ok {
			e.Refused = []string{id}
		}
	}
	if v := p.Member("code"); v.Value.Exists() {
		if e.Code = v.Value.Text(); !slices.Contains(codes, e.Code) {
			r.Fault(v, "unknown code %s, %s", problem.Quoted(e.Code), problem.Instead(e.Code, codes))
		}
	}
	if v := p.Member("only"); v.Value.Exists() {
		e.Only, _ = r.Bool(v)
	}
	return e
}

// String says what is expected, as a failing case shows it.
func (e Expect) String() string {
	switch {
	case e.Allowed:
		return "allowed"
	case e.Unreadable:
		return "unreadable"
	case e.Watched != "":
		return "watched by " + strconv.Quote(e.Watched)
	}
	q := make([]string, len(e.Refused))
	for i, id := range e.Refused {
		q[i] = strconv.Quote(id)
	}
	s := "refused by " + strings.Join(q, " and ")
	if e.Only {
		s += " alone"
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	} else {
		s += " (condition)"
	}
	return s
}
