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

// walker goes through the tokens of a text that may be broken, and knows where it
// is as long as the text is JSON.
type walker struct {
	src   []byte
	at    int
	stack []frame
}

// next takes one token, or one byte between tokens. Where that is a member's name
// it says whether the name stood in its object before.
func (w *walker) next() (repeated bool) {
	top := &frame{}
	if n := len(w.stack); n > 0 {
		top = &w.stack[n-1]
	}
	switch c := w.src[w.at]; c {
	case '{', '[':
		w.stack = append(w.stack, frame{object: c == '{', wantKey: c == '{'})
	case '}', ']':
		if len(w.stack) > 0 {
			w.stack = w.stack[:len(w.stack)-1]
		}
	case ',':
		top.wantKey = top.object
		top.index++
	case '"':
		end := stringEnd(w.src, w.at)
		if top.wantKey {
			top.wantKey = false
			top.name = decode(w.src[w.at:end])
			if top.names == nil {
				top.names = map[string]bool{}
			}
			repeated = top.names[top.name]
			top.names[top.name] = true
		}
		w.at = end
		return repeated
	}
	w.at++
	return false
}

// pointer is that of the place the walker is at; of a member whose name it has
// taken, that of the member.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, f := range w.stack {
		switch {
		case !f.object:
			b.WriteString("/" + strconv.Itoa(f.index))
		case !f.wantKey:
			b.WriteString("/" + problem.EscapePointer(f.name))
		}
	}
	return b.String()
}

// locate finds the pointer of the place at offset in a text that may be broken
// there, but is JSON before it.
func locate(src []byte, offset int) string {
	w := walker{src: src}
	for w.at < offset && w.at < len(src) {
		if src[w.at] == '"' && stringEnd(src, w.at) > offset { // the fault is in this string
			break
		}
		w.next()
	}
	// Of a fault at a whole name, the member's.
	if w.at == offset && offset < len(src) && src[offset] == '"' && stringEnd(src, offset) < len(src) {
		w.next()
	}
	return w.pointer()
}

// repeat is a member whose name stood in its object before.
type repeat struct {
	offset  int // of its name
	pointer string
}

// repeats finds the repeated members of a text, at most most of them.
func repeats(src []byte, most int) (found []repeat) {
	w := walker{src: src}
	for w.at < len(src) && len(found) < most {
		at := w.at
		if w.next() {
			found = append(found, repeat{at, w.pointer()})
		}
	}
	return found
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

// blankMember makes the member whose name begins at offset in src, and the comma
// before it, blank in text, a copy of src. The member must not be its object's first.
func blankMember(text, src []byte, offset int) {
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
	for k := from; k < i; k++ {
		if text[k] != '\n' {
			text[k] = ' '
		}
	}
}
