package rulestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/problem"
	"countersign/rules"
)

// DefaultDiffTries is how many calls are made up to tell two sets of rules apart.
const DefaultDiffTries = 20_000

// maxDiffShown bounds the recorded calls that a difference lists one by one.
const maxDiffShown = 100

// Diff is how two sets of rules differ.
type Diff struct {
	Same      bool // all fingerprints are equal, file by file
	Structure []string
	Recorded  *RecordedDiff // where recorded calls were given
	Search    *SearchDiff   // where none were, and the files differ
}

// RecordedDiff is what recorded calls become under the one set and the other.
type RecordedDiff struct {
	Files  []string
	Judged int
	Left   map[string]int // how many could not be judged again, by why
	// Other says with which rules calls were recorded that are not those of the
	// old set: a line for each set of fingerprints, and how many calls.
	Other []string
	// Strayed are calls that the old set, being the one they were recorded with,
	// now decides in another way than then; the first is named.
	Strayed      int
	FirstStrayed string
	Changed      int // calls that the two decide differently
	Rules        []RuleDiff
	Calls        []CallDiff // the first maxDiffShown of them, in recorded order
}

// RuleDiff counts, for one rule, the calls it now refuses and did not, and those
// it refused and does not now; watching rules count what they would refuse.
type RuleDiff struct {
	Rule    string // "file name/rule id"
	Refuses int
	Passes  int
	Other   int // it refuses both times, with another code
}

// CallDiff is one call that the two sets decide differently.
type CallDiff struct {
	At       string // file:line
	Tool     string
	Old, New string
}

// SearchDiff is what looking for a call that tells the two apart found.
type SearchDiff struct {
	Tries     int
	Call      string // the call as a case has it, "" where none was found
	Old, New  string // what becomes of it
	UpTo      int    // the most calls that were to be tried
	Exhausted bool   // none of so many told the two apart; that does not make them equal
}

// DiffOptions say how two sets are compared. The zero value is ready.
type DiffOptions struct {
	Calls []string // paths, folders or globs of recorded calls
	Tries int      // calls to make up where there are none; 0: DefaultDiffTries
	Seed  uint64
}

// Compare says how two sets of rules differ: in their text, and over recorded
// calls, or else by a search for a call that tells them apart.
func Compare(ctx context.Context, before, after *Suite, o DiffOptions) (*Diff, error) {
	d := &Diff{Same: samePrints(before.Set, after.Set)}
	changed, err := d.structure(before.Set, after.Set)
	if err != nil {
		return nil, err
	}
	if len(o.Calls) > 0 {
		d.Recorded, err = overRecorded(ctx, before, after, o.Calls)
		return d, err
	}
	if !d.Same {
		d.Search = search(ctx, before, after, changed, o)
	}
	return d, ctx.Err()
}

func samePrints(a, b *rules.Set) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y *rules.File) bool {
		return x.Name == y.Name && x.Fingerprint == y.Fingerprint
	})
}

// structure compares the files by name and their rules by id; it returns the ids
// of the rules that differ, nil where what differs is not in a rule.
func (d *Diff) structure(before, after *rules.Set) ([]string, error) {
	say := func(format string, args ...any) { d.Structure = append(d.Structure, fmt.Sprintf(format, args...)) }
	byName := func(s *rules.Set) map[string]*rules.File {
		m := map[string]*rules.File{}
		for _, f := range s.Files {
			m[f.Name] = f
		}
		return m
	}
	old, now := byName(before), byName(after)
	var changed []string
	all := false
	for _, f := range before.Files {
		if now[f.Name] == nil && len(before.Files) == 1 && len(after.Files) == 1 {
			say("the file is named %s and was %s", problem.Quoted(after.Files[0].Name), problem.Quoted(f.Name))
			now[f.Name], old[after.Files[0].Name] = after.Files[0], f
		}
	}
	for _, f := range before.Files {
		g := now[f.Name]
		if g == nil {
			say("%s: the file is gone", f.Name)
			all = true
			continue
		}
		x, err := newWritten(f)
		if err != nil {
			return nil, err
		}
		y, err := newWritten(g)
		if err != nil {
			return nil, err
		}
		ids, whole := compareFiles(x, y, say)
		changed, all = append(changed, ids...), all || whole
	}
	for _, f := range after.Files {
		if old[f.Name] == nil {
			say("%s: the file is new", f.Name)
			all = true
		}
	}
	if all {
		return nil, nil
	}
	return changed, nil
}

