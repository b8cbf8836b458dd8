package ijson

import (
	"math"
	"slices"
	"strconv"
)

// Canonical reads src and gives its canonical form.
func Canonical(src []byte, o Options) ([]byte, error) {
	var d Doc
	if err := d.Parse(src, o); err != nil {
		return nil, err
	}
	return AppendCanonical(make([]byte, 0, len(src)), d.Root()), nil
}

// AppendCanonical appends a value in the canonical form of RFC 8785: no white
// space, members in the order of their UTF-16 code units, strings with the
// fewest escapes, numbers as ECMAScript prints their doubles. Of an absent value
// nothing is appended.
func AppendCanonical(dst []byte, v Value) []byte {
	if v.doc == nil {
		return dst
	}
	var c canon
	c.doc = v.doc
	return c.append(dst, v.i)
}

// canon holds the scratch memory of one canonical form.
type canon struct {
	doc   *Doc
	names []uint32 // the name nodes of the objects being written, a stack
	a, b  []byte
}

func (c *canon) append(dst []byte, i uint32) []byte {
	n := &c.doc.nodes[i]
	raw := c.doc.src[n.start:n.end]
	switch n.kind {
	case String:
		return c.appendString(dst, n)
	case Number:
		return appendNumber(dst, raw)
	case Array:
		dst = append(dst, '[')
		for k := i + 1; k < n.next; k = c.doc.nodes[k].next {
			if k > i+1 {
				dst = append(dst, ',')
			}
			dst = c.append(dst, k)
		}
		return append(dst, ']')
	case Object:
		base := len(c.names)
		sorted := true
		for k := i + 1; k < n.next; k = c.doc.nodes[k+1].next {
			if sorted && len(c.names) > base {
				sorted = c.compare(c.names[len(c.names)-1], k) < 0
			}
			c.names = append(c.names, k)
		}
		if !sorted {
			slices.SortFunc(c.names[base:], c.compare)
		}
		dst = append(dst, '{')
		for k := base; k < base+int(n.size); k++ {
			if k > base {
				dst = append(dst, ',')
			}
			name := c.names[k]
			dst = append(c.appendString(dst, &c.doc.nodes[name]), ':')
			dst = c.append(dst, name+1)
		}
		c.names = c.names[:base]
		return append(dst, '}')
	}
	return append(dst, raw...)
}

// appendString: a string without an escape holds nothing that needs one.
func (c *canon) appendString(dst []byte, n *node) []byte {
	if !n.escaped {
		return append(dst, c.doc.src[n.start:n.end]...)
	}
	c.a = unescape(c.a[:0], c.doc.src[n.start+1:n.end-1])
	return appendText(dst, c.a)
}

// compare orders two name nodes by UTF-16 code units.
func (c *canon) compare(i, j uint32) int {
	x, y := &c.doc.nodes[i], &c.doc.nodes[j]
	a, b := c.doc.src[x.start+1:x.end-1], c.doc.src[y.start+1:y.end-1]
	if x.escaped {
		c.a = unescape(c.a[:0], a)
		a = c.a
	}
	if y.escaped {
		c.b = unescape(c.b[:0], b)
		b = c.b
	}
	return compareUTF16(a, b)
}

// compareUTF16 orders two UTF-8 texts by their UTF-16 code units. That is the
// order of their bytes, but that characters past U+FFFF, whose first byte is
// 0xF0 or more, come before U+E000 to U+FFFF, whose first byte is 0xEE or 0xEF.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// AppendString appends one string in canonical form, quotes included. s must be
// valid UTF-8.
func AppendString(dst []byte, s string) []byte { return appendText(dst, s) }

func appendText[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendNumber prints a number as ECMAScript does (RFC 8785, section 3.2.2.3).
func appendNumber(dst, raw []byte) []byte {
	if _, ok := small(raw); ok {
		return append(dst, raw...)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil { // Parse accepts no such number
		return append(dst, "null"...)
	}
	if f == 0 {
		return append(dst, '0')
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// ECMAScript writes e-7 where Go writes e-07.
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
