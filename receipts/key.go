package receipts

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"countersign/internal/ijson"
)

// Sizes of public keys and signatures in bytes (sections 1.5 and 1.6).
const (
	ed25519KeyBytes = 32
	mldsa87KeyBytes = 2592
	slhdsaKeyBytes  = 64
	p256HalfBytes   = 32
	minRSABits      = 2048
	maxRSABits      = 8192

	ed25519SignatureBytes = 64
	mldsa87SignatureBytes = 4627
	slhdsaSignatureBytes  = 29792
)

// Key is a public key of one of the shapes of section 1.5. The zero Key is none.
type Key struct {
	method Method
	a, b   []byte // x, pub or n; and y of an ES256 key
}

// Method says how the key signs.
func (k Key) Method() Method { return k.method }

// Equal says whether two keys are the same.
func (k Key) Equal(o Key) bool {
	return k.method == o.method && bytes.Equal(k.a, o.a) && bytes.Equal(k.b, o.b)
}

// Append appends the key as a canonical JWK.
func (k Key) Append(dst []byte) []byte { return k.append(dst, true) }

// append leaves alg out for a thumbprint, except of an AKP key, where alone it
// counts.
func (k Key) append(dst []byte, alg bool) []byte {
	dst = append(dst, '{')
	if alg || k.method == MLDSA87 || k.method == SLHDSA256s {
		dst = append(dst, `"alg":"`...)
		dst = append(dst, k.method...)
		dst = append(dst, `",`...)
	}
	value := func(name string, b []byte) {
		dst = append(dst, name...)
		dst = append(base64url.AppendEncode(dst, b), '"')
	}
	switch k.method {
	case Ed25519:
		value(`"crv":"Ed25519","kty":"OKP","x":"`, k.a)
	case ES256:
		value(`"crv":"P-256","kty":"EC","x":"`, k.a)
		value(`,"y":"`, k.b)
	case RS256:
		value(`"e":"AQAB","kty":"RSA","n":"`, k.a)
	default:
		value(`"kty":"AKP","pub":"`, k.a)
	}
	return append(dst, '}')
}

// Thumbprint is the key's RFC 7638 thumbprint with SHA-256, in base64url.
func (k Key) Thumbprint() string {
	sum := sha256.Sum256(k.append(nil, false))
	return encodeBase64url(sum[:])
}

// NewEd25519Key is the Ed25519 public key of these bytes, bad-key where they are
// not 32 or make a key under which anyone can sign.
func NewEd25519Key(x []byte) (Key, error) {
	if len(x) != ed25519KeyBytes {
		return Key{}, problem(CodeBadKey, "an Ed25519 public key is %d bytes", ed25519KeyBytes)
	}
	if weakEd25519(x) {
		return Key{}, problem(CodeBadKey, "this Ed25519 public key is one under which anyone can sign, and is not accepted")
	}
	return Key{method: Ed25519, a: slices.Clone(x)}, nil
}

// passkeyMethods are the methods a passkey may have; what keys sets have is
// fixed by their order.
var passkeyMethods = []Method{ES256, RS256, Ed25519}

// readKey reads a JWK of exactly one of the shapes of section 1.5, of a method
// among allowed. Every fault is bad-key.
func readKey(v ijson.Value, allowed ...Method) (Key, error) {
	bad := func(format string, args ...any) (Key, error) {
		return Key{}, problem(CodeBadKey, "key: "+format, args...)
	}
	if v.Kind() != ijson.Object {
		return bad("must be an object")
	}
	method := Method(v.Member("alg").Text())
	if !slices.Contains(allowed, method) {
		return bad("the signing method must be one of %v", allowed)
	}
	var kty, names string
	switch method {
	case Ed25519:
		kty, names = "OKP", "alg crv kty x"
	case ES256:
		kty, names = "EC", "alg crv kty x y"
	case RS256:
		kty, names = "RSA", "alg e kty n"
	default:
		kty, names = "AKP", "alg kty pub"
	}
	m := open(v, "key", names, "")
	if m.err != nil {
		return bad("a key of this method must hold exactly %s", names)
	}
	for name, val := range v.Members() {
		if val.Kind() != ijson.String {
			return bad("%q must be text", name.Text()) // one of names by now
		}
	}
	crv := m.value("crv")
	if !m.value("kty").Is(kty) ||
		method == Ed25519 && !crv.Is("Ed25519") || method == ES256 && !crv.Is("P-256") ||
		method == RS256 && !m.value("e").Is("AQAB") {
		return bad("the key type, curve or exponent is not that of its method")
	}
	k := Key{method: method}
	part := func(name string) []byte {
		b, err := decodeBase64url(m.value(name).Bytes(nil))
		if err != nil {
			m.fail(problem(CodeBadKey, "key: %q is not base64url", name))
		}
		return b
	}
	switch method {
	case Ed25519:
		k.a = part("x")
	case ES256:
		k.a, k.b = part("x"), part("y")
	case RS256:
		k.a = part("n")
	default:
		k.a = part("pub")
	}
	if m.err != nil {
		return Key{}, m.err
	}
	return k, k.checkSize()
}

