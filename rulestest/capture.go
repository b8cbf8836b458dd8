package rulestest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// Capture makes a recorded call a case, ready for a test file, with all that the
// rules could look at. What it expects is what the suite's rules say of the call
// now; without a suite, what was recorded: that it was allowed. An error says why
// the call cannot be one.
func Capture(r *Recorded, name string, s *Suite) (string, error) {
	if r.Why != "" {
		return "", fmt.Errorf("%s: the call cannot be judged again: %s", r.Call.from, r.Why)
	}
	c := &r.Call
	if name == "" {
		name = "recorded call of " + c.Tool + ", line "
		if r.Seq >= 0 {
			name += strconv.FormatInt(r.Seq, 10)
		} else {
			name += strconv.Itoa(r.Line)
		}
	}
	now := ""
	if !c.now.IsZero() {
		now = quote(c.now.UTC().Format(time.RFC3339Nano))
	}
	written := c.written()
	expect, unruled := `"allowed"`, ""
	if s != nil {
		// Of the call as the case has it: an empty fact, which no case can give, is
		// one that is not given.
		read, problems := ReadCall(c.from, []byte(written))
		if len(problems) > 0 {
			return "", fmt.Errorf("%s: the call cannot be a case: %s", c.from, problems[0].Msg)
		}
		read.now = c.now
		e := s.expectation(read)
		expect, unruled = e.text(), boolText(e.unruled)
	} else if r.Refused {
		return "", fmt.Errorf("%s: the call was refused by %s; what a case expects of it is said by rules, name them", r.Call.from, problem.Quoted(r.By))
	}
	text := object("name", quote(name), "now", now, "call", written, "expect", expect, "unruled", unruled)
	if err := readable(text); err != nil {
		return "", fmt.Errorf("%s: the call cannot be a case: %w", c.from, err)
	}
	return text, nil
}

// readable reads a case as a test file's reader does. A record may hold what no
// case can: an empty name of a tool, an amount below zero.
func readable(text string) error {
	_, problems := Read("", []byte(object("format", quote(Format), "rules", `"-"`, "cases", "["+text+"]")))
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.TrimPrefix(problems[0].Pointer, "/cases/0") + ": " + problems[0].Msg)
}

// expectation is what the suite's rules say of a call as an expectation. Where
// rules refuse with several codes it is of those that are told first.
func (s *Suite) expectation(c *Call) *expected {
	judged := (&judge{s: s, e: s.engine}).call(c, DefaultNow)
	o := s.outcome(&judged)
	switch {
	case o.unreadable:
		return &expected{Expect: &Expect{Unreadable: true}}
	case len(o.refused) == 0 && len(o.watched) > 0:
		return &expected{Expect: &Expect{Watched: s.rules[o.watched[0].rule].ID}}
	case len(o.refused) == 0:
		return &expected{Expect: &Expect{Allowed: true}, unruled: o.applied == 0 && !o.noCall}
	}
	e := &expected{Expect: &Expect{}, code: o.refused[0].code}
	if e.code != "condition" {
		e.Code = string(e.code)
	}
	for _, x := range o.refused {
		if x.code == e.code {
			e.Refused = append(e.Refused, s.rules[x.rule].ID)
		}
	}
	return e
}

// written is a call as a test file has it.
func (c *Call) written() string {
	optional := func(s *string) string {
		if s == nil || *s == "" {
			return ""
		}
		return quote(*s)
	}
	client, amount := "", ""
	if c.Client != nil && c.Client.Name != "" {
		version := ""
		if c.Client.Version != "" {
			version = quote(c.Client.Version)
		}
		client = object("name", quote(c.Client.Name), "version", version)
	}
	if c.Amount != nil && c.Amount.Unit != "" {
		amount = object("unit", quote(c.Amount.Unit), "value", strconv.FormatInt(c.Amount.Value, 10))
	}
	annotations := ""
	if c.Annotations.Kind() == ijson.Object {
		annotations = string(ijson.AppendCanonical(nil, c.Annotations))
	}
	tool, arguments, unread, bytes, message := quote(c.Tool), "", "", "", ""
	switch {
	case c.Message != nil:
		tool, message = "", quote(string(c.Message))
	case c.inputResponses != nil:
		given := string(c.Arguments)
		tool, message = "", quote(object("jsonrpc", `"2.0"`, "id", "1", "method", `"tools/call"`, "params",
			object("name", quote(c.Tool), "arguments", given, "inputResponses", string(c.inputResponses))))
	case c.Arguments != nil:
		if d, err := ijson.Parse(c.Arguments, ijson.Options{}); err == nil && d.Root().Kind() == ijson.Object {
			arguments = string(c.Arguments)
		} else {
			unread = quote(string(c.Arguments))
			if !utf8.Valid(c.Arguments) {
				unread, bytes = "", quote(base64.StdEncoding.EncodeToString(c.Arguments))
			}
		}
	}
	return object("tool", tool, "arguments", arguments, "raw", unread, "rawBase64", bytes, "message", message,
		"action", optional(c.Action), "amount", amount, "agent", optional(c.Agent), "client", client,
		"upstream", optional(c.Upstream), "annotations", annotations)
}
