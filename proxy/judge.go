package proxy

import (
	"sync"
	"time"

	"countersign/internal/ijson"
)

// RuleSet is a set of content rules in force. It is never changed: a reload is
// another set.
type RuleSet interface {
	// Judge decides one call. It may be called from any goroutine.
	Judge(q *Question) Decision

	// Known gives the names that rules for a tool give its arguments.
	Known(tool string) Known

	// Rules says whether any rule names a tool, or one of the other methods
	// that rules may name.
	Rules(tool string) bool

	// Limits are the most bytes of a call's arguments and the most levels of
	// lists and objects in them.
	Limits() (argumentBytes, depth int)

	// Fingerprints are those of the set's files, in order.
	Fingerprints() []string
}

// Question is a call as the rules see it.
type Question struct {
	Tool                      string
	Arguments                 ijson.Value // absent ones are {}
	InputResponses            ijson.Value
	Action                    string
	Agent, Upstream           string
	ClientName, ClientVersion string
	Annotations               ijson.Value
	Amount                    *Amount
	Now                       time.Time
}

// Decision is what a set of rules says to a question.
type Decision struct {
	Allowed bool
	Code    string   // condition, cannot-judge or over-budget, when not allowed
	Rule    string   // "file name/rule id"
	Say     string   // what the agent is told, by the setting tell
	Watched []string // "file name/rule id" of the watching rules that would have refused
}

// noRules is the set of nobody's rules: it lets every call pass.
type noRules struct{}

func (noRules) Judge(*Question) Decision { return Decision{Allowed: true} }
func (noRules) Known(string) Known       { return Known{} }
func (noRules) Rules(string) bool        { return false }
func (noRules) Limits() (int, int)       { return ServerLimit, ijson.DefaultDepth }
func (noRules) Fingerprints() []string   { return nil }

// inForce is a set of rules with what was worked out from it and the tools.
type inForce struct {
	RuleSet

	mu    sync.Mutex // guards looks
	names map[string]looked
}

// looked holds the names of one tool for one definition of it.
type looked struct {
	of    *definition
	looks *looks
	err   error
}

// looks are the names of a tool's arguments, by its definition, the rules, and
// the pointers the settings have for it.
func (f *inForce) looks(tool string, d *definition, pointers [][]string) (*looks, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.names[tool]; ok && l.of == d {
		return l.looks, l.err
	}
	known := f.Known(tool)
	known.Pointers = append(known.Pointers[:len(known.Pointers):len(known.Pointers)], pointers...)
	l := looked{of: d}
	if d != nil && d.schema != nil {
		l.looks, l.err = newLooks(d.schema.root, known)
	} else {
		l.looks, l.err = newLooks(nil, known)
	}
	if f.names == nil {
		f.names = map[string]looked{}
	}
	if len(f.names) >= maxTools { // names of tools that are gone
		clear(f.names)
	}
	f.names[tool] = l
	return l.looks, l.err
}

// depth is the number of levels of lists and objects in a value.
func depth(v ijson.Value) int {
	d := 0
	switch v.Kind() {
	case ijson.Object:
		for _, m := range v.Members() {
			d = max(d, depth(m))
		}
	case ijson.Array:
		for e := range v.Elements() {
			d = max(d, depth(e))
		}
	default:
		return 0
	}
	return d + 1
}
