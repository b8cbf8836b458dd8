package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"

	"pgregory.net/rapid"
)

// Names, texts and numbers are few, so that rules and calls meet often.
var (
	someNames = []string{"a", "b", "c", "path", "Path", "paths", "ſ", "s", "0", "1", "*", "a/b", "inputResponses"}
	someTexts = []string{
		"", "a", "A", "b", "ab", "abc", "cab", "a b", "GBP", "gbp", "Straße", "STRASSE", "pass\u00ADword", "PassWord", "ﬁle", "true", "1",
		"a\nb", "/srv/work", "/srv/work/a", "/srv/work/./b//c/", "/srv/workshop", "/srv/work/../x", "/etc", "srv/work", "~/x", "/srv/%2e", "/tmp",
	}
	needles = []string{"a", "A", "b", "ab", "bc", "word", "ss", "ß", "password", "fi", "/srv", "/", " ", "\n", "gbp", "c/", "x"}
	globs   = []string{"*", "a*", "*b", "?", "a?c", "*a*", "[ab]*", "{a,gbp}*", "*{b,c}", "/srv/*", "G?P", "*wor?"}
	res     = []string{"a", "a*", "a+b?", ".*", "(?s).*", "^a$", "a|ab", "(?i)PASS.*", "[a-z]+", `\d`, "b$", "(?m)^b$", "/srv/.*", `\bwork\b`, "GBP|EUR"}
	numbers = []any{0, 1, 2, -1, 1.5, 100, 1e3, 0.1, math.Copysign(0, -1), 1e21}
)

func pick[T any](t *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(t, "p") }

func chance(t *rapid.T, percent int) bool { return rapid.IntRange(0, 99).Draw(t, "c") < percent }

func several[T any](t *rapid.T, from []T, most int) []any {
	out := []any{}
	for range rapid.IntRange(1, most).Draw(t, "n") {
		v := any(pick(t, from))
		if !slices.ContainsFunc(out, func(o any) bool { return fmt.Sprint(o) == fmt.Sprint(v) }) {
			out = append(out, v)
		}
	}
	return out
}

func genScalar(t *rapid.T) any {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return chance(t, 50)
	case 2, 3, 4:
		return pick(t, numbers)
	case 5:
		b, _ := json.Marshal(genValue(t, 2)) // JSON in a text
		return string(b)
	}
	return pick(t, someTexts)
}

func genValue(t *rapid.T, depth int) any {
	if depth == 0 || chance(t, 50) {
		return genScalar(t)
	}
	if chance(t, 50) {
		l := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			l = append(l, genValue(t, depth-1))
		}
		return l
	}
	return genObject(t, depth-1, 4)
}

func genObject(t *rapid.T, depth, most int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, most).Draw(t, "n") {
		m[pick(t, someNames)] = genValue(t, depth)
	}
	return m
}

var segments = []string{"a", "b", "c", "path", "paths", "Path", "0", "1", "~2", "a~1b", "s"}

func genPointer(t *rapid.T, wild bool) string {
	p := ""
	for range rapid.IntRange(0, 3).Draw(t, "segments") {
		switch {
		case wild && chance(t, 20):
			p += "/*"
		case wild && chance(t, 20):
			p += "/#"
		default:
			p += "/" + pick(t, segments)
		}
	}
	if wild && chance(t, 40) {
		p += "/**"
	}
	return p
}

