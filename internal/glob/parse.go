package glob

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one piece of a pattern.
type token struct {
	op    op
	r     rune   // opLiteral, opSep
	class *class // opClass
	at    int    // byte of the pattern where it begins
}

// reader turns a pattern into tokens.
type reader struct {
	src    string
	at     int
	o      Options
	tokens []token
	run    []rune // the literal run being read
	runAt  int
}

// parse reads a pattern. Braces stay in the list as opFork, opComma and opClose;
// they are balanced and at most MaxDepth deep. ways is the number of alternatives.
func parse(pattern string, o Options) (tokens []token, ways int, err error) {
	switch {
	case pattern == "":
		return nil, 0, &Error{Msg: "an empty pattern matches nothing that is meant; expected at least one character"}
	case len(pattern) > MaxBytes:
		return nil, 0, &Error{Msg: "a pattern has at most 1,024 bytes"}
	case !utf8.ValidString(pattern):
		return nil, 0, &Error{Msg: "a pattern is valid UTF-8"}
	}
	p := &reader{src: pattern, o: o}
	if ways, err = p.pieces(); err != nil {
		return nil, 0, err
	}
	return p.tokens, ways, nil
}

// pieces reads the whole pattern, counting the alternatives on the way.
func (p *reader) pieces() (int, error) {
	// ways[d] counts the alternatives of the piece of text at depth d, sums[d]
	// those of the branches of its braces that are read already.
	var ways, sums, opened [MaxDepth + 1]int
	depth := 0
	ways[0] = 1
	for p.at < len(p.src) {
		at := p.at
		r, size := utf8.DecodeRuneInString(p.src[at:])
		p.at += size
		switch r {
		case '\\':
			if p.at == len(p.src) {
				return 0, p.fault(at, `a \ at the end escapes nothing; write \\ for the character itself`)
			}
			r, size = utf8.DecodeRuneInString(p.src[p.at:])
			p.at += size
			p.literal(r, at)
		case '*':
			if err := p.star(at); err != nil {
				return 0, err
			}
		case '?':
			p.add(token{op: opAny, at: at})
		case '[':
			c, err := p.class(at)
			if err != nil {
				return 0, err
			}
			p.add(token{op: opClass, class: c, at: at})
		case ']':
			return 0, p.fault(at, `a ] that closes nothing; write \] for the character itself`)
		case '{':
			if depth == MaxDepth {
				return 0, p.fault(at, "braces are nested more than 4 deep")
			}
			p.add(token{op: opFork, at: at})
			depth++
			ways[depth], sums[depth], opened[depth] = 1, 0, at
		case ',':
			if depth == 0 {
				p.literal(r, at)
				break
			}
			p.add(token{op: opComma, at: at})
			sums[depth] += ways[depth]
			ways[depth] = 1
		case '}':
			if depth == 0 {
				return 0, p.fault(at, `a } that closes nothing; write \} for the character itself`)
			}
			if opened[depth] == at-1 {
				return 0, p.fault(at, `{} holds nothing; write \{\} for the characters themselves`)
			}
			p.add(token{op: opClose, at: at})
			sums[depth] += ways[depth]
			depth--
			ways[depth] *= sums[depth+1]
		default:
			p.literal(r, at)
		}
		if ways[depth] > MaxAlternatives || sums[depth] > MaxAlternatives {
			return 0, p.fault(at, "the braces give more than 1,024 alternatives")
		}
	}
	if depth > 0 {
		return 0, p.fault(opened[depth], `a { that nothing closes; write \{ for the character itself`)
	}
	p.flush()
	if len(p.tokens) == 0 {
		return 0, p.fault(0, "the pattern is empty once it is folded; expected a character that is seen")
	}
	return ways[0], nil
}

// star reads what follows a *.
func (p *reader) star(at int) error {
	if p.at == len(p.src) || p.src[p.at] != '*' {
		p.add(token{op: opStar, at: at})
		return nil
	}
	p.at++
	if p.o.Separator == 0 {
		return p.fault(at, "** stands for whole segments, and nothing separates here; write *")
	}
	p.add(token{op: opDouble, at: at})
	return nil
}

// class reads a list in brackets; at is the place of the bracket.
func (p *reader) class(at int) (*class, error) {
	c := &class{fold: p.o.FoldClasses}
	if p.at < len(p.src) && (p.src[p.at] == '!' || p.src[p.at] == '^') {
		c.negated = true
		p.at++
	}
	for first := true; ; first = false {
		place := p.at
		from, hyphen, err := p.member(at, first)
		if err != nil {
			return nil, err
		}
		if from < 0 {
			break
		}
		if hyphen && !first && !strings.HasPrefix(p.src[p.at:], "]") {
			return nil, p.fault(place, `a - between members; write \- for the character itself`)
		}
		to := from
		if strings.HasPrefix(p.src[p.at:], "-") && !strings.HasPrefix(p.src[p.at:], "-]") {
			p.at++
			if to, hyphen, err = p.member(at, true); err != nil {
				return nil, err
			}
			if hyphen {
				return nil, p.fault(p.at-1, `a - ends a range; write \- for the character itself`)
			}
			if to < from {
				return nil, p.fault(place, "a range runs backwards; write the lower character first")
			}
		}
		if sep := rune(p.o.Separator); sep != 0 && from == sep && to == sep && !c.negated {
			return nil, p.fault(place, "brackets never match the separator; take it out")
		}
		c.ranges = append(c.ranges, span{from, to})
	}
	if p.o.Fold != nil && !c.fold && !c.negated && !p.staysFolded(c.ranges) {
		return nil, p.fault(at, "no folded text holds a character of these brackets; write them as they are once folded, in lower case")
	}
	c.finish()
	return c, nil
}

