package rules

import (
	"slices"
	"strings"

	"countersign/internal/ijson"
)

var ruleMembers = []string{"id", "about", "tools", "when", "refuse", "require", "say", "mode", "ok"}

func (r *reader) readRule(p place) *Rule {
	rule := &Rule{Pointer: p.ptr, Offset: p.v.Start(), idAt: p.v.Start()}
	if !r.object(p, "a rule", ruleMembers, "id", "tools") {
		return nil
	}
	if m := p.member("id"); m.v.Exists() {
		rule.ID, rule.idAt = r.name(m), m.v.Start()
	}
	if m := p.member("about"); m.v.Exists() {
		rule.About, _ = r.text(m, MaxAbout)
	}
	if m := p.member("tools"); m.v.Exists() {
		rule.Tools = r.readTools(m)
	}
	if m := p.member("when"); m.v.Exists() {
		rule.When = r.condition(m)
	}
	refuse, require := p.member("refuse"), p.member("require")
	switch {
	case refuse.v.Exists() && require.v.Exists():
		second := require
		if refuse.v.Start() > require.v.Start() {
			second = refuse
		}
		r.fault(second, "refuse and require in one rule, expected one of the two; write a second rule")
	case !refuse.v.Exists() && !require.v.Exists():
		if !r.meantVerdict(p) {
			r.fault(p, `a rule without "refuse" or "require", of which it needs one`)
		}
	}
	if refuse.v.Exists() {
		rule.Refuse = r.condition(refuse)
	}
	if require.v.Exists() {
		rule.Require = r.condition(require)
	}
	if m := p.member("say"); m.v.Exists() {
		rule.Say, _ = r.text(m, MaxSay)
	}
	if m := p.member("mode"); m.v.Exists() {
		switch {
		case m.v.Is("watch"):
			rule.Watch = true
		case !m.v.Is("enforce"):
			got := kindOf(m.v)
			if m.v.Kind() == ijson.String {
				got = quoted(m.v.Text())
			}
			r.fault(m, `expected "enforce" or "watch", got %s`, got)
		}
	}
	if m := p.member("ok"); m.v.Exists() {
		rule.OK = r.readOK(m)
	}
	return rule
}

// meantVerdict: was an unknown member of the rule probably meant to be its
// refuse or require? Then that it has none is said already.
func (r *reader) meantVerdict(p place) bool {
	for n := range p.v.Members() {
		switch nearest(n.Text(), ruleMembers) {
		case "refuse", "require":
			return true
		}
	}
	return false
}

// globSigns make a tools entry a glob; without one it is compared exactly.
const globSigns = `*?[]{}\`

func (r *reader) readTools(p place) []ToolName {
	if p.v.Kind() == ijson.String {
		r.fault(p, "expected a list of tool names, got a text; write [%s]", quoted(p.v.Text()))
		return nil
	}
	if !r.list(p, "tool names", MaxTools) {
		return nil
	}
	seen := map[Scalar]int{}
	var tools []ToolName
	i := 0
	for v := range p.v.Elements() {
		at := p.element(v, i)
		i++
		s, ok := r.entry(at, "a tool name", seen, i-1)
		if !ok {
			continue
		}
		t := ToolName{Text: s}
		if strings.ContainsAny(s, globSigns) {
			if t.glob = r.toolGlob(at, s); t.glob == nil {
				continue
			}
		}
		tools = append(tools, t)
	}
	return tools
}

// entry reads one text of a list of texts: not empty and not there before.
func (r *reader) entry(p place, what string, seen map[Scalar]int, i int) (string, bool) {
	if p.v.Kind() != ijson.String {
		r.fault(p, "expected %s, got %s", what, kindOf(p.v))
		return "", false
	}
	s := p.v.Text()
	if s == "" {
		r.fault(p, "an empty text, expected %s", what)
		return "", false
	}
	return s, r.once(seen, Scalar{Type: TypeString, Text: s}, p, i)
}

func (r *reader) readOK(p place) []string {
	if !r.list(p, "warning codes", len(Codes())) {
		return nil
	}
	seen := map[Scalar]int{}
	var ok []string
	i := 0
	for v := range p.v.Elements() {
		at := p.element(v, i)
		i++
		s, sound := r.entry(at, "a warning code", seen, i-1)
		if !sound {
			continue
		}
		if known := codeNames(); !slices.Contains(known, s) {
			r.fault(at, "%s is no warning code, %s", quoted(s), instead(s, known))
			continue
		}
		ok = append(ok, s)
	}
	return ok
}
