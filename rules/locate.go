package rules

import (
	"strconv"
	"strings"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// frame is one list or object around a place in a text.
type frame struct {
	object  bool
	wantKey bool // an object: a name comes next
	name    string
	index   int
	names   map[string]bool // an object's names so far
}

// locate finds the pointer of the place at offset in a text that may be broken
// there, but is JSON before it. Where a name begins at offset, the pointer is that of
// its member, and repeated says whether the name stood in its object before.
func locate(src []byte, offset int) (pointer string, repeated bool) {
	var stack []frame
	var b strings.Builder
	top := func() *frame {
		if len(stack) == 0 {
			return &frame{}
		}
		return &stack[len(stack)-1]
	}
	i := 0
	for i < offset && i < len(src) {
		switch c := src[i]; c {
		case '{', '[':
			stack = append(stack, frame{object: c == '{', wantKey: c == '{'})
		case '}', ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		case ',':
			t := top()
			t.wantKey = t.object
			t.index++
		case '"':
			end := stringEnd(src, i)
			if t := top(); t.wantKey {
				if end > offset { // the fault is in this name
					i = offset
					continue
				}
				t.wantKey = false
				t.name = decode(src[i:end])
				if t.names == nil {
					t.names = map[string]bool{}
				}
				t.names[t.name] = true
			}
			i = end
			continue
		}
		i++
	}
	if t := top(); t.wantKey && offset < len(src) && src[offset] == '"' {
		t.wantKey = false
		t.name = decode(src[offset:stringEnd(src, offset)])
		repeated = t.names[t.name]
	}
	for _, f := range stack {
		switch {
		case !f.object:
			b.WriteString("/" + strconv.Itoa(f.index))
		case !f.wantKey:
			b.WriteString("/" + problem.EscapePointer(f.name))
		}
	}
	return b.String(), repeated
}

// stringEnd is the offset behind the string that begins at i, at most the text's end.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

// decode is the text of a string in quotes, as it stands where it is no sound string.
func decode(raw []byte) string {
	d, err := ijson.Parse(raw, ijson.Options{})
	if err != nil {
		return strings.ToValidUTF8(strings.Trim(string(raw), `"`), "\uFFFD")
	}
	return d.Root().Text()
}

// withoutMember is a copy of src in which the member whose name begins at offset,
// and the comma before it, are blank. The member must be sound and not its
// object's first.
func withoutMember(src []byte, offset int) []byte {
	from := offset
	for from > 0 && src[from] != ',' {
		from--
	}
	i, depth := stringEnd(src, offset), 0
scan:
	for i < len(src) {
		switch src[i] {
		case '"':
			i = stringEnd(src, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				break scan
			}
			depth--
		case ',':
			if depth == 0 {
				break scan
			}
		}
		i++
	}
	out := append([]byte(nil), src...)
	for k := from; k < i; k++ {
		if out[k] != '\n' {
			out[k] = ' '
		}
	}
	return out
}
