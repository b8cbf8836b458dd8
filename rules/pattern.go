package rules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"countersign/internal/problem"
)

// Bounds of patterns. RE2 runs in time linear in the text times the size of its
// program, and repeats multiply that size, so a short pattern can be a large
// program (golang/go#55949).
const (
	maxPatternProgram = 20_000  // instructions of one pattern
	maxPatternsTotal  = 500_000 // instructions of all patterns of a file
)

// wholePattern compiles a pattern so that it matches whole strings only. It is
// compiled alone first: what is no pattern by itself must not become one by
// closing the brackets put round it.
func wholePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		// A \Q without its \E quotes to the end of the pattern, brackets put
		// behind it included.
		if quoted, e := regexp.Compile(`\A(?:` + pattern + `\E)\z`); e == nil {
			return quoted, nil
		}
	}
	return re, err
}

// programSize is about how many instructions a pattern compiles to, worked out
// without compiling it, and not past limit by much.
func programSize(pattern string, limit int) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return treeSize(re, limit), nil
}

func treeSize(re *syntax.Regexp, limit int) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCapture, syntax.OpStar:
		n = 2 + treeSize(re.Sub[0], limit)
	case syntax.OpPlus, syntax.OpQuest:
		n = 1 + treeSize(re.Sub[0], limit)
	case syntax.OpConcat, syntax.OpAlternate:
		for _, s := range re.Sub {
			n += 1 + treeSize(s, limit)
			if n > limit {
				return limit + 1
			}
		}
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		n = max(times, 1) * (1 + treeSize(re.Sub[0], limit))
	}
	return min(max(n, 1), limit+1)
}

// patternFault words what RE2 has against a pattern, and what is possible instead.
func patternFault(err error) string {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return "a pattern RE2 does not take: " + err.Error()
	}
	hint := ""
	switch e.Code {
	case syntax.ErrInvalidPerlOp:
		hint = "; RE2 has no look-ahead and no look-behind"
	case syntax.ErrInvalidEscape:
		hint = `; RE2 has no back-references, and a literal backslash is \\ in a pattern (four in JSON)`
	case syntax.ErrInvalidRepeatSize:
		hint = "; counts end at 1000, multiplied where one repeat stands in another"
	case syntax.ErrInvalidRepeatOp:
		hint = "; RE2 has no possessive repeats"
	case syntax.ErrLarge:
		hint = "; write it shorter or split it into several tests"
	}
	return fmt.Sprintf("a pattern RE2 does not take: %s at %s%s", e.Code, problem.Quoted(e.Expr), hint)
}

// exercise runs a compiled pattern once over a few texts, so that whatever it
// builds at first use is built at load.
func exercise(re *regexp.Regexp) {
	for _, s := range [...]string{"", "a", "/srv/work/a.txt\n", "ſKé\u212A"} {
		re.MatchString(s)
	}
}
