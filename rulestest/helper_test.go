package rulestest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/rules"
	"countersign/rulestest"
)

// ruleFile is a rules file of these rules.
func ruleFile(rules ...string) string {
	return `{"format": "content-rules/v1", "name": "r", "rules": [` + strings.Join(rules, ",\n") + `]}`
}

// testFile is a test file of these cases.
func testFile(cases ...string) string {
	return `{"format": "content-rules-tests/v1", "rules": "content-rules.json", "cases": [` + strings.Join(cases, ",\n") + `]}`
}

// folder writes files and gives the folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// suite loads the one suite of a rules file and a test file.
func suite(t *testing.T, rules, tests string) *rulestest.Suite {
	t.Helper()
	return loadOne(t, folder(t, map[string]string{"content-rules.json": rules, "content-rules.test.json": tests}))
}

func loadOne(t *testing.T, dir string) *rulestest.Suite {
	t.Helper()
	all, problems, err := rulestest.Load([]string{dir}, rulestest.Options{})
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d suites, want one", len(all))
	}
	return all[0]
}

// bare is a suite of rules without tests.
func bare(t *testing.T, text, tools string) *rulestest.Suite {
	t.Helper()
	set, problems := rules.ReadSet([]rules.Source{{Path: "r.json", Data: []byte(text)}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var server *rulestest.Server
	if tools != "" {
		var err error
		if server, err = rulestest.ReadServer("tools.json", []byte(tools)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := rulestest.NewSuite(set, server, rulestest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s *rulestest.Suite, o rulestest.RunOptions) *rulestest.Report {
	t.Helper()
	r, err := s.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mutate(t *testing.T, s *rulestest.Suite) *rulestest.Mutants {
	t.Helper()
	m, err := s.Mutate(t.Context(), rulestest.MutantOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newSuite is a suite of rules without tests and tools.
func newSuite(text string) (*rulestest.Suite, error) {
	set, problems := rules.ReadSet([]rules.Source{{Path: "r.json", Data: []byte(text)}})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return rulestest.NewSuite(set, nil, rulestest.Options{})
}
