package rulestest_test

import (
	"os"
	"testing"

	"countersign/rulestest"
)

func TestTry(t *testing.T) {
	suites, ps, err := rulestest.Load([]string{"testdata/files"}, rulestest.Options{})
	if err != nil || len(ps) > 0 {
		t.Fatal(err, ps)
	}
	r, err := suites[0].Run(t.Context(), rulestest.RunOptions{Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	rulestest.WriteText(os.Stdout, []*rulestest.Report{r}, true)
	r.Coverage.WriteText(os.Stdout)
}
