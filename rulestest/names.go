package rulestest

import (
	"bytes"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/looks"
)

// names are the names that the members of tools' arguments have, by the rules and
// by what is known of the server (content rules, section 7).
type names struct {
	engine *engine.Engine
	server *Server

	mu sync.Mutex // guards of
	of map[string]*looks.Names
}

// maxNamesKept bounds the tools whose names are kept: calls that are made up may
// be for any.
const maxNamesKept = 4096

// alike is the known name that a member of the arguments only looks like, "" where
// there is none.
func (n *names) alike(tool string, arguments ijson.Value) string {
	n.mu.Lock()
	l, ok := n.of[tool]
	if !ok {
		if len(n.of) >= maxNamesKept {
			clear(n.of)
		}
		l = n.build(tool)
		n.of[tool] = l
	}
	n.mu.Unlock()
	if l == nil {
		return ""
	}
	return l.Alike(arguments)
}

// build works out the names of a tool. A schema that cannot be compiled, or has
// more places than are told apart, adds none.
func (n *names) build(tool string) *looks.Names {
	k := n.engine.KnownNames(tool)
	var root *jsonschema.Schema
	if t := n.server.Tool(tool); t != nil && t.Schema.Exists() {
		root, _ = compileSchema(t.Schema)
	}
	if l, err := looks.New(root, k); err == nil {
		return l
	}
	l, err := looks.New(nil, k)
	if err != nil {
		return nil
	}
	return l
}

// compileSchema compiles a tool's schema; nothing is fetched for it.
func compileSchema(v ijson.Value) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.Raw())) // strictly read before
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

const schemaURL = "tool:inputSchema"

// nowhere is the loader that loads nothing.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("nothing is fetched for a schema") }
