package receipts_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/ijson"
	. "countersign/receipts"
)

var unpadded = base64.RawURLEncoding

// authenticator is a passkey that can be made to answer wrongly at every step.
type authenticator struct {
	jwk  string
	sign func(digest, message []byte) []byte

	client map[string]any
	rpID   string
	flags  byte
	extra  []byte // behind the counter
	origin string
	spoil  func(header map[string]string, signature []byte) []byte
}

func ec(t *testing.T) *authenticator {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{
		jwk: fmt.Sprintf(`{"alg":"ES256","crv":"P-256","kty":"EC","x":%q,"y":%q}`, unpadded.EncodeToString(point[1:33]), unpadded.EncodeToString(point[33:])),
		sign: func(digest, _ []byte) []byte {
			sig, err := ecdsa.SignASN1(rand.Reader, key, digest)
			if err != nil {
				t.Fatal(err)
			}
			return sig
		},
	}
}

func rsaKey(t *testing.T) *authenticator {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{
		jwk: fmt.Sprintf(`{"alg":"RS256","e":"AQAB","kty":"RSA","n":%q}`, unpadded.EncodeToString(key.N.Bytes())),
		sign: func(digest, _ []byte) []byte {
			sig, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest)
			if err != nil {
				t.Fatal(err)
			}
			return sig
		},
	}
}

func ed(t *testing.T) *authenticator {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{
		jwk:  fmt.Sprintf(`{"alg":"Ed25519","crv":"Ed25519","kty":"OKP","x":%q}`, unpadded.EncodeToString(public)),
		sign: func(_, message []byte) []byte { return ed25519.Sign(private, message) },
	}
}

