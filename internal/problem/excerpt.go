package problem

import (
	"bytes"
	"strings"
	"unicode"
)

// maxExcerpt is the most characters of a line that an excerpt shows: what fits a
// terminal beside its margin.
const maxExcerpt = 76

// Excerpt is the line of a problem's place and a caret below the place, each
// indented, for a person at a terminal. src is the file that was read.
func (p Problem) Excerpt(src []byte) string {
	if p.Offset < 0 || p.Offset > len(src) {
		return ""
	}
	from := bytes.LastIndexByte(src[:p.Offset], '\n') + 1
	to := len(src)
	if n := bytes.IndexByte(src[p.Offset:], '\n'); n >= 0 {
		to = p.Offset + n
	}
	line := []rune(strings.TrimRight(string(bytes.ToValidUTF8(src[from:to], []byte("?"))), "\r"))
	at := min(p.Column-1, len(line))
	before, behind := "", ""
	if start := at - maxExcerpt/2; start > 0 && len(line) > maxExcerpt {
		start = min(start, len(line)-maxExcerpt)
		line, at, before = line[start:], at-start, "…"
	}
	if len(line) > maxExcerpt {
		line, behind = line[:maxExcerpt], "…"
	}
	var text, under strings.Builder
	text.WriteString(before)
	under.WriteString(strings.Repeat(" ", len([]rune(before))))
	for i, r := range line {
		if !unicode.IsPrint(r) {
			r = ' ' // a tab, or what would move the caret
		}
		text.WriteRune(r)
		if i < at {
			under.WriteByte(' ')
		}
	}
	return "    " + text.String() + behind + "\n    " + under.String() + "^\n"
}
