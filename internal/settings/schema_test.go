package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/internal/settings"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(settings.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:countersign:executor.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:countersign:executor.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaTakesTheSamples(t *testing.T) {
	s := compiled(t)
	for _, name := range []string{"stdio.json", "http.json"} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(sample(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every member the reader knows stands in the schema, and no other.
func TestSchemaHasEveryMember(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(settings.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties {
		_, problems := settings.Read("e.json", []byte(`{"`+name+`": null}`))
		if strings.Contains(problems.String(), "unknown member") {
			t.Errorf("the schema has %q, which the reader does not know", name)
		}
	}
	doc := map[string]any{}
	for _, name := range []string{"stdio.json", "http.json"} {
		if err := json.Unmarshal(sample(t, name), &doc); err != nil {
			t.Fatal(err)
		}
	}
	for name := range doc {
		if schema.Properties[name] == nil {
			t.Errorf("the reader knows %q, which the schema has not", name)
		}
	}
}

// What the schema refuses, the reader refuses: over thousands of changed
// settings, each one or a few steps from a sound file.
func TestSchemaRefusesNoMoreThanTheReader(t *testing.T) {
	s := compiled(t)
	samples := [][]byte{sample(t, "stdio.json"), sample(t, "http.json"), []byte(minimal)}
	if len(samples[0]) == 0 || len(samples[1]) == 0 {
		t.Fatal("no samples to change")
	}
	refused, taken := 0, 0
	for seed := range uint64(2400) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var doc any
		if err := json.Unmarshal(samples[seed%3], &doc); err != nil {
			t.Fatal(err)
		}
		for range 1 + rnd.IntN(3) {
			doc = mutate(rnd, doc)
		}
		src, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
		if err != nil {
			t.Fatal(err)
		}
		_, problems := settings.Read("e.json", src)
		err = s.Validate(again)
		switch {
		case err == nil:
			taken++
		case formProblems(problems) == 0:
			t.Fatalf("the reader takes the form of what the schema refuses:\n%s\n%v\n%s", src, err, problems)
		default:
			refused++
		}
	}
	if refused < 400 || taken < 50 {
		t.Errorf("the corpus is lopsided: the schema refused %d and took %d", refused, taken)
	}
}

// formProblems leaves out what this version lacks, which is no fault of form, so
// that the law holds for those members too.
func formProblems(ps settings.Problems) (n int) {
	for _, p := range ps {
		if p.Code != settings.CodeNotBuilt {
			n++
		}
	}
	return n
}

var odd = []any{nil, true, false, 0, -1, 1, 1.5, 65, 1e6, 9007199254740991, "", "x", "*", "refuse", "<fill me in>", "a b", "~", "__", "A_B", "/a/~2", "http://h",
	strings.Repeat("é", 201), strings.Repeat("x", 5000), []any{}, []any{"a", "a"}, map[string]any{}, map[string]any{"file": "f"},
	map[string]any{"env": "E", "file": "f"}, map[string]any{"value": ""}, map[string]any{"action": "a"}, map[string]any{"command": "c", "url": "https://u"}}

// mutate changes one place of a document.
func mutate(rnd *rand.Rand, v any) any {
	switch x := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(x))
		for n := range x {
			names = append(names, n)
		}
		// Map order is not fixed; the seed must fix the change.
		slices.Sort(names)
		if len(names) == 0 || rnd.IntN(6) == 0 {
			x[fmt.Sprintf("n%d", rnd.IntN(3))] = odd[rnd.IntN(len(odd))]
			return x
		}
		n := names[rnd.IntN(len(names))]
		switch rnd.IntN(8) {
		case 0:
			delete(x, n)
		case 1:
			x[strings.ToUpper(n)] = x[n]
		case 2:
			x[n] = odd[rnd.IntN(len(odd))]
		default:
			x[n] = mutate(rnd, x[n])
		}
		return x
	case []any:
		if len(x) == 0 || rnd.IntN(4) == 0 {
			return append(x, odd[rnd.IntN(len(odd))])
		}
		i := rnd.IntN(len(x))
		x[i] = mutate(rnd, x[i])
		return x
	}
	return odd[rnd.IntN(len(odd))]
}
