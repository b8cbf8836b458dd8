package rules

import (
	"regexp/syntax"
	"strings"
)

// pattern looks at a pattern of matches or finds.
func (w *warner) pattern(c *Check, s scope) {
	tree, err := syntax.Parse(c.Pattern, syntax.Perl)
	if err != nil { // it was compiled, so it parses
		return
	}
	if strings.ContainsAny(c.Pattern, "\b\f") {
		w.add("escape-lost", c.Offset, c.Pointer,
			"the pattern holds a backspace or a form feed: in JSON \\b and \\f are those signs; for what a pattern means by them write \\\\b or \\\\f")
	}
	if c.Kind == Finds && s.permits {
		w.add("finds-in-require", c.Offset, c.Pointer,
			"finds is content with any part of the text; expected matches, which takes the whole")
	}
	if c.Kind == Matches && anchored(tree) {
		w.add("anchored-twice", c.Offset, c.Pointer,
			"matches holds on the whole text alone; expected the pattern without its own ^ and $, or finds")
	}
	if s.permits {
		return
	}
	switch sign := lineSign(c.Pattern); {
	case hasDot(tree):
		w.add("line-bound", c.Offset, c.Pointer,
			"a . does not match a line break, so a text with one gets round this; expected (?s) at the start of the pattern")
	case c.Kind == Finds && sign != "":
		w.add("line-bound", c.Offset, c.Pointer,
			"%s is the edge of the whole text, so what stands on a line of its own gets round this; expected (?m), or \\A and \\z where that is meant", sign)
	}
}

// anchored says whether some alternative begins or ends with an anchor.
func anchored(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpBeginLine, syntax.OpEndText, syntax.OpEndLine:
		return true
	case syntax.OpConcat:
		return anchored(re.Sub[0]) || anchored(re.Sub[len(re.Sub)-1])
	case syntax.OpCapture:
		return anchored(re.Sub[0])
	case syntax.OpAlternate:
		for _, s := range re.Sub {
			if anchored(s) {
				return true
			}
		}
	}
	return false
}

// hasDot says whether a . without (?s) stands anywhere.
func hasDot(re *syntax.Regexp) bool {
	if re.Op == syntax.OpAnyCharNotNL {
		return true
	}
	for _, s := range re.Sub {
		if hasDot(s) {
			return true
		}
	}
	return false
}

// lineSign is the ^ or $ that stands in a pattern as an anchor outside (?m); the
// parsed tree does not tell them from \A and \z.
func lineSign(pattern string) string {
	multiline := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			if strings.HasPrefix(pattern[i:], `\Q`) {
				end := strings.Index(pattern[i:], `\E`)
				if end < 0 {
					return ""
				}
				i += end
			}
			i++
		case '[':
			i = classEnd(pattern, i)
		case '(':
			if flags, ok := strings.CutPrefix(pattern[i:], "(?"); ok {
				on := true
				for _, f := range flags {
					if f == '-' {
						on = false
					} else if f == 'm' {
						multiline = on
					} else if f < 'A' || f > 'z' {
						break
					}
				}
			}
		case '^', '$':
			if !multiline {
				return string(c)
			}
		}
	}
	return ""
}

// classEnd is the offset of the bracket that closes the class beginning at i.
func classEnd(pattern string, i int) int {
	i++
	if i < len(pattern) && pattern[i] == '^' {
		i++
	}
	for first := true; i < len(pattern); i, first = i+1, false {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[' && strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i:], ":]"); end > 0 {
				i += end + 1
			}
		case c == ']' && !first:
			return i
		}
	}
	return i
}
