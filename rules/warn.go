package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/internal/pathtext"
	"countersign/internal/problem"
	"countersign/internal/shelltext"
)

// warner looks for what is sound but probably not meant (content rules, section
// 11); Codes says exactly when each warning is given.
type warner struct {
	f        *File
	lists    map[string]*namedList
	rule     *Rule // looked at now, nil for the file
	prover   prover
	warnings kept
	silenced kept
}

// kept are the warnings found so far, the first of them by place and how many more.
type kept struct {
	list    []Problem
	dropped int
}

func (k *kept) add(p Problem) {
	if k.list = append(k.list, p); len(k.list) > 16*MaxProblems {
		slices.SortStableFunc(k.list, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
		k.dropped += len(k.list) - MaxProblems
		k.list = k.list[:MaxProblems]
	}
}

// warn fills in the file's warnings.
func (f *File) warn(r *reader) {
	w := &warner{f: f, lists: r.lists, prover: prover{left: maxProof}}
	for _, name := range sortedNames(r.lists) {
		if l := r.lists[name]; !l.used {
			w.add("unused-list", l.Offset, l.Pointer, "no test uses the list %q, expected %q somewhere", name, "@"+name)
		}
	}
	for _, rule := range f.Rules {
		w.rule = rule
		w.tools()
		w.static()
		w.walk(rule.When, scope{presents: presents(rule.When)})
		w.walk(rule.Refuse, scope{presents: presents(rule.When)})
		w.walk(rule.Require, scope{permits: true, presents: presents(rule.When)})
	}
	w.covered()
	f.Warnings = problem.Settle(f.Path, f.Source, w.warnings.list, w.warnings.dropped)
	f.Silenced = problem.Settle(f.Path, f.Source, w.silenced.list, w.silenced.dropped)
}

func (w *warner) add(code string, offset int, ptr, format string, args ...any) {
	p := Problem{Offset: offset, Pointer: ptr, Code: code, Msg: fmt.Sprintf(format, args...)}
	if w.rule != nil && slices.Contains(w.rule.OK, code) {
		w.silenced.add(p)
		return
	}
	w.warnings.add(p)
}

func (w *warner) tools() {
	for i, t := range w.rule.Tools {
		ptr := fmt.Sprintf("%s/tools/%d", w.rule.Pointer, i)
		at := w.rule.toolsAt
		if blankEnds(t.Text) != 0 {
			w.add("blank-at-end", at, ptr, "the tool name %s begins or ends with white space", problem.Quoted(t.Text))
		}
		w.listAsText(at, ptr, t.Text)
		if t.Exact() || !strings.Contains(t.Text, "/") {
			continue
		}
		for _, m := range methods {
			if t.glob.Match(m) {
				w.add("never-applies", at, ptr, "%s is a glob, which stands for tools alone; expected %q for the request", problem.Quoted(t.Text), m)
				break
			}
		}
	}
}

// static says what follows from the rule alone.
func (w *warner) static() {
	r := w.rule
	if r.When != nil && !w.prover.canHold(r.When) {
		w.add("never-applies", r.When.Offset, r.When.Pointer, "the when holds on no call, so the rule never applies")
	}
	switch {
	case r.Refuse != nil && !w.prover.canHold(r.Refuse):
		w.add("never-refuses", r.Refuse.Offset, r.Refuse.Pointer, "the refuse holds on no call, so the rule refuses at most what it cannot judge")
	case r.Require != nil && !w.prover.canFail(r.Require) && !w.prover.canBeAbsent(r.Require):
		w.add("never-refuses", r.Require.Offset, r.Require.Pointer, "the require holds on every call, so the rule refuses at most what it cannot judge")
	case r.Require != nil && !w.prover.canHold(r.Require):
		w.add("always-refuses", r.Require.Offset, r.Require.Pointer, "the require holds on no call, so the rule refuses every call it applies to")
	}
}

// scope is what stands around a condition.
type scope struct {
	permits  bool      // where the condition holds, more calls pass
	inNot    bool      // some not stands round it
	presents []Pointer // of the present tests beside it
}

// presents are the pointers of the present tests that c is or that are parts of it.
func presents(c *Condition) []Pointer {
	if c == nil {
		return nil
	}
	var ps []Pointer
	for _, p := range append(append([]*Condition{c}, c.All...), c.Any...) {
		if p.Test != nil && len(p.Test.Checks) == 1 && p.Test.Checks[0].Kind == Present {
			ps = append(ps, p.Test.Select.Pointer)
		}
	}
	return ps
}

func (w *warner) walk(c *Condition, s scope) {
	if c == nil {
		return
	}
	if c.All != nil || c.Any != nil {
		s.presents = append(slices.Clip(s.presents), presents(c)...)
	}
	for _, p := range c.All {
		w.walk(p, s)
	}
	for _, p := range c.Any {
		w.walk(p, s)
	}
	if c.Not != nil {
		in := s
		in.permits, in.inNot = !s.permits, true
		w.walk(c.Not, in)
	}
	if c.Program != nil {
		w.expression(c, s)
	}
	if c.Test != nil {
		w.test(c, c.Test, s)
		for i := range c.Test.Checks {
			if j := c.Test.Checks[i].JSON; j != nil {
				w.walk(j, scope{permits: s.permits, inNot: s.inNot})
			}
		}
	}
}

// expression looks at what an expression rests on.
func (w *warner) expression(c *Condition, s scope) {
	at, p := c.Pointer+"/cel", c.Program
	if p.AllOnEmpty && s.permits {
		w.add("cel-all-empty", c.Offset, at, "all() is true of what is empty, so an empty list passes; expected size() beside it, or a test with every")
	}
	if p.Mixed {
		w.add("cel-arithmetic", c.Offset, at, "arithmetic on what may be a whole number or another: where both meet the expression cannot be judged; expected double() around the operands")
	}
	for _, fact := range []string{"client", "annotations"} {
		if slices.Contains(p.Facts, fact) {
			w.add("rests-on-peer", c.Offset, at, "%s is what the peer says of itself, so whoever is to be held by the rule can choose it", fact)
		}
	}
}

func (w *warner) test(c *Condition, t *Test, s scope) {
	sel := t.Select
	if s.inNot && !s.permits && (sel.Kind == Some || sel.Kind == Every) && !slices.ContainsFunc(s.presents, sel.Pointer.meets) {
		w.add("absent-passes", c.Offset, c.Pointer,
			"a not stands round %q, which does not hold where nothing is selected, so such a call passes; expected a test with present beside the not, or a refuse in place of the not", sel.Kind)
	}
	if t.Fold && s.permits && (sel.Kind == Some && sel.Named != nil || slices.ContainsFunc(t.Checks, foldable)) {
		w.add("fold-widens", t.foldAt, c.Pointer+"/fold", "fold lets other spellings through as well; expected exact texts in what permits")
	}
	for _, n := range sel.Named {
		if blankEnds(n) != 0 {
			w.add("blank-at-end", t.namedAt, c.Pointer+"/named", "the member name %s begins or ends with white space", problem.Quoted(n))
		}
		w.listAsText(t.namedAt, c.Pointer+"/named", n)
	}
	command := commandLike(sel)
	for i := range t.Checks {
		w.check(&t.Checks[i], t, s, command)
	}
}

func foldable(c Check) bool {
	switch c.Kind {
	case Is, OneOf, Contains, StartsWith, EndsWith, Like, OnlyMembers, HasMembers:
		return true
	}
	return false
}

func (w *warner) check(c *Check, t *Test, s scope, command string) {
	switch c.Kind {
	case Is, OneOf:
		typed := slices.ContainsFunc(t.Checks, func(c Check) bool { return c.Kind == OfType })
		if !s.permits && t.Select.Kind == Some && t.Select.Pointer.Deep() && !t.Select.Names && !typed {
			w.add("kind-slip", c.Offset, c.Pointer,
				"over ** a value of another kind is passed over: 5 does not find \"5\"; expected also the other spellings, or a type test that says the kind is meant")
		}
	case Matches, Finds:
		w.pattern(c, s)
		w.listAsText(c.Offset, c.Pointer, c.Pattern)
	case Path:
		w.path(c, s)
	case Command:
		w.programs(c)
	}
	if (c.Kind == Command || c.Kind == Email) && !s.permits {
		what := "one command more in the text"
		if c.Kind == Email {
			what = "one address more in the list"
		}
		w.add("whole-in-refuse", c.Offset, c.Pointer,
			"%s holds only where all of it fits, so that %s gets round this; expected a require of what is allowed, or a refuse around not", c.Kind, what)
	}
	if command != "" && readsText(c.Kind, s.permits) {
		w.add("text-on-command", c.Offset, c.Pointer,
			"%q looks like a shell command, which a shell reads otherwise than letter by letter (quotes, variables, several commands in one text); expected the test command", command)
	}
	w.blanks(c, s)
	if c.List == "" {
		for _, x := range c.Texts {
			w.listAsText(c.Offset, c.Pointer, x)
		}
		for _, x := range c.Values {
			w.listAsText(c.Offset, c.Pointer, x.Text)
		}
		for _, x := range c.Names {
			w.listAsText(c.Offset, c.Pointer, x)
		}
	}
}

// path looks at the letter case of globs that forbid.
func (w *warner) path(c *Check, s scope) {
	j, ok := c.Judge.(*pathtext.Judge)
	if !ok {
		return
	}
	o := j.Operand()
	for _, root := range o.Under {
		if i := strings.IndexAny(root, "$*?{"); i >= 0 {
			w.add("sign-in-folder", c.Offset, c.Pointer, "under compares folders letter by letter, and %s holds %q; expected the folder itself, or like for a glob", problem.Quoted(root), root[i])
		}
	}
	if c.foldSaid {
		return
	}
	name, globs := "notLike", o.NotLike
	if !s.permits {
		name, globs = "like", o.Like
	}
	if o.Style != pathtext.Windows && slices.ContainsFunc(globs, func(g string) bool { return strings.ContainsFunc(g, unicode.IsLetter) }) {
		w.add("notlike-case", c.Offset, c.Pointer,
			"%s forbids by exact letter case, which another spelling gets round where the file system takes case as one; expected \"fold\": true, or \"fold\": false where it does not", name)
	}
}

// programs looks for programs that run what their arguments name.
func (w *warner) programs(c *Check) {
	if !c.bare {
		return
	}
	for _, p := range c.Texts {
		if shelltext.RunsOthers(p) {
			w.add("runs-others", c.Offset, c.Pointer, "%q runs other programs by argument, so whatever it is given runs; expected argv patterns that say with which arguments it may run", p)
		}
	}
}

// readsText: does a test of this kind look at parts or spellings of a text?
func readsText(k CheckKind, permits bool) bool {
	switch k {
	case Contains, StartsWith, EndsWith, Like, Matches, Finds:
		return true
	case Is, OneOf:
		return !permits
	}
	return false
}

func (w *warner) listAsText(offset int, ptr, text string) {
	if name, ok := strings.CutPrefix(text, "@"); ok && w.lists[name] != nil {
		w.add("list-as-text", offset, ptr, "%s is a text here, not the list; a list stands only in place of a whole list", problem.Quoted(text))
	}
}

// Ends of a text that are white space.
const (
	blankBefore = 1
	blankBehind = 2
)

func blankEnds(s string) int {
	n := 0
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		n |= blankBefore
	}
	if r, _ := utf8.DecodeLastRuneInString(s); unicode.IsSpace(r) {
		n |= blankBehind
	}
	return n
}