// ruleParts are the members of a rule that say what it does.
var ruleParts = []string{"tools", "when", "refuse", "require", "mode", "say", "about", "ok"}

func compareFiles(x, y *written, say func(string, ...any)) (ids []string, whole bool) {
	name := x.file.Name
	canon := func(v ijson.Value) string { return string(ijson.AppendCanonical(nil, v)) }
	a, b := x.doc.Root(), y.doc.Root()
	for _, m := range []string{"about", "limits"} {
		if canon(a.Member(m)) != canon(b.Member(m)) {
			say("%s: %s differs", name, m)
			whole = whole || m == "limits"
		}
	}
	lists := slices.Sorted(maps.Keys(mergedKeys(x.file.Lists, y.file.Lists)))
	for _, l := range lists {
		p, q := a.Member("lists").Member(l), b.Member("lists").Member(l)
		switch {
		case !p.Exists():
			say("%s: list %s is new", name, problem.Quoted(l))
		case !q.Exists():
			say("%s: list %s is gone", name, problem.Quoted(l))
		default:
			gone, added := entriesOf(p, q), entriesOf(q, p)
			if len(gone)+len(added) == 0 {
				continue
			}
			say("%s: list %s: %s", name, problem.Quoted(l), changes(gone, added))
		}
		for _, f := range []*written{x, y} {
			for _, r := range f.file.Rules {
				if usesList(raw(f.at(r.Pointer)), l) {
					ids = append(ids, r.ID)
				}
			}
		}
	}
	find := func(w *written, id string) ijson.Value {
		for _, r := range w.file.Rules {
			if r.ID == id {
				return w.at(r.Pointer)
			}
		}
		return ijson.Value{}
	}
	for _, r := range x.file.Rules {
		p, q := x.at(r.Pointer), find(y, r.ID)
		if !q.Exists() {
			say("%s: rule %s is gone", name, problem.Quoted(r.ID))
			ids = append(ids, r.ID)
			continue
		}
		var parts []string
		for _, m := range ruleParts {
			if canon(p.Member(m)) != canon(q.Member(m)) {
				parts = append(parts, m)
			}
		}
		if len(parts) > 0 {
			say("%s: rule %s differs in %s", name, problem.Quoted(r.ID), strings.Join(parts, ", "))
			ids = append(ids, r.ID)
		}
	}
	for _, r := range y.file.Rules {
		if !find(x, r.ID).Exists() {
			say("%s: rule %s is new", name, problem.Quoted(r.ID))
			ids = append(ids, r.ID)
		}
	}
	return ids, whole
}

func mergedKeys(a, b map[string]*rules.List) map[string]*rules.List {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]*rules.List{}
	}
	maps.Copy(m, b)
	return m
}

// entriesOf are the entries of a that b has not.
func entriesOf(a, b ijson.Value) []string {
	have := map[string]bool{}
	for e := range b.Elements() {
		have[string(ijson.AppendCanonical(nil, e))] = true
	}
	var out []string
	for e := range a.Elements() {
		if !have[string(ijson.AppendCanonical(nil, e))] {
			out = append(out, raw(e))
		}
	}
	return out
}

func changes(gone, added []string) string {
	var parts []string
	add := func(word string, l []string) {
		if len(l) > 0 {
			shown := strings.Join(l[:min(len(l), maxNamed)], ", ")
			if more := len(l) - maxNamed; more > 0 {
				shown += fmt.Sprintf(" and %d more", more)
			}
			parts = append(parts, shown+" "+word)
		}
	}
	add("gone", gone)
	add("new", added)
	return strings.Join(parts, "; ")
}

