package rules

import (
	"errors"
	"fmt"
	"slices"

	"countersign/internal/emailtext"
	"countersign/internal/ijson"
	"countersign/internal/problem"
	"countersign/internal/shelltext"
	"countersign/internal/urltext"
	"countersign/internal/verdict"
)

// judgedOnce gives the judge of an operand, which is compiled once for all tests
// that have it as the file spells it.
func (r *reader) judgedOnce(c *Check, p place, size int, compile func() (Judge, bool)) {
	key := fmt.Sprintf("%s %s", c.Kind, p.Value.Raw())
	if j, ok := r.judges[key]; ok {
		c.Judge = j
		return
	}
	if !r.room(p, size) {
		return
	}
	if j, ok := compile(); ok {
		c.Judge, r.judges[key] = j, j
	}
}

// member reads a member that is a list of texts, where it is there.
func (r *reader) member(p place, members map[string]operand, name, of string) []string {
	at := p.Member(name)
	if !at.Value.Exists() {
		return nil
	}
	o := r.listed(at, of)
	members[name] = o
	return o.texts
}

// optionalBool reads true or false, or gives what holds where nothing is said.
func (r *reader) optionalBool(p place, otherwise bool) bool {
	if !p.Value.Exists() {
		return otherwise
	}
	b, _ := r.Bool(p)
	return b
}

var urlMembers = []string{"scheme", "host", "port", "path", "query", "public"}

// url reads the operand of a url test (content rules, section 4.2).
func (r *reader) url(c *Check, p place) {
	if !r.Object(p, "url", urlMembers) {
		return
	}
	if p.Value.Len() == 0 {
		r.Fault(p, "url without a member, expected at least one of %s", problem.OneOf(urlMembers))
		return
	}
	members := map[string]operand{}
	o := urltext.Operand{
		Scheme: r.member(p, members, "scheme", "schemes"),
		Host:   r.member(p, members, "host", "globs"),
		Path:   r.member(p, members, "path", "globs"),
		Query:  r.member(p, members, "query", "names"),
	}
	o.HasQuery = len(o.Query) > 0
	if m := p.Member("port"); m.Value.Exists() {
		o.Port = r.ports(m)
	}
	if m := p.Member("public"); m.Value.Exists() {
		if m.Value.Kind() != ijson.True {
			r.Fault(m, "expected true, got %s; without public any host will do", problem.KindOf(m.Value))
		}
		o.Public = true
	}
	r.judgedOnce(c, p, len(o.Scheme)+len(o.Host)+len(o.Port)+len(o.Path)+len(o.Query), func() (Judge, bool) {
		// One entry at a time, so that the faults of all are told.
		sound := true
		for name, one := range map[string]func(s string) urltext.Operand{
			"scheme": func(s string) urltext.Operand { return urltext.Operand{Scheme: []string{s}} },
			"host":   func(s string) urltext.Operand { return urltext.Operand{Host: []string{s}} },
			"path":   func(s string) urltext.Operand { return urltext.Operand{Path: []string{s}} },
			"query":  func(s string) urltext.Operand { return urltext.Operand{Query: []string{s}, HasQuery: true} },
		} {
			for i, s := range members[name].texts {
				_, err := urltext.New(one(s))
				sound = r.entryFault(p, members, name, i, err) && sound
			}
		}
		if !sound || len(o.Scheme)+len(o.Host)+len(o.Port)+len(o.Path)+len(o.Query) == 0 && !o.Public {
			return nil, false
		}
		j, err := urltext.New(o)
		return j, r.entryFault(p, members, "", -1, err)
	})
}

// entryFault reports what a judge has against an entry of a member, or, where
// member is "", against the whole operand; true where there is nothing.
func (r *reader) entryFault(p place, members map[string]operand, member string, i int, err error) bool {
	if err == nil {
		return true
	}
	msg := err.Error()
	var e *verdict.OperandError
	if errors.As(err, &e) {
		msg = e.Msg
	}
	if i >= 0 {
		msg = problem.Quoted(members[member].texts[i]) + ": " + msg
	}
	r.memberFault(p, members, member, i, msg)
	return false
}

// ports reads a list of ports, or "@name" of one.
func (r *reader) ports(p place) []int {
	const most = 65535
	var ports []int
	if l, named, ok := r.reference(p); named {
		if !ok {
			return nil
		}
		for i, v := range l.Values {
			n := int(v.Number)
			if v.Type != TypeNumber || float64(n) != v.Number || n < 1 || n > most {
				r.Fault(p, "entry %d of @%s is no port, expected whole numbers from 1 to %d", i+1, l.Name, most)
				return nil
			}
			ports = append(ports, n)
		}
		return ports
	}
	if !r.List(p, "ports", MaxEntries) {
		return nil
	}
	seen := map[Scalar]int{}
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		if n, ok := r.Whole(at, 1, most); ok && r.once(seen, Scalar{Type: TypeNumber, Number: float64(n)}, at, i) {
			ports = append(ports, int(n))
		}
		i++
	}
	return ports
}

