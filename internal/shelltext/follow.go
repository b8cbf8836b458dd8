package shelltext

import (
	"slices"
	"strings"
)

// row is a wrapper's row of the table in content-rules.md 4.3: the options it
// may have, spelt in just this way, before the program it runs.
type row struct {
	flags   []string          // options that stand alone
	values  []option          // options with a word behind them
	end     bool              // -- ends the options
	assigns bool              // NAME=VALUE may follow, an assignment
	operand func(string) bool // a word that must follow, before the program
}

// option is one with a word behind it, and which words those are.
type option struct {
	name  string
	takes func(string) bool
}

// wrapperRow is the row of the wrappers that differ in nothing else.
func wrapperRow(name string, posixShell bool) (row, bool) {
	switch name {
	case "env":
		return row{flags: []string{"-i"}, values: []option{{"-u", validName}}, end: true, assigns: true}, true
	case "sudo", "doas":
		return row{flags: []string{"-n"}, values: []option{{"-u", anyValue}}, end: true}, true
	case "nice":
		return row{values: []option{{"-n", wholeNumber}}}, true
	case "nohup":
		return row{}, true
	case "time":
		return row{flags: []string{"-p"}}, true
	case "setsid":
		return row{flags: []string{"-f", "-w", "-c"}}, true
	case "timeout":
		return row{
			flags:   []string{"--foreground", "--preserve-status"},
			values:  []option{{"-k", duration}, {"-s", anyValue}},
			operand: duration,
		}, true
	case "stdbuf":
		return row{values: []option{{"-i", bufferMode}, {"-o", bufferMode}, {"-e", bufferMode}}}, true
	case "xargs":
		return row{
			flags:  []string{"-0", "-r", "-t"},
			values: []option{{"-n", digits}, {"-P", digits}, {"-L", digits}, {"-I", anyValue}, {"-d", anyValue}},
		}, true
	case "command":
		return row{flags: []string{"-p"}}, true
	case "exec":
		if posixShell {
			return row{}, true
		}
		return row{flags: []string{"-c", "-l"}, values: []option{{"-a", anyValue}}}, true
	}
	return row{}, false
}

// anyValue takes what cannot be mistaken for an option.
func anyValue(s string) bool { return s != "" && s[0] != '-' }

func wholeNumber(s string) bool {
	return digits(strings.TrimLeft(s, "+-")) && len(s)-len(strings.TrimLeft(s, "+-")) <= 1
}

// bufferMode takes what stdbuf does: L for lines, or a size with perhaps a unit.
func bufferMode(s string) bool { return s == "L" || digits(strings.TrimRight(s, "kKMGB")) }

// duration takes what timeout does: a number and perhaps a unit. Old ones
// take no such word, and the program would be another.
func duration(s string) bool {
	if s == "" {
		return false
	}
	if strings.IndexByte("smhd", s[len(s)-1]) >= 0 {
		s = s[:len(s)-1]
	}
	whole, part, dot := strings.Cut(s, ".")
	return digits(whole) && (!dot || digits(part))
}

// isWrapper knows the programs that are followed.
func isWrapper(name string) bool {
	switch name {
	case "find", "watch":
		return true
	}
	_, ok := wrapperRow(name, true)
	return ok || isShell(name)
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh":
		return true
	}
	return false
}

// follow judges what stands behind a wrapper; of any other program nothing.
func (l *look) follow(name string, words []word, b behind) {
	if !isWrapper(name) {
		return
	}
	l.depth++
	defer func() { l.depth-- }()
	if l.depth > MaxFollow {
		l.cannot("more than 8 wrappers behind one another")
		return
	}
	switch {
	case isShell(name):
		l.shell(name, words)
	case name == "find":
		l.find(words, b.tail)
	case name == "watch":
		l.watch(words, b.tail)
	default:
		l.wrapper(name, words, b)
	}
}

