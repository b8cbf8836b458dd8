package rulestest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"countersign/internal/ijson"
	"countersign/rules"
)

// The kinds of mutants: small changes that a test should notice.
const (
	KindNegated   = "negated"   // a condition holds where it did not
	KindBound     = "bound"     // a number or a length moved by one
	KindEntry     = "entry"     // an entry dropped from a list
	KindGlob      = "glob"      // a glob, or a folder, that takes in more
	KindSelection = "selection" // every and some changed over
	KindRemoved   = "removed"   // a rule taken out
	KindMode      = "mode"      // enforce and watch changed over
	KindNamed     = "named"     // named dropped
	KindFold      = "fold"      // fold changed over
)

// Kinds are the kinds of mutants in the order reports have them.
func Kinds() []string {
	return []string{KindNegated, KindBound, KindEntry, KindGlob, KindSelection, KindRemoved, KindMode, KindNamed, KindFold}
}

// change is one mutant: the new text of a rule, or of a named list.
type change struct {
	kind    string
	what    string // says the change
	pointer string // of the place in the file
	offset  int
	rules   []int  // the rules it changes, by their places in the set
	rule    string // text of the one rule, "" where it is taken out
	list    string // name of the list that is changed, with its text below
	entries string
}

// changes are all mutants of a file, in the order of its rules; those of named
// lists come last.
func (s *Suite) changes(w *written) []change {
	var out []change
	named := map[string]bool{}
	var lists []change
	for i, r := range s.rules {
		if s.ruleFiles[i] != w.file {
			continue
		}
		m := mutator{s: s, w: w, r: r, at: i, rule: w.at(r.Pointer)}
		out = append(out, m.all()...)
		for _, sl := range w.slots(r) {
			if sl.name == "" || named[sl.name] {
				continue
			}
			named[sl.name] = true
			lists = append(lists, s.listChanges(w, &sl)...)
		}
	}
	return append(out, lists...)
}

// mutator makes the mutants of one rule.
type mutator struct {
	s    *Suite
	w    *written
	r    *rules.Rule
	at   int
	rule ijson.Value
	out  []change
}

// put notes the mutant that has a text in the place of a value of the rule.
func (m *mutator) put(kind, pointer string, v ijson.Value, text, what string, args ...any) {
	src := m.w.file.Source
	start, end := m.rule.Start(), m.rule.End()
	rule := string(src[start:v.Start()]) + text + string(src[v.End():end])
	m.out = append(m.out, change{
		kind: kind, what: fmt.Sprintf(what, args...), pointer: pointer, offset: v.Start(), rules: []int{m.at}, rule: rule,
	})
}

func (m *mutator) all() []change {
	m.out = append(m.out, change{kind: KindRemoved, what: "the rule is taken out", pointer: m.r.Pointer, offset: m.r.Offset, rules: []int{m.at}})
	mode := "watch"
	if m.r.Watch {
		mode = "enforce"
	}
	m.put(KindMode, m.r.Pointer, m.rule, with(m.rule, "mode", quote(mode)), "the mode is %s", mode)
	m.w.eachCondition(m.r, func(c *rules.Condition, _ bool) { m.condition(c) })
	for _, sl := range m.w.slots(m.r) {
		if sl.cond != nil && sl.cond.Test != nil {
			if _, known := always(sl.cond); known {
				continue
			}
		}
		m.slot(&sl)
	}
	return m.out
}

func (m *mutator) condition(c *rules.Condition) {
	v := m.w.at(c.Pointer)
	if c.Not != nil {
		m.put(KindNegated, c.Pointer, v, raw(v.Member("not")), "the not is taken away")
	} else {
		m.put(KindNegated, c.Pointer, v, object("not", raw(v)), "the condition is negated")
	}
	for _, form := range []string{"all", "any"} {
		parts := v.Member(form)
		if parts.Len() < 2 {
			continue
		}
		for i := range parts.Len() {
			m.put(KindEntry, c.Pointer+"/"+form+"/"+strconv.Itoa(i), parts, without(parts, i), "part %d of %s is dropped", i+1, form)
		}
	}
	if c.Test != nil {
		m.test(c, v)
	}
}

func (m *mutator) test(c *rules.Condition, v ijson.Value) {
	switch kind := c.Test.Select.Kind; kind {
	case rules.Some, rules.Every:
		other := rules.Every
		if kind == rules.Every {
			other = rules.Some
		}
		p := pairs(v)
		for i := 0; i < len(p); i += 2 {
			if p[i] == string(kind) {
				p[i] = string(other)
			}
		}
		m.put(KindSelection, c.Pointer, v, object(p...), "%s is %s", kind, other)
	case rules.Argv:
		if l := v.Member("argv"); l.Len() > 1 {
			for i := range l.Len() {
				m.put(KindEntry, c.Pointer+"/argv/"+strconv.Itoa(i), l, without(l, i), "%s of argv is dropped", elementText(l, i))
			}
		}
	}
	if v.Member("named").Exists() {
		drop := with(v, "named", "")
		if c.Test.Fold && !foldsTexts(c.Test) {
			drop = dropMembers(v, "named", "fold")
		}
		m.put(KindNamed, c.Pointer+"/named", v, drop, "named is dropped")
	}
	if c.Test.Fold {
		m.put(KindFold, c.Pointer+"/fold", v, with(v, "fold", ""), "fold is dropped")
	} else if foldsTexts(c.Test) {
		m.put(KindFold, c.Pointer, v, with(v, "fold", "true"), "fold is added")
	}
	for i := range c.Test.Checks {
		m.bound(c, v, &c.Test.Checks[i])
		m.foldPattern(v, &c.Test.Checks[i])
	}
	if p := v.Member("path"); p.Exists() {
		if p.Member("fold").Bool() {
			m.put(KindFold, c.Pointer+"/path/fold", p, with(p, "fold", "false"), "the path's fold is false")
		} else {
			m.put(KindFold, c.Pointer+"/path", p, with(p, "fold", "true"), "the path's fold is true")
		}
	}
}

