package engine_test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/engine"
	"countersign/internal/casefold"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// This is the second engine: it reads a rules file and a call as decoded JSON and
// judges by the tables of sections 2 and 3 of the content rules, line by line,
// with no thought of speed. It shares nothing with the compiled one, the reader
// of rules included.

// plainOutcome is what the plain interpreter says of one rule.
type plainOutcome struct {
	id      string
	watch   bool
	outcome engine.Outcome
	code    engine.Code
}

type plainJudge struct {
	file          map[string]any
	values, steps int // left
}

type plainOver struct{}

// plainDecide judges a call by files, in order. Watching rules come behind all
// others; once a limit is passed nothing more is judged.
func plainDecide(files []map[string]any, tool string, arguments map[string]any) (out []plainOutcome) {
	var judges []*plainJudge
	for _, f := range files {
		j := &plainJudge{f, 100_000, 1_000_000}
		if l, ok := f["limits"].(map[string]any); ok {
			if n, ok := l["values"].(float64); ok {
				j.values = int(n)
			}
			if n, ok := l["steps"].(float64); ok {
				j.steps = int(n)
			}
		}
		judges = append(judges, j)
	}
	over := false
	for _, watch := range []bool{false, true} {
		for _, j := range judges {
			for _, r := range j.file["rules"].([]any) {
				r := r.(map[string]any)
				if (r["mode"] == "watch") != watch || !plainNames(r["tools"].([]any), tool) {
					continue
				}
				o := plainOutcome{id: r["id"].(string), watch: watch, outcome: engine.NotJudged}
				if !over {
					o.outcome, o.code = j.rule(r, arguments)
					over = o.code == engine.OverBudget
				}
				out = append(out, o)
			}
		}
	}
	return out
}

func plainNames(tools []any, tool string) bool {
	for _, t := range tools {
		if t := t.(string); t == tool || plainGlob(t, tool) {
			return true
		}
	}
	return false
}

func (j *plainJudge) rule(r map[string]any, args any) (o engine.Outcome, code engine.Code) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(plainOver); !ok {
				panic(p)
			}
			o, code = engine.Refuses, engine.OverBudget
		}
	}()
	if when, ok := r["when"]; ok {
		switch j.condition(when, args) {
		case "does not hold", "absent":
			return engine.NotApplied, ""
		case "cannot be judged":
			return engine.Refuses, engine.CannotJudge
		}
	}
	if c, ok := r["refuse"]; ok {
		switch j.condition(c, args) {
		case "holds":
			return engine.Refuses, engine.Condition
		case "cannot be judged":
			return engine.Refuses, engine.CannotJudge
		}
		return engine.Passes, ""
	}
	switch j.condition(r["require"], args) {
	case "holds":
		return engine.Passes, ""
	case "cannot be judged":
		return engine.Refuses, engine.CannotJudge
	}
	return engine.Refuses, engine.Condition
}

func (j *plainJudge) condition(c, args any) string {
	m := c.(map[string]any)
	if parts, ok := m["all"].([]any); ok {
		var rs []string
		for _, p := range parts {
			rs = append(rs, j.condition(p, args))
		}
		return firstOf(rs, "holds", "does not hold", "cannot be judged", "absent")
	}
	if parts, ok := m["any"].([]any); ok {
		var rs []string
		for _, p := range parts {
			rs = append(rs, j.condition(p, args))
		}
		return firstOf(rs, "does not hold", "holds", "cannot be judged", "absent")
	}
	if p, ok := m["not"]; ok {
		switch j.condition(p, args) {
		case "holds":
			return "does not hold"
		case "does not hold":
			return "holds"
		}
		return "cannot be judged"
	}
	return j.test(m, args)
}

// firstOf gives the first of the words that is among rs, else the one for none.
func firstOf(rs []string, none string, words ...string) string {
	for _, w := range words {
		if slices.Contains(rs, w) {
			return w
		}
	}
	return none
}

// leaf is a selected value and the member names on its way from the root.
type leaf struct {
	v     any
	names []string
}

