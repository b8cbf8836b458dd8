package glob

import "errors"

// Set is a list of patterns of which any may match. It is immutable and safe for
// concurrent use.
type Set struct {
	globs   []*Glob
	literal map[string]int // text of a pattern without signs → its first index
	signs   []int          // indexes of the patterns with signs
}

// NewSet compiles a list of at least one pattern. The error is of type *Error and
// names the pattern by its index.
func NewSet(patterns []string, o Options) (*Set, error) {
	if len(patterns) == 0 {
		return nil, &Error{Msg: "an empty list of patterns; expected at least one"}
	}
	globs := make([]*Glob, 0, len(patterns))
	for i, p := range patterns {
		g, err := Compile(p, o)
		if err != nil {
			var e *Error
			if errors.As(err, &e) {
				e.Index = i
			}
			return nil, err
		}
		globs = append(globs, g)
	}
	return SetOf(globs), nil
}

// SetOf makes a set of patterns that are compiled already.
func SetOf(globs []*Glob) *Set {
	s := &Set{globs: globs, literal: map[string]int{}}
	for i, g := range globs {
		text, ok := g.Literal()
		if !ok {
			s.signs = append(s.signs, i)
			continue
		}
		if _, known := s.literal[text]; !known {
			s.literal[text] = i
		}
	}
	return s
}

// Match reports whether any pattern matches the whole text.
func (s *Set) Match(text string) bool {
	if len(s.literal) > 0 {
		if _, ok := s.literal[text]; ok {
			return true
		}
	}
	for _, i := range s.signs {
		if s.globs[i].Match(text) {
			return true
		}
	}
	return false
}

// Index gives the first pattern that matches the whole text, -1 if none does.
func (s *Set) Index(text string) int {
	found, ok := s.literal[text]
	if !ok {
		found = len(s.globs)
	}
	for _, i := range s.signs {
		if i > found {
			break
		}
		if s.globs[i].Match(text) {
			return i
		}
	}
	if found == len(s.globs) {
		return -1
	}
	return found
}

// Globs gives the compiled patterns in the order they were given. The caller does
// not change the list.
func (s *Set) Globs() []*Glob { return s.globs }
