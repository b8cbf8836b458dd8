package rulestest_test

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/rulestest"
)

// seeds are the test files and lists of tools of the examples.
func seeds(tb testing.TB, name string) [][]byte {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(servers, "*", name))
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestFuzzSeedsAreThere(t *testing.T) {
	for _, name := range []string{"content-rules.test.json", "tools.json"} {
		if n := len(seeds(t, name)); n < 6 {
			t.Errorf("%d seeds of %s", n, name)
		}
	}
}

// Whatever stands in a test file, it is read or its faults are told with a place.
func FuzzRead(f *testing.F) {
	for _, b := range seeds(f, "content-rules.test.json") {
		f.Add(b)
	}
	f.Add([]byte(testFile(`{"name": "a", "calls": {"files": "x", "tool": "y"}, "expect": {"watched": "z"}, "unruled": false}`)))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, problems := rulestest.Read("t", src)
		if (file == nil) != (len(problems) > 0) {
			t.Fatalf("a file %v and %d problems", file != nil, len(problems))
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Msg == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}

// Whatever a server answers, holding rules against it ends.
func FuzzServer(f *testing.F) {
	for _, b := range seeds(f, "tools.json") {
		f.Add(b)
	}
	f.Add([]byte(lintTools))
	f.Add([]byte(plantedTools))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := rulestest.ReadServer("t", src)
		if err != nil {
			return
		}
		suite, err := newSuite(ruleFile(`{"id": "r", "tools": ["*"], "refuse": {"any": [{"arg": "/path", "is": "x"}, {"some": "/**", "named": ["url"], "is": "x"}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		suite.Server = s
		suite.Lint()
	})
}

// Whatever stands in a file of recorded calls, it is read or refused with its
// line, and what is read can be captured or says why not.
func FuzzRecorded(f *testing.F) {
	f.Add([]byte(call(1, "add", `{"n": 7}`, "x") + "\n" + `{"kind":"watch","of":1,"rules":[{"code":"condition","rule":"r/a"}],"seq":2}`))
	f.Add([]byte(call(1, "", `{}`, "x")))
	f.Add([]byte(`{"tool": "x", "arguments": {}}` + "\n" + `{"method": "tools/call", "params": {"name": "x"}}`))
	f.Add([]byte("{\n\"tool\": \"x\"\n}"))
	f.Add([]byte(`{"count":4,"kind":"refused","seq":11,"span":{}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		path := filepath.Join(t.TempDir(), "l.jsonl")
		if err := os.WriteFile(path, src, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = rulestest.ReadRecorded(path, func(r *rulestest.Recorded) error {
			if text, err := rulestest.Capture(r, "", nil); err == nil {
				if _, problems := rulestest.Read("t", []byte(testFile(text))); len(problems) > 0 {
					t.Errorf("captured is no case: %s\n%s", text, problems)
				}
			}
			return nil
		})
	})
}
