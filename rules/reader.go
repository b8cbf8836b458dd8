package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"countersign/internal/casefold"
	"countersign/internal/celexpr"
	"countersign/internal/glob"
	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// reader reads one file. It goes on after a fault, so that one run tells all of
// them; what it built is thrown away then.
type reader struct {
	problem.Reader

	lists map[string]*namedList

	// What was compiled before: one list may stand under thousands of tests.
	globSets map[globKey]*glob.Set // by the list's name
	judges   map[string]Judge      // by kind and operand as written
	patterns map[string]*regexp.Regexp
	program  int  // instructions of all patterns
	entries  int  // entries compiled into globs and judges
	jsonIn   int  // json tests around the place being read
	required bool // the place being read stands in a require and under no not
	fold     bool // the test being read compares folded texts
	folder   casefold.Folder

	limits      Limits                      // of the file
	cel         *celexpr.Env                // nil before the first expression
	expressions map[string]*celexpr.Program // by their text
}

func newReader() *reader {
	return &reader{
		Reader:      problem.Reader{Nearest: nearest},
		lists:       map[string]*namedList{},
		globSets:    map[globKey]*glob.Set{},
		judges:      map[string]Judge{},
		patterns:    map[string]*regexp.Regexp{},
		limits:      DefaultLimits(),
		expressions: map[string]*celexpr.Program{},
	}
}

// place is a value of the file and its pointer.
type place = problem.Place

// namedList is a list with what tests make of it, made once.
type namedList struct {
	List
	at    place
	texts []string // nil where an entry is no text
	used  bool

	toldBlanks map[listUse]bool // uses whose blanks were warned of

	gone    []int // the texts of which folding leaves nothing
	goneSet bool
}

// globKey says which globs of a list are compiled.
type globKey struct {
	list string
	fold bool
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
	if p.Value.Kind() != ijson.String {
		r.Fault(p, "expected a text, got %s", problem.KindOf(p.Value))
		return ""
	}
	s := p.Value.Text()
	if !isName(s) {
		r.Fault(p, "%s is no name, expected %s", problem.Quoted(s), nameForm)
	}
	return s
}

// once reports an entry that stands twice in a list.
func (r *reader) once(seen map[Scalar]int, s Scalar, p place, i int) bool {
	if first, ok := seen[s]; ok {
		r.Fault(p, "a repeated entry, the same as number %d of this list", first+1)
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
	if p.Value.Kind() != ijson.String {
		return nil, false, false
	}
	name, at := strings.CutPrefix(p.Value.Text(), "@")
	if !at {
		return nil, false, false
	}
	if l := r.lists[name]; l != nil {
		l.used = true
		return l, true, true
	}
	hint := ""
	if n := nearest(name, sortedNames(r.lists)); n != "" {
		hint = fmt.Sprintf(", did you mean %q?", "@"+n)
	}
	r.Fault(p, "this file has no list %s%s (a text that begins with @ stands in a list: [%s])",
		problem.Quoted("@"+name), hint, problem.Quoted("@"+name))
	return nil, true, false
}

// sortedNames are the names of lists in their order.
func sortedNames(lists map[string]*namedList) []string { return slices.Sorted(maps.Keys(lists)) }