func (j *plainJudge) test(m map[string]any, args any) string {
	how := ""
	for _, h := range []string{"arg", "some", "every"} {
		if _, ok := m[h]; ok {
			how = h
		}
	}
	pointer := m[how].(string)
	deep := strings.HasSuffix(pointer, "/**")
	names, _ := m["names"].(bool)
	fold, _ := m["fold"].(bool)

	var found []leaf
	walked := []leaf{{args, nil}}
	if pointer != "" {
		for _, seg := range strings.Split(pointer[1:], "/") {
			var next []leaf
			for _, l := range walked {
				next = append(next, plainStep(l, seg)...)
			}
			walked = next
		}
	}
	switch {
	case names:
		for _, l := range walked {
			if !deep {
				l = leaf{v: l.v}
				found = append(found, plainMemberNames(l.v)...)
			}
		}
		if deep { // as without it
			n := map[string]any{}
			for k, v := range m {
				n[k] = v
			}
			n[how] = strings.TrimSuffix(pointer, "/**")
			return j.test(n, args)
		}
	case deep:
		for _, l := range walked {
			if plainIsLeaf(l.v) && plainKept(m, l, fold) {
				found = append(found, l)
			}
		}
	default:
		found = walked
	}

	checks := 0
	for name := range m {
		switch name {
		case "arg", "some", "every", "named", "names", "fold":
		default:
			checks++
		}
	}
	j.values -= len(found)
	j.steps -= checks * max(1, len(found))
	if j.values < 0 || j.steps < 0 {
		panic(plainOver{})
	}

	if p, ok := m["present"].(bool); ok {
		if (len(found) > 0) == p {
			return "holds"
		}
		return "does not hold"
	}
	var rs []string
	for _, l := range found {
		r := j.value(m, l.v, fold)
		if r == "wrong kind" {
			switch {
			case !deep:
				r = "cannot be judged"
			case how == "some":
				continue // passed over
			case how == "every":
				r = "does not hold"
			}
		}
		rs = append(rs, r)
	}
	switch how {
	case "arg":
		if len(found) == 0 {
			return "absent"
		}
		return rs[0]
	case "some":
		return firstOf(rs, "does not hold", "holds", "cannot be judged", "absent")
	}
	if len(found) == 0 {
		return "does not hold"
	}
	return firstOf(rs, "holds", "does not hold", "cannot be judged", "absent")
}

func plainStep(l leaf, seg string) (out []leaf) {
	with := func(name string) []string { return append(slices.Clone(l.names), name) }
	if seg == "**" {
		out = append(out, l)
		switch v := l.v.(type) {
		case map[string]any:
			for k, e := range v {
				out = append(out, plainStep(leaf{e, with(k)}, seg)...)
			}
		case []any:
			for _, e := range v {
				out = append(out, plainStep(leaf{e, l.names}, seg)...)
			}
		}
		return out
	}
	name := plainSegment(seg)
	switch v := l.v.(type) {
	case map[string]any:
		for k, e := range v {
			if seg == "*" || seg != "#" && k == name {
				out = append(out, leaf{e, with(k)})
			}
		}
	case []any:
		for i, e := range v {
			if seg == "*" || seg == "#" || strconv.Itoa(i) == name {
				out = append(out, leaf{e, l.names})
			}
		}
	}
	return out
}

func plainIsLeaf(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

func plainKept(m map[string]any, l leaf, fold bool) bool {
	named, ok := m["named"].([]any)
	if !ok {
		return true
	}
	for _, n := range named {
		for _, on := range l.names {
			if on == n || fold && plainFold(on) == plainFold(n.(string)) {
				return true
			}
		}
	}
	return false
}

func plainMemberNames(v any) (out []leaf) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			out = append(out, leaf{v: k})
			out = append(out, plainMemberNames(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, plainMemberNames(e)...)
		}
	}
	return out
}

// value holds a value against all checks: taken together as all, but that a kind
// the check is not for stands behind what fails and what cannot be judged.
func (j *plainJudge) value(m map[string]any, v any, fold bool) string {
	var rs []string
	for name, operand := range m {
		switch name {
		case "arg", "some", "every", "named", "names", "fold":
			continue
		}
		r := j.check(name, operand, v, fold)
		// Of an empty list or object, which is a leaf, there is only a type and a
		// length.
		if k := plainKind(v); plainDeep(m) && (k == "object" || k == "array") && name != "type" && name != "length" {
			r = "wrong kind"
		}
		// every under ** takes a wrong kind for a failure of the check
		if _, ok := m["every"]; ok && r == "wrong kind" && plainDeep(m) {
			r = "does not hold"
		}
		rs = append(rs, r)
	}
	return firstOf(rs, "holds", "does not hold", "cannot be judged", "wrong kind", "absent")
}

// plainDeep: does the test select leaves at any depth?
func plainDeep(m map[string]any) bool {
	for _, how := range []string{"some", "every"} {
		if p, ok := m[how].(string); ok && strings.HasSuffix(p, "/**") && m["names"] != true {
			return true
		}
	}
	return false
}

