package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"countersign/internal/problem"
)

// maxSegments is the most segments of a pointer: no call is nested deeper than
// the largest depth a file can set.
const maxSegments = 64

// parsePointer reads a pointer into a call's arguments (content rules, section
// 2). The error says what was expected.
func parsePointer(text string) (Pointer, error) {
	p := Pointer{Text: text}
	if text == "" {
		return p, nil
	}
	if text[0] != '/' {
		return p, fmt.Errorf("a pointer begins with a slash or is empty, did you mean %s?", problem.Quoted("/"+text))
	}
	parts := strings.Split(text[1:], "/")
	if len(parts) > maxSegments {
		return p, fmt.Errorf("a pointer of %d segments, expected at most %d: no call is nested deeper", len(parts), maxSegments)
	}
	p.Segments = make([]Segment, len(parts))
	for i, part := range parts {
		s, err := parseSegment(part)
		if err != nil {
			return p, err
		}
		if s.Kind == Deep && i != len(parts)-1 {
			return p, errors.New("** stands only once and only at the end of a pointer; a literal ** is ~2~2")
		}
		p.Segments[i] = s
	}
	return p, nil
}

func parseSegment(part string) (Segment, error) {
	switch part {
	case "*":
		return Segment{Kind: Any, Index: -1}, nil
	case "#":
		return Segment{Kind: Element, Index: -1}, nil
	case "**":
		return Segment{Kind: Deep, Index: -1}, nil
	}
	name := part
	if strings.IndexByte(part, '~') >= 0 {
		var b strings.Builder
		for i := 0; i < len(part); i++ {
			c := part[i]
			if c == '~' {
				i++
				if i == len(part) || part[i] < '0' || part[i] > '3' {
					return Segment{}, errors.New("a ~ in a pointer, expected ~0 for ~, ~1 for a slash, ~2 for a literal * or ~3 for a literal #")
				}
				c = "~/*#"[part[i]-'0']
			}
			b.WriteByte(c)
		}
		name = b.String()
	}
	if !soundName(name) {
		return Segment{}, errNoSuchName
	}
	s := Segment{Kind: Name, Name: name, Index: -1}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && strconv.Itoa(n) == name {
		s.Index = n
	}
	return s, nil
}

var errNoSuchName = errors.New("a name with NUL or a noncharacter in it: no call can hold such a member")

// soundName says whether a call can hold a member of this name (content rules,
// section 7).
func soundName(name string) bool {
	for _, r := range name {
		if r == 0 || r&0xFFFE == 0xFFFE || 0xFDD0 <= r && r <= 0xFDEF {
			return false
		}
	}
	return true
}