func (w *warner) blanks(c *Check, s scope) {
	allowed := 0 // blanks that make a permitting test narrower, as in startsWith "git "
	if s.permits {
		switch c.Kind {
		case StartsWith:
			allowed = blankBehind
		case EndsWith:
			allowed = blankBefore
		case Contains:
			allowed = blankBefore | blankBehind
		}
	}
	if l := w.lists[c.List]; l != nil {
		// What is told of a list is told once, whoever uses it.
		use := listUse{allowed, slices.Contains(w.rule.OK, "blank-at-end")}
		if l.toldBlanks[use] {
			return
		}
		if l.toldBlanks == nil {
			l.toldBlanks = map[listUse]bool{}
		}
		l.toldBlanks[use] = true
		for _, b := range l.blanks() {
			if b.ends&^allowed != 0 {
				w.add("blank-at-end", b.at.Value.Start(), b.at.Pointer, "%s begins or ends with white space, and only with that very one it is compared", problem.Quoted(b.text))
			}
		}
		return
	}
	say := func(text string) {
		if blankEnds(text)&^allowed != 0 {
			w.add("blank-at-end", c.Offset, c.Pointer, "%s begins or ends with white space, and only with that very one it is compared", problem.Quoted(text))
		}
	}
	for _, x := range c.Texts {
		say(x)
	}
	for _, x := range c.Values {
		say(x.Text)
	}
	for _, x := range c.Names {
		say(x)
	}
}

