package rulestest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"countersign/internal/ijson"
)

// messageDepth is the most levels of a whole message: a call's arguments and the
// two around them.
const messageDepth = ijson.DefaultDepth + 2

// The members that a message and the params of a tools/call may have.
var (
	envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	callNames     = []string{"_meta", "name", "arguments", "inputResponses", "requestState", "task"}
)

// readMessage reads a whole message where no guard's reader was given: what a guard
// refuses of the envelope of a call and of its params (guard, section 3, step 1) is
// refused. Of other messages the envelope alone is looked at.
func readMessage(doc *ijson.Doc, line []byte) (Message, error) {
	if bytes.IndexByte(line, '\r') >= 0 {
		return Message{}, errors.New("a carriage return inside the line")
	}
	if err := doc.Parse(line, ijson.Options{Depth: messageDepth}); err != nil {
		return Message{}, err
	}
	root := doc.Root()
	if root.Kind() != ijson.Object {
		return Message{}, errors.New("not an object")
	}
	if err := onlyNames(root, envelopeNames, "a message"); err != nil {
		return Message{}, err
	}
	if !root.Member("jsonrpc").Is("2.0") {
		return Message{}, errors.New(`no member jsonrpc that is "2.0"`)
	}
	id, method, params := root.Member("id"), root.Member("method"), root.Member("params")
	answers := root.Member("result").Exists() || root.Member("error").Exists()
	switch {
	case method.Exists() == answers:
		return Message{}, errors.New("expected either a method or an answer")
	case answers:
		return Message{}, nil
	case method.Kind() != ijson.String:
		return Message{}, errors.New("a method that is not text")
	case params.Exists() && params.Kind() != ijson.Object:
		return Message{}, errors.New("params that are not an object")
	}
	m := Message{Method: method.Text()}
	if m.Method != "tools/call" {
		if bareMethod(m.Method) == bareMethod("tools/call") {
			return Message{}, errors.New(`a method that differs from "tools/call" only in case, white space or punctuation`)
		}
		return m, nil
	}
	if err := onlyNames(params, callNames, "the params of tools/call"); err != nil {
		return Message{}, err
	}
	object := func(v ijson.Value) bool { return !v.Exists() || v.Kind() == ijson.Object }
	_, whole := id.Int()
	m.Arguments, m.InputResponses = params.Member("arguments"), params.Member("inputResponses")
	switch {
	case id.Kind() != ijson.String && !whole:
		return Message{}, errors.New("a tools/call without an id that is text or a whole number")
	case params.Member("name").Kind() != ijson.String:
		return Message{}, errors.New("a tools/call without the name of a tool")
	case !object(m.Arguments), !object(m.InputResponses), !object(params.Member("_meta")):
		return Message{}, errors.New("arguments, inputResponses or a _meta that are not an object")
	case params.Member("requestState").Exists() && params.Member("requestState").Kind() != ijson.String:
		return Message{}, errors.New("a requestState that is not text")
	case params.Member("task").Exists():
		return Message{}, errors.New("a task, and tasks are not offered")
	}
	m.Tool = params.Member("name").Text()
	return m, nil
}

// bareMethod is a method for a reader that minds neither case nor punctuation.
func bareMethod(method string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, ijson.FoldName(norm.NFKC.String(method)))
}

// onlyNames says which member of an object is none of the known ones. One that only
// looks like a known one is the more dangerous: some readers take it for that.
func onlyNames(v ijson.Value, known []string, of string) error {
	for name := range v.Members() {
		text := name.Text()
		unknown := true
		for _, k := range known {
			if text == k {
				unknown = false
				break
			}
			if ijson.FoldName(text) == ijson.FoldName(k) {
				return fmt.Errorf("a member of %s that differs from %q only in case", of, k)
			}
		}
		if unknown {
			return fmt.Errorf("a member of %s that is none of %q", of, known)
		}
	}
	return nil
}