// foldPattern changes over how a pattern takes letter case, which (?i) says before
// it.
func (m *mutator) foldPattern(v ijson.Value, k *rules.Check) {
	if k.Kind != rules.Matches && k.Kind != rules.Finds {
		return
	}
	operand := v.Member(string(k.Kind))
	if flags, rest, ok := leadingFlags(k.Pattern); ok && strings.Contains(flags, "i") {
		if flags = strings.ReplaceAll(flags, "i", ""); flags != "" {
			flags = "(?" + flags + ")"
		}
		m.put(KindFold, k.Pointer, operand, quote(flags+rest), "(?i) is dropped")
	} else if strings.ContainsFunc(k.Pattern, unicode.IsLetter) {
		m.put(KindFold, k.Pointer, operand, quote("(?i)"+k.Pattern), "(?i) is added")
	}
}

// leadingFlags are the flags that a pattern begins with and that hold for all of it.
func leadingFlags(pattern string) (flags, rest string, ok bool) {
	rest, ok = strings.CutPrefix(pattern, "(?")
	if !ok {
		return "", pattern, false
	}
	flags, rest, ok = strings.Cut(rest, ")")
	if !ok || flags == "" || strings.Trim(flags, "imsU") != "" {
		return "", pattern, false
	}
	return flags, rest, true
}

// foldsTexts: has the test texts for fold to compare? Names of members alone are
// none: a name spelt in other letters is refused before any rule.
func foldsTexts(t *rules.Test) bool {
	texts := false
	for i := range t.Checks {
		switch k := &t.Checks[i]; k.Kind {
		case rules.Matches, rules.Finds:
			return false // fold is an error beside them
		case rules.Is, rules.OneOf:
			texts = texts || slices.ContainsFunc(k.Values, func(v rules.Scalar) bool { return v.Type == rules.TypeString })
		case rules.Contains, rules.StartsWith, rules.EndsWith, rules.Like:
			texts = true
		}
	}
	return texts
}

func dropMembers(v ijson.Value, names ...string) string {
	p := pairs(v)
	for i := 0; i < len(p); i += 2 {
		if slices.Contains(names, p[i]) {
			p[i+1] = ""
		}
	}
	return object(p...)
}

// stricter are the comparisons that differ at their bound alone.
var stricter = map[rules.CheckKind]rules.CheckKind{
	rules.Above: rules.AtLeast, rules.AtLeast: rules.Above, rules.Below: rules.AtMost, rules.AtMost: rules.Below,
}

func (m *mutator) bound(c *rules.Condition, v ijson.Value, k *rules.Check) {
	operand := v.Member(string(k.Kind))
	switch k.Kind {
	case rules.Above, rules.AtLeast, rules.Below, rules.AtMost:
		for _, by := range []float64{1, -1} {
			if n, ok := moved(raw(operand), by); ok {
				m.put(KindBound, k.Pointer, operand, n, "%s %s is %s", k.Kind, raw(operand), n)
			}
		}
		if other := stricter[k.Kind]; !v.Member(string(other)).Exists() {
			p := pairs(v)
			for i := 0; i < len(p); i += 2 {
				if p[i] == string(k.Kind) {
					p[i] = string(other)
				}
			}
			m.put(KindBound, k.Pointer, v, object(p...), "%s %s is %s", k.Kind, raw(operand), other)
		}
	case rules.Length:
		for _, name := range []string{"atLeast", "atMost"} {
			b := operand.Member(name)
			if !b.Exists() {
				continue
			}
			for _, by := range []float64{1, -1} {
				if n, ok := moved(raw(b), by); ok && !strings.HasPrefix(n, "-") {
					m.put(KindBound, k.Pointer+"/"+name, b, n, "length %s %s is %s", name, raw(b), n)
				}
			}
		}
	}
}

// moved is a number moved by one in its last written place.
func moved(text string, by float64) (string, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", false
	}
	places := 0
	if _, after, found := strings.Cut(text, "."); found && !strings.ContainsAny(text, "eE") {
		places = len(after)
	}
	to := strconv.FormatFloat(n+by*math.Pow10(-places), 'f', places, 64)
	if to == text || len(to) > 17 {
		return "", false // too large to move by one
	}
	if to == "-0" {
		to = "0"
	}
	return to, true
}

