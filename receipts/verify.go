package receipts

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// maxExpanded bounds the expanded ML-DSA keys that are kept, about 60 KB each.
// Expanding one costs as much as a verification; a book has a few signers.
const maxExpanded = 64

// outcome is what became of a record's signatures.
type outcome struct {
	valid, invalid, unavailable int
	err                         error // a passkey's own fault, with its code
}

func (o outcome) verified() Verified {
	switch {
	case o.valid == 0:
		return VerifiedNone
	case o.invalid > 0 || o.unavailable > 0:
		return VerifiedSome
	}
	return VerifiedAll
}

func (o outcome) state() State {
	switch {
	case o.invalid > 0 || o.err != nil:
		return StateInvalid
	case o.unavailable > 0:
		return StateUnavailable
	case o.valid > 0:
		return StateValid
	}
	return StateUnchecked
}

// verifier checks signatures. It is safe for concurrent use: what a signature's
// check gives depends on the record and the keys alone.
type verifier struct {
	without []Method

	mu       sync.Mutex // guards the two below
	expanded map[[sha256.Size]byte]*list.Element
	recent   list.List // of *expandedKey, the last used first
}

type expandedKey struct {
	sum [sha256.Size]byte
	key *mldsa87.PublicKey
}

func newVerifier(without []Method) *verifier {
	return &verifier{without: slices.Clone(without), expanded: make(map[[sha256.Size]byte]*list.Element)}
}

// keySet checks a record's signatures, each over its own input, against the keys
// of a set in their order (the hybrid rule, section 1.6).
func (v *verifier) keySet(e *Envelope, keys KeySet) outcome {
	var o outcome
	for i := range e.parts {
		s := &e.parts[i]
		switch {
		case i >= len(keys) || keys[i].method != s.method:
			o.invalid++
		case s.method == SLHDSA256s && len(s.value) != slhdsaSignatureBytes:
			o.invalid++
		case s.method == SLHDSA256s || slices.Contains(v.without, s.method):
			// SLH-DSA is not built into this version: seals, the one kind that has it,
			// are never wholly checked here.
			o.unavailable++
		case v.one(keys[i], e.input(s), s.value):
			o.valid++
		default:
			o.invalid++
		}
	}
	return o
}

func (v *verifier) one(key Key, msg, sig []byte) bool {
	switch key.method {
	case Ed25519:
		return verifyEd25519(key.a, msg, sig)
	case MLDSA87:
		return len(sig) == mldsa87SignatureBytes && mldsa87.Verify(v.expand(key), msg, nil, sig)
	}
	return false
}

// expand gives the key in the form circl verifies with.
func (v *verifier) expand(key Key) *mldsa87.PublicKey {
	sum := sha256.Sum256(key.a)
	v.mu.Lock()
	if at, ok := v.expanded[sum]; ok {
		v.recent.MoveToFront(at)
		v.mu.Unlock()
		return at.Value.(*expandedKey).key
	}
	v.mu.Unlock()
	public := new(mldsa87.PublicKey)
	public.Unpack((*[mldsa87.PublicKeySize]byte)(key.a)) // readKey saw to the length
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.expanded[sum]; !ok {
		v.expanded[sum] = v.recent.PushFront(&expandedKey{sum, public})
		if v.recent.Len() > maxExpanded {
			delete(v.expanded, v.recent.Remove(v.recent.Back()).(*expandedKey).sum)
		}
	}
	return public
}

// passkey checks a passkey's record against the issuer of its slip.
func (v *verifier) passkey(e *Envelope, issuer *Issuer) outcome {
	if slices.Contains(v.without, issuer.Key.method) {
		return outcome{unavailable: 1}
	}
	if err := checkPasskey(e, issuer); err != nil {
		return outcome{invalid: 1, err: err}
	}
	return outcome{valid: 1}
}
