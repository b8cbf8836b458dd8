package rules_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/rules"
)

// schemaOf compiles the schema that editors are given.
func schemaOf(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(rules.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rules.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("rules.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allows says whether the schema takes a text.
func allows(t testing.TB, s *jsonschema.Schema, src []byte) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		return false
	}
	return s.Validate(doc) == nil
}

func TestSchemaTakesGoodFiles(t *testing.T) {
	s := schemaOf(t)
	for _, name := range append(files(t, "good/*.json"), "testdata/whole/good.json") {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The codes that the schema knows are those of the package.
func TestSchemaCodes(t *testing.T) {
	var doc struct {
		Defs struct {
			Rule struct {
				Properties struct {
					OK struct {
						MaxItems int
						Items    struct{ Enum []string }
					}
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(rules.Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range rules.Codes() {
		want = append(want, c.Name)
	}
	if got := doc.Defs.Rule.Properties.OK; !slices.Equal(got.Items.Enum, want) || got.MaxItems != len(want) {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestSchemaLaw: what the schema rejects, the reader rejects, over the good and
// the faulty files and very many small changes of them.
func TestSchemaLaw(t *testing.T) {
	s := schemaOf(t)
	r := rand.New(rand.NewPCG(7, 11))
	var corpus []any
	for _, name := range slices.Concat(files(t, "good/*.json"), files(t, "whole/*.json"), files(t, "errors/*.json")) {
		src := read(t, name)
		held(t, s, src)
		var doc any
		if json.Unmarshal(src, &doc) == nil && len(src) < 8000 {
			corpus = append(corpus, doc)
		}
	}
	for _, c := range conditions {
		var doc any
		if err := json.Unmarshal([]byte(refuse(c)), &doc); err != nil {
			t.Fatal(err)
		}
		corpus = append(corpus, doc)
	}
	var pool []any
	for _, doc := range corpus {
		pool = gather(doc, pool)
	}
	n := 4_000
	if testing.Short() {
		n = 1_000
	}
	var rejected, accepted int
	for i := range n {
		doc := clone(corpus[r.IntN(len(corpus))])
		for range 1 + r.IntN(4)/3 {
			doc = mutate(r, doc, pool)
		}
		src, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			readLaws(t, src)
		}
		switch schema, reader := held(t, s, src); {
		case !schema:
			rejected++
		case reader:
			accepted++
		}
	}
	// A law held over files that are all of one kind would say little.
	if rejected < n/10 || accepted < n/50 {
		t.Errorf("of %d files the schema rejected %d and both took %d", n, rejected, accepted)
	}
	t.Logf("of %d files the schema rejected %d, both took %d, only the reader rejected %d", n, rejected, accepted, n-rejected-accepted)
}

func held(t *testing.T, s *jsonschema.Schema, src []byte) (schema, reader bool) {
	t.Helper()
	schema = allows(t, s, src)
	f, _ := rules.Read("f.json", src)
	if reader = f != nil; reader && !schema {
		doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(src))
		t.Fatalf("the reader takes what the schema rejects: %v\n%s", s.Validate(doc), src)
	}
	return schema, reader
}

// conditions are small conditions of every form, to be changed.
var conditions = []string{
	`{"arg":"/a","is":1}`, `{"arg":"/a/0","oneOf":["x",1,true,null]}`, `{"some":"/**","named":["a"],"contains":"x","fold":true}`,
	`{"every":"/a/*","length":{"atLeast":1,"atMost":5}}`, `{"arg":"","hasMembers":["a"],"onlyMembers":["a","b"]}`,
	`{"arg":"/a","present":false}`, `{"arg":"/a","type":["string","null"]}`, `{"some":"/a","names":true,"like":["a*","b"]}`,
	`{"arg":"/a","matches":"x+","finds":"y"}`, `{"arg":"/n","above":1,"atMost":2}`, `{"all":[{"arg":"/a","is":1}]}`,
	`{"any":[{"not":{"arg":"/a","is":"x"}},{"arg":"/b","startsWith":["x"],"endsWith":"y"}]}`,
	`{"arg":"/p","path":{"under":["/srv"],"like":["/srv/**"],"notLike":["**/x"],"base":"/srv","style":"posix","fold":true,"resolve":"text"}}`,
	`{"cel":"true"}`, `{"arg":"/a","json":{"arg":"/b","is":1}}`, `{"argv":["/a","/b"],"command":{"programs":["ls"],"argv":[["ls","*"]],"shell":"bash"}}`,
	`{"arg":"/u","url":{"scheme":["https"],"host":["*.example.com"],"port":[443],"path":["/**"],"query":["q"],"public":true}}`,
	`{"arg":"/e","email":{"domains":["example.com"],"addresses":["a@example.com"]}}`,
}

// gather adds all values of a document to pool.
func gather(v any, pool []any) []any {
	pool = append(pool, v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(keys(v)) {
			pool = gather(v[name], pool)
		}
	case []any:
		for _, e := range v {
			pool = gather(e, pool)
		}
	}
	return pool
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

// edgeValues stand where something else is expected, or at an edge.
var edgeValues = []any{nil, true, false, 0.0, 1.0, -1.0, 1.5, 65.0, 1e6, 9007199254740991.0, "", "x", "/", "/a/*", "/**", "@words", "@none", "@Bad", "a\u0000b", " x ", []any{}, []any{"x"}, []any{"x", "x"}, []any{1.0, "1"}, map[string]any{}}

// mutate changes one place of a document.
func mutate(r *rand.Rand, doc any, pool []any) any {
	// Down to a random place, so that deep ones are reached too.
	if r.IntN(5) > 0 {
		switch v := doc.(type) {
		case map[string]any:
			if names := slices.Sorted(keys(v)); len(names) > 0 {
				k := names[r.IntN(len(names))]
				v[k] = mutate(r, v[k], pool)
				return v
			}
		case []any:
			if len(v) > 0 {
				i := r.IntN(len(v))
				v[i] = mutate(r, v[i], pool)
				return v
			}
		}
	}
	other := func() any {
		if r.IntN(2) == 0 {
			return clone(edgeValues[r.IntN(len(edgeValues))])
		}
		return clone(pool[r.IntN(len(pool))])
	}
	switch v := doc.(type) {
	case map[string]any:
		names := slices.Sorted(keys(v))
		switch r.IntN(4) {
		case 0: // one less
			if len(names) > 0 {
				delete(v, names[r.IntN(len(names))])
				return v
			}
		case 1: // another name
			if len(names) > 0 {
				k := names[r.IntN(len(names))]
				e := v[k]
				delete(v, k)
				v[allNames[r.IntN(len(allNames))]] = e
				return v
			}
		case 2: // one more
			v[allNames[r.IntN(len(allNames))]] = other()
			return v
		}
	case []any:
		switch r.IntN(3) {
		case 0:
			return append(v, other())
		case 1:
			if len(v) > 0 {
				return append(v, clone(v[r.IntN(len(v))]))
			}
		}
	case string:
		if r.IntN(2) == 0 {
			return v + edgeText[r.IntN(len(edgeText))]
		}
	}
	return other()
}

var edgeText = []string{" ", "*", "/", "/**", "~", "[", "x", "\u00e9"}

var allNames = []string{"format", "name", "about", "lists", "limits", "rules", "id", "tools", "when", "refuse", "require", "say", "mode", "ok",
	"all", "any", "not", "cel", "arg", "some", "every", "argv", "named", "names", "fold", "present", "type", "is", "oneOf", "contains", "startsWith",
	"endsWith", "like", "matches", "finds", "length", "above", "atLeast", "below", "atMost", "onlyMembers", "hasMembers", "json", "path", "url",
	"command", "email", "under", "notLike", "base", "style", "resolve", "x", "$schema"}

// Of each fault that BeyondSchema names there is an example that the schema takes
// and the reader does not.
func TestBeyondSchema(t *testing.T) {
	s := schemaOf(t)
	cond := `{"arg":"/a","is":1}`
	long := func(n int, f string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(f, i)
		}
		return strings.Join(parts, ",")
	}
	examples := map[string][]string{
		"size":        {refuse(cond) + strings.Repeat(" ", rules.MaxBytes)},
		"strict-json": {refuse(`{"arg":"/a","is":1,"is":1}`), refuse(`{"arg":"/a","is":100.000000000000001}`)},
		"nesting":     {refuse(strings.Repeat(`{"not":`, 30) + cond + strings.Repeat("}", 30))},
		"same-id":     {`{"format":"content-rules/v1","name":"n","rules":[{"id":"r","tools":["t"],"refuse":` + cond + `},{"id":"r","tools":["u"],"refuse":` + cond + `}]}`},
		"no-list":     {refuse(`{"arg":"/a","oneOf":"@none"}`), refuse(`{"arg":"/a","contains":"@None"}`)},
		"list-kind":   {refuse(`{"arg":"/a","contains":"@numbers"}`)},
		"bounds":      {refuse(`{"arg":"/a","above":2,"below":1}`), refuse(`{"arg":"/a","length":{"atLeast":2,"atMost":1}}`)},
		"pointer":     {refuse(`{"arg":"/~4","is":1}`), refuse(`{"some":"/**/a","is":1}`), refuse(`{"arg":"` + strings.Repeat("/a", 65) + `","is":1}`)},
		"member-name": {refuse(`{"arg":"","hasMembers":["\u0000"]}`)},
		"pattern":     {refuse(`{"arg":"/a","finds":"("}`), refuse(`{"arg":"/a","finds":"(?:aaaaaaaaaaaaaaaaaaaaaaaa){1000}"}`)},
		"glob":        {refuse(`{"arg":"/a","like":"["}`), refuse(`{"arg":"/a","path":{"like":["/a/"]}}`)},
		"compiled":    {compiled(long)},
		"fold":        {refuse(`{"arg":"/a","above":1,"fold":true}`)},
		"path":        {refuse(`{"arg":"/a","path":{"under":["srv"]}}`)},
		"json":        {refuse(`{"arg":"/a","json":{"cel":"true"}}`)},
	}
	elsewhere := []string{"set"} // over several files: TestReadSet
	for _, b := range rules.BeyondSchema() {
		t.Run(b.Name, func(t *testing.T) {
			if len(examples[b.Name]) == 0 && !slices.Contains(elsewhere, b.Name) {
				t.Fatal("without an example")
			}
			for _, src := range examples[b.Name] {
				if !allows(t, s, []byte(src)) {
					t.Errorf("the schema rejects %.300s", src)
				}
				if f, _ := rules.Read("f.json", []byte(src)); f != nil {
					t.Errorf("the reader takes %.300s", src)
				}
			}
		})
	}
}

// compiled is a file over the bound of compiled entries: a list of many folders
// under path tests that are all a little different.
func compiled(long func(int, string) string) string {
	return `{"format":"content-rules/v1","name":"n","lists":{"l":[` + long(1000, `"/d%d"`) + `]},"rules":[` +
		long(300, `{"id":"r%[1]d","tools":["t"],"refuse":{"arg":"/a","path":{"under":"@l","base":"/b%[1]d"}}}`) + `]}`
}
