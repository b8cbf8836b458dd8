package receipts

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
)

// base64url is RFC 4648, section 5, without padding. Strict refuses unused bits
// that are not zero; what it still lets through, line ends, decodeBase64url
// refuses itself.
var base64url = base64.RawURLEncoding.Strict()

// encodeBase64url is the one spelling of b (section 1.3).
func encodeBase64url(b []byte) string { return base64url.EncodeToString(b) }

// decodeBase64url reads the one spelling of some bytes: any other text of the
// same bytes (padding, line ends, another alphabet, stray bits) is refused, so
// decoding and encoding again always gives src back.
func decodeBase64url(src []byte) ([]byte, error) {
	// The standard library skips CR and LF even when strict.
	if bytes.IndexByte(src, '\n') >= 0 || bytes.IndexByte(src, '\r') >= 0 {
		return nil, problem(CodeBadBase64url, "a base64url value holds a line end")
	}
	dst := make([]byte, base64url.DecodedLen(len(src)))
	n, err := base64url.Decode(dst, src)
	if err != nil {
		return nil, problem(CodeBadBase64url, "a base64url value is not in its one spelling (unpadded, A-Z a-z 0-9 - _, no stray bits)")
	}
	return dst[:n], nil
}

// isBase64urlOf says whether s is the one spelling of exactly n bytes.
func isBase64urlOf(s string, n int) bool {
	if len(s) != base64url.EncodedLen(n) {
		return false
	}
	var buf [64]byte // ids and fingerprints: 16 and 32 bytes
	b, err := decodeBase64url([]byte(s))
	return err == nil && len(b) == n && string(base64url.AppendEncode(buf[:0], b)) == s
}

// Fingerprint is a record's fingerprint (section 1.5): the SHA-256 of its decoded
// payload in base64url, 43 characters. Signatures are not covered.
func Fingerprint(payload []byte) string {
	sum := sha256.Sum256(payload)
	return encodeBase64url(sum[:])
}
