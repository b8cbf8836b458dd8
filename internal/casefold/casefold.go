// Package casefold brings texts to the form that the test member fold of the
// content rules compares (section 3): Unicode compatibility caseless matching.
package casefold

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Folder brings texts to their form: NFKC_Casefold (toNFKC_Casefold of the Unicode
// Standard, section 3.13, on the decomposed text), default-ignorable code points
// removed. It holds scratch memory: one goroutine at a time.
type Folder struct {
	caser cases.Caser
	ready bool
	a, b  []byte
}

// foldRounds bounds the rounds of one text. One brings any text to its form but
// those whose ignorable characters kept others from composing or folding: such a
// text goes round again without them.
const foldRounds = 4

// Append appends the folded form of s to dst. The form can be eleven times as
// long as s (U+FDFA), not longer.
func (f *Folder) Append(dst, s []byte) []byte {
	if form, ok := AppendASCII(dst, s); ok {
		return form
	}
	return f.appendRunes(dst, s)
}

// AppendASCII is Append for a text of ASCII alone, which takes no Folder and next to
// no time; it is false for any other.
func AppendASCII(dst, s []byte) (form []byte, ok bool) {
	n := len(dst)
	for i, c := range s {
		if c >= utf8.RuneSelf {
			return dst[:n], false
		}
		if i == 0 {
			dst = append(dst, s...)
		}
		if 'A' <= c && c <= 'Z' {
			dst[n+i] = c + 'a' - 'A'
		}
	}
	return dst, true
}

func (f *Folder) appendRunes(dst, s []byte) []byte {
	if !f.ready {
		f.caser, f.ready = cases.Fold(), true
	}
	n := len(dst)
	for range foldRounds {
		// Folding U+0345 makes a letter of a mark, so marks are put in order first.
		f.a = norm.NFKD.Append(f.a[:0], s...)
		// No error can come: both destinations grow, and any input is taken.
		f.b, _, _ = transform.Append(f.caser, f.b[:0], f.a)
		dst = norm.NFKC.Append(dst[:n], f.b...)
		settled, left := settle(dst[n:])
		if dst = dst[:n+len(settled)]; !left {
			break
		}
		s = settled
	}
	return dst
}

// Text is the folded form of a text.
func (f *Folder) Text(s string) string { return string(f.Append(nil, []byte(s))) }

// Scratch is how much memory the Folder holds, in bytes.
func (f *Folder) Scratch() int { return cap(f.a) + cap(f.b) }

// settle removes default-ignorable code points in place, and makes Cherokee
// letters the capitals they fold to: package cases turns each of the two cases
// into the other. left says that it removed one.
func settle(s []byte) (settled []byte, left bool) {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			s[n] = s[i]
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		switch {
		case ignorable(r):
			left = true
		case 0xAB70 <= r && r <= 0xABBF: // as long in UTF-8 as its capital
			n += utf8.EncodeRune(s[n:], r-0xAB70+0x13A0)
		case 0x13F8 <= r && r <= 0x13FD:
			n += utf8.EncodeRune(s[n:], r-8)
		default:
			n += copy(s[n:], s[i:i+size])
		}
		i += size
	}
	return s[:n], left
}

// ignorable is the derived property Default_Ignorable_Code_Point
// (DerivedCoreProperties.txt says what it is made of).
func ignorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case 0xFFF9 <= r && r <= 0xFFFB, 0x13430 <= r && r <= 0x13440: // annotations, hieroglyph controls
		return false
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark)
}
