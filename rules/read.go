package rules

import (
	"errors"
	"fmt"
	"slices"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// Read reads one rules file, in the strict way of section 7 of the content
// rules, and checks all of it. There is a File only where there are no Problems;
// what is wrong is told at once, sorted by place and at most MaxProblems (a last
// one says how many more). The File keeps src, which must not change afterwards.
func Read(path string, src []byte) (*File, Problems) {
	return newReader().read(path, src)
}

func (r *reader) read(path string, src []byte) (*File, Problems) {
	f := &File{Path: path, Source: src}
	if doc := r.parse(src); doc != nil {
		r.readFile(f, place{Value: doc.Root()})
		if len(r.Problems) == 0 {
			r.fingerprint(f, doc.Root())
		}
	}
	if len(r.Problems) > 0 {
		return nil, r.Settle(path, src)
	}
	f.warn(r)
	return f, nil
}

// ReadSet reads files that are judged as one set (content rules, section 1). Two
// files of one name, and one rule id in two files, are problems of the later one.
// There is a Set only where there are no Problems.
func ReadSet(files []Source) (*Set, Problems) {
	set := &Set{}
	var all Problems
	names := map[string]*File{}
	ids := map[string]*File{}
	for _, src := range files {
		f, ps := Read(src.Path, src.Data)
		if f == nil {
			all = append(all, ps...)
			continue
		}
		var clash []Problem
		if first := names[f.Name]; first != nil {
			clash = append(clash, Problem{Offset: f.nameAt, Pointer: "/name",
				Msg: fmt.Sprintf("the name %q is already that of %s; files of one set need names of their own", f.Name, first.Path)})
		} else {
			names[f.Name] = f
		}
		for _, rule := range f.Rules {
			first := ids[rule.ID]
			if first == nil {
				ids[rule.ID] = f
				continue
			}
			clash = append(clash, Problem{Offset: rule.idAt, Pointer: rule.Pointer + "/id",
				Msg: fmt.Sprintf("the rule id %q is already in %s; rules of one set need ids of their own", rule.ID, first.Path)})
		}
		all = append(all, problem.Settle(f.Path, src.Data, clash, 0)...)
		set.Files = append(set.Files, f)
	}
	if len(all) > 0 {
		return nil, all
	}
	return set, nil
}

// maxRepeats is how many repeated members are told of one file.
const maxRepeats = 10 * MaxProblems

// parse reads the text as I-JSON. Repeated members do not end the run: they are
// reported and left out. Nil where there is nothing to read on.
func (r *reader) parse(src []byte) *ijson.Doc {
	if len(src) > MaxBytes {
		r.FaultAt(0, "", "a file of %d bytes, expected at most %d", len(src), MaxBytes)
		return nil
	}
	if len(trimSpace(src)) == 0 {
		r.FaultAt(0, "", "an empty file, expected an object of the format %q", Version)
		return nil
	}
	doc, err := ijson.Parse(src, ijson.Options{Depth: MaxDepth})
	if err == nil {
		return doc
	}
	found := repeats(src, maxRepeats)
	if len(found) > 0 {
		text := slices.Clone(src)
		for _, m := range found {
			blankMember(text, src, m.offset)
		}
		doc, err = ijson.Parse(text, ijson.Options{Depth: MaxDepth})
	}
	end := len(src) // what stands behind a fault of the text is guesswork
	if err != nil {
		msg := err.Error()
		end = 0
		if e := (*ijson.Error)(nil); errors.As(err, &e) {
			end, msg = e.Offset, e.Msg
		}
		r.FaultAt(end, locate(src, end), "no strict JSON: %s", msg)
		doc = nil
	}
	for _, m := range found {
		if m.offset < end {
			r.FaultAt(m.offset, m.pointer, "a repeated member: it stands in this object before, expected once")
		}
	}
	return doc
}

func trimSpace(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || s[0] == '\r') {
		s = s[1:]
	}
	return s
}

var fileMembers = []string{"format", "name", "about", "lists", "limits", "rules"}