// slot drops the entries of a list that stands in place, and widens its globs.
func (m *mutator) slot(sl *slot) {
	if sl.name != "" {
		return
	}
	base := m.r.Pointer
	if sl.cond != nil {
		base = sl.cond.Pointer
	}
	base += "/" + sl.member
	if sl.sub != "" {
		base += "/" + sl.sub
	}
	if sl.list.Len() > 1 {
		for i := range sl.list.Len() {
			m.put(KindEntry, base+"/"+strconv.Itoa(i), sl.list, without(sl.list, i), "%s is dropped", elementText(sl.list, i))
		}
	}
	widenList(sl, sl.list, func(i int, from, to string) {
		m.put(KindGlob, base+"/"+strconv.Itoa(i), sl.list, replaced(sl.list, i, to), "%s is %s", from, to)
	})
}

// listChanges are the mutants of the named list that a slot uses: they change all
// rules that use it.
func (s *Suite) listChanges(w *written, sl *slot) []change {
	var of []int
	for i, r := range s.rules {
		if s.ruleFiles[i] == w.file && usesList(raw(w.at(r.Pointer)), sl.name) {
			of = append(of, i)
		}
	}
	pointer := w.file.Lists[sl.name].Pointer
	var out []change
	put := func(kind string, i int, text, what string) {
		out = append(out, change{
			kind: kind, what: what, pointer: pointer + "/" + strconv.Itoa(i), offset: sl.list.Start(),
			rules: of, list: sl.name, entries: text,
		})
	}
	if sl.list.Len() > 1 {
		for i := range sl.list.Len() {
			put(KindEntry, i, without(sl.list, i), elementText(sl.list, i)+" is dropped")
		}
	}
	widenList(sl, sl.list, func(i int, from, to string) {
		put(KindGlob, i, replaced(sl.list, i, to), from+" is "+to)
	})
	return out
}

func usesList(rule, name string) bool { return strings.Contains(rule, quote("@"+name)) }

// widenList gives for each entry of a list of globs or folders a wider one.
func widenList(sl *slot, l ijson.Value, put func(i int, from, to string)) {
	var wider func(string) []string
	switch {
	case sl.member == "tools":
		wider = func(s string) []string {
			if s == "*" || rules.IsMethod(s) {
				return nil
			}
			return []string{"*"}
		}
	case sl.member == "like":
		wider = widerText
	case sl.member == "path" && sl.sub == "under":
		wider = widerFolder
	case sl.member == "path", sl.member == "url" && sl.sub == "path":
		wider = widerPath
	case sl.member == "url" && sl.sub == "host":
		wider = func(s string) []string {
			if strings.HasPrefix(s, "**") {
				return nil
			}
			if rest, ok := strings.CutPrefix(s, "*."); ok {
				return []string{"**." + rest}
			}
			return []string{"**." + s}
		}
	case sl.member == "command" && sl.sub == "argv":
		i := 0
		for pattern := range l.Elements() {
			last := elementText(pattern, pattern.Len()-1)
			if last != `"**"` && pattern.Len() > 0 {
				to := strings.TrimSuffix(raw(pattern), "]") + `, "**"]`
				put(i, raw(pattern), to)
			}
			i++
		}
		return
	default:
		return
	}
	have := map[string]bool{}
	for e := range l.Elements() {
		have[e.Text()] = true
	}
	i := 0
	for e := range l.Elements() {
		if e.Kind() == ijson.String {
			for _, to := range wider(e.Text()) {
				if !have[to] {
					put(i, raw(e), quote(to))
				}
			}
		}
		i++
	}
}

// widerText widens a glob of texts at either end.
func widerText(s string) []string {
	var out []string
	if !strings.HasSuffix(s, "*") {
		out = append(out, s+"*")
	}
	if !strings.HasPrefix(s, "*") {
		out = append(out, "*"+s)
	}
	if i := strings.IndexByte(s, '?'); i >= 0 && !strings.Contains(s, `\`) {
		out = append(out, s[:i]+"*"+s[i+1:])
	}
	return out
}

// widerFolder is the folder above.
func widerFolder(s string) []string {
	i := strings.LastIndexAny(s, `/\`)
	switch {
	case i < 0 || s == "/":
		return nil
	case i == 0:
		return []string{"/"}
	case s[i-1] == ':' || s[i-1] == '/' || s[i-1] == '\\':
		return nil // a drive's root, or a share
	}
	return []string{s[:i]}
}

// widerPath widens a glob of paths: each * that is a segment crosses segments,
// and the last segment that says something takes more names.
func widerPath(s string) []string {
	segs := strings.Split(s, "/")
	var out []string
	join := func(i int, seg string) {
		c := slices.Clone(segs)
		c[i] = seg
		out = append(out, strings.Join(c, "/"))
	}
	for i, seg := range segs {
		if seg == "*" {
			join(i, "**")
		}
	}
	for i, seg := range slices.Backward(segs) {
		if seg != "**" && seg != "*" && seg != "" {
			if !strings.HasSuffix(seg, "*") {
				join(i, seg+"*")
			}
			break
		}
	}
	return out
}
