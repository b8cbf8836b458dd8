package rulestest_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/rulestest"
)

const lintTools = `{"resources": true, "tools": [
	{"name": "read_file", "inputSchema": {"type": "object", "properties": {
		"path": {"type": "string"}, "head": {"type": "integer"}, "sort": {"enum": ["name", "size"], "default": "name"},
		"edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}}, "any": {}, "meta": {"type": "object", "additionalProperties": true}},
		"$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}, "more": {"$ref": "#/$defs/edit"}}}}}},
	{"name": "fetch", "inputSchema": {"anyOf": [
		{"type": "object", "properties": {"url": {"type": ["string", "null"], "format": "uri"}}},
		{"type": "object", "properties": {"uri": {"type": "string"}, "deep": {"type": "boolean", "default": true}}}]}},
	{"name": "bare"}]}`

// One row for each thing that is found, and for each that is not.
func TestLint(t *testing.T) {
	rule := func(tools, rest string) string { return `{"id": "r", "tools": ` + tools + `, ` + rest + `}` }
	// What is found of the tools and arguments that these rules leave alone is
	// silenced by a rule that shuts each.
	shut := `{"id": "shut", "tools": ["read_file", "fetch", "bare", "resources/read"], "when": {"arg": "/zz", "present": true}, "refuse": {"arg": "", "type": "object"}, "ok": ["unknown-pointer"]}`
	tests := []struct {
		name, rules string
		want        []string // code, pointer and a part of the message
	}{
		{"all is well", rule(`["read_file"]`, `"require": {"arg": "/path", "path": {"under": ["/srv"]}}`), nil},
		{"an unknown tool", rule(`["raed_file", "read_*", "x?", "resources/read"]`, `"refuse": {"arg": "/path", "is": "x"}`), []string{
			`unknown-tool /rules/0/tools/0 did you mean "read_file"?`, `unknown-tool /rules/0/tools/2 no tool of the server is like "x?"`}},
		{"an unknown pointer", rule(`["read_file"]`, `"refuse": {"arg": "/Path", "is": "x"}`), []string{`unknown-pointer /rules/0/refuse/arg did you mean "path"?`}},
		{"deep inside", rule(`["read_file"]`, `"refuse": {"some": "/edits/#/more/more/odl", "is": "x"}`), []string{`unknown-pointer /rules/0/refuse/some did you mean "old"?`}},
		{"known through a reference", rule(`["read_file"]`, `"refuse": {"some": "/edits/*/more/old", "is": "x"}`), nil},
		{"an element by number", rule(`["read_file"]`, `"refuse": {"arg": "/edits/0/old", "is": "x"}`), nil},
		{"a member of a list", rule(`["read_file"]`, `"refuse": {"arg": "/edits/old", "is": "x"}`), []string{`unknown-pointer /rules/0/refuse/arg no member "old"`}},
		{"elements of what is no list", rule(`["read_file"]`, `"refuse": {"some": "/path/#", "is": "x"}`), nil},
		{"below what may be anything", rule(`["read_file"]`, `"refuse": {"any": [{"arg": "/any/x", "is": "x"}, {"arg": "/meta/x/y", "is": "x"}]}`), nil},
		{"known in one of the tools", rule(`["read_file", "fetch"]`, `"refuse": {"arg": "/path", "is": "x"}`), nil},
		{"known in an alternative", rule(`["fetch"]`, `"refuse": {"arg": "/uri", "is": "x"}`), nil},
		{"a tool without a schema", rule(`["bare"]`, `"refuse": {"arg": "/x", "is": "x"}`), nil},
		{"input responses are no argument", rule(`["read_file"]`, `"refuse": {"some": "/inputResponses/**", "is": "x"}, "ok": ["kind-slip"]`), nil},
		{"an unknown name", rule(`["read_file"]`, `"refuse": {"some": "/**", "named": ["path", "edit"], "is": "x"}`), []string{`unknown-pointer /rules/0/refuse/named/1 did you mean "edits"?`}},
		{"silenced", rule(`["read_file"]`, `"refuse": {"arg": "/pth", "is": "x"}, "ok": ["unknown-pointer"]`), nil},
		{"a type that never passes", rule(`["read_file"]`, `"refuse": {"arg": "/head", "contains": "x"}`), []string{`type-never /rules/0/refuse/contains it is integer`}},
		{"a number is a fine integer", rule(`["read_file"]`, `"refuse": {"arg": "/head", "above": 1}`), nil},
		{"a word that is none of the enum", rule(`["read_file"]`, `"refuse": {"arg": "/sort", "oneOf": ["date", "age"]}`), []string{`type-never /rules/0/refuse/oneOf none of the values its enum has`}},
		{"one of them is", rule(`["read_file"]`, `"require": {"arg": "/sort", "oneOf": ["size", "age"]}`), nil},
		{"null is let through", rule(`["fetch"]`, `"refuse": {"arg": "/url", "is": null}`), nil},
		{"a boolean as text", rule(`["fetch"]`, `"refuse": {"arg": "/deep", "is": "true"}`), []string{`type-never /rules/0/refuse/is it is boolean`}},
		{"by name at any depth", rule(`["read_file"]`, `"require": {"every": "/**", "named": ["head"], "matches": "[0-9]+"}`), []string{`type-never /rules/0/require/matches it is integer`}},
		{"a default that a refuse would match", rule(`["fetch"]`, `"refuse": {"arg": "/deep", "is": true}`), []string{`default-passes /rules/0/refuse /deep of "fetch" is "true" where it is left out`}},
		{"a default that a when would match", rule(`["read_file"]`, `"when": {"arg": "/sort", "is": "name"}, "refuse": {"arg": "/path", "is": "x"}`), []string{`default-passes /rules/0/when`}},
		{"a default that it would not match", rule(`["fetch"]`, `"refuse": {"arg": "/deep", "is": false}`), nil},
		{"absence is asked for", rule(`["fetch"]`, `"refuse": {"any": [{"arg": "/deep", "present": false}, {"arg": "/deep", "is": true}]}`), nil},
		{"a require refuses what is absent", rule(`["fetch"]`, `"require": {"arg": "/deep", "is": false}`), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			warnings, _ := bare(t, ruleFile(test.rules, shut), lintTools).Lint()
			var got []string
			for _, w := range warnings {
				if w.Code != rulestest.CodeUnlooked && w.Code != rulestest.CodeUnruledTool {
					got = append(got, fmt.Sprintf("%s %s %s", w.Code, w.Pointer, w.Msg))
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			for i := range got {
				code, rest, _ := strings.Cut(test.want[i], " ")
				pointer, msg, _ := strings.Cut(rest, " ")
				if !strings.HasPrefix(got[i], code+" "+pointer+" ") || !strings.Contains(got[i], msg) {
					t.Errorf("got %s, want %s", got[i], test.want[i])
				}
			}
		})
	}
}

// Which rules look at an argument.
func TestUnlooked(t *testing.T) {
	tools := `{"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": {
		"filePath": {"type": "string"}, "urls": {"type": "array", "items": {"type": "string"}}, "shell_command": {"type": "string"},
		"pathCount": {"type": "integer"}, "json_path": {"type": "string"}, "sort": {"type": "string", "enum": ["path"]}, "pattern": {"type": "string"},
		"link": {"type": "string", "format": "uri"}, "inside": {"type": "object", "properties": {"dir": {"type": "string"}}}}}}]}`
	all := "/filePath /shell_command /link /urls/# /inside/dir" // outermost first
	for _, test := range []struct{ name, rule, want string }{
		{"none", `"refuse": {"arg": "/pattern", "is": "x"}`, all},
		{"words in every text do not count", `"refuse": {"some": "/**", "contains": "secret"}`, all},
		{"a typed test of every text does", `"require": {"every": "/**", "path": {"under": ["/srv"]}}`, ""},
		{"the tool is shut", `"refuse": {"arg": "", "type": "object"}`, ""},
		{"no other members", `"require": {"arg": "", "onlyMembers": ["filePath", "urls"]}`, "/filePath /urls/#"},
		{"by pointer", `"require": {"arg": "/filePath", "path": {"under": ["/srv"]}}`, "/shell_command /link /urls/# /inside/dir"},
		{"elements", `"require": {"every": "/urls/#", "url": {"public": true}}`, "/filePath /shell_command /link /inside/dir"},
		{"by name", `"refuse": {"some": "/**", "named": ["dir", "urls"], "startsWith": "x"}`, "/filePath /shell_command /link"},
		{"all under a place", `"refuse": {"some": "/inside/**", "startsWith": "x"}`, "/filePath /shell_command /link /urls/#"},
		{"argv", `"require": {"argv": ["/shell_command"], "command": {"programs": ["ls"]}}`, "/filePath /link /urls/# /inside/dir"},
		{"in a part of a condition", `"require": {"any": [{"arg": "/link", "present": false}, {"not": {"arg": "/link", "is": "x"}}]}`, "/filePath /shell_command /urls/# /inside/dir"},
		{"silenced", `"refuse": {"arg": "/pattern", "is": "x"}, "ok": ["unlooked-argument"]`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			warnings, _ := bare(t, ruleFile(`{"id": "r", "tools": ["t"], `+test.rule+`}`), tools).Lint()
			var got []string
			for _, w := range warnings {
				if w.Code == rulestest.CodeUnlooked {
					got = append(got, strings.Fields(strings.TrimPrefix(w.Msg, "no rule looks at "))[0])
				}
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("got %q, want %q", s, test.want)
			}
		})
	}
}

// Schemas that refer to themselves, or nest without end, end.
func TestHostileSchemas(t *testing.T) {
	deep := strings.Repeat(`{"properties": {"a": `, 50) + `{}` + strings.Repeat(`}}`, 50)
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `"path%d": {"$ref": "#"},`, i)
	}
	for name, schema := range map[string]string{
		"itself": `{"$ref": "#"}`, "round": `{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/a"}]}}}`,
		"deep": deep, "wide": `{"properties": {` + many.String() + `"x": {}}}`, "nowhere": `{"$ref": "#/a/b"}`, "odd": `{"properties": [], "items": 7, "required": "x", "type": {}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tools := `{"tools": [{"name": "t", "inputSchema": ` + schema + `}]}`
			s := bare(t, ruleFile(`{"id": "r", "tools": ["t"], "refuse": {"any": [{"arg": "/a/b", "is": "x"}, {"some": "/**", "named": ["path1"], "is": "x"}]}, "ok": ["unknown-pointer"]}`), tools)
			s.Lint() // ends
		})
	}
}