// blank is an entry of a list with white space at an end.
type blank struct {
	text string
	ends int
	at   place
}

// listUse is a way in which a list is used, as far as blanks go.
type listUse struct {
	allowed  int
	silenced bool
}

func (l *namedList) blanks() []blank {
	var blanks []blank
	i := 0
	for v := range l.at.Value.Elements() {
		if text := v.Text(); blankEnds(text) != 0 {
			blanks = append(blanks, blank{text, blankEnds(text), l.at.Element(v, i)})
		}
		i++
	}
	return blanks
}

// commandNames are arguments that usually hold a shell command, without case and
// without - and _.
var commandNames = []string{"command", "commands", "cmd", "cmds", "commandline", "cmdline", "shell", "shellcommand", "bash", "sh", "script", "exec", "execute"}

// longestCommandName is more than the longest of them, signs between its words
// included.
const longestCommandName = 24

// commandLike is the name by which a selection looks at a shell command, else "".
func commandLike(s Selection) string {
	if s.Names {
		return ""
	}
	is := func(name string) bool {
		if len(name) > longestCommandName {
			return false
		}
		plain := strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return -1
			}
			return unicode.ToLower(r)
		}, name)
		return slices.Contains(commandNames, plain)
	}
	for i := len(s.Pointer.Segments) - 1; i >= 0; i-- {
		if g := s.Pointer.Segments[i]; g.Kind == Name {
			if is(g.Name) {
				return g.Name
			}
			break
		}
	}
	for _, n := range s.Named {
		if is(n) {
			return n
		}
	}
	return ""
}

// meets says whether two pointers can lie on one way through a call: one
// selects something at, above or under what the other does.
func (p Pointer) meets(q Pointer) bool {
	for i := range min(len(p.Segments), len(q.Segments)) {
		a, b := p.Segments[i], q.Segments[i]
		if a.Kind == Deep || b.Kind == Deep {
			return true
		}
		if a.Kind == Name && b.Kind == Name && a.Name != b.Name {
			return false
		}
	}
	return true
}
