package receipts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"

	"countersign/internal/ijson"
)

const (
	// authDataBytes is the length of authenticator data without extensions: the
	// hash of the website's name, a byte of flags, a counter.
	authDataBytes = 37

	flagUserPresent  = 0x01
	flagUserVerified = 0x04
	flagAttested     = 0x40
	flagExtensions   = 0x80

	// maxDER is the most bytes of an ES256 signature: two integers of 33 bytes.
	maxDER = 72
	minDER = 8
)

// checkPasskey holds a passkey's record against the issuer of its slip: steps 2
// to 10 of section 2.3, in their order.
func checkPasskey(e *Envelope, issuer *Issuer) error {
	s := &e.parts[0]
	authData, err := decodeBase64url(s.authData)
	if err != nil {
		return problem(CodePasskeyBadData, "authenticatorData is not base64url")
	}
	clientData, err := decodeBase64url(s.clientData)
	if err != nil {
		return problem(CodePasskeyBadData, "clientDataJSON is not base64url")
	}
	var d ijson.Doc
	if err := d.Parse(clientData, ijson.Options{Doubles: true}); err != nil || d.Root().Kind() != ijson.Object {
		return problem(CodePasskeyBadData, "clientDataJSON is not a JSON object")
	}
	client := d.Root()
	challenge := sha256.Sum256(e.input(s))
	rpID := sha256.Sum256([]byte(issuer.RPID))
	switch {
	case !client.Member("type").Is("webauthn.get"):
		return problem(CodePasskeyWrongType, "the passkey was not asked to sign in (webauthn.get)")
	case !client.Member("challenge").Is(encodeBase64url(challenge[:])):
		return problem(CodePasskeyChallengeMismatch, "the passkey signed something else than this record")
	case client.Member("origin").Text() != issuer.Origin || !client.Member("origin").Exists() || client.Member("crossOrigin").Bool():
		return problem(CodePasskeyOriginMismatch, "the passkey signed on another page than the slip's origin, or in a page within another")
	case len(authData) < authDataBytes:
		return problem(CodePasskeyBadData, "the authenticator data is shorter than %d bytes", authDataBytes)
	case string(authData[:32]) != string(rpID[:]):
		return problem(CodePasskeyRPIDMismatch, "the passkey is one of another website than the slip's rpId")
	}
	flags := authData[32]
	switch {
	case flags&flagUserPresent == 0:
		return problem(CodePasskeyUserNotPresent, "the passkey does not say that the person was present")
	case flags&flagUserVerified == 0:
		return problem(CodePasskeyUserNotVerified, "the passkey does not say that it verified the person")
	case flags&flagAttested != 0, flags&flagExtensions == 0 && len(authData) != authDataBytes:
		return problem(CodePasskeyBadData, "the authenticator data holds something that does not belong to a signature")
	}
	hash := sha256.Sum256(clientData)
	return verifyPasskey(issuer.Key, append(authData, hash[:]...), s.value)
}

// verifyPasskey is step 10: the signature itself.
func verifyPasskey(key Key, signed, sig []byte) error {
	ok := false
	digest := sha256.Sum256(signed)
	switch key.method {
	case ES256:
		raw, err := ecdsaFromDER(sig)
		if err != nil {
			return err
		}
		point := append(append([]byte{4}, key.a...), key.b...)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		// A mirrored s is accepted, as WebAuthn does: nothing here is keyed on the
		// bytes of a signature.
		ok = err == nil && ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:]))
	case RS256:
		public := &rsa.PublicKey{N: new(big.Int).SetBytes(key.a), E: 65537}
		ok = rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], sig) == nil
	case Ed25519:
		ok = verifyEd25519(key.a, signed, sig)
	}
	if !ok {
		return problem(CodeSignatureInvalid, "the passkey's signature does not fit its key")
	}
	return nil
}

// verifyEd25519 is RFC 8032, and refuses an R that is weak, whatever the key.
func verifyEd25519(key, msg, sig []byte) bool {
	return len(sig) == ed25519SignatureBytes && len(key) == ed25519KeyBytes && !weakEd25519(sig[:32]) &&
		ed25519.Verify(key, msg, sig)
}

// ecdsaFromDER reads the one DER spelling of two positive numbers of at most 32
// bytes, and gives both in 32 bytes each.
func ecdsaFromDER(der []byte) (raw [64]byte, err error) {
	bad := func(what string) ([64]byte, error) {
		return [64]byte{}, problem(CodePasskeyBadData, "the passkey's signature %s", what)
	}
	if len(der) < minDER || len(der) > maxDER || der[0] != 0x30 || int(der[1]) != len(der)-2 {
		return bad("is not a DER sequence of its own length")
	}
	rest := der[2:]
	for half := range 2 {
		if len(rest) < 3 || rest[0] != 0x02 || rest[1] == 0 || int(rest[1]) > len(rest)-2 {
			return bad("does not hold two DER integers")
		}
		n := rest[2 : 2+int(rest[1])]
		rest = rest[2+len(n):]
		switch {
		case n[0]&0x80 != 0:
			return bad("holds a negative number")
		case n[0] == 0 && len(n) > 1 && n[1]&0x80 == 0:
			return bad("holds a number that is not in its shortest form")
		case n[0] == 0:
			n = n[1:]
		}
		switch {
		case len(n) == 0:
			return bad("holds a zero")
		case len(n) > p256HalfBytes:
			return bad("holds a number that is too large")
		}
		copy(raw[32*(half+1)-len(n):], n)
	}
	if len(rest) > 0 {
		return bad("has bytes left over")
	}
	return raw, nil
}
