package proxy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/ijson"
	"countersign/proxy"
)

// drawSchema draws a schema of plain keywords and a few that are none.
func drawSchema(t *rapid.T, depth int) string {
	var parts []string
	types := []string{`"object"`, `"array"`, `"string"`, `"number"`, `"integer"`, `"boolean"`, `"null"`, `["string","null"]`, `["integer","object"]`}
	if rapid.Bool().Draw(t, "typed") {
		parts = append(parts, `"type":`+rapid.SampledFrom(types).Draw(t, "type"))
	}
	if depth > 0 && rapid.Bool().Draw(t, "has members") {
		parts = append(parts, fmt.Sprintf(`"properties":{"a":%s,"b":%s}`, drawSchema(t, depth-1), drawSchema(t, depth-1)))
	}
	if depth > 0 && rapid.Bool().Draw(t, "has elements") {
		parts = append(parts, `"items":`+drawSchema(t, depth-1))
	}
	for _, part := range []string{`"required":["a"]`, `"required":["b","c"]`, `"additionalProperties":false`, `"additionalProperties":true`, `"enum":["x","y"]`, `"description":"d"`, `"maxLength":1`, `"minimum":1`} {
		name, _, _ := strings.Cut(part, ":")
		if rapid.IntRange(0, 5).Draw(t, "more") == 0 && !strings.Contains(strings.Join(parts, ","), name) {
			parts = append(parts, part)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawValue(t *rapid.T, depth int) string {
	n := 7
	if depth == 0 {
		n = 5
	}
	switch rapid.IntRange(0, n).Draw(t, "kind") {
	case 0:
		return "null"
	case 1:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case 2:
		return rapid.SampledFrom([]string{"0", "-1", "7", "1.5", "1e+21", "1.0", "-0", "1E2"}).Draw(t, "number")
	case 3, 4, 5:
		return rapid.SampledFrom([]string{`"x"`, `"y"`, `"\u0078"`, `"long"`, `""`}).Draw(t, "text")
	case 6:
		var list []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	var members []string
	for _, name := range []string{`"a"`, `"\u0062"`, `"c"`} {
		if rapid.Bool().Draw(t, "has") {
			members = append(members, name+":"+drawValue(t, depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// What the plain schema lets pass the library lets pass; and it is no use if it
// lets pass nothing of what the library does.
func TestPlainSchema(t *testing.T) {
	var plain, passed, missed int
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(t, 2)
		text := drawValue(t, 3)
		doc, err := ijson.Parse([]byte(schema), ijson.Options{Depth: 64})
		if err != nil {
			t.Fatal(err)
		}
		value, err := ijson.Parse([]byte(text), ijson.Options{Depth: 64, Doubles: true})
		if err != nil {
			t.Fatal(err)
		}
		isPlain, fits, library, err := proxy.Plain(doc.Root(), value.Root())
		if err != nil {
			t.Fatal(err)
		}
		if isPlain {
			plain++
		}
		switch {
		case fits && !library:
			t.Fatalf("%s passes %s, which the library refuses", schema, text)
		case fits:
			passed++
		case isPlain && library:
			missed++
			if !strings.ContainsAny(text, ".eE") && !strings.Contains(text, "-0") {
				t.Fatalf("%s does not pass %s, which the library does", schema, text)
			}
		}
	})
	if plain == 0 || passed == 0 {
		t.Errorf("nothing was tested: %d plain schemas, %d values that passed", plain, passed)
	}
	if missed > passed {
		t.Errorf("%d values passed and %d were left to the library", passed, missed)
	}
}

// Most schemas of real servers that are short are plain.
func TestPlainSchemasOfRealServers(t *testing.T) {
	src, err := os.ReadFile("testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	plain, all := 0, 0
	for line := range strings.Lines(string(src)) {
		schema := value(t, strings.TrimSpace(line))
		if s := schema.Member("inputSchema"); s.Exists() {
			schema = s
		}
		ok, _, _, err := proxy.Plain(schema, value(t, `{}`))
		if err != nil {
			t.Fatal(err)
		}
		all++
		if ok {
			plain++
		}
	}
	t.Logf("%d of %d schemas are plain", plain, all)
	if plain < all/4 {
		t.Errorf("%d of %d schemas are plain, expected a quarter at least", plain, all)
	}
}
