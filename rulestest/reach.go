package rulestest

import (
	"path/filepath"
	"time"

	"countersign/engine"
)

// Reaching names the server's tools that the rules let have a path, by a call of
// each with the path in its arguments that hold one and ordinary values in those
// that hold a URL or a command. A tool it does not name may still be let have it in
// another call.
func (s *Suite) Reaching(path string, now time.Time) []string {
	if s.Server == nil {
		return nil
	}
	w := drafter{server: s.Server, o: DraftOptions{Workspace: []string{filepath.Dir(path)}}}
	var names []string
	for _, g := range w.groups(likePath) {
		for _, t := range g.tools {
			c, problems := ReadCall("call", []byte(w.call(t, likePath, path)))
			if problems.Err() == nil && s.Judge(c, now).allowed() {
				names = append(names, t.tool.Name)
			}
		}
	}
	return names
}

// allowed says whether a call was read and no rule refused it.
func (j Judged) allowed() bool {
	return j.Unreadable == "" && !j.NoCall && j.Decision.Verdict == engine.Allowed
}
