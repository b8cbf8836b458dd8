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

// foldRune gives one character for all that simple case folding takes as one:
// the least of them, in lower case if it is an ASCII letter.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if 'A' <= least && least <= 'Z' {
		least |= 0x20
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
