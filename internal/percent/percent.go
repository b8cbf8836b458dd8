// Package percent looks through percent escapes for what the path and url tests
// of the content rules do not judge (sections 4.1 and 4.2).
package percent

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Rounds is how often a text may be decoded on its way through servers and
// libraries before it is used: one for each of a proxy, a framework and an
// application that decode without need.
const Rounds = 3

// Hides says whether decoding s, up to [Rounds] times, gives a dot, a slash, a
// backslash or NUL that does not stand in s as itself. A half escape that
// decoding completes counts (%2%65), bytes that some readers take for one of the
// four in an overlong form (%c0%ae), the %u002e of old servers, and characters that
// stand for one (see [StandsForSign]).
func Hides(s string) bool {
	if strings.IndexByte(s, '%') < 0 {
		return false
	}
	text := []byte(s)
	for range Rounds {
		var found, escapes bool
		if text, found, escapes = decode(text); found || escapes && StandsForSign(text) {
			return true
		}
		if !escapes {
			return false
		}
	}
	return false
}

// StandsForSign says whether a character of s, which is none of ASCII, has a
// compatibility form with a slash, a backslash or a dot in it.
func StandsForSign(s []byte) bool {
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRune(s[i:])
		if size > 1 && bytes.ContainsAny(norm.NFKC.Properties(s[i:]).Decomposition(), `./\`) {
			return true
		}
		i += size
	}
	return false
}

// decode is one round, in place. found: an escape gave one of the four, or part
// of an overlong form. escapes: there was one at all.
func decode(s []byte) (out []byte, found, escapes bool) {
	out = s[:0]
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if b, n := Escape(s[i:]); n > 0 {
				c, escapes = b, true
				i += n - 1
				found = found || separates(rune(c)) || c == 0xC0 || c == 0xC1 || c >= 0xF5
			} else if r, n := WideEscape(s[i:]); n > 0 {
				escapes = true
				i += n - 1
				found = found || separates(r) || 0xFF00 <= r && r <= 0xFF5E && separates(r-0xFF00+0x20)
				c = byte(r) // what old servers make of it
			}
		}
		if n := len(out); n > 0 && (out[n-1] == 0xE0 && 0x80 <= c && c < 0xA0 || out[n-1] == 0xF0 && 0x80 <= c && c < 0x90) {
			found = true // three and four bytes for what fewer would say
		}
		out = append(out, c)
	}
	return out, found, escapes
}

func separates(r rune) bool { return r == '.' || r == '/' || r == '\\' || r == 0 }

// hex reads n digits at i.
func hex(s []byte, i, n int) (v rune, ok bool) {
	if i+n > len(s) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(s[i:i+n]), 16, 16)
	return rune(u), err == nil
}

// Escape reads the %XX that b begins with; n is 0 if there is none.
func Escape(b []byte) (value byte, n int) {
	if len(b) > 0 && b[0] == '%' {
		if v, ok := hex(b, 1, 2); ok {
			return byte(v), 3
		}
	}
	return 0, 0
}

// WideEscape reads the %uXXXX that b begins with, which some servers of Microsoft's
// decode; n is 0 if there is none.
func WideEscape(b []byte) (value rune, n int) {
	if len(b) > 1 && b[0] == '%' && b[1]|0x20 == 'u' {
		if v, ok := hex(b, 2, 4); ok {
			return v, 6
		}
	}
	return 0, 0
}

// Decode decodes s once. ok is false where a percent sign begins no escape.
func Decode(s string) (text string, ok bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			v, n := Escape([]byte(s[i:min(i+3, len(s))]))
			if n == 0 {
				return "", false
			}
			c = v
			i += n - 1
		}
		b = append(b, c)
	}
	return string(b), true
}
