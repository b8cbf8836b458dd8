package proxy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// Pins are the tools of a server as a person has looked at them (guard.md,
// section 2, pinTools): the fingerprint of each whole tool object. A tool that is
// another, or is not among them, is hidden and refused. They never change but for
// what was told; a reload makes others.
type Pins struct {
	tools map[string]string // fingerprint by name

	mu   sync.Mutex
	told map[string]bool // tools that were told not to be as pinned, by name and fingerprint
}

const (
	pinsFormat = "countersign-pins/v1"

	// MaxPinBytes bounds a pin file: as many tools as are remembered of a server,
	// with names far longer than any.
	MaxPinBytes = 4 << 20
)

// NewPins gives the pins of a server's tools as they are.
func NewPins(tools []ListedTool) *Pins {
	p := &Pins{tools: make(map[string]string, len(tools))}
	for _, t := range tools {
		p.tools[t.Name] = t.Fingerprint
	}
	return p
}

// ReadPins reads a pin file. It is one that [Pins.Append] wrote: a set that does
// not fit its tools is an error, since someone edited the one and not the other.
func ReadPins(src []byte) (*Pins, error) {
	if len(src) > MaxPinBytes {
		return nil, fmt.Errorf("more than %d bytes", MaxPinBytes)
	}
	doc, err := ijson.Parse(src, ijson.Options{AnyName: true})
	if err != nil {
		return nil, fmt.Errorf("not JSON that can be read in one way alone: %w", err)
	}
	root := doc.Root()
	if root.Kind() != ijson.Object || !root.Member("format").Is(pinsFormat) {
		return nil, fmt.Errorf(`/format: expected %q, in an object`, pinsFormat)
	}
	for name := range root.Members() {
		if !name.Is("format") && !name.Is("set") && !name.Is("tools") {
			return nil, errors.New(`an unknown member, expected "format", "set" and "tools"`)
		}
	}
	tools := root.Member("tools")
	if tools.Kind() != ijson.Object || tools.Len() > maxTools {
		return nil, fmt.Errorf("/tools: expected an object of at most %d tools", maxTools)
	}
	p := &Pins{tools: make(map[string]string, tools.Len())}
	for name, f := range tools.Members() {
		if f.Kind() != ijson.String || !isFingerprint(f.Text()) {
			return nil, fmt.Errorf("/tools: %q: expected a fingerprint: 43 characters of base64url", short(name.Text()))
		}
		p.tools[name.Text()] = f.Text()
	}
	if !root.Member("set").Is(p.Set()) {
		return nil, errors.New("/set: not the fingerprint of these tools: the file was edited by hand")
	}
	return p, nil
}

// isFingerprint says whether a text has the form of a SHA-256 in base64url.
func isFingerprint(s string) bool {
	if len(s) != 43 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// Set is the fingerprint of the whole: of the canonical form of the object that
// gives each tool's name its fingerprint.
func (p *Pins) Set() string {
	src := p.appendTools(nil, "", "")
	canonical, err := ijson.Canonical(src, ijson.Options{AnyName: true})
	if err != nil {
		canonical = src // unreachable: names were read, and fingerprints are plain
	}
	return fingerprint(canonical)
}

func (p *Pins) appendTools(b []byte, indent, end string) []byte {
	b = append(b, '{')
	for i, name := range p.Names() {
		if i > 0 {
			b = append(b, ',')
		}
		b = ijson.AppendString(append(b, indent...), name)
		b = ijson.AppendString(append(b, ": "...), p.tools[name])
	}
	return append(append(b, end...), '}')
}

// Append writes the pin file.
func (p *Pins) Append(b []byte) []byte {
	b = fmt.Appendf(b, "{\n  \"format\": %q,\n  \"set\": %q,\n  \"tools\": ", pinsFormat, p.Set())
	return append(p.appendTools(b, "\n    ", "\n  "), "\n}\n"...)
}

// Len is the number of tools.
func (p *Pins) Len() int { return len(p.tools) }

// Names are the names of the tools, sorted.
func (p *Pins) Names() []string { return slices.Sorted(maps.Keys(p.tools)) }

// Compare says what is different in other, by name: what is new there, what has
// another definition, and what is gone.
func (p *Pins) Compare(other *Pins) (added, changed, gone []string) {
	for name, f := range other.tools {
		switch was, ok := p.tools[name]; {
		case !ok:
			added = append(added, name)
		case was != f:
			changed = append(changed, name)
		}
	}
	for name := range p.tools {
		if _, ok := other.tools[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(added)
	slices.Sort(changed)
	slices.Sort(gone)
	return added, changed, gone
}

// hold says whether a tool is as it was pinned; without pins every tool is.
func (p *Pins) hold(tool string, d *definition) bool {
	return p == nil || d != nil && p.tools[tool] == d.fingerprint
}

// tell says whether that a tool is not as pinned is to be told: once for each
// definition.
func (p *Pins) tell(tool string, d *definition) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := d.fingerprint + tool
	if p.told[key] || len(p.told) >= maxTools {
		return false
	}
	if p.told == nil {
		p.told = make(map[string]bool)
	}
	p.told[key] = true
	return true
}

// SetPins has tools held against pins from now on; nil ends that.
func (p *Pipeline) SetPins(pins *Pins) { p.pins.Store(pins) }

// notPinned is what the agent is told of a tool that is not as pinned.
const notPinned = "this tool is new or has changed since a person looked at the server's tools; it is refused until it is pinned anew"

// pinned says whether a tool is as it was pinned, and puts it on record where it
// is not.
func (p *Pipeline) pinned(tool string, d *definition) bool {
	pins := p.pins.Load()
	if pins.hold(tool, d) {
		return true
	}
	if d != nil && pins.tell(tool, d) {
		what := "is not among the pinned tools"
		if _, ok := pins.tools[tool]; ok {
			what = "has changed since it was pinned"
		}
		p.log.Warn("hid a tool: it "+what, "tool", short(tool))
		if err := p.chain.Notice(receipts.Notice{What: "tool-changed", Text: "tool " + short(tool) + " " + what, Hash: d.fingerprint, Bytes: int64(len(d.doc.Root().Raw()))}); err != nil {
			p.log.Error("recording a notice", "err", err)
		}
	}
	return false
}

// showing says which tools of a tools/list result may be shown. The result was
// read once already.
func (p *Pipeline) showing(result ijson.Value) func(tool string) bool {
	if p.pins.Load() == nil {
		return p.cfg.shown
	}
	page, err := readTools(result)
	return func(tool string) bool {
		return err == nil && p.cfg.shown(tool) && p.pinned(tool, page[tool])
	}
}