func (j *plainJudge) check(name string, operand, v any, fold bool) string {
	answer := func(b bool) string {
		if b {
			return "holds"
		}
		return "does not hold"
	}
	form := func(s string) string {
		if fold {
			return plainFold(s)
		}
		return s
	}
	s, isText := v.(string)
	n, isNumber := v.(float64)
	o, isObject := v.(map[string]any)
	switch name {
	case "type":
		return answer(slices.ContainsFunc(j.list(operand), func(t any) bool {
			return t == plainKind(v) || t == "integer" && isNumber && n == math.Trunc(n)
		}))
	case "is", "oneOf":
		entries := []any{operand}
		if name == "oneOf" {
			entries = j.list(operand)
		}
		kind := false
		for _, e := range entries {
			if plainKind(e) != plainKind(v) || plainKind(v) == "object" || plainKind(v) == "array" {
				continue
			}
			kind = true
			if e == v || isText && form(s) == form(e.(string)) {
				return "holds"
			}
		}
		if !kind {
			return "wrong kind"
		}
		return "does not hold"
	case "contains", "startsWith", "endsWith", "like":
		if !isText {
			return "wrong kind"
		}
		return answer(slices.ContainsFunc(j.list(operand), func(e any) bool {
			w := form(e.(string))
			switch name {
			case "contains":
				return strings.Contains(form(s), w)
			case "startsWith":
				return strings.HasPrefix(form(s), w)
			case "endsWith":
				return strings.HasSuffix(form(s), w)
			}
			return plainGlob(w, form(s)) // the globs made here fold as a whole
		}))
	case "matches":
		if !isText {
			return "wrong kind"
		}
		re := regexp.MustCompile(operand.(string))
		re.Longest()
		m := re.FindStringIndex(s) // leftmost and longest: the whole if the whole matches
		return answer(m != nil && m[0] == 0 && m[1] == len(s))
	case "finds":
		if !isText {
			return "wrong kind"
		}
		return answer(regexp.MustCompile(operand.(string)).FindStringIndex(s) != nil)
	case "length":
		length := 0
		switch v := v.(type) {
		case string:
			length = utf8.RuneCountInString(v)
		case []any:
			length = len(v)
		case map[string]any:
			length = len(v)
		default:
			return "wrong kind"
		}
		b := operand.(map[string]any)
		if least, ok := b["atLeast"].(float64); ok && float64(length) < least {
			return "does not hold"
		}
		if most, ok := b["atMost"].(float64); ok && float64(length) > most {
			return "does not hold"
		}
		return "holds"
	case "above", "atLeast", "below", "atMost":
		if !isNumber {
			return "wrong kind"
		}
		x := operand.(float64)
		return answer(map[string]bool{"above": n > x, "atLeast": n >= x, "below": n < x, "atMost": n <= x}[name])
	case "onlyMembers":
		if !isObject {
			return "wrong kind"
		}
		for k := range o {
			if !slices.ContainsFunc(j.list(operand), func(e any) bool { return form(e.(string)) == form(k) }) {
				return "does not hold"
			}
		}
		return "holds"
	case "hasMembers":
		if !isObject {
			return "wrong kind"
		}
		for _, e := range j.list(operand) {
			has := false
			for k := range o {
				has = has || form(k) == form(e.(string))
			}
			if !has {
				return "does not hold"
			}
		}
		return "holds"
	case "json":
		if !isText {
			return "wrong kind"
		}
		var inner any
		d := json.NewDecoder(strings.NewReader(s))
		if d.Decode(&inner) != nil || d.More() || j.looksAlike(operand, inner) {
			return "cannot be judged"
		}
		return j.condition(operand, inner)
	case "path":
		if !isText {
			return "wrong kind"
		}
		return plainPath(s, operand.(map[string]any))
	}
	panic("unknown test " + name)
}

// looksAlike: has the value of a json test a member whose name only looks like one
// that the test's condition knows there?
func (j *plainJudge) looksAlike(c, v any) bool {
	var pointers [][]string
	var anywhere []string
	var gather func(c any)
	gather = func(c any) {
		m := c.(map[string]any)
		for _, form := range []string{"all", "any"} {
			if parts, ok := m[form].([]any); ok {
				for _, p := range parts {
					gather(p)
				}
			}
		}
		if n, ok := m["not"]; ok {
			gather(n)
		}
		for _, how := range []string{"arg", "some", "every"} {
			if p, ok := m[how].(string); ok && p != "" {
				pointers = append(pointers, strings.Split(strings.TrimSuffix(p[1:], "**"), "/"))
			}
		}
		for _, names := range []string{"named", "onlyMembers", "hasMembers"} {
			if operand, ok := m[names]; ok {
				for _, n := range j.list(operand) {
					anywhere = append(anywhere, n.(string))
				}
			}
		}
	}
	gather(c)
	return plainAlike(v, pointers, anywhere)
}

