package ijson

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value is a place in a Doc. The zero Value is absent: it has no kind, no bytes
// and no members, and may be asked for all of them.
type Value struct {
	doc *Doc
	i   uint32
}

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Exists says whether there is a value.
func (v Value) Exists() bool { return v.doc != nil }

// Kind is the value's kind, 0 when absent.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return 0
	}
	return v.node().kind
}

// Raw is the value's own bytes, a part of the text that was parsed.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.src[n.start:n.end:n.end]
}

// Start is the byte offset of the value's first byte in the text.
func (v Value) Start() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().start)
}

// End is the byte offset behind the value's last byte.
func (v Value) End() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().end)
}

// Len is the number of members of an Object or elements of an Array, else 0.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().size)
}

// Bytes is the text of a String: a part of the parsed text where no escape
// stands in it, else decoded into scratch[:0]. It is nil for other kinds.
func (v Value) Bytes(scratch []byte) []byte {
	if v.Kind() != String {
		return nil
	}
	n := v.node()
	inside := v.doc.src[n.start+1 : n.end-1 : n.end-1]
	if !n.escaped {
		return inside
	}
	return unescape(scratch[:0], inside)
}

// Text is the text of a String, "" for other kinds.
func (v Value) Text() string { return string(v.Bytes(nil)) }

// Is says whether the value is a String with exactly this text.
func (v Value) Is(s string) bool {
	var b [64]byte
	return v.Kind() == String && string(v.Bytes(b[:])) == s
}

// Bool is whether the value is true.
func (v Value) Bool() bool { return v.Kind() == True }

// Float is a Number's value, NaN for other kinds. Read exactly (without
// Options.Doubles), two numbers are equal, or one the larger, just as their
// floats are.
func (v Value) Float() float64 {
	if v.Kind() != Number {
		return math.NaN()
	}
	raw := v.Raw()
	if n, ok := small(raw); ok {
		return float64(n)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// small reads a whole number of at most 15 digits; "-0" is left to ParseFloat.
func small(raw []byte) (n int64, ok bool) {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 15 || digits[0] == '0' && len(raw) > 1 {
		return 0, false
	}
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) != len(raw) {
		n = -n
	}
	return n, true
}

// maxInt is the largest whole number that a double and its neighbours tell
// apart (RFC 7493, section 2.2).
const maxInt = 1<<53 - 1

// Int is the value of a Number that is a whole number, however spelt, within
// ±(2^53-1).
func (v Value) Int() (int64, bool) {
	f := v.Float()
	if f != math.Trunc(f) || math.Abs(f) > maxInt { // also when NaN
		return 0, false
	}
	return int64(f), true
}

// Member is an Object's member of exactly this name, or absent.
func (v Value) Member(name string) Value {
	for n, m := range v.Members() {
		if n.Is(name) {
			return m
		}
	}
	return Value{}
}

// Members gives an Object's names, as Strings, and values in their order.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, value Value) bool) {
		if v.Kind() != Object {
			return
		}
		nodes := v.doc.nodes
		for i, end := v.i+1, nodes[v.i].next; i < end; i = nodes[i+1].next {
			if !yield(Value{v.doc, i}, Value{v.doc, i + 1}) {
				return
			}
		}
	}
}

// Elements gives an Array's elements in their order.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		nodes := v.doc.nodes
		for i, end := v.i+1, nodes[v.i].next; i < end; i = nodes[i].next {
			if !yield(Value{v.doc, i}) {
				return
			}
		}
	}
}

// Depth is the number of levels of lists and objects in a value, 0 for one that is
// neither. The bound of the reader bounds its recursion.
func (v Value) Depth() int {
	d := 0
	switch v.Kind() {
	case Object:
		for _, m := range v.Members() {
			d = max(d, m.Depth())
		}
	case Array:
		for e := range v.Elements() {
			d = max(d, e.Depth())
		}
	default:
		return 0
	}
	return d + 1
}

// Pointer finds the value a JSON pointer (RFC 6901) names, absent when there is
// none. An error says that ptr is no pointer.
func (v Value) Pointer(ptr string) (Value, error) {
	if ptr == "" {
		return v, nil
	}
	if ptr[0] != '/' {
		return Value{}, fmt.Errorf("the pointer %q does not begin with a slash", ptr)
	}
	for seg := range strings.SplitSeq(ptr[1:], "/") {
		for i := strings.IndexByte(seg, '~'); i >= 0; {
			if i+1 >= len(seg) || seg[i+1] != '0' && seg[i+1] != '1' {
				return Value{}, fmt.Errorf("the pointer %q has a ~ that is not ~0 or ~1", ptr)
			}
			k := strings.IndexByte(seg[i+2:], '~')
			if k < 0 {
				break
			}
			i += 2 + k
		}
		seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
		switch v.Kind() {
		case Object:
			v = v.Member(seg)
		case Array:
			v = v.element(seg)
		default:
			v = Value{}
		}
	}
	return v, nil
}

// element is the element whose index seg spells as RFC 6901 has it.
func (v Value) element(seg string) Value {
	n, err := strconv.Atoi(seg)
	if err != nil || strconv.Itoa(n) != seg || n < 0 || n >= v.Len() {
		return Value{}
	}
	for e := range v.Elements() {
		if n == 0 {
			return e
		}
		n--
	}
	return Value{}
}

// Position gives an offset's line and column, both from 1; the column counts
// code points.
func Position(src []byte, offset int) (line, column int) {
	before := src[:min(max(offset, 0), len(src))]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// FoldName gives every name that Unicode's simple case folding takes for the
// same one text, so that "ſ" and "S", the Kelvin sign and "k" are alike.
func FoldName(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}
