package proxy

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"

	"countersign/internal/ijson"
)

// Bounds of what is remembered of the server's tools.
const (
	maxTools     = 10_000
	maxToolBytes = 64 << 20 // of all definitions together
	maxPages     = 1000     // of one listing
)

// definition is a tool as the server describes it. The text is a copy of its
// own. It is not changed once it is remembered.
type definition struct {
	doc         ijson.Doc
	fingerprint string
	annotations ijson.Value

	once   sync.Once // guards what follows, worked out at the tool's first call
	schema *schema   // nil where the tool has none
	err    error     // why no call can be held against the definition
}

// ready compiles the tool's input schema.
func (d *definition) ready(tool string, log *slog.Logger) error {
	d.once.Do(func() {
		in := d.doc.Root().Member("inputSchema")
		if !in.Exists() {
			return
		}
		s, err := compileSchema(in)
		if err != nil {
			d.err = fmt.Errorf("the tool's input schema cannot be used: %w", err)
			return
		}
		d.schema = s
		if len(s.omitted) > 0 {
			log.Warn("left out of a tool's input schema what cannot be compiled", "tool", tool, "keywords", s.omitted)
		}
	})
	return d.err
}

// catalog remembers the server's tools.
type catalog struct {
	mu    sync.Mutex // guards what follows
	tools map[string]*definition
	size  int  // bytes of all definitions
	whole bool // the server's whole list was read, and it said of no change since
	turn  int  // how often the server has said that its list changed
}

// find is a tool's definition, and whether the list is known to be whole.
func (c *catalog) find(tool string) (d *definition, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools[tool], c.whole
}

// fresh says whether the list is known to be whole.
func (c *catalog) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.whole
}

// stale notes that the server's list changed.
func (c *catalog) stale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = false
	c.turn++
}

// began is a mark to hand to replace.
func (c *catalog) began() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

// change is a tool whose definition is another than before.
type change struct{ tool, fingerprint string }

// learn remembers the tools of one page of a list. It gives those whose
// definition was another before.
func (c *catalog) learn(result ijson.Value) ([]change, error) {
	page, err := readTools(result)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools == nil {
		c.tools = map[string]*definition{}
	}
	var changes []change
	for name, d := range page {
		if ch, err := c.put(name, d); err != nil {
			return changes, err
		} else if ch {
			changes = append(changes, change{name, d.fingerprint})
		}
	}
	return changes, nil
}

// replace remembers a whole list, begun at a mark. The list is only known to be
// whole if the server has said of no change since.
func (c *catalog) replace(whole map[string]*definition, mark int) ([]change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.tools
	c.tools, c.size = map[string]*definition{}, 0
	var changes []change
	for name, d := range whole {
		if was := old[name]; was != nil {
			if was.fingerprint == d.fingerprint {
				d = was // and what was worked out of it
			} else {
				changes = append(changes, change{name, d.fingerprint})
			}
		}
		if _, err := c.put(name, d); err != nil {
			return changes, err
		}
	}
	c.whole = c.turn == mark
	return changes, nil
}

// put remembers one definition; changed is whether another stood there. mu is
// held.
func (c *catalog) put(name string, d *definition) (changed bool, err error) {
	was := c.tools[name]
	size := len(d.doc.Root().Raw())
	if was != nil {
		if was.fingerprint == d.fingerprint {
			return false, nil
		}
		c.size -= len(was.doc.Root().Raw())
	}
	if c.size+size > maxToolBytes || was == nil && len(c.tools) >= maxTools {
		return false, errTools
	}
	c.size += size
	c.tools[name] = d
	return was != nil, nil
}

var errTools = fmt.Errorf("the server has more than %d tools, or more than %d bytes of them", maxTools, maxToolBytes)

// readTools reads the tools of a tools/list result. A name that stands twice
// makes the list one that cannot be read: nobody could say which was meant.
func readTools(result ijson.Value) (map[string]*definition, error) {
	list := result.Member("tools")
	if list.Kind() != ijson.Array {
		return nil, fmt.Errorf("the server's list of tools has no list in it")
	}
	page := make(map[string]*definition, list.Len())
	for tool := range list.Elements() {
		name := tool.Member("name")
		if name.Kind() != ijson.String {
			return nil, fmt.Errorf("a tool in the server's list has no name")
		}
		if _, twice := page[name.Text()]; twice {
			return nil, fmt.Errorf("a tool stands twice in the server's list")
		}
		d := new(definition)
		err := d.doc.Parse(bytes.Clone(tool.Raw()), ijson.Options{Depth: serverDepth, Doubles: true, AnyName: true})
		if err != nil { // it was read once already
			return nil, fmt.Errorf("reading a tool's definition: %w", err)
		}
		d.fingerprint = digest(d.doc.Root())
		d.annotations = d.doc.Root().Member("annotations")
		page[name.Text()] = d
	}
	return page, nil
}

// filterTools cuts tools that may not be shown out of a tools/list response. The
// bytes of all others, and of everything around them, stay as they are. Where
// nothing is cut it returns the line itself.
func filterTools(m *Message, shown func(tool string) bool) []byte {
	list := m.Result.Member("tools")
	kept := make([]ijson.Value, 0, list.Len())
	for tool := range list.Elements() {
		if shown(tool.Member("name").Text()) {
			kept = append(kept, tool)
		}
	}
	if len(kept) == list.Len() {
		return m.line
	}
	line := make([]byte, 0, len(m.line))
	line = append(line, m.line[:list.Start()+1]...)
	for i, tool := range kept {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, tool.Raw()...)
	}
	return append(line, m.line[list.End()-1:]...)
}
