package rulestest

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/problem"
	"countersign/internal/verdict"
	"countersign/rules"
)

// The warnings of section 11 of the content rules that need a server's tools.
const (
	CodeUnruledTool    = "unruled-tool"
	CodeUnknownTool    = "unknown-tool"
	CodeUnknownPointer = "unknown-pointer"
	CodeTypeNever      = "type-never"
	CodeUnlooked       = "unlooked-argument"
	CodeResourcesOpen  = "resources-open"
	CodeDefaultPasses  = "default-passes"
	CodeTextOnPath     = "text-on-path"
)

// Lint holds the suite's rules against the tools of its server: the warnings, by
// file and place, and those that a rule's ok silences. Without a server there are
// none.
func (s *Suite) Lint() (warnings, silenced problem.List) {
	if s.Server == nil {
		return nil, nil
	}
	l := &linter{s: s, found: map[*rules.File][]problem.Problem{}, quiet: map[*rules.File][]problem.Problem{}}
	for i, r := range s.rules {
		f := s.ruleFiles[i]
		w := l.text(f)
		if w == nil {
			continue
		}
		l.tools(w, r)
		matched := l.matched(r)
		w.eachCondition(r, func(c *rules.Condition, inWhen bool) {
			if c.Test != nil && !insideJSON(r, c) && len(matched) > 0 {
				l.test(w, r, c, matched)
			}
		})
		l.defaults(w, r, matched)
	}
	if len(s.Set.Files) > 0 {
		l.unruled()
		l.unlooked()
		l.resources()
	}
	for _, f := range s.Set.Files {
		warnings = append(warnings, problem.Settle(f.Path, f.Source, l.found[f], 0)...)
		silenced = append(silenced, problem.Settle(f.Path, f.Source, l.quiet[f], 0)...)
	}
	return warnings, silenced
}

type linter struct {
	s     *Suite
	args  map[*Tool][]argument
	texts map[*rules.File]*written
	found map[*rules.File][]problem.Problem
	quiet map[*rules.File][]problem.Problem
}

func (l *linter) text(f *rules.File) *written {
	if l.texts == nil {
		l.texts = map[*rules.File]*written{}
	}
	if l.texts[f] == nil {
		l.texts[f], _ = newWritten(f) // a file that was read once reads again
	}
	return l.texts[f]
}

// arguments are those of a tool, worked out once.
func (l *linter) arguments(t *Tool) []argument {
	if l.args == nil {
		l.args = map[*Tool][]argument{}
	}
	a, ok := l.args[t]
	if !ok {
		a = arguments(t)
		l.args[t] = a
	}
	return a
}

// warn notes a warning; quiet is whether a rule's ok silences it.
func (l *linter) warn(f *rules.File, quiet bool, code, pointer, format string, args ...any) {
	p := problem.Problem{Code: code, Pointer: pointer, Msg: fmt.Sprintf(format, args...)}
	if w := l.text(f); w != nil {
		p.Offset = w.at(pointer).Start()
	}
	if quiet {
		l.quiet[f] = append(l.quiet[f], p)
		return
	}
	l.found[f] = append(l.found[f], p)
}

func silences(r *rules.Rule, code string) bool { return slices.Contains(r.OK, code) }

// matched are the server's tools that a rule is for.
func (l *linter) matched(r *rules.Rule) []*Tool {
	var out []*Tool
	for i := range l.s.Server.Tools {
		if t := &l.s.Server.Tools[i]; r.Names(t.Name) {
			out = append(out, t)
		}
	}
	return out
}

func (l *linter) tools(w *written, r *rules.Rule) {
	for i, t := range r.Tools {
		if rules.IsMethod(t.Text) || slices.ContainsFunc(l.s.Server.Tools, func(k Tool) bool { return t.Matches(k.Name) }) {
			continue
		}
		at := fmt.Sprintf("%s/tools/%d", r.Pointer, i)
		what := "the server has no tool %s"
		if !t.Exact() {
			what = "no tool of the server is like %s"
		}
		near := ""
		if n := problem.Nearest(t.Text, l.s.Server.names()); n != "" {
			near = fmt.Sprintf(", did you mean %q?", n)
		}
		l.warn(w.file, silences(r, CodeUnknownTool), CodeUnknownTool, at, what+"%s", problem.Quoted(t.Text), near)
	}
}

