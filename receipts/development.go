package receipts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/internal/ijson"
)

// developmentMark ends the name of an issuer that is no person.
const developmentMark = "(development)"

// IsDevelopment says whether a slip was signed by a stand-in for a passkey, made
// for demonstrations and development: its issuer's name says so. A covered name
// that is not disclosed says nothing.
func IsDevelopment(s *Slip) bool {
	return strings.HasSuffix(s.Issuer.Name.Text, developmentMark)
}

// DevelopmentPasskey stands in for a person's passkey: an ES256 key made on the
// spot, which signs as a browser on this origin would have a passkey sign. Nobody
// stands behind it, and every slip it signs says so in its issuer's name.
type DevelopmentPasskey struct {
	private *ecdsa.PrivateKey
	issuer  Issuer
}

// maxDraws bounds how often a scalar is drawn anew: one in 2^32 is out of range.
const maxDraws = 8

// NewDevelopmentPasskey draws a key from random (nil: the system's) for a page of
// this origin, such as http://localhost:8797. name is followed by
// "(development)".
func NewDevelopmentPasskey(name, origin string, random io.Reader) (*DevelopmentPasskey, error) {
	if random == nil {
		random = rand.Reader
	}
	_, host, _ := strings.Cut(origin, "://")
	host, _, _ = strings.Cut(host, ":")
	if !isRPID(host) || !isOrigin(origin, host) {
		return nil, fmt.Errorf("origin %q: expected https:// or http://localhost, a host in lower case, and a port only if it is needed", origin)
	}
	name = strings.TrimSpace(name + " " + developmentMark)
	if !isText(name, 1, maxName) {
		return nil, fmt.Errorf("the issuer's name: expected text of 1 to %d characters, %q included", maxName, developmentMark)
	}
	for range maxDraws {
		var scalar [p256HalfBytes]byte
		if _, err := io.ReadFull(random, scalar[:]); err != nil {
			return nil, fmt.Errorf("drawing a key: %w", err)
		}
		private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
		if err != nil {
			continue // zero, or past the curve's order
		}
		point, err := private.PublicKey.Bytes() // 4, x, y
		if err != nil {
			return nil, fmt.Errorf("making a key: %w", err)
		}
		key := Key{method: ES256, a: point[1 : 1+p256HalfBytes], b: point[1+p256HalfBytes:]}
		return &DevelopmentPasskey{private, Issuer{Key: key, Name: Covered{Text: name}, Origin: origin, RPID: host}}, nil
	}
	return nil, errors.New("drawing a key: the source of randomness gives nothing usable")
}

// Issuer is the issuer of the slips it signs.
func (k *DevelopmentPasskey) Issuer() Issuer { return k.issuer }

// Format keeps the private key out of every printed form.
func (k *DevelopmentPasskey) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "development passkey "+k.issuer.Key.Thumbprint())
}

// SignSlip signs a slip as its issuer, whom it fills in, and gives the record.
func (k *DevelopmentPasskey) SignSlip(s *Slip) ([]byte, error) {
	s.Issuer = k.issuer
	return k.sign(KindSlip, s.Append(nil))
}

// SignApproval signs an approval.
func (k *DevelopmentPasskey) SignApproval(a *Approval) ([]byte, error) {
	return k.sign(KindApproval, a.Append(nil))
}

// SignCancellation signs a cancellation.
func (k *DevelopmentPasskey) SignCancellation(c *Cancellation) ([]byte, error) {
	return k.sign(KindCancellation, c.Append(nil))
}

// sign makes the record as section 2.2 has it, and reads it back: content that no
// reader would take is not signed.
func (k *DevelopmentPasskey) sign(kind Kind, payload []byte) ([]byte, error) {
	header, ok := headerOf(kind, methodPasskey)
	if !ok {
		return nil, problem(CodeCheckFailed, "a record of kind %s is not signed with a passkey", kind)
	}
	protected := encodeBase64url([]byte(header))
	encoded := encodeBase64url(payload)
	challenge := sha256.Sum256([]byte(protected + "." + encoded))
	client := appendText(nil, `{"type":"webauthn.get","challenge":`, encodeBase64url(challenge[:]))
	client = appendText(client, `,"origin":`, k.issuer.Origin)
	client = append(client, `,"crossOrigin":false}`...)
	rpID := sha256.Sum256([]byte(k.issuer.RPID))
	auth := append(rpID[:], flagUserPresent|flagUserVerified, 0, 0, 0, 0) // a counter of 0: none is kept
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(auth, hash[:]...))
	signature, err := k.private.Sign(nil, digest[:], crypto.SHA256) // deterministic
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	record := appendPasskeyRecord(nil, protected, encoded, encodeBase64url(auth), encodeBase64url(client), encodeBase64url(signature))
	r := new(lineParser)
	v, err := parseCanonical(new(ijson.Doc), record)
	if err != nil {
		return nil, err
	}
	if read := r.record(kind, v); read.fault != nil {
		return nil, read.fault
	}
	return record, nil
}

// appendPasskeyRecord puts a passkey's record together from its parts in base64url.
func appendPasskeyRecord(dst []byte, protected, payload, authenticatorData, clientDataJSON, signature string) []byte {
	dst = appendText(dst, `{"payload":`, payload)
	dst = appendText(dst, `,"signatures":[{"header":{"authenticatorData":`, authenticatorData)
	dst = appendText(dst, `,"clientDataJSON":`, clientDataJSON)
	dst = appendText(dst, `},"protected":`, protected)
	dst = appendText(dst, `,"signature":`, signature)
	return append(dst, `}]}`...)
}
