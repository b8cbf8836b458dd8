package rules

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/ijson"
	"countersign/internal/pattern"
	"countersign/internal/problem"
)

// check reads the operand of one test.
func (r *reader) check(c *Check, p place) {
	switch c.Kind {
	case Present:
		c.Present, _ = r.Bool(p)
	case OfType:
		r.types(c, p)
	case Is:
		s, ok := scalar(p.Value)
		if !ok {
			hint := ""
			if p.Value.Kind() == ijson.Array {
				hint = "; for one of several write oneOf"
			}
			r.Fault(p, "expected a text, a number, true, false or null, got %s%s", problem.KindOf(p.Value), hint)
			return
		}
		c.Values = []Scalar{s}
	case OneOf:
		r.oneOf(c, p)
	case Contains, StartsWith, EndsWith:
		o := r.texts(p, "texts")
		c.Texts, c.List = o.texts, o.list
		if r.fold {
			r.stays(o)
		}
	case Like:
		o := r.texts(p, "globs")
		c.Texts, c.List = o.texts, o.list
		c.Globs, c.folded = r.globs(o), r.fold
	case Matches, Finds:
		r.pattern(c, p)
	case Length:
		r.length(c, p)
	case Above, AtLeast, Below, AtMost:
		if c.Number = math.NaN(); p.Value.Kind() != ijson.Number {
			r.Fault(p, "expected a number, got %s", problem.KindOf(p.Value))
			return
		}
		s, _ := scalar(p.Value)
		c.Number = s.Number
	case OnlyMembers, HasMembers:
		r.memberNames(c, p)
	case JSON:
		r.jsonCondition(c, p)
	case Path:
		r.path(c, p)
	case URL:
		r.url(c, p)
	case Command:
		r.command(c, p)
	case Email:
		r.email(c, p)
	}
}

// together checks what the members of one test mean to each other.
func (r *reader) together(p place, t *Test) {
	has := func(kinds ...CheckKind) bool {
		return slices.ContainsFunc(t.Checks, func(c Check) bool { return slices.Contains(kinds, c.Kind) })
	}
	if has(Present) {
		at := p.Member("present")
		if k := t.Select.Kind; k != Arg && k != "" {
			r.Fault(at, "present beside %q, expected it beside \"arg\"", k)
		}
		if len(t.Checks) > 1 || t.Fold {
			r.Fault(at, "present beside other tests, expected it alone; put the others into a condition of their own")
		}
	}
	if t.Fold {
		at := p.Member("fold")
		switch {
		case has(Matches, Finds):
			r.Fault(at, "fold beside matches or finds, expected (?i) at the start of the pattern")
		case !has(Is, OneOf, Contains, StartsWith, EndsWith, Like, OnlyMembers, HasMembers, Present) && t.Select.Named == nil:
			r.Fault(at, "fold with nothing to fold, expected it beside is, oneOf, contains, startsWith, endsWith, like, onlyMembers, hasMembers or named")
		}
	}
	if t.Select.Kind == Argv && slices.ContainsFunc(t.Checks, func(c Check) bool { return c.Kind != Command }) {
		r.Fault(p.Member("argv"), "argv beside another test than command, expected command alone")
	}
}

// bounds compares the bounds of a test: some number must lie between them.
func (r *reader) bounds(p place, t *Test) {
	var low, high *Check
	for i := range t.Checks {
		c := &t.Checks[i]
		switch c.Kind {
		case Above, AtLeast:
			if math.IsNaN(c.Number) { // reported already
				return
			}
			if low == nil || c.Number > low.Number || c.Number == low.Number && c.Kind == Above {
				low = c
			}
		case Below, AtMost:
			if math.IsNaN(c.Number) {
				return
			}
			if high == nil || c.Number < high.Number || c.Number == high.Number && c.Kind == Below {
				high = c
			}
		}
	}
	if low == nil || high == nil {
		return
	}
	open := low.Kind == Above || high.Kind == Below
	if low.Number < high.Number || low.Number == high.Number && !open {
		return
	}
	second := high
	if low.Offset > high.Offset {
		second = low
	}
	name := string(second.Kind)
	r.Fault(p.Member(name), "%s %s and %s %s: no number is both; expected the upper bound over the lower",
		low.Kind, number(low.Number), high.Kind, number(high.Number))
}