// test looks at what a test selects and at what it asks for.
func (l *linter) test(w *written, r *rules.Rule, c *rules.Condition, matched []*Tool) {
	sel := &c.Test.Select
	pointers := sel.Argv
	if sel.Kind != rules.Argv {
		pointers = []rules.Pointer{sel.Pointer}
	}
	for i, p := range pointers {
		at := c.Pointer + "/" + string(sel.Kind)
		if sel.Kind == rules.Argv {
			at += fmt.Sprintf("/%d", i)
		}
		l.pointer(w, r, p, at, matched)
	}
	for i, name := range sel.Named {
		l.named(w, r, name, c.Test.Fold, fmt.Sprintf("%s/named/%d", c.Pointer, i), matched)
	}
	for i := range c.Test.Checks {
		if k := &c.Test.Checks[i]; k.Kind == rules.HasMembers || k.Kind == rules.OnlyMembers {
			for n, name := range k.Names {
				l.named(w, r, name, c.Test.Fold, fmt.Sprintf("%s/%d", k.Pointer, n), matched)
			}
		}
	}
	if sel.Kind != rules.Argv && !sel.Names {
		l.never(w, r, c, matched)
	}
}

// ofInput: input responses are no argument of a tool's schema.
func ofInput(p rules.Pointer) bool {
	return len(p.Segments) > 0 && p.Segments[0].Name == "inputResponses"
}

func (l *linter) pointer(w *written, r *rules.Rule, p rules.Pointer, at string, matched []*Tool) {
	if ofInput(p) {
		return
	}
	var there shape
	var end int
	var of *Tool
	for _, t := range matched {
		s := shapeOf(t)
		to, i, found := s.along(p.Segments)
		if found || !t.Schema.Exists() {
			return
		}
		if of == nil || i > end {
			there, end, of = to, i, t
		}
	}
	seg := p.Segments[end]
	what, near := "", ""
	if seg.Kind == rules.Name {
		known := there.members()
		what = "no member " + problem.Quoted(seg.Name)
		if n := problem.Nearest(seg.Name, known); n != "" {
			near = fmt.Sprintf(", did you mean %q?", n)
		} else if len(known) > 0 {
			near = ", expected " + problem.OneOf(known[:min(len(known), maxNamed)])
		}
	} else {
		what = "no list"
		if seg.Kind == rules.Any {
			what = "no list or members"
		}
	}
	l.warn(w.file, silences(r, CodeUnknownPointer), CodeUnknownPointer, at, "%s: the inputSchema of %s has %s there%s", problem.Quoted(p.Text), problem.Quoted(of.Name), what, near)
}

// named looks for a name at any depth of the tools' arguments.
func (l *linter) named(w *written, r *rules.Rule, name string, fold bool, at string, matched []*Tool) {
	var known []string
	for _, t := range matched {
		if !t.Schema.Exists() {
			return
		}
		for _, a := range l.arguments(t) {
			n := a.names[len(a.names)-1]
			if n == name || fold && ijson.FoldName(n) == ijson.FoldName(name) {
				return
			}
			if n != "#" && !slices.Contains(known, n) {
				known = append(known, n)
			}
		}
	}
	near := ""
	if n := problem.Nearest(name, known); n != "" {
		near = fmt.Sprintf(", did you mean %q?", n)
	}
	tools := problem.Quoted(matched[0].Name)
	if n := len(matched) - 1; n > 0 {
		tools += fmt.Sprintf(" and %s of this rule", plural(n, "other tool"))
	}
	l.warn(w.file, silences(r, CodeUnknownPointer), CodeUnknownPointer, at, "%s: the inputSchema of %s has no member of this name at any depth%s", problem.Quoted(name), tools, near)
}

// never warns of a test that no value the schemas let through can pass.
func (l *linter) never(w *written, r *rules.Rule, c *rules.Condition, matched []*Tool) {
	sel := &c.Test.Select
	var shapes []shape
	var of []*Tool
	for _, t := range matched {
		if sel.Pointer.Deep() {
			if sel.Named == nil {
				return
			}
			for _, a := range l.arguments(t) {
				if slices.ContainsFunc(a.names, func(n string) bool { return slices.Contains(sel.Named, n) }) {
					shapes, of = append(shapes, a.shape), append(of, t)
				}
			}
			continue
		}
		s := shapeOf(t)
		if to, _, found := s.along(sel.Pointer.Segments); found {
			shapes, of = append(shapes, to), append(of, t)
		}
	}
	if len(shapes) == 0 {
		return
	}
	for i := range c.Test.Checks {
		k := &c.Test.Checks[i]
		why := ""
		for n := range shapes {
			if why = impossible(&shapes[n], k); why == "" {
				break
			}
		}
		if why != "" {
			l.warn(w.file, silences(r, CodeTypeNever), CodeTypeNever, k.Pointer, "by the inputSchema of %s no value passes: %s", problem.Quoted(of[0].Name), why)
		}
	}
}

