package ijson

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Kind says what a value is; its value is the first byte of the value's usual
// spelling, with '0' for every number.
type Kind byte

const (
	Null   Kind = 'n'
	False  Kind = 'f'
	True   Kind = 't'
	Number Kind = '0'
	String Kind = '"'
	Array  Kind = '['
	Object Kind = '{'
)

// DefaultDepth is the most levels of arrays and objects where Options names none:
// the bound of a call (content rules, section 6).
const DefaultDepth = 64

// maxBytes keeps offsets in 31 bits. No message, file or line the project reads
// comes near it.
const maxBytes = math.MaxInt32

// Options say how strictly to read.
type Options struct {
	// Depth is the most levels of arrays and objects; a scalar alone has none.
	// 0 means DefaultDepth.
	Depth int
	// Doubles accepts every number that is finite as an IEEE double, as results
	// from a server are read. Otherwise a number must be exact.
	Doubles bool
	// AnyName accepts NUL and noncharacters in member names, as the published
	// record format does.
	AnyName bool
}

// Error says where a text stops being I-JSON and why. Msg holds no text of the
// input, so it can be logged and sent.
type Error struct {
	Offset int // bytes from the start
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Msg) }

// node is the place of one value, or of a member's name, which stands just
// before its value.
type node struct {
	start, end uint32 // in src
	next       uint32 // the node after this value and all it holds
	size       uint32 // members or elements
	kind       Kind
	escaped    bool // a String with a backslash in it
}

// Doc is one JSON text and the places of its values. The zero Doc is ready for
// Parse, which may be called again and again and reuses the Doc's memory. A
// parsed Doc is only read, so any number of goroutines may look at it.
type Doc struct {
	src   []byte
	nodes []node
	stack []uint32 // the open containers, outermost first
	names nameSet
}

// Parse reads src, which must be exactly one JSON value, white space around it
// allowed. The Doc keeps src; neither may change while its Values are in use.
// An error is an *Error; the Doc then holds nothing.
func (d *Doc) Parse(src []byte, o Options) error {
	d.src, d.nodes, d.stack = src, d.nodes[:0], d.stack[:0]
	err := d.parse(o)
	if err != nil {
		d.nodes = d.nodes[:0]
		return err
	}
	return nil
}

// Parse is Doc.Parse into a new Doc.
func Parse(src []byte, o Options) (*Doc, error) {
	d := new(Doc)
	if err := d.Parse(src, o); err != nil {
		return nil, err
	}
	return d, nil
}

// Root is the whole value, or the absent Value where nothing is parsed.
func (d *Doc) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}

func fault(at int, msg string) *Error { return &Error{at, msg} }

const (
	msgEnd       = "the text ends inside a value"
	msgValue     = "expected a JSON value"
	msgUTF8      = "invalid UTF-8"
	msgControl   = "a control character inside a string, expected its escape"
	msgEscape    = "an escape that JSON does not know"
	msgSurrogate = "half a surrogate pair"
	msgRepeated  = "a member name stands twice in one object"
	msgName      = "a member name holds NUL or a noncharacter"
	msgNumber    = "not a JSON number"
	msgExact     = "a number that an IEEE double does not hold exactly as written; the whole numbers every reader agrees on end at 9007199254740991, anything longer goes in as text"
	msgFinite    = "a number beyond what an IEEE double holds"
)