// number spells a number of a file in a problem.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (r *reader) types(c *Check, p place) {
	known := []string{"string", "number", "integer", "boolean", "null", "object", "array"}
	one := func(at place, s string, prefix string) {
		if !slices.Contains(known, s) {
			r.Fault(at, "%s%s is no type, %s", prefix, problem.Quoted(s), problem.Instead(s, known))
			return
		}
		c.Types = append(c.Types, Type(s))
	}
	if p.Value.Kind() == ijson.String && !isReference(p.Value) {
		one(p, p.Value.Text(), "")
		return
	}
	o := r.texts(p, "types")
	c.List = o.list
	for i, s := range o.texts {
		at, prefix := o.place(i)
		one(at, s, prefix)
	}
}

func (r *reader) oneOf(c *Check, p place) {
	if p.Value.Kind() == ijson.String {
		l, named, ok := r.reference(p)
		if !named {
			r.Fault(p, `expected a list or "@name" of one, got a text; for one value write is`)
		}
		if ok {
			c.Values, c.List = l.Values, l.Name
		}
		return
	}
	if !r.List(p, "values", MaxEntries) {
		return
	}
	seen := map[Scalar]int{}
	c.Values = make([]Scalar, 0, p.Value.Len())
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		s, ok := scalar(v)
		if !ok {
			r.Fault(at, "expected a text, a number, true, false or null, got %s", problem.KindOf(v))
		} else if r.once(seen, s, at, i) {
			c.Values = append(c.Values, s)
		}
		i++
	}
}

// operand is one text or a list of texts, standing in place or as "@name".
type operand struct {
	texts []string
	list  string // the list's name
	at    place
	kept  []int // of a list in place: where each of texts stands in it
}

// place is where problems of the i-th text are put, and what begins them.
func (o operand) place(i int) (at place, prefix string) {
	switch {
	case o.list != "":
		return o.at, fmt.Sprintf("entry %d of @%s: ", i+1, o.list)
	case o.at.Value.Kind() == ijson.Array:
		k := 0
		for v := range o.at.Value.Elements() {
			if k == o.kept[i] {
				return o.at.Element(v, k), ""
			}
			k++
		}
	}
	return o.at, ""
}

func isReference(v ijson.Value) bool {
	return v.Kind() == ijson.String && strings.HasPrefix(v.Text(), "@")
}

// texts reads one text or a list of them, none empty, none twice.
func (r *reader) texts(p place, of string) operand {
	o := operand{at: p}
	switch p.Value.Kind() {
	case ijson.String:
		l, named, ok := r.reference(p)
		switch {
		case ok:
			o.list = l.Name
			o.texts = r.listTexts(l, p, of)
		case !named && p.Value.Text() == "":
			r.Fault(p, "an empty text, expected %s that say something", of)
		case !named:
			o.texts = []string{p.Value.Text()}
		}
	case ijson.Array:
		if !r.List(p, of, MaxEntries) {
			return o
		}
		seen := map[Scalar]int{}
		i := 0
		for v := range p.Value.Elements() {
			if s, ok := r.entry(p.Element(v, i), "a text", seen, i); ok {
				o.texts, o.kept = append(o.texts, s), append(o.kept, i)
			}
			i++
		}
	default:
		r.Fault(p, `expected a text, a list of %s or "@name" of one, got %s`, of, problem.KindOf(p.Value))
	}
	return o
}

// listTexts gives a list's texts for a test of texts.
func (r *reader) listTexts(l *namedList, p place, of string) []string {
	for i, v := range l.Values {
		if v.Type != TypeString {
			r.Fault(p, "entry %d of @%s is a number, expected %s", i+1, l.Name, of)
			return nil
		}
		if v.Text == "" {
			r.Fault(p, "entry %d of @%s is an empty text, expected %s that say something", i+1, l.Name, of)
			return nil
		}
	}
	return l.texts
}

