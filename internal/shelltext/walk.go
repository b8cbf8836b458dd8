package shelltext

import (
	"mvdan.cc/sh/v3/syntax"
)

// stmts walks a list of statements.
func (l *look) stmts(stmts []*syntax.Stmt, last []syntax.Comment) {
	l.nest++
	if l.nest > MaxNesting {
		l.cannot("nesting over 100 deep")
	}
	for _, s := range stmts {
		if l.stopped() {
			break
		}
		l.stmt(s)
	}
	l.comments(last)
	l.nest--
}

func (l *look) comments(comments []syntax.Comment) {
	for i := range comments {
		l.steps++
		if why := l.at.comment(&comments[i]); why != "" {
			l.cannot(why)
		}
	}
}

// stmt walks one statement. Pipelines and lists lean to the left, as long as
// they are, so that side is a loop.
func (l *look) stmt(s *syntax.Stmt) {
	l.nest++
	defer func() { l.nest-- }()
	if l.nest > MaxNesting {
		l.cannot("nesting over 100 deep")
		return
	}
	piped := l.piped
	l.piped = false
	for !l.stopped() {
		l.steps++
		if s.Coprocess || s.Disown {
			l.cannot("a statement ended in a way of other shells")
			return
		}
		l.comments(s.Comments)
		for _, r := range s.Redirs {
			l.redirect(r)
		}
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			l.command(s, piped)
			return
		}
		piped = false
		switch b.Op {
		case syntax.AndStmt, syntax.OrStmt, syntax.Pipe:
		case syntax.PipeAll:
			if l.at.dialect == posix {
				l.cannot("|&")
			}
			if l.j.redirects == redirectNone {
				l.fail("a redirection")
			}
		default:
			l.cannot("an operator of an unknown kind")
		}
		l.piped = b.Op == syntax.Pipe || b.Op == syntax.PipeAll
		l.stmt(b.Y)
		s = b.X
	}
}

// command walks what a statement runs; piped says that a | stands before it.
func (l *look) command(s *syntax.Stmt, piped bool) {
	switch c := s.Cmd.(type) {
	case nil:
		if len(s.Redirs) == 0 {
			l.cannot("an empty statement")
		}
		l.alone(s)
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			l.alone(s)
		}
		l.call(c)
	case *syntax.Block:
		l.stmts(c.Stmts, c.Last)
	case *syntax.Subshell:
		if at := int(c.Lparen.Offset()) + 1; l.at.dialect == posix && at < len(l.at.src) && l.at.src[at] == '(' {
			l.cannot("((")
		}
		l.stmts(c.Stmts, c.Last)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			l.stmts(c.Cond, c.CondLast)
			l.stmts(c.Then, c.ThenLast)
			l.comments(c.Last)
		}
	case *syntax.WhileClause:
		l.stmts(c.Cond, c.CondLast)
		l.stmts(c.Do, c.DoLast)
	case *syntax.ForClause:
		l.loop(c)
	case *syntax.CaseClause:
		l.cases(c)
	case *syntax.FuncDecl:
		l.function(c)
	case *syntax.ArithmCmd:
		if l.at.dialect == posix {
			l.cannot("((")
		}
		if c.Unsigned || c.X == nil || !l.numbers(c.X) {
			l.cannot("arithmetic on more than numbers")
		}
	case *syntax.TestClause:
		l.testClause(c)
	case *syntax.DeclClause:
		l.declClause(c)
	case *syntax.TimeClause:
		l.timeClause(c, piped)
	case *syntax.CoprocClause:
		l.coproc(c)
	case *syntax.LetClause:
		// Its words are read as arithmetic by the parser and as words, with
		// their & and >, by the shell.
		l.cannot("let")
	default:
		l.cannot("a statement of an unknown kind")
	}
}

// alone judges redirections, and perhaps assignments, without a program.
func (l *look) alone(s *syntax.Stmt) {
	if l.at.dialect == zsh && len(s.Redirs) > 0 {
		l.cannot("redirections alone, for which zsh runs a program")
	}
	l.simple()
}

// simple counts one simple command.
func (l *look) simple() {
	l.steps++
	l.commands++
	if l.at != nil {
		l.at.commands++
	}
	if l.commands > MaxCommands {
		l.cannot("more than 1,024 simple commands")
	}
}

