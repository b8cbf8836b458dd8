package rulestest_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"countersign/rulestest"
)

// What is missed of one rule by some calls: each row says, besides what every
// rule has to reach, which points are left.
func TestMissed(t *testing.T) {
	tests := []struct {
		name  string
		rule  string
		calls []string // arguments; each is expected to be whatever it is
		want  []string
	}{
		{"nothing called", `"refuse": {"arg": "/a", "is": 1}`, nil,
			[]string{"never applied /rules/0", "never refused /rules/0", "never passed /rules/0", `never true "t"`, "never true /rules/0/refuse", "never false /rules/0/refuse"}},
		{"passed alone", `"refuse": {"arg": "/a", "is": 1}`, []string{`{"a": 2}`},
			[]string{"never refused /rules/0", "never true /rules/0/refuse"}},
		{"both", `"refuse": {"arg": "/a", "is": 1}`, []string{`{"a": 2}`, `{"a": 1}`}, nil},
		{"absent counts as not true", `"refuse": {"arg": "/a", "is": 1}`, []string{`{}`, `{"a": 1}`}, nil},
		{"what cannot be judged is neither", `"refuse": {"arg": "/a", "is": 1}`, []string{`{"a": "1"}`},
			[]string{"never refused /rules/0", "never passed /rules/0", "never true /rules/0/refuse", "never false /rules/0/refuse"}},
		{"a list, entry by entry", `"refuse": {"arg": "/a", "oneOf": ["x", "y", "z"]}`, []string{`{"a": "x"}`, `{"a": "y"}`, `{"a": "n"}`},
			[]string{`never true "z"`}},
		{"an entry that is always true", `"refuse": {"arg": "/a", "contains": ["x", "y"]}`, []string{`{"a": "xy"}`, `{"a": "x"}`},
			[]string{"never passed /rules/0", "never false /rules/0/refuse", `never false "x"`}},
		{"entries under every", `"require": {"every": "/a/#", "startsWith": ["x", "y"]}`, []string{`{"a": ["x", "n"]}`, `{"a": ["x", "y"]}`}, nil},
		{"names that keep", `"refuse": {"some": "/**", "named": ["p", "q"], "is": 1}`, []string{`{"p": 1}`, `{"z": 1}`},
			[]string{`never true "q"`}},
		{"members", `"require": {"arg": "", "onlyMembers": ["p", "q"]}`, []string{`{"p": 1}`, `{"z": 1}`}, []string{`never true "q"`}},
		{"roots of a path", `"require": {"arg": "/p", "path": {"under": ["/a", "/b"], "notLike": ["/**/.x"]}}`, []string{`{"p": "/a/1"}`, `{"p": "/c"}`, `{"p": "/a/.x"}`},
			[]string{`never true "/b"`}},
		{"parts", `"refuse": {"any": [{"arg": "/a", "is": 1}, {"arg": "/b", "is": 1}]}`, []string{`{"a": 1}`, `{"a": 2}`},
			[]string{"never true /rules/0/refuse/any/1"}},
		{"a not", `"require": {"not": {"arg": "/a", "is": 1}}`, []string{`{"a": 1}`, `{"a": 2}`}, nil},
		{"a when", `"when": {"arg": "/on", "is": true}, "refuse": {"arg": "/a", "oneOf": ["x", "y"]}`, []string{`{"a": "x"}`, `{"a": "y"}`},
			[]string{"never applied /rules/0", "never refused /rules/0", "never passed /rules/0", `never true "t"`, "never true /rules/0/when",
				"never true /rules/0/refuse", "never false /rules/0/refuse", `never true "x"`, `never false "x"`, `never true "y"`, `never false "y"`}},
		{"a tool that is shut: it cannot pass", `"refuse": {"arg": "", "type": "object"}`, []string{`{}`}, nil},
		{"fold", `"refuse": {"arg": "/a", "oneOf": ["x", "y"], "fold": true}`, []string{`{"a": "X"}`, `{"a": "Y"}`, `{"a": "Z"}`}, nil},
		{"kinds", `"require": {"arg": "/a", "type": ["string", "null"]}`, []string{`{"a": "x"}`, `{"a": 1}`}, []string{`never true "null"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := bare(t, ruleFile(`{"id": "r", "tools": ["t"], `+test.rule+`}`), "")
			var cases []string
			for i, c := range test.calls {
				// What comes of it is not the point: an expectation that may fail.
				cases = append(cases, fmt.Sprintf(`{"name": "%d", "call": {"tool": "t", "arguments": %s}, "expect": "allowed"}`, i, c))
			}
			if len(cases) == 0 {
				cases = []string{`{"name": "other", "call": {"tool": "u"}, "expect": "allowed"}`}
			}
			f, problems := rulestest.Read("t.json", []byte(testFile(cases...)))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if _, err := s.Add(f); err != nil {
				t.Fatal(err)
			}
			r := run(t, s, rulestest.RunOptions{Coverage: true})
			var got []string
			for _, m := range r.Coverage.Missed() {
				got = append(got, m.What+" "+m.Of)
			}
			slices.Sort(got)
			want := slices.Clone(test.want)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if (r.Coverage.Percent() == 100) != (len(want) == 0) {
				t.Errorf("%d%% with %d missed", r.Coverage.Percent(), len(want))
			}
		})
	}
}

// An entry is looked at more than a block of cases long, until it has been seen
// true and false.
func TestEntriesSeenLate(t *testing.T) {
	var cases []string
	for i := range 600 {
		a := "n"
		if i == 590 {
			a = "late"
		}
		cases = append(cases, fmt.Sprintf(`{"name": "%d", "call": {"tool": "t", "arguments": {"a": %q}}, "expect": "allowed"}`, i, a))
	}
	s := suite(t, ruleFile(`{"id": "r", "tools": ["t"], "mode": "watch", "refuse": {"arg": "/a", "oneOf": ["late", "never"]}}`), testFile(cases...))
	var got []string
	for _, m := range run(t, s, rulestest.RunOptions{Coverage: true}).Coverage.Missed() {
		got = append(got, m.What+" "+m.Of)
	}
	if want := []string{`never true "never"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The page needs nothing but itself, marks what was not reached, and whatever
// stands in a rules file is text on it.
func TestPage(t *testing.T) {
	evil := `</mark><script>alert(1)</script>`
	s := suite(t, ruleFile(`{"id": "r", "about": "`+evil+`", "tools": ["t"], "refuse": {"arg": "/a", "oneOf": ["x", "`+evil+`"]}}`),
		testFile(`{"name": "a", "call": {"tool": "t", "arguments": {"a": "x"}}, "expect": {"refused": "r"}}`))
	var b bytes.Buffer
	if err := run(t, s, rulestest.RunOptions{Coverage: true}).Coverage.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, not := range []string{"<script", "http://", "https://", "src=", "url(", "@import"} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	for _, want := range []string{"<mark", "never true", "never passed", "&lt;script&gt;", `name="viewport"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	// Its elements are closed as they were opened.
	d := xml.NewDecoder(strings.NewReader(strings.Replace(page, "<!doctype html>", "", 1)))
	d.Strict, d.Entity = true, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
