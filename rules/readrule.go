package rules

import (
	"slices"
	"strings"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

var ruleMembers = []string{"id", "about", "tools", "when", "refuse", "require", "say", "mode", "ok"}

func (r *reader) readRule(p place) *Rule {
	rule := &Rule{Pointer: p.Pointer, Offset: p.Value.Start(), idAt: p.Value.Start()}
	if !r.Object(p, "a rule", ruleMembers, "id", "tools") {
		return nil
	}
	if m := p.Member("id"); m.Value.Exists() {
		rule.ID, rule.idAt = r.name(m), m.Value.Start()
	}
	if m := p.Member("about"); m.Value.Exists() {
		rule.About, _ = r.Text(m, MaxAbout)
	}
	if m := p.Member("tools"); m.Value.Exists() {
		rule.Tools, rule.toolsAt = r.readTools(m), m.Value.Start()
	}
	if m := p.Member("when"); m.Value.Exists() {
		rule.When = r.condition(m)
	}
	refuse, require := p.Member("refuse"), p.Member("require")
	switch {
	case refuse.Value.Exists() && require.Value.Exists():
		second := require
		if refuse.Value.Start() > require.Value.Start() {
			second = refuse
		}
		r.Fault(second, "refuse and require in one rule, expected one of the two; write a second rule")
	case !refuse.Value.Exists() && !require.Value.Exists():
		if !r.meantVerdict(p) {
			r.Fault(p, `a rule without "refuse" or "require", of which it needs one`)
		}
	}
	if refuse.Value.Exists() {
		rule.Refuse = r.condition(refuse)
	}
	if require.Value.Exists() {
		r.required = true
		rule.Require = r.condition(require)
		r.required = false
	}
	if m := p.Member("say"); m.Value.Exists() {
		rule.Say, _ = r.Text(m, MaxSay)
	}
	if m := p.Member("mode"); m.Value.Exists() {
		switch {
		case m.Value.Is("watch"):
			rule.Watch = true
		case !m.Value.Is("enforce"):
			got := problem.KindOf(m.Value)
			if m.Value.Kind() == ijson.String {
				got = problem.Quoted(m.Value.Text())
			}
			r.Fault(m, `expected "enforce" or "watch", got %s`, got)
		}
	}
	if m := p.Member("ok"); m.Value.Exists() {
		rule.OK = r.readOK(m)
	}
	return rule
}

// meantVerdict: was an unknown member of the rule probably meant to be its
// refuse or require? Then that it has none is said already.
func (r *reader) meantVerdict(p place) bool {
	for n := range p.Value.Members() {
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
	if p.Value.Kind() == ijson.String {
		r.Fault(p, "expected a list of tool names, got a text; write [%s]", problem.Quoted(p.Value.Text()))
		return nil
	}
	if !r.List(p, "tool names", MaxTools) {
		return nil
	}
	seen := map[Scalar]int{}
	var tools []ToolName
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
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
			t.begin = t.glob.Prefix()
			t.all = s == t.begin+"*"
		}
		tools = append(tools, t)
	}
	return tools
}

// entry reads one text of a list of texts: not empty and not there before.
func (r *reader) entry(p place, what string, seen map[Scalar]int, i int) (string, bool) {
	if p.Value.Kind() != ijson.String {
		r.Fault(p, "expected %s, got %s", what, problem.KindOf(p.Value))
		return "", false
	}
	s := p.Value.Text()
	if s == "" {
		r.Fault(p, "an empty text, expected %s", what)
		return "", false
	}
	return s, r.once(seen, Scalar{Type: TypeString, Text: s}, p, i)
}

func (r *reader) readOK(p place) []string {
	if !r.List(p, "warning codes", len(Codes())) {
		return nil
	}
	seen := map[Scalar]int{}
	var ok []string
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		i++
		s, sound := r.entry(at, "a warning code", seen, i-1)
		if !sound {
			continue
		}
		if known := codeNames(); !slices.Contains(known, s) {
			r.Fault(at, "%s is no warning code, %s", problem.Quoted(s), problem.Instead(s, known))
			continue
		}
		ok = append(ok, s)
	}
	return ok
}