// appliesTo are the kinds a test applies to; nil is all.
var appliesTo = map[rules.CheckKind][]string{
	rules.Contains: {"string"}, rules.StartsWith: {"string"}, rules.EndsWith: {"string"}, rules.Like: {"string"},
	rules.Matches: {"string"}, rules.Finds: {"string"}, rules.JSON: {"string"}, rules.Path: {"string"}, rules.URL: {"string"},
	rules.Email: {"string"}, rules.Command: {"string", "array"}, rules.Length: {"string", "array", "object"},
	rules.Above: {"number", "integer"}, rules.AtLeast: {"number", "integer"}, rules.Below: {"number", "integer"}, rules.AtMost: {"number", "integer"},
	rules.OnlyMembers: {"object"}, rules.HasMembers: {"object"},
}

// impossible says why no value of a shape passes a check, "" where one may.
func impossible(s *shape, k *rules.Check) string {
	types := s.types()
	if types == nil {
		return ""
	}
	has := func(t string) bool {
		return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number") || t == "number" && slices.Contains(types, "integer")
	}
	are := "it is " + strings.Join(types, " or ")
	switch k.Kind {
	case rules.Present:
		return ""
	case rules.OfType:
		if !slices.ContainsFunc(k.Types, func(t rules.Type) bool { return has(string(t)) }) {
			return are
		}
		return ""
	case rules.Is, rules.OneOf:
		if !slices.ContainsFunc(k.Values, func(v rules.Scalar) bool { return has(string(v.Type)) }) {
			return are
		}
		if values, closed := s.enum(); closed {
			for _, e := range values {
				if slices.ContainsFunc(k.Values, func(v rules.Scalar) bool { return sameScalar(v, e) }) {
					return ""
				}
			}
			return "it is none of the values its enum has"
		}
		return ""
	}
	if of := appliesTo[k.Kind]; of != nil && !slices.ContainsFunc(of, has) {
		return are
	}
	return ""
}

func sameScalar(v rules.Scalar, e ijson.Value) bool {
	switch v.Type {
	case rules.TypeString:
		return e.Is(v.Text)
	case rules.TypeNumber:
		return e.Kind() == ijson.Number && e.Float() == v.Number
	case rules.TypeBoolean:
		return e.Kind() == ijson.True && v.Bool || e.Kind() == ijson.False && !v.Bool
	}
	return e.Kind() == ijson.Null
}

func (l *linter) unruled() {
	f := l.s.Set.Files[0]
	for i := range l.s.Server.Tools {
		t := &l.s.Server.Tools[i]
		if !slices.ContainsFunc(l.s.rules, func(r *rules.Rule) bool { return r.Names(t.Name) }) {
			l.warn(f, false, CodeUnruledTool, "/rules", "no rule is for the tool %s", problem.Quoted(t.Name))
		}
	}
}

// unlooked warns of arguments that hold paths, URLs or commands and that no rule
// looks at.
func (l *linter) unlooked() {
	for i := range l.s.Server.Tools {
		t := &l.s.Server.Tools[i]
		var of []int
		for k, r := range l.s.rules {
			if r.Names(t.Name) {
				of = append(of, k)
			}
		}
		if len(of) == 0 {
			continue // told as unruled
		}
		quiet := slices.ContainsFunc(of, func(k int) bool { return silences(l.s.rules[k], CodeUnlooked) })
		for _, a := range l.arguments(t) {
			like := likenessOf(t, &a)
			if like == likePath || like == likeURL {
				l.textOn(of, t, &a, like)
			}
			if like == "" || slices.ContainsFunc(of, func(k int) bool { return looksAt(l.s.rules[k], &a) }) {
				continue
			}
			r := l.s.rules[of[0]]
			l.warn(l.s.ruleFiles[of[0]], quiet, CodeUnlooked, r.Pointer+"/tools", "no rule looks at %s of %s, which by its name is a %s", a.pointer(), problem.Quoted(t.Name), like)
		}
	}
}