// plainAlike goes down v with what is left of the pointers there.
func plainAlike(v any, pointers [][]string, anywhere []string) bool {
	under := func(fits func(seg string) bool) (rest [][]string) {
		for _, p := range pointers {
			if len(p) > 0 && p[0] != "" && (p[0] == "*" || p[0] == "#" || fits(plainSegment(p[0]))) {
				rest = append(rest, p[1:])
			}
		}
		return rest
	}
	switch v := v.(type) {
	case map[string]any:
		known := slices.Clone(anywhere)
		for _, p := range pointers {
			if len(p) > 0 && p[0] != "" && p[0] != "*" && p[0] != "#" {
				known = append(known, plainSegment(p[0]))
			}
		}
		for k, e := range v {
			if !slices.Contains(known, k) && slices.ContainsFunc(known, func(n string) bool { return strings.EqualFold(n, k) }) {
				return true
			}
			if plainAlike(e, under(func(seg string) bool { return seg == k }), anywhere) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if plainAlike(e, under(func(seg string) bool { _, err := strconv.Atoi(seg); return err == nil }), anywhere) {
				return true
			}
		}
	}
	return false
}

func plainSegment(seg string) string {
	return strings.NewReplacer("~0", "~", "~1", "/", "~2", "*", "~3", "#").Replace(seg)
}

// list is an operand as a list: one text alone, a list, or a named one.
func (j *plainJudge) list(operand any) []any {
	if s, ok := operand.(string); ok {
		if strings.HasPrefix(s, "@") {
			return j.file["lists"].(map[string]any)[s[1:]].([]any)
		}
		return []any{s}
	}
	return operand.([]any)
}

func plainKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// plainFold is NFKC_Casefold, with the Cherokee letters that package cases turns
// round left to their capitals.
func plainFold(s string) string {
	s = norm.NFD.String(s)
	for range 10 {
		n := norm.NFKC.String(s)
		n = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cherokee, r) {
				return unicode.ToLower(r)
			}
			return r
		}, n)
		n = strings.Map(func(r rune) rune {
			if new(casefold.Folder).Text(string(r)) == "" { // it is ignorable
				return -1
			}
			return r
		}, norm.NFKC.String(cases.Fold().String(n)))
		if n == s {
			break
		}
		s = n
	}
	return s
}

// plainGlob matches a glob of *, ?, [abc], {a,b} and letters, by trying all ways.
func plainGlob(pattern, text string) bool {
	if i := strings.IndexByte(pattern, '{'); i >= 0 {
		k := i + strings.IndexByte(pattern[i:], '}')
		for _, alternative := range strings.Split(pattern[i+1:k], ",") {
			if plainGlob(pattern[:i]+alternative+pattern[k+1:], text) {
				return true
			}
		}
		return false
	}
	if pattern == "" {
		return text == ""
	}
	p, n := utf8.DecodeRuneInString(pattern)
	rest := pattern[n:]
	if p == '*' {
		for i := 0; i <= len(text); i++ {
			if plainGlob(rest, text[i:]) {
				return true
			}
		}
		return false
	}
	if text == "" {
		return false
	}
	c, size := utf8.DecodeRuneInString(text)
	switch p {
	case '?':
	case '[':
		k := strings.IndexByte(pattern, ']')
		if !strings.ContainsRune(pattern[1:k], c) {
			return false
		}
		rest = pattern[k+1:]
	default:
		if p != c {
			return false
		}
	}
	return plainGlob(rest, text[size:])
}

// plainPath judges the paths made here by a path test of roots alone, text and
// POSIX.
func plainPath(s string, operand map[string]any) string {
	if s == "" || strings.ContainsAny(s, "\\\x00\n\u200b\uff0f") || strings.HasPrefix(s, "~") || !strings.HasPrefix(s, "/") ||
		strings.Contains(strings.ToLower(s), "%2") {
		return "cannot be judged"
	}
	var segs []string
	for _, seg := range strings.Split(s, "/") {
		switch seg {
		case "..":
			return "cannot be judged"
		case "", ".":
		default:
			segs = append(segs, seg)
		}
	}
	clean := "/" + strings.Join(segs, "/")
	for _, root := range operand["under"].([]any) {
		if clean == root || strings.HasPrefix(clean, root.(string)+"/") {
			return "holds"
		}
	}
	return "does not hold"
}

// The plain interpreter is held to the tables too, where they say it outright.
func TestPlainGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a*", "abc", true}, {"*", "", true}, {"a?", "a", false}, {"a?", "aé", true}, {"[ab]c", "bc", true}, {"[ab]c", "cc", false},
		{"{a,bc}d", "bcd", true}, {"{a,bc}d", "bd", false}, {"a*b*c", "axxbyyc", true}, {"a*b", "abx", false},
	} {
		if got := plainGlob(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.text, got)
		}
	}
}
