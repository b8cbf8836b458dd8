package proxy

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/internal/ijson"
)

// Removed stands where a credential was taken out.
const Removed = "[a credential was removed by the guard]"

// minSecret is the least bytes of a credential: a shorter one stands in texts by
// chance, and taking it out of them would leave nothing to read.
const minSecret = 4

// maxNested is how many encodings, one in the other, are seen through.
const maxNested = 3

// Secrets are credentials that must not reach the agent, nor a log. They are
// found as they are, with JSON's or the percent escapes of any of their
// characters, and inside base64 of either alphabet, at any place in what was
// encoded, with or without line breaks. A nil *Secrets finds nothing.
type Secrets struct {
	patterns []pattern
	numbers  [][]byte // those that a JSON number could spell
}

// pattern is one text to look for.
type pattern struct {
	text   []byte
	base64 bool
}

// NewSecrets prepares for credentials. An error does not name them.
func NewSecrets(credentials []string) (*Secrets, error) {
	s := new(Secrets)
	for _, c := range credentials {
		switch {
		case len(c) < minSecret:
			return nil, fmt.Errorf("it has fewer than %d bytes, too few to be told from other text", minSecret)
		case !utf8.ValidString(c):
			return nil, errors.New("it is not valid UTF-8, which no text of a message could hold")
		}
		s.patterns = append(s.patterns, pattern{text: []byte(c)})
		for _, core := range cores([]byte(c)) {
			s.patterns = append(s.patterns, pattern{text: core, base64: true})
		}
		if _, err := strconv.ParseFloat(c, 64); err == nil {
			s.numbers = append(s.numbers, []byte(c))
		}
	}
	if len(s.patterns) == 0 {
		return nil, nil
	}
	return s, nil
}

// cores are the characters of base64 that a text is sure to give, for each of the
// three ways it can lie over the groups of what it is encoded with, and for both
// alphabets.
func cores(text []byte) [][]byte {
	var found [][]byte
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for lead := range 3 {
			whole := e.AppendEncode(nil, append(make([]byte, lead), text...))
			first := (lead*8 + 5) / 6          // the first character that has no bit of what stands before
			last := (lead + len(text)) * 8 / 6 // behind the last one that has none of what stands after
			if core := whole[first:last]; !slices.ContainsFunc(found, func(b []byte) bool { return bytes.Equal(b, core) }) {
				found = append(found, core)
			}
		}
	}
	return found
}

// minPart is the least bytes of a credential, or of its base64, that are seen when
// the rest stands on another line.
const minPart = 8

// Clean takes credentials out of a line of text. A line that holds only a part of
// one, as of a key of several lines or of base64 that is broken into lines, goes
// whole.
func (s *Secrets) Clean(line []byte) []byte {
	if s == nil {
		return line
	}
	clean, _ := s.take(line)
	if rest := bytes.TrimSpace(clean); slices.ContainsFunc(s.patterns, func(p pattern) bool { return p.partIn(rest) }) {
		return []byte(Removed)
	}
	return clean
}

// partIn says whether a line lies in the pattern, ends with its beginning or
// begins with its end.
func (p pattern) partIn(line []byte) bool {
	if len(line) >= minPart && bytes.Contains(p.text, line) {
		return true
	}
	for n := min(len(line), len(p.text)); n >= minPart; n-- {
		if bytes.HasSuffix(line, p.text[:n]) || bytes.HasPrefix(line, p.text[len(p.text)-n:]) {
			return true
		}
	}
	return false
}