// textOn warns of tests that read a path or a URL letter by letter, which dots,
// escapes, letter case and a host's name get round, where no rule holds it to a
// test that understands it.
func (l *linter) textOn(of []int, t *Tool, a *argument, like likeness) {
	type place struct {
		rule int
		c    *rules.Condition
	}
	var found []place
	understood := false
	for _, k := range of {
		l.s.rules[k].Condition().Walk(func(c *rules.Condition) {
			if c.Test == nil || c.Test.Select.Kind == rules.Argv || c.Test.Select.Names || !selects(c.Test.Select.Pointer, c.Test.Select.Named, a, c.Test) {
				return
			}
			understood = understood || typed(c.Test)
			permits := l.s.rules[k].Require != nil && !strings.Contains(c.Pointer, "/not")
			if slices.ContainsFunc(c.Test.Checks, func(k rules.Check) bool { return readsText(k.Kind) && !(permits && plainWords(&k)) }) {
				found = append(found, place{k, c})
			}
		})
	}
	if understood {
		return
	}
	test := "path"
	if like == likeURL {
		test = "url"
	}
	for _, p := range found {
		l.warn(l.s.ruleFiles[p.rule], silences(l.s.rules[p.rule], CodeTextOnPath), CodeTextOnPath, p.c.Pointer,
			"%s of %s by its name is a %s, which is read here letter by letter, and so in one of its spellings; expected the test %s", a.pointer(), problem.Quoted(t.Name), like, test)
	}
}

// plainWords says whether a check is a pattern of whole texts that leaves open
// nothing a path or a URL is made of: its letters may vary, its dots, slashes and
// escapes stand in it as they are.
func plainWords(k *rules.Check) bool {
	if k.Kind != rules.Matches {
		return false
	}
	tree, err := syntax.Parse(k.Pattern, syntax.Perl)
	return err == nil && !open(tree)
}

