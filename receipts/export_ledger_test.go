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

// PrivateOf is the private key of a ledger key, for tests that forge lines.
func PrivateOf(k *LedgerKey) ed25519.PrivateKey { return k.private }
