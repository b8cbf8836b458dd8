package proxy

import (
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/looks"
	"countersign/receipts"
	"countersign/rules"
)

// Rules are a set of content rules in force, with what was worked out from it
// and from the tools it was held against. They never change: a reload makes
// others. A nil *Rules lets every call pass.
type Rules struct {
	set    *rules.Set
	engine *engine.Engine
	files  []receipts.RulesFile

	mu    sync.Mutex // guards names
	names map[string]looked
}

// looked holds the names of one tool for one definition of it.
type looked struct {
	of    *definition
	looks *looks.Names
	err   error
}

// NewRules compiles a set.
func NewRules(set *rules.Set, o engine.Options) (*Rules, error) {
	e, err := engine.New(set, o)
	if err != nil {
		return nil, err
	}
	r := &Rules{set: set, engine: e}
	for _, f := range set.Files {
		r.files = append(r.files, receipts.RulesFile{Name: f.Name, SHA256: f.Fingerprint})
	}
	return r, nil
}

// limits are the bounds of a call's arguments. Without rules the message's own
// bounds are the only ones.
func (r *Rules) limits() (argumentBytes, depth int) {
	if r == nil {
		return maxInt, ijson.DefaultDepth
	}
	return r.engine.Limits()
}

const maxInt = int(^uint(0) >> 1)

func (r *Rules) fingerprints() []receipts.RulesFile {
	if r == nil {
		return nil
	}
	return r.files
}

// judge decides a call by the rules.
func (r *Rules) judge(c *engine.Call) engine.Decision {
	if r == nil {
		return engine.Decision{Verdict: engine.Allowed}
	}
	return r.engine.Judge(c)
}

// name says whether any rule names a tool or method.
func (r *Rules) name(tool string) bool {
	if r == nil {
		return false
	}
	for _, f := range r.set.Files {
		for _, rule := range f.Rules {
			if rule.Names(tool) {
				return true
			}
		}
	}
	return false
}

// looks are the names that a tool's arguments have, by its definition, the rules,
// and the pointers the settings hold for it. Without rules nothing is kept.
func (r *Rules) looks(tool string, d *definition, pointers [][]string) (*looks.Names, error) {
	k := looks.Known{Pointers: pointers}
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if l, ok := r.names[tool]; ok && l.of == d {
			return l.looks, l.err
		}
		known := r.engine.KnownNames(tool)
		k.Pointers, k.Anywhere = append(known.Pointers, pointers...), known.Anywhere
	}
	l := looked{of: d}
	l.looks, l.err = looks.New(rootOf(d), k)
	if r != nil {
		if r.names == nil {
			r.names = map[string]looked{}
		}
		if len(r.names) >= maxTools { // names of tools that are gone
			clear(r.names)
		}
		r.names[tool] = l
	}
	return l.looks, l.err
}

// rootOf is the compiled schema of a definition, nil without one.
func rootOf(d *definition) *jsonschema.Schema {
	if d == nil || d.schema == nil {
		return nil
	}
	return d.schema.root
}
