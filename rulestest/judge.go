package rulestest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
)

// Judged is what became of a call.
type Judged struct {
	// Unreadable says why the call is refused before any rule (content rules,
	// section 7); "" where it was read.
	Unreadable string
	// NoCall: a message that is no tools/call was read; no rule is for it.
	NoCall   bool
	Decision engine.Decision

	tool string // of a call that was judged
}

// judge is what judging one call after the other uses again and again.
type judge struct {
	s       *Suite
	e       *engine.Engine
	doc     ijson.Doc
	more    ijson.Doc // input responses
	message ijson.Doc
}

// call judges a call with the whole trace.
func (j *judge) call(c *Call, now time.Time) Judged {
	read, out := j.read(c, now)
	if read == nil {
		return out
	}
	d := j.e.Explain(read)
	if d.Verdict == engine.Refused && len(d.Refusals) == 0 {
		return Judged{Unreadable: "the arguments hold a member inputResponses beside input responses"}
	}
	return Judged{Decision: d, tool: read.Tool}
}

// read reads a call as the guard does before any rule. There is no call where it
// is refused there, or is none; the call is good until the next one is read.
func (j *judge) read(c *Call, now time.Time) (*engine.Call, Judged) {
	if !c.now.IsZero() {
		now = c.now
	}
	e := &engine.Call{Tool: c.Tool, Now: now}
	if c.Message != nil {
		m, err := j.readMessage(c.Message)
		if err != nil {
			return nil, Judged{Unreadable: "the message: " + err.Error()}
		}
		if m.Method != "tools/call" {
			return nil, Judged{NoCall: true}
		}
		e.Tool, e.Arguments, e.InputResponses = m.Tool, m.Arguments, m.InputResponses
		switch {
		case e.Arguments.Exists() && e.Arguments.Kind() != ijson.Object:
			return nil, Judged{Unreadable: "the arguments are not an object"}
		case len(e.Arguments.Raw()) > j.s.bytes:
			return nil, Judged{Unreadable: tooLong(len(e.Arguments.Raw()), j.s.bytes)}
		case e.Arguments.Depth() > j.s.depth:
			return nil, Judged{Unreadable: fmt.Sprintf("the arguments nest deeper than %d levels", j.s.depth)}
		}
	} else if c.Arguments != nil {
		if len(c.Arguments) > j.s.bytes {
			return nil, Judged{Unreadable: tooLong(len(c.Arguments), j.s.bytes)}
		}
		if err := j.doc.Parse(c.Arguments, ijson.Options{Depth: j.s.depth}); err != nil {
			return nil, Judged{Unreadable: "the arguments: " + err.Error()}
		}
		if e.Arguments = j.doc.Root(); e.Arguments.Kind() != ijson.Object {
			return nil, Judged{Unreadable: "the arguments are not an object"}
		}
	}
	if c.inputResponses != nil {
		if err := j.more.Parse(c.inputResponses, ijson.Options{Depth: j.s.depth}); err != nil {
			return nil, Judged{Unreadable: "the input responses: " + err.Error()}
		}
		e.InputResponses = j.more.Root()
	}
	if j.s.alike != nil && e.Arguments.Exists() {
		if known := j.s.alike(e.Tool, e.Arguments); known != "" {
			return nil, Judged{Unreadable: fmt.Sprintf("a member of the arguments that is not %q but looks like it", known)}
		}
	}
	j.facts(e, c)
	return e, Judged{}
}

func tooLong(n, most int) string {
	return fmt.Sprintf("arguments of %d bytes, at most %d are judged", n, most)
}

// facts fills in what a call is given beside its arguments.
func (j *judge) facts(e *engine.Call, c *Call) {
	give := func(s *string, to *string, not *bool) {
		if s == nil {
			*not = true
			return
		}
		*to = *s
	}
	give(c.Action, &e.Action, &e.Facts.NoAction)
	give(c.Agent, &e.Agent, &e.Facts.NoAgent)
	give(c.Upstream, &e.Upstream, &e.Facts.NoUpstream)
	e.Facts.NoClient = c.Client == nil
	if c.Client != nil {
		e.ClientName, e.ClientVersion = c.Client.Name, c.Client.Version
	}
	e.Facts.NoAmount = c.Amount == nil
	if c.Amount != nil {
		e.Amount = &engine.Amount{Unit: c.Amount.Unit, Value: c.Amount.Value}
	}
	e.Annotations = c.Annotations
	if t := j.s.Server.Tool(e.Tool); t != nil && !e.Annotations.Exists() {
		e.Annotations = t.Annotations
	}
	e.Facts.NoAnnotations = !e.Annotations.Exists()
}

// readMessage reads a whole message.
func (j *judge) readMessage(line []byte) (Message, error) {
	if j.s.options.ReadMessage != nil {
		return j.s.options.ReadMessage(line)
	}
	return readMessage(&j.message, line)
}

// String says what became of a call.
func (j Judged) String() string {
	if j.Unreadable != "" {
		return "unreadable: " + j.Unreadable
	}
	if j.NoCall {
		return "read; the message is no tools/call"
	}
	var b strings.Builder
	switch d := j.Decision; {
	case d.Verdict != engine.Allowed:
		b.WriteString("refused by ")
		refusals(&b, d.Refusals)
	case d.Applied == 0:
		b.WriteString("allowed; no rule applied")
	default:
		fmt.Fprintf(&b, "allowed; rules that applied: %d", d.Applied)
	}
	if len(j.Decision.Watched) > 0 {
		b.WriteString("; watched by ")
		refusals(&b, j.Decision.Watched)
	}
	return b.String()
}

// maxNamed is how many rules a line names before it only counts.
const maxNamed = 8

func refusals(b *strings.Builder, l []engine.Refusal) {
	for i, r := range l {
		if i == maxNamed {
			fmt.Fprintf(b, " and %d more", len(l)-i)
			return
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s (%s)", strconv.Quote(r.Rule), r.Code)
	}
}
