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
	depth    int  // wrappers and texts we are behind
	nest     int  // nodes of the tree we are inside
	piped    bool // the statement that comes next stands behind a |

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
