package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect judges one redirection.
func (l *look) redirect(r *syntax.Redirect) {
	l.steps++
	if r.N != nil && !l.descriptor(r.N) {
		return
	}
	isPosix := l.at.dialect == posix
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		l.heredoc(r)
		return
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.RdrClob, syntax.DplIn, syntax.DplOut:
	case syntax.WordHdoc, syntax.RdrAll, syntax.AppAll:
		if isPosix {
			l.cannot("<<<, &> or &>>")
			return
		}
	default:
		l.cannot("a redirection of an unknown kind")
		return
	}
	w := l.word(r.Word)
	if w.blank {
		l.cannot("a redirection to a name that may be read as two words")
	}
	descriptor := w.plain && (w.text == "-" || digits(w.text))
	dup := r.Op == syntax.DplIn || r.Op == syntax.DplOut
	if dup && isPosix && !(descriptor && len(w.text) == 1) {
		l.cannot(">& to more than a descriptor")
	}
	if dup && strings.HasPrefix(w.text, "-") && !(w.plain && w.text == "-") {
		// bash takes the - alone, and goes on with a word behind it.
		l.cannot(">&- with more behind it")
	}
	switch l.j.redirects {
	case redirectAny:
		return
	case redirectFds:
		if dup && descriptor || r.Op != syntax.WordHdoc && w.plain && w.text == "/dev/null" {
			return
		}
	}
	l.fail("a redirection")
}

// descriptor judges what stands before the < or >, and says whether to look on.
func (l *look) descriptor(n *syntax.Lit) bool {
	name, ok := strings.CutPrefix(n.Value, "{")
	if !ok {
		// dash and zsh take one digit alone, and more for an argument.
		if !digits(n.Value) || len(n.Value) > 1 && l.at.dialect != bash || len(n.Value) > 3 {
			l.cannot("a descriptor of several digits")
			return false
		}
		return true
	}
	name, ok = strings.CutSuffix(name, "}")
	if !ok || !validName(name) || l.at.dialect == posix {
		l.cannot("a descriptor that is no number")
		return false
	}
	l.variable(name, true)
	return true
}

// heredoc judges a here-document; its place is looked at in settle.
func (l *look) heredoc(r *syntax.Redirect) {
	if l.at.inside > 0 {
		l.cannot("a here-document in a substitution")
		return
	}
	l.at.heredocs = append(l.at.heredocs, r)
	if l.j.redirects != redirectAny {
		l.fail("a redirection")
	}
	if r.Hdoc == nil {
		return // settle says so
	}
	l.at.cover(r.Hdoc.Pos(), r.Hdoc.End())
	_, quoted, _ := delimiter(l.at.slice(r.Word.Pos(), r.Word.End()))
	if quoted {
		l.at.asis(r.Hdoc.Pos(), r.Hdoc.End())
		return
	}
	for i, part := range r.Hdoc.Parts {
		l.steps++
		switch part := part.(type) {
		case *syntax.Lit:
			if part.Value == "$" && i+1 < len(r.Hdoc.Parts) && !blankFirst(r.Hdoc.Parts[i+1]) {
				l.cannot("a $ that may or may not begin an expansion")
			}
		case *syntax.ParamExp:
			if part.Param == nil || part.Exp != nil || part.Slice != nil || part.Repl != nil || part.Index != nil ||
				part.Excl || part.Length || part.Names != 0 {
				l.cannot("an expansion in a here-document")
				return
			}
			l.param(part, true)
		default:
			// bash ends the body at its line, whatever is open in it.
			l.cannot("a substitution in a here-document")
		}
	}
}
