package engine

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// dfa is a pattern as one table, a step for each character of the text: it says
// whether the pattern matches somewhere, nothing else. Package regexp does the
// same walk with sets of states, a good many times slower. It is only read once it
// is made.
type dfa struct {
	ascii  [utf8.RuneSelf]uint8
	others []runeRange // from utf8.RuneSelf on, in order, without gaps
	width  int         // classes of characters
	// next[state+class] is the next state; states count in steps of width.
	next []int32
	end  []bool // of each state, whether the pattern matches where the text ends in it
}

type runeRange struct {
	last  rune
	class uint8
}

// States that end the walk.
const (
	stateDead    = -1 // nothing can match any more
	stateMatched = -2
)

// Bounds of the tables. Patterns past them are left to package regexp, whose cost
// Engine.SlowPatterns names.
const (
	maxStates    = 1000      // of one table
	maxTableSize = 1 << 16   // cells of one table: 256 KiB
	maxTables    = 1 << 23   // cells of all tables of an engine: 32 MiB
	maxTableWork = 100 << 20 // steps to make all of them: some seconds
	maxInstrs    = 1000      // of one pattern
	maxClasses   = 255
)

// tables is what is left for making tables.
type tables struct {
	cells int
	work  int
}

// builder makes a table from a compiled pattern.
type builder struct {
	prog     *syntax.Prog
	anchored bool // it can only match from the beginning of the text
	looks    bool // it asks what stands beside a place
	classes  []charClass
	left     *tables

	seen  []uint32 // of each instruction, the walk that saw it last
	walks uint32
	stack []uint32
}

// charClass is characters that no instruction and no look around tells apart.
type charClass struct {
	example rune
	beside  beside
}

// beside is what stands before or behind a place, as far as a pattern can ask.
type beside uint8

const (
	textEdge beside = iota
	lineEnd         // a newline
	wordChar
	otherChar
)

func besideOf(r rune) beside {
	switch {
	case r == '\n':
		return lineEnd
	case syntax.IsWordChar(r):
		return wordChar
	}
	return otherChar
}

// empty is what an instruction of no width may ask at a place between two things.
func empty(before, behind beside) (e syntax.EmptyOp) {
	switch before {
	case textEdge:
		e |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	case lineEnd:
		e |= syntax.EmptyBeginLine
	}
	switch behind {
	case textEdge:
		e |= syntax.EmptyEndText | syntax.EmptyEndLine
	case lineEnd:
		e |= syntax.EmptyEndLine
	}
	if (before == wordChar) != (behind == wordChar) {
		return e | syntax.EmptyWordBoundary
	}
	return e | syntax.EmptyNoWordBoundary
}

// dfaOf makes the table of a pattern, or nil where it would be too large.
func dfaOf(source string, left *tables) *dfa {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxInstrs {
		return nil
	}
	b := &builder{prog: prog, left: left, seen: make([]uint32, len(prog.Inst))}
	b.anchored = prog.StartCond()&syntax.EmptyBeginText != 0
	for _, in := range prog.Inst {
		b.looks = b.looks || in.Op == syntax.InstEmptyWidth
	}
	d := &dfa{}
	if !b.classify(d) || !b.states(d) {
		return nil
	}
	left.cells -= len(d.next)
	return d
}

// classify sorts all characters into classes.
func (b *builder) classify(d *dfa) bool {
	cuts := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, utf8.RuneSelf}
	var instrs []*syntax.Inst
	for i := range b.prog.Inst {
		in := &b.prog.Inst[i]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1:
			instrs = append(instrs, in)
			if len(in.Rune) == 1 {
				cuts = append(cuts, in.Rune[0], in.Rune[0]+1)
				if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
					for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
						cuts = append(cuts, r, r+1)
					}
				}
				continue
			}
			for k := 0; k+1 < len(in.Rune); k += 2 {
				cuts = append(cuts, in.Rune[k], in.Rune[k+1]+1)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if b.left.work -= len(cuts) * (len(instrs) + 1); b.left.work < 0 {
		return false
	}
	known := map[string]uint8{}
	sign := make([]byte, len(instrs)+1)
	for k, from := range cuts {
		if from > unicode.MaxRune {
			break
		}
		last := rune(unicode.MaxRune)
		if k+1 < len(cuts) {
			last = min(last, cuts[k+1]-1)
		}
		for i, in := range instrs {
			sign[i] = 0
			if in.MatchRune(from) {
				sign[i] = 1
			}
		}
		sign[len(instrs)] = byte(besideOf(from))
		class, ok := known[string(sign)]
		if !ok {
			if len(b.classes) == maxClasses {
				return false
			}
			class = uint8(len(b.classes))
			known[string(sign)] = class
			b.classes = append(b.classes, charClass{from, besideOf(from)})
		}
		if from < utf8.RuneSelf {
			for r := from; r <= last; r++ {
				d.ascii[r] = class
			}
			continue
		}
		d.others = append(d.others, runeRange{last, class})
	}
	d.width = len(b.classes)
	return true
}

