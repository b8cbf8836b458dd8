package shelltext

import "strings"

// evaluates says whether a builtin of that name runs text that is not seen, or
// changes what a name means, whatever its arguments are.
func evaluates(name string) bool {
	switch name {
	case "eval", "source", ".", "trap", "alias", "builtin", "let",
		"fc", "bind", "complete", "compgen", "compopt":
		return true
	}
	return false
}

// foreign says whether a word that the parser takes for a program is a keyword
// or a builtin of its own kind to a shell that the text may be run by: for posix
// the keywords of bash, since sh may be bash; for zsh what bash does not have.
func foreign(name string, d dialect) bool {
	switch d {
	case posix:
		switch name {
		case "[[", "function", "select", "coproc":
			return true
		}
	case zsh:
		switch name {
		case "-", "noglob", "nocorrect", "repeat", "foreach", "autoload", "emulate", "functions", "integer", "float",
			"print", "sched", "unhash", "vared", "zargs", "zcompile", "zle", "zmodload", "zparseopts", "zstyle",
			"zregexparse", "private", "setopt", "unsetopt", "disable", "hash", "rehash", "pushln", "getln", "ztcp",
			"zformat", "strftime", "zstat", "coproc", "end", "always", "select", "function":
			return true
		}
	}
	return false
}

// otherShell knows the shells that are not followed: each reads a file, its
// input or a text in a language that is not judged.
func otherShell(name string) bool {
	switch name {
	case "ksh", "ksh93", "mksh", "lksh", "pdksh", "oksh", "loksh", "ash", "yash", "posh", "rbash", "rzsh", "rksh",
		"fish", "csh", "tcsh", "rc", "es", "elvish", "nu", "xonsh", "pwsh", "powershell", "hush", "osh", "ysh":
		return true
	}
	return false
}

// ownMeaning knows the names that the judge takes for builtins.
func ownMeaning(name string) bool {
	if isDeclaration(name) || evaluates(name) || foreign(name, posix) || foreign(name, zsh) {
		return true
	}
	switch name {
	case "test", "[", "printf", "read", "unset", "getopts", "mapfile", "readarray", "wait", "set", "shopt", "hash",
		"enable", "jobs", "cd", "echo", "shift", "exit", "return", "break", "continue":
		return true
	}
	return false
}

// builtin judges the arguments of the builtins that evaluate some of them, set
// variables, or change how the shell reads.
func (l *look) builtin(name string, args []word) {
	switch name {
	case "test", "[", "printf", "read", "unset", "getopts", "mapfile", "readarray", "wait":
		for _, w := range args {
			if w.bracket {
				l.cannot("a [ in the arguments of a builtin that evaluates subscripts")
				return
			}
		}
	}
	switch name {
	case "test":
		l.test(args)
	case "[":
		if n := len(args); n == 0 || !args[n-1].settled() || args[n-1].text != "]" {
			l.cannot("[ without its ]")
			return
		}
		l.test(args[:len(args)-1])
	case "printf":
		l.printf(args)
	case "read":
		l.names(args, "rse", "adinNptu", "a")
	case "mapfile", "readarray":
		l.arrays = true
		l.names(args, "t", "nOsud", "")
	case "unset":
		l.names(args, "vfn", "", "")
	case "wait":
		l.wait(args)
	case "getopts":
		if len(args) < 2 || !args[0].settled() || !args[1].settled() || !validName(args[1].text) {
			l.cannot("getopts without a plain name")
			return
		}
		l.variable(args[1].text, false)
	case "set":
		l.set(args)
	case "shopt":
		l.shopt(args)
	case "hash":
		l.plainOptions(args, "-r")
	case "enable":
		l.plainOptions(args, "-n", "-a", "-p")
	case "jobs":
		l.plainOptions(args, "-l", "-p", "-n", "-r", "-s")
	case "exit", "return", "break", "continue", "shift", "logout", "bye":
		if l.at.dialect == zsh {
			l.counts(args)
		}
	}
}

// plainOptions wants all words plain, and of those that begin with a - only the
// given.
func (l *look) plainOptions(args []word, known ...string) {
	for _, w := range args {
		l.steps++
		if !w.settled() {
			l.cannot("a word that is not plain for a builtin that looks for options")
			return
		}
		if strings.HasPrefix(w.text, "-") && !among(w.text, known) {
			l.cannot("an option of a builtin that is not known")
			return
		}
	}
}

func among(s string, list []string) bool {
	for _, one := range list {
		if s == one {
			return true
		}
	}
	return false
}

