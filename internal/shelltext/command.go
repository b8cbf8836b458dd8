package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// behind says what stands before the words of a program.
type behind struct {
	shell   bool // a shell looks the program up: builtins and keywords count
	wrapped bool // a wrapper does
	tail    bool // xargs appends words that are not seen
}

// run judges one program with its words.
func (l *look) run(words []word, b behind) {
	l.simple()
	program := words[0]
	switch {
	case !program.settled():
		l.cannot("a program word that is not plain")
		return
	case program.text == "":
		l.cannot("an empty program word")
		return
	}
	name := program.text
	if b.wrapped && (name[0] == '-' || strings.Contains(name, "=")) {
		l.cannot("a wrapper with an option that is not known")
		return
	}
	named := !strings.Contains(name, "/")
	if named {
		if evaluates(name) || l.at != nil && foreign(name, l.at.dialect) {
			l.cannot("a builtin or keyword that evaluates text or changes how it is read")
			return
		}
		if isDeclaration(name) && l.at != nil {
			if b.shell {
				l.declaration(name, words[1:])
				return
			}
			l.cannot("a builtin behind a wrapper")
			return
		}
	}
	l.listed(words, b.tail)
	if l.stopped() {
		return
	}
	if named && l.at != nil {
		l.builtin(name, words[1:])
	}
	if otherShell(base(name)) {
		l.cannot("a shell that is not followed")
	}
	if l.j.follow && !l.stopped() {
		l.follow(base(name), words, b)
	}
}

// listed holds the words of a program against programs and argv.
func (l *look) listed(words []word, tail bool) {
	l.steps++
	if l.heard != nil {
		l.heard(words, tail)
	}
	if !l.j.programs[words[0].text] {
		l.fail("a program that is not listed")
	}
	if !l.j.hasArgv {
		if tail {
			l.cannot("words appended by xargs, with no pattern for them")
		}
		return
	}
	loose := tail
	for _, w := range words {
		if !w.plain && !w.loose {
			l.cannot("a word that is not plain, with patterns to compare")
			return
		}
		loose = loose || w.loose
	}
	for i := range l.j.argv {
		if l.fits(&l.j.argv[i], words, tail) {
			return
		}
	}
	if loose {
		l.cannot("words put in by xargs or find, with no pattern that takes any")
		return
	}
	l.fail("arguments that no pattern matches")
}

// fits says whether the words, and any that xargs appends, match the pattern.
func (l *look) fits(p *pattern, words []word, tail bool) bool {
	l.steps++
	n := len(p.items)
	if len(words) < n || !p.rest && (tail || len(words) != n) {
		return false
	}
	for i, item := range p.items {
		l.steps++
		if words[i].loose || !item.Match(words[i].text) {
			return false
		}
	}
	return true
}

// variable judges that something sets the variable. assigned is false where it
// is a loop or a builtin that does.
func (l *look) variable(name string, assigned bool) {
	l.steps++
	if name == "HOME" {
		l.home = true
	}
	if name == "LANG" || strings.HasPrefix(name, "LC_") {
		l.locale = true
	}
	d := posix
	if l.at != nil {
		d = l.at.dialect
	}
	switch nameStanding(name, d) {
	case evaluated:
		l.cannot("a variable whose value a shell evaluates")
		return
	case guarded:
		assigned = true
	}
	if assigned && !l.j.assignments {
		l.fail("an assignment")
	}
}

// assign judges one assignment before a command or alone.
func (l *look) assign(a *syntax.Assign) {
	l.steps++
	if a.Naked || a.Name == nil || !validName(a.Name.Value) {
		l.cannot("an assignment of an unknown kind")
		return
	}
	l.at.cover(a.Pos(), a.End())
	l.variable(a.Name.Value, true)
	l.assigned(a)
}

