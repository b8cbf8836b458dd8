package rulestest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/ijson"
	"countersign/rules"
)

// DraftOptions say what a draft is made for.
type DraftOptions struct {
	Name      string   // of the rules file
	Workspace []string // folders that paths must lie in, absolute and clean; 1 or more
	Base      string   // the folder the server runs in, which relative paths start from; "" where they are not to be judged
	RulesFile string   // how the tests name the rules: "content-rules.json"
	ToolsFile string   // how the tests name the tools, "" where there is no file of them
	Options   Options
}

// Draft is where an author starts: rules for what a server's tools take, tests of
// those rules that notice every mutant of them, and an action for each tool.
type Draft struct {
	Tools []DraftTool
	Rules []byte
	Tests []byte
	// Open are mutants that no test of the draft notices.
	Open []Mutant
}

// DraftTool is a tool and the action of the shared list it seems to be (format,
// section 5). Names and annotations are the server's own word.
type DraftTool struct{ Name, Action string }

// maxRounds bounds how often cases are added for the mutants still alive; each
// round needs few.
const maxRounds = 6

// MakeDraft drafts rules and tests for a server. Every tool with an argument that
// by its name or schema holds a path, a URL or a command gets a rule for it.
func MakeDraft(ctx context.Context, server *Server, o DraftOptions) (*Draft, error) {
	if len(o.Workspace) == 0 {
		return nil, fmt.Errorf("a draft needs a folder that paths may lie in")
	}
	d := &Draft{}
	for i := range server.Tools {
		d.Tools = append(d.Tools, DraftTool{server.Tools[i].Name, actionOf(&server.Tools[i])})
	}
	w := drafter{server: server, o: o}
	w.rules()
	text, err := w.rulesText()
	if err != nil {
		return nil, err
	}
	d.Rules = text
	set, problems := rules.ReadSet([]rules.Source{{Path: o.RulesFile, Data: text}})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("the rules that were drafted: %w", err)
	}
	for round := 0; ; round++ {
		d.Tests = w.testsText()
		s, err := NewSuite(set, server, o.Options)
		if err != nil {
			return nil, err
		}
		f, problems := Read("draft"+Suffix, d.Tests)
		if err := problems.Err(); err != nil {
			return nil, fmt.Errorf("the tests that were drafted: %w", err)
		}
		f.Tools = ""
		if _, err := s.Add(f); err != nil {
			return nil, err
		}
		m, err := s.Mutate(ctx, MutantOptions{})
		if err != nil {
			return nil, err
		}
		added := 0
		d.Open = nil
		for _, x := range m.All {
			switch x.State {
			case Alive:
				added++
				w.add(x.Case, strings.Join(x.Rules, ", ")+": "+x.What)
				d.Open = append(d.Open, x)
			case Untold:
				d.Open = append(d.Open, x)
			}
		}
		if added == 0 || round == maxRounds {
			return d, nil
		}
	}
}

// drafter gathers rules and cases.
type drafter struct {
	server *Server
	o      DraftOptions
	list   []string // rules
	cases  []draftCase
	known  map[*Tool][]argument
}

type draftCase struct{ name, text string }

// group is tools whose arguments of one likeness are held to one rule.
type group struct {
	like  likeness
	needs bool // each of its tools has such an argument that must be there
	names []string
	tools []*groupTool
}

type groupTool struct {
	tool *Tool
	args []argument
}

// ids of the rules that are drafted, by what they hold.
var draftIDs = map[likeness]string{likePath: "stay-in-workspace", likeURL: "public-web-only", likeCommand: "known-programs"}

// rules drafts the rules and the cases that say what they are for.
func (w *drafter) rules() {
	for _, like := range []likeness{likePath, likeURL, likeCommand} {
		count := map[string]int{}
		for _, g := range w.groups(like) {
			id := draftIDs[like]
			if !g.needs {
				id += "-if-given"
			}
			if count[id]++; count[id] > 1 {
				id += fmt.Sprintf("-%d", count[id])
			}
			w.rule(id, g)
		}
	}
	if len(w.list) == 0 {
		w.noKeys()
	}
}

