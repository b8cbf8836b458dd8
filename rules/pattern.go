package rules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"countersign/internal/problem"
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