// clean takes credentials out of a message, in every text, name and number of it
// but its id. It returns how many it took.
func (s *Secrets) clean(m *Message, from side) (int, *fault) {
	if s == nil || !s.mayHold(m.line) {
		return 0, nil
	}
	var edits []edit
	count := 0
	scratch := make([]byte, 0, 1024) // of texts with escapes; the others are not copied
	text := func(v ijson.Value, unique string) {
		if clean, n := s.take(v.Bytes(scratch)); n > 0 {
			count += n
			edits = append(edits, edit{v.Start(), v.End(), ijson.AppendString(nil, string(clean)+unique)})
		}
	}
	var walk func(v ijson.Value)
	walk = func(v ijson.Value) {
		switch v.Kind() {
		case ijson.String:
			text(v, "")
		case ijson.Number:
			for _, n := range s.numbers {
				if bytes.Contains(v.Raw(), n) {
					count++
					edits = append(edits, edit{v.Start(), v.End(), ijson.AppendString(nil, Removed)})
					break
				}
			}
		case ijson.Array:
			for e := range v.Elements() {
				walk(e)
			}
		case ijson.Object:
			for name, value := range v.Members() {
				// Two names must not become one.
				text(name, fmt.Sprintf(" %d", count+1))
				if value != m.ID { // the guard puts another in its place
					walk(value)
				}
			}
		}
	}
	walk(m.doc.Root())
	if count == 0 {
		return 0, nil
	}
	m.line = apply(m.line, edits)
	if f := m.read(from); f != nil {
		return count, f
	}
	return count, nil
}

// mayHold says whether a message could hold a credential: in a text with escapes
// that cannot be told before they are read.
func (s *Secrets) mayHold(line []byte) bool {
	if bytes.IndexByte(line, '\\') >= 0 || bytes.IndexByte(line, '%') >= 0 {
		return true
	}
	for _, p := range s.patterns {
		if bytes.Contains(line, p.text) || p.spaced() && bytes.IndexByte(line, '+') >= 0 {
			return true
		}
	}
	return false
}