// fewFolded is how many characters of a range are tried for one that folding
// leaves as it is: more than any range of capitals or compatibility forms next to
// each other that an author writes. A longer one is taken to have some.
const fewFolded = 64

// staysFolded reports whether a text that is folded can hold a character of the
// ranges.
func (p *reader) staysFolded(ranges []span) bool {
	for _, s := range ranges {
		if s.to-s.from >= fewFolded {
			return true
		}
		for r := s.from; r <= s.to; r++ {
			if p.o.Fold(string(r)) == string(r) {
				return true
			}
		}
	}
	return false
}

// member reads one character of a list. It gives -1 at the bracket that closes
// the list, which first says cannot stand here, and whether the character is a
// hyphen without an escape.
func (p *reader) member(at int, first bool) (r rune, hyphen bool, err error) {
	if p.at == len(p.src) {
		return 0, false, p.fault(at, `a [ that nothing closes; write \[ for the character itself`)
	}
	r, size := utf8.DecodeRuneInString(p.src[p.at:])
	place := p.at
	p.at += size
	switch r {
	case ']':
		if first {
			return 0, false, p.fault(place, `a ] where a character is expected; write \] for the character itself`)
		}
		return -1, false, nil
	case '[':
		if p.at < len(p.src) && strings.IndexByte(":.=", p.src[p.at]) >= 0 {
			return 0, false, p.fault(place, `named lists such as [:alpha:] are not known; write \[ for the character itself`)
		}
	case '\\':
		if p.at == len(p.src) {
			return 0, false, p.fault(at, `a [ that nothing closes; write \[ for the character itself`)
		}
		r, size = utf8.DecodeRuneInString(p.src[p.at:])
		p.at += size
		return r, false, nil
	case '-':
		return r, true, nil
	}
	return r, false, nil
}

// literal adds one character that stands for itself.
func (p *reader) literal(r rune, at int) {
	if p.o.Separator != 0 && r == rune(p.o.Separator) {
		p.add(token{op: opSep, r: r, at: at})
		return
	}
	if len(p.run) == 0 {
		p.runAt = at
	}
	p.run = append(p.run, r)
	if p.o.Fold == nil {
		p.flush() // one token a character, each at its place
	}
}

// add puts a sign behind the literal run that is ready.
func (p *reader) add(t token) {
	p.flush()
	p.tokens = append(p.tokens, t)
}

// flush folds the literal run and adds its characters.
func (p *reader) flush() {
	if len(p.run) == 0 {
		return
	}
	run := p.run
	if p.o.Fold != nil {
		run = []rune(p.o.Fold(string(run)))
	}
	for _, r := range run {
		op := opLiteral
		if p.o.Separator != 0 && r == rune(p.o.Separator) {
			op = opSep
		}
		p.tokens = append(p.tokens, token{op: op, r: r, at: p.runAt})
	}
	p.run = p.run[:0]
}

func (p *reader) fault(at int, msg string) error { return fault(p.src, at, msg) }

// span is a range of characters, both ends included.
type span struct{ from, to rune }

// class is a list in brackets.
type class struct {
	negated bool
	fold    bool      // letter case does not count
	ascii   [2]uint64 // the answer for ASCII, negation included
	ranges  []span    // sorted, without overlap
}

// finish sorts the ranges and works out the answers for ASCII.
func (c *class) finish() {
	slices.SortFunc(c.ranges, func(a, b span) int { return int(a.from - b.from) })
	merged := c.ranges[:1]
	for _, s := range c.ranges[1:] {
		if last := &merged[len(merged)-1]; s.from <= last.to+1 {
			last.to = max(last.to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	c.ranges = merged
	for r := range rune(utf8.RuneSelf) {
		if c.listed(r) != c.negated {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
}

// has reports whether the class matches a character; -1 stands for a byte that
// is no character.
func (c *class) has(r rune) bool {
	if r >= 0 && r < utf8.RuneSelf {
		return c.ascii[r>>6]>>(r&63)&1 == 1
	}
	return c.listed(r) != c.negated
}

// listed reports whether a character, or with fold another case of it, stands in
// the list.
func (c *class) listed(r rune) bool {
	if c.within(r) {
		return true
	}
	if !c.fold || r < 0 {
		return false
	}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if c.within(other) {
			return true
		}
	}
	return false
}

func (c *class) within(r rune) bool {
	_, found := slices.BinarySearchFunc(c.ranges, r, func(s span, r rune) int {
		switch {
		case s.to < r:
			return -1
		case s.from > r:
			return 1
		}
		return 0
	})
	return found
}
