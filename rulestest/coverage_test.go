package rulestest_test

import (
	"os"
	"testing"

	"countersign/rulestest"
)

func TestTry(t *testing.T) {
	dir := os.Getenv("TRY")
	if dir == "" {
		dir = "testdata/files"
	}
	suites, ps, err := rulestest.Load([]string{dir}, rulestest.Options{})
	if err != nil || len(ps) > 0 {
		t.Fatal(err, ps)
	}
	r, err := suites[0].Run(t.Context(), rulestest.RunOptions{Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	rulestest.WriteText(os.Stdout, []*rulestest.Report{r}, false)
	r.Coverage.WriteText(os.Stdout)
	m, err := suites[0].Mutate(t.Context(), rulestest.MutantOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.WriteText(os.Stdout, false)
}
