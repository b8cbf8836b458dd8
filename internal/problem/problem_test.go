package problem_test

import (
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

func TestOneRunTellsAll(t *testing.T) {
	src := []byte("{\n  \"nmae\": \"x\",\n  \"size\": 1.5, \"on\": \"yes\",\n  \"list\": [], \"größe\": 1\n}")
	d, err := ijson.Parse(src, ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var r problem.Reader
	root := problem.Place{Value: d.Root()}
	r.Object(root, "a thing", []string{"name", "size", "on", "list"}, "name", "other")
	r.Whole(root.Member("size"), 0, 9)
	r.Bool(root.Member("on"))
	r.List(root.Member("list"), "words", 5)
	want := `f.json:1:1: a thing without "other", which it needs
f.json:2:3: /nmae: unknown member "nmae" of a thing, did you mean "name"?
f.json:3:11: /size: expected a whole number from 0 to 9, got "1.5"
f.json:3:22: /on: expected true or false, got a text
f.json:4:11: /list: an empty list, expected 1 to 5 words
f.json:4:15: /größe: unknown member "größe" of a thing, expected "name", "size", "on" or "list"
`
	if got := r.Settle("f.json", src).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCapped(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 40_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("x", i%7) + string(rune(0x4E00+i%20000)) + strings.Repeat("y", i/20000) + `":1`)
	}
	b.WriteString("}")
	d, err := ijson.Parse([]byte(b.String()), ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var r problem.Reader
	r.Object(problem.Place{Value: d.Root()}, "a thing", []string{"name"})
	l := r.Settle("f", []byte(b.String()))
	if len(l) != problem.Max+1 || l[problem.Max].Msg != "39900 more" || l[0].Offset != 1 {
		t.Errorf("%d problems, the last %v", len(l), l[len(l)-1])
	}
}

func TestNearest(t *testing.T) {
	known := []string{"contains", "startsWith", "some", "refuse"}
	for word, want := range map[string]string{"containz": "contains", "startswith": "startsWith", "smoe": "some", "Refuse": "refuse", "refsue": "refuse", "x": "", "": "", "banana": "", strings.Repeat("contains", 100): ""} {
		if got := problem.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	src := []byte("{\n\t\"größe\": 1,\r\n\"" + strings.Repeat("x", 200) + "\": 2 }")
	for _, c := range []struct {
		offset int
		want   string
	}{
		{0, "    {\n    ^\n"},
		{3, "     \"größe\": 1,\n     ^\n"},
		{14, "     \"größe\": 1,\n              ^\n"},
		{len(src), "    …" + strings.Repeat("x", 70) + "\": 2 }\n    " + strings.Repeat(" ", 77) + "^\n"},
	} {
		p := problem.Settle("f", src, []problem.Problem{{Offset: c.offset}}, 0)[0]
		if got := p.Excerpt(src); got != c.want {
			t.Errorf("offset %d:\n%q, want\n%q", c.offset, got, c.want)
		}
	}
	if got := (problem.Problem{Offset: 9, Column: 1}).Excerpt([]byte("x")); got != "" {
		t.Errorf("an offset past the end: %q", got)
	}
}
