package shelltext

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a text. They are looked at before it is parsed, since the parser
// itself has none.
const (
	// MaxText is the most bytes of a text. The parser uses up to 1 KiB of stack
	// for two bytes of nested keywords or operators; with this bound that stays
	// under 10 MiB. A text this long is a program rather than a command.
	MaxText = 16 << 10
	// MaxOpeners is the most of ( { [ and ` in a text. Each can be a nesting of
	// its own, for which the parser uses up to 4 KiB of stack. Closers are not
	// taken off again: they can stand in quotes and close nothing.
	MaxOpeners = 1024
)

// dialect is the language a text is judged in.
type dialect uint8

const (
	posix dialect = iota // what dash, and any other sh, makes of it
	bash
	zsh // read as bash, and held to what zsh reads in the same way
)

// control says whether the character is one that no text may hold.
func control(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// unreadable says why a text cannot be given to the parser; "" when it can.
func unreadable(text string) string {
	if len(text) > MaxText {
		return "a text over 16 KiB"
	}
	openers := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && n == 1 {
				return "not valid UTF-8"
			}
			if control(r) {
				return "a control character"
			}
			i += n
			continue
		}
		switch {
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			return "a control character"
		case c == '(', c == '{', c == '[', c == '`':
			openers++
		}
		i++
	}
	if openers > MaxOpeners {
		return "more than 1,024 brackets, braces and backquotes"
	}
	if strings.HasSuffix(text, `\`) {
		return "a backslash at the end of the text"
	}
	return ""
}

// span is a piece of a text: byte offsets, the end not included.
type span struct{ from, to int }

// script is one text being judged, with what is gathered for the looks at its
// bytes once its tree has been walked.
type script struct {
	src      string
	dialect  dialect
	commands int // simple commands seen
	inside   int // substitutions we are in
	hashes   bool
	splices  bool   // it has a backslash before a line break
	covered  []span // where a # is accounted for; kept if hashes
	verbatim []span // where a backslash before a line break is text; kept if splices
	heredocs []*syntax.Redirect
}

func newScript(src string, d dialect) *script {
	return &script{
		src:     src,
		dialect: d,
		hashes:  strings.Contains(src, "#"),
		splices: strings.Contains(src, "\\\n"),
	}
}

// slice is the source between two positions.
func (s *script) slice(from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a > b || b > len(s.src) {
		return ""
	}
	return s.src[a:b]
}

// cover notes a node whose # are not comments, or a comment.
func (s *script) cover(from, to syntax.Pos) {
	if s.hashes {
		s.covered = append(s.covered, span{int(from.Offset()), int(to.Offset())})
	}
}

// asis notes a piece of source in which no shell looks at a backslash.
func (s *script) asis(from, to syntax.Pos) {
	if s.splices {
		s.verbatim = append(s.verbatim, span{int(from.Offset()), int(to.Offset())})
	}
}

// comment says why a comment cannot be taken for one; "" when it can.
func (s *script) comment(c *syntax.Comment) string {
	s.cover(c.Pos(), c.End())
	at := int(c.Hash.Offset())
	switch {
	case strings.HasSuffix(c.Text, "\\") || strings.Contains(c.Text, "\n"):
		return "a comment that ends in a backslash"
	case s.inside > 0:
		return "a comment in a substitution"
	case at == 0:
		return ""
	}
	// A # begins a comment only where a word could begin. The parser sees one
	// also right behind a quote in brackets, where shells go on with the word.
	switch before := s.src[at-1]; before {
	case ' ', '\t', '\n':
		if at > 1 && s.src[at-2] == '\\' {
			return "a # behind an escaped blank or line break"
		}
		return ""
	case ';':
		return ""
	}
	return "a # that may or may not begin a comment"
}

// settle looks at the bytes of the text once its tree has been walked, and says
// why it cannot be judged; "" when it can.
func (s *script) settle() string {
	if s.hashes {
		if !accounted(s.src, s.covered) {
			return "a # that is neither in a word nor in a comment"
		}
	}
	if s.splices {
		if why := s.spliced(); why != "" {
			return why
		}
	}
	return s.checkHeredocs()
}

// accounted says whether every # of the text is inside one of the spans.
func accounted(src string, spans []span) bool {
	sort.Slice(spans, func(a, b int) bool { return spans[a].from < spans[b].from })
	reach, next := 0, 0
	for i := 0; i < len(src); i++ {
		if src[i] != '#' {
			continue
		}
		for ; next < len(spans) && spans[next].from <= i; next++ {
			reach = max(reach, spans[next].to)
		}
		if i >= reach {
			return false
		}
	}
	return true
}

// spliced looks at each backslash before a line break. Shells join the lines
// before they look for tokens, the parser while it does, and behind a $ or in
// an operator they part. Behind a blank, where an author breaks a command, all
// do the same.
func (s *script) spliced() string {
	sort.Slice(s.verbatim, func(a, b int) bool { return s.verbatim[a].from < s.verbatim[b].from })
	next := 0
	for i := 0; i+1 < len(s.src); i++ {
		if s.src[i] != '\\' || s.src[i+1] != '\n' {
			continue
		}
		for next < len(s.verbatim) && s.verbatim[next].to <= i {
			next++
		}
		if next < len(s.verbatim) && s.verbatim[next].from <= i {
			continue
		}
		if i > 0 && s.src[i-1] != ' ' && s.src[i-1] != '\t' && s.src[i-1] != '\n' {
			return "a line broken inside a word"
		}
	}
	return ""
}

// delimiter reads the word behind << as it is written: a plain name, or one
// wholly in quotes. ok is false for anything else.
func delimiter(raw string) (name string, quoted, ok bool) {
	if n := len(raw); n > 2 && (raw[0] == '\'' || raw[0] == '"') && raw[n-1] == raw[0] {
		raw, quoted = raw[1:n-1], true
	}
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; !letter(c) && c != '_' && (c < '0' || c > '9') {
			return "", false, false
		}
	}
	return raw, quoted, raw != ""
}

// checkHeredocs finds the body of each here-document again, by lines, as bash
// does: it begins behind the first line break after the operator and ends at
// the first line that is the delimiter. The parser must have found the same.
func (s *script) checkHeredocs() string {
	sort.Slice(s.heredocs, func(a, b int) bool {
		return s.heredocs[a].OpPos.Offset() < s.heredocs[b].OpPos.Offset()
	})
	resume := 0 // behind the last body
	for _, r := range s.heredocs {
		if int(r.OpPos.Offset()) < resume {
			return "two here-documents on one line"
		}
		name, quoted, ok := delimiter(s.slice(r.Word.Pos(), r.Word.End()))
		if !ok {
			return "a here-document whose delimiter is not a plain name"
		}
		if r.Hdoc == nil {
			return "an empty here-document"
		}
		begin := strings.IndexByte(s.src[r.Word.End().Offset():], '\n')
		if begin < 0 {
			return "a here-document without a body"
		}
		begin += int(r.Word.End().Offset()) + 1
		end, after := s.bodyEnd(begin, name, r.Op == syntax.DashHdoc)
		if end < 0 {
			return "a here-document that does not end"
		}
		body := s.src[begin:end] // with the tabs before the delimiter, as the parser keeps them
		if !quoted && strings.Contains(body, "\\\n") {
			return "a line broken inside a here-document"
		}
		if begin != int(r.Hdoc.Pos().Offset()) || !sameBody(body, r, quoted) {
			return "a here-document whose body is not surely its own"
		}
		resume = after
	}
	return ""
}

// bodyEnd is where the delimiter stands that ends the body beginning at from,
// and where its line ends; -1 when there is none.
func (s *script) bodyEnd(from int, name string, tabs bool) (end, after int) {
	for at := from; at <= len(s.src); {
		stop := strings.IndexByte(s.src[at:], '\n')
		next := len(s.src) + 1
		line := s.src[at:]
		if stop >= 0 {
			line, next = s.src[at:at+stop], at+stop+1
		}
		indent := 0
		for tabs && indent < len(line) && line[indent] == '\t' {
			indent++
		}
		if line[indent:] == name {
			return at + indent, next
		}
		at = next
	}
	return -1, -1
}

// sameBody says whether the parser took the body for what the lines say.
func sameBody(body string, r *syntax.Redirect, quoted bool) bool {
	if quoted {
		lit, ok := r.Hdoc.Parts[0].(*syntax.Lit)
		return ok && len(r.Hdoc.Parts) == 1 && lit.Value == body
	}
	// The parts, put together again, are the body. Only literal text and plain
	// parameters got here.
	for _, part := range r.Hdoc.Parts {
		var text string
		switch part := part.(type) {
		case *syntax.Lit:
			text = part.Value
		case *syntax.ParamExp:
			text = "$" + part.Param.Value
			if !part.Short {
				text = "${" + part.Param.Value + "}"
			}
		default:
			return false
		}
		rest, ok := strings.CutPrefix(body, text)
		if !ok {
			return false
		}
		body = rest
	}
	return body == ""
}
