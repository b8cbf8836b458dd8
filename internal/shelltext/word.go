package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command as far as it can be known before it runs.
type word struct {
	text    string // all of it when plain or loose; else the literal text it begins with
	plain   bool   // literal text and quotes, nothing a shell would expand
	one     bool   // it is one word when it runs, whatever its text
	number  bool   // what is not literal in it are digits ($?, $#, $((1+1)))
	bracket bool   // a [ stands in what is known of it
	loose   bool   // xargs -I or find puts something in its place
	blank   bool   // an unquoted byte that some systems take for a blank
}

// settled says that the word is known now and will be the same when it runs.
func (w word) settled() bool { return w.plain && !w.loose }

// literal is a word that no shell looks at.
func literal(text string) word {
	return word{text: text, plain: true, one: true, bracket: strings.Contains(text, "[")}
}

// reading is a word being put together from its parts.
type reading struct {
	word
	more    []byte // the text from its second piece on
	known   bool   // every part so far was literal
	started bool   // a part has been seen
	single  bool   // there is one part
	open    bool   // an unquoted { came, to see brace expansions
	comma   bool   // and a separator behind it
	braces  bool   // it is a brace expansion
}

// word reads a word that stands where the grammar wants one.
func (l *look) word(w *syntax.Word) word {
	l.steps++
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && simple(lit.Value) {
			return word{text: lit.Value, plain: true, one: true}
		}
	}
	l.at.cover(w.Pos(), w.End())
	return l.read(w, false)
}

// value reads the word behind the = of an assignment, which goes on with a word
// rather than beginning one.
func (l *look) value(w *syntax.Word) word {
	l.steps++
	l.at.cover(w.Pos(), w.End())
	return l.read(w, true)
}

func (l *look) read(w *syntax.Word, goesOn bool) word {
	r := reading{word: word{plain: true, one: true, number: true}, known: true, started: goesOn, single: len(w.Parts) == 1}
	for i, part := range w.Parts {
		var next syntax.WordPart
		if i+1 < len(w.Parts) {
			next = w.Parts[i+1]
		}
		l.part(&r, part, next, false)
		if l.stopped() {
			return r.word
		}
	}
	if r.braces {
		if l.at.dialect == posix {
			l.cannot("a brace expansion")
		}
		r.plain, r.one = false, false
	}
	if lit, ok := w.Parts[0].(*syntax.Lit); ok && l.at.dialect == zsh && lit.Value != "" {
		alone := len(w.Parts) == 1
		if lit.Value[0] == '=' && !(alone && lit.Value == "=") || alone && lit.Value == "}" {
			l.cannot("a word that zsh reads in its own way")
		}
	}
	if r.more != nil {
		r.text += string(r.more)
	}
	r.number = r.number && !r.plain
	return r.word
}

// simple says whether a literal is its own text: nothing quoted, nothing that
// expands, nothing that could be a comment.
func simple(s string) bool {
	if s == "" || s[0] == '=' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', '*', '?', '[', '{', '}', '~', '#', '$':
			return false
		default:
			if c >= 0x80 {
				return false
			}
		}
	}
	return true
}

// add appends literal text, as long as nothing unknown came before it.
func (r *reading) add(text string) {
	if r.known {
		if r.text == "" {
			r.text = text
		} else {
			r.more = append(r.more, text...)
		}
	}
	if strings.Contains(text, "[") {
		r.bracket = true
	}
}

// unknown ends what is known of the word.
func (r *reading) unknown(one, number bool) {
	r.known, r.plain = false, false
	r.one = r.one && one
	r.number = r.number && number
}

