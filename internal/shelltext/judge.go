package shelltext

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"countersign/internal/verdict"
)

// Bounds of one judgement. Past one the command cannot be judged.
const (
	// MaxCommands is how many simple commands one judgement looks at; with
	// MaxPatterns it bounds the comparisons.
	MaxCommands = 1024
	// MaxFollow is how many wrappers and inner texts may stand behind one
	// another. Each level compares the rest of the words again, so a long
	// chain would cost the square of its length.
	MaxFollow = 8
	// MaxNesting is how deep the tree of a text may be walked, which bounds the
	// walk's own stack.
	MaxNesting = 100
	// MaxWords and MaxListBytes bound a list of strings. No shell reads it, so it
	// may be longer than a text: what Linux takes as one argument.
	MaxWords     = 4096
	MaxListBytes = 128 << 10
)

// Finding is a result with its reason and its cost.
type Finding struct {
	Result verdict.Result
	// Why says in a few words what decided, never holding anything of the
	// command; "" when the command holds.
	Why string
	// Steps is how much was looked at: about one for each node of the tree, each
	// word compared with a pattern and each 64 bytes parsed. See MaxSteps.
	Steps int
}

// Judge judges a text that a shell will run. The reason never holds anything of
// the text.
func (j *Judge) Judge(text string) (verdict.Result, string) {
	f := j.Weigh(text)
	return f.Result, f.Why
}

// JudgeArgv judges a list of strings, the program first, that is run without a
// shell.
func (j *Judge) JudgeArgv(words []string) (verdict.Result, string) {
	f := j.WeighArgv(words)
	return f.Result, f.Why
}

// Weigh is Judge with the steps it took.
func (j *Judge) Weigh(text string) Finding {
	l := look{j: j}
	l.text(text, j.dialect)
	return l.finding()
}

// WeighArgv is JudgeArgv with the steps it took.
func (j *Judge) WeighArgv(words []string) Finding {
	l := look{j: j}
	l.list(words)
	return l.finding()
}

// MaxSteps is the most steps that judging n bytes can take, over all texts and
// lists of that size: what a budget has to allow for.
func (j *Judge) MaxSteps(n int) int {
	n = min(n, MaxText)
	items := 0
	for _, p := range j.argv {
		items += len(p.items) + 1
	}
	// Every byte gives at most a few nodes, at each of the levels followed.
	// Every command is compared with each pattern once.
	commands := min(n+1, MaxCommands)
	return (MaxFollow+1)*8*(n+1) + commands*(items+4)
}

// look is one judgement under way.
type look struct {
	j        *Judge
	at       *script // the text being walked; nil in a list of strings
	why      string  // why it cannot be judged
	failed   string  // why it does not hold
	steps    int
	commands int
	depth    int // wrappers and texts we are behind
	nest     int // nodes of the tree we are inside

	// What only together cannot be judged.
	home, zsh    bool // HOME is set, and a zsh starts, which reads a file there
	locale, wide bool // the locale is set, and a text holds more than ASCII
	arrays       bool // some variable is made an array,
	unseen       bool // and some variable is declared with a value that is not seen

	heard func(words []word, tail bool) // each program judged; for tests
}

// cannot notes that the command cannot be judged. The first reason stays.
func (l *look) cannot(why string) {
	if l.why == "" {
		l.why = why
	}
}

// fail notes that the command does not hold, unless it cannot be judged.
func (l *look) fail(why string) {
	if l.failed == "" {
		l.failed = why
	}
}

// stopped says that looking on can change nothing.
func (l *look) stopped() bool { return l.why != "" }

func (l *look) finding() Finding {
	if l.home && l.zsh {
		l.cannot("zsh with another home, where it reads a file")
	}
	if l.locale && l.wide {
		l.cannot("another locale for a text that is not all ASCII")
	}
	if l.arrays && l.unseen {
		l.cannot("a declaration whose value may be evaluated as an array")
	}
	switch {
	case l.why != "":
		return Finding{verdict.CannotJudge, l.why, l.steps}
	case l.failed != "":
		return Finding{verdict.Fails, l.failed, l.steps}
	}
	return Finding{verdict.Holds, "", l.steps}
}

// list judges one argv.
func (l *look) list(list []string) {
	if len(list) == 0 {
		l.cannot("an empty list")
		return
	}
	size := 0
	for _, text := range list {
		size += len(text)
	}
	if len(list) > MaxWords || size > MaxListBytes {
		l.cannot("a list over 4,096 words or 128 KiB")
		return
	}
	words := make([]word, len(list))
	for i, text := range list {
		l.steps += 1 + len(text)/64
		if strings.ContainsFunc(text, control) {
			l.cannot("a control character")
			return
		}
		words[i] = literal(text)
	}
	l.run(words, behind{})
}

// text judges a text in a dialect: the one given, or one behind a wrapper.
func (l *look) text(text string, d dialect) {
	l.steps += 1 + len(text)/64
	if why := unreadable(text); why != "" {
		l.cannot(why)
		return
	}
	file, why := l.j.parse(text, d)
	if file == nil {
		l.cannot(why)
		return
	}
	outer, nest := l.at, l.nest
	l.at, l.nest = newScript(text, d), 0
	l.stmts(file.Stmts, file.Last)
	if l.at.commands == 0 {
		l.cannot("no simple command")
	}
	if !l.stopped() {
		if why := l.at.settle(); why != "" {
			l.cannot(why)
		}
	}
	if d == zsh {
		l.zsh = true
	}
	l.wide = l.wide || !ascii(text)
	l.at, l.nest = outer, nest
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// parse gives the tree of a text, or why there is none.
func (j *Judge) parse(text string, d dialect) (file *syntax.File, why string) {
	pool := &j.posixParsers
	if d != posix {
		pool = &j.bashParsers
	}
	return parseWith(pool, text)
}

func parseWith(pool *sync.Pool, text string) (file *syntax.File, why string) {
	parser := pool.Get().(*syntax.Parser)
	defer func() {
		// The parser is not ours and reads what an agent wrote. If it panics,
		// the text is one it does not understand, and this parser is not used
		// again.
		if recover() != nil {
			file, why = nil, "a text that the parser fails on"
		}
	}()
	file, err := parser.Parse(strings.NewReader(text), "")
	pool.Put(parser)
	if err != nil {
		return nil, "a text that does not parse"
	}
	return file, ""
}

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
			l.command(s)
			return
		}
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
		l.stmt(b.Y)
		s = b.X
	}
}

// command walks what a statement runs.
func (l *look) command(s *syntax.Stmt) {
	switch c := s.Cmd.(type) {
	case nil:
		if len(s.Redirs) == 0 {
			l.cannot("an empty statement")
		}
		l.simple()
	case *syntax.CallExpr:
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
		l.timeClause(c)
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
		l.simple()
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

// timeClause walks bash's keyword time, which is the wrapper of that name.
func (l *look) timeClause(c *syntax.TimeClause) {
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
	if inner, ok := first.Cmd.(*syntax.CallExpr); ok && len(inner.Assigns) == 0 {
		for _, w := range inner.Args {
			words = append(words, l.word(w))
		}
	} else if l.j.hasArgv {
		l.cannot("time, with patterns, before what is no plain command")
		return
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
		// dash takes one digit alone, and more for an argument.
		if !digits(n.Value) || len(n.Value) > 1 && l.at.dialect == posix || len(n.Value) > 3 {
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