// call walks a simple command: assignments, and the words behind them.
func (l *look) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		l.assign(a)
	}
	if len(c.Args) == 0 {
		return
	}
	words := make([]word, 0, len(c.Args))
	for _, w := range c.Args {
		words = append(words, l.word(w))
		if l.stopped() {
			return
		}
	}
	l.run(words, behind{shell: true})
}

func (l *look) loop(c *syntax.ForClause) {
	if c.Braces {
		l.cannot("a loop in braces")
	}
	if c.Select && l.at.dialect == posix {
		l.cannot("select")
	}
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		if !validName(loop.Name.Value) {
			l.cannot("a loop over what is no name")
			return
		}
		l.variable(loop.Name.Value, false)
		for _, w := range loop.Items {
			l.word(w)
		}
	case *syntax.CStyleLoop:
		if l.at.dialect == posix {
			l.cannot("((")
		}
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			if x != nil && !l.numbers(x) {
				l.cannot("arithmetic on more than numbers")
			}
		}
	default:
		l.cannot("a loop of an unknown kind")
	}
	l.stmts(c.Do, c.DoLast)
}

func (l *look) cases(c *syntax.CaseClause) {
	if c.Braces {
		l.cannot("a case in braces")
	}
	l.word(c.Word)
	for _, item := range c.Items {
		l.steps++
		switch item.Op {
		case syntax.Break:
		case syntax.Fallthrough, syntax.Resume:
			if l.at.dialect == posix {
				l.cannot("a case that falls through")
			}
		default:
			l.cannot("an operator of an unknown kind")
		}
		l.comments(item.Comments)
		for _, w := range item.Patterns {
			l.word(w)
		}
		l.stmts(item.Stmts, item.Last)
		if l.stopped() {
			return
		}
	}
	l.comments(c.Last)
}

// function walks a declaration. Its body is judged where it stands; a call of
// it is judged by its name, as any program. A name that the judge takes for
// more than a program must keep its meaning.
func (l *look) function(c *syntax.FuncDecl) {
	if c.Name == nil || len(c.Names) > 0 || !validName(c.Name.Value) || c.RsrvWord && l.at.dialect == posix {
		l.cannot("a function without a plain name")
		return
	}
	if isWrapper(c.Name.Value) || ownMeaning(c.Name.Value) {
		l.cannot("a function in the place of a builtin or a wrapper")
		return
	}
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		l.stmt(c.Body)
	default:
		l.cannot("a function whose body is no compound command")
	}
}

// timeClause walks bash's keyword time, which is the wrapper of that name. Behind
// a | it is the program to bash, and to zsh in more places: there it must stand
// before plain words, which mean the same to both.
func (l *look) timeClause(c *syntax.TimeClause, piped bool) {
	if l.at.dialect == posix || c.Stmt == nil {
		l.cannot("time with nothing behind it")
		return
	}
	words := []word{literal("time")}
	if c.PosixFormat {
		words = append(words, literal("-p"))
	}
	// The words behind it are those of the first command it times.
	first := c.Stmt
	for {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		first = b.X
	}
	inner, ok := first.Cmd.(*syntax.CallExpr)
	ok = ok && len(inner.Assigns) == 0 && len(inner.Args) > 0
	if !ok && (piped || l.j.hasArgv || l.at.dialect == zsh) {
		l.cannot("time before what is no plain command")
		return
	}
	if ok {
		for _, w := range inner.Args {
			words = append(words, l.word(w))
		}
		if first := words[len(words)-len(inner.Args)]; isDeclaration(first.text) && (piped || l.at.dialect == zsh) {
			l.cannot("a builtin behind a wrapper")
			return
		}
	}
	l.simple()
	l.listed(words, false)
	l.stmt(c.Stmt)
}

func (l *look) coproc(c *syntax.CoprocClause) {
	if l.at.dialect != bash || c.Name != nil || c.Stmt == nil {
		l.cannot("a coprocess with a name")
		return
	}
	if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) > 0 {
		l.cannot("a coprocess with an assignment")
		return
	}
	l.stmt(c.Stmt)
}
