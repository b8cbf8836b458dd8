package glob_test

import (
	"unicode/utf8"
)

// The reference is the plain, slow reading of section 3: braces are expanded,
// each alternative is cut into segments, and every way to share the text out is
// tried. It knows nothing of the matchers under test and is asked only about
// patterns that compile.

type refKind int

const (
	refLiteral refKind = iota
	refOne
	refRun
	refDouble
)

type refPiece struct {
	kind refKind
	r    rune
	in   func(rune) bool // of refOne
}

// refMatch says whether the pattern matches the text; sep is 0 for none.
func refMatch(pattern, text string, sep byte) bool {
	p := &refParser{src: []rune(pattern)}
	for _, alternative := range p.sequence(0) {
		if refSegments(refCut(alternative, rune(sep)), refCutText(text, sep)) {
			return true
		}
	}
	return false
}

type refParser struct {
	src []rune
	at  int
}

// sequence gives the alternatives of what stands up to the end of a branch.
func (p *refParser) sequence(depth int) [][]refPiece {
	all := [][]refPiece{nil}
	extend := func(tails [][]refPiece) {
		var out [][]refPiece
		for _, head := range all {
			for _, tail := range tails {
				joined := append(append([]refPiece{}, head...), tail...)
				out = append(out, joined)
			}
		}
		all = out
	}
	for p.at < len(p.src) {
		r := p.src[p.at]
		if depth > 0 && (r == ',' || r == '}') {
			return all
		}
		p.at++
		switch r {
		case '\\':
			extend([][]refPiece{{{kind: refLiteral, r: p.src[p.at]}}})
			p.at++
		case '*':
			if p.at < len(p.src) && p.src[p.at] == '*' {
				p.at++
				extend([][]refPiece{{{kind: refDouble}}})
				continue
			}
			extend([][]refPiece{{{kind: refRun}}})
		case '?':
			extend([][]refPiece{{{kind: refOne, in: func(rune) bool { return true }}}})
		case '[':
			extend([][]refPiece{{{kind: refOne, in: p.list()}}})
		case '{':
			var branches [][]refPiece
			for {
				branches = append(branches, p.sequence(depth+1)...)
				p.at++
				if p.src[p.at-1] == '}' {
					break
				}
			}
			extend(branches)
		default:
			extend([][]refPiece{{{kind: refLiteral, r: r}}})
		}
	}
	return all
}

func (p *refParser) list() func(rune) bool {
	negated := p.src[p.at] == '!' || p.src[p.at] == '^'
	if negated {
		p.at++
	}
	member := func() rune {
		if p.src[p.at] == '\\' {
			p.at++
		}
		p.at++
		return p.src[p.at-1]
	}
	var pairs [][2]rune
	for p.src[p.at] != ']' {
		from := member()
		to := from
		if p.src[p.at] == '-' && p.src[p.at+1] != ']' {
			p.at++
			to = member()
		}
		pairs = append(pairs, [2]rune{from, to})
	}
	p.at++
	return func(r rune) bool {
		for _, q := range pairs {
			if q[0] <= r && r <= q[1] {
				return !negated
			}
		}
		return negated
	}
}

func refCut(pieces []refPiece, sep rune) [][]refPiece {
	out := [][]refPiece{{}}
	for _, p := range pieces {
		if sep != 0 && p.kind == refLiteral && p.r == sep {
			out = append(out, []refPiece{})
			continue
		}
		if sep == 0 && p.kind == refRun {
			p.r = 1 // a run that may be the whole of nothing
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

func refCutText(text string, sep byte) [][]rune {
	out := [][]rune{{}}
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			r = -1
		}
		text = text[size:]
		if sep != 0 && r == rune(sep) {
			out = append(out, []rune{})
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

func refSegments(pattern [][]refPiece, text [][]rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	if len(pattern[0]) == 1 && pattern[0][0].kind == refDouble {
		for n := range len(text) + 1 {
			if refSegments(pattern[1:], text[n:]) {
				return true
			}
		}
		return false
	}
	return len(text) > 0 && refSegment(pattern[0], text[0], len(text[0]) == 0) && refSegments(pattern[1:], text[1:])
}

// refSegment matches one segment; hollow says that the text's segment is empty,
// which a segment of runs does not match where something separates.
func refSegment(pattern []refPiece, text []rune, hollow bool) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch p := pattern[0]; p.kind {
	case refRun:
		if hollow && p.r == 0 {
			return false
		}
		for n := range len(text) + 1 {
			if refSegment(pattern[1:], text[n:], hollow) {
				return true
			}
		}
		return false
	case refOne:
		return len(text) > 0 && p.in(text[0]) && refSegment(pattern[1:], text[1:], hollow)
	default:
		return len(text) > 0 && text[0] == p.r && refSegment(pattern[1:], text[1:], hollow)
	}
}
