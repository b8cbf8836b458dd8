package rulestest

import (
	"slices"
	"strconv"

	"countersign/internal/ijson"
	"countersign/rules"
)

// tree is JSON that can be changed: what calls are made up of.
type tree struct {
	kind  ijson.Kind // Object, Array, or 0: a scalar
	text  string     // of a scalar, as JSON
	names []string
	kids  []*tree
}

func scalar(text string) *tree  { return &tree{text: text} }
func text(s string) *tree       { return scalar(quote(s)) }
func array(kids ...*tree) *tree { return &tree{kind: ijson.Array, kids: kids} }
func empty() *tree              { return &tree{kind: ijson.Object} }

// member is an object with one member.
func member(name string, kid *tree) *tree {
	return &tree{kind: ijson.Object, names: []string{name}, kids: []*tree{kid}}
}

// treeOf is a value as a tree.
func treeOf(v ijson.Value) *tree {
	switch v.Kind() {
	case ijson.Object:
		t := empty()
		for n, m := range v.Members() {
			t.names = append(t.names, n.Text())
			t.kids = append(t.kids, treeOf(m))
		}
		return t
	case ijson.Array:
		t := array()
		for e := range v.Elements() {
			t.kids = append(t.kids, treeOf(e))
		}
		return t
	}
	return scalar(raw(v))
}

func (t *tree) append(dst []byte) []byte {
	switch t.kind {
	case ijson.Object:
		dst = append(dst, '{')
		for i, k := range t.kids {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(ijson.AppendString(dst, t.names[i]), ": "...)
			dst = k.append(dst)
		}
		return append(dst, '}')
	case ijson.Array:
		dst = append(dst, '[')
		for i, k := range t.kids {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = k.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, t.text...)
}

func (t *tree) String() string { return string(t.append(nil)) }

func (t *tree) clone() *tree {
	c := *t
	c.names = slices.Clone(t.names)
	c.kids = make([]*tree, len(t.kids))
	for i, k := range t.kids {
		c.kids[i] = k.clone()
	}
	return &c
}

func (t *tree) index(name string) int { return slices.Index(t.names, name) }

// set puts kid at a place; what is there of another kind gives way. A nil kid
// takes away what is there.
func (t *tree) set(segs []rules.Segment, kid *tree) {
	if len(segs) == 0 {
		if kid == nil {
			kid = empty()
		}
		*t = *kid.clone()
		return
	}
	seg := segs[0]
	if seg.Kind == rules.Element || seg.Kind == rules.Any && t.kind == ijson.Array || seg.Kind == rules.Name && seg.Index >= 0 && t.kind == ijson.Array {
		at := max(seg.Index, 0)
		if kid == nil && t.kind != ijson.Array {
			return
		}
		if t.kind != ijson.Array {
			*t = *array()
		}
		for len(t.kids) <= at && at < 16 {
			t.kids = append(t.kids, scalar("0"))
		}
		if at >= len(t.kids) {
			return
		}
		if kid == nil && len(segs) == 1 {
			t.kids = slices.Delete(t.kids, at, at+1)
			return
		}
		t.kids[at].set(segs[1:], kid)
		return
	}
	name := seg.Name
	if seg.Kind == rules.Any {
		name = "a"
		if len(t.names) > 0 {
			name = t.names[0]
		}
	}
	if t.kind != ijson.Object {
		if kid == nil {
			return
		}
		*t = *empty()
	}
	i := t.index(name)
	if i < 0 {
		if kid == nil {
			return
		}
		i = len(t.names)
		t.names, t.kids = append(t.names, name), append(t.kids, empty())
	} else if kid == nil && len(segs) == 1 {
		t.names, t.kids = slices.Delete(t.names, i, i+1), slices.Delete(t.kids, i, i+1)
		return
	}
	if len(segs) == 1 {
		t.kids[i] = kid.clone()
		return
	}
	t.kids[i].set(segs[1:], kid)
}

// maxShrinks bounds how many smaller calls are tried in place of one.
const maxShrinks = 400

// shrink gives the smallest tree it finds for which good holds, as it does for t.
func shrink(t *tree, good func(*tree) bool) *tree {
	left := maxShrinks
	try := func(c *tree) bool {
		if left--; left < 0 || !good(c) {
			return false
		}
		t = c
		return true
	}
	for again := true; again && left > 0; {
		again = false
		for _, smaller := range reductions(t) {
			if left <= 0 {
				break
			}
			if try(smaller) {
				again = true
				break
			}
		}
	}
	return t
}

// reductions are trees a little smaller than t, the much smaller ones first.
func reductions(t *tree) []*tree {
	var out []*tree
	var walk func(at *tree, put func(*tree) *tree)
	walk = func(at *tree, put func(*tree) *tree) {
		switch at.kind {
		case ijson.Object, ijson.Array:
			for i := range at.kids {
				c := at.clone()
				c.kids = slices.Delete(c.kids, i, i+1)
				if at.kind == ijson.Object {
					c.names = slices.Delete(c.names, i, i+1)
				}
				out = append(out, put(c))
			}
			for i, k := range at.kids {
				walk(k, func(n *tree) *tree {
					c := at.clone()
					c.kids[i] = n
					return put(c)
				})
			}
		default:
			for _, s := range shorter(at.text) {
				out = append(out, put(scalar(s)))
			}
		}
	}
	walk(t, func(n *tree) *tree { return n })
	return out
}

// shorter are scalars simpler than one.
func shorter(s string) []string {
	if s == "" || s[0] != '"' {
		if _, err := strconv.ParseFloat(s, 64); err == nil && len(s) > 1 {
			return []string{"0", "1"}
		}
		return nil
	}
	doc, err := ijson.Parse([]byte(s), ijson.Options{})
	if err != nil {
		return nil
	}
	r := []rune(doc.Root().Text())
	var out []string
	for n := len(r); n > 0; n /= 2 {
		for i := 0; i+n <= len(r); i += n {
			out = append(out, quote(string(r[:i])+string(r[i+n:])))
		}
	}
	return out
}
