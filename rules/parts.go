package rules

import "slices"

// notBuilt are the parts of content-rules/v1 that this version cannot judge yet.
// A file that uses one is refused, never judged without it. A part is switched
// on here, by taking its line out.
var notBuilt []string

// built says whether this version judges a part, and reports its use where not.
func (r *reader) built(p place, part, name string) bool {
	if !slices.Contains(r.notBuilt, part) {
		return true
	}
	r.Fault(p, "%s is not in this version", name)
	return false
}
