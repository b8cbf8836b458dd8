package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"

	"github.com/gowebpki/jcs"

	"countersign/internal/ijson"
)

// fingerprint is the SHA-256 of the file's JCS form (content rules, section 8).
// The form is made twice, by two writers: a slip that names the fingerprint must
// find the same one in every program that reads it.
func (r *reader) fingerprint(f *File, root ijson.Value) {
	form := ijson.AppendCanonical(make([]byte, 0, len(f.Source)), root)
	other, err := jcs.Transform(f.Source)
	if err != nil || !bytes.Equal(form, other) {
		r.FaultAt(0, "", "two writers of the canonical form (RFC 8785) differ on this file, so it has no fingerprint to rely on")
		return
	}
	sum := sha256.Sum256(form)
	f.Fingerprint = base64.RawURLEncoding.EncodeToString(sum[:])
}