func genTest(t *rapid.T, nest int) map[string]any {
	m := map[string]any{}
	how := pick(t, []string{"arg", "some", "every"})
	p := genPointer(t, how != "arg")
	m[how] = p
	if how == "arg" && chance(t, 15) {
		m["present"] = chance(t, 50)
		return m
	}
	foldable := false
	if how != "arg" {
		if deep := len(p) >= 3 && p[len(p)-3:] == "/**"; deep && chance(t, 40) {
			m["named"] = several(t, someNames, 3)
			foldable = true
		} else if chance(t, 15) {
			m["names"] = true
		}
	}
	regex := false
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "checks") {
		switch k := rapid.IntRange(0, 15).Draw(t, "test"); k {
		case 0:
			m["type"] = pick(t, []any{"string", "integer", []any{"number", "null"}, []any{"object", "array", "boolean"}})
		case 1:
			m["is"], foldable = genScalar(t), true
		case 2:
			m["oneOf"], foldable = genEntries(t), true
			if chance(t, 20) {
				m["oneOf"] = pick(t, []any{"@texts", "@mixed"})
			}
		case 3, 4, 5:
			name := []string{"contains", "startsWith", "endsWith"}[k-3]
			m[name], foldable = several(t, needles, 3), true
			switch {
			case chance(t, 20):
				m[name] = "@texts"
			case chance(t, 30):
				m[name] = pick(t, needles)
			}
		case 6:
			m["like"], foldable = several(t, globs, 2), true
		case 7:
			m["matches"], regex = pick(t, res), true
		case 8:
			m["finds"], regex = pick(t, res), true
		case 9:
			least := rapid.IntRange(0, 3).Draw(t, "least")
			m["length"] = pick(t, []any{map[string]any{"atLeast": least}, map[string]any{"atMost": least + 1}, map[string]any{"atLeast": least, "atMost": least + 2}})
		case 10:
			m[pick(t, []string{"above", "atLeast", "below", "atMost"})] = pick(t, numbers)
		case 11:
			m["onlyMembers"], foldable = several(t, someNames, 6), true
		case 12:
			m["hasMembers"], foldable = several(t, someNames, 2), true
		case 13:
			if nest > 0 {
				m["json"] = genCondition(t, 1, nest-1)
				break
			}
			fallthrough
		default:
			m["path"] = map[string]any{"under": several(t, []string{"/srv/work", "/tmp", "/srv"}, 2)}
		}
	}
	low, lowOK := lowest(m)
	if high, ok := highest(m); ok && lowOK && low >= high { // no number is both: an error of the file
		delete(m, "above")
		delete(m, "atLeast")
		delete(m, "type")
		m["type"] = "number"
	}
	if foldable && !regex && chance(t, 40) {
		m["fold"] = true
	}
	return m
}

func lowest(m map[string]any) (float64, bool) {
	return bound(m, "above", "atLeast", func(a, b float64) bool { return a > b })
}

func highest(m map[string]any) (float64, bool) {
	return bound(m, "below", "atMost", func(a, b float64) bool { return a < b })
}

func bound(m map[string]any, a, b string, better func(a, b float64) bool) (x float64, ok bool) {
	for _, k := range []string{a, b} {
		v, has := m[k]
		if !has {
			continue
		}
		f, isFloat := v.(float64)
		if !isFloat {
			f = float64(v.(int))
		}
		if !ok || better(f, x) {
			x, ok = f, true
		}
	}
	return x, ok
}

func genEntries(t *rapid.T) []any {
	out := []any{}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 4).Draw(t, "n") {
		v := genScalar(t)
		k, _ := json.Marshal(v)
		if s := string(k); s == "-0" {
			k = []byte("0")
		}
		if !seen[string(k)] {
			seen[string(k)] = true
			out = append(out, v)
		}
	}
	return out
}

func genCondition(t *rapid.T, depth, nest int) map[string]any {
	if depth == 0 || chance(t, 50) {
		return genTest(t, nest)
	}
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		return map[string]any{"not": genCondition(t, depth-1, nest)}
	case 1:
		return map[string]any{"all": genParts(t, depth-1, nest)}
	}
	return map[string]any{"any": genParts(t, depth-1, nest)}
}

func genParts(t *rapid.T, depth, nest int) []any {
	out := []any{}
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		out = append(out, genCondition(t, depth, nest))
	}
	return out
}

var toolNames = []string{"read", "write", "run", "readx"}

// genFile makes a sound rules file.
func genFile(t *rapid.T, name string) map[string]any {
	f := map[string]any{
		"format": "content-rules/v1", "name": name,
		"lists": map[string]any{"texts": []any{"a", "GBP", "PassWord", "ß"}, "mixed": []any{"b", 1, 1.5, "gbp"}},
	}
	if chance(t, 25) {
		f["limits"] = map[string]any{
			"values": rapid.IntRange(1, 40).Draw(t, "values"),
			"steps":  rapid.IntRange(1, 60).Draw(t, "steps"),
		}
	}
	list := []any{}
	for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
		r := map[string]any{"id": fmt.Sprintf("%s-%d", name, i), "tools": several(t, []string{"read", "write", "*", "r*", "run", "{read,write}"}, 2)}
		kind := "refuse"
		if chance(t, 40) {
			kind = "require"
		}
		r[kind] = genCondition(t, 3, 3)
		if chance(t, 30) {
			r["when"] = genCondition(t, 2, 3)
		}
		if chance(t, 20) {
			r["mode"] = "watch"
		}
		if chance(t, 20) {
			r["say"] = "No."
		}
		list = append(list, r)
	}
	f["rules"] = list
	return f
}

// compile reads files and compiles them. A file that is not sound is a fault of
// what made it.
func compile(t interface {
	Fatalf(string, ...any)
	Helper()
}, files ...[]byte) *engine.Engine {
	t.Helper()
	var sources []rules.Source
	for i, b := range files {
		sources = append(sources, rules.Source{Path: fmt.Sprintf("%d.json", i), Data: b})
	}
	set, problems := rules.ReadSet(sources)
	if err := problems.Err(); err != nil {
		t.Fatalf("the rules are not sound: %v\n%s", err, files)
	}
	e, err := engine.New(set, engine.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, files)
	}
	return e
}

