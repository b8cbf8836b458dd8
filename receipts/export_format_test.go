package receipts

import (
	"crypto/ed25519"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"

	"countersign/internal/ijson"
)

// What the published vectors ask for by itself.

var (
	DecodeBase64url = decodeBase64url
	EncodeBase64url = encodeBase64url
	ECDSAFromDER    = ecdsaFromDER
	IsRefusalReason = isRefusalReason
	AppendRequest   = appendRequest
	Labels          = labels
	IsOrigin        = isOrigin
	IsRPID          = isRPID
	WeakEd25519     = weakEd25519
	KindOfAction    = kindOfAction
	IsNever         = isNever
)

const MaxPasses = maxPasses

func ParseCanonical(src []byte) (ijson.Value, error) { return parseCanonical(new(ijson.Doc), src) }

// Validate reads content of a kind by its members alone.
func Validate(kind Kind, v ijson.Value) error {
	var err error
	switch kind {
	case KindStub:
		_, err = readStub(v)
	case KindCountersignature:
		_, err = readCountersignature(v)
	case KindApproval:
		_, err = readApproval(v)
	case KindRefusal:
		_, err = readRefusal(v)
	case KindCancellation:
		_, err = readCancellation(v)
	}
	return err
}

// IsVouchedKind says whether a vouching may name this kind: then it is the keys,
// which are none here, that are wrong with it, and not a field.
func IsVouchedKind(kind string) bool {
	name := "keys"
	if kind == "person" {
		name = "key"
	}
	src := appendText([]byte(`{"for":{"`+name+`":[],"kind":`), "", kind)
	v, err := parseCanonical(new(ijson.Doc), append(src, `,"name":"x"}}`...))
	if err != nil {
		return false
	}
	m := open(v, "vouching", "for", "")
	m.vouched()
	return CodeOf(m.err) == CodeBadKey
}

func ReadKey(v ijson.Value, allowed ...Method) (Key, error) { return readKey(v, allowed...) }

func (h Header) String() string { return h.header }

type Header = label

// Unsigned is a record of the right shape whose signatures fit no key, for books
// that are read with AddOwn.
func Unsigned(kind Kind, payload []byte) []byte {
	var protected []string
	for _, m := range kind.layout() {
		h, _ := headerOf(kind, m)
		protected = append(protected, encodeBase64url([]byte(h)))
	}
	return appendEnvelope(nil, payload, protected, [][]byte{make([]byte, 64), make([]byte, 64)})
}

// ReadKeySetOf makes a key of a method that no signer here has.
func ReadKeySetOf(method Method) (Key, error) {
	k := Key{method: method, a: make([]byte, slhdsaKeyBytes)}
	return k, k.checkSize()
}

// SealedBy is a seal's record whose first two signatures fit, and whose third is
// so many zero bytes.
func SealedBy(s *Signer, payload []byte, third int) []byte {
	var protected []string
	for _, m := range KindSeal.layout() {
		h, _ := headerOf(KindSeal, m)
		protected = append(protected, encodeBase64url([]byte(h)))
	}
	encoded := encodeBase64url(payload)
	ml := make([]byte, mldsa87SignatureBytes)
	_ = mldsa87.SignTo(s.ml, []byte(protected[1]+"."+encoded), nil, false, ml)
	return appendEnvelope(nil, payload, protected,
		[][]byte{ed25519.Sign(s.ed, []byte(protected[0]+"."+encoded)), ml, make([]byte, third)})
}

// VerifyPasskey is step 10 alone.
func VerifyPasskey(key Key, signed, sig []byte) error { return verifyPasskey(key, signed, sig) }

// ReadSeeds reads a key file's text.
func ReadSeeds(text []byte) (ed, ml [32]byte, err error) { return readSeeds(text) }

// PasskeyRecord puts a passkey's record together from its raw parts.
func PasskeyRecord(payload, auth, client, signature []byte) []byte {
	h, _ := headerOf(KindSlip, methodPasskey)
	return appendPasskeyRecord(nil, encodeBase64url([]byte(h)), encodeBase64url(payload), encodeBase64url(auth), encodeBase64url(client), encodeBase64url(signature))
}
