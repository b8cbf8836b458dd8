package glob

import "math/bits"

// Kind is what a token of a pattern stands for.
type Kind uint8

// The kinds of tokens that [Glob.Flow] shows.
const (
	Literal   Kind = iota // the character Rune
	Separator             // the separator
	Any                   // any one character
	Class                 // one character of […]
	Star                  // any run of characters
	Double                // **
	End                   // the end of the pattern
)

// Token is one piece of a pattern.
type Token struct {
	Kind   Kind
	Rune   rune // of a Literal, folded if the pattern is
	Offset int  // byte of the pattern
}

// Flow runs a small automaton over all alternatives of the pattern at once, the
// braces followed on every way. It begins in state start; step gives for a state
// (below 64) and a token the next state, or says what is wrong. The first wrong
// one ends the run. Thus a caller proves something of every alternative, without
// expanding them, in one pass over the pattern.
func (g *Glob) Flow(start uint8, step func(from uint8, t Token) (to uint8, wrong string)) error {
	in := make([]uint64, len(g.prog)+1)
	in[0] = 1 << start
	for i := 0; i < len(g.prog); i++ {
		s := &g.prog[i]
		t := Token{Rune: s.r, Offset: s.at}
		after := i + 1
		switch s.op {
		case opFork, opJump:
			for _, target := range s.to {
				in[target] |= in[i]
			}
			continue
		case opWithin:
			continue
		case opLiteral:
			t.Kind = Literal
		case opSep:
			t.Kind = Separator
		case opAny:
			t.Kind = Any
		case opClass:
			t.Kind = Class
		case opStar:
			t.Kind = Star
		case opDouble:
			t.Kind, after = Double, i+2
		case opEnd:
			t.Kind = End
		}
		for rest := in[i]; rest != 0; rest &= rest - 1 {
			to, wrong := step(uint8(bits.TrailingZeros64(rest)), t)
			if wrong != "" {
				return fault(g.source, s.at, wrong)
			}
			in[after] |= 1 << to
		}
	}
	return nil
}

// checkDouble sees to it that ** is a whole segment in every alternative.
func (g *Glob) checkDouble() error {
	const (
		begins uint8 = iota // a segment begins
		within              // inside a segment
		double              // behind **
	)
	const wrong = "** is a whole segment or nothing; write * for any run of characters in a segment"
	return g.Flow(begins, func(from uint8, t Token) (uint8, string) {
		switch {
		case t.Kind == Separator || t.Kind == End:
			return begins, ""
		case from == double, from == within && t.Kind == Double:
			return 0, wrong
		case t.Kind == Double:
			return double, ""
		}
		return within, ""
	})
}
