// Package percent looks through percent escapes for what the path and url tests
// of the content rules do not judge (sections 4.1 and 4.2).
package percent

import "strings"

// Rounds is how often a text may be decoded on its way through servers and
// libraries before it is used: one for each of a proxy, a framework and an
// application that decode without need.
const Rounds = 3

// Hides says whether decoding s, up to [Rounds] times, gives a dot, a slash, a
// backslash or NUL that does not stand in s as itself. A half escape that
// decoding completes counts (%2%65), bytes that some readers take for one of the
// four in an overlong form (%c0%ae), and the %u002e of old servers.
func Hides(s string) bool {
	if strings.IndexByte(s, '%') < 0 {
		return false
	}
	text := []byte(s)
	for range Rounds {
		var found, escapes bool
		if text, found, escapes = decode(text); found {
			return true
		}
		if !escapes {
			return false
		}
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
			if b, ok := hex(s, i+1, 2); ok {
				c, escapes = byte(b), true
				i += 2
				found = found || separates(rune(c)) || c == 0xC0 || c == 0xC1 || c >= 0xF5
			} else if i+1 < len(s) && (s[i+1] == 'u' || s[i+1] == 'U') {
				if r, ok := hex(s, i+2, 4); ok {
					escapes = true
					i += 5
					found = found || separates(r) || 0xFF00 <= r && r <= 0xFF5E && separates(r-0xFF00+0x20)
					c = byte(r) // what old servers make of it
				}
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

func hex(s []byte, i, n int) (v rune, ok bool) {
	if i+n > len(s) {
		return 0, false
	}
	for _, c := range s[i : i+n] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
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
			if i+2 >= len(s) {
				return "", false
			}
			v, ok := hex([]byte(s[i+1:i+3]), 0, 2)
			if !ok {
				return "", false
			}
			c = byte(v)
			i += 2
		}
		b = append(b, c)
	}
	return string(b), true
}
