package engine

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// folder brings texts to the form that the test member fold compares: Unicode
// compatibility caseless matching (NFKC_Casefold, toNFKC_Casefold of the Unicode
// Standard, section 3.13, on the decomposed text), default-ignorable code points
// removed. It holds scratch memory: one goroutine at a time.
type folder struct {
	caser cases.Caser
	ready bool
	a, b  []byte
}

// foldRounds bounds the rounds until a text stays as it is. One round brings any
// text there but those whose ignorable characters kept others from composing or
// folding; a second shows it.
const foldRounds = 4

// append appends the folded form of s to dst. The form can be eleven times as
// long as s (U+FDFA), not longer.
func (f *folder) append(dst, s []byte) []byte {
	ascii := len(dst)
	for i, c := range s {
		if c >= utf8.RuneSelf {
			dst = dst[:ascii]
			return f.appendRunes(dst, s)
		}
		if i == 0 {
			dst = append(dst, s...)
		}
		if 'A' <= c && c <= 'Z' {
			dst[ascii+i] = c + 'a' - 'A'
		}
	}
	return dst
}

func (f *folder) appendRunes(dst, s []byte) []byte {
	if !f.ready {
		f.caser, f.ready = cases.Fold(), true
	}
	// Folding U+0345 makes a letter of a mark, so marks are put in order first.
	f.a = norm.NFKD.Append(f.a[:0], s...)
	for range foldRounds {
		// No error can come: both destinations grow, and any input is taken.
		f.b, _, _ = transform.Append(f.caser, f.b[:0], f.a)
		n := len(dst)
		dst = norm.NFKC.Append(dst, f.b...)
		dst = dst[:n+len(settle(dst[n:]))]
		if bytes.Equal(dst[n:], f.a) {
			return dst
		}
		f.a = append(f.a[:0], dst[n:]...)
		dst = dst[:n]
	}
	return append(dst, f.a...)
}

// text is the folded form of a text of the rules.
func (f *folder) text(s string) string { return string(f.append(nil, []byte(s))) }

// settle removes default-ignorable code points in place, and makes Cherokee
// letters the capitals they fold to: package cases turns each of the two cases
// into the other.
func settle(s []byte) []byte {
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
		case 0xAB70 <= r && r <= 0xABBF: // as long in UTF-8 as its capital
			n += utf8.EncodeRune(s[n:], r-0xAB70+0x13A0)
		case 0x13F8 <= r && r <= 0x13FD:
			n += utf8.EncodeRune(s[n:], r-8)
		default:
			n += copy(s[n:], s[i:i+size])
		}
		i += size
	}
	return s[:n]
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
