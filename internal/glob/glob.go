// Package glob compiles and matches the globs of the content rules (section 3):
// without a separator for texts and names of tools, with '/' for paths, with '.'
// for hosts.
//
//   - any run of characters, the empty one too, never the separator
//     ?       one character, never the separator
//     [a-z]   one character of a list, never the separator
//     [!a-z]  one character that is not in the list; [^a-z] is the same
//     {a,b}   either; nested at most [MaxDepth] deep
//     \       takes the next character as it is
//     **      as a whole segment: any number of whole segments, none too
//
// With a separator a segment that is empty in the text is matched by an empty
// segment of the pattern or by ** alone, so "/*" does not match "/" and
// "*.example.com" does not match ".example.com".
//
// # Bounds
//
// A pattern becomes a program of at most [maxStates] states. One of few
// alternatives is matched by leftmost search between the signs of each, any other
// by walking all alternatives at once as a set of states; neither goes back over
// the text without bound. Both take a number of steps of at most a small multiple
// of (length of the text + 1) × (length of the pattern + 1), allocate nothing and
// do not recurse. The package has no matcher of others underneath: gobwas/glob, the
// one at hand (v0.2.3 and v1.1.0), takes "**" for any text, so that "**/x" does not match "x", and
// reads "a**b", "a]" and "" without complaint.
package glob

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Bounds of a pattern, content rules, section 3.
const (
	MaxBytes        = 1024 // bytes of a pattern
	MaxAlternatives = 1024 // alternatives of a pattern after its braces are expanded
	MaxDepth        = 4    // braces within braces
)

// maxStates bounds the program of a pattern, and so the sets of states that a
// match keeps on its stack. A pattern of MaxBytes has at most one state a byte
// and one for its end; the rest is room for literal runs that folding makes
// longer.
const maxStates = 64 * setWords

// Options say what a pattern is matched against. The zero value is the glob of
// texts and names, compared exactly.
type Options struct {
	// Separator is the ASCII character that *, ? and […] do not match and
	// that ** crosses; 0 for none.
	Separator byte
	// Fold, if set, is applied to each literal run of the pattern when it is
	// compiled. The caller folds the text the same way before it is matched.
	Fold func(string) string
	// FoldClasses makes […] take the members' other letter cases too (simple
	// case folding). Without it […] is compared with the folded text as it
	// is written, and one that no folded text can match is an error.
	FoldClasses bool
}

// Glob is a compiled pattern. It is immutable and safe for concurrent use.
type Glob struct {
	source   string
	sep      byte // 0: none
	prog     []state
	straight [][]segment // each alternative, of a pattern with few; else it is matched by walk
	literal  bool        // it has no sign; text is then all it matches
	text     string
	prefix   string // what all it matches begins with
	folder   string // the same, in whole segments
}

// Error says what is wrong with a pattern.
type Error struct {
	Index  int // of the pattern in the list given to NewSet; else 0
	Offset int // byte of the pattern where it was seen
	Msg    string

	character int // the same place in characters, counted from 1
}

// Error gives the message with its place in the pattern.
func (e *Error) Error() string {
	return fmt.Sprintf("glob, character %d: %s", max(e.character, 1), e.Msg)
}

// fault makes an error of a pattern.
func fault(pattern string, offset int, msg string) *Error {
	return &Error{Offset: offset, Msg: msg, character: utf8.RuneCountInString(pattern[:offset]) + 1}
}

// Compile reads a pattern and tries it on a text of its own. All faults of a
// pattern are errors of type *Error.
func Compile(pattern string, o Options) (*Glob, error) {
	if o.Separator >= utf8.RuneSelf {
		return nil, &Error{Msg: "a separator is one ASCII character"}
	}
	tokens, ways, err := parse(pattern, o)
	if err != nil {
		return nil, err
	}
	g := &Glob{source: pattern, sep: o.Separator}
	if err := g.build(tokens); err != nil {
		return nil, err
	}
	if err := g.checkDouble(); err != nil {
		return nil, err
	}
	g.prefix, g.folder = g.begins()
	if ways <= fewAlternatives {
		all, _ := expand(tokens)
		for _, alternative := range all {
			g.straight = append(g.straight, straighten(alternative, o.Separator))
		}
	}
	g.text, g.literal = literalText(tokens)
	example, err := g.example()
	if err != nil {
		return nil, err
	}
	if !g.Match(example) {
		// The matcher and the reader of patterns do not agree. A glob that
		// silently matches nothing would be a hole in a refuse.
		return nil, &Error{Msg: "the glob does not match the text made for it; write it in another way"}
	}
	return g, nil
}

// Match reports whether the whole text matches. The text should be valid UTF-8;
// a byte that is not counts as one character that no pattern names.
func (g *Glob) Match(text string) bool {
	ok, _ := g.match(text)
	return ok
}

// MatchBytes is Match without the text being copied.
func (g *Glob) MatchBytes(text []byte) bool {
	// The string is not kept, and nothing writes to text meanwhile.
	return g.Match(unsafe.String(unsafe.SliceData(text), len(text)))
}

// match also gives the steps it took.
func (g *Glob) match(text string) (bool, int) {
	if g.literal {
		return text == g.text, 1
	}
	if !strings.HasPrefix(text, g.prefix) {
		return false, 1
	}
	if len(g.straight) == 0 {
		return g.walk(text)
	}
	steps := 0
	for _, segs := range g.straight {
		ok, n := false, 0
		if g.sep == 0 {
			ok, n = segs[0].match(text)
		} else {
			ok, n = matchSegments(segs, text, g.sep)
		}
		steps += n
		if ok {
			return true, steps
		}
	}
	return false, steps
}

// String gives the pattern as it was written.
func (g *Glob) String() string { return g.source }

// Literal gives the one text that a pattern without signs matches, without its
// escapes and folded if the pattern is. It is false for any other pattern.
func (g *Glob) Literal() (string, bool) { return g.text, g.literal }

// Example gives a text that the glob matches, folded if the pattern is.
func (g *Glob) Example() string {
	text, _ := g.example() // it had no error in Compile
	return text
}

// Prefix gives the literal text that everything the glob matches begins with,
// up to its first sign.
func (g *Glob) Prefix() string { return g.prefix }

// Folder gives the literal whole segments that everything the glob matches begins
// with: "/srv/app" of "/srv/app/**", "/srv" of "/srv/app*", all of a glob without
// signs.
func (g *Glob) Folder() string { return g.folder }

// begins works out the prefix and the folder.
func (g *Glob) begins() (prefix, folder string) {
	var b []byte
	for _, s := range g.prog {
		switch s.op {
		case opEnd:
			return string(b), string(b)
		case opSep:
			folder = string(b)
			if s.final {
				return folder, folder
			}
		case opLiteral:
		default:
			return string(b), folder
		}
		b = utf8.AppendRune(b, s.r)
	}
	return string(b), folder
}
