package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/rules"
)

// warned reads a file and gives its warning codes with their pointers.
func warned(t *testing.T, src string) (warnings, silenced []string) {
	t.Helper()
	f, ps := rules.Read("f.json", []byte(src))
	if f == nil {
		t.Fatalf("%s\n%s", src, ps)
	}
	line := func(ps rules.Problems) (all []string) {
		for _, p := range ps {
			all = append(all, p.Code+" "+p.Pointer)
		}
		return all
	}
	return line(f.Warnings), line(f.Silenced)
}

// Each warning of section 11 that needs no tools: where it is given, and next to
// it where it is not.
func TestWarnings(t *testing.T) {
	const unused = "unused-list /lists/words"
	const words = `"lists": { "words": ["a", "b"] }, `
	file := func(lists, rules string) string {
		return `{ "format": "content-rules/v1", "name": "w", ` + lists + `"rules": [` + rules + `] }`
	}
	one := func(members string) string { return file("", `{ "id": "r", "tools": ["t"], `+members+` }`) }
	require := func(c string) string { return one(`"require": ` + c) }
	refuse := func(c string) string { return one(`"refuse": ` + c) }
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"nothing to say", refuse(`{"arg":"/a","is":1}`), nil},

		{"never-applies: nothing is also something", one(`"when":{"all":[{"arg":"/a","present":true},{"arg":"/a","present":false}]},"refuse":{"arg":"/a","is":1}`), []string{"never-applies /rules/0/when"}},
		{"never-applies: two values at once", one(`"when":{"all":[{"arg":"/a","is":1},{"arg":"/a","is":2}]},"refuse":{"arg":"/a","is":1}`), []string{"never-applies /rules/0/when"}},
		{"never-applies: the arguments are an object", one(`"when":{"arg":"","type":"array"},"refuse":{"arg":"/a","is":1}`), []string{"never-applies /rules/0/when"}},
		{"never-applies: a glob for a request", file("", `{"id":"r","tools":["resources/*"],"refuse":{"arg":"/a","is":1}}`), []string{"never-applies /rules/0/tools/0"}},
		{"applies", one(`"when":{"all":[{"arg":"/a","is":1},{"arg":"/b","is":2}]},"refuse":{"arg":"/a","is":1}`), nil},

		{"never-refuses: a text that is a number", refuse(`{"some":"/a/*","is":5,"contains":"x"}`), []string{"never-refuses /rules/0/refuse"}},
		{"never-refuses: no such value", refuse(`{"arg":"/a","oneOf":["ab","ac"],"startsWith":"b"}`), []string{"never-refuses /rules/0/refuse"}},
		{"never-refuses: longer than its length", refuse(`{"arg":"/a","startsWith":"abcdef","length":{"atMost":3}}`), []string{"never-refuses /rules/0/refuse"}},
		{"never-refuses: bounds of two tests", refuse(`{"all":[{"arg":"/a","above":5},{"arg":"/a","below":5}]}`), []string{"never-refuses /rules/0/refuse"}},
		{"never-refuses: names are texts", refuse(`{"some":"/a","names":true,"above":1}`), []string{"never-refuses /rules/0/refuse"}},
		{"never-refuses: either way", require(`{"any":[{"arg":"/a","present":true},{"arg":"/a","present":false}]}`), []string{"never-refuses /rules/0/require"}},
		{"never-refuses: not of never", require(`{"not":{"all":[{"arg":"/a","is":1},{"arg":"/a","is":2}]}}`), []string{"never-refuses /rules/0/require"}},
		{"never-refuses: any member is there", require(`{"arg":"","length":{"atLeast":0}}`), []string{"never-refuses /rules/0/require"}},
		{"refuses: an absent one", require(`{"arg":"/a","length":{"atLeast":0}}`), nil},
		{"refuses: one of the two", refuse(`{"arg":"/a","oneOf":["ab","bc"],"startsWith":"b"}`), nil},
		{"refuses: folded", refuse(`{"arg":"/a","is":"AB","startsWith":"a","fold":true}`), nil},
		{"always-refuses", require(`{"all":[{"arg":"/a","is":1},{"arg":"/a","type":"string"}]}`), []string{"always-refuses /rules/0/require"}},

		{"absent-passes", require(`{"not":{"some":"/a/*","is":"x"}}`), []string{"absent-passes /rules/0/require/not"}},
		{"absent-passes: every", require(`{"all":[{"arg":"/b","is":1},{"not":{"every":"/a/*","is":"x"}}]}`), []string{"absent-passes /rules/0/require/all/1/not"}},
		{"absent-passes: present of another", require(`{"all":[{"arg":"/b","present":true},{"not":{"some":"/a/*","is":"x"}}]}`), []string{"absent-passes /rules/0/require/all/1/not"}},
		{"absent-passes: a refuse, twice", refuse(`{"not":{"not":{"some":"/a/*","is":"x"}}}`), []string{"absent-passes /rules/0/refuse/not/not"}},
		{"absent refuses: beside present", require(`{"all":[{"arg":"/a","present":true},{"not":{"some":"/a/*","is":"x"}}]}`), nil},
		{"absent refuses: or said to be fine", require(`{"any":[{"arg":"/a","present":false},{"not":{"some":"/a/*","is":"x"}}]}`), nil},
		{"absent refuses: present in the when", one(`"when":{"arg":"/a","present":true},"require":{"not":{"some":"/a/*","is":"x"}}`), nil},
		{"absent refuses: a refuse", refuse(`{"not":{"every":"/a/*","is":"x"}}`), nil},
		{"absent refuses: not round arg cannot be judged", require(`{"not":{"arg":"/a","is":"x"}}`), nil},

		{"fold-widens", require(`{"arg":"/a","is":"x","fold":true}`), []string{"fold-widens /rules/0/require/fold"}},
		{"fold-widens: not in a refuse", refuse(`{"not":{"arg":"/a","is":"x","fold":true}}`), []string{"fold-widens /rules/0/refuse/not/fold"}},
		{"fold-widens: names of a some", require(`{"some":"/**","named":["a"],"above":1,"fold":true}`), []string{"fold-widens /rules/0/require/fold"}},
		{"fold narrows: names of an every", require(`{"every":"/**","named":["a"],"above":1,"fold":true}`), nil},
		{"fold narrows: refuse", refuse(`{"arg":"/a","contains":"x","fold":true}`), nil},
		{"fold narrows: not in a require", require(`{"not":{"arg":"/a","contains":"x","fold":true}}`), nil},

		{"finds-in-require", require(`{"arg":"/a","finds":"[a-z]+"}`), []string{"finds-in-require /rules/0/require/finds"}},
		{"finds in a refuse", refuse(`{"arg":"/a","finds":"[a-z]+"}`), nil},
		{"finds under not in a require", require(`{"not":{"arg":"/a","finds":"[a-z]+"}}`), nil},

		{"notlike-case", require(`{"arg":"/a","path":{"under":["/srv"],"notLike":["**/.env"]}}`), []string{"notlike-case /rules/0/require/path"}},
		{"notlike-case: like in a refuse", refuse(`{"arg":"/a","path":{"like":["**/.env"]}}`), []string{"notlike-case /rules/0/refuse/path"}},
		{"notlike: no letters", require(`{"arg":"/a","path":{"notLike":["**/.*"]}}`), nil},
		{"notlike: fold", require(`{"arg":"/a","path":{"notLike":["**/.env"],"fold":true}}`), nil},
		{"notlike: said that case counts", require(`{"arg":"/a","path":{"notLike":["**/.env"],"fold":false}}`), nil},
		{"like permits", require(`{"arg":"/a","path":{"like":["**/*.txt"]}}`), nil},

		{"anchored-twice", require(`{"arg":"/a","matches":"^[a-z]+$"}`), []string{"anchored-twice /rules/0/require/matches"}},
		{"anchored-twice: one branch", require(`{"arg":"/a","matches":"a|(b\\z)"}`), []string{"anchored-twice /rules/0/require/matches"}},
		{"anchored once", require(`{"arg":"/a","matches":"[^a]\\$"}`), nil},

		{"kind-slip", refuse(`{"some":"/**","is":5}`), []string{"kind-slip /rules/0/refuse/is"}},
		{"kind-slip: oneOf under not", require(`{"not":{"some":"/a/**","oneOf":["x"]}}`), []string{"absent-passes /rules/0/require/not", "kind-slip /rules/0/require/not/oneOf"}},
		{"kind-slip: in a when", one(`"when":{"some":"/**","is":true},"refuse":{"arg":"/a","is":1}`), []string{"kind-slip /rules/0/when/is"}},
		{"no slip: cannot be judged", refuse(`{"some":"/a/*","is":5}`), nil},
		{"no slip: the kind is meant", refuse(`{"some":"/**","type":"number","is":5}`), nil},
		{"no slip: names are texts", refuse(`{"some":"/**","names":true,"is":"x"}`), nil},
		{"no slip: require", require(`{"every":"/**","is":5}`), nil},

		{"unused-list", file(words, `{"id":"r","tools":["t"],"refuse":{"arg":"/a","is":1}}`), []string{unused}},
		{"unused-list and list-as-text", file(words, `{"id":"r","tools":["t"],"refuse":{"arg":"/a","is":"@words"}}`), []string{unused, "list-as-text /rules/0/refuse/is"}},
		{"list-as-text: tools, named, entries", file(words, `{"id":"r","tools":["@words"],"refuse":{"some":"/**","named":["@words"],"contains":["@words"]}}`),
			[]string{unused, "list-as-text /rules/0/tools/0", "list-as-text /rules/0/refuse/named", "list-as-text /rules/0/refuse/contains"}},
		{"list-as-text: a pattern", file(words, `{"id":"r","tools":["t"],"refuse":{"arg":"/a","finds":"@words"}}`), []string{unused, "list-as-text /rules/0/refuse/finds"}},
		{"a used list", file(words, `{"id":"r","tools":["t"],"refuse":{"arg":"/a","contains":"@words"}}`), nil},

		{"text-on-command", refuse(`{"arg":"/command","contains":"rm -rf"}`), []string{"text-on-command /rules/0/refuse/contains"}},
		{"text-on-command: named", refuse(`{"some":"/**","named":["x","Shell_Command"],"finds":"rm"}`), []string{"text-on-command /rules/0/refuse/finds"}},
		{"text-on-command: an element", require(`{"every":"/cmd/#","startsWith":"git "}`), []string{"text-on-command /rules/0/require/startsWith"}},
		{"text-on-command: is in a refuse", refuse(`{"arg":"/a/bash","is":"ls"}`), []string{"text-on-command /rules/0/refuse/is"}},
		{"a whole command permitted", require(`{"arg":"/command","oneOf":["ls","pwd"]}`), nil},
		{"no command", refuse(`{"arg":"/commander","contains":"x"}`), nil},

		{"line-bound: dot", refuse(`{"arg":"/a","finds":"rm.*-r"}`), []string{"line-bound /rules/0/refuse/finds"}},
		{"line-bound: dot in matches", refuse(`{"arg":"/a","matches":".*rm.*"}`), []string{"line-bound /rules/0/refuse/matches"}},
		{"line-bound: begin", refuse(`{"arg":"/a","finds":"^rm"}`), []string{"line-bound /rules/0/refuse/finds"}},
		{"line-bound: end", refuse(`{"arg":"/a","finds":"(a|b$)"}`), []string{"line-bound /rules/0/refuse/finds"}},
		{"lines seen: (?s)", refuse(`{"arg":"/a","finds":"(?s)rm.*-r"}`), nil},
		{"lines seen: (?m)", refuse(`{"arg":"/a","finds":"(?im)^rm$"}`), nil},
		{"lines seen: a class and an escape", refuse(`{"arg":"/a","finds":"[^a$]\\^\\$\\Q^$\\E[]^]"}`), nil},
		{"lines meant: \\A", refuse(`{"arg":"/a","finds":"\\Arm"}`), nil},
		{"lines do not widen a require", require(`{"arg":"/a","matches":"a.b"}`), nil},

		{"whole-in-refuse: command", refuse(`{"arg":"/a","command":{"programs":["rm"]}}`), []string{"whole-in-refuse /rules/0/refuse/command"}},
		{"whole-in-refuse: email", refuse(`{"arg":"/a","email":{"domains":["evil.example"]}}`), []string{"whole-in-refuse /rules/0/refuse/email"}},
		{"whole-in-refuse: not in a require", require(`{"not":{"arg":"/a","email":{"domains":["evil.example"]}}}`), []string{"whole-in-refuse /rules/0/require/not/email"}},
		{"the whole permitted", require(`{"arg":"/a","command":{"programs":["ls"]}}`), nil},
		{"the whole not permitted is refused", refuse(`{"not":{"arg":"/a","command":{"programs":["ls"]}}}`), nil},

		{"sign-in-folder", require(`{"arg":"/a","path":{"under":["/srv","/home/$USER","/srv/*"]}}`), []string{"sign-in-folder /rules/0/require/path", "sign-in-folder /rules/0/require/path"}},
		{"a folder with brackets", require(`{"arg":"/a","path":{"under":["/srv/app/[id]"]}}`), nil},

		{"escape-lost", refuse(`{"arg":"/a","finds":"\bdrop\b"}`), []string{"escape-lost /rules/0/refuse/finds"}},
		{"an escape kept", refuse(`{"arg":"/a","finds":"\\bdrop\\b"}`), nil},

		{"blank-at-end", refuse(`{"arg":"/a","is":"x "}`), []string{"blank-at-end /rules/0/refuse/is"}},
		{"blank-at-end: a tab gets round", refuse(`{"arg":"/a","contains":["sudo "]}`), []string{"blank-at-end /rules/0/refuse/contains"}},
		{"blank-at-end: tools, names", file("", `{"id":"r","tools":["t "],"refuse":{"some":"/**","named":["\u00a0x"],"contains":"y"}}`), []string{"blank-at-end /rules/0/tools/0", "blank-at-end /rules/0/refuse/named"}},
		{"blank-at-end: in a list, at its entry", file(`"lists":{"l":["a","b\n"]},`, `{"id":"r","tools":["t"],"require":{"arg":"/a","oneOf":"@l"}},{"id":"s","tools":["u"],"require":{"arg":"/a","oneOf":"@l"}}`), []string{"blank-at-end /lists/l/1"}},
		{"a blank that narrows", require(`{"arg":"/a","startsWith":"git "}`), nil},
		{"a blank that does not", require(`{"arg":"/a","startsWith":" git"}`), []string{"blank-at-end /rules/0/require/startsWith"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, silenced := warned(t, c.src)
			if !slices.Equal(got, c.want) || silenced != nil {
				t.Errorf("%s\ngot  %q %q\nwant %q", c.src, got, silenced, c.want)
			}
		})
	}
}

