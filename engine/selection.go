package engine

import (
	"fmt"

	"countersign/internal/ijson"
	"countersign/rules"
)

// selection is what a compiled test looks at (content rules, section 2), the same
// for all tests that look at the same.
type selection struct {
	segs  []rules.Segment // without the ** at the end
	deep  bool            // leaves at any depth
	names bool            // member names at any depth
	named map[string]bool // keep leaves under one of these names; nil: all
	fold  bool            // named holds folded names
	keep  []bool          // of each segment, whether its name is in named

	at       int  // number of the anchor where its segments before begin end
	begin    int  // segments that the anchor stands for
	elements bool // the elements of a list at the anchor
	single   bool // at most one value is selected, the anchor's
}

func (c *compiler) selection(t *rules.Test) *selection {
	key := fmt.Sprintf("%q %v %v %q", t.Select.Pointer.Text, t.Select.Names, t.Fold && t.Select.Named != nil, t.Select.Named)
	if s := c.selections[key]; s != nil {
		return s
	}
	f := &c.folder
	s := &selection{segs: t.Select.Pointer.Segments, names: t.Select.Names}
	c.selections[key] = s
	if t.Select.Pointer.Deep() {
		s.segs = s.segs[:len(s.segs)-1]
		s.deep = !s.names // names are at any depth with and without **
	}
	if t.Select.Named != nil {
		s.fold = t.Fold
		s.named = make(map[string]bool, len(t.Select.Named))
		for _, n := range t.Select.Named {
			if t.Fold {
				n = f.Text(n)
			}
			s.named[n] = true
		}
	}
	s.keep = make([]bool, len(s.segs))
	for i, seg := range s.segs {
		n := seg.Name
		if s.fold {
			n = f.Text(n)
		}
		s.keep[i] = seg.Kind == rules.Name && s.named[n]
	}
	// A name that keeps what is under it is left to the walk, since on its way
	// through a list it is none.
	for s.begin < len(s.segs) && s.segs[s.begin].Kind == rules.Name && !s.keep[s.begin] {
		s.begin++
	}
	s.at = c.anchors.find(s.segs[:s.begin]).number
	s.elements = !s.deep && !s.names && s.begin == len(s.segs)-1 && s.segs[s.begin].Kind == rules.Element
	s.single = !s.deep && !s.names && s.begin == len(s.segs)
	return s
}

// picker gathers what a selection selects. It recurses as deep as the value
// does, which reading has bounded.
type picker struct {
	s    *selection
	out  []ijson.Value
	most int // values to gather; one more is gathered where there are more
	j    *judging
	text []byte // scratch of names
	form []byte // scratch of folded names
}

// pick appends to out what s selects under root, at most most+1 values: with one
// more than that the selection is past its bound.
func (j *judging) pick(out []ijson.Value, s *selection, root ijson.Value, most int) []ijson.Value {
	p := &j.picker
	p.s, p.out, p.most, p.j = s, out, len(out)+most, j
	if root == j.root {
		if v := j.places[s.at]; v.Exists() {
			p.at(v, s.begin, s.named == nil)
		}
	} else {
		p.at(root, 0, s.named == nil)
	}
	out, p.out = p.out, nil
	return out
}

// at goes on at v with segment i; kept says that a name on the way was one of
// those to keep.
func (p *picker) at(v ijson.Value, i int, kept bool) {
	if len(p.out) > p.most {
		return
	}
	if i == len(p.s.segs) {
		switch {
		case p.s.names:
			p.memberNames(v)
		case p.s.deep:
			p.leaves(v, kept)
		default:
			p.out = append(p.out, v)
		}
		return
	}
	switch s := &p.s.segs[i]; v.Kind() {
	case ijson.Object:
		if s.Kind == rules.Name {
			if m := v.Member(s.Name); m.Exists() {
				p.at(m, i+1, kept || p.s.keep[i])
			}
			return
		}
		if s.Kind == rules.Any {
			for n, m := range v.Members() {
				p.at(m, i+1, kept || p.keeps(n))
			}
		}
	case ijson.Array:
		if s.Kind != rules.Name {
			for e := range v.Elements() {
				p.at(e, i+1, kept)
			}
			return
		}
		n := 0
		for e := range v.Elements() {
			if n == s.Index {
				p.at(e, i+1, kept)
				return
			}
			n++
		}
	}
}

func (p *picker) leaves(v ijson.Value, kept bool) {
	if len(p.out) > p.most {
		return
	}
	switch {
	case v.Len() == 0: // a scalar, or an empty list or object
		if kept {
			p.out = append(p.out, v)
		}
	case v.Kind() == ijson.Array:
		for e := range v.Elements() {
			p.leaves(e, kept)
		}
	default:
		for n, m := range v.Members() {
			p.leaves(m, kept || p.keeps(n))
		}
	}
}

func (p *picker) memberNames(v ijson.Value) {
	if len(p.out) > p.most {
		return
	}
	if v.Kind() == ijson.Array {
		for e := range v.Elements() {
			p.memberNames(e)
		}
	}
	for n, m := range v.Members() {
		p.out = append(p.out, n)
		p.memberNames(m)
	}
}

// keeps: is a member's name one of those whose leaves are kept?
func (p *picker) keeps(name ijson.Value) bool {
	if p.s.named == nil {
		return true
	}
	b := textOf(name, &p.text)
	if p.s.fold {
		b = p.j.folded(b, &p.form)
	}
	return p.s.named[string(b)]
}

// textOf is the text of a String: a part of the text that was read, or decoded
// into scratch, which grows as it must.
func textOf(v ijson.Value, scratch *[]byte) []byte {
	b := v.Bytes(*scratch)
	if len(b) != v.End()-v.Start()-2 { // an escape is longer than what it stands for
		*scratch = b
	}
	return b
}
