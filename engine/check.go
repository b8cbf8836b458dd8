package engine

import (
	"bytes"
	"math"
	"unicode/utf8"
	"unsafe"

	"countersign/internal/glob"
	"countersign/internal/ijson"
	"countersign/internal/looks"
	"countersign/internal/verdict"
	"countersign/rules"
)

// kinds is a set of kinds of JSON values.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject

	kindScalar = kindNull | kindBool | kindNumber | kindString
	kindAll    = kindScalar | kindArray | kindObject
)

// kindTable is kindOf as a table.
var kindTable = [256]kinds{
	ijson.Null: kindNull, ijson.True: kindBool, ijson.False: kindBool, ijson.Number: kindNumber,
	ijson.String: kindString, ijson.Array: kindArray, ijson.Object: kindObject,
}

func kindOf(k ijson.Kind) kinds { return kindTable[k] }

// outcome is a result of one check on one value: the four results, and that the
// check cannot be applied to a value of this kind, which selections take apart.
type outcome uint8

const (
	fails     = outcome(verdict.Fails)
	holds     = outcome(verdict.Holds)
	absent    = outcome(verdict.Absent)
	cannot    = outcome(verdict.CannotJudge)
	wrongKind = cannot + 1
)

func held(b bool) outcome {
	if b {
		return holds
	}
	return fails
}

// check is a compiled test of section 3.
type check struct {
	src     *rules.Check
	operand ijson.Value // as it stands in the rules file
	fold    bool
	// applies are the kinds the check can be applied to.
	applies kinds

	whole   bool           // OfType: whole numbers are of the type
	types   kinds          // OfType: the kinds asked for, numbers of any value among them
	values  *scalarSet     // Is, OneOf
	texts   *textSet       // Contains, StartsWith, EndsWith
	globs   *glob.Set      // Like
	pattern *pattern       // Matches, Finds
	names   map[string]int // OnlyMembers, HasMembers: each name's number
	typed   rules.Judge    // Path, URL, Command, Email
	inner   *condition     // JSON
	known   *looks.Names   // JSON: the names of inner
}

// scalarSet is the entries of an is or a oneOf.
type scalarSet struct {
	kinds   kinds // of the entries
	texts   map[string]bool
	numbers map[float64]bool
	bools   [2]bool  // false, true
	few     []string // the texts, where they are at most fewTexts
}

// textSet is the texts of a contains, startsWith or endsWith, folded where they
// are compared so. Of many texts an automaton is made for each test that uses
// them.
type textSet struct {
	texts          []string
	in, begin, end *words
}

// fewTexts is up to how many texts are looked for one by one: that is quicker
// than an automaton, which goes over the text byte by byte.
const fewTexts = 4

// prepare makes what a kind of test needs.
func (s *textSet) prepare(kind rules.CheckKind) {
	if len(s.texts) <= fewTexts {
		return
	}
	switch {
	case kind == rules.Contains && s.in == nil:
		s.in = automatonOf(s.texts, maxCells)
	case kind == rules.StartsWith && s.begin == nil:
		s.begin = trieOf(s.texts, maxCells)
	case kind == rules.EndsWith && s.end == nil:
		s.end = trieOf(reversedAll(s.texts), maxCells)
	}
}

func (s *textSet) contained(text []byte) bool {
	if s.in != nil {
		return s.in.in(text)
	}
	for _, t := range s.texts {
		if bytes.Contains(text, []byte(t)) {
			return true
		}
	}
	return false
}

func (s *textSet) begins(text []byte) bool {
	if s.begin != nil {
		return s.begin.begins(text, false)
	}
	for _, t := range s.texts {
		if len(text) >= len(t) && string(text[:len(t)]) == t {
			return true
		}
	}
	return false
}

func (s *textSet) ends(text []byte) bool {
	if s.end != nil {
		return s.end.begins(text, true)
	}
	for _, t := range s.texts {
		if len(text) >= len(t) && string(text[len(text)-len(t):]) == t {
			return true
		}
	}
	return false
}

// subject is one value that checks are held against. Its text is decoded once
// and folded once, whatever the number of checks.
type subject struct {
	v      ijson.Value
	kind   kinds
	text   []byte
	form   []byte // folded
	texted bool
	formed bool
}

func (j *judging) text(s *subject) []byte {
	if !s.texted {
		s.text, s.texted = textOf(s.v, &j.decoded), true
	}
	return s.text
}

// compared is the text in the form the check compares.
func (j *judging) compared(s *subject, fold bool) []byte {
	if !fold {
		return j.text(s)
	}
	if !s.formed {
		s.form, s.formed = j.folded(j.text(s), &j.form), true
	}
	return s.form
}

