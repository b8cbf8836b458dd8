package pathtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/internal/percent"
)

// invisible reports a character of Cc, Cf, Zl, Zp or Default_Ignorable.
func invisible(r rune) bool {
	if r < 0x80 {
		return r < 0x20 || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// sign reports the four bytes that an escape must not give.
func sign(b byte) bool { return b == '.' || b == '/' || b == '\\' || b == 0 }

// character says why a character cannot be judged, or nothing. windows tells
// whether a backslash separates.
func character(r rune, windows bool) string {
	switch {
	case invisible(r):
		if r < 0x80 || unicode.Is(unicode.Cc, r) {
			return whyControl
		}
		return whyInvisible
	case r == '\\' && !windows:
		return whyBackslash
	case r >= 0x80:
		var b [utf8.UTFMax]byte
		n := utf8.EncodeRune(b[:], r)
		if percent.StandsForSign(b[:n]) {
			return whyStandsFor
		}
	}
	return ""
}

// characters says why a text cannot be judged by its characters alone.
func characters(text string, windows bool) string {
	switch {
	case text == "":
		return whyEmpty
	case len(text) > MaxBytes:
		return whyLong
	}
	escaped := false
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c < 0x20 || c == 0x7f:
				return whyControl
			case c == '\\' && !windows:
				return whyBackslash
			case c == '%':
				escaped = true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return whyUTF8
		}
		if why := character(r, windows); why != "" {
			return why
		}
		i += size
	}
	switch {
	case text[0] == '~':
		return whyHome
	case len(text) >= len("file:") && strings.EqualFold(text[:len("file:")], "file:"):
		return whyFileURL
	case escaped && escapes(text):
		return whyEscape
	}
	return ""
}

// escapes reports whether decoding the text's percent escapes up to three times
// gives a slash, backslash, dot or NUL: as it is, as an overlong sequence, or as
// a character that stands for one. What earlier rounds decode is decoded again,
// so halves that only decoding puts together count.
func escapes(text string) bool {
	var space [512]byte
	buf := append(space[:0], text...)
	for range percent.Rounds {
		out, decoded := buf[:0], false
		for i := 0; i < len(buf); {
			b, size := buf[i], 1
			if b == '%' {
				if r, n := percent.WideEscape(buf[i:]); n > 0 {
					// Never longer than the escape it replaces.
					out = utf8.AppendRune(out, r)
					if r < utf8.RuneSelf && sign(byte(r)) {
						return true
					}
					i, decoded = i+n, true
					continue
				}
				if v, n := percent.Escape(buf[i:]); n > 0 {
					b, size, decoded = v, n, true
					if sign(b) {
						return true
					}
				}
			}
			out = append(out, b)
			if (b >= utf8.RuneSelf || size > 1) && overlong(out) {
				return true
			}
			i += size
		}
		if !decoded {
			return false
		}
		buf = out
		if percent.StandsForSign(buf) {
			return true
		}
	}
	return false
}

// overlong reports whether the bytes end in a sequence of 2 to 6 that a careless
// decoder of UTF-8 takes for a slash, backslash, dot or NUL. Only the low six bits
// of the following bytes are looked at, as such decoders do.
func overlong(b []byte) bool {
	for n := 2; n <= 6 && n <= len(b); n++ {
		tail := b[len(b)-n:]
		// The lead byte of n bytes has n ones, a zero, and 7-n bits.
		mark := byte(0xff) << (8 - n)
		if tail[0]&(mark>>1|0x80) != mark {
			continue
		}
		value := uint64(tail[0] &^ (mark>>1 | 0x80))
		for _, c := range tail[1:] {
			value = value<<6 | uint64(c&0x3f)
		}
		if value < utf8.RuneSelf && sign(byte(value)) {
			return true
		}
	}
	return false
}
