package rules

import (
	"errors"

	"countersign/internal/glob"
	"countersign/internal/problem"
)

// maxCompiled is the most globs and entries of typed tests that one file is
// compiled to, lists counted at each use: a list of MaxEntries under MaxRules
// rules would else be forty million.
const maxCompiled = 1_000_000

// room counts n more compiled entries; false, and a problem, where there is no
// room for them.
func (r *reader) room(p place, n int) bool {
	if r.entries += n; r.entries <= maxCompiled {
		return true
	}
	r.Fault(p, "the globs and entries of this file, each list counted where it is used, are over %d, expected fewer", maxCompiled)
	return false
}

// toolGlob compiles an entry of tools that holds a glob sign.
func (r *reader) toolGlob(p place, text string) *glob.Glob {
	if !r.room(p, 1) {
		return nil
	}
	g, err := glob.Compile(text, glob.Options{})
	if err != nil {
		r.Fault(p, "%s", globFault(text, err))
		return nil
	}
	return g
}

// globs compiles the globs of a like.
func (r *reader) globs(o operand) *glob.Set {
	if len(o.texts) == 0 {
		return nil
	}
	if set := r.globSets[o.list]; set != nil {
		return set
	}
	if !r.room(o.at, len(o.texts)) {
		return nil
	}
	sound := true
	for i, text := range o.texts {
		if _, err := glob.Compile(text, glob.Options{}); err != nil {
			at, prefix := o.place(i)
			r.Fault(at, "%s%s", prefix, globFault(text, err))
			sound = false
		}
	}
	if !sound {
		return nil
	}
	set, err := glob.NewSet(o.texts, glob.Options{})
	if err != nil {
		r.Fault(o.at, "%v", err)
		return nil
	}
	if o.list != "" {
		r.globSets[o.list] = set
	}
	return set
}

func globFault(text string, err error) string {
	var e *glob.Error
	if !errors.As(err, &e) {
		return problem.Quoted(text) + " is no glob: " + err.Error()
	}
	return problem.Quoted(text) + " is no glob: " + e.Error()
}

func (r *reader) path(c *Check, p place) {
	r.Fault(p, "the test path is not in this version")
}