// record has the passkey sign content with a protected header, as a browser would.
func (a *authenticator) record(t *testing.T, header string, payload []byte) []byte {
	t.Helper()
	protected, encoded := unpadded.EncodeToString([]byte(header)), unpadded.EncodeToString(payload)
	challenge := sha256.Sum256([]byte(protected + "." + encoded))
	client := map[string]any{"type": "webauthn.get", "challenge": unpadded.EncodeToString(challenge[:]), "origin": a.origin}
	for k, v := range a.client {
		if client[k] = v; v == nil {
			delete(client, k)
		}
	}
	clientData, err := json.Marshal(client)
	if err != nil {
		t.Fatal(err)
	}
	rpID := sha256.Sum256([]byte(a.rpID))
	auth := append(append(rpID[:], a.flags, 0, 0, 0, 9), a.extra...)
	hash := sha256.Sum256(clientData)
	message := append(append([]byte{}, auth...), hash[:]...)
	digest := sha256.Sum256(message)
	sig := a.sign(digest[:], message)
	h := map[string]string{"authenticatorData": unpadded.EncodeToString(auth), "clientDataJSON": unpadded.EncodeToString(clientData)}
	if a.spoil != nil {
		sig = a.spoil(h, sig)
	}
	raw, err := json.Marshal(map[string]any{"payload": encoded, "signatures": []any{
		map[string]any{"header": h, "protected": protected, "signature": unpadded.EncodeToString(sig)}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := ijson.Canonical(raw, ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const slipHeader = `{"typ":"vnd.provared.slip.v0+json","alg":"prova.red/webauthn/v0"}`

// TestPasskey goes through section 2.3, step by step, with each kind of key.
func TestPasskey(t *testing.T) {
	w := newScene(t)
	for kind, a := range map[string]*authenticator{"ES256": ec(t), "RS256": rsaKey(t), "Ed25519": ed(t)} {
		for name, tt := range map[string]struct {
			change func(*authenticator)
			want   Code
		}{
			"sound":                   {nil, ""},
			"crossOrigin false":       {func(a *authenticator) { a.client = map[string]any{"crossOrigin": false, "other": 1.5} }, ""},
			"flags beside":            {func(a *authenticator) { a.flags |= 0x18 }, ""},
			"extensions":              {func(a *authenticator) { a.flags |= 0x80; a.extra = []byte{0xa0} }, ""},
			"extensions, none there":  {func(a *authenticator) { a.flags |= 0x80 }, ""},
			"2 client data no base64": {func(a *authenticator) { a.header("clientDataJSON", func(s string) string { return s + "=" }) }, CodePasskeyBadData},
			"2 client data a list": {func(a *authenticator) {
				a.header("clientDataJSON", func(string) string { return unpadded.EncodeToString([]byte("[]")) })
			}, CodePasskeyBadData},
			"2 client data no JSON":  {func(a *authenticator) { a.header("clientDataJSON", func(string) string { return "" }) }, CodePasskeyBadData},
			"2 auth data no base64":  {func(a *authenticator) { a.header("authenticatorData", func(s string) string { return s + "*" }) }, CodePasskeyBadData},
			"3 create":               {func(a *authenticator) { a.client = map[string]any{"type": "webauthn.create"} }, CodePasskeyWrongType},
			"3 name in capitals":     {func(a *authenticator) { a.client = map[string]any{"type": nil, "Type": "webauthn.get"} }, CodePasskeyWrongType},
			"4 another challenge":    {func(a *authenticator) { a.client = map[string]any{"challenge": "AAAA"} }, CodePasskeyChallengeMismatch},
			"4 no challenge":         {func(a *authenticator) { a.client = map[string]any{"challenge": nil} }, CodePasskeyChallengeMismatch},
			"5 another origin":       {func(a *authenticator) { a.client = map[string]any{"origin": origin + "0"} }, CodePasskeyOriginMismatch},
			"5 no origin":            {func(a *authenticator) { a.client = map[string]any{"origin": nil} }, CodePasskeyOriginMismatch},
			"5 crossOrigin true":     {func(a *authenticator) { a.client = map[string]any{"crossOrigin": true} }, CodePasskeyOriginMismatch},
			"6 short":                {func(a *authenticator) { a.header("authenticatorData", func(s string) string { return s[:48] }) }, CodePasskeyBadData},
			"7 another website":      {func(a *authenticator) { a.rpID = "example.org" }, CodePasskeyRPIDMismatch},
			"8 nobody there":         {func(a *authenticator) { a.flags = 0x04 }, CodePasskeyUserNotPresent},
			"8 not verified":         {func(a *authenticator) { a.flags = 0x01 }, CodePasskeyUserNotVerified},
			"9 attested":             {func(a *authenticator) { a.flags |= 0x40 }, CodePasskeyBadData},
			"9 bytes without a flag": {func(a *authenticator) { a.extra = []byte{0} }, CodePasskeyBadData},
			"10 signature of another": {func(a *authenticator) {
				a.spoil = func(_ map[string]string, s []byte) []byte { s[len(s)-1] ^= 1; return s }
			}, CodeSignatureInvalid},
			"10 no signature":           {func(a *authenticator) { a.spoil = func(map[string]string, []byte) []byte { return nil } }, ""},
			"10 a byte more":            {func(a *authenticator) { a.spoil = func(_ map[string]string, s []byte) []byte { return append(s, 0) } }, ""},
			"the first fault is told":   {func(a *authenticator) { a.rpID, a.flags = "x", 0; a.client = map[string]any{"origin": "x"} }, CodePasskeyOriginMismatch},
			"counter and more not read": {func(a *authenticator) { a.client = map[string]any{"topOrigin": "https://x.org"} }, ""},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				b := *a
				b.rpID, b.flags, b.origin = "localhost", 0x05, origin
				if tt.change != nil {
					tt.change(&b)
				}
				want := tt.want
				if strings.HasPrefix(name, "10 no ") || strings.HasPrefix(name, "10 a ") {
					// Bytes that are no DER at all are another fault than a wrong signature.
					want = CodeSignatureInvalid
					if kind == "ES256" {
						want = CodePasskeyBadData
					}
				}
				s := w.plain()
				d, err := ijson.Parse([]byte(b.jwk), ijson.Options{})
				w.check(err)
				key, err := ReadKey(d.Root(), ES256, RS256, Ed25519)
				w.check(err)
				s.Issuer = Issuer{Key: key, Name: Covered{Text: "Sam"}, Origin: origin, RPID: "localhost"}
				record := b.record(t, slipHeader, s.Append(nil))
				_, err = NewSlipCheck(nil).Check(record)
				if CodeOf(err) != want {
					t.Errorf("got %v, want %q", err, want)
				}
				e := NewChecker(CheckOptions{}).Add(AppendLine(nil, KindSlip, record))
				if want == "" && (len(e.Problems) > 0 || e.Verified != VerifiedAll) || want != "" && !same(e.Problems, want) {
					t.Errorf("in a book: %v", e.Problems)
				}
			})
		}
	}
}

func (a *authenticator) header(name string, change func(string) string) {
	a.spoil = func(h map[string]string, s []byte) []byte { h[name] = change(h[name]); return s }
}

// TestSlipCheck: a slip found sound is remembered by its bytes, and no other is.
func TestSlipCheck(t *testing.T) {
	w := newScene(t)
	record, err := w.passkey.SignSlip(w.plain())
	w.check(err)
	c := NewSlipCheck(w.options().IssuerKeys)
	first, err := c.Check(record)
	w.check(err)
	again, err := c.Check(record)
	if err != nil || first != again {
		t.Errorf("not remembered: %v", err)
	}
	if !IsDevelopment(first) {
		t.Error("not marked as development")
	}
	if _, err := NewSlipCheck([]string{fingerprintOf("other")}).Check(record); CodeOf(err) != CodeIssuerNotExpected {
		t.Errorf("another issuer: %v", err)
	}
	other, err := w.passkey.SignSlip(w.plain())
	w.check(err)
	second, err := c.Check(other)
	w.check(err)
	if back, err := c.Check(record); err != nil || back != first || second == first {
		t.Errorf("after another slip: %v", err)
	}
	altered := []byte(strings.Replace(string(record), `"signature":"ME`, `"signature":"MF`, 1))
	if _, err := c.Check(altered); err == nil {
		t.Error("altered, and accepted")
	}
}

// TestDevelopmentPasskey: what stands in for a person always says so.
func TestDevelopmentPasskey(t *testing.T) {
	for _, origin := range []string{"", "localhost:1", "http://example.org", "ftp://localhost", "http://localhost:80", "https://Example.org"} {
		if _, err := NewDevelopmentPasskey("x", origin, new(counting)); err == nil {
			t.Errorf("origin %q is accepted", origin)
		}
	}
	for _, name := range []string{"Sam", "", "Sam (development)"} {
		k, err := NewDevelopmentPasskey(name, "https://sign.example.org:8443", new(counting))
		if err != nil || !strings.HasSuffix(k.Issuer().Name.Text, "(development)") || k.Issuer().RPID != "sign.example.org" {
			t.Errorf("%q: %v %v", name, k.Issuer(), err)
		}
	}
	w := newScene(t)
	s := w.plain()
	s.Actions = nil
	if _, err := w.passkey.SignSlip(s); CodeOf(err) != CodeBadField {
		t.Errorf("a slip that no reader takes was signed: %v", err)
	}
	if got := fmt.Sprintf("%v %+v %#v %s", w.passkey, w.passkey, w.passkey, w.passkey); strings.Count(got, "development passkey") != 4 {
		t.Errorf("printed as %s", got)
	}
}
