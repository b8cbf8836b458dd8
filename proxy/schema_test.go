package proxy_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/proxy"
)

func value(t testing.TB, text string) ijson.Value {
	t.Helper()
	if text == "" {
		return ijson.Value{}
	}
	d, err := ijson.Parse([]byte(text), ijson.Options{Depth: 512, Doubles: true})
	if err != nil {
		t.Fatalf("%s: %v", cut(text), err)
	}
	return d.Root()
}

func TestSchema(t *testing.T) {
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	for _, c := range []struct {
		name, schema, arguments string
		omitted                 []string
		code, why               string
	}{
		{"fits", `{"type":"object","properties":{"a":{"type":"integer","maximum":3}}}`, `{"a":3}`, nil, "", ""},
		{"absent arguments", `{"type":"object"}`, ``, nil, "", ""},
		{"absent arguments, one needed", `{"type":"object","required":["a"]}`, ``, nil, "schema", `at "": required: a`},
		{"wrong type", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"secret"}`, nil, "schema", `at "/a": type`},
		{"the value is not told", `{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":"secret"}`, nil, "schema", `at "/a": enum`},
		{"several", `{"properties":{"a":{"const":1},"b":{"const":1}}}`, `{"a":2,"b":2}`, nil, "schema", `at "/a": const; at "/b": const`},
		{"an exact decimal", `{"properties":{"a":{"multipleOf":0.1}}}`, `{"a":0.3}`, nil, "", ""},
		{"a large whole number", `{"properties":{"a":{"maximum":9007199254740990}}}`, `{"a":9007199254740991}`, nil, "schema", `at "/a": maximum`},
		{"not more members", `{"additionalProperties":false,"properties":{"a":{}}}`, `{"a":1,"b":2}`, nil, "schema", `at "": additionalProperties`},
		{"through a reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`, `{"a":"x"}`, nil, "schema", `at "/a": type`},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, `{"a":[1]}`, nil, "schema", `at "/a/0": type`},
		{"false", `false`, `{}`, nil, "schema", `at "": not allowed`},
		{"true", `true`, `{"a":1}`, nil, "", ""},

		// What cannot be compiled is left out, and the rest holds.
		{"a pattern of another engine", `{"properties":{"a":{"type":"string","pattern":"(?=x)"},"b":{"type":"string","pattern":"^x$"}}}`, `{"a":"y","b":"y"}`, []string{"/properties/a/pattern"}, "schema", `at "/b": pattern`},
		{"a pattern for names", `{"patternProperties":{"(?!x)":{"type":"string"},"^n":{"type":"number"}}}`, `{"a":1,"n":"x"}`, []string{"/patternProperties/(?!x)"}, "schema", `at "/n": type`},
		{"a type that is none", `{"properties":{"a":{"type":"strnig","maxLength":1}}}`, `{"a":"xx"}`, []string{"/properties/a/type"}, "schema", `at "/a": maxLength`},
		{"needed, as an old draft has it", `{"properties":{"a":{"type":"string","required":true}}}`, `{"a":1}`, []string{"/properties/a/required"}, "schema", `at "/a": type`},
		{"a reference over the network", `{"properties":{"a":{"$ref":"https://example.com/s.json"},"b":{"type":"string"}}}`, `{"a":1,"b":1}`, []string{"/properties/a/$ref"}, "schema", `at "/b": type`},
		{"a reference to a file", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`, []string{"/properties/a/$ref"}, "", ""},
		{"a reference to nothing", `{"properties":{"a":{"$ref":"#/$defs/none"},"b":{"type":"string"}}}`, `{"b":1}`, []string{"/properties/a/$ref"}, "schema", `at "/b": type`},
		{"a dialect nobody knows", `{"$schema":"https://example.com/dialect","properties":{"a":{"type":"string"}}}`, `{"a":1}`, []string{"/$schema"}, "schema", `at "/a": type`},
		{"a dynamic reference", `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"},"b":{"type":"string"}}}`, `{"b":1}`, []string{"/properties/a/$dynamicRef"}, "schema", `at "/b": type`},
		{"data that looks like a keyword", `{"properties":{"pattern":{"type":"string","default":{"pattern":"(?=x)"}},"$ref":{"const":{"$ref":"https://example.com"}}}}`, `{"pattern":"x","$ref":{"$ref":"https://example.com"}}`, nil, "", ""},

		// Bounds.
		{"within the estimate", `{"properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"a":[1,2,3]}`, nil, "", ""},
		{"pairs of a long list", `{"properties":{"a":{"type":"array","uniqueItems":true}}}`, `{"a":` + list(2000) + `}`, nil, "over-budget", ""},
		{"many values", `{"properties":{"a":{"items":{"type":"integer","minimum":0,"maximum":9,"multipleOf":1}}}}`, `{"a":` + list(200_000) + `}`, nil, "over-budget", ""},
		{"a list of its own kind", `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, strings.Repeat(`{"next":`, 50) + "{}" + strings.Repeat("}", 50), nil, "", ""},
		{"a schema that doubles itself", doubling(40), `{"a":1}`, nil, "over-budget", ""},
		{"a value that doubles it", `{"$defs":{"n":{"properties":{"n":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`, strings.Repeat(`{"n":`, 40) + "1" + strings.Repeat("}", 40), nil, "over-budget", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			omitted, code, why, err := proxy.Check(value(t, c.schema), value(t, c.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(omitted, c.omitted) {
				t.Errorf("left out %q, want %q", omitted, c.omitted)
			}
			if code != c.code {
				t.Errorf("got %q %q, want %q", code, why, c.code)
			}
			if c.why != "" && why != "the arguments do not fit the tool's input schema: "+c.why {
				t.Errorf("got %q, want %q", why, c.why)
			}
		})
	}
}

// doubling is a schema of n steps that each refer to the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}},"$ref":"#/$defs/d0"}`, n)
	return b.String()
}

func TestSchemaThatCannotBeUsed(t *testing.T) {
	var large strings.Builder
	large.WriteString(`{"properties":{`)
	for i := range 11_000 {
		fmt.Fprintf(&large, `"p%d":{"type":"string"},`, i)
	}
	large.WriteString(`"z":{}}}`)
	for name, schema := range map[string]string{
		"no object":         `7`,
		"too large":         `{"description":"` + strings.Repeat("x", 2<<20) + `"}`,
		"too many keywords": large.String(),
	} {
		if _, _, _, err := proxy.Check(value(t, schema), value(t, `{}`)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Every schema of the real servers compiles whole, and its states are few.
func TestSchemasOfRealServers(t *testing.T) {
	src, err := os.ReadFile("testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		tool := value(t, line)
		name := tool.Member("server").Text() + " " + tool.Member("tool").Text()
		in := tool.Member("inputSchema")
		omitted, _, _, err := proxy.Check(in, value(t, `{}`))
		if err != nil || len(omitted) > 0 {
			t.Errorf("%s: left out %q, %v", name, omitted, err)
		}
		if near, err := proxy.Alike(in, nil, nil, value(t, `{"x":[{"y":1}]}`)); near != "" || err != nil {
			t.Errorf("%s: %q %v", name, near, err)
		}
	}
	if n < 200 {
		t.Errorf("only %d tools", n)
	}
}

func TestAlike(t *testing.T) {
	const tree = `{"$defs":{"node":{"type":"object","properties":{"name":{},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"$ref":"#/$defs/node"}`
	for _, c := range []struct {
		name, schema       string
		pointers, anywhere []string
		arguments, want    string
	}{
		{"known", `{"properties":{"path":{}}}`, nil, nil, `{"path":1}`, ""},
		{"another case", `{"properties":{"path":{}}}`, nil, nil, `{"Path":1}`, "path"},
		{"beside it", `{"properties":{"path":{}}}`, nil, nil, `{"path":1,"pATH":1}`, "path"},
		{"the long s", `{"properties":{"paths":{}}}`, nil, nil, `{"path` + "ſ" + `":1}`, "paths"},
		{"the Kelvin sign", `{"properties":{"task":{}}}`, nil, nil, `{"tas` + "\u212a" + `":1}`, "task"},
		{"escaped", `{"properties":{"path":{}}}`, nil, nil, `{"\u0050ath":1}`, "path"},
		{"both spellings known", `{"properties":{"path":{},"Path":{}}}`, nil, nil, `{"path":1,"Path":1}`, ""},
		{"a third spelling", `{"properties":{"path":{},"Path":{}}}`, nil, nil, `{"PATH":1}`, "path"},
		{"unknown ones may differ in case", `{"properties":{"path":{}}}`, nil, nil, `{"a":1,"A":2}`, ""},
		{"full folding is not simple folding", `{"properties":{"strasse":{}}}`, nil, nil, `{"straße":1}`, ""},
		{"at another depth", `{"properties":{"path":{}}}`, nil, nil, `{"x":{"Path":1}}`, ""},
		{"deeper", `{"properties":{"o":{"properties":{"in":{}}}}}`, nil, nil, `{"o":{"IN":1}}`, "in"},
		{"in a list", `{"properties":{"l":{"items":{"properties":{"in":{}}}}}}`, nil, nil, `{"l":[1,{"In":1}]}`, "in"},
		{"in any member", `{"additionalProperties":{"properties":{"in":{}}}}`, nil, nil, `{"any":{"In":1}}`, "in"},
		{"in a member by pattern", `{"patternProperties":{"^x":{"properties":{"in":{}}}}}`, nil, nil, `{"xx":{"In":1}}`, "in"},
		{"through a reference", `{"$defs":{"d":{"properties":{"in":{}}}},"$ref":"#/$defs/d"}`, nil, nil, `{"IN":1}`, "in"},
		{"through a combinator", `{"anyOf":[{"properties":{"a":{}}},{"allOf":[{"if":{"properties":{"b":{}}}}]}]}`, nil, nil, `{"B":1}`, "b"},
		{"in a tree", tree, nil, nil, `{"children":[{"children":[{"Name":1}]}]}`, "name"},
		{"in a tree, known", tree, nil, nil, `{"children":[{"children":[{"name":1,"other":{"Name":1}}]}]}`, ""},
		{"a pointer", ``, []string{"/a/b"}, nil, `{"a":{"B":1}}`, "b"},
		{"a pointer's first part", ``, []string{"/a/b"}, nil, `{"A":{"b":1}}`, "a"},
		{"elsewhere than the pointer", ``, []string{"/a/b"}, nil, `{"b":{"B":1},"c":{"A":1}}`, ""},
		{"a pointer with a wildcard", ``, []string{"/a/*/b"}, nil, `{"a":{"x":{"B":1}}}`, "b"},
		{"a pointer with a wildcard, in a list", ``, []string{"/a/*/b"}, nil, `{"a":[{"B":1}]}`, "b"},
		{"a pointer to an element", ``, []string{"/a/0/b"}, nil, `{"a":[{"B":1}]}`, "b"},
		{"a pointer beside a schema", `{"properties":{"a":{"properties":{"B":{}}}}}`, []string{"/a/b"}, nil, `{"a":{"B":1,"b":1}}`, ""},
		{"a pointer with escapes", ``, []string{"/a~1b"}, nil, `{"A/B":1}`, "a/b"},
		{"at any depth", ``, nil, []string{"secret"}, `{"x":[{"y":{"SECRET":1}}]}`, "secret"},
		{"at any depth, known", ``, nil, []string{"secret"}, `{"x":[{"y":{"secret":1}}]}`, ""},
		{"known at its place beats any depth", `{"properties":{"Secret":{}}}`, nil, []string{"secret"}, `{"Secret":1}`, ""},
		{"absent", `{"properties":{"path":{}}}`, nil, nil, ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := proxy.Alike(value(t, c.schema), c.pointers, c.anywhere, value(t, c.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ToLower(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
