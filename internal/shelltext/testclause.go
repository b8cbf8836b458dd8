package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// testClause walks [[ … ]]. The parser has a state of its own for it, in which
// it looks for comments and line breaks less than bash does.
func (l *look) testClause(c *syntax.TestClause) {
	if l.at.dialect == posix {
		l.cannot("[[")
		return
	}
	if strings.Contains(l.at.slice(c.Left, c.Right), "\n") {
		l.cannot("[[ over several lines")
		return
	}
	l.testExpr(c.X)
}

func (l *look) testExpr(x syntax.TestExpr) {
	l.steps++
	l.nest++
	defer func() { l.nest-- }()
	if l.nest > MaxNesting {
		l.cannot("nesting over 100 deep")
		return
	}
	switch x := x.(type) {
	case *syntax.Word:
		l.word(x)
	case *syntax.ParenTest:
		l.testExpr(x.X)
	case *syntax.UnaryTest:
		l.unaryTest(x)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest,
			syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch, syntax.TsBefore, syntax.TsAfter,
			syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			l.testExpr(x.X)
			l.testExpr(x.Y)
		case syntax.TsReMatch:
			l.testExpr(x.X)
			l.regexp(x.Y)
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			l.arithmeticTest(x.X)
			l.arithmeticTest(x.Y)
		default:
			l.cannot("an operator of an unknown kind")
		}
	default:
		l.cannot("a test of an unknown kind")
	}
}

func (l *look) unaryTest(x *syntax.UnaryTest) {
	switch x.Op {
	case syntax.TsNot:
	case syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsCharSp, syntax.TsBlckSp, syntax.TsNmPipe,
		syntax.TsSocket, syntax.TsSmbLink, syntax.TsSticky, syntax.TsGIDSet, syntax.TsUIDSet, syntax.TsGrpOwn,
		syntax.TsUsrOwn, syntax.TsModif, syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty,
		syntax.TsFdTerm, syntax.TsEmpStr, syntax.TsNempStr, syntax.TsOptSet:
	case syntax.TsVarSet, syntax.TsRefVar:
		w, ok := x.X.(*syntax.Word)
		if !ok {
			l.cannot("[[ -v of what is no word")
			return
		}
		if name := l.word(w); !name.plain || name.bracket {
			l.cannot("[[ -v of more than a name")
		}
		return
	default:
		l.cannot("an operator of an unknown kind")
	}
	l.testExpr(x.X)
}

// arithmeticTest reads a side of [[ … -eq … ]], which is evaluated.
func (l *look) arithmeticTest(x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if ok {
		text := l.word(w)
		ok = text.number && text.text == "" || text.plain && number(strings.TrimPrefix(text.text, "-"))
	}
	if !ok {
		l.cannot("arithmetic on more than numbers")
	}
}

// regexp reads the right side of =~. How far its token goes depends on its
// brackets, so it holds nothing that ends a word.
func (l *look) regexp(x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if !ok {
		l.cannot("a pattern that is no word")
		return
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, " \t\n;&<>#'\"`\\|()") {
			l.cannot("a pattern with brackets or blanks")
			return
		}
	}
	l.word(w)
}