// groups puts tools together that one rule can be for: a name that holds a path
// in one tool and something else in another parts them.
func (w *drafter) groups(like likeness) []*group {
	var all []*group
	for i := range w.server.Tools {
		t := &w.server.Tools[i]
		mine := &groupTool{tool: t}
		for _, a := range w.arguments(t) {
			if likenessOf(t, &a) == like && !slices.ContainsFunc(mine.args, func(b argument) bool { return b.pointer() == a.pointer() }) {
				mine.args = append(mine.args, a)
			}
		}
		if len(mine.args) == 0 {
			continue
		}
		needs := slices.ContainsFunc(mine.args, func(a argument) bool { return a.needs })
		at := slices.IndexFunc(all, func(g *group) bool { return g.needs == needs && w.takes(g, mine) })
		if at < 0 {
			all = append(all, &group{like: like, needs: needs})
			at = len(all) - 1
		}
		g := all[at]
		g.tools = append(g.tools, mine)
		for _, n := range argNames(mine.args) {
			if !slices.Contains(g.names, n) {
				g.names = append(g.names, n)
			}
		}
	}
	return all
}

// arguments are those of a tool, worked out once.
func (w *drafter) arguments(t *Tool) []argument {
	if w.known == nil {
		w.known = map[*Tool][]argument{}
	}
	a, ok := w.known[t]
	if !ok {
		a = arguments(t)
		w.known[t] = a
	}
	return a
}

// takes says whether a tool can join the group.
func (w *drafter) takes(g *group, t *groupTool) bool {
	names := slices.Clone(g.names)
	for _, a := range t.args {
		names = append(names, a.name())
	}
	for _, m := range append(slices.Clone(g.tools), t) {
		for _, a := range w.arguments(m.tool) {
			if slices.Contains(names, a.name()) && a.names[len(a.names)-1] != "#" && !a.shape.element().known() && likenessOf(m.tool, &a) != g.like {
				return false
			}
		}
	}
	// A command may be a list of words, which is one value; so its place is named.
	return g.like != likeCommand || len(g.names) == 0 || slices.Equal(g.names, argNames(t.args))
}

func argNames(args []argument) []string {
	var out []string
	for _, a := range args {
		if !slices.Contains(out, a.name()) {
			out = append(out, a.name())
		}
	}
	return out
}

// rule drafts the rule of a group and its first cases.
func (w *drafter) rule(id string, g *group) {
	var tools []string
	for _, t := range g.tools {
		tools = append(tools, globEscaped(t.tool.Name))
	}
	var names []string
	for _, n := range g.names {
		names = append(names, quote(n))
	}
	held, say := "", ""
	member := string(g.like)
	switch g.like {
	case likePath:
		base := ""
		if w.o.Base != "" {
			base = quote(w.o.Base)
		}
		held, say = object("under", `"@workspace"`, "base", base), "Only files in the workspace may be touched."
	case likeURL:
		member = "url"
		held, say = object("scheme", `["https"]`, "public", "true"), "Only https pages of the public internet may be opened."
	case likeCommand:
		// None that prints or changes a file: the guard's own keys are files too.
		held, say = object("programs", `["ls", "pwd"]`), "Only ls and pwd may be run."
	}
	var condition string
	ok := ""
	switch {
	case g.like == likeCommand:
		condition = g.atPlaces(member, held)
	case g.needs:
		condition = object("every", `"/**"`, "named", list(names...), member, held)
	default:
		// Nothing of the kind, or all of it as it must be.
		condition = object("any", list(
			object("not", object("some", `"/**"`, "named", list(names...), "type", `"string"`)),
			object("every", `"/**"`, "named", list(names...), member, held)))
		ok = `["absent-passes"]`
	}
	w.list = append(w.list, object("id", quote(id), "tools", list(tools...), "require", condition, "say", quote(say), "ok", ok))
	w.firstCases(id, g)
}