// view is b as a string, without a copy. Nothing writes to b while the string
// is looked at, and nobody who is given it keeps it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// judge holds one check against one value. why is a short reason of a judge of
// typed tests, never with the value.
func (j *judging) judge(k *check, s *subject) (o outcome, why string) {
	if k.applies&s.kind == 0 {
		return wrongKind, ""
	}
	switch k.src.Kind {
	case rules.OfType:
		return held(k.types&s.kind != 0 || k.whole && s.kind == kindNumber && isWhole(s.v.Float())), ""
	case rules.Is, rules.OneOf:
		return held(j.among(k, s)), ""
	case rules.Contains:
		return held(k.texts.contained(j.compared(s, k.fold))), ""
	case rules.StartsWith:
		return held(k.texts.begins(j.compared(s, k.fold))), ""
	case rules.EndsWith:
		return held(k.texts.ends(j.compared(s, k.fold))), ""
	case rules.Like:
		return held(k.globs.Match(view(j.compared(s, k.fold)))), ""
	case rules.Matches, rules.Finds:
		return held(k.pattern.match(j.text(s))), ""
	case rules.Length:
		n := int64(s.v.Len())
		if s.kind == kindString {
			n = int64(utf8.RuneCount(j.text(s)))
		}
		return held(n >= k.src.Bounds.Min && (k.src.Bounds.Max < 0 || n <= k.src.Bounds.Max)), ""
	case rules.Above:
		return held(s.v.Float() > k.src.Number), ""
	case rules.AtLeast:
		return held(s.v.Float() >= k.src.Number), ""
	case rules.Below:
		return held(s.v.Float() < k.src.Number), ""
	case rules.AtMost:
		return held(s.v.Float() <= k.src.Number), ""
	case rules.OnlyMembers:
		for n := range s.v.Members() {
			if j.number(k, n) < 0 {
				return fails, ""
			}
		}
		return holds, ""
	case rules.HasMembers:
		return held(j.hasAll(k, s.v)), ""
	case rules.Path, rules.URL, rules.Email, rules.Command:
		if s.kind == kindArray {
			words, ok := appendWords(nil, s.v)
			if !ok {
				return cannot, "a list with something other than texts in it"
			}
			return argv(k, words)
		}
		r, why := k.typed.Judge(view(j.text(s)))
		return outcome(r), why
	case rules.JSON:
		return j.inside(k, s, nil)
	}
	return cannot, "" // New lets no other kind in
}

// argv holds a command test against one list of words.
func argv(k *check, words []string) (outcome, string) {
	judge, ok := k.typed.(argvJudge)
	if !ok {
		return cannot, "a list, which this test does not judge"
	}
	r, why := judge.JudgeArgv(words)
	return outcome(r), why
}

// appendWords appends the texts of a list, or the one text that v is; ok is false
// where it is neither.
func appendWords(words []string, v ijson.Value) (_ []string, ok bool) {
	if v.Kind() == ijson.String {
		return append(words, v.Text()), true
	}
	if v.Kind() != ijson.Array {
		return words, false
	}
	for e := range v.Elements() {
		if e.Kind() != ijson.String {
			return words, false
		}
		words = append(words, e.Text())
	}
	return words, true
}

// inside holds the condition of a json test against the JSON in a text. Its four
// results are taken over.
func (j *judging) inside(k *check, s *subject, n *ConditionTrace) (outcome, string) {
	if j.nested == len(j.inner) {
		return cannot, "json tests are nested too deep" // the reader of rules lets none be
	}
	doc := &j.inner[j.nested]
	text := bytes.Clone(j.text(s))
	// The tests inside use the scratch memory that the text may stand in.
	s.texted, s.formed = false, false
	j.large = j.large || len(text) > maxKept/maxNodeSize
	if err := doc.Parse(text, ijson.Options{}); err != nil {
		return cannot, "no strict JSON"
	}
	if k.known.Alike(doc.Root()) != "" {
		return cannot, "a member's name only looks like one the test knows"
	}
	j.nested++
	r := j.condition(k.inner, doc.Root(), n)
	j.nested--
	why := ""
	if r != verdict.Holds {
		why = "the JSON in the text: " + r.String()
	}
	return outcome(r), why
}

// maxNodeSize is about how many bytes reading JSON takes for a byte of it, at most.
const maxNodeSize = 16

// among: is the value one of the entries?
func (j *judging) among(k *check, s *subject) bool {
	switch s.kind {
	case kindString:
		text := j.compared(s, k.fold)
		if k.values.few == nil {
			return k.values.texts[string(text)]
		}
		for _, t := range k.values.few {
			if t == string(text) {
				return true
			}
		}
		return false
	case kindNumber:
		return k.values.numbers[s.v.Float()]
	case kindBool:
		if s.v.Bool() {
			return k.values.bools[1]
		}
		return k.values.bools[0]
	}
	return true // null, which is an entry or the kind would be wrong
}

// number is a member name's place among the names of an onlyMembers or
// hasMembers, -1 where it is none of them.
func (j *judging) number(k *check, name ijson.Value) int {
	text := textOf(name, &j.name)
	if k.fold {
		text = j.folded(text, &j.nameForm)
	}
	if n, ok := k.names[string(text)]; ok {
		return n
	}
	return -1
}

// hasAll: is there a member for each name? Folded, several members may be one
// name's.
func (j *judging) hasAll(k *check, object ijson.Value) bool {
	if object.Len() < len(k.names) {
		return false
	}
	if cap(j.seen) < len(k.names) {
		j.seen = make([]bool, len(k.names))
	}
	seen := j.seen[:len(k.names)]
	clear(seen)
	missing := len(k.names)
	for n := range object.Members() {
		if i := j.number(k, n); i >= 0 && !seen[i] {
			seen[i] = true
			missing--
		}
	}
	return missing == 0
}

func isWhole(f float64) bool { return f == math.Trunc(f) }
