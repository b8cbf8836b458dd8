package glob

import (
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// op is what a state of a program does.
type op uint8

const (
	opLiteral op = iota // takes the character r
	opSep               // takes the separator
	opAny               // takes one character
	opClass             // takes one character of a class
	opStar              // takes any run of characters
	opDouble            // at the beginning of a segment within **; the next state is opWithin
	opWithin            // inside a segment within **
	opFork              // goes on at each of its targets
	opJump              // goes on at its one target
	opEnd               // the pattern is through
	opComma             // in tokens alone
	opClose             // in tokens alone
)

// state is one step of a program. All targets lie further on, so one pass in
// order visits everything that can be reached without taking a character.
type state struct {
	op    op
	final bool     // opDouble, opWithin: the text may end here. opSep: it may end before this separator
	r     rune     // opLiteral, opSep
	at    int      // byte of the pattern it comes from
	class *class   // opClass
	to    []uint16 // opFork, opJump; opDouble: where the pattern goes on behind the separator that follows **
}

// setWords is the size of a set of states in words: room for MaxBytes states,
// the end, and some growth by folding.
const setWords = 17

// set is a set of states.
type set [setWords]uint64

func (s *set) add(i int) { s[i>>6] |= 1 << (i & 63) }

// build makes the program of a list of tokens.
func (g *Glob) build(tokens []token) error {
	type brace struct {
		fork  int   // the state that opens it
		jumps []int // the ends of its branches but the last
	}
	var open []brace
	for _, t := range tokens {
		here := len(g.prog)
		s := state{op: t.op, r: t.r, class: t.class, at: t.at}
		switch t.op {
		case opFork:
			s.to = []uint16{uint16(here + 1)}
			open = append(open, brace{fork: here})
		case opComma:
			b := &open[len(open)-1]
			b.jumps = append(b.jumps, here)
			g.prog[b.fork].to = append(g.prog[b.fork].to, uint16(here+1))
			s.op = opJump
		case opClose:
			b := open[len(open)-1]
			open = open[:len(open)-1]
			for _, j := range b.jumps {
				g.prog[j].to = []uint16{uint16(here)}
			}
			continue
		case opDouble:
			g.prog = append(g.prog, s)
			s.op = opWithin
		}
		g.prog = append(g.prog, s)
		if len(g.prog) >= maxStates {
			return fault(g.source, t.at, "the pattern is too long once it is folded; write it shorter")
		}
	}
	g.prog = append(g.prog, state{op: opEnd, at: len(g.source)})
	g.link()
	return nil
}

// link works out, from the end backwards, what ** can do without taking a
// character: where the pattern goes on when it stands for no segment, and where
// the text may end.
func (g *Glob) link() {
	ends := make([]bool, len(g.prog)) // the end is reached without a character
	done := make([]bool, len(g.prog)) // the same, through a ** that stands last
	for i := len(g.prog) - 1; i >= 0; i-- {
		s := &g.prog[i]
		switch s.op {
		case opEnd:
			ends[i] = true
		case opFork, opJump:
			for _, t := range s.to {
				ends[i] = ends[i] || ends[t]
				done[i] = done[i] || done[t]
			}
		case opSep:
			s.final = done[i+1]
		case opWithin:
			s.final = ends[i+1]
		case opDouble:
			s.final = ends[i+2]
			done[i] = s.final
			s.to = g.separators(i + 2)
			for _, t := range s.to {
				done[i] = done[i] || done[t]
			}
		}
	}
}

// separators gives the states behind the separators that can follow state i.
func (g *Glob) separators(i int) []uint16 {
	var reach set
	var out []uint16
	reach.add(i)
	for k := i; k < len(g.prog); k++ {
		if reach[k>>6]>>(k&63)&1 == 0 {
			continue
		}
		switch s := g.prog[k]; s.op {
		case opFork, opJump:
			for _, t := range s.to {
				reach.add(int(t))
			}
		case opSep:
			out = append(out, uint16(k+1))
		}
	}
	return out
}

// walk matches a text by keeping the set of all states the pattern can be in.
// A step is one state looked at for one character, so there are at most
// (characters of the text + 1) × states of them.
func (g *Glob) walk(text string) (bool, int) {
	var a, b set
	cur, next := &a, &b
	cur.add(0)
	words := (len(g.prog) + 63) / 64
	steps := 0
	empty := true // the segment of the text has no character so far
	for i := 0; ; {
		end := i == len(text)
		r, size := rune(-1), 1
		if !end {
			if r = rune(text[i]); r >= utf8.RuneSelf {
				if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
					r = -1
				}
			}
		}
		sep := !end && g.sep != 0 && r == rune(g.sep)
		plain := !end && !sep
		// A * alone in its segment takes at least one character.
		skip := g.sep == 0 || !empty || plain
		for w := 0; w < words; w++ {
			for rest := cur[w]; rest != 0; {
				bit := bits.TrailingZeros64(rest)
				k := w<<6 + bit
				s := &g.prog[k]
				steps++
				switch s.op {
				case opLiteral:
					if plain && r == s.r {
						next.add(k + 1)
					}
				case opAny:
					if plain {
						next.add(k + 1)
					}
				case opClass:
					if plain && s.class.has(r) {
						next.add(k + 1)
					}
				case opStar:
					if skip {
						cur.add(k + 1)
					}
					if plain {
						next.add(k)
					}
				case opSep:
					if end && s.final {
						return true, steps
					}
					if sep {
						next.add(k + 1)
					}
				case opFork, opJump:
					for _, t := range s.to {
						cur.add(int(t))
					}
				case opDouble:
					if end && s.final {
						return true, steps
					}
					for _, t := range s.to {
						cur.add(int(t))
					}
					if sep {
						next.add(k)
					} else if plain {
						next.add(k + 1)
					}
				case opWithin:
					if end && s.final {
						return true, steps
					}
					if sep {
						next.add(k - 1)
					} else if plain {
						next.add(k)
					}
				case opEnd:
					if end {
						return true, steps
					}
				}
				// States reached without a character lie further on, in
				// this word or a later one.
				rest = cur[w] & (^uint64(0) << (bit + 1))
			}
		}
		if end {
			return false, steps
		}
		var left uint64
		for w := 0; w < words; w++ {
			left |= next[w]
			cur[w] = 0
		}
		if left == 0 {
			return false, steps
		}
		cur, next = next, cur
		empty = sep
		i += size
	}
}

