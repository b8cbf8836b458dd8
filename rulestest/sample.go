package rulestest

import (
	"regexp/syntax"
	"strings"

	"countersign/internal/glob"
)

// maxSamples bounds the texts that one pattern or glob is made into.
const maxSamples = 12

// globSamples are texts that a glob matches, and such that it only just does not.
func globSamples(pattern string, separator byte) []string {
	g, err := glob.Compile(pattern, glob.Options{Separator: separator})
	if err != nil {
		return []string{pattern}
	}
	out := []string{g.Example()}
	for _, fill := range []string{"", "x", "xy", "x/y", "x.y"} {
		s := strings.NewReplacer("**", fill, "*", fill, "?", "x").Replace(pattern)
		if separator == '/' {
			for strings.Contains(s, "//") {
				s = strings.ReplaceAll(s, "//", "/")
			}
			if len(s) > 1 {
				s = strings.TrimSuffix(s, "/")
			}
		}
		if !strings.ContainsAny(s, "[]{}") {
			out = append(out, s)
		}
	}
	e := g.Example()
	return append(out, e+"x", "x"+e)
}

// patternSamples are texts that a pattern matches whole.
func patternSamples(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return sampleRegexp(re.Simplify(), 0)
}

// maxSampleDepth bounds how deep a pattern is followed.
const maxSampleDepth = 200

func sampleRegexp(re *syntax.Regexp, depth int) []string {
	if depth > maxSampleDepth {
		return []string{""}
	}
	cut := func(s []string) []string { return s[:min(len(s), maxSamples)] }
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		var out []string
		for i := 0; i+1 < len(re.Rune) && len(out) < 3; i += 2 {
			r := re.Rune[i]
			for _, ordinary := range "a0A-" { // rather a letter than a control character
				if r < ordinary && ordinary <= re.Rune[i+1] {
					r = ordinary
					break
				}
			}
			out = append(out, string(r))
		}
		return out
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a"}
	case syntax.OpCapture:
		return sampleRegexp(re.Sub[0], depth+1)
	case syntax.OpStar, syntax.OpQuest:
		return cut(append([]string{""}, sampleRegexp(re.Sub[0], depth+1)...))
	case syntax.OpPlus:
		one := sampleRegexp(re.Sub[0], depth+1)
		if len(one) > 0 {
			one = append(one, one[0]+one[0])
		}
		return cut(one)
	case syntax.OpAlternate:
		var out []string
		for _, s := range re.Sub {
			out = append(out, sampleRegexp(s, depth+1)...)
		}
		return cut(out)
	case syntax.OpConcat:
		out := []string{""}
		for _, s := range re.Sub {
			parts := sampleRegexp(s, depth+1)
			if len(parts) == 0 {
				return nil
			}
			var next []string
			for i, head := range out {
				for k, tail := range parts {
					if i == 0 || k == 0 { // each part once with the first of the others
						next = append(next, head+tail)
					}
				}
			}
			out = cut(next)
		}
		return out
	case syntax.OpNoMatch:
		return nil
	}
	return []string{""} // anchors and boundaries
}
