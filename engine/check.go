package engine

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
	"unsafe"

	"countersign/internal/glob"
	"countersign/internal/ijson"
	"countersign/internal/looks"
	"countersign/internal/pathtext"
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

// compiler turns what the rules say into what is judged, sharing what stands in
// several rules.
type compiler struct {
	folder   folder
	scalars  map[scalarKey]*scalarSet
	texts    map[textKey]*textSet
	globs    map[textKey]*glob.Set
	patterns map[*regexp.Regexp]*pattern
	left     tables
	anchors  *anchors
	disk     pathtext.Disk
	// Of the rule being compiled, its text and its pointer in the file.
	rule        ijson.Value
	rulePointer string
	selections  map[string]*selection
}

// A named list is one slice wherever it is used, so its first entry's address
// tells it.
type scalarKey struct {
	first *rules.Scalar
	n     int
	fold  bool
}

type textKey struct {
	first *string
	n     int
	fold  bool
}

func newCompiler() *compiler {
	return &compiler{scalars: map[scalarKey]*scalarSet{}, texts: map[textKey]*textSet{}, globs: map[textKey]*glob.Set{},
		patterns: map[*regexp.Regexp]*pattern{}, left: tables{maxTables, maxTableWork}, anchors: newAnchors(), selections: map[string]*selection{}}
}

func (c *compiler) check(src *rules.Check, fold bool) (check, error) {
	k := check{src: src, fold: fold}
	var err error
	if k.operand, err = c.operand(src); err != nil {
		return k, err
	}
	switch src.Kind {
	case rules.Present:
		k.applies = kindAll
	case rules.OfType:
		k.applies = kindAll
		k.types, k.whole, err = typeKinds(src.Types)
	case rules.Is, rules.OneOf:
		k.values, err = c.scalarSet(src.Values, fold)
		if err == nil {
			k.applies = k.values.kinds
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith:
		k.applies = kindString
		if k.texts, err = c.textSet(src.Texts, fold); err == nil {
			k.texts.prepare(src.Kind)
		}
	case rules.Like:
		k.applies = kindString
		k.globs, err = c.globSet(src, fold)
	case rules.Matches, rules.Finds:
		k.applies, k.fold = kindString, false
		if src.Regexp == nil {
			err = fmt.Errorf("a pattern that is not compiled")
			break
		}
		if k.pattern = c.patterns[src.Regexp]; k.pattern == nil {
			k.pattern = patternOf(src.Pattern, src.Regexp, &c.left)
			c.patterns[src.Regexp] = k.pattern
		}
	case rules.Length:
		k.applies = kindString | kindArray | kindObject
	case rules.Above, rules.AtLeast, rules.Below, rules.AtMost:
		k.applies = kindNumber
	case rules.OnlyMembers, rules.HasMembers:
		k.applies = kindObject
		k.names = make(map[string]int, len(src.Names))
		for _, n := range src.Names {
			if fold {
				n = c.folder.text(n)
			}
			if _, known := k.names[n]; !known {
				k.names[n] = len(k.names)
			}
		}
	case rules.Path, rules.URL, rules.Email:
		k.applies, k.fold = kindString, false
		k.typed, err = c.judge(src)
	case rules.Command:
		k.applies, k.fold = kindString|kindArray, false
		k.typed, err = c.judge(src)
	case rules.JSON:
		k.applies, k.fold = kindString, false
		k.inner, err = c.condition(src.JSON)
		if err == nil && k.inner == nil {
			err = fmt.Errorf("a test of no condition")
		}
		if err == nil {
			k.known, err = k.inner.known()
		}
	default:
		err = fmt.Errorf("an unknown test %q", src.Kind)
	}
	if err != nil {
		return k, fmt.Errorf("%s: %w", src.Pointer, err)
	}
	return k, nil
}

// judge is a check's judge of texts; one that follows links is given the disk.
func (c *compiler) judge(src *rules.Check) (rules.Judge, error) {
	if src.Judge == nil {
		return nil, fmt.Errorf("a test without its judge")
	}
	if p, ok := src.Judge.(*pathtext.Judge); ok && p.Operand().Resolve == pathtext.OnDisk {
		if c.disk == nil {
			return nil, fmt.Errorf(`a path test with "resolve": "disk", and no disk is given`)
		}
		return p.WithDisk(c.disk), nil
	}
	return src.Judge, nil
}

// argvJudge is a judge that takes a list of words too.
type argvJudge interface {
	JudgeArgv(words []string) (verdict.Result, string)
}

// operand finds a test's operand in the text of the file being compiled.
func (c *compiler) operand(src *rules.Check) (ijson.Value, error) {
	under, ok := strings.CutPrefix(src.Pointer, c.rulePointer)
	v, err := c.rule.Pointer(under)
	if !ok || err != nil || !v.Exists() {
		return v, fmt.Errorf("%s: no test stands there in the file", src.Pointer)
	}
	return v, nil
}

// maxOperand is how much of an operand is told, in bytes: more than stands on a
// line of a rules file.
const maxOperand = 300

// operandText is a check's operand as it stands in the file, without its layout: a
// named list is its name and no more.
func (k *check) operandText() string {
	b := ijson.AppendCanonical(nil, k.operand)
	if len(b) <= maxOperand {
		return string(b)
	}
	n := maxOperand
	for !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "…"
}

func typeKinds(types []rules.Type) (k kinds, whole bool, err error) {
	for _, t := range types {
		switch t {
		case rules.TypeString:
			k |= kindString
		case rules.TypeNumber:
			k |= kindNumber
		case rules.TypeInteger:
			whole = true
		case rules.TypeBoolean:
			k |= kindBool
		case rules.TypeNull:
			k |= kindNull
		case rules.TypeObject:
			k |= kindObject
		case rules.TypeArray:
			k |= kindArray
		default:
			return 0, false, fmt.Errorf("an unknown type %q", t)
		}
	}
	return k, whole, nil
}

func (c *compiler) scalarSet(values []rules.Scalar, fold bool) (*scalarSet, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("a test of no values")
	}
	key := scalarKey{&values[0], len(values), fold}
	if s := c.scalars[key]; s != nil {
		return s, nil
	}
	s := &scalarSet{texts: map[string]bool{}, numbers: map[float64]bool{}}
	for _, v := range values {
		switch v.Type {
		case rules.TypeString:
			s.kinds |= kindString
			if fold {
				v.Text = c.folder.text(v.Text)
			}
			if !s.texts[v.Text] {
				s.texts[v.Text] = true
				s.few = append(s.few, v.Text)
			}
		case rules.TypeNumber, rules.TypeInteger:
			s.kinds |= kindNumber
			s.numbers[v.Number] = true
		case rules.TypeBoolean:
			s.kinds |= kindBool
			if v.Bool {
				s.bools[1] = true
			} else {
				s.bools[0] = true
			}
		case rules.TypeNull:
			s.kinds |= kindNull
		default:
			return nil, fmt.Errorf("an entry that is no scalar")
		}
	}
	if len(s.few) > fewTexts {
		s.few = nil
	}
	c.scalars[key] = s
	return s, nil
}

