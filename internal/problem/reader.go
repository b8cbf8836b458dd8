package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/ijson"
)

// Place is a value of a file and its pointer.
type Place struct {
	Value   ijson.Value
	Pointer string
}

// Member is the place of an object's member, also of one that is not there.
func (p Place) Member(name string) Place {
	return Place{p.Value.Member(name), p.Pointer + "/" + EscapePointer(name)}
}

// Element is the place of a list's element v, which is number i.
func (p Place) Element(v ijson.Value, i int) Place {
	return Place{v, p.Pointer + "/" + strconv.Itoa(i)}
}

// EscapePointer spells a name as a segment of a JSON pointer.
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// Reader gathers the faults of one file. It goes on after a fault, so that one
// run tells all of them. The zero Reader is ready.
type Reader struct {
	Problems []Problem
	// Nearest, where set, guesses the name that an unknown member was meant to
	// be, in place of the package's own.
	Nearest func(word string, known []string) string

	dropped int // problems past those that will be told
}

// kept is when the problems found so far are cut to those that will be told.
const kept = 16 * Max

// FaultAt notes a fault at a byte offset.
func (r *Reader) FaultAt(offset int, pointer, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{Offset: offset, Pointer: pointer, Msg: fmt.Sprintf(format, args...)})
	if len(r.Problems) > kept {
		slices.SortStableFunc(r.Problems, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
		r.dropped += len(r.Problems) - Max
		r.Problems = r.Problems[:Max]
	}
}

// Fault notes a fault at a place.
func (r *Reader) Fault(p Place, format string, args ...any) {
	r.FaultAt(p.Value.Start(), p.Pointer, format, args...)
}

// Settle gives what was gathered, settled (see [Settle]).
func (r *Reader) Settle(file string, src []byte) List {
	return Settle(file, src, r.Problems, r.dropped)
}

// KindOf names a value's kind in a problem.
func KindOf(v ijson.Value) string {
	switch v.Kind() {
	case ijson.Null:
		return "null"
	case ijson.True:
		return "true"
	case ijson.False:
		return "false"
	case ijson.Number:
		return "a number"
	case ijson.String:
		return "a text"
	case ijson.Array:
		return "a list"
	case ijson.Object:
		return "an object"
	}
	return "nothing"
}

// Object says whether p is an object. Members that are not known and needed ones
// that are missing are faults. What names the object in them.
func (r *Reader) Object(p Place, what string, known []string, needed ...string) bool {
	if p.Value.Kind() != ijson.Object {
		r.Fault(p, "expected %s as an object, got %s", what, KindOf(p.Value))
		return false
	}
	var meant []string // needed names that an unknown one was probably meant to be
	for n := range p.Value.Members() {
		if name := n.Text(); !slices.Contains(known, name) {
			meant = append(meant, r.unknown(n, name, p, what, known))
		}
	}
	for _, name := range needed {
		if !p.Value.Member(name).Exists() && !slices.Contains(meant, name) {
			r.Fault(p, "%s without %q, which it needs", what, name)
		}
	}
	return true
}

// unknown reports a member that is not known and returns the name it was
// probably meant to be.
func (r *Reader) unknown(at ijson.Value, name string, p Place, what string, known []string) string {
	short := name
	if utf8.RuneCountInString(name) > maxQuoted {
		short = string([]rune(name)[:maxQuoted]) + "…"
	}
	pointer := p.Pointer + "/" + EscapePointer(short)
	if r.dropped > 0 { // enough told; what is left is only counted
		r.FaultAt(at.Start(), pointer, "unknown member %s", Quoted(name))
		return ""
	}
	guess := Nearest
	if r.Nearest != nil {
		guess = r.Nearest
	}
	n := guess(name, known)
	if n == "" {
		r.FaultAt(at.Start(), pointer, "unknown member %s of %s, expected %s", Quoted(name), what, OneOf(known))
	} else {
		r.FaultAt(at.Start(), pointer, "unknown member %s of %s, did you mean %q?", Quoted(name), what, n)
	}
	return n
}

// Text reads a text of 1 to most code points; ok is false after a fault.
func (r *Reader) Text(p Place, most int) (s string, ok bool) {
	if p.Value.Kind() != ijson.String {
		r.Fault(p, "expected a text, got %s", KindOf(p.Value))
		return "", false
	}
	s = p.Value.Text()
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		r.Fault(p, "an empty text, expected 1 to %d characters", most)
		return "", false
	case n > most:
		r.Fault(p, "a text of %d characters, expected at most %d", n, most)
		return "", false
	}
	return s, true
}

// Whole reads a whole number from least to most.
func (r *Reader) Whole(p Place, least, most int64) (n int64, ok bool) {
	if n, ok = p.Value.Int(); !ok {
		got := KindOf(p.Value)
		if p.Value.Kind() == ijson.Number {
			got = Quoted(string(p.Value.Raw()))
		}
		r.Fault(p, "expected a whole number from %d to %d, got %s", least, most, got)
		return 0, false
	}
	if n < least || n > most {
		r.Fault(p, "%d, expected a whole number from %d to %d", n, least, most)
		return 0, false
	}
	return n, true
}

// Bool reads true or false.
func (r *Reader) Bool(p Place) (value, ok bool) {
	switch p.Value.Kind() {
	case ijson.True:
		return true, true
	case ijson.False:
		return false, true
	}
	r.Fault(p, "expected true or false, got %s", KindOf(p.Value))
	return false, false
}

// List says whether p is a list of 1 to most entries.
func (r *Reader) List(p Place, of string, most int) bool {
	if p.Value.Kind() != ijson.Array {
		r.Fault(p, "expected a list of %s, got %s", of, KindOf(p.Value))
		return false
	}
	switch n := p.Value.Len(); {
	case n == 0:
		r.Fault(p, "an empty list, expected 1 to %d %s", most, of)
		return false
	case n > most:
		r.Fault(p, "a list of %d, expected 1 to %d %s", n, most, of)
		return false
	}
	return true
}
