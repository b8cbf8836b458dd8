package glob

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// fewAlternatives is how many alternatives are matched one after the other. The
// search for a literal is some tens of times as fast as walking sets of states,
// so a few of them are still faster than one walk; the bound on the steps grows
// by this factor.
const fewAlternatives = 8

// expand gives the alternatives of a list of tokens up to the end of a branch, or
// to the end, and what follows. It recurses once for each level of braces.
func expand(tokens []token) (all [][]token, rest []token) {
	all = [][]token{nil}
	for len(tokens) > 0 {
		t := tokens[0]
		if t.op == opComma || t.op == opClose {
			return all, tokens
		}
		tokens = tokens[1:]
		if t.op != opFork {
			for i := range all {
				all[i] = append(all[i], t)
			}
			continue
		}
		var branches, joined [][]token
		for last := false; !last; tokens = tokens[1:] {
			var more [][]token
			more, tokens = expand(tokens)
			branches = append(branches, more...)
			last = tokens[0].op == opClose
		}
		for _, head := range all {
			for _, tail := range branches {
				joined = append(joined, slices.Concat(head, tail))
			}
		}
		all = joined
	}
	return all, nil
}

// segment is what stands between two separators of an alternative: chunks with a * between each two. Without a separator there is one segment.
type segment struct {
	double bool    // the segment is **
	some   bool    // it is nothing but *, and takes at least one character
	chunks []chunk // at least one; more than one if there is a *
}

// chunk is a run of pieces without a *. Each piece takes a fixed number of
// characters, so the leftmost place where a chunk fits is always good enough.
type chunk []piece

// piece is a literal, or one character of a class; of any if that is nil.
type piece struct {
	lit   string
	class *class
}

// straighten makes the segments of an alternative.
func straighten(tokens []token, sep byte) []segment {
	segs := []segment{{chunks: []chunk{nil}}}
	for _, t := range tokens {
		seg := &segs[len(segs)-1]
		last := &seg.chunks[len(seg.chunks)-1]
		switch t.op {
		case opSep:
			segs = append(segs, segment{chunks: []chunk{nil}})
		case opDouble:
			seg.double = true
		case opStar:
			seg.chunks = append(seg.chunks, nil)
		case opAny, opClass:
			*last = append(*last, piece{class: t.class})
		case opLiteral:
			if n := len(*last); n > 0 && (*last)[n-1].lit != "" {
				(*last)[n-1].lit += string(t.r)
				continue
			}
			*last = append(*last, piece{lit: string(t.r)})
		}
	}
	for i := range segs {
		segs[i].some = sep != 0 && segs[i].bare()
	}
	return segs
}

// bare reports whether a segment is nothing but *.
func (s *segment) bare() bool {
	for _, c := range s.chunks {
		if len(c) > 0 {
			return false
		}
	}
	return len(s.chunks) > 1
}

// literalText gives the text of a pattern that holds no sign.
func literalText(tokens []token) (string, bool) {
	var b []byte
	for _, t := range tokens {
		if t.op != opLiteral && t.op != opSep {
			return "", false
		}
		b = utf8.AppendRune(b, t.r)
	}
	return string(b), true
}

// matchSegments matches a text with separators. Behind a ** the segments up to the
// next one are tried at one segment of the text after another; once they fit,
// none of those before are tried again.
func matchSegments(segs []segment, text string, sep byte) (bool, int) {
	steps := 0
	p, t := 0, 0 // the segment of the pattern, and where that of the text begins
	back, backAt := -1, 0
	for t <= len(text) {
		steps++
		if p < len(segs) && segs[p].double {
			p++
			if p == len(segs) {
				return true, steps
			}
			back, backAt = p, t
			continue
		}
		end := next(text, t, sep)
		steps += end - t
		if p < len(segs) {
			ok, n := segs[p].match(text[t:end])
			steps += n
			if ok {
				p, t = p+1, end+1
				continue
			}
		}
		if back < 0 {
			return false, steps
		}
		// The ** takes one segment more.
		end = next(text, backAt, sep)
		steps += end - backAt
		backAt = end + 1
		p, t = back, backAt
	}
	for p < len(segs) && segs[p].double {
		p++
	}
	return p == len(segs), steps
}

// next gives the end of the segment that begins at t.
func next(text string, t int, sep byte) int {
	if i := strings.IndexByte(text[t:], sep); i >= 0 {
		return t + i
	}
	return len(text)
}

// match matches one segment of a text.
func (s *segment) match(text string) (bool, int) {
	if s.some && text == "" {
		return false, 1
	}
	rest, ok, steps := s.chunks[0].prefix(text)
	if !ok || len(s.chunks) == 1 {
		return ok && rest == "", steps
	}
	last := len(s.chunks) - 1
	rest, ok, n := s.chunks[last].suffix(rest)
	steps += n
	if !ok {
		return false, steps
	}
	for _, c := range s.chunks[1:last] {
		rest, ok, n = c.find(rest)
		steps += n
		if !ok {
			return false, steps
		}
	}
	return true, steps
}

// prefix takes the chunk off the beginning of a text.
func (c chunk) prefix(text string) (rest string, ok bool, steps int) {
	for _, p := range c {
		steps++
		if p.lit != "" {
			steps += len(p.lit)
			if !strings.HasPrefix(text, p.lit) {
				return text, false, steps
			}
			text = text[len(p.lit):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || !p.one(r, size) {
			return text, false, steps
		}
		text = text[size:]
	}
	return text, true, steps
}

// suffix takes the chunk off the end of a text.
func (c chunk) suffix(text string) (rest string, ok bool, steps int) {
	for i := len(c) - 1; i >= 0; i-- {
		p := c[i]
		steps++
		if p.lit != "" {
			steps += len(p.lit)
			if !strings.HasSuffix(text, p.lit) {
				return text, false, steps
			}
			text = text[:len(text)-len(p.lit)]
			continue
		}
		r, size := utf8.DecodeLastRuneInString(text)
		if size == 0 || !p.one(r, size) {
			return text, false, steps
		}
		text = text[:len(text)-size]
	}
	return text, true, steps
}

// find takes the text off up to behind the leftmost place where the chunk fits.
func (c chunk) find(text string) (rest string, ok bool, steps int) {
	if len(c) == 0 {
		return text, true, 1
	}
	if len(c) == 1 && c[0].lit != "" {
		i := strings.Index(text, c[0].lit)
		if i < 0 {
			return text, false, len(text) + 1
		}
		i += len(c[0].lit)
		return text[i:], true, i + 1
	}
	for {
		rest, ok, n := c.prefix(text)
		steps += n
		if ok {
			return rest, true, steps
		}
		_, size := utf8.DecodeRuneInString(text)
		if size == 0 {
			return text, false, steps
		}
		text = text[size:]
	}
}

// one reports whether a piece that is no literal takes a character.
func (p *piece) one(r rune, size int) bool {
	if p.class == nil {
		return true
	}
	if r == utf8.RuneError && size == 1 {
		r = -1
	}
	return p.class.has(r)
}