func TestCovered(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       string // the rules that are covered
	}{
		{"the same twice", `"tools":["t"],"refuse":{"arg":"/a","is":1}`, `"tools":["t"],"refuse":{"arg":"/a","is":1}`, "b"},
		{"by more tools", `"tools":["t"],"refuse":{"arg":"/a","is":1}`, `"tools":["t","u"],"refuse":{"arg":"/a","is":1}`, "a"},
		{"by all tools", `"tools":["*"],"refuse":{"arg":"/a","is":1}`, `"tools":["read_?"],"refuse":{"arg":"/a","is":1}`, "b"},
		{"* stands for no request", `"tools":["*"],"refuse":{"arg":"/a","is":1}`, `"tools":["resources/read"],"refuse":{"arg":"/a","is":1}`, ""},
		{"by a beginning", `"tools":["read_*"],"refuse":{"arg":"/a","is":1}`, `"tools":["read_f*"],"refuse":{"arg":"/a","is":1}`, "b"},
		{"another beginning", `"tools":["read_*"],"refuse":{"arg":"/a","is":1}`, `"tools":["rea*"],"refuse":{"arg":"/a","is":1}`, "a"},
		{"one of several", `"tools":["t"],"refuse":{"arg":"/a","oneOf":[1,2]}`, `"tools":["t"],"refuse":{"arg":"/a","is":2}`, "b"},
		{"a part of a text", `"tools":["t"],"refuse":{"some":"/**","contains":"pass"}`, `"tools":["t"],"refuse":{"some":"/**","contains":["password","passphrase"]}`, "b"},
		{"an is that the pattern takes", `"tools":["t"],"refuse":{"arg":"/a","finds":"se.ret"}`, `"tools":["t"],"refuse":{"arg":"/a","is":"the secret"}`, "b"},
		{"a lower bound", `"tools":["t"],"refuse":{"arg":"/a","above":10}`, `"tools":["t"],"refuse":{"arg":"/a","above":20}`, "b"},
		{"a require that asks less", `"tools":["t"],"require":{"arg":"/a","oneOf":["x","y"]}`, `"tools":["t"],"require":{"arg":"/a","is":"x"}`, "a"},
		{"a require in an all", `"tools":["t"],"require":{"all":[{"arg":"/a","is":1},{"arg":"/b","is":1}]}`, `"tools":["t"],"require":{"arg":"/b","is":1}`, "b"},
		{"a refuse in an any", `"tools":["t"],"refuse":{"any":[{"arg":"/a","is":1},{"arg":"/b","is":1}]}`, `"tools":["t"],"refuse":{"arg":"/b","is":1}`, "b"},
		{"a refuse in an all", `"tools":["t"],"refuse":{"all":[{"arg":"/a","is":1},{"arg":"/b","is":1}]}`, `"tools":["t"],"refuse":{"arg":"/b","is":1}`, "a"},
		{"require of not", `"tools":["t"],"require":{"not":{"arg":"/a","is":1}}`, `"tools":["t"],"refuse":{"arg":"/a","is":1}`, "b"},
		{"a narrower when", `"tools":["t"],"refuse":{"arg":"/a","is":1}`, `"tools":["t"],"when":{"arg":"/b","is":1},"refuse":{"arg":"/a","is":1}`, "b"},
		{"another when", `"tools":["t"],"when":{"arg":"/b","is":2},"refuse":{"arg":"/a","is":1}`, `"tools":["t"],"when":{"arg":"/b","is":1},"refuse":{"arg":"/a","is":1}`, ""},
		{"a watching rule covers none", `"tools":["t"],"mode":"watch","refuse":{"arg":"/a","is":1}`, `"tools":["t"],"refuse":{"arg":"/a","is":1}`, ""},
		{"another pointer", `"tools":["t"],"refuse":{"arg":"/a","is":1}`, `"tools":["t"],"refuse":{"arg":"/b","is":1}`, ""},
		{"folded covers exact is", `"tools":["t"],"refuse":{"arg":"/a","is":"x","fold":true}`, `"tools":["t"],"refuse":{"arg":"/a","is":"x"}`, "b"},
		{"one operand of a path", `"tools":["t"],"refuse":{"arg":"/a","path":{"under":["/etc"]}}`, `"tools":["t","u"],"refuse":{"arg":"/a","path":{"under":["/etc"]}}`, "a"},
		{"names of members", `"tools":["t"],"refuse":{"arg":"","hasMembers":["x"]}`, `"tools":["t"],"refuse":{"arg":"","hasMembers":["x","y"]}`, "b"},
		{"arg and some", `"tools":["t"],"refuse":{"some":"/a","is":1}`, `"tools":["t"],"refuse":{"arg":"/a","is":1}`, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := `{"format":"content-rules/v1","name":"w","rules":[{"id":"a",` + c.a + `},{"id":"b",` + c.b + `}]}`
			got, _ := warned(t, src)
			covered := ""
			for _, w := range got {
				if p, ok := strings.CutPrefix(w, "covered /rules/"); ok {
					covered += string("ab"[p[0]-'0'])
				}
			}
			if covered != c.want {
				t.Errorf("%s\ngot %q (%q), want %q", src, covered, got, c.want)
			}
		})
	}
}

