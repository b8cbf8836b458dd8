package engine

import (
	"bytes"
	"strings"

	"countersign/internal/ijson"
	"countersign/rules"
)

// anchors is the trie of all places that pointers of the rules name, up to their
// first wildcard. One walk of a call's arguments down the trie finds the values
// of all of them.
type anchors struct {
	root  *anchor
	count int
}

// anchor is a place named by pointers of the rules.
type anchor struct {
	number int
	// kids are the members named under it, by hash; the slice's length is a power
	// of two.
	kids  [][]kid
	count int
	// elements are those of the kids that stand for an element too, by index.
	elements map[int]*anchor
	last     int  // the greatest of these indexes
	escaped  bool // its own name holds a backslash, so JSON spells it otherwise
}

type kid struct {
	name string
	at   *anchor
}

func newAnchors() *anchors { return &anchors{root: &anchor{}, count: 1} }

// find gives the anchor of a pointer without wildcards, new ones as needed.
func (a *anchors) find(segs []rules.Segment) *anchor {
	at := a.root
	for _, s := range segs {
		next := at.member([]byte(s.Name))
		if next == nil {
			next = &anchor{number: a.count, escaped: strings.Contains(s.Name, `\`)}
			a.count++
			at.add(kid{s.Name, next})
			if s.Index >= 0 {
				if at.elements == nil {
					at.elements = map[int]*anchor{}
				}
				at.elements[s.Index] = next
				at.last = max(at.last, s.Index)
			}
		}
		at = next
	}
	return at
}

func (n *anchor) add(k kid) {
	n.count++
	if n.count*2 > len(n.kids) { // few names a slot
		old := n.kids
		n.kids = make([][]kid, max(8, 2*len(old)))
		for _, l := range old {
			for _, o := range l {
				n.put(o)
			}
		}
	}
	n.put(k)
}

func (n *anchor) put(k kid) {
	i := n.slot([]byte(k.name))
	n.kids[i] = append(n.kids[i], k)
}

// slot hashes a name by its length and three of its bytes. Only names of the
// rules are in the table, so a call's own names cannot make it slow.
func (n *anchor) slot(name []byte) int {
	h := len(name)
	if h > 0 {
		h += int(name[0])*5 + int(name[len(name)-1])*17 + int(name[len(name)/2])*29
	}
	return h & (len(n.kids) - 1)
}

func (n *anchor) member(name []byte) *anchor {
	if len(n.kids) == 0 {
		return nil
	}
	for _, k := range n.kids[n.slot(name)] {
		if k.name == string(name) {
			return k.at
		}
	}
	return nil
}

// place finds the values of all anchors in a call's arguments.
func (j *judging) place(a *anchors, root ijson.Value) {
	j.root = root
	j.placeAt(a.root, root)
}

func (j *judging) placeAt(n *anchor, v ijson.Value) {
	j.places[n.number] = v
	j.placed = append(j.placed, n.number)
	if n.count == 0 {
		return
	}
	switch v.Kind() {
	case ijson.Object:
		for name, m := range v.Members() {
			if k := j.memberAt(n, name); k != nil {
				j.placeAt(k, m)
			}
		}
	case ijson.Array:
		if n.elements == nil {
			return
		}
		i := 0
		for e := range v.Elements() {
			if k := n.elements[i]; k != nil {
				j.placeAt(k, e)
			}
			if i++; i > n.last {
				return
			}
		}
	}
}

// memberAt is the anchor of a member's name. Most names have no escape, and one
// that is spelt as the rules spell it, without a backslash, surely has none.
func (j *judging) memberAt(n *anchor, name ijson.Value) *anchor {
	raw := name.Raw()
	raw = raw[1 : len(raw)-1]
	if k := n.member(raw); k != nil && !k.escaped {
		return k
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return nil
	}
	return n.member(textOf(name, &j.name))
}
