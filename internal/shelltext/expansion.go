package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param reads a parameter expansion: whether it is surely one word, and whether
// it is surely digits.
func (l *look) param(p *syntax.ParamExp, quoted bool) (one, number bool) {
	if p.Param == nil || p.Flags != nil || p.Width || p.IsSet || p.NestedParam != nil || p.Modifiers != nil ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset {
		l.cannot("an expansion of an unknown kind")
		return false, false
	}
	name := p.Param.Value
	if p.Short {
		if p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
			l.cannot("an expansion of an unknown kind")
		}
		if at := int(p.End().Offset()); l.at.dialect == zsh && at < len(l.at.src) && l.at.src[at] == '[' {
			l.cannot("a subscript")
		}
		switch name {
		case "?", "#", "$", "!":
			return true, true
		}
		return quoted && name != "@", false
	}
	inner := l.at.slice(p.Dollar, p.Rbrace)
	special := !validName(name) && !digits(name)
	if special && name != "@" && name != "*" && (p.Length || p.Exp != nil || p.Slice != nil || p.Repl != nil) {
		l.cannot("an expansion of a special parameter that shells read differently")
		return false, false
	}
	if p.Excl && p.Names == 0 {
		l.cannot("${!…}, which evaluates the name")
		return false, false
	}
	l.subscript(p.Index)
	if s := p.Slice; s != nil && (s.Offset != nil && !l.numbers(s.Offset) || s.Length != nil && !l.numbers(s.Length)) {
		l.cannot("arithmetic on more than numbers")
	}
	if p.Repl != nil {
		l.inner(p.Repl.Orig, inner, quoted)
		l.inner(p.Repl.With, inner, quoted)
	}
	if p.Exp != nil {
		l.expansion(p, inner, quoted)
	}
	if p.Length {
		return true, true
	}
	return quoted && !strings.Contains(inner, "@"), false
}

// expansion reads the operator of ${name…word} and its word.
func (l *look) expansion(p *syntax.ParamExp, inner string, quoted bool) {
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
		syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !validName(p.Param.Value) {
			l.cannot("an assignment to what is no variable")
			return
		}
		l.variable(p.Param.Value, true)
	case syntax.OtherParamOps:
		// @P expands the value as a prompt, and so runs what is in it.
		switch p.Exp.Word.Lit() {
		case "Q", "U", "u", "L", "E":
			return
		}
		l.cannot("${x@P} or another transformation of its kind")
		return
	default:
		l.cannot("an expansion of an unknown kind")
		return
	}
	l.inner(p.Exp.Word, inner, quoted)
}

// inner reads a word inside ${…}, given all the source between its braces. In
// there shells part over quotes, escapes and braces, so it holds none: but for
// quotes around tame text where the expansion itself is not quoted.
func (l *look) inner(w *syntax.Word, source string, quoted bool) {
	if w == nil {
		return
	}
	l.nest++
	defer func() { l.nest-- }()
	if l.nest > MaxNesting {
		l.cannot("nesting over 100 deep")
		return
	}
	quotes := !quoted && !strings.Contains(source, "$(")
	for i := 2; i < len(source); i++ { // behind the ${
		switch c := source[i]; c {
		case '\\', '`', '\n':
			l.cannot("a quote, escape or line break inside ${…}")
			return
		case '\'', '"':
			if !quotes {
				l.cannot("a quote inside a quoted expansion")
				return
			}
		case '{':
			if source[i-1] != '$' {
				l.cannot("a brace inside ${…}")
				return
			}
		}
	}
	if strings.Count(source[2:], "{") != strings.Count(source[2:], "}") {
		l.cannot("a brace inside ${…}")
		return
	}
	for _, part := range w.Parts {
		l.steps++
		switch part := part.(type) {
		case *syntax.Lit:
			if part.Value == "$" {
				l.cannot("a $ that may or may not begin an expansion")
			}
		case *syntax.ParamExp:
			l.param(part, quoted)
		case *syntax.CmdSubst:
			l.cmdSubst(part, quoted)
		case *syntax.ArithmExp:
			if part.Bracket || part.Unsigned || part.X == nil || !l.numbers(part.X) {
				l.cannot("arithmetic on more than numbers")
			}
		case *syntax.SglQuoted:
			if quoted || part.Dollar || strings.ContainsAny(part.Value, "{}'\"$") {
				l.cannot("a quote inside ${…}")
			}
		case *syntax.DblQuoted:
			if quoted || part.Dollar || len(part.Parts) != 1 {
				l.cannot("a quote inside ${…}")
				break
			}
			if lit, ok := part.Parts[0].(*syntax.Lit); !ok || strings.ContainsAny(lit.Value, "{}'\"$") {
				l.cannot("a quote inside ${…}")
			}
		default:
			l.cannot("a part of a word of an unknown kind")
		}
		if l.stopped() {
			return
		}
	}
}

// cmdSubst reads $(…) and `…`.
func (l *look) cmdSubst(c *syntax.CmdSubst, quoted bool) {
	if c.TempFile || c.ReplyVar {
		l.cannot("${ …; }")
		return
	}
	if c.Backquotes {
		// Shells look for the second backquote before they look for quotes.
		inside := l.at.slice(c.Left, c.Right)
		if inside == "" || strings.ContainsAny(inside[1:], "\\`") || quoted && strings.Contains(inside, `"`) {
			l.cannot("backquotes with an escape, a backquote or a quote inside")
			return
		}
	}
	l.substitution(c.Stmts, c.Last)
}

// substitution judges what runs inside a substitution.
func (l *look) substitution(stmts []*syntax.Stmt, last []syntax.Comment) {
	if !l.j.substitutions {
		l.fail("a substitution")
	}
	l.at.inside++
	l.stmts(stmts, last)
	l.at.inside--
}

// subscript reads the index of an array.
func (l *look) subscript(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	if l.at.dialect == zsh {
		l.cannot("a subscript")
		return
	}
	if w, ok := x.(*syntax.Word); ok && len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && (lit.Value == "@" || lit.Value == "*") {
			return
		}
	}
	if !l.numbers(x) {
		l.cannot("a subscript that is more than numbers")
	}
}

// numbers says whether an arithmetic expression is made of numbers and
// operators alone. A name in it would be evaluated, and its value, and so on.
func (l *look) numbers(x syntax.ArithmExpr) bool {
	l.steps++
	l.nest++
	defer func() { l.nest-- }()
	if l.nest > MaxNesting {
		return false
	}
	switch x := x.(type) {
	case *syntax.Word:
		if len(x.Parts) != 1 {
			return false
		}
		lit, ok := x.Parts[0].(*syntax.Lit)
		return ok && number(lit.Value)
	case *syntax.ParenArithm:
		return x.X != nil && l.numbers(x.X)
	case *syntax.UnaryArithm:
		switch x.Op {
		case syntax.Not, syntax.BitNegation, syntax.Plus, syntax.Minus:
			return !x.Post && x.X != nil && l.numbers(x.X)
		}
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Pow,
			syntax.Eql, syntax.Neq, syntax.Gtr, syntax.Lss, syntax.Leq, syntax.Geq,
			syntax.And, syntax.Or, syntax.Xor, syntax.Shl, syntax.Shr,
			syntax.AndArit, syntax.OrArit, syntax.Comma, syntax.TernQuest, syntax.TernColon:
			return x.X != nil && x.Y != nil && l.numbers(x.X) && l.numbers(x.Y)
		}
	}
	return false
}

// number says whether the text is a number in every shell's arithmetic.
func number(s string) bool {
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		return hex != "" && strings.Trim(hex, "0123456789abcdef") == ""
	}
	return digits(s)
}
