package rules_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/rules"
)

func TestFormat(t *testing.T) {
	for _, name := range files(t, "good/*.json") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src := read(t, name)
			out, ps := rules.Format(name, src)
			if out == nil {
				t.Fatal(ps)
			}
			golden(t, strings.TrimSuffix(name, ".json")+".formatted", string(out))
			formatLaws(t, src, out)
		})
	}
}

// formatLaws: laying out changes no fingerprint, and laying out again nothing.
func formatLaws(t *testing.T, src, out []byte) {
	t.Helper()
	again, ps := rules.Format("f.json", out)
	if !bytes.Equal(again, out) {
		t.Errorf("not idempotent: %s\n%s\n%s", ps, out, again)
	}
	a, errA := ijson.Canonical(src, ijson.Options{})
	b, errB := ijson.Canonical(out, ijson.Options{})
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("another canonical form: %v %v\n%s\n%s", errA, errB, a, b)
	}
}

// The layout that the documentation uses is the one that is written.
func TestFormatOfTheDocumentation(t *testing.T) {
	const want = `{
  "format": "content-rules/v1",
  "name": "f",
  "lists": {
    "w": ["a", "b"]
  },
  "rules": [
    {
      "id": "r",
      "tools": ["t"],
      "when": { "arg": "/a", "present": true },
      "refuse": {
        "any": [
          { "some": "/**", "named": ["x"], "contains": "@w", "like": "x*", "fold": true },
          { "not": { "arg": "/b", "is": 1.50 } }
        ]
      },
      "say": "no"
    }
  ]
}
`
	src := `{"rules":[{"say":"no","refuse":{"any":[{"fold":true,"contains":"@w","like":"x*","named":["x"],"some":"/**"},
		{"not":{"is":1.50,"arg":"/b"}}]},"when":{"present":true,"arg":"/a"},"tools":["t"],"id":"r"}],"lists":{"w":["a","b"]},"name":"f","format":"content-rules/v1"}`
	got, ps := rules.Format("f.json", []byte(src))
	if string(got) != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", ps, got, want)
	}
}

// A file with faults of meaning is laid out too; one that is no strict JSON is not.
func TestFormatOfFaulty(t *testing.T) {
	got, ps := rules.Format("f.json", []byte(`{"zzz":[],"rules":{},"name":5,"lists":[{}]}`))
	want := "{\n  \"name\": 5,\n  \"lists\": [\n    {}\n  ],\n  \"rules\": {},\n  \"zzz\": []\n}\n"
	if string(got) != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", ps, got, want)
	}
	for name, src := range map[string]string{
		"repeated": `{"a":1,"a":2}`, "broken": `{"a":}`, "empty": "", "number": `{"a":1e400}`, "deep": strings.Repeat("[", 33) + strings.Repeat("]", 33),
	} {
		if out, ps := rules.Format("f.json", []byte(src)); out != nil || len(ps) == 0 {
			t.Errorf("%s: %s %s", name, out, ps)
		}
	}
	// What would be too large to read again stays as it is.
	src := `{"format":"content-rules/v1","lists":{"l":[` + strings.TrimSuffix(strings.Repeat("1,", 400_000), ",") + `]}}`
	if out, ps := rules.Format("f.json", []byte(src)); out != nil || !strings.Contains(ps.String(), "expected at most 1048576") {
		t.Errorf("%d bytes: %s", len(out), ps)
	}
}
