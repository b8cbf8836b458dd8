package rulestest

import (
	"errors"
	"fmt"

	"countersign/internal/ijson"
)

// Bounds of a tools/list answer.
const (
	MaxServerBytes = 16 << 20 // a file; a line from a server is at most as long
	maxServerTools = 4096     // tools of a server
	serverDepth    = 128      // levels: schemas nest more than calls do
)

// Server is what a tool server says of itself: its answer to tools/list.
type Server struct {
	Path  string
	Tools []Tool
	// Resources: the server offers resources.
	Resources bool

	byName map[string]*Tool
	doc    *ijson.Doc
}

// Tool is one tool of a server.
type Tool struct {
	Name        string
	Title       string
	Description string
	Annotations ijson.Value // absent where there are none
	Schema      ijson.Value // its inputSchema
}

// ReadServer reads a tools/list answer: {"tools": […]}, the whole message it came
// in, or several of them joined. A member resources beside the tools that is true,
// or a list that is not empty, says that the server offers resources.
func ReadServer(path string, src []byte) (*Server, error) {
	if len(src) > MaxServerBytes {
		return nil, fmt.Errorf("%s: a tools list of %d bytes, at most %d can be read", path, len(src), MaxServerBytes)
	}
	doc, err := ijson.Parse(src, ijson.Options{Depth: serverDepth, Doubles: true})
	if err != nil {
		if e := (*ijson.Error)(nil); errors.As(err, &e) {
			line, column := ijson.Position(src, e.Offset)
			return nil, fmt.Errorf("%s:%d:%d: not strict JSON: %s", path, line, column, e.Msg)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	root := doc.Root()
	if r := root.Member("result"); r.Kind() == ijson.Object {
		root = r
	}
	list := root.Member("tools")
	if list.Kind() != ijson.Array {
		return nil, fmt.Errorf(`%s: expected the answer to tools/list, an object with a list "tools"`, path)
	}
	if list.Len() > maxServerTools {
		return nil, fmt.Errorf("%s: %d tools, at most %d can be read", path, list.Len(), maxServerTools)
	}
	s := &Server{Path: path, doc: doc, byName: map[string]*Tool{}}
	switch r := root.Member("resources"); r.Kind() {
	case ijson.True:
		s.Resources = true
	case ijson.Array:
		s.Resources = r.Len() > 0
	}
	i := 0
	for v := range list.Elements() {
		name := v.Member("name")
		if name.Kind() != ijson.String || name.Len() == 0 && name.Text() == "" {
			return nil, fmt.Errorf("%s: /tools/%d: a tool without a name", path, i)
		}
		t := Tool{
			Name: name.Text(), Title: v.Member("title").Text(), Description: v.Member("description").Text(),
			Annotations: v.Member("annotations"), Schema: v.Member("inputSchema"),
		}
		if s.Tool(t.Name) != nil {
			return nil, fmt.Errorf("%s: /tools/%d: the name %q is that of a tool before", path, i, t.Name)
		}
		s.Tools = append(s.Tools, t)
		s.byName[t.Name] = &t
		i++
	}
	return s, nil
}

// Tool is the tool of a name, nil where there is none. A nil Server has none.
func (s *Server) Tool(name string) *Tool {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// names are the names of all tools.
func (s *Server) names() []string {
	if s == nil {
		return nil
	}
	out := make([]string, len(s.Tools))
	for i := range s.Tools {
		out[i] = s.Tools[i].Name
	}
	return out
}