// example makes a text that the glob matches: the first branch of each brace, one
// character for each *, one segment for each **. A class that no character is left
// for is an error.
func (g *Glob) example() (string, error) {
	var b []byte
	for i := 0; ; {
		s := &g.prog[i]
		i++
		switch s.op {
		case opLiteral:
			b = utf8.AppendRune(b, s.r)
		case opSep:
			b = append(b, g.sep)
		case opAny, opStar:
			b = append(b, plainByte(g.sep))
		case opClass:
			r, ok := s.class.any(g.sep)
			if !ok {
				return "", fault(g.source, s.at, "no character is left that the brackets match")
			}
			b = utf8.AppendRune(b, r)
		case opDouble:
			b = append(b, plainByte(g.sep))
			i++
		case opFork, opJump:
			i = int(s.to[0])
		case opEnd:
			return string(b), nil
		}
	}
}

// plainByte gives a letter that is not the separator.
func plainByte(sep byte) byte {
	if sep == 'x' {
		return 'y'
	}
	return 'x'
}

// any gives a character of the class, a plain one if it can.
func (c *class) any(sep byte) (rune, bool) {
	fits := func(r rune) bool {
		return r >= 0 && r <= unicode.MaxRune && utf8.ValidRune(r) && (sep == 0 || r != rune(sep)) && c.has(r)
	}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_" {
		if fits(r) {
			return r, true
		}
	}
	// Beside the ends of the list's ranges there is always one that fits, if
	// one fits at all: surrogates and the separator are the only holes.
	places := append(slices.Clone(c.ranges), span{0, 0}, span{utf8.RuneSelf, 0xd7ff}, span{0xe000, unicode.MaxRune})
	for _, s := range places {
		for _, r := range [...]rune{s.from, s.from + 1, s.from - 1, s.from - 2, s.to, s.to + 1, s.to + 2, s.to - 1} {
			if fits(r) {
				return r, true
			}
		}
	}
	return 0, false
}
