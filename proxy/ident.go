package proxy

import (
	"strconv"

	"countersign/internal/ijson"
)

// maxID is the most bytes of an id as it is written. Ids are kept while their
// requests are open, and every known peer's fit many times over.
const maxID = 1024

// readID says whether a value may be a request's id: text, or a whole number
// that every reader agrees on. The key tells ids apart by type and value: "1"
// and 1 are two, 1 and 1.0 are one.
func readID(v ijson.Value) (key string, ok bool) {
	if v.End()-v.Start() > maxID {
		return "", false
	}
	switch v.Kind() {
	case ijson.String:
		return `"` + v.Text(), true
	case ijson.Number:
		n, ok := v.Int()
		return strconv.FormatInt(n, 10), ok
	}
	return "", false
}

// idFinder picks the id out of a text that cannot be read as a message, so that
// its sender need not wait for an answer in vain. It sees the text in pieces,
// keeps next to nothing of it, and gives an id only where the text has the
// outline of one object with exactly one member "id" in it.
//
// What it gives is used in error answers and nowhere else.
type idFinder struct {
	place  place
	depth  int  // open brackets, the outermost included
	quoted bool // inside a string
	escape bool // behind a backslash
	key    []byte
	value  []byte
	taking bool // the value of "id" is being read
	found  int
}

type place uint8

const (
	atStart  place = iota // before the object
	atName                // before a member name, or the end of the object
	inName                // in one
	atColon               // behind one
	atValue               // before a member's value
	inValue               // in one
	atComma               // behind a text or a bracket, before a comma
	atEnd                 // behind the object
	atBroken              // no outline of an object
)

func (f *idFinder) feed(piece []byte) {
	for _, c := range piece {
		if f.place == atBroken {
			return
		}
		f.step(c)
	}
}

func (f *idFinder) step(c byte) {
	if f.quoted {
		f.keep(c)
		switch {
		case f.escape:
			f.escape = false
		case c == '\\':
			f.escape = true
		case c == '"':
			f.quoted = false
			if f.depth == 1 {
				f.place++ // inName to atColon, inValue to atComma
			}
		}
		return
	}
	white := c == ' ' || c == '\t' || c == '\n' || c == '\r'
	if f.depth > 1 { // inside a member's value
		f.keep(c)
		switch c {
		case '"':
			f.quoted = true
		case '{', '[':
			f.depth++
		case '}', ']':
			if f.depth--; f.depth == 1 {
				f.place = atComma
			}
		}
		return
	}
	switch f.place {
	case atStart:
		switch {
		case white:
		case c == '{':
			f.depth, f.place = 1, atName
		default:
			f.place = atBroken
		}
	case atName:
		switch {
		case white:
		case c == '"':
			f.quoted, f.place, f.key = true, inName, f.key[:0]
		case c == '}':
			f.depth, f.place = 0, atEnd
		default:
			f.place = atBroken
		}
	case atColon:
		switch {
		case white:
		case c == ':':
			f.place = atValue
			if f.taking = string(f.key) == `id"`; f.taking {
				f.found++
				f.value = f.value[:0]
			}
		default:
			f.place = atBroken
		}
	case atValue:
		if white {
			return
		}
		f.place = inValue
		f.keep(c)
		switch c {
		case '"':
			f.quoted = true
		case '{', '[':
			f.depth++
		case '}', ']', ',', ':':
			f.place = atBroken
		}
	case inValue, atComma:
		switch {
		case c == ',':
			f.place, f.taking = atName, false
		case c == '}':
			f.depth, f.place, f.taking = 0, atEnd, false
		case white:
			f.place = atComma
		case f.place == inValue && c != '"' && c != ':' && c != '{' && c != '[' && c != ']':
			f.keep(c)
		default:
			f.place = atBroken
		}
	case atEnd:
		if !white {
			f.place = atBroken
		}
	}
}

// keep notes a byte of a member's name, or of the value of "id", up to a bound
// past which neither can be what is looked for.
func (f *idFinder) keep(c byte) {
	switch {
	case f.place == inName && len(f.key) < 4:
		f.key = append(f.key, c)
	case f.taking && f.place == inValue && len(f.value) <= maxID:
		f.value = append(f.value, c)
	}
}

// id is the id as it was written, nil where none could be made out.
func (f *idFinder) id() []byte {
	if f.place != atEnd || f.found != 1 {
		return nil
	}
	d, err := ijson.Parse(f.value, ijson.Options{Depth: 1})
	if err != nil {
		return nil
	}
	if _, ok := readID(d.Root()); !ok {
		return nil
	}
	return f.value
}

// findID is the id in a text that is at hand whole.
func findID(text []byte) []byte {
	var f idFinder
	f.feed(text)
	return f.id()
}