func parse(t interface {
	Fatalf(string, ...any)
	Helper()
}, b []byte) ijson.Value {
	t.Helper()
	d, err := ijson.Parse(b, ijson.Options{})
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return d.Root()
}

// tally counts the kinds of answers that came up.
type tally struct{ allowed, refused, unjudged, over, watched int }

// Two engines, one answer: the compiled engine and the plain interpreter say the
// same of every rule and of the whole, on generated rules and calls.
func TestTwoEngines(t *testing.T) {
	var n tally
	rapid.Check(t, func(t *rapid.T) { twoEngines(t, &n) })
	t.Logf("%d allowed, %d refused; rules: %d not judgeable, %d over budget, %d watched", n.allowed, n.refused, n.unjudged, n.over, n.watched)
	if n.allowed == 0 || n.refused == 0 || n.unjudged == 0 || n.over == 0 || n.watched == 0 {
		t.Error("a kind of answer never came up: the generator no longer reaches it")
	}
}

func twoEngines(t *rapid.T, n *tally) {
	var texts [][]byte
	var files []map[string]any
	for i := range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "files") {
		b, err := json.Marshal(genFile(t, string(rune('f'+i))))
		if err != nil {
			t.Fatalf("%v", err)
		}
		texts = append(texts, b)
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%v", err)
		}
		files = append(files, m)
	}
	e := compile(t, texts...)
	for range 8 {
		tool := pick(t, toolNames)
		b, err := json.Marshal(genObject(t, 3, 6))
		if err != nil {
			t.Fatalf("%v", err)
		}
		var args map[string]any
		if err := json.Unmarshal(b, &args); err != nil {
			t.Fatalf("%v", err)
		}
		want := plainDecide(files, tool, args)
		c := &engine.Call{Tool: tool, Arguments: parse(t, b)}
		got := e.Explain(c)
		var first *plainOutcome
		var watching []string
		for i, w := range want {
			if i >= len(got.Trace.Rules) {
				t.Fatalf("rule %s is not in the trace\n%s\n%s %s", w.id, texts, tool, b)
			}
			g := got.Trace.Rules[i]
			if g.Rule != w.id || g.Outcome != w.outcome || g.Code != w.code || g.Watch != w.watch {
				t.Fatalf("compiled: %s %s %s; plain: %s %s %s\n%s\n%s %s", g.Rule, g.Outcome, g.Code, w.id, w.outcome, w.code, texts, tool, b)
			}
			if w.outcome == engine.Refuses && !w.watch && first == nil {
				first = &want[i]
			}
			if w.outcome == engine.Refuses && w.watch {
				watching = append(watching, w.id)
			}
			switch {
			case w.code == engine.CannotJudge:
				n.unjudged++
			case w.code == engine.OverBudget:
				n.over++
			}
		}
		judged := e.Judge(c)
		if first != nil && judged.Refusals[0] != got.Refusals[0] {
			t.Fatalf("Judge: %+v; Explain: %+v\n%s\n%s %s", judged.Refusals[0], got.Refusals[0], texts, tool, b)
		}
		for i, d := range []engine.Decision{got, judged} {
			name := [...]string{"Explain", "Judge"}[i]
			switch {
			case first == nil && (d.Verdict != engine.Allowed || d.Rule != "" || d.Code != "" || len(d.Refusals) > 0):
				t.Fatalf("%s: %+v, want it allowed\n%s\n%s %s", name, d, texts, tool, b)
			case first != nil && (d.Verdict != engine.Refused || d.Rule != first.id || d.Code != first.code || d.Refusals[0].Rule != first.id):
				t.Fatalf("%s: %v by %s for %s, want it refused by %s for %s\n%s\n%s %s", name, d.Verdict, d.Rule, d.Code, first.id, first.code, texts, tool, b)
			}
			var ids []string
			for _, w := range d.Watched {
				ids = append(ids, w.Rule)
			}
			if !slices.Equal(ids, watching) {
				t.Fatalf("%s: watched %v, want %v\n%s\n%s %s", name, ids, watching, texts, tool, b)
			}
			if level := pick(t, []string{"say", "rule", "test"}); (d.Tell(level) == "") != (first == nil) {
				t.Fatalf("%s tells %q at %s", name, d.Tell(level), level)
			}
		}
		if first == nil {
			n.allowed++
		} else {
			n.refused++
		}
		n.watched += len(watching)
	}
}