func open(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for _, c := range `./\:@%?#` {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(re.Sub, open)
}

func readsText(k rules.CheckKind) bool {
	switch k {
	case rules.Contains, rules.StartsWith, rules.EndsWith, rules.Like, rules.Matches, rules.Finds:
		return true
	}
	return false
}

// looksAt says whether a rule looks at an argument: it names it or what it stands
// in, holds every value to a typed test, or refuses the tool or the member
// whatever it holds. That a rule looks for words in every text does not count.
func looksAt(r *rules.Rule, a *argument) bool {
	found := false
	if holds, known := always(r.Condition()); known && holds == (r.Refuse != nil) {
		return true
	}
	r.Condition().Walk(func(c *rules.Condition) {
		if found || c.Test == nil {
			if c.CEL != "" && strings.Contains(c.CEL, a.name()) {
				found = true
			}
			return
		}
		sel := &c.Test.Select
		if sel.Names {
			return
		}
		for _, p := range append([]rules.Pointer{sel.Pointer}, sel.Argv...) {
			if sel.Kind == rules.Argv && p.Text == "" && len(p.Segments) == 0 {
				continue
			}
			found = found || selects(p, sel.Named, a, c.Test)
		}
		found = found || shutsOut(r, c, a)
	})
	return found
}

func selects(p rules.Pointer, named []string, a *argument, t *rules.Test) bool {
	segs := p.Segments
	deep := p.Deep()
	if deep {
		segs = segs[:len(segs)-1]
	}
	if len(segs) > len(a.names) {
		return false
	}
	for i, s := range segs {
		n := a.names[i]
		switch {
		case s.Kind == rules.Any, s.Kind == rules.Element && n == "#", s.Kind == rules.Name && (s.Name == n || n == "#" && s.Index >= 0):
		default:
			return false
		}
	}
	switch {
	case deep && named != nil:
		return slices.ContainsFunc(a.names, func(n string) bool { return slices.Contains(named, n) })
	case deep:
		return len(segs) > 0 || typed(t)
	}
	return len(segs) > 0 && (len(segs) == len(a.names) || t.Select.Kind == rules.Argv || typed(t))
}

func typed(t *rules.Test) bool {
	return slices.ContainsFunc(t.Checks, func(k rules.Check) bool {
		switch k.Kind {
		case rules.Path, rules.URL, rules.Command, rules.Email, rules.JSON:
			return true
		}
		return false
	})
}

// shutsOut: does the rule let the argument's member not be there at all?
func shutsOut(r *rules.Rule, c *rules.Condition, a *argument) bool {
	sel := &c.Test.Select
	if r.Require == nil || sel.Kind != rules.Arg || len(sel.Pointer.Segments) >= len(a.names) {
		return false
	}
	for i, s := range sel.Pointer.Segments {
		if s.Kind != rules.Name || s.Name != a.names[i] {
			return false
		}
	}
	next := a.names[len(sel.Pointer.Segments)]
	return slices.ContainsFunc(c.Test.Checks, func(k rules.Check) bool {
		return k.Kind == rules.OnlyMembers && !slices.Contains(k.Names, next)
	})
}

func (l *linter) resources() {
	if !l.s.Server.Resources {
		return
	}
	paths := false
	for _, r := range l.s.rules {
		if slices.ContainsFunc(r.Tools, func(t rules.ToolName) bool { return t.Exact() && t.Text == "resources/read" }) {
			return
		}
		both := func(c *rules.Condition) {
			paths = paths || c.Test != nil && slices.ContainsFunc(c.Test.Checks, func(k rules.Check) bool { return k.Kind == rules.Path })
		}
		r.When.Walk(both)
		r.Condition().Walk(both)
	}
	if paths {
		l.warn(l.s.Set.Files[0], false, CodeResourcesOpen, "/rules", `the server offers resources, and no rule names "resources/read"`)
	}
}

// defaults warns of a refuse or a when that an absent argument does not meet while
// the value the server then takes, its default, would.
func (l *linter) defaults(w *written, r *rules.Rule, matched []*Tool) {
	forbidding := func(top *rules.Condition) {
		var walk func(c *rules.Condition, not bool)
		walk = func(c *rules.Condition, not bool) {
			switch {
			case c == nil:
			case c.Not != nil:
				walk(c.Not, !not)
			case c.Test != nil:
				if !not {
					l.defaultOf(w, r, c, top, matched)
				}
			default:
				for _, p := range append(slices.Clone(c.All), c.Any...) {
					walk(p, not)
				}
			}
		}
		walk(top, false)
	}
	forbidding(r.When)
	forbidding(r.Refuse)
}

func (l *linter) defaultOf(w *written, r *rules.Rule, c, top *rules.Condition, matched []*Tool) {
	sel := &c.Test.Select
	if sel.Kind == rules.Argv || sel.Names || sel.Pointer.Wild() && !sel.Pointer.Deep() || asksPresence(top, sel.Pointer.Text) {
		return
	}
	for _, t := range matched {
		for _, a := range l.arguments(t) {
			d := a.shape.defaultValue()
			if !d.Exists() || slices.Contains(a.names, "#") || !selects(sel.Pointer, sel.Named, &a, c.Test) && !(sel.Pointer.Deep() && sel.Named == nil) {
				continue
			}
			args := empty()
			for i, n := range slices.Backward(a.names) {
				if i == len(a.names)-1 {
					args = member(n, treeOf(d))
				} else {
					args = member(n, args)
				}
			}
			if l.holds(w, r, c, t.Name, args) {
				l.warn(w.file, silences(r, CodeDefaultPasses), CodeDefaultPasses, c.Pointer, "%s of %s is %s where it is left out, which this would match; left out it does not", a.pointer(), problem.Quoted(t.Name), problem.Quoted(string(compact(nil, d.Raw()))))
				return
			}
		}
	}
}

// asksPresence: does a condition ask whether something is at a pointer?
func asksPresence(c *rules.Condition, pointer string) bool {
	asks := false
	c.Walk(func(p *rules.Condition) {
		asks = asks || p.Test != nil && p.Test.Checks[0].Kind == rules.Present && p.Test.Select.Pointer.Text == pointer
	})
	return asks
}

// holds judges one condition on made-up arguments, and that it does not hold
// without them.
func (l *linter) holds(w *written, r *rules.Rule, c *rules.Condition, tool string, args *tree) bool {
	rule := object("id", quote(r.ID), "tools", list(quote(tool)), "refuse", raw(w.at(c.Pointer)))
	set, problems := rules.ReadSet([]rules.Source{{Path: w.file.Path, Data: []byte(object(
		"format", quote(rules.Version), "name", raw(w.doc.Root().Member("name")), "lists", raw(w.doc.Root().Member("lists")), "rules", list(rule)))}})
	if len(problems) > 0 {
		return false // a tool name that only a glob sign can spell
	}
	e, err := engine.New(set, l.s.options.Engine)
	if err != nil {
		return false
	}
	result := func(t *tree) verdict.Result {
		var doc ijson.Doc
		call, ok := l.s.readCall(tool, t.append(nil), &doc, DefaultNow)
		if !ok {
			return verdict.CannotJudge
		}
		d := e.Explain(call)
		if len(d.Trace.Rules) == 0 || d.Trace.Rules[0].Condition == nil {
			return verdict.CannotJudge
		}
		return d.Trace.Rules[0].Condition.Result
	}
	without := result(empty())
	return result(args) == verdict.Holds && (without == verdict.Absent || without == verdict.Fails)
}