// state is a set of instructions to go on from, and what stands before the place.
type state struct {
	at     []uint32 // in order
	before beside
}

func (s state) key() string {
	b := make([]byte, 1, 1+4*len(s.at))
	b[0] = byte(s.before)
	for _, i := range s.at {
		b = binary.LittleEndian.AppendUint32(b, i)
	}
	return string(b)
}

// states makes the table by the states that can be reached.
func (b *builder) states(d *dfa) bool {
	first := state{[]uint32{uint32(b.prog.Start)}, textEdge}
	known := map[string]int32{first.key(): 0}
	list := []state{first}
	d.next = make([]int32, d.width)
	for k := 0; k < len(list); k++ {
		s := list[k]
		_, matched, ok := b.follow(s, textEdge, nil)
		if !ok {
			return false
		}
		d.end = append(d.end, matched)
		// Classes beside which alike things stand leave the state alike.
		var here [otherChar + 1]struct {
			runes   []uint32
			matched bool
			done    bool
		}
		for c, class := range b.classes {
			h := &here[class.beside]
			if !h.done {
				h.runes, h.matched, ok = b.follow(s, class.beside, h.runes)
				if !ok {
					return false
				}
				h.done = true
			}
			if h.matched {
				d.next[k*d.width+c] = stateMatched
				continue
			}
			to := state{before: otherChar}
			if b.looks {
				to.before = class.beside
			}
			for _, i := range h.runes {
				if b.matches(i, class.example) {
					to.at = append(to.at, b.prog.Inst[i].Out)
				}
			}
			if !b.anchored {
				to.at = append(to.at, uint32(b.prog.Start))
			}
			if len(to.at) == 0 {
				d.next[k*d.width+c] = stateDead
				continue
			}
			slices.Sort(to.at)
			to.at = slices.Compact(to.at)
			key := to.key()
			n, is := known[key]
			if !is {
				n = int32(len(list))
				if len(list) == maxStates || (len(list)+1)*d.width > min(maxTableSize, b.left.cells) {
					return false
				}
				known[key] = n
				list = append(list, to)
				d.next = append(d.next, make([]int32, d.width)...)
			}
			d.next[k*d.width+c] = n * int32(d.width)
		}
	}
	return true
}

func (b *builder) matches(i uint32, r rune) bool {
	in := &b.prog.Inst[i]
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

// follow goes on from a state without taking a character, up to the instructions
// that take one; matched says that the pattern matches at this place. ok is false
// where the work allowed is done.
func (b *builder) follow(s state, behind beside, runes []uint32) (_ []uint32, matched, ok bool) {
	can := empty(s.before, behind)
	b.walks++
	b.stack = append(b.stack[:0], s.at...)
	for len(b.stack) > 0 {
		i := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if b.seen[i] == b.walks {
			continue
		}
		b.seen[i] = b.walks
		if b.left.work--; b.left.work < 0 {
			return nil, false, false
		}
		in := &b.prog.Inst[i]
		switch in.Op {
		case syntax.InstMatch:
			return nil, true, true
		case syntax.InstAlt, syntax.InstAltMatch:
			b.stack = append(b.stack, in.Arg, in.Out)
		case syntax.InstNop, syntax.InstCapture:
			b.stack = append(b.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^can == 0 {
				b.stack = append(b.stack, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			runes = append(runes, i)
		}
	}
	b.left.work -= len(runes) * len(b.classes)
	return runes, false, true
}

// match: does the pattern match somewhere in the text?
func (d *dfa) match(text []byte) bool {
	at := int32(0)
	for i := 0; i < len(text); {
		c := text[i]
		class := uint8(0)
		if c < utf8.RuneSelf {
			class = d.ascii[c]
			i++
		} else {
			r, size := utf8.DecodeRune(text[i:])
			class = d.other(r)
			i += size
		}
		if at = d.next[int(at)+int(class)]; at < 0 {
			return at == stateMatched
		}
	}
	return d.end[int(at)/d.width]
}

func (d *dfa) other(r rune) uint8 {
	i := sort.Search(len(d.others), func(i int) bool { return d.others[i].last >= r })
	return d.others[i].class
}
