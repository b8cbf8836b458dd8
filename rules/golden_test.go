package rules_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/rules"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// files are those of a folder of testdata; none is a failure.
func files(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files for %s: %v", pattern, err)
	}
	return names
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is wrong with a file is told in these words and at these places.
func TestErrors(t *testing.T) {
	for _, name := range files(t, "errors/*.json") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, ps := rules.Read(filepath.Base(name), read(t, name))
			if f != nil || len(ps) == 0 {
				t.Fatal("a faulty file was read")
			}
			golden(t, strings.TrimSuffix(name, ".json")+".txt", ps.String())
		})
	}
}

func TestGood(t *testing.T) {
	for _, name := range files(t, "good/*.json") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, ps := rules.Read(filepath.Base(name), read(t, name))
			if f == nil || len(ps) > 0 {
				t.Fatalf("a sound file was not read:\n%s", ps)
			}
			golden(t, strings.TrimSuffix(name, ".json")+".warnings", f.Warnings.String())
		})
	}
}

// Every test of section 4, json and expressions, sound and faulty.
func TestWhole(t *testing.T) {
	src := read(t, "testdata/whole/good.json")
	f, ps := rules.Read("good.json", src)
	if f == nil {
		t.Fatal(ps)
	}
	golden(t, "testdata/whole/good.warnings", f.Warnings.String())
	for _, r := range f.Rules {
		r.Condition().Walk(func(c *rules.Condition) {
			if c.Test == nil {
				return
			}
			for _, k := range c.Test.Checks {
				judged := k.Kind == rules.URL || k.Kind == rules.Email || k.Kind == rules.Command || k.Kind == rules.Path
				if judged != (k.Judge != nil) || len(k.Written) == 0 {
					t.Errorf("%s: judge %v, written %s", k.Pointer, k.Judge, k.Written)
				}
			}
		})
	}
	f, ps = rules.Read("errors.json", read(t, "testdata/whole/errors.json"))
	if f != nil {
		t.Fatal("a faulty file was read")
	}
	golden(t, "testdata/whole/errors.txt", ps.String())
}