// wrapper reads the options of a wrapper and judges the program behind them.
func (l *look) wrapper(name string, words []word, b behind) {
	posixShell := l.at != nil && l.at.dialect == posix
	r, _ := wrapperRow(name, posixShell)
	i, ok := l.options(r, words)
	if !ok {
		return
	}
	if r.assigns {
		for ; i < len(words) && words[i].settled() && strings.Contains(words[i].text, "="); i++ {
			l.steps++
			variable, _, _ := strings.Cut(words[i].text, "=")
			if !validName(variable) {
				l.cannot("an assignment to what is no name")
				return
			}
			l.variable(variable, true)
		}
	}
	if r.operand != nil {
		if i >= len(words) || !words[i].settled() || !r.operand(words[i].text) {
			l.cannot("a wrapper without the word it needs")
			return
		}
		i++
	}
	if i >= len(words) {
		l.cannot("a wrapper with nothing behind it")
		return
	}
	inner := words[i:]
	next := behind{wrapped: true, tail: b.tail, shell: b.shell && name == "command" && words[0].text == name}
	if name == "xargs" {
		next.tail = true
		for k, w := range words[:i] {
			if w.text == "-I" { // no value of an option begins with a -
				inner = loosen(inner, words[k+1].text)
			}
		}
	}
	l.run(inner, next)
}

// options reads the options of a row and gives where they end.
func (l *look) options(r row, words []word) (next int, ok bool) {
	given := 0 // a bit for each of r.values
	i := 1
	for ; i < len(words); i++ {
		l.steps++
		w := words[i]
		if !w.settled() {
			l.cannot("a wrapper with a word that is not plain before the program")
			return i, false
		}
		if r.end && w.text == "--" {
			return i + 1, true
		}
		if slices.Contains(r.flags, w.text) {
			continue
		}
		if k := slices.IndexFunc(r.values, func(o option) bool { return o.name == w.text }); k >= 0 {
			if i+1 >= len(words) || !words[i+1].settled() || !r.values[k].takes(words[i+1].text) {
				l.cannot("a wrapper with an option without its value")
				return i, false
			}
			if given&(1<<k) != 0 {
				l.cannot("a wrapper with an option given twice")
				return i, false
			}
			given |= 1 << k
			i++
			continue
		}
		if strings.HasPrefix(w.text, "-") {
			l.cannot("a wrapper with an option that is not known")
			return i, false
		}
		break
	}
	return i, true
}

// loosen marks the words that something else is put into. The words are not
// ours to change.
func loosen(words []word, place string) []word {
	out := slices.Clone(words)
	for i := range out {
		if out[i].plain && strings.Contains(out[i].text, place) {
			out[i].loose = true
		}
	}
	return out
}

// shell judges the text behind -c.
func (l *look) shell(name string, words []word) {
	for i := 1; i < len(words); i++ {
		l.steps++
		if !words[i].settled() {
			break
		}
		switch words[i].text {
		case "-e", "-u", "-x":
			continue
		case "-o":
			i++
			if i >= len(words) || !words[i].settled() || words[i].text != "pipefail" {
				l.cannot("a shell with an option that is not known")
				return
			}
			continue
		case "-c":
			if i+1 >= len(words) || !words[i+1].settled() {
				l.cannot("a shell whose text is not plain")
				return
			}
			text := words[i+1].text
			if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
				l.cannot("a shell whose text may be an option")
				return
			}
			l.inText(text, name)
			return
		}
		break
	}
	l.cannot("a shell that reads a file or its input, or has an option that is not known")
}

// inText judges a text for a shell of that name.
func (l *look) inText(text, shell string) {
	d := posix
	switch shell {
	case "bash":
		d = bash
	case "zsh":
		d = zsh
	}
	l.text(text, d)
}

// watch judges its words joined, as sh gets them, or as they are with -x.
func (l *look) watch(words []word, tail bool) {
	r := row{flags: []string{"-d", "-t", "-x"}, values: []option{{"-n", duration}}}
	i, ok := l.options(r, words)
	if !ok {
		return
	}
	inner := words[i:]
	if len(inner) == 0 || tail {
		l.cannot("watch with nothing, or with words that are not seen, behind it")
		return
	}
	for _, w := range words[1:i] {
		if w.text == "-x" {
			l.run(inner, behind{wrapped: true})
			return
		}
	}
	texts := make([]string, len(inner))
	for k, w := range inner {
		if !w.settled() {
			l.cannot("a shell whose text is not plain")
			return
		}
		texts[k] = w.text
	}
	l.inText(strings.Join(texts, " "), "sh")
}
