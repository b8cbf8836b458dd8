package pathtext

import (
	"fmt"
	"strings"
)

// The values of Operand.Style and Operand.Resolve. An empty text is the first of
// each pair.
const (
	POSIX   = "posix"
	Windows = "windows"
	Text    = "text"
	OnDisk  = "disk"
)

// Operand is the operand of a path test, content rules, section 4.1, with lists
// in place of the names of lists. A list is given when it is not nil.
type Operand struct {
	Under   []string // absolute, clean folders
	Like    []string // globs, '/' separates
	NotLike []string // globs, '/' separates
	Base    string   // what a relative path starts from; "" for none
	Style   string   // POSIX (default) or Windows
	Fold    bool     // the file system takes letter case and composed spellings as one
	Resolve string   // Text (default) or OnDisk

	// Required says that a call is refused where the test does not hold: the
	// test stands in a require and under no "not". It matters only where two
	// readings of one path differ, such as the place a link leads to and the
	// place it lies in. Such a path then does not hold; otherwise it cannot
	// be judged, which refuses wherever the test stands.
	Required bool
}

// Error says what is wrong with one member of an operand.
type Error struct {
	Member string // "under", "like", …; "" for the operand itself
	Index  int    // in the member's list; -1 if it is no list, or for all of it
	Msg    string // what was expected, with the clean spelling where there is one
}

// Error gives the place and the message.
func (e *Error) Error() string {
	switch {
	case e.Member == "":
		return e.Msg
	case e.Index < 0:
		return e.Member + ": " + e.Msg
	}
	return fmt.Sprintf("%s, entry %d: %s", e.Member, e.Index+1, e.Msg)
}

// Errors are all the faults of one operand, in the order of its members.
type Errors []*Error

// Error gives all of them on one line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "; ")
}

// Unwrap gives the faults one by one.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// New checks and compiles an operand. The error is of type Errors.
func New(o Operand) (*Judge, error) {
	c := &compiler{o: o, j: &Judge{o: o}}
	c.compile()
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return c.j, nil
}

// compiler builds a judge and gathers the faults.
type compiler struct {
	o      Operand
	j      *Judge
	faults Errors
}

func (c *compiler) fault(member string, index int, format string, args ...any) {
	c.faults = append(c.faults, &Error{Member: member, Index: index, Msg: fmt.Sprintf(format, args...)})
}

func (c *compiler) compile() {
	j := c.j
	switch c.o.Style {
	case "", POSIX:
	case Windows:
		j.windows = true
	default:
		c.fault("style", -1, "expected %q or %q", POSIX, Windows)
	}
	switch c.o.Resolve {
	case "", Text:
	case OnDisk:
		j.onDisk = true
		if j.windows {
			c.fault("resolve", -1, "%q follows the links of a POSIX system; with style %q expected %q", OnDisk, Windows, Text)
		}
	default:
		c.fault("resolve", -1, "expected %q or %q", Text, OnDisk)
	}
	j.fold = c.o.Fold
	j.plain = !j.windows && !j.fold && !j.onDisk
	if c.o.Under == nil && c.o.Like == nil && c.o.NotLike == nil {
		c.fault("", -1, "expected at least one of under, like and notLike")
	}
	if c.o.Under != nil {
		c.under()
	}
	j.like = c.globs("like", c.o.Like)
	j.notLike = c.globs("notLike", c.o.NotLike)
	if c.o.Base != "" {
		if base, ok := c.folder("base", -1, c.o.Base); ok {
			j.base, j.hasBase = base, true
			c.network(base)
		}
	}
}

// under compiles the roots.
func (c *compiler) under() {
	if len(c.o.Under) == 0 {
		c.fault("under", -1, "an empty list; expected at least one folder")
	}
	var roots []string
	for i, root := range c.o.Under {
		if clean, ok := c.folder("under", i, root); ok {
			c.network(clean)
			c.j.folders = append(c.j.folders, clean)
			roots = append(roots, c.j.folded(clean))
		}
	}
	c.j.roots = newRoots(roots)
}

// network takes note of the share that a network path lies on.
func (c *compiler) network(clean string) {
	if share := shareOf(clean); share != "" {
		c.j.unc = true
		c.j.shares = append(c.j.shares, c.j.folded(share))
	}
}

// folder checks a root or a base, and gives it as paths are compared: without a
// slash at its end, so that "/" is "" and `C:\` is "C:".
func (c *compiler) folder(member string, index int, name string) (string, bool) {
	clean, ok := c.j.cleanFolder(name)
	if ok {
		return clean, true
	}
	kind, example := "an absolute, clean path", "/srv/work"
	if c.j.windows {
		kind, example = "an absolute, clean Windows path", `C:\work`
	}
	switch better := c.j.suggestFolder(name); {
	case better != "":
		c.fault(member, index, "%q: expected %s; write %q", name, kind, better)
	case strings.HasPrefix(name, "~"):
		c.fault(member, index, "%q: expected %s; write the home folder out, such as %q", name, kind, "/home/name"+name[1:])
	case !c.j.windows && strings.Contains(name, `\`):
		c.fault(member, index, "%q: expected %s, such as %q; a path with backslashes needs style %q", name, kind, example, Windows)
	default:
		why := ""
		if _, _, problem := c.j.read(nil, name, true); problem != "" {
			why = " (" + problem + ")"
		}
		c.fault(member, index, "%q%s: expected %s that can be judged, such as %q", name, why, kind, example)
	}
	return "", false
}
