package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/glob"
	"countersign/internal/ijson"
)

// reader reads one file. It goes on after a fault, so that one run tells all of
// them; what it built is thrown away then.
type reader struct {
	problems []Problem
	dropped  int // problems past those that will be told

	lists map[string]*namedList

	// What was compiled before: one list may stand under thousands of tests.
	globSets map[string]*glob.Set // by the list's name
	judges   map[string]Judge     // by kind and operand as written
	patterns map[string]*regexp.Regexp
	program  int // instructions of all patterns
	entries  int // entries compiled into globs and judges
	jsonIn   int // json tests around the place being read
}

// namedList is a list with what tests make of it, made once.
type namedList struct {
	List
	at    place
	texts []string // nil where an entry is no text
	used  bool
}

// place is a value of the file and its pointer.
type place struct {
	v   ijson.Value
	ptr string
}

func (p place) member(name string) place {
	return place{p.v.Member(name), p.ptr + "/" + escapePointer(name)}
}

func (p place) element(v ijson.Value, i int) place {
	return place{v, p.ptr + "/" + strconv.Itoa(i)}
}

// keptProblems is when the problems found so far are cut to those that will be told.
const keptProblems = 16 * MaxProblems

func (r *reader) faultAt(offset int, ptr, format string, args ...any) {
	r.problems = append(r.problems, Problem{Offset: offset, Pointer: ptr, Msg: fmt.Sprintf(format, args...)})
	if len(r.problems) > keptProblems {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
		r.dropped += len(r.problems) - MaxProblems
		r.problems = r.problems[:MaxProblems]
	}
}

func (r *reader) fault(p place, format string, args ...any) {
	r.faultAt(p.v.Start(), p.ptr, format, args...)
}

// kindOf names a value's kind in a problem.
func kindOf(v ijson.Value) string {
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

// object says whether p is an object. Its unknown members and the needed ones
// that are missing are faults. What names the object in them.
func (r *reader) object(p place, what string, known []string, needed ...string) bool {
	if p.v.Kind() != ijson.Object {
		r.fault(p, "expected %s as an object, got %s", what, kindOf(p.v))
		return false
	}
	var meant []string // needed names that an unknown one was probably meant to be
	for n := range p.v.Members() {
		name := n.Text()
		if slices.Contains(known, name) {
			continue
		}
		if m := r.unknown(n, p, what, known); m != "" {
			meant = append(meant, m)
		}
	}
	for _, name := range needed {
		if !p.v.Member(name).Exists() && !slices.Contains(meant, name) {
			r.fault(p, "%s without %q, which it needs", what, name)
		}
	}
	return true
}

// unknown reports a member name that is not known and returns the one it was
// probably meant to be.
func (r *reader) unknown(name ijson.Value, p place, what string, known []string) string {
	word := name.Text()
	ptr := p.ptr + "/" + escapePointer(cut(word))
	if r.dropped > 0 { // enough told; what is left is only counted
		r.faultAt(name.Start(), ptr, "unknown member %s", quoted(word))
		return ""
	}
	r.faultAt(name.Start(), ptr, "unknown member %s of %s, %s", quoted(word), what, instead(word, known))
	return nearest(word, known)
}

// cut shortens an unknown name in a pointer.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxQuoted {
		return s
	}
	return string([]rune(s)[:maxQuoted]) + "…"
}

// text reads a text of 1 to most code points; false after a fault.
func (r *reader) text(p place, most int) (string, bool) {
	if p.v.Kind() != ijson.String {
		r.fault(p, "expected a text, got %s", kindOf(p.v))
		return "", false
	}
	s := p.v.Text()
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		r.fault(p, "an empty text, expected 1 to %d characters", most)
		return "", false
	case n > most:
		r.fault(p, "a text of %d characters, expected at most %d", n, most)
		return "", false
	}
	return s, true
}

// isName says whether s can name a file, a rule or a list.
func isName(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

const nameForm = "1 to 64 of a-z 0-9 . _ -, the first a letter or digit"

func (r *reader) name(p place) string {
	if p.v.Kind() != ijson.String {
		r.fault(p, "expected a text, got %s", kindOf(p.v))
		return ""
	}
	s := p.v.Text()
	if !isName(s) {
		r.fault(p, "%s is no name, expected %s", quoted(s), nameForm)
	}
	return s
}

// whole reads a whole number from least to most.
func (r *reader) whole(p place, least, most int64) (int64, bool) {
	n, ok := p.v.Int()
	if !ok {
		got := kindOf(p.v)
		if p.v.Kind() == ijson.Number {
			got = quoted(string(p.v.Raw()))
		}
		r.fault(p, "expected a whole number from %d to %d, got %s", least, most, got)
		return 0, false
	}
	if n < least || n > most {
		r.fault(p, "%d, expected a whole number from %d to %d", n, least, most)
		return 0, false
	}
	return n, true
}

func (r *reader) bool(p place) (value, ok bool) {
	switch p.v.Kind() {
	case ijson.True:
		return true, true
	case ijson.False:
		return false, true
	}
	r.fault(p, "expected true or false, got %s", kindOf(p.v))
	return false, false
}

// list says whether p is a list of 1 to most entries.
func (r *reader) list(p place, of string, most int) bool {
	if p.v.Kind() != ijson.Array {
		r.fault(p, "expected a list of %s, got %s", of, kindOf(p.v))
		return false
	}
	return r.size(p, of, most)
}

func (r *reader) size(p place, of string, most int) bool {
	switch n := p.v.Len(); {
	case n == 0:
		r.fault(p, "an empty list, expected 1 to %d %s", most, of)
		return false
	case n > most:
		r.fault(p, "a list of %d, expected 1 to %d %s", n, most, of)
		return false
	}
	return true
}

// once reports an entry that stands twice in a list.
func (r *reader) once(seen map[Scalar]int, s Scalar, p place, i int) bool {
	if first, ok := seen[s]; ok {
		r.fault(p, "a repeated entry, the same as number %d of this list", first+1)
		return false
	}
	seen[s] = i
	return true
}

// scalar reads a JSON scalar; false where v is a list or an object.
func scalar(v ijson.Value) (Scalar, bool) {
	switch v.Kind() {
	case ijson.String:
		return Scalar{Type: TypeString, Text: v.Text()}, true
	case ijson.Number:
		f := v.Float()
		if f == 0 {
			f = 0 // -0 is 0
		}
		return Scalar{Type: TypeNumber, Number: f}, true
	case ijson.True, ijson.False:
		return Scalar{Type: TypeBoolean, Bool: v.Bool()}, true
	case ijson.Null:
		return Scalar{Type: TypeNull}, true
	}
	return Scalar{}, false
}

// reference is the list that a text "@name" stands for; named says whether the
// value is such a text at all, ok whether there is such a list.
func (r *reader) reference(p place) (l *namedList, named, ok bool) {
	if p.v.Kind() != ijson.String {
		return nil, false, false
	}
	name, at := strings.CutPrefix(p.v.Text(), "@")
	if !at {
		return nil, false, false
	}
	if l := r.lists[name]; l != nil {
		l.used = true
		return l, true, true
	}
	names := make([]string, 0, len(r.lists))
	for n := range r.lists {
		names = append(names, n)
	}
	slices.Sort(names)
	hint := ""
	if n := nearest(name, names); n != "" {
		hint = fmt.Sprintf(", did you mean %q?", "@"+n)
	}
	r.fault(p, "no list %s in this file%s; a text that begins with @ is written in a list: [%s]",
		quoted("@"+name), hint, quoted("@"+name))
	return nil, true, false
}