// ok silences a warning in its rule, and it is still counted.
func TestSilenced(t *testing.T) {
	src := `{"format":"content-rules/v1","name":"w","rules":[
	 {"id":"a","tools":["t"],"ok":["kind-slip"],"refuse":{"some":"/**","is":5}},
	 {"id":"b","tools":["u"],"refuse":{"some":"/**","is":5}}]}`
	got, silenced := warned(t, src)
	if !slices.Equal(got, []string{"kind-slip /rules/1/refuse/is"}) || !slices.Equal(silenced, []string{"kind-slip /rules/0/refuse/is"}) {
		t.Errorf("%q, silenced %q", got, silenced)
	}
}

// Every warning is known by its code, and one unknown in an ok is a fault.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range rules.Codes() {
		if seen[c.Name] || c.Means == "" {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
		if _, ps := rules.Read("f.json", []byte(rule(`"tools":["t"],"ok":["`+c.Name+`"],"refuse":{"arg":"/a","is":1}`))); len(ps) > 0 {
			t.Errorf("%s is not known: %s", c.Name, ps)
		}
	}
	_, ps := rules.Read("f.json", []byte(rule(`"tools":["t"],"ok":["kindslip"],"refuse":{"arg":"/a","is":1}`)))
	if !strings.Contains(ps.String(), `"kindslip" is no warning code, did you mean "kind-slip"?`) {
		t.Error(ps)
	}
}