func (k Key) checkSize() error {
	ok, want := false, ""
	switch k.method {
	case Ed25519:
		_, err := NewEd25519Key(k.a)
		return err
	case MLDSA87:
		ok, want = len(k.a) == mldsa87KeyBytes, "2,592 bytes"
	case SLHDSA256s:
		ok, want = len(k.a) == slhdsaKeyBytes, "64 bytes"
	case ES256:
		ok, want = len(k.a) == p256HalfBytes && len(k.b) == p256HalfBytes, "32 bytes in each half"
	case RS256:
		bits := 0
		if len(k.a) > 0 && k.a[0] != 0 {
			bits = len(k.a) * 8
			for top := k.a[0]; top&0x80 == 0; top <<= 1 {
				bits--
			}
		}
		ok, want = bits >= minRSABits && bits <= maxRSABits, "2,048 to 8,192 bits, without a leading zero byte"
	}
	if !ok {
		return problem(CodeBadKey, "key: a public key of this method is %s", want)
	}
	return nil
}

// weakY are the y coordinates of the points of small order on the curve of
// Ed25519, little-endian, past 0 and 1 and p-1 (section 1.5).
var weakY = [2][32]byte{
	{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
	{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
}

// weakEd25519 says whether 32 bytes, a public key or the R of a signature, spell
// a point of small order, or spell their point in a second way (y of p or more).
func weakEd25519(b []byte) bool {
	var y [32]byte
	copy(y[:], b)
	y[31] &= 0x7f
	// y ≥ p-1 = 2^255-20: all bytes 0xff but the first, 0xec or more, and the last.
	high := y[31] == 0x7f && y[0] >= 0xec
	low := y[0] <= 1
	for _, c := range y[1:31] {
		high = high && c == 0xff
		low = low && c == 0
	}
	return high || low && y[31] == 0 || y == weakY[0] || y == weakY[1]
}

// KeySet is the keys of an agent, a service or an organisation (Ed25519, then
// ML-DSA-87), or of a recorder (those, then SLH-DSA-SHA2-256s): section 1.6. nil
// is none.
type KeySet []Key

// Append appends the canonical list of the keys.
func (s KeySet) Append(dst []byte) []byte {
	dst = append(dst, '[')
	for i, k := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = k.Append(dst)
	}
	return append(dst, ']')
}

// Fingerprint names a recorder or an organisation: the SHA-256 of the canonical
// list of its keys, in base64url.
func (s KeySet) Fingerprint() string {
	sum := sha256.Sum256(s.Append(nil))
	return encodeBase64url(sum[:])
}

// Equal says whether two sets hold the same keys in the same order.
func (s KeySet) Equal(o KeySet) bool { return slices.EqualFunc(s, o, Key.Equal) }

// readKeySet reads a list of keys of exactly these methods, in their order.
func readKeySet(v ijson.Value, methods ...Method) (KeySet, error) {
	if v.Kind() != ijson.Array || v.Len() != len(methods) {
		return nil, problem(CodeBadKey, "keys: must be a list of %d", len(methods))
	}
	set := make(KeySet, 0, len(methods))
	for e := range v.Elements() {
		k, err := readKey(e, methods[len(set)])
		if err != nil {
			return nil, err
		}
		set = append(set, k)
	}
	return set, nil
}

// ReadKeySet reads the canonical list of an agent's or a service's two keys, as
// [KeySet.Append] writes it.
func ReadKeySet(src []byte) (KeySet, error) {
	var d ijson.Doc
	v, err := parseCanonical(&d, src)
	if err != nil {
		return nil, err
	}
	return readKeySet(v, Ed25519, MLDSA87)
}

// keys reads a member that holds a set of keys of these methods.
func (m *members) keys(name string, methods ...Method) KeySet {
	v := m.value(name)
	if !v.Exists() {
		return nil
	}
	set, err := readKeySet(v, methods...)
	if err != nil {
		m.fail(err)
	}
	return set
}
