package rules

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"countersign/internal/ijson"
)

const (
	formatWidth  = 100 // code points of a line, where a value can be broken at all
	formatIndent = "  "
)

// Format lays a rules file out in the one usual way: members in the order in
// which the documentation names them, what fits on a line on a line, every rule's
// members on lines of their own. Texts and numbers stay as they are spelt. It
// changes no fingerprint, and laying out what it laid out changes nothing.
//
// The file need only be strict JSON, so that a faulty one can be laid out too.
func Format(path string, src []byte) ([]byte, Problems) {
	r := newReader()
	doc := r.parse(src)
	if doc == nil || len(r.Problems) > 0 {
		return nil, r.Settle(path, src)
	}
	var p printer
	p.value(doc.Root(), inFile, 0, 0)
	p.out = append(p.out, '\n')
	if len(p.out) > MaxBytes {
		r.FaultAt(0, "", "laid out the file has %d bytes, expected at most %d; it stays as it is", len(p.out), MaxBytes)
		return nil, r.Settle(path, src)
	}
	same, err := ijson.Canonical(p.out, ijson.Options{Depth: MaxDepth})
	if err != nil || !bytes.Equal(same, ijson.AppendCanonical(nil, doc.Root())) {
		r.FaultAt(0, "", "laying the file out would change its fingerprint; it stays as it is")
		return nil, r.Settle(path, src)
	}
	return p.out, nil
}

// role is what a value is in a rules file, which decides the order of its members
// and whether it is always broken into lines.
type role byte

const (
	inValue role = iota // nothing known
	inFile
	inLists
	inRules
	inRule
	inCondition
	inConditions
)

// of is the role of a member's value, or of an element where name is "".
func (o role) of(name string) role {
	switch o {
	case inFile:
		switch name {
		case "rules":
			return inRules
		case "lists":
			return inLists
		}
	case inRules:
		return inRule
	case inRule:
		switch name {
		case "when", "refuse", "require":
			return inCondition
		}
	case inConditions:
		return inCondition
	case inCondition:
		switch name {
		case "all", "any":
			return inConditions
		case "not", "json":
			return inCondition
		}
	}
	return inValue
}

func (o role) broken() bool { return o == inFile || o == inLists || o == inRules || o == inRule }

// conditionOrder puts a test's selection first and its fold last.
var conditionOrder = slices.Concat(formNames, selectionNames, []string{"named", "names"})

// rank orders members; those of one rank stay as they stand.
func (o role) rank(name string) int {
	known, last := []string(nil), ""
	switch o {
	case inFile:
		known = fileMembers
	case inRule:
		known = ruleMembers
	case inCondition:
		known, last = conditionOrder, "fold"
	}
	if i := slices.Index(known, name); i >= 0 {
		return i
	}
	if name == last {
		return len(known) + 1
	}
	return len(known)
}

type printer struct {
	out []byte
}

// member is a member of an object in the order it is printed.
type member struct{ name, value ijson.Value }

func (o role) members(v ijson.Value) []member {
	ms := make([]member, 0, v.Len())
	for n, m := range v.Members() {
		ms = append(ms, member{n, m})
	}
	if o == inFile || o == inRule || o == inCondition {
		slices.SortStableFunc(ms, func(a, b member) int { return o.rank(a.name.Text()) - o.rank(b.name.Text()) })
	}
	return ms
}

// value prints v at an indent, behind column code points of its line.
func (p *printer) value(v ijson.Value, o role, indent, column int) {
	if !o.broken() || v.Len() == 0 {
		start := len(p.out)
		// One column stays free for a comma.
		if p.line(v, o, start, formatWidth-1-column) {
			return
		}
		p.out = p.out[:start]
	}
	open, end := byte('['), byte(']')
	if v.Kind() == ijson.Object {
		open, end = '{', '}'
	}
	p.out = append(p.out, open)
	if v.Kind() == ijson.Object {
		for i, m := range o.members(v) {
			p.newLine(i, indent+1)
			p.out = append(append(p.out, m.name.Raw()...), ": "...)
			p.value(m.value, o.of(m.name.Text()), indent+1, len(formatIndent)*(indent+1)+utf8.RuneCount(m.name.Raw())+2)
		}
	} else {
		i := 0
		for e := range v.Elements() {
			p.newLine(i, indent+1)
			p.value(e, o.of(""), indent+1, len(formatIndent)*(indent+1))
			i++
		}
	}
	p.out = append(p.out, '\n')
	p.indent(indent)
	p.out = append(p.out, end)
}

func (p *printer) newLine(i, indent int) {
	if i > 0 {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, '\n')
	p.indent(indent)
}

func (p *printer) indent(n int) {
	for range n {
		p.out = append(p.out, formatIndent...)
	}
}

// line prints v on one line; false where what was printed since start has more
// than room code points. A scalar always goes on one line.
func (p *printer) line(v ijson.Value, o role, start, room int) bool {
	fits := func() bool {
		n := len(p.out) - start
		return n <= room || n <= 4*room && utf8.RuneCount(p.out[start:]) <= room
	}
	switch v.Kind() {
	case ijson.Object:
		if v.Len() == 0 {
			p.out = append(p.out, "{}"...)
			return true
		}
		p.out = append(p.out, "{ "...)
		for i, m := range o.members(v) {
			if i > 0 {
				p.out = append(p.out, ", "...)
			}
			p.out = append(append(p.out, m.name.Raw()...), ": "...)
			if !p.line(m.value, o.of(m.name.Text()), start, room) || !fits() {
				return false
			}
		}
		p.out = append(p.out, " }"...)
		return fits()
	case ijson.Array:
		p.out = append(p.out, '[')
		i := 0
		for e := range v.Elements() {
			if i > 0 {
				p.out = append(p.out, ", "...)
			}
			if !p.line(e, o.of(""), start, room) || !fits() {
				return false
			}
			i++
		}
		p.out = append(p.out, ']')
		return v.Len() == 0 || fits()
	}
	p.out = append(p.out, v.Raw()...)
	return true
}