// Warnings are capped and sorted like faults.
func TestManyWarnings(t *testing.T) {
	rs := make([]string, 3000)
	for i := range rs {
		rs[i] = fmt.Sprintf(`{"id":"r%d","tools":["t"],"refuse":{"some":"/%d/**","is":5}}`, i, i)
	}
	f, ps := rules.Read("f.json", []byte(`{"format":"content-rules/v1","name":"w","rules":[`+strings.Join(rs, ",")+`]}`))
	if f == nil {
		t.Fatal(ps)
	}
	if n := len(f.Warnings); n != rules.MaxProblems+1 || f.Warnings[n-1].Msg != "2900 more" || f.Warnings[99].Pointer != "/rules/99/refuse/is" {
		t.Errorf("%d: %s", n, f.Warnings)
	}
}

// The work of proving is bounded: a full file with long lists under every rule is
// read, and what was not proved is not said.
func TestProofIsBounded(t *testing.T) {
	list := func(tag string) string {
		texts := make([]string, 5000)
		for i := range texts {
			texts[i] = fmt.Sprintf(`"%s%d"`, tag, i)
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	rs := make([]string, rules.MaxRules)
	for i := range rs {
		rs[i] = fmt.Sprintf(`{"id":"r%d","tools":["t"],"refuse":{"arg":"/a","oneOf":"@%c","contains":"@%c"}}`, i, 'a'+i%2, 'b'-i%2)
	}
	src := `{"format":"content-rules/v1","name":"w","lists":{"a":` + list("x") + `,"b":` + list("y") + `},"rules":[` + strings.Join(rs, ",") + `]}`
	f, ps := rules.Read("f.json", []byte(src))
	if f == nil {
		t.Fatal(ps)
	}
	t.Logf("%d bytes, %d warnings", len(src), len(f.Warnings))
}
