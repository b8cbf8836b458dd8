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

// foldRounds bounds the rounds of one text. One brings any text to its form but
// those whose ignorable characters kept others from composing or folding: such a
// text goes round again without them.
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

// maxForms bounds the folded forms that are kept of one call, in bytes: all of a
// call of the default argumentBytes, at eleven bytes for one, and of JSON in its
// texts. Past it texts are folded again.
const maxForms = 64 << 20

// formSize is about what the table of forms takes for an entry, beside its bytes.
const formSize = 100

// folded is the folded form of a text of the call: in scratch, or kept. Folding
// other letters than ASCII is the dearest step there is, some thousand times that
// of comparing, so each text is folded once a call, however many rules look at it.
func (j *judging) folded(text []byte, scratch *[]byte) []byte {
	if ascii(text) {
		*scratch = j.folder.append((*scratch)[:0], text)
		return *scratch
	}
	if form, known := j.forms[string(text)]; known {
		return form
	}
	*scratch = j.folder.append((*scratch)[:0], text)
	if size := len(text) + len(*scratch) + formSize; j.formed+size <= maxForms {
		if j.forms == nil {
			j.forms = map[string][]byte{}
		}
		j.forms[string(text)] = bytes.Clone(*scratch)
		j.formed += size
	}
	return *scratch
}

func ascii(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// text is the folded form of a text of the rules.
func (f *folder) text(s string) string { return string(f.append(nil, []byte(s))) }

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
