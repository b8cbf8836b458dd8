package engine

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled regular expression with the literals it cannot match
// without, which are looked for first: that is far quicker than matching.
type pattern struct {
	re     *regexp.Regexp
	needed []literal // one of them stands in every text that matches; nil: none is known
	table  *dfa      // nil where it would be too large
}

// maxNeeded is how many literals a pattern's alternatives may need: past it,
// looking for each costs as much as matching.
const maxNeeded = 8

// patternOf makes a pattern of source, compiled to re, which may be a whole match
// of it.
func patternOf(source string, re *regexp.Regexp, left *tables) *pattern {
	p := &pattern{re: re, table: dfaOf(re.String(), left)}
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		p.needed = neededBy(tree)
	}
	return p
}

func (p *pattern) match(text []byte) bool {
	return (p.needed == nil || possible(p.needed, text)) && p.matches(text)
}

// matches is match for a text that has what is needed.
func (p *pattern) matches(text []byte) bool {
	if p.table != nil {
		return p.table.match(text)
	}
	return p.re.Match(text)
}

// possible: does one of the literals stand in the text?
func possible(needed []literal, text []byte) bool {
	for i := range needed {
		if needed[i].in(text) {
			return true
		}
	}
	return false
}

// literal is a text that a pattern needs, in one spelling or in any case.
type literal struct {
	text  string // in lower case where any case will do
	fold  bool
	pivot int // the rarest of its bytes, where any case will do
	// odd: letters outside ASCII fold to one of its letters (ſ to s, the Kelvin
	// sign to k).
	odd bool
}

// neededBy gives literals of which every text that matches holds one, or nil.
func neededBy(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return neededBy(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return neededBy(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if l := neededBy(sub); worth(l) > worth(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			l := neededBy(sub)
			if l == nil || len(all)+len(l) > maxNeeded {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// worth says how good literals are to look for: the longer the shortest, the
// fewer texts hold it by chance; the fewer there are, the less work.
func worth(needed []literal) int {
	if needed == nil {
		return 0
	}
	shortest := len(needed[0].text)
	for _, l := range needed {
		shortest = min(shortest, len(l.text))
	}
	return shortest*2*maxNeeded - len(needed)
}

func literalOf(runes []rune, fold bool) []literal {
	if !fold {
		return []literal{{text: string(runes)}}
	}
	// Of what is looked for in any case, the longest part in ASCII.
	var best, run []rune
	for _, r := range slices.Concat(runes, []rune{utf8.RuneSelf}) {
		if r < utf8.RuneSelf {
			run = append(run, r)
			continue
		}
		if len(run) > len(best) {
			best = run
		}
		run = nil
	}
	if best == nil {
		return nil
	}
	l := literal{text: strings.ToLower(string(best)), fold: true}
	l.odd = strings.ContainsAny(l.text, "ks")
	for i := range len(l.text) {
		if rarity(l.text[i]) > rarity(l.text[l.pivot]) {
			l.pivot = i
		}
	}
	return []literal{l}
}

// rarity ranks bytes by how seldom they stand in ordinary text.
func rarity(b byte) int {
	const common = " etaoinsrhldcumfpgwybvkxjqz"
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common) // digits and signs
}

// in: does the literal stand in the text? It may say so where it does not.
func (l *literal) in(s []byte) bool {
	if !l.fold {
		return bytes.Contains(s, []byte(l.text))
	}
	if l.odd && (bytes.IndexByte(s, 0xC5) >= 0 || bytes.IndexByte(s, 0xE2) >= 0) { // ſ and the Kelvin sign begin so
		return true
	}
	low := l.text[l.pivot]
	up := low
	if 'a' <= low && low <= 'z' {
		up = low - 'a' + 'A'
	}
	last := len(s) - len(l.text) + l.pivot // the pivot's last possible place
	nextLow, nextUp := next(s, l.pivot, low), len(s)
	if up != low {
		nextUp = next(s, l.pivot, up)
	}
	for {
		i := min(nextLow, nextUp)
		if i > last {
			return false
		}
		if l.at(s, i-l.pivot) {
			return true
		}
		if i == nextLow {
			nextLow = next(s, i+1, low)
		} else {
			nextUp = next(s, i+1, up)
		}
	}
}

// next is the place of b in s from a place on, len(s) where there is none.
func next(s []byte, from int, b byte) int {
	if from < len(s) {
		if k := bytes.IndexByte(s[from:], b); k >= 0 {
			return from + k
		}
	}
	return len(s)
}

func (l *literal) at(s []byte, i int) bool {
	for k := range len(l.text) {
		c := s[i+k]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != l.text[k] {
			return false
		}
	}
	return true
}
