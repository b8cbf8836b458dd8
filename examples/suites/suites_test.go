// Package suites_test holds the example rules to their tests: all cases pass,
// they reach all of the rules, and they notice every small change of them.
package suites_test

import (
	"testing"

	"countersign/rulestest"
)

// suites are the folders, with the lint warnings of each that are meant.
var suites = []struct {
	dir  string
	lint string
}{
	{"filesystem", ""},
	{"git", "git/content-rules.json:8:12: /rules: no rule is for the tool \"git_wrapup_instructions\" [unruled-tool]\n"},
	{"commands", ""},
	{"playwright", ""},
	{"notion", ""},
	{"memory", ""},
}

func TestCases(t *testing.T) {
	for _, s := range suites {
		t.Run(s.dir, func(t *testing.T) { rulestest.Run(t, s.dir) })
	}
}

func load(t *testing.T, dir string) *rulestest.Suite {
	t.Helper()
	loaded, problems, err := rulestest.Load([]string{dir}, rulestest.Options{})
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 1 {
		t.Fatalf("%s holds %d suites, want one", dir, len(loaded))
	}
	return loaded[0]
}

func TestFullCoverage(t *testing.T) {
	for _, s := range suites {
		r, err := load(t, s.dir).Run(t.Context(), rulestest.RunOptions{Coverage: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Coverage.Missed() {
			t.Errorf("%s: rule %q: %s: %s", s.dir, m.Rule.ID, m.What, m.Of)
		}
		if reached, all := r.Coverage.Points(); reached != all || all < 20 {
			t.Errorf("%s: %d of %d reached", s.dir, reached, all)
		}
	}
}

func TestNoMutantLives(t *testing.T) {
	for _, s := range suites {
		m, err := load(t, s.dir).Mutate(t.Context(), rulestest.MutantOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range m.All {
			if x.State != rulestest.Killed {
				t.Errorf("%s: %s: %v: %s\n%s", s.dir, x.State, x.Rules, x.What, x.Case)
			}
		}
		if n := m.Count("", rulestest.Killed); n < 15 || m.Left > 0 || m.Unread > 0 {
			t.Errorf("%s: %d killed, %d not tried, %d no rules files", s.dir, n, m.Left, m.Unread)
		}
	}
}

func TestHeldAgainstTheTools(t *testing.T) {
	for _, s := range suites {
		suite := load(t, s.dir)
		warnings, _ := suite.Lint()
		if got := warnings.String(); got != s.lint {
			t.Errorf("%s: got\n%swant\n%s", s.dir, got, s.lint)
		}
		for _, f := range suite.Set.Files {
			if len(f.Warnings) > 0 {
				t.Errorf("%s: %s", s.dir, f.Warnings)
			}
		}
	}
}
