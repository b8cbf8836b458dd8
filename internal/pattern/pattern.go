// Package pattern bounds the patterns (RE2) of the content rules before they are
// compiled. RE2 runs in time linear in the text times the size of its program, and
// repeats multiply that size, so a short pattern can be a large program
// (golang/go#55949).
package pattern

import "regexp/syntax"

// Bounds, in instructions.
const (
	MaxSize  = 20_000  // of one pattern
	MaxTotal = 500_000 // of all patterns of a file
)

// Size is about how many instructions a pattern compiles to, worked out without
// compiling it; MaxSize + 1 where there are more than MaxSize. The error is a
// *syntax.Error.
func Size(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return size(re), nil
}

func size(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCapture, syntax.OpStar:
		n = 2 + size(re.Sub[0])
	case syntax.OpPlus, syntax.OpQuest:
		n = 1 + size(re.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		for _, s := range re.Sub {
			n += 1 + size(s)
			if n > MaxSize {
				return MaxSize + 1
			}
		}
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		n = max(times, 1) * (1 + size(re.Sub[0]))
	}
	return min(max(n, 1), MaxSize+1)
}