func (c *compiler) textSet(texts []string, fold bool) (*textSet, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("a test of no texts")
	}
	key := textKey{&texts[0], len(texts), fold}
	if s := c.texts[key]; s != nil {
		return s, nil
	}
	s := &textSet{texts: texts}
	if fold {
		s.texts = make([]string, len(texts))
		for i, t := range texts {
			s.texts[i] = c.folder.text(t)
		}
	}
	for i, t := range s.texts {
		if t == "" {
			return nil, fmt.Errorf("text %d has nothing left once it is folded, so every text would hold it", i+1)
		}
	}
	c.texts[key] = s
	return s, nil
}

func (c *compiler) globSet(src *rules.Check, fold bool) (*glob.Set, error) {
	if !fold {
		if src.Globs == nil {
			return nil, fmt.Errorf("globs that are not compiled")
		}
		return src.Globs, nil
	}
	if len(src.Texts) == 0 {
		return nil, fmt.Errorf("a test of no globs")
	}
	key := textKey{&src.Texts[0], len(src.Texts), fold}
	if s := c.globs[key]; s != nil {
		return s, nil
	}
	s, err := glob.NewSet(src.Texts, glob.Options{Fold: c.folder.text})
	if err != nil {
		return nil, err
	}
	c.globs[key] = s
	return s, nil
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
		j.form = j.folder.append(j.form[:0], j.text(s))
		s.form, s.formed = j.form, true
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
		j.nameForm = j.folder.append(j.nameForm[:0], text)
		text = j.nameForm
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