func (d *Doc) parse(o Options) error {
	depth := o.Depth
	if depth <= 0 {
		depth = DefaultDepth
	}
	s := d.src
	if len(s) > maxBytes {
		return fault(maxBytes, "the text is larger than any this reader takes")
	}
	if len(s) >= 3 && s[0] == 0xEF && s[1] == 0xBB && s[2] == 0xBF {
		return fault(0, "a byte-order mark")
	}
	i := skip(s, 0)
	for {
		// A value begins at i.
		if i >= len(s) {
			return fault(i, msgEnd)
		}
		at := i
		switch c := s[i]; {
		case c == '"':
			end, escaped, err := scanString(s, i)
			if err != nil {
				return err
			}
			d.leaf(String, at, end, escaped)
			i = end
		case c == '{' || c == '[':
			if len(d.stack) == depth {
				return fault(at, fmt.Sprintf("nested deeper than %d levels", depth))
			}
			d.stack = append(d.stack, uint32(len(d.nodes)))
			d.nodes = append(d.nodes, node{start: uint32(at), kind: Kind(c)})
			i = skip(s, i+1)
			if i < len(s) && s[i] == c+2 { // ']' and '}' stand two behind '[' and '{'
				d.close(i + 1)
				i++
				break
			}
			if c == '{' {
				var err error
				if i, err = d.name(i, o.AnyName); err != nil {
					return err
				}
			}
			continue
		case c == '-' || '0' <= c && c <= '9':
			end, err := scanNumber(s, i, o.Doubles)
			if err != nil {
				return err
			}
			d.leaf(Number, at, end, false)
			i = end
		case c == 't' && literal(s[i:], "true"):
			d.leaf(True, at, i+4, false)
			i += 4
		case c == 'n' && literal(s[i:], "null"):
			d.leaf(Null, at, i+4, false)
			i += 4
		case c == 'f' && literal(s[i:], "false"):
			d.leaf(False, at, i+5, false)
			i += 5
		default:
			return fault(at, msgValue)
		}
		// A value has ended: go on in the container around it, closing those that end here.
		more := false
		for len(d.stack) > 0 && !more {
			top := &d.nodes[d.stack[len(d.stack)-1]]
			top.size++
			i = skip(s, i)
			if i >= len(s) {
				return fault(i, msgEnd)
			}
			switch {
			case s[i] == ',':
				i = skip(s, i+1)
				if top.kind == Object {
					var err error
					if i, err = d.name(i, o.AnyName); err != nil {
						return err
					}
				}
				more = true
			case s[i] == byte(top.kind)+2:
				if top.kind == Object && top.size > 1 {
					if at := d.repeated(d.stack[len(d.stack)-1]); at >= 0 {
						return fault(at, msgRepeated)
					}
				}
				i++
				d.close(i)
			case top.kind == Object:
				return fault(i, "expected a comma or the end of the object")
			default:
				return fault(i, "expected a comma or the end of the list")
			}
		}
		if more {
			continue
		}
		if i = skip(s, i); i < len(s) {
			return fault(i, "something stands behind the value")
		}
		return nil
	}
}

func (d *Doc) leaf(k Kind, start, end int, escaped bool) {
	d.nodes = append(d.nodes, node{start: uint32(start), end: uint32(end), next: uint32(len(d.nodes) + 1), kind: k, escaped: escaped})
}

// close ends the innermost container at offset end.
func (d *Doc) close(end int) {
	n := &d.nodes[d.stack[len(d.stack)-1]]
	n.end, n.next = uint32(end), uint32(len(d.nodes))
	d.stack = d.stack[:len(d.stack)-1]
}

// name reads a member's name and colon at i and returns where its value begins.
func (d *Doc) name(i int, any bool) (int, error) {
	s := d.src
	if i >= len(s) {
		return i, fault(i, msgEnd)
	}
	if s[i] != '"' {
		return i, fault(i, "expected a member name in quotes")
	}
	end, escaped, err := scanString(s, i)
	if err != nil {
		return i, err
	}
	d.leaf(String, i, end, escaped)
	if !any && !soundName(s[i+1:end-1], escaped) {
		return i, fault(i, msgName)
	}
	i = skip(s, end)
	if i >= len(s) {
		return i, fault(i, msgEnd)
	}
	if s[i] != ':' {
		return i, fault(i, "expected a colon behind a member name")
	}
	return skip(s, i+1), nil
}

