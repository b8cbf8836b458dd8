package pathtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldPath gives a text as a file system sees it that takes letter case and
// composed spellings as one: composed (NFC), each character replaced by one of
// its kin under simple case folding, and composed again, since a lower-case
// letter may have a composed form where its capital has none.
func foldPath(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	return norm.NFC.String(strings.Map(foldRune, norm.NFC.String(text)))
}

// foldInPlace is foldPath, in place where the text is ASCII.
func foldInPlace(text []byte) []byte {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return []byte(foldPath(string(text)))
		}
		if 'A' <= c && c <= 'Z' {
			text[i] = c | 0x20
		}
	}
	return text
}

// foldRune gives one character for all that simple case folding takes as one: the
// small letter of the capital, where the two are of one kind. It is the small
// letter, since capitals have composed forms that small letters lack and compose
// otherwise.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	small := unicode.ToLower(unicode.ToUpper(r))
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if other == small {
			return small
		}
		least = min(least, other)
	}
	if small == r {
		return r
	}
	return least
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
