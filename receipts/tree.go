package receipts

import (
	"bytes"
	"crypto/sha256"
	"math/bits"
)

// Hash is a hash of the tree over the lines of a book (section 4.2).
type Hash [sha256.Size]byte

// String is the hash in base64url.
func (h Hash) String() string { return encodeBase64url(h[:]) }

// LeafHash is the hash of one leaf (RFC 6962, section 2.1), such as a line of a
// book without its line feed.
func LeafHash(leaf []byte) Hash {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(leaf)
	return Hash(h.Sum(nil))
}

func nodeHash(left, right Hash) Hash {
	var b [1 + 2*sha256.Size]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}

// Tree is the RFC 6962 tree of the leaves added so far. It keeps one hash for
// each bit of its size. The zero Tree is empty.
type Tree struct {
	size  uint64
	roots []Hash // of the whole subtrees, largest first: one for each 1 bit of size
}

// Size is the number of leaves.
func (t *Tree) Size() int { return int(t.size) }

// Add adds a leaf by its hash.
func (t *Tree) Add(leaf Hash) {
	for n := t.size; n&1 == 1; n >>= 1 {
		last := len(t.roots) - 1
		leaf = nodeHash(t.roots[last], leaf)
		t.roots = t.roots[:last]
	}
	t.roots = append(t.roots, leaf)
	t.size++
}

// Root is the hash at the top; of no leaves, that of the empty text.
func (t *Tree) Root() Hash {
	if t.size == 0 {
		return sha256.Sum256(nil)
	}
	root := t.roots[len(t.roots)-1]
	for i := len(t.roots) - 2; i >= 0; i-- {
		root = nodeHash(t.roots[i], root)
	}
	return root
}

// Root is the top of the tree over these leaf hashes.
func Root(leaves []Hash) Hash {
	var t Tree
	for _, l := range leaves {
		t.Add(l)
	}
	return t.Root()
}

// Inclusion is the audit path (RFC 6962, section 2.1.1) of the leaf at index,
// from the bottom up; false where there is no such leaf.
func Inclusion(leaves []Hash, index int) ([]Hash, bool) {
	if index < 0 || index >= len(leaves) {
		return nil, false
	}
	path := make([]Hash, 0, bits.Len(uint(len(leaves))))
	for len(leaves) > 1 {
		k := 1 << (bits.Len(uint(len(leaves)-1)) - 1) // largest power of two below
		if index < k {
			path = append(path, Root(leaves[k:]))
			leaves = leaves[:k]
		} else {
			path = append(path, Root(leaves[:k]))
			leaves = leaves[k:]
			index -= k
		}
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path, true
}

// VerifyInclusion says whether path shows that leaf stands at index in the tree
// of this size and root (RFC 9162, section 2.1.3.2).
func VerifyInclusion(index, size int, leaf Hash, path []Hash, root Hash) bool {
	if index < 0 || index >= size {
		return false
	}
	fn, sn := uint64(index), uint64(size-1)
	r := leaf
	for _, p := range path {
		if sn == 0 {
			return false
		}
		if fn&1 == 1 || fn == sn {
			r = nodeHash(p, r)
			for fn&1 == 0 && fn != 0 {
				fn >>= 1
				sn >>= 1
			}
		} else {
			r = nodeHash(r, p)
		}
		fn >>= 1
		sn >>= 1
	}
	return sn == 0 && bytes.Equal(r[:], root[:])
}
