package receipts

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"countersign/internal/ijson"
)

const ledgerKeyType = "countersign.ledger-key.v0"

// LedgerKey is the Ed25519 key that signs the lines of a ledger. It never shows
// itself however it is printed.
type LedgerKey struct {
	private ed25519.PrivateKey
}

// NewLedgerKey makes the key of a seed.
func NewLedgerKey(seed [seedBytes]byte) *LedgerKey {
	return &LedgerKey{ed25519.NewKeyFromSeed(seed[:])}
}

// Public is the key lines are checked against.
func (k *LedgerKey) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// PublicText is the public key as ledger lines spell it: base64url.
func (k *LedgerKey) PublicText() string { return encodeBase64url(k.Public()) }

// Format keeps the private key out of every printed form.
func (k *LedgerKey) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "ledger key "+k.PublicText())
}

// LogValue keeps the private key out of logs.
func (k *LedgerKey) LogValue() slog.Value { return slog.StringValue(k.PublicText()) }

// MarshalJSON refuses: private keys are written by CreateLedgerKey alone.
func (k *LedgerKey) MarshalJSON() ([]byte, error) {
	return nil, errors.New("private keys are not written as JSON")
}

var errLedgerKey = errors.New(`expected {"Ed25519":…,"type":"` + ledgerKeyType + `"} with a seed of 32 bytes in base64url, and a line end`)

// ParseLedgerKey reads the text of a ledger key file, as it also stands in an
// environment variable. No error shows any of it.
func ParseLedgerKey(text []byte) (*LedgerKey, error) {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if len(text) > maxKeyFile {
		return nil, errLedgerKey
	}
	v, err := parseCanonical(new(ijson.Doc), text)
	if err != nil {
		return nil, errLedgerKey
	}
	m := open(v, "key", "Ed25519 type", "")
	if m.err != nil || !m.value("type").Is(ledgerKeyType) {
		return nil, errLedgerKey
	}
	b, err := decodeBase64url(m.value("Ed25519").Bytes(nil))
	if err != nil || len(b) != seedBytes {
		return nil, errLedgerKey
	}
	return NewLedgerKey([seedBytes]byte(b)), nil
}

// LoadLedgerKey reads a key file that its owner alone can reach, in a folder of
// the same kind.
func LoadLedgerKey(path string) (*LedgerKey, error) {
	text, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	k, err := ParseLedgerKey(text)
	if err != nil {
		return nil, fmt.Errorf("key file %q: %w", path, err)
	}
	return k, nil
}

// CreateLedgerKey draws a seed and makes a new key file of it, as
// [CreateSigner] does. random nil means the system's.
func CreateLedgerKey(path string, random io.Reader) (*LedgerKey, error) {
	if random == nil {
		random = rand.Reader
	}
	var seed [seedBytes]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("drawing a key seed: %w", err)
	}
	folder := filepath.Dir(path)
	if err := makeFolders(folder); err != nil {
		return nil, err
	}
	if err := checkOwn(folder, true); err != nil {
		return nil, err
	}
	text := appendText(nil, `{"Ed25519":`, encodeBase64url(seed[:]))
	text = append(text, `,"type":"`+ledgerKeyType+"\"}\n"...)
	if err := writeNew(path, text); err != nil {
		return nil, err
	}
	return NewLedgerKey(seed), nil
}

// ParsePublicKey reads the public key of a ledger: the 43 characters that its
// open line holds, or PEM (SubjectPublicKeyInfo).
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	bad := errors.New("expected an Ed25519 public key: 43 characters of base64url, or PEM that begins -----BEGIN PUBLIC KEY-----")
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	var key ed25519.PublicKey
	if b, err := decodeBase64url(text); err == nil && len(b) == ed25519.PublicKeySize {
		key = b
	} else if block, _ := pem.Decode(append(text[:len(text):len(text)], '\n')); block != nil && block.Type == "PUBLIC KEY" {
		k, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, bad
		}
		key, _ = k.(ed25519.PublicKey)
	}
	if key == nil {
		return nil, bad
	}
	_, err := NewEd25519Key(key)
	return key, err
}

// PEM is the public key as PEM (SubjectPublicKeyInfo).
func (k *LedgerKey) PEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		return nil // not for a key of this type
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