// verdictOf is what rules say of a call, comparable over two sets.
func verdictOf(d *engine.Decision) (key string, by map[string]string) {
	by = map[string]string{}
	for _, l := range [][]engine.Refusal{d.Refusals, d.Watched} {
		for _, r := range l {
			by[r.File+"/"+r.Rule] = string(r.Code)
		}
	}
	var b strings.Builder
	b.WriteString(d.Verdict.String())
	for _, r := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&b, " %s=%s", r, by[r])
	}
	return b.String(), by
}

// overRecorded judges recorded calls by both sets.
func overRecorded(ctx context.Context, before, after *Suite, patterns []string) (*RecordedDiff, error) {
	out := &RecordedDiff{Left: map[string]int{}}
	for _, p := range patterns {
		files, err := RecordedFiles(p)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no recorded calls: no file is called %s", problem.Quoted(p))
		}
		out.Files = append(out.Files, files...)
	}
	out.Files = once(out.Files)
	other := map[string]int{}
	byRule := map[string]*RuleDiff{}
	a, b := judge{s: before, e: before.engine}, judge{s: after, e: after.engine}
	for _, path := range out.Files {
		err := ReadRecorded(path, func(r *Recorded) error {
			if r.Why != "" {
				out.Left[r.Why]++
				return nil
			}
			out.Judged++
			x, y := a.call(&r.Call, DefaultNow), b.call(&r.Call, DefaultNow)
			out.held(r, before, &x, other)
			out.compare(r, &x, &y, byRule)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	if out.Judged == 0 {
		if len(out.Left) > 0 {
			why := slices.Sorted(maps.Keys(out.Left))
			return nil, fmt.Errorf("no recorded call can be judged again: %s", strings.Join(why, "; "))
		}
		return nil, errors.New("no recorded calls: the files hold none")
	}
	for _, k := range slices.Sorted(maps.Keys(other)) {
		out.Other = append(out.Other, fmt.Sprintf("%s recorded with %s", plural(other[k], "call"), k))
	}
	for _, k := range slices.Sorted(maps.Keys(byRule)) {
		out.Rules = append(out.Rules, *byRule[k])
	}
	return out, nil
}

// held compares what the old set says with what was recorded, where it is the set
// the call was recorded with.
func (d *RecordedDiff) held(r *Recorded, before *Suite, x *Judged, other map[string]int) {
	if r.Seq < 0 || r.Refused {
		return
	}
	var recorded []string
	for _, p := range r.Rules {
		recorded = append(recorded, p.Name+" "+p.SHA256)
	}
	var mine []string
	for _, f := range before.Set.Files {
		mine = append(mine, f.Name+" "+f.Fingerprint)
	}
	slices.Sort(recorded)
	slices.Sort(mine)
	if !slices.Equal(recorded, mine) {
		key := "no rules"
		if len(recorded) > 0 {
			key = strings.Join(recorded, ", ")
		}
		other[key]++
		return
	}
	if x.Unreadable != "" || x.Decision.Verdict != engine.Allowed {
		if d.Strayed++; d.Strayed == 1 {
			d.FirstStrayed = fmt.Sprintf("%s: recorded as allowed, now %s", r.Call.from, x)
		}
	}
}

func (d *RecordedDiff) compare(r *Recorded, x, y *Judged, byRule map[string]*RuleDiff) {
	k1, by1 := verdictOf(&x.Decision)
	k2, by2 := verdictOf(&y.Decision)
	if k1 == k2 && (x.Unreadable == "") == (y.Unreadable == "") {
		return
	}
	d.Changed++
	for rule := range by1 {
		if by2[rule] == "" {
			ruleDiff(byRule, rule).Passes++
		} else if by2[rule] != by1[rule] {
			ruleDiff(byRule, rule).Other++
		}
	}
	for rule := range by2 {
		if by1[rule] == "" {
			ruleDiff(byRule, rule).Refuses++
		}
	}
	if len(d.Calls) < maxDiffShown {
		tool := r.Call.Tool
		d.Calls = append(d.Calls, CallDiff{r.Call.from, tool, x.String(), y.String()})
	}
}

func ruleDiff(m map[string]*RuleDiff, rule string) *RuleDiff {
	if m[rule] == nil {
		m[rule] = &RuleDiff{Rule: rule}
	}
	return m[rule]
}

// search makes calls up until one tells the two sets apart.
func search(ctx context.Context, before, after *Suite, changed []string, o DiffOptions) *SearchDiff {
	out := &SearchDiff{UpTo: o.Tries}
	if out.UpTo <= 0 {
		out.UpTo = DefaultDiffTries
	}
	mk := maker{sets: []*rules.Set{before.Set, after.Set}, only: changed, server: before.Server, seed: o.Seed}
	var doc ijson.Doc
	tells := func(tool string, args *tree) bool {
		call, ok := before.readCall(tool, args.append(nil), &doc, DefaultNow)
		if !ok {
			return false
		}
		x, y := before.engine.Explain(call), after.engine.Explain(call)
		a, _ := verdictOf(&x)
		b, _ := verdictOf(&y)
		return a != b
	}
	for m := range mk.calls(nil) {
		if out.Tries == out.UpTo || out.Tries%contextEvery == 0 && ctx.Err() != nil {
			break
		}
		out.Tries++
		if !tells(m.tool, m.args) {
			continue
		}
		m.args = shrink(m.args, func(t *tree) bool { return tells(m.tool, t) })
		text := m.args.String()
		c := &Call{Tool: m.tool, Arguments: []byte(text)}
		x := (&judge{s: before, e: before.engine}).call(c, DefaultNow)
		y := (&judge{s: after, e: after.engine}).call(c, DefaultNow)
		out.Call, out.Old, out.New = object("tool", quote(m.tool), "arguments", text), x.String(), y.String()
		return out
	}
	out.Exhausted = true
	return out
}

// Differs says whether the two were found to decide any call differently.
func (d *Diff) Differs() bool {
	return d.Recorded != nil && d.Recorded.Changed > 0 || d.Search != nil && d.Search.Call != ""
}

// WriteText writes the difference for people.
func (d *Diff) WriteText(w io.Writer) error {
	p := &printer{w: w}
	if d.Same {
		p.printf("the files are the same but for layout\n")
	}
	for _, s := range d.Structure {
		p.printf("%s\n", s)
	}
	if r := d.Recorded; r != nil {
		for _, s := range r.Other {
			p.printf("%s, not with the old rules\n", s)
		}
		for _, why := range slices.Sorted(maps.Keys(r.Left)) {
			p.printf("%s not judged again: %s\n", plural(r.Left[why], "record"), why)
		}
		if r.Strayed > 0 {
			p.printf("%s decided otherwise by the very rules they were recorded with; the first: %s\n", plural(r.Strayed, "call"), r.FirstStrayed)
		}
		for _, c := range r.Calls {
			p.printf("%s: %s\n  old: %s\n  new: %s\n", c.At, c.Tool, c.Old, c.New)
		}
		if more := r.Changed - len(r.Calls); more > 0 {
			p.printf("and %d more\n", more)
		}
		for _, c := range r.Rules {
			p.printf("%s: refuses %d more, %d fewer, %d with another code\n", c.Rule, c.Refuses, c.Passes, c.Other)
		}
		p.printf("%s judged by both, %d decided differently\n", plural(r.Judged, "recorded call"), r.Changed)
	}
	if s := d.Search; s != nil {
		if s.Call != "" {
			p.printf("a call that tells them apart: %s\n  old: %s\n  new: %s\n", s.Call, s.Old, s.New)
		} else {
			p.printf("no call among %d tells them apart; that does not show that none does\n", s.Tries)
		}
	}
	return p.err
}