// stays reports the texts of which folding leaves nothing: every text would hold
// them.
func (r *reader) stays(o operand) {
	var gone []int
	if l := r.lists[o.list]; l != nil && l.goneSet {
		gone = l.gone
	} else {
		for i, t := range o.texts {
			if r.folder.Text(t) == "" {
				gone = append(gone, i)
			}
		}
		if l != nil {
			l.gone, l.goneSet = gone, true
		}
	}
	for _, i := range gone {
		at, prefix := o.place(i)
		r.Fault(at, "%snothing is left of this text once it is folded, so every text would hold it; expected a character that is seen", prefix)
	}
}

func (r *reader) pattern(c *Check, p place) {
	if p.Value.Kind() != ijson.String {
		hint := ""
		if p.Value.Kind() == ijson.Array {
			hint = "; join several with |"
		}
		r.Fault(p, "expected one pattern as a text, got %s%s", problem.KindOf(p.Value), hint)
		return
	}
	c.Pattern = p.Value.Text()
	if c.Pattern == "" {
		r.Fault(p, "an empty pattern")
		return
	}
	key := string(c.Kind) + " " + c.Pattern
	size, err := pattern.Size(c.Pattern)
	c.program = size
	if re, ok := r.patterns[key]; ok {
		c.Regexp = re
		return
	}
	if err != nil {
		r.Fault(p, "%s", patternFault(err))
		return
	}
	if r.program += size; size > pattern.MaxSize || r.program > pattern.MaxTotal {
		r.Fault(p, "a pattern that compiles to over %d steps, or all of the file to over %d; expected smaller counts", pattern.MaxSize, pattern.MaxTotal)
		return
	}
	compile := regexp.Compile
	if c.Kind == Matches {
		compile = wholePattern
	}
	re, err := compile(c.Pattern)
	if err != nil {
		r.Fault(p, "%s", patternFault(err))
		return
	}
	exercise(re)
	c.Regexp, r.patterns[key] = re, re
}

func (r *reader) length(c *Check, p place) {
	c.Bounds = Bounds{Min: 0, Max: -1}
	if !r.Object(p, "length", []string{"atLeast", "atMost"}) {
		return
	}
	low, high := p.Member("atLeast"), p.Member("atMost")
	if !low.Value.Exists() && !high.Value.Exists() {
		if p.Value.Len() == 0 {
			r.Fault(p, `length without a bound, expected "atLeast", "atMost" or both`)
		}
		return
	}
	const most = 1<<53 - 1
	sound := true
	if low.Value.Exists() {
		c.Bounds.Min, sound = r.Whole(low, 0, most)
	}
	if high.Value.Exists() {
		max, ok := r.Whole(high, 0, most)
		c.Bounds.Max = max
		if sound && ok && max < c.Bounds.Min {
			second := high
			if low.Value.Start() > high.Value.Start() {
				second = low
			}
			r.Fault(second, "atLeast %d and atMost %d: no length is both; expected the upper bound over the lower", c.Bounds.Min, max)
		}
	}
}

func (r *reader) memberNames(c *Check, p place) {
	if p.Value.Kind() == ijson.String && !isReference(p.Value) {
		r.Fault(p, `expected a list of member names or "@name" of one, got a text; write [%s]`, problem.Quoted(p.Value.Text()))
		return
	}
	if p.Value.Kind() == ijson.Array {
		c.Names = r.named(p)
		return
	}
	o := r.texts(p, "member names")
	if len(o.texts) == 0 {
		return
	}
	c.List = o.list
	for i, s := range o.texts {
		if !soundName(s) {
			at, prefix := o.place(i)
			r.Fault(at, "%s%v", prefix, errNoSuchName)
		}
	}
	c.Names = o.texts
}

func (r *reader) jsonCondition(c *Check, p place) {
	if r.jsonIn == MaxJSONNested {
		r.Fault(p, "a json test inside %d others, expected at most %d, one inside the other", r.jsonIn, MaxJSONNested)
		return
	}
	r.jsonIn++
	defer func() { r.jsonIn-- }()
	c.JSON = r.condition(p)
}