// part reads one part of a word. next is the part behind it, nil at the end.
func (l *look) part(r *reading, part, next syntax.WordPart, quoted bool) {
	l.steps++
	first := !r.started
	r.started = true
	switch part := part.(type) {
	case *syntax.Lit:
		if part.Value == "$" {
			// The parser found no expansion behind the $. Shells may.
			if next != nil && !(quoted && blankFirst(next)) {
				l.cannot("a $ that may or may not begin an expansion")
			}
			r.add("$")
			return
		}
		if quoted {
			r.add(unquoteDouble(part.Value))
		} else {
			l.unquoted(r, part.Value, first)
		}
	case *syntax.SglQuoted:
		if quoted {
			l.cannot("a quote inside a quoted expansion")
			return
		}
		l.at.asis(part.Left, part.Right)
		if part.Dollar {
			if l.at.dialect == posix {
				l.cannot("$'…'")
			}
			r.unknown(true, false)
			return
		}
		r.add(part.Value)
	case *syntax.DblQuoted:
		if quoted {
			l.cannot("a quote inside a quoted expansion")
			return
		}
		if part.Dollar {
			if l.at.dialect == posix {
				l.cannot(`$"…"`)
			}
			r.unknown(true, false)
		}
		for i, p := range part.Parts {
			var after syntax.WordPart
			if i+1 < len(part.Parts) {
				after = part.Parts[i+1]
			}
			l.part(r, p, after, true)
		}
	case *syntax.ParamExp:
		one, number := l.param(part, quoted)
		r.unknown(one, number)
	case *syntax.CmdSubst:
		l.cmdSubst(part, quoted)
		r.unknown(quoted, false)
	case *syntax.ArithmExp:
		if part.Bracket || part.Unsigned || part.X == nil || !l.numbers(part.X) {
			l.cannot("arithmetic on more than numbers")
		}
		r.unknown(true, true)
	case *syntax.ProcSubst:
		if quoted || part.Op != syntax.CmdIn && part.Op != syntax.CmdOut {
			l.cannot("a process substitution of an unknown kind")
			return
		}
		l.substitution(part.Stmts, part.Last)
		r.unknown(true, false)
	case *syntax.ExtGlob:
		// The parser keeps the pattern as it is written, so nothing in it
		// may be more than a pattern.
		if l.at.dialect == zsh || part.Pattern == nil || !tamePattern(part.Pattern.Value) {
			l.cannot("an extended glob")
		}
		r.unknown(false, false)
	default:
		l.cannot("a part of a word of an unknown kind")
	}
}

// blankFirst says whether the part is literal text that begins with a blank or
// a line break, before which a $ is one everywhere.
func blankFirst(part syntax.WordPart) bool {
	lit, ok := part.(*syntax.Lit)
	return ok && lit.Value != "" && strings.IndexByte(" \t\n", lit.Value[0]) >= 0
}

// unquoted reads literal text outside quotes: escapes, and what makes a word
// expand.
func (l *look) unquoted(r *reading, raw string, first bool) {
	escapes := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			escapes++
			i++
		case '*', '?', '[':
			// A lone [ is the name of test and no pattern.
			if raw != "[" || !first || !r.single {
				r.plain, r.one = false, false
			}
		case '~':
			// bash expands it also in an argument that looks like an assignment.
			if i == 0 && first || i > 0 && (raw[i-1] == '=' || raw[i-1] == ':') {
				r.plain = false
			}
		case '#':
			if i == 0 && first {
				l.cannot("a # that may or may not begin a comment")
			}
		case '{':
			r.open = true // and stays so: braces nest, and this may say more than bash does
		case ',':
			r.comma = r.comma || r.open
		case '.':
			if i+1 < len(raw) && raw[i+1] == '.' {
				r.comma = r.comma || r.open
			}
		case '}':
			r.braces = r.braces || r.open && r.comma
		case 0x85, 0xA0:
			r.blank = true
		}
	}
	if escapes == 0 {
		r.add(raw)
		return
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			i++
		}
		b.WriteByte(raw[i])
	}
	r.add(b.String())
}

// unquoteDouble takes the escapes out of literal text in double quotes.
func unquoteDouble(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			switch raw[i+1] {
			case '$', '`', '"', '\\':
				i++
			}
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// tamePattern says whether the inside of an extended glob is a mere pattern.
func tamePattern(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune("_.|*?-+@/,:", rune(c)) {
			return false
		}
	}
	return true
}