// names judges a builtin that sets the variables it is given. flags are its
// options without a value, valued those with one, named those whose value is a
// variable too.
func (l *look) names(args []word, flags, valued, named string) {
	options := true
	for i := 0; i < len(args); i++ {
		l.steps++
		w := args[i]
		if !w.settled() {
			l.cannot("a variable whose name is not plain")
			return
		}
		if options && w.text == "--" {
			options = false
			continue
		}
		if options && len(w.text) > 1 && w.text[0] == '-' {
			letters := w.text[1:]
			switch {
			case strings.Trim(letters, flags) == "":
			case len(letters) == 1 && strings.Contains(valued, letters):
				i++
				if i >= len(args) || !args[i].settled() {
					l.cannot("an option of a builtin without a plain value")
					return
				}
				if !strings.Contains(named, letters) {
					continue
				}
				if !validName(args[i].text) {
					l.cannot("a variable whose name is not plain")
					return
				}
				l.arrays = true // read -a
				l.variable(args[i].text, false)
			default:
				l.cannot("an option of a builtin that is not known")
				return
			}
			continue
		}
		options = false
		if !validName(w.text) {
			l.cannot("a variable whose name is not plain")
			return
		}
		l.variable(w.text, false)
	}
}

// wait looks for -p NAME, which bash evaluates.
func (l *look) wait(args []word) {
	for _, w := range args {
		l.steps++
		switch {
		case w.number && w.text == "":
		case !w.settled(), strings.HasPrefix(w.text, "-") && w.text != "-n" && w.text != "-f":
			l.cannot("wait for more than plain numbers")
			return
		}
	}
}

// counts judges a builtin of zsh whose argument is arithmetic: it may hold numbers
// alone, since a name or a subscript in it is evaluated.
func (l *look) counts(args []word) {
	for _, w := range args {
		l.steps++
		if !(w.number && w.text == "") && !(w.settled() && number(strings.TrimPrefix(w.text, "-"))) {
			l.cannot("arithmetic on more than numbers")
			return
		}
	}
}

// printf wants its format plain, since an option could stand in its place.
func (l *look) printf(args []word) {
	if len(args) > 0 && args[0].settled() && args[0].text == "-v" {
		if len(args) < 2 || !args[1].settled() || !validName(args[1].text) {
			l.cannot("a variable whose name is not plain")
			return
		}
		l.variable(args[1].text, false)
		args = args[2:]
	}
	if len(args) > 0 && args[0].settled() && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	format := args[0]
	if !format.settled() || strings.HasPrefix(format.text, "-") {
		l.cannot("printf without a plain format")
		return
	}
	l.steps += 1 + len(format.text)/64
	for i := 0; i+1 < len(format.text); i++ {
		if format.text[i] != '%' {
			continue
		}
		i++
		if format.text[i] == '%' {
			continue
		}
		for i < len(format.text)-1 && strings.IndexByte("-+ #'0123456789.*", format.text[i]) >= 0 {
			i++
		}
		verb := format.text[i]
		if verb == 'n' || l.at.dialect == zsh && strings.IndexByte("sbq", verb) < 0 {
			l.cannot("a printf that sets a variable or evaluates a number")
			return
		}
	}
}

// set lets through the options that leave the reading of the text alone.
func (l *look) set(args []word) {
	for i := 0; i < len(args); i++ {
		l.steps++
		w := args[i]
		switch {
		case !w.settled():
			l.cannot("set with a word that is not plain")
			return
		case w.text == "--":
			return
		case w.text == "-o" || w.text == "+o":
			i++
			if i >= len(args) || !args[i].settled() || !among(args[i].text, []string{
				"errexit", "nounset", "pipefail", "xtrace", "noglob", "noclobber", "verbose"}) {
				l.cannot("an option of set that is not known")
				return
			}
		case len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+'):
			if strings.Trim(w.text[1:], "euxfCv") != "" {
				l.cannot("an option of set that is not known")
				return
			}
		default:
			return // the words from here on are positional parameters
		}
	}
}

// shopt lets through the options that only change how names of files expand.
func (l *look) shopt(args []word) {
	for _, w := range args {
		l.steps++
		if !w.settled() || !among(w.text, []string{"-s", "-u", "-q", "-p", "nullglob", "dotglob", "globstar",
			"nocaseglob", "failglob", "lastpipe", "inherit_errexit", "nocasematch"}) {
			l.cannot("an option of shopt that is not known")
			return
		}
	}
}

// test judges the arguments of test and [. Their number decides what each is,
// so one that is not literal may only stand where it can be nothing but an
// operand: bash evaluates what -v is given.
func (l *look) test(args []word) {
	fixed := true
	for _, w := range args {
		l.steps++
		if !w.settled() && !(w.number && w.text == "") {
			fixed = false
		}
	}
	if fixed {
		return
	}
	if len(args) > 1 && args[0].settled() && args[0].text == "!" {
		args = args[1:]
	}
	ok := false
	switch len(args) {
	case 1:
		ok = args[0].one
	case 2:
		op := args[0]
		ok = op.settled() && len(op.text) == 2 && op.text[0] == '-' &&
			strings.IndexByte("abcdefghknoprstuwxzGLNOS", op.text[1]) >= 0 && args[1].one
	case 3:
		op := args[1]
		ok = op.settled() && args[0].one && args[2].one
		switch op.text {
		case "=", "==", "!=", "<", ">", "-nt", "-ot", "-ef":
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			ok = ok && l.at.dialect != zsh
		default:
			ok = false
		}
	}
	if !ok {
		l.cannot("a test in which a word that is not plain may be an operator")
	}
}
