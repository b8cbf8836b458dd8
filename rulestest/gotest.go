package rulestest

import "testing"

// Run runs a test file, or all test files of a folder, as part of a Go test:
// each case is a sub-test of its name. Files that cannot be read, or that hold no
// case, fail t.
func Run(t *testing.T, path string) {
	t.Helper()
	RunWith(t, path, Options{})
}

// RunWith is Run with options.
func RunWith(t *testing.T, path string, o Options) {
	t.Helper()
	suites, problems, err := Load([]string{path}, o)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		tasks := s.tasks(nil)
		if len(tasks) == 0 {
			t.Fatalf("%s: no case", path)
		}
		for i := range tasks {
			t.Run(tasks[i].c.Name, func(t *testing.T) {
				w := worker{judge: judge{s: s, e: s.engine}, applied: make([]int64, len(s.rules))}
				if r := w.run(&tasks[i]); !r.Passed {
					t.Error("\n" + r.Explanation())
				}
			})
		}
	}
}
