package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/rules"
)

// rule makes a file of one rule of the given members, with a few lists.
func rule(members string) string {
	return fmt.Sprintf(`{
  "format": "content-rules/v1",
  "name": "test",
  "lists": { "words": ["a", "b"], "numbers": [1, 2] },
  "rules": [ { "id": "r", %s } ]
}`, members)
}

// refuse makes a file of one rule that refuses where a condition holds.
func refuse(condition string) string {
	return rule(`"tools": ["t"], "refuse": ` + condition)
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TEST-01: a misspelled field makes the rule wider, so each slip of the pen is
// an error that names file, rule and field.
func TestTEST01(t *testing.T) {
	const sound = `"format": "content-rules/v1", "name": "test", "rules": [ { "id": "r", "tools": ["t"], "refuse": { "arg": "/a", "is": 1 } } ]`
	for _, c := range []struct{ name, src, want string }{
		{"argument key misspelt", rule(`"tools": ["run"], "require": { "agument": "/command", "is": "npm test" }`),
			`f.json:5:58: /rules/0/require/agument: unknown member "agument" of a condition, did you mean "arg"?`},
		{"operator misspelt", rule(`"tools": ["run"], "require": { "arg": "/command", "prefx": "npm " }`),
			`/rules/0/require/prefx: unknown member "prefx" of a condition, did you mean "startsWith"?`},
		{"tools in the singular", rule(`"tool": ["run"], "refuse": { "arg": "", "present": true }`),
			`/rules/0/tool: unknown member "tool" of a rule, did you mean "tools"?`},
		{"one text for a list", refuse(`{ "arg": "/a", "oneOf": "x" }`), `/rules/0/refuse/oneOf: expected a list or "@name" of one, got a text`},
		{"empty list", refuse(`{ "arg": "/a", "oneOf": [] }`), `/rules/0/refuse/oneOf: an empty list, expected 1 to 10000 values`},
		{"bounds reversed", rule(`"tools": ["pay"], "require": { "arg": "/n", "atLeast": 10, "atMost": 0 }`),
			`/rules/0/require/atMost: atLeast 10 and atMost 0: no number is both`},
		{"a key twice", refuse(`{ "arg": "/a", "is": 1, "is": 2 }`), `/rules/0/refuse/is: a repeated member`},
		{"rules misspelt", `{` + strings.Replace(sound, `"rules"`, `"rulez"`, 1) + `}`, `/rulez: unknown member "rulez" of the file, did you mean "rules"?`},
		{"no rules", `{ "format": "content-rules/v1", "name": "test" }`, `the file without "rules"`},
		{"empty file", "", "f.json:1:1: an empty file"},
		{"white space alone", " \n\t", "f.json:1:1: an empty file"},
		{"only comments", "// no rules today\n", "f.json:1:1: no strict JSON"},
		{"a comment inside", `{ /* x */ ` + sound + `}`, "f.json:1:3: no strict JSON"},
		{"two rules of one id", strings.Replace(`{`+sound+`}`, `"rules": [`, `"rules": [ { "id": "r", "tools": ["u"], "refuse": { "arg": "/b", "is": 1 } },`, 1),
			`/rules/1/id: the rule id "r" is already that of /rules/0`},
		{"a version from the future", `{` + strings.Replace(sound, "v1", "v2", 1) + `}`, `/format: expected "content-rules/v1", the one format this version reads, got "content-rules/v2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ps := rules.Read("f.json", []byte(c.src))
			if f != nil || !strings.Contains(ps.String(), c.want) || !strings.HasPrefix(ps.String(), "f.json:") {
				t.Errorf("got %v\n%swant %s", f, ps, c.want)
			}
		})
	}
	if _, ps := rules.Read("f.json", []byte("{"+sound+"}")); len(ps) > 0 {
		t.Errorf("the sound file is refused: %s", ps)
	}
}

// RE-02: patterns that do not compile, or cost memory, are errors at load.
func TestRE02(t *testing.T) {
	for _, c := range []struct{ name, re, want string }{
		{"product of counts", `^(?:[a-z]{4}){0,251}$`, "counts end at 1000, multiplied"},
		{"count over 1000", `^\s{0,1024}x$`, "counts end at 1000"},
		{"look-ahead", `(?=secret)x`, "no look-ahead"},
		{"back-reference", `(a)\1`, "no back-references"},
		{"open class", `([a-z`, "missing closing ]"},
		{"brackets that close ours", `a)|(?:b`, "unexpected )"},
		{"empty", ``, "an empty pattern"},
		{"a large program", `(?:` + strings.Repeat("ab", 50) + `){1000}`, "compiles to over 20000 steps"},
		{"a large class over and over", `(?:` + strings.Repeat(`[\pL\pN]`, 30) + `){1000}`, "compiles to over 20000 steps"},
	} {
		for _, kind := range []string{"matches", "finds"} {
			t.Run(c.name+" "+kind, func(t *testing.T) {
				f, ps := rules.Read("f.json", []byte(refuse(`{ "arg": "/a", "`+kind+`": `+jsonText(c.re)+` }`)))
				if f != nil || !strings.Contains(ps.String(), "/rules/0/refuse/"+kind+": ") || !strings.Contains(ps.String(), c.want) {
					t.Errorf("got %v\n%swant %s", f, ps, c.want)
				}
			})
		}
	}
	t.Run("all of a file", func(t *testing.T) {
		parts := make([]string, 60)
		for i := range parts {
			parts[i] = fmt.Sprintf(`{ "arg": "/a", "matches": "x%d(?:%s){1000}" }`, i, strings.Repeat("a", 15))
		}
		_, ps := rules.Read("f.json", []byte(refuse(`{ "any": [`+strings.Join(parts, ",")+`] }`)))
		if !strings.Contains(ps.String(), "or all of the file to over 500000") {
			t.Errorf("got %s", ps)
		}
	})
	t.Run("the last line loads", func(t *testing.T) {
		f, ps := rules.Read("f.json", []byte(refuse(`{ "arg": "/a", "matches": "^(a+)+$" }`)))
		if f == nil {
			t.Fatal(ps)
		}
		if f.Rules[0].Refuse.Test.Checks[0].Regexp.MatchString(strings.Repeat("a", 1_000_000) + "b") {
			t.Error("it matches")
		}
	})
}

// RE-01: matches holds on the whole value, whatever anchors the pattern has.
func TestRE01(t *testing.T) {
	for _, c := range []struct {
		re, host string
		want     bool
	}{
		{`console\.example\.test`, "console.example.test", true},
		{`console\.example\.test`, "evil-console.example.test.attacker.test", false},
		{`^a\.test$|b\.test`, "b.test.attacker.test", false},
		{`^[a-z]+\.test$`, "abc.test\n", false},
		{`(?m)^good\.test$`, "good.test\nevil.test", false},
		{`(?i)^kilo\.test$`, "\u212Ailo.test", true},
		{`a|b`, "ab", false},
		{`\Qa.b`, "a.b", true}, // a quote that ends with the pattern
		{`\Qa.b`, "a.b)", false},
		{`\Qa.b`, "axb", false},
		{`a\z`, "a", true},
	} {
		f, ps := rules.Read("f.json", []byte(refuse(`{ "arg": "/a", "matches": `+jsonText(c.re)+` }`)))
		if f == nil {
			t.Errorf("%s: %s", c.re, ps)
			continue
		}
		if got := f.Rules[0].Refuse.Test.Checks[0].Regexp.MatchString(c.host); got != c.want {
			t.Errorf("%s on %q: %v, want %v", c.re, c.host, got, c.want)
		}
	}
}

// GLOB-02, its load error: an empty pattern is a mistake, not a rule that
// matches nothing.
func TestGLOB02(t *testing.T) {
	for _, c := range []struct{ name, test, want string }{
		{"one", `"like": ""`, "/rules/0/refuse/like: an empty text, expected globs"},
		{"in a list", `"like": ["a", ""]`, "/rules/0/refuse/like/1: an empty text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ps := rules.Read("f.json", []byte(refuse(`{ "arg": "/a", `+c.test+` }`)))
			if f != nil || !strings.Contains(ps.String(), c.want) {
				t.Errorf("got %s", ps)
			}
		})
	}
	if _, ps := rules.Read("f.json", []byte(rule(`"tools": [""], "refuse": { "arg": "/a", "is": 1 }`))); !strings.Contains(ps.String(), "/rules/0/tools/0: an empty text") {
		t.Errorf("an empty tool name: %s", ps)
	}
}

// What folding leaves nothing of, or never leaves, is a fault of the file: under a
// refuse it would match nothing, or everything, and say so at the start alone.
func TestFoldedToNothing(t *testing.T) {
	soft := `"\u00ad"`
	for _, c := range []struct{ name, src, want string }{
		{"contains", refuse(`{ "arg": "/a", "fold": true, "contains": ` + soft + ` }`), `/rules/0/refuse/contains: nothing is left of this text once it is folded`},
		{"in a list", refuse(`{ "fold": true, "arg": "/a", "startsWith": ["a", ` + soft + `] }`), `/rules/0/refuse/startsWith/1: nothing is left`},
		{"in a named list", strings.Replace(refuse(`{ "any": [{ "arg": "/a", "endsWith": "@words", "fold": true }, { "arg": "/b", "endsWith": "@words", "fold": true }] }`), `"words": ["a"`, `"words": ["a", `+soft, 1),
			`/rules/0/refuse/any/1/endsWith: entry 2 of @words: nothing is left`},
		{"like", refuse(`{ "arg": "/a", "like": ` + soft + `, "fold": true }`), `/rules/0/refuse/like: "\u00ad" is no glob: glob, character 1: the pattern is empty once it is folded`},
		{"brackets of capitals", refuse(`{ "arg": "/a", "like": ["x*", "a[A-Z]*"], "fold": true }`), `/rules/0/refuse/like/1: "a[A-Z]*" is no glob: glob, character 2: no folded text holds a character of these brackets`},
		{"inside json", refuse(`{ "arg": "/a", "json": { "arg": "/b", "like": "[A-Z]", "fold": true } }`), `/rules/0/refuse/json/like: "[A-Z]" is no glob`},
	} {
		if f, ps := rules.Read("f.json", []byte(c.src)); f != nil || !strings.Contains(ps.String(), c.want) {
			t.Errorf("%s: got %v\n%swant %s", c.name, f, ps, c.want)
		}
	}
	for _, sound := range []string{
		`{ "arg": "/a", "contains": ` + soft + ` }`,
		`{ "arg": "/a", "like": ["[A-Z]", "[A-Za-z]"] }`,
		`{ "arg": "/a", "like": ["[A-Za-z]", "[!A-Z]", "[a-zß]", "[0-9]", "[\u0000-\uffff]"], "fold": true }`,
		`{ "arg": "/a", "json": { "arg": "/b", "like": "[A-Z]" }, "length": { "atMost": 5 } }`,
		`{ "any": [ { "arg": "/a", "is": "x", "fold": true }, { "arg": "/a", "like": "[A-Z]" } ] }`,
	} {
		if f, ps := rules.Read("f.json", []byte(refuse(sound))); f == nil {
			t.Errorf("%s: %s", sound, ps)
		}
	}
}

// A whole number past 64 bits is an integer to the warnings too.
func TestLargeInteger(t *testing.T) {
	f, ps := rules.Read("f.json", []byte(refuse(`{ "arg": "/a", "type": "integer", "is": 1e300 }`)))
	if f == nil || strings.Contains(f.Warnings.String(), "never-refuses") {
		t.Errorf("%s%s", ps, f.Warnings)
	}
}

// The bounds of section 1, each at its edge and one over.
func TestBounds(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return strings.Join(parts, ",")
	}
	cond := func(int) string { return `{ "arg": "/a", "is": 1 }` }
	text := func(i int) string { return fmt.Sprintf(`"t%d"`, i) }
	head := `{ "format": "content-rules/v1", "name": "test", `
	nots := func(n int) string { return strings.Repeat(`{"not":`, n) + cond(0) + strings.Repeat("}", n) }
	for _, c := range []struct {
		name string
		src  func(n int) string
		most int
		want string
	}{
		{"rules", func(n int) string {
			return head + `"rules": [` + many(n, func(i int) string { return fmt.Sprintf(`{"id":"r%d","tools":["t"],"refuse":%s}`, i, cond(0)) }) + `]}`
		}, rules.MaxRules, "a list of 4097, expected 1 to 4096 rules"},
		{"nesting", func(n int) string { return refuse(nots(n - 4)) }, rules.MaxDepth, "nested deeper than 32"},
		{"conditions", func(n int) string { return refuse(`{"all":[` + many(n, cond) + `]}`) }, rules.MaxParts, "expected 1 to 64 conditions"},
		{"tools", func(n int) string { return rule(`"tools":[` + many(n, text) + `],"refuse":` + cond(0)) }, rules.MaxTools, "expected 1 to 256 tool names"},
		{"entries", func(n int) string { return refuse(`{"arg":"/a","oneOf":[` + many(n, text) + `]}`) }, rules.MaxEntries, "expected 1 to 10000 values"},
		{"id", func(n int) string {
			return head + `"rules":[{"id":"` + strings.Repeat("a", n) + `","tools":["t"],"refuse":` + cond(0) + `}]}`
		}, rules.MaxName, "is no name"},
		{"say", func(n int) string {
			return rule(`"tools":["t"],"say":"` + strings.Repeat("é", n) + `","refuse":` + cond(0))
		}, rules.MaxSay, "a text of 301 characters, expected at most 300"},
		{"about", func(n int) string {
			return rule(`"tools":["t"],"about":"` + strings.Repeat("é", n) + `","refuse":` + cond(0))
		}, rules.MaxAbout, "a text of 1001 characters, expected at most 1000"},
		{"bytes", func(n int) string { s := refuse(cond(0)); return s + strings.Repeat(" ", n-len(s)) }, rules.MaxBytes, "a file of 1048577 bytes, expected at most 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f, ps := rules.Read("f.json", []byte(c.src(c.most))); f == nil {
				t.Errorf("at the bound: %s", ps)
			}
			if f, ps := rules.Read("f.json", []byte(c.src(c.most+1))); f != nil || !strings.Contains(ps.String(), c.want) {
				t.Errorf("over the bound: %v %s", f, ps)
			}
		})
	}
}

// A list under very many tests is compiled once: else this file would be forty
// million globs.
func TestListCompiledOnce(t *testing.T) {
	globs, rs := make([]string, rules.MaxEntries), make([]string, rules.MaxRules)
	for i := range globs {
		globs[i] = fmt.Sprintf(`"g%d*"`, i)
	}
	for i := range rs {
		rs[i] = fmt.Sprintf(`{"id":"r%d","tools":["t"],"refuse":{"arg":"/a","like":"@l"}}`, i)
	}
	src := `{"format":"content-rules/v1","name":"many","lists":{"l":[` + strings.Join(globs, ",") + `]},"rules":[` + strings.Join(rs, ",") + `]}`
	f, ps := rules.Read("f.json", []byte(src))
	if f == nil {
		t.Fatal(ps)
	}
	first, last := f.Rules[0].Refuse.Test.Checks[0], f.Rules[len(f.Rules)-1].Refuse.Test.Checks[0]
	if first.Globs != last.Globs || &first.Texts[0] != &last.Texts[0] {
		t.Error("the list was compiled or copied twice")
	}
}
