package settings

import (
	"errors"
	"fmt"
	"strings"

	"countersign/internal/glob"
	"countersign/internal/ijson"
	"countersign/internal/problem"
)

const (
	maxTools    = 4096 // entries: no server is known to have a tenth
	maxToolName = 1024 // bytes of a tool's name or glob
)

// Tools are the tools the settings list: exact names and globs.
type Tools struct {
	names map[string]*Tool
	globs []Tool
	all   []*Tool
}

// Tool is one entry: which action a call of the tool is, and its amount.
type Tool struct {
	Name   string // as written: a name, or a glob
	Glob   bool
	Action string
	Amount *Amount
	Match  func(tool string) bool // of a sound glob, else nil
	offset int
}

// Amount says where a call's amount stands among its arguments.
type Amount struct {
	Arg   string // JSON pointer into the arguments
	Unit  string
	Scale int  // the amount is the argument times ten to this power
	Text  bool // the argument is decimal text in place of a number
}

// All are the entries in the file's order.
func (t *Tools) All() []*Tool { return t.all }

// errTwoGlobs is one mistake of the settings that only a tool's name brings out.
var errTwoGlobs = errors.New("two globs of the settings name the tool")

// Find is the entry for a tool: the one of exactly its name, else the glob that
// matches, else nil. Two globs that match are an error.
func (t *Tools) Find(name string) (*Tool, error) {
	if e := t.names[name]; e != nil {
		return e, nil
	}
	var found *Tool
	for i := range t.globs {
		g := &t.globs[i]
		if !g.Match(name) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: %q and %q, expected one: write the tool's own name beside them", errTwoGlobs, found.Name, g.Name)
		}
		found = g
	}
	return found, nil
}

// isGlob says whether a tool's name has a glob sign.
func isGlob(name string) bool { return strings.ContainsAny(name, `*?[]{}\`) }

func (r *reader) tools(p at) Tools {
	t := Tools{names: make(map[string]*Tool)}
	var entries []Tool
	r.named(p, 1, maxTools, func(name ijson.Value, p at) {
		e := Tool{Name: name.Text(), offset: name.Start()}
		e.Glob, e.Match = r.toolName(name, p.ptr)
		r.object(p,
			field{name: "action", needed: true, read: func(p at) { e.Action, _ = r.action(p) }},
			field{name: "amount", read: func(p at) { e.Amount = r.amount(p) }})
		entries = append(entries, e)
	})
	for i := range entries {
		e := &entries[i]
		if e.Match != nil {
			t.globs = append(t.globs, *e)
		} else if !e.Glob {
			t.names[e.Name] = e
		}
		t.all = append(t.all, e)
	}
	return t
}

// toolName checks a tool's name or glob; a sound glob comes back compiled.
func (r *reader) toolName(name ijson.Value, ptr string) (glob bool, match func(string) bool) {
	s := name.Text()
	if len(s) < 1 || len(s) > maxToolName {
		r.fault(name.Start(), ptr, "a tool's name of %d bytes, expected 1 to %d", len(s), maxToolName)
		return false, nil
	}
	if !isGlob(s) {
		return false, nil
	}
	match, err := compileGlob(s)
	if err != nil {
		r.fault(name.Start(), ptr, "%v", err)
	}
	return true, match
}

// action reads an action: a name of one's own, or one of the shared list.
func (r *reader) action(p at) (string, bool) {
	s, ok := r.form(p, shortForm, "an action: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit")
	if !ok || !strings.HasPrefix(s, "provared.") {
		return s, ok
	}
	for _, shared := range sharedActions {
		if s == shared {
			return s, true
		}
	}
	hint := ""
	if near := problem.Nearest(s, sharedActions); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	r.wrong(p, "not on the shared list of actions, which alone begin with provared.%s", hint)
	return "", false
}

// sharedActions is the shared list of the record format, section 5.
var sharedActions = []string{
	"provared.data.read", "provared.data.search", "provared.message.read", "provared.calendar.read",
	"provared.code.read", "provared.web.read",
	"provared.data.create", "provared.data.change", "provared.message.draft", "provared.calendar.change",
	"provared.access.remove", "provared.code.change", "provared.system.configure",
	"provared.data.delete",
	"provared.data.export", "provared.message.send", "provared.post.publish", "provared.agent.instruct",
	"provared.booking.make", "provared.booking.cancel", "provared.order.place", "provared.order.cancel",
	"provared.terms.accept", "provared.form.submit", "provared.account.create",
	"provared.access.grant", "provared.key.create",
	"provared.code.run", "provared.code.release",
	"provared.account.sign-in",
}

func (r *reader) amount(p at) *Amount {
	a := new(Amount)
	r.object(p,
		field{name: "arg", needed: true, read: func(p at) {
			a.Arg, _ = r.form(p, pointerForm, `a JSON pointer into the arguments, such as "/amount"`)
		}},
		field{name: "unit", needed: true, read: func(p at) {
			a.Unit, _ = r.form(p, unitForm, "a unit: 1 to 16 letters, digits or . _ -, beginning with a letter or digit")
		}},
		field{name: "scale", read: func(p at) { a.Scale, _ = r.whole(p, 0, MaxScale) }},
		field{name: "text", read: func(p at) { a.Text, _ = r.boolean(p) }})
	if a.Scale > 0 && namesMajorUnit(a.Unit) {
		r.warn(p.member("unit"), "%q names the whole unit, but with a scale of %d amounts are counted in parts of it: name the part, such as %q", a.Unit, a.Scale, a.Unit+"-minor")
	}
	return a
}

// namesMajorUnit says whether a unit is a currency's own code, which stands for
// the pound and not the penny.
func namesMajorUnit(unit string) bool {
	if len(unit) != 3 {
		return false
	}
	for i := range len(unit) {
		if c := unit[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// compileGlob makes a glob of tool names a function.
func compileGlob(pattern string) (func(string) bool, error) {
	g, err := glob.Compile(pattern, glob.Options{})
	if err != nil {
		return nil, fmt.Errorf("not a sound glob: %w", err)
	}
	return g.Match, nil
}