// soundName refuses NUL and noncharacters in a name; control characters other
// than NUL may stand there, escaped.
func soundName(raw []byte, escaped bool) bool {
	if !escaped {
		ascii := true
		for _, c := range raw {
			ascii = ascii && c < utf8.RuneSelf
		}
		if ascii {
			return true
		}
	} else {
		raw = unescape(nil, raw)
	}
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == 0 || r&0xFFFE == 0xFFFE || 0xFDD0 <= r && r <= 0xFDEF {
			return false
		}
		raw = raw[n:]
	}
	return true
}

func skip(s []byte, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

func literal(s []byte, word string) bool { return len(s) >= len(word) && string(s[:len(word)]) == word }

// scanString reads the string that begins with the quote at s[i] and returns the
// offset behind its closing quote.
func scanString(s []byte, i int) (end int, escaped bool, err error) {
	i++
	for {
		if i = scanPlain(s, i); i >= len(s) {
			return i, escaped, fault(i, msgEnd)
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			if i, err = scanEscape(s, i); err != nil {
				return i, escaped, err
			}
		case c < 0x20:
			return i, escaped, fault(i, msgControl)
		default:
			r, n := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && n <= 1 {
				return i, escaped, fault(i, msgUTF8)
			}
			i += n
		}
	}
}

// scanPlain returns the offset of the first byte from i on that is not plain:
// printable ASCII but quote and backslash. It looks at eight bytes at a time: in
// stop, the lowest byte with its high bit set is the first that is not plain, as
// a subtraction borrows upwards only.
func scanPlain(s []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(s) {
		w := binary.LittleEndian.Uint64(s[i:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		stop := (w | (w - ones*0x20) | (quote - ones) | (backslash - ones)) & high
		if stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
		i += 8
	}
	for i < len(s) && s[i] >= 0x20 && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

func scanEscape(s []byte, i int) (int, error) {
	if i+1 >= len(s) {
		return i, fault(len(s), msgEnd)
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
	default:
		return i, fault(i, msgEscape)
	}
	u, ok := hex4(s, i+2)
	if !ok {
		return i, fault(i, msgEscape)
	}
	switch {
	case u < 0xD800 || u > 0xDFFF:
		return i + 6, nil
	case u > 0xDBFF || i+8 > len(s) || s[i+6] != '\\' || s[i+7] != 'u':
		return i, fault(i, msgSurrogate)
	}
	if v, ok := hex4(s, i+8); !ok || v < 0xDC00 || v > 0xDFFF {
		return i, fault(i, msgSurrogate)
	}
	return i + 12, nil
}

func hex4(s []byte, i int) (v rune, ok bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[i:i+4]), 16, 16)
	return rune(n), err == nil
}

// scanNumber reads the number at s[i] by the grammar of RFC 8259 and returns the
// offset behind it.
func scanNumber(s []byte, i int, doubles bool) (int, error) {
	at := i
	if s[i] == '-' {
		i++
	}
	digits := i
	switch {
	case i < len(s) && s[i] == '0':
		i++
	case i < len(s) && '1' <= s[i] && s[i] <= '9':
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	default:
		return at, fault(at, msgNumber)
	}
	whole := i - digits
	point, exp := false, false
	if i < len(s) && s[i] == '.' {
		point = true
		i++
		first := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == first {
			return at, fault(at, msgNumber)
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		exp = true
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		first := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == first {
			return at, fault(at, msgNumber)
		}
	}
	if i < len(s) && (isDigit(s[i]) || s[i] == '.') { // 01, 1.2.3
		return at, fault(at, msgNumber)
	}
	// Fifteen digits always come back from a double as they went in.
	if whole <= 15 && !point && !exp || point && !exp && i-digits <= 16 {
		return i, nil
	}
	f, err := strconv.ParseFloat(string(s[at:i]), 64)
	if err != nil {
		return at, fault(at, msgFinite)
	}
	if !doubles && !exact(s[at:i], f) {
		return at, fault(at, msgExact)
	}
	return i, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// exact: is the decimal value of num that of the shortest text f prints?
func exact(num []byte, f float64) bool {
	var b [32]byte
	d1, e1 := decimal(num)
	d2, e2 := decimal(strconv.AppendFloat(b[:0], f, 'e', -1, 64))
	return e1 == e2 && string(d1) == string(d2)
}

// decimal gives a number's significant digits, without zeros at either end, and
// the power of ten of the first of them. Zero has no digits. The sign is left
// out: a number and its double always share it, but for -0, which equals 0.
func decimal(num []byte) (digits []byte, exp int) {
	if num[0] == '-' {
		num = num[1:]
	}
	digits = make([]byte, 0, len(num))
	point, i := 0, 0
	for seen := false; i < len(num) && num[i] != 'e' && num[i] != 'E'; i++ {
		switch {
		case num[i] == '.':
			seen = true
		default:
			digits = append(digits, num[i])
			if !seen {
				point++
			}
		}
	}
	if i < len(num) {
		e, err := strconv.Atoi(string(num[i+1:]))
		if err != nil { // past an int: only zero and what is no double have such
			e = 0
		}
		exp = e
	}
	lead := 0
	for lead < len(digits) && digits[lead] == '0' {
		lead++
	}
	end := len(digits)
	for end > lead && digits[end-1] == '0' {
		end--
	}
	if lead == end {
		return nil, 0
	}
	return digits[lead:end], exp + point - lead
}

// fewNames is where comparing every pair of names stops being the quickest way.
const fewNames = 8

// nameSet is scratch memory to find a repeated name among many. Its hash is
// seeded anew for each Doc, so no input can make its names collide on purpose.
type nameSet struct {
	seed  maphash.Seed
	slots []uint32 // name nodes + 1; 0 is free
	text  []byte
}

// repeated returns the offset of the first name of an object that stood in it
// before, or -1.
func (d *Doc) repeated(object uint32) int {
	n := d.nodes[object].size
	if n <= fewNames {
		var at [fewNames]uint32
		i := object + 1
		for k := range n {
			a := &d.nodes[i]
			for _, j := range at[:k] {
				b := &d.nodes[j]
				if (a.escaped || b.escaped || a.end-a.start == b.end-b.start) && d.sameText(i, j) {
					return int(a.start)
				}
			}
			at[k] = i
			i = d.nodes[i+1].next
		}
		return -1
	}
	t := &d.names
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	size := 32
	for size < int(n)*2 {
		size *= 2
	}
	if cap(t.slots) < size {
		t.slots = make([]uint32, size)
	}
	t.slots = t.slots[:size]
	clear(t.slots)
	i := object + 1
	for range n {
		a := &d.nodes[i]
		name := d.src[a.start+1 : a.end-1]
		if a.escaped {
			t.text = unescape(t.text[:0], name)
			name = t.text
		}
		h := maphash.Bytes(t.seed, name) & uint64(size-1)
		for ; t.slots[h] != 0; h = (h + 1) & uint64(size-1) {
			if d.sameText(i, t.slots[h]-1) {
				return int(a.start)
			}
		}
		t.slots[h] = i + 1
		i = d.nodes[i+1].next
	}
	return -1
}

// sameText: do two String nodes stand for the same text?
func (d *Doc) sameText(i, j uint32) bool {
	a, b := &d.nodes[i], &d.nodes[j]
	x, y := d.src[a.start+1:a.end-1], d.src[b.start+1:b.end-1]
	if a.escaped {
		x = unescape(nil, x)
	}
	if b.escaped {
		y = unescape(nil, y)
	}
	return string(x) == string(y)
}

// unescape appends the text of a string's inside, which scanString has accepted.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		switch c = raw[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(raw, i+2)
			i += 6
			if 0xD800 <= r && r <= 0xDBFF {
				low, _ := hex4(raw, i+2)
				r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
		i += 2
	}
	return dst
}
