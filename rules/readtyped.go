package rules

import (
	"errors"
	"fmt"
	"slices"

	"countersign/internal/glob"
	"countersign/internal/ijson"
	"countersign/internal/pathtext"
	"countersign/internal/problem"
)

// maxCompiled is the most globs and entries of typed tests that one file is
// compiled to, lists counted at each use: a list of MaxEntries under MaxRules
// rules would else be forty million.
const maxCompiled = 250_000

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
	key := globKey{o.list, r.fold}
	if set := r.globSets[key]; set != nil {
		return set
	}
	var options glob.Options
	if r.fold {
		options.Fold = r.folder.Text
	}
	if !r.room(o.at, len(o.texts)) {
		return nil
	}
	sound := true
	for i, text := range o.texts {
		if _, err := glob.Compile(text, options); err != nil {
			at, prefix := o.place(i)
			r.Fault(at, "%s%s", prefix, globFault(text, err))
			sound = false
		}
	}
	if !sound {
		return nil
	}
	set, err := glob.NewSet(o.texts, options)
	if err != nil {
		r.Fault(o.at, "%v", err)
		return nil
	}
	if o.list != "" {
		r.globSets[key] = set
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

// listed reads a list of texts, or "@name" of one, as the members of the typed
// tests take it: a single text is none.
func (r *reader) listed(p place, of string) operand {
	if p.Value.Kind() == ijson.String && !isReference(p.Value) {
		r.Fault(p, `expected a list of %s or "@name" of one, got a text; write [%s]`, of, problem.Quoted(p.Value.Text()))
		return operand{at: p}
	}
	return r.texts(p, of)
}

// word reads one of a few known words.
func (r *reader) word(p place, known ...string) string {
	if p.Value.Kind() == ijson.String {
		if s := p.Value.Text(); slices.Contains(known, s) {
			return s
		}
		r.Fault(p, "expected %s, got %s", problem.OneOf(known), problem.Quoted(p.Value.Text()))
		return ""
	}
	r.Fault(p, "expected %s, got %s", problem.OneOf(known), problem.KindOf(p.Value))
	return ""
}

var pathMembers = []string{"under", "like", "notLike", "base", "style", "fold", "resolve"}

// path reads the operand of a path test (content rules, section 4.1).
func (r *reader) path(c *Check, p place) {
	if !r.Object(p, "path", pathMembers) {
		return
	}
	sound := true // so far that entries can be judged
	o := pathtext.Operand{Required: r.required}
	members := map[string]operand{}
	list := func(name, of string) []string {
		at := p.Member(name)
		if !at.Value.Exists() {
			return nil
		}
		members[name] = r.listed(at, of)
		return members[name].texts
	}
	o.Under, o.Like, o.NotLike = list("under", "folders"), list("like", "globs"), list("notLike", "globs")
	if m := p.Member("base"); m.Value.Exists() {
		o.Base, _ = r.Text(m, pathtext.MaxBytes)
	}
	if m := p.Member("style"); m.Value.Exists() {
		o.Style = r.word(m, pathtext.POSIX, pathtext.Windows)
		sound = o.Style != ""
	}
	if m := p.Member("resolve"); m.Value.Exists() {
		o.Resolve = r.word(m, pathtext.Text, pathtext.OnDisk)
	}
	if m := p.Member("fold"); m.Value.Exists() {
		o.Fold, _ = r.Bool(m)
		c.foldSaid = true
	}
	if len(members) == 0 {
		if p.Value.Len() == 0 || slices.ContainsFunc(pathMembers[3:], func(name string) bool { return p.Member(name).Value.Exists() }) {
			r.Fault(p, `path without "under", "like" or "notLike", of which it needs one`)
		}
		return
	}
	if !sound || len(o.Under)+len(o.Like)+len(o.NotLike) == 0 {
		return // reported already
	}
	key := fmt.Sprintf("path %v %s", r.required, p.Value.Raw())
	if j, ok := r.judges[key]; ok {
		c.Judge = j
		return
	}
	if !r.room(p, len(o.Under)+len(o.Like)+len(o.NotLike)) {
		return
	}
	j, err := pathtext.New(o)
	var faults pathtext.Errors
	switch {
	case err == nil:
		c.Judge, r.judges[key] = j, j
	case !errors.As(err, &faults):
		r.Fault(p, "%v", err)
	}
	for _, f := range faults {
		r.memberFault(p, members, f.Member, f.Index, f.Msg)
	}
}

// maxMessage is the most code points of what a judge says of an operand: it may
// repeat a text of the file.
const maxMessage = 500

// memberFault puts what the judge of a typed test has against its operand p where
// it stands: at an entry of a list, or at a member.
func (r *reader) memberFault(p place, members map[string]operand, member string, index int, msg string) {
	if runes := []rune(msg); len(runes) > maxMessage {
		msg = string(runes[:maxMessage]) + "…"
	}
	o, listed := members[member]
	switch {
	case listed && index >= 0 && index < len(o.texts):
		at, prefix := o.place(index)
		r.Fault(at, "%s%s", prefix, msg)
	case member != "":
		r.Fault(p.Member(member), "%s", msg)
	default:
		r.Fault(p, "%s", msg)
	}
}