// atPlaces holds each place of a group by its pointer. A list of words is held as
// one command.
func (g *group) atPlaces(member, held string) string {
	var parts, done []string
	for _, a := range g.tools[0].args {
		a.names = wholeList(a.names)
		p := a.pointer()
		if slices.Contains(done, p) {
			continue
		}
		done = append(done, p)
		test := object("arg", quote(p), member, held)
		if !a.needs {
			test = object("any", list(object("arg", quote(p), "present", "false"), test))
		}
		parts = append(parts, test)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return object("all", list(parts...))
}

// wholeList is the place of the list that an element is of.
func wholeList(names []string) []string {
	for len(names) > 1 && names[len(names)-1] == "#" {
		names = names[:len(names)-1]
	}
	return names
}

// globEscaped is a tool's name as a rule has it: its own signs are no glob's.
func globEscaped(name string) string {
	if !strings.ContainsAny(name, `*?[]{}\`) {
		return quote(name)
	}
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return quote(b.String())
}

// example is a value for an argument that passes, one that does not and one that
// cannot be judged, each with what it is.
func (w *drafter) examples(like likeness) (good, bad, unclear, is string) {
	root := strings.TrimSuffix(w.o.Workspace[0], "/")
	switch like {
	case likePath:
		return root + "/notes.txt", root + "-other/notes.txt", root + "/../notes.txt", "a path"
	case likeURL:
		return "https://example.org/a", "http://example.org/a", "https://user@example.org/a", "a URL"
	}
	return "ls -l", "rm -r x", "eval ls", "a command"
}

// firstCases are, for each tool of a group, a call that passes and one that does
// not; all else that the draft's rules look at in them passes.
func (w *drafter) firstCases(id string, g *group) {
	good, bad, unclear, is := w.examples(g.like)
	for i, t := range g.tools {
		with := func(value string) string { return w.call(t, g.like, value) }
		add := func(name, call, expect string) {
			w.cases = append(w.cases, draftCase{name: name, text: object("call", call, "expect", expect)})
		}
		add(fmt.Sprintf("%s: %s that may be", t.tool.Name, is), with(good), `"allowed"`)
		add(fmt.Sprintf("%s: %s that may not", t.tool.Name, is), with(bad), object("refused", quote(id)))
		if i == 0 {
			add(fmt.Sprintf("%s: %s that can be read in two ways", t.tool.Name, is), with(unclear), object("refused", quote(id), "code", `"cannot-judge"`))
		}
	}
}

// call is one of a tool with a value in its arguments of one likeness; what stands
// in the others is ordinary.
func (w *drafter) call(t *groupTool, of likeness, value string) string {
	args := empty()
	for like, all := range w.args(t.tool) {
		if like != of {
			ordinary, _, _, _ := w.examples(like)
			fill(args, all, like, ordinary)
		}
	}
	fill(args, t.args, of, value)
	return object("tool", quote(t.tool.Name), "arguments", args.String())
}

// fill puts a value into the arguments that must be there, and the first.
func fill(args *tree, all []argument, like likeness, value string) {
	for i := range all {
		a := &all[i]
		if !a.needs && i > 0 {
			continue
		}
		v := text(value)
		place := argument{names: a.names}
		if like == likeCommand && len(a.names) > 1 && a.names[len(a.names)-1] == "#" {
			place.names = wholeList(a.names)
			v = array()
			for _, word := range strings.Fields(value) {
				v.kids = append(v.kids, text(word))
			}
		}
		args.set(segmentsOf(&place), v)
	}
}

// args are a tool's arguments by what they hold, in an order of its own.
func (w *drafter) args(t *Tool) func(func(likeness, []argument) bool) {
	return func(yield func(likeness, []argument) bool) {
		for _, like := range []likeness{likePath, likeURL, likeCommand} {
			var all []argument
			for _, a := range w.arguments(t) {
				if likenessOf(t, &a) == like {
					all = append(all, a)
				}
			}
			if len(all) > 0 && !yield(like, all) {
				return
			}
		}
	}
}

// segmentsOf is the place of an argument.
func segmentsOf(a *argument) []rules.Segment {
	var out []rules.Segment
	for _, n := range a.names {
		if n == "#" {
			out = append(out, rules.Segment{Kind: rules.Element, Index: -1})
			continue
		}
		out = append(out, rules.Segment{Kind: rules.Name, Name: n, Index: -1})
	}
	return out
}

// noKeys is the rule of a server whose tools take nothing of the three kinds.
func (w *drafter) noKeys() {
	w.list = append(w.list, object("id", `"no-private-keys"`, "tools", `["*"]`,
		"refuse", object("some", `"/**"`, "contains", `["BEGIN PRIVATE KEY", "BEGIN OPENSSH PRIVATE KEY"]`, "fold", "true"),
		"say", `"Private keys are not passed to tools."`))
	tool := "a_tool"
	if len(w.server.Tools) > 0 {
		tool = w.server.Tools[0].Name
	}
	call := func(s string) string {
		return object("tool", quote(tool), "arguments", object("text", quote(s)))
	}
	w.cases = append(w.cases,
		draftCase{"an ordinary text", object("call", call("an ordinary text"), "expect", `"allowed"`)},
		draftCase{"a private key", object("call", call("-----BEGIN PRIVATE KEY-----"), "expect", `{"refused": "no-private-keys"}`)})
}

// add takes in a case that was found, under a name of its own.
func (w *drafter) add(found, name string) {
	doc, err := ijson.Parse([]byte(found), ijson.Options{Depth: maxDepth})
	if err != nil {
		return
	}
	v := doc.Root()
	text := object("call", raw(v.Member("call")), "expect", raw(v.Member("expect")), "unruled", raw(v.Member("unruled")))
	if slices.ContainsFunc(w.cases, func(c draftCase) bool { return c.text == text }) {
		return
	}
	w.cases = append(w.cases, draftCase{name, text})
}

func (w *drafter) rulesText() ([]byte, error) {
	lists := ""
	all := list(w.list...)
	if strings.Contains(all, `"@workspace"`) {
		var roots []string
		for _, r := range w.o.Workspace {
			roots = append(roots, quote(r))
		}
		lists = object("workspace", list(roots...))
	}
	src := object("format", quote(rules.Version), "name", quote(w.o.Name), "about", `"Drafted from the tools of a server: read it, and change it to what you mean."`,
		"lists", lists, "rules", all)
	out, problems := rules.Format(w.o.RulesFile, []byte(src))
	return out, problems.Err()
}

// testsText is the test file, each case on a few lines.
func (w *drafter) testsText() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"format\": %s,\n  \"rules\": %s,\n", quote(Format), quote(w.o.RulesFile))
	if w.o.ToolsFile != "" {
		fmt.Fprintf(&b, "  \"tools\": %s,\n", quote(w.o.ToolsFile))
	}
	b.WriteString("  \"cases\": [")
	used := map[string]bool{}
	for i, c := range w.cases {
		name := c.name
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s (%d)", c.name, n)
		}
		used[name] = true
		doc, err := ijson.Parse([]byte(c.text), ijson.Options{Depth: maxDepth})
		if err != nil {
			continue // a case is made of text that was read
		}
		v := doc.Root()
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    { \"name\": %s,\n      \"call\": %s,\n      \"expect\": %s", quote(name), raw(v.Member("call")), raw(v.Member("expect")))
		if v.Member("unruled").Exists() {
			b.WriteString(",\n      \"unruled\": true")
		}
		b.WriteString(" }")
	}
	b.WriteString("\n  ]\n}\n")
	return []byte(b.String())
}

// verbs are words of tools' names and the shared action they stand for, the ones
// that matter more first.
var verbs = []struct {
	action string
	words  []string
}{
	{"provared.code.run", []string{"run", "exec", "execute", "eval", "evaluate", "command", "shell", "script"}},
	{"provared.code.release", []string{"deploy", "release"}},
	{"provared.account.sign-in", []string{"login", "signin", "authenticate"}},
	{"provared.access.grant", []string{"grant", "share", "invite"}},
	{"provared.access.remove", []string{"revoke", "unshare"}},
	{"provared.data.delete", []string{"delete", "remove", "drop", "purge", "clear", "clean", "prune", "destroy", "wipe", "reset", "truncate"}},
	{"provared.message.send", []string{"send", "reply", "notify", "email", "comment"}},
	{"provared.post.publish", []string{"publish", "tweet"}},
	{"provared.form.submit", []string{"submit", "fill"}},
	{"provared.data.export", []string{"push", "upload", "export", "drop"}},
	{"provared.system.configure", []string{"configure", "config", "install", "set"}},
	{"provared.data.search", []string{"search", "find", "query", "grep"}},
	{"provared.web.read", []string{"navigate", "browse", "fetch", "crawl", "scrape"}},
	{"provared.data.read", []string{"read", "get", "list", "show", "view", "retrieve", "describe", "status", "log", "diff", "blame", "open", "tree", "info", "count"}},
	{"provared.data.create", []string{"create", "add", "new", "insert", "append", "init", "clone", "mkdir", "post"}},
	{"provared.data.change", []string{"write", "edit", "update", "change", "modify", "patch", "move", "rename", "copy", "commit", "merge", "rebase", "checkout", "type", "click", "press", "drag", "select"}},
}

// actionOf is the shared action that a tool seems to be. A tool that says it only
// reads is one that reads, unless it runs what it is given; one nobody knows is
// taken for the worst its annotations let it be.
func actionOf(t *Tool) string {
	w := words(t.Name)
	action := ""
	for _, v := range verbs {
		if slices.ContainsFunc(w, func(s string) bool { return slices.Contains(v.words, s) }) {
			action = v.action
			break
		}
	}
	switch action {
	case "provared.code.run":
		return action
	case "provared.data.read", "provared.data.search", "provared.web.read":
		if t.Annotations.Member("readOnlyHint").Kind() == ijson.False && t.Annotations.Member("destructiveHint").Bool() && action != "provared.web.read" {
			return "provared.data.change"
		}
		return action
	}
	switch {
	case t.Annotations.Member("readOnlyHint").Bool():
		return "provared.data.read"
	case action != "":
		return action
	case t.Annotations.Member("destructiveHint").Bool():
		return "provared.data.delete"
	}
	return "provared.data.change"
}
