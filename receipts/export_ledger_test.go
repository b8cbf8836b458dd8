package receipts

import (
	"crypto/ed25519"
	"slices"
)

// WriteLine writes one line as the ledger does, for tests.
func WriteLine(l Line, key ed25519.PrivateKey) []byte {
	var w lineWriter
	line, _ := w.write(l, key)
	return slices.Clone(line)
}