// email reads the operand of an email test (content rules, section 4.4).
func (r *reader) email(c *Check, p place) {
	known := []string{"domains", "addresses"}
	if !r.Object(p, "email", known) {
		return
	}
	if p.Value.Len() == 0 {
		r.Fault(p, "email without a member, expected %s", problem.OneOf(known))
		return
	}
	members := map[string]operand{}
	o := emailtext.Operand{
		Domains:   r.member(p, members, "domains", "domains"),
		Addresses: r.member(p, members, "addresses", "addresses"),
	}
	r.judgedOnce(c, p, len(o.Domains)+len(o.Addresses), func() (Judge, bool) {
		sound := true
		for i, s := range o.Domains {
			_, err := emailtext.New(emailtext.Operand{Domains: []string{s}})
			sound = r.entryFault(p, members, "domains", i, err) && sound
		}
		for i, s := range o.Addresses {
			_, err := emailtext.New(emailtext.Operand{Addresses: []string{s}})
			sound = r.entryFault(p, members, "addresses", i, err) && sound
		}
		if !sound || len(o.Domains)+len(o.Addresses) == 0 {
			return nil, false
		}
		j, err := emailtext.New(o)
		return j, r.entryFault(p, members, "", -1, err)
	})
}

var commandMembers = []string{"shell", "programs", "argv", "redirects", "substitutions", "assignments", "follow"}

// command reads the operand of a command test (content rules, section 4.3).
func (r *reader) command(c *Check, p place) {
	if !r.Object(p, "command", commandMembers, "programs") {
		return
	}
	members := map[string]operand{}
	o := shelltext.Operand{
		Programs:      r.member(p, members, "programs", "programs"),
		Substitutions: r.optionalBool(p.Member("substitutions"), false),
		Assignments:   r.optionalBool(p.Member("assignments"), false),
		NoFollow:      !r.optionalBool(p.Member("follow"), true),
	}
	if m := p.Member("shell"); m.Value.Exists() {
		o.Shell = r.word(m, "posix", "bash")
	}
	if m := p.Member("redirects"); m.Value.Exists() {
		o.Redirects = r.word(m, "none", "fds", "any")
	}
	var patterns []operand
	if m := p.Member("argv"); m.Value.Exists() {
		patterns = r.argvPatterns(m)
		for _, pattern := range patterns {
			o.Argv = append(o.Argv, pattern.texts)
		}
	}
	if len(o.Programs) == 0 {
		return // reported already
	}
	size := len(o.Programs)
	for _, pattern := range o.Argv {
		size += len(pattern)
	}
	r.judgedOnce(c, p, size, func() (Judge, bool) {
		j, err := shelltext.New(o)
		var faults shelltext.Errors
		if err != nil && !errors.As(err, &faults) {
			r.Fault(p, "%v", err)
		}
		for _, f := range faults {
			switch {
			case f.Member == "argv" && len(f.Index) > 0 && f.Index[0] < len(patterns):
				r.patternFault(patterns[f.Index[0]], f.Index[1:], f.Msg)
			case len(f.Index) > 0:
				r.memberFault(p, members, f.Member, f.Index[0], f.Msg)
			default:
				r.memberFault(p, members, f.Member, -1, f.Msg)
			}
		}
		return j, err == nil
	})
	c.bare = len(o.Argv) == 0
	c.Texts = o.Programs
}

// argvPatterns reads the argv of a command: lists of globs, each of which may be
// "@name". In one of them a glob may stand again and again.
func (r *reader) argvPatterns(p place) []operand {
	if !r.List(p, "lists of globs", shelltext.MaxPatterns) {
		return nil
	}
	var patterns []operand
	i := 0
	for v := range p.Value.Elements() {
		at := p.Element(v, i)
		i++
		o := operand{at: at}
		switch {
		case isReference(v):
			o = r.texts(at, "globs")
		case r.List(at, "globs", shelltext.MaxItems):
			k := 0
			for e := range v.Elements() {
				if e.Kind() != ijson.String {
					r.Fault(at.Element(e, k), "expected a glob, got %s", problem.KindOf(e))
				} else {
					o.texts, o.kept = append(o.texts, e.Text()), append(o.kept, k)
				}
				k++
			}
		}
		if len(o.texts) > 0 && slices.ContainsFunc(patterns, func(q operand) bool { return slices.Equal(q.texts, o.texts) }) {
			r.Fault(at, "a repeated entry, a pattern that stands in this list before")
			continue
		}
		if len(o.texts) > 0 {
			patterns = append(patterns, o)
		}
	}
	return patterns
}

// patternFault puts a fault at an item of an argv pattern.
func (r *reader) patternFault(o operand, item []int, msg string) {
	at, prefix := o.at, ""
	if len(item) > 0 && item[0] < len(o.texts) {
		at, prefix = o.place(item[0])
	}
	r.Fault(at, "%s%s", prefix, msg)
}