// assigned reads the index and the value of an assignment; the value as far as
// it is known, plain if there is none.
func (l *look) assigned(a *syntax.Assign) word {
	l.subscript(a.Index)
	value := word{plain: true}
	if a.Value != nil {
		value = l.value(a.Value)
	}
	if value.blank {
		l.cannot("an assignment of what may be read as two words")
	}
	l.arrays = l.arrays || a.Index != nil || a.Array != nil
	if a.Array == nil {
		return value
	}
	if l.at.dialect == posix {
		l.cannot("an array")
		return value
	}
	for _, e := range a.Array.Elems {
		l.steps++
		l.comments(e.Comments)
		l.subscript(e.Index)
		if e.Value != nil {
			l.word(e.Value)
		}
		if l.stopped() {
			return value
		}
	}
	l.comments(a.Array.Last)
	return value
}

// isDeclaration knows the builtins that are assignments and need no entry among
// the programs.
func isDeclaration(name string) bool {
	switch name {
	case "export", "declare", "local", "readonly", "typeset":
		return true
	}
	return false
}

// declares says whether the options of a declaration only mark or show. Those
// for integers and references have later values evaluated.
func declares(option string) bool {
	if len(option) < 2 || option[0] != '-' && option[0] != '+' {
		return false
	}
	return strings.Trim(option[1:], "xrgplutfFaA") == ""
}

// declaredValue looks at the value of a declaration, as far as it is known.
// bash evaluates one in brackets as an array where -a or -A stands before it, or
// the variable is an array already.
func (l *look) declaredValue(builtin, known string, plain bool) {
	if strings.HasPrefix(known, "(") {
		l.cannot("a declaration whose value is evaluated as an array")
	}
	if !plain && known == "" && builtin != "export" {
		l.unseen = true
	}
}

// declClause walks export and its like as the parser of bash knows them.
func (l *look) declClause(c *syntax.DeclClause) {
	l.simple()
	if l.at.dialect == posix || !isDeclaration(c.Variant.Value) {
		l.cannot("a declaration of an unknown kind")
		return
	}
	if !l.j.assignments {
		l.fail("an assignment")
	}
	if strings.Contains(l.at.slice(c.Variant.Pos(), c.End()), "[") {
		l.cannot("a [ in the arguments of a builtin that evaluates subscripts")
		return
	}
	for _, a := range c.Args {
		l.steps++
		switch {
		case a.Naked && a.Name == nil:
			if a.Value == nil {
				l.cannot("a declaration of an unknown kind")
				return
			}
			l.declared(c.Variant.Value, l.word(a.Value))
		case a.Name == nil || !validName(a.Name.Value):
			l.cannot("a declaration of an unknown kind")
			return
		default:
			l.at.cover(a.Pos(), a.End())
			l.variable(a.Name.Value, true)
			value := l.assigned(a)
			l.declaredValue(c.Variant.Value, value.text, value.plain)
		}
		if l.stopped() {
			return
		}
	}
}

// declaration judges the same as plain words: all of posix, and of bash what is
// spelt in another way, as \export.
func (l *look) declaration(name string, words []word) {
	if name == "declare" || name == "typeset" {
		if l.at.dialect == posix {
			l.cannot("declare or typeset")
			return
		}
	}
	if !l.j.assignments {
		l.fail("an assignment")
	}
	for _, w := range words {
		l.steps++
		if !w.one && !w.plain {
			// Some shells split it, and then it declares more.
			l.cannot("a declaration that may be several; quote its value")
			return
		}
		l.declared(name, w)
	}
}

// declared judges one word of a declaration: an option, a name, or a name and a
// value of which the name is known.
func (l *look) declared(builtin string, w word) {
	if w.bracket {
		l.cannot("a [ in the arguments of a builtin that evaluates subscripts")
		return
	}
	if w.plain && declares(w.text) {
		if strings.ContainsAny(w.text, "aA") {
			l.arrays = true
			if l.at.dialect == posix {
				l.cannot("an array")
			}
		}
		return
	}
	name, value, given := strings.Cut(w.text, "=")
	name = strings.TrimSuffix(name, "+")
	if !given && !w.plain || !validName(name) {
		l.cannot("a declaration of what is no plain name")
		return
	}
	if w.blank {
		l.cannot("an assignment of what may be read as two words")
	}
	l.variable(name, true)
	l.declaredValue(builtin, value, w.plain || !given)
}