func (r *reader) readFile(f *File, p place) {
	if f.Limits = DefaultLimits(); !r.Object(p, "the file", fileMembers, "format", "name", "rules") {
		return
	}
	if m := p.Member("format"); m.Value.Exists() && !m.Value.Is(Version) {
		got := problem.KindOf(m.Value)
		if m.Value.Kind() == ijson.String {
			got = problem.Quoted(m.Value.Text())
		}
		r.Fault(m, "expected %q, the one format this version reads, got %s", Version, got)
	}
	if m := p.Member("name"); m.Value.Exists() {
		f.Name, f.nameAt = r.name(m), m.Value.Start()
	}
	if m := p.Member("about"); m.Value.Exists() {
		f.About, _ = r.Text(m, MaxAbout)
	}
	if m := p.Member("lists"); m.Value.Exists() {
		f.Lists = r.readLists(m)
	}
	if m := p.Member("limits"); m.Value.Exists() {
		f.Limits = r.readLimits(m)
	}
	r.limits = f.Limits
	if m := p.Member("rules"); m.Value.Exists() && r.List(m, "rules", MaxRules) {
		ids := map[string]string{}
		i := 0
		for v := range m.Value.Elements() {
			rule := r.readRule(m.Element(v, i))
			i++
			if rule == nil {
				continue
			}
			f.Rules = append(f.Rules, rule)
			if first, ok := ids[rule.ID]; ok && rule.ID != "" {
				r.FaultAt(rule.idAt, rule.Pointer+"/id", "the rule id %q is already that of %s, expected one of its own", rule.ID, first)
				continue
			}
			ids[rule.ID] = rule.Pointer
		}
	}
}

func (r *reader) readLists(p place) map[string]*List {
	if p.Value.Kind() != ijson.Object {
		r.Fault(p, "expected lists as an object, got %s", problem.KindOf(p.Value))
		return nil
	}
	lists := map[string]*List{}
	for n, v := range p.Value.Members() {
		at := p.Member(n.Text())
		name := n.Text()
		if !isName(name) {
			r.FaultAt(n.Start(), at.Pointer, "%s is no name of a list, expected %s", problem.Quoted(name), nameForm)
		}
		l := &namedList{at: at, List: List{Name: name, Pointer: at.Pointer, Offset: v.Start()}}
		// Also a faulty list is known by its name, so that its uses are no faults.
		r.lists[name] = l
		if !r.List(at, "texts or numbers", MaxEntries) {
			continue
		}
		texts, seen, i := true, map[Scalar]int{}, 0
		for e := range v.Elements() {
			s, ok := scalar(e)
			switch {
			case !ok || s.Type != TypeString && s.Type != TypeNumber:
				r.Fault(at.Element(e, i), "expected a text or a number, got %s", problem.KindOf(e))
			case r.once(seen, s, at.Element(e, i), i):
				l.Values = append(l.Values, s)
			}
			texts = texts && s.Type == TypeString
			l.texts = append(l.texts, s.Text)
			i++
		}
		if !texts {
			l.texts = nil
		}
		lists[name] = &l.List
	}
	return lists
}

// limit is one member of limits and where it is kept.
type limit struct {
	name string
	of   func(*Limits) *int
}

var limits = []limit{
	{"argumentBytes", func(l *Limits) *int { return &l.ArgumentBytes }},
	{"depth", func(l *Limits) *int { return &l.Depth }},
	{"values", func(l *Limits) *int { return &l.Values }},
	{"steps", func(l *Limits) *int { return &l.Steps }},
	{"celText", func(l *Limits) *int { return &l.CELText }},
	{"celItems", func(l *Limits) *int { return &l.CELItems }},
	{"cel", func(l *Limits) *int { return &l.CEL }},
}

func (r *reader) readLimits(p place) Limits {
	l, most := DefaultLimits(), MaxLimits()
	var known []string
	for _, m := range limits {
		known = append(known, m.name)
	}
	if !r.Object(p, "limits", known) {
		return l
	}
	for _, m := range limits {
		if at := p.Member(m.name); at.Value.Exists() {
			if n, ok := r.Whole(at, 1, int64(*m.of(&most))); ok {
				*m.of(&l) = int(n)
			}
		}
	}
	return l
}