// take replaces every credential in a text and says how many there were.
func (s *Secrets) take(text []byte) ([]byte, int) {
	var found []span
	plain := !bytes.ContainsAny(text, "\\%\r\n")
	for _, p := range s.patterns {
		found = p.find(text, plain, found)
	}
	if found == nil {
		return text, 0
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var clean []byte
	at, n := 0, 0
	for i := 0; i < len(found); n++ {
		from, to := found[i].from, found[i].to
		for i++; i < len(found) && found[i].from < to; i++ {
			to = max(to, found[i].to)
		}
		clean = append(append(clean, text[at:from]...), Removed...)
		at = to
	}
	return append(clean, text[at:]...), n
}

// spaced says whether the pattern has a space, which stands as a plus sign where a
// form is sent.
func (p pattern) spaced() bool { return !p.base64 && bytes.IndexByte(p.text, ' ') >= 0 }

// span is a part of a text.
type span struct{ from, to int }

// find adds the places of a pattern in a text. plain says that no escape and no
// line break stands in it.
func (p pattern) find(text []byte, plain bool, found []span) []span {
	plain = plain && !p.spaced()
	for i := 0; i < len(text); {
		from, to := i, -1
		if plain {
			n := bytes.Index(text[i:], p.text)
			if n < 0 {
				return found
			}
			from = i + n
			to = from + len(p.text)
		} else if c := text[i]; c == p.text[0] || c == '\\' || c == '%' || c == '+' && p.text[0] == ' ' {
			to = p.match(text, i)
		}
		if to < 0 {
			i++
			continue
		}
		i = to
		if p.base64 {
			// The characters on either side hold some bits of it.
			if from > 0 && isBase64(text[from-1]) {
				from--
			}
			if to < len(text) && isBase64(text[to]) {
				to++
			}
		}
		found = append(found, span{from, to})
	}
	return found
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// match is where the pattern ends that begins at text[i], each of its characters
// as it is or escaped; -1 where it does not stand there. How many signs of escape
// stand for one of its own depends on how many encodings there are.
func (p pattern) match(text []byte, i int) int {
	slashes, percents := 0, 0
	if bytes.IndexByte(p.text, '\\') >= 0 {
		slashes = maxNested
	}
	if bytes.IndexByte(p.text, '%') >= 0 {
		percents = maxNested
	}
	for j := 0; j <= slashes; j++ {
		for k := 0; k <= percents; k++ {
			if end := p.matchNested(text, i, j, k); end >= 0 {
				return end
			}
		}
	}
	return -1
}

// matchNested is match with the number of encodings that escape a backslash, and
// a percent sign, of the pattern.
func (p pattern) matchNested(text []byte, i, slashes, percents int) int {
	for want := p.text; len(want) > 0; {
		if p.base64 && len(want) < len(p.text) { // the line of an encoding may be broken
			for i < len(text) && (text[i] == '\r' || text[i] == '\n') {
				i++
			}
		}
		r, n := utf8.DecodeRune(want)
		end := -1
		switch r {
		case '\\':
			if run := 1 << slashes; len(text)-i >= run && bytes.Count(text[i:i+run], []byte{'\\'}) == run {
				end = i + run
			}
		case '%':
			sign := "%" + strings.Repeat("25", percents)
			if bytes.HasPrefix(text[i:], []byte(sign)) {
				end = i + len(sign)
			}
		default:
			if bytes.HasPrefix(text[i:], want[:n]) || r == ' ' && bytes.HasPrefix(text[i:], []byte("+")) {
				end = i + n
			}
		}
		if end < 0 && i < len(text) {
			switch text[i] {
			case '\\':
				end = backslashed(text, i, r)
			case '%':
				end = i
				for _, b := range want[:n] {
					if end = percented(text, end, b); end < 0 {
						break
					}
				}
			}
		}
		if end < 0 {
			return -1
		}
		i, want = end, want[n:]
	}
	return i
}

// backslashed is the end of an escape of r that begins with the backslash at
// text[i], or -1. Where JSON stands in JSON there are more backslashes.
func backslashed(text []byte, i int, r rune) int {
	n := 0
	for i < len(text) && text[i] == '\\' && n < 1<<maxNested {
		i++
		n++
	}
	if i >= len(text) {
		return -1
	}
	letter := byte(0)
	switch r {
	case '"', '/':
		letter = byte(r)
	case '\b':
		letter = 'b'
	case '\f':
		letter = 'f'
	case '\n':
		letter = 'n'
	case '\r':
		letter = 'r'
	case '\t':
		letter = 't'
	}
	if letter != 0 && text[i] == letter {
		return i + 1
	}
	unit, end := unicodeEscape(text, i)
	if end < 0 {
		return -1
	}
	if utf16.IsSurrogate(unit) {
		for end < len(text) && text[end] == '\\' && n > 0 {
			end++
			n--
		}
		low, after := unicodeEscape(text, end)
		if after < 0 {
			return -1
		}
		unit, end = utf16.DecodeRune(unit, low), after
	}
	if unit != r {
		return -1
	}
	return end
}

// unicodeEscape reads "uXXXX" at text[i].
func unicodeEscape(text []byte, i int) (rune, int) {
	if len(text)-i < 5 || text[i] != 'u' {
		return 0, -1
	}
	n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
	if err != nil {
		return 0, -1
	}
	return rune(n), i + 5
}

// percented is the end of a byte at text[i], as it is or as a percent escape, or
// -1. Where one encoding stands in another the sign itself is escaped.
func percented(text []byte, i int, b byte) int {
	if i >= len(text) {
		return -1
	}
	if text[i] != '%' {
		if text[i] == b {
			return i + 1
		}
		return -1
	}
	i++
	for range maxNested {
		if len(text)-i < 2 {
			return -1
		}
		if n, err := strconv.ParseUint(string(text[i:i+2]), 16, 8); err == nil && byte(n) == b {
			return i + 2
		}
		if string(text[i:i+2]) != "25" {
			return -1
		}
		i += 2
	}
	return -1
}

// cleaned is a server from whose messages credentials are taken out before
// anybody sees them.
type cleaned struct {
	Server
	p *Pipeline
}

func (c cleaned) Open(answer func(*Message, error)) (int64, error) {
	return c.Server.Open(func(m *Message, err error) {
		if err == nil {
			if f := c.p.clean(m); f != nil {
				m.free()
				m, err = nil, ErrUnreadable
			}
		}
		answer(m, err)
	})
}

// clean takes credentials out of a message of the server.
func (p *Pipeline) clean(m *Message) *fault {
	n, f := p.secrets.clean(m, fromServer)
	if n > 0 {
		m.removed = n
		p.log.Warn("took credentials out of a message of the server", "method", short(m.Method), "credentials", n)
	}
	return f
}
