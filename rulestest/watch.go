package rulestest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"countersign/rules"
)

// maxWatchExamples is how many calls a report names for each watching rule.
const maxWatchExamples = 5

// WatchReport is what watching rules would have refused of recorded calls, so
// that an author can see what enforcing them would do.
type WatchReport struct {
	Files []string
	Calls int // recorded calls, refused ones among them
	More  int64
	// Other counts calls that other rules than those of the set judged, where one
	// was given: what its rules would have said of them was not asked.
	Other int
	Rules []WatchedRule // by name; those of the set that noticed nothing too
}

// WatchedRule is one watching rule.
type WatchedRule struct {
	Rule        string // "file name/rule id"
	Calls       int
	Refused     int // of them those that were refused by others anyway
	Codes       map[string]int
	Tools       map[string]int
	First, Last time.Time
	Examples    []string // file:line of the call
	// Known: the rule is one of the set that was given, or none was.
	Known bool
}

// Watched reads what watching rules noticed from ledgers. set, where it is not
// nil, are the rules as they are now.
func Watched(patterns []string, set *rules.Set) (*WatchReport, error) {
	out := &WatchReport{}
	byRule := map[string]*WatchedRule{}
	of := func(name string) *WatchedRule {
		if byRule[name] == nil {
			byRule[name] = &WatchedRule{Rule: name, Codes: map[string]int{}, Tools: map[string]int{}, Known: set == nil}
		}
		return byRule[name]
	}
	if set != nil {
		for _, f := range set.Files {
			for _, r := range f.Rules {
				if r.Watch {
					of(f.Name + "/" + r.ID).Known = true
				}
			}
		}
	}
	for _, p := range patterns {
		files, err := RecordedFiles(p)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no ledger: no file is called %q", p)
		}
		out.Files = append(out.Files, files...)
	}
	out.Files = once(out.Files)
	for _, path := range out.Files {
		err := ReadRecorded(path, func(r *Recorded) error {
			out.Calls++
			out.More += r.WatchedMore
			if set != nil && r.Seq >= 0 && !r.Refused && !judgedBy(r, set) {
				out.Other++
			}
			for _, w := range r.Watched {
				x := of(w.Rule)
				x.Calls++
				x.Codes[w.Code]++
				x.Tools[r.Call.Tool]++
				if r.Refused {
					x.Refused++
				}
				if at := r.Call.now; !at.IsZero() {
					if x.First.IsZero() || at.Before(x.First) {
						x.First = at
					}
					if at.After(x.Last) {
						x.Last = at
					}
				}
				if len(x.Examples) < maxWatchExamples {
					x.Examples = append(x.Examples, r.Call.from)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if out.Calls == 0 {
		return nil, errors.New("no recorded calls: the files hold none")
	}
	for _, name := range slices.Sorted(maps.Keys(byRule)) {
		out.Rules = append(out.Rules, *byRule[name])
	}
	return out, nil
}

// judgedBy says whether each file of a set judged a call when it was recorded.
func judgedBy(r *Recorded, set *rules.Set) bool {
	for _, f := range set.Files {
		if !slices.Contains(r.Rules, RulesPrint{f.Name, f.Fingerprint}) {
			return false
		}
	}
	return true
}

// WriteText writes the report for people.
func (r *WatchReport) WriteText(w io.Writer) error {
	p := &printer{w: w}
	for i := range r.Rules {
		x := &r.Rules[i]
		p.printf("%s: would have refused %s of %d", x.Rule, plural(x.Calls, "call"), r.Calls)
		if x.Refused > 0 {
			p.printf(", %d of them refused by others", x.Refused)
		}
		if !x.Known {
			p.printf("; no watching rule of the given files")
		}
		p.printf("\n")
		if x.Calls == 0 {
			continue
		}
		p.printf("  codes: %s\n  tools: %s\n", counts(x.Codes), counts(x.Tools))
		if !x.First.IsZero() {
			p.printf("  from %s until %s\n", x.First.UTC().Format(time.RFC3339), x.Last.UTC().Format(time.RFC3339))
		}
		p.printf("  such as %s\n", strings.Join(x.Examples, ", "))
	}
	if r.More > 0 {
		p.printf("%d more notices are counted in the ledger without a name\n", r.More)
	}
	if r.Other > 0 {
		p.printf("%s judged by other rules than these, which may have noticed less\n", plural(r.Other, "call"))
	}
	p.printf("%s read\n", plural(r.Calls, "recorded call"))
	return p.err
}

func counts(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(out, ", ")
}
