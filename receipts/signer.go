package receipts

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"

	"countersign/internal/ijson"
	"countersign/internal/plainfile"
)

// Signer holds the two private keys of an agent, a guard or a service: Ed25519
// and ML-DSA-87, each made from a seed of 32 bytes (section 1.6). It is safe for
// concurrent use, and never shows a key however it is printed.
type Signer struct {
	ed   ed25519.PrivateKey
	ml   *mldsa87.PrivateKey
	keys KeySet
}

const (
	seedBytes   = 32
	keyFileType = "countersign.keys.v0"

	// maxKeyFile is far more than a key file's 170 bytes.
	maxKeyFile = 4096
)

// NewSigner makes the keys of two seeds.
func NewSigner(ed, ml [seedBytes]byte) (*Signer, error) {
	s := &Signer{ed: ed25519.NewKeyFromSeed(ed[:])}
	public, private := mldsa87.NewKeyFromSeed(&ml)
	s.ml = private
	edKey, err := NewEd25519Key(s.ed.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	s.keys = KeySet{edKey, Key{method: MLDSA87, a: public.Bytes()}}
	return s, nil
}

// Keys is the public key set, as a slip or a service names it.
func (s *Signer) Keys() KeySet { return s.keys }

// Sign makes a record of this kind around canonical content: its canonical
// envelope with both signatures. ML-DSA signs deterministically, so the same
// content always makes the same record. An error is a kind that is not signed
// with two keys, or a record longer than MaxRecord.
func (s *Signer) Sign(kind Kind, payload []byte) ([]byte, error) {
	edHeader, ok := headerOf(kind, Ed25519)
	mlHeader, ok2 := headerOf(kind, MLDSA87)
	if !ok || !ok2 || len(kind.layout()) != 2 {
		return nil, problem(CodeCheckFailed, "a record of kind %s is not signed with an agent's or a service's two keys", kind)
	}
	protected := []string{encodeBase64url([]byte(edHeader)), encodeBase64url([]byte(mlHeader))}
	encoded := encodeBase64url(payload)
	size := len(encoded) + len(protected[0]) + len(protected[1]) +
		base64url.EncodedLen(ed25519SignatureBytes) + base64url.EncodedLen(mldsa87SignatureBytes)
	if size > MaxRecord {
		return nil, problem(CodeTooLarge, "the record is longer than %d characters", MaxRecord)
	}
	edSignature := ed25519.Sign(s.ed, []byte(protected[0]+"."+encoded))
	mlSignature := make([]byte, mldsa87SignatureBytes)
	if err := mldsa87.SignTo(s.ml, []byte(protected[1]+"."+encoded), nil, false, mlSignature); err != nil {
		return nil, fmt.Errorf("signing with ML-DSA-87: %w", err)
	}
	dst := make([]byte, 0, size+128)
	return appendEnvelope(dst, payload, protected, [][]byte{edSignature, mlSignature}), nil
}

// Format keeps the private keys out of every printed form.
func (s *Signer) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "signer "+s.keys.Fingerprint())
}

// LogValue keeps the private keys out of logs.
func (s *Signer) LogValue() slog.Value { return slog.StringValue(s.keys.Fingerprint()) }

// MarshalJSON refuses: private keys are written by CreateSigner alone.
func (s *Signer) MarshalJSON() ([]byte, error) {
	return nil, errors.New("private keys are not written as JSON")
}

// CreateSigner draws two seeds, makes a new key file of them, readable by its
// owner alone, and syncs it. The file must not exist. Its folder is made (0700)
// where it is missing, and must be its owner's alone. random nil means the
// system's.
func CreateSigner(path string, random io.Reader) (*Signer, error) {
	if random == nil {
		random = rand.Reader
	}
	var ed, ml [seedBytes]byte
	for _, seed := range []*[seedBytes]byte{&ed, &ml} {
		if _, err := io.ReadFull(random, seed[:]); err != nil {
			return nil, fmt.Errorf("drawing a key seed: %w", err)
		}
	}
	s, err := NewSigner(ed, ml)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwn(folder, true); err != nil {
		return nil, err
	}
	text := appendText(nil, `{"Ed25519":`, encodeBase64url(ed[:]))
	text = appendText(text, `,"ML-DSA-87":`, encodeBase64url(ml[:]))
	text = append(text, `,"type":"`+keyFileType+"\"}\n"...)
	if err := writeNew(path, text); err != nil {
		return nil, err
	}
	return s, nil
}

// writeNew makes a file that must not exist, whole and synced or not at all.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncKeyFolder(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing key file %q: %w", path, err), os.Remove(path))
	}
	return nil
}

func syncKeyFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readKeyFile reads a key file that its owner alone can reach, and one byte more
// than one may have where it is longer.
func readKeyFile(path string) ([]byte, error) {
	if err := checkOwn(filepath.Dir(path), true); err != nil {
		return nil, err
	}
	if err := checkOwn(path, false); err != nil {
		return nil, err
	}
	return plainfile.Read(path, maxKeyFile)
}

// LoadSigner reads a key file. One that someone else than the guard's own user
// can read or replace is refused: it, or the folder it stands in, belongs to
// another user or lets group or others in. No error shows any of its text.
func LoadSigner(path string) (*Signer, error) {
	text, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	ed, ml, err := readSeeds(text)
	if err != nil {
		return nil, fmt.Errorf("key file %q: %w", path, err)
	}
	return NewSigner(ed, ml)
}

var errKeyFile = errors.New(`expected {"Ed25519":…,"ML-DSA-87":…,"type":"` + keyFileType + `"} with two seeds of 32 bytes in base64url, and a line end`)

func readSeeds(text []byte) (ed, ml [seedBytes]byte, err error) {
	if len(text) == 0 || len(text) > maxKeyFile || text[len(text)-1] != '\n' {
		return ed, ml, errKeyFile
	}
	v, err := parseCanonical(new(ijson.Doc), text[:len(text)-1])
	if err != nil {
		return ed, ml, errKeyFile
	}
	m := open(v, "keys", "Ed25519 ML-DSA-87 type", "")
	if m.err != nil || !m.value("type").Is(keyFileType) {
		return ed, ml, errKeyFile
	}
	for name, seed := range map[string]*[seedBytes]byte{"Ed25519": &ed, "ML-DSA-87": &ml} {
		b, err := decodeBase64url(m.value(name).Bytes(nil))
		if err != nil || len(b) != seedBytes {
			return ed, ml, errKeyFile
		}
		copy(seed[:], b)
	}
	return ed, ml, nil
}

// checkOwn refuses a file or folder that is a symbolic link, of another kind than
// wanted, or open to anyone but its owner, who must be who runs this program.
func checkOwn(path string, folder bool) error {
	stat := os.Lstat
	if folder {
		stat = os.Stat // a folder may be reached through a link; what counts is the folder
	}
	info, err := stat(path)
	if err != nil {
		return err
	}
	mode := "0600"
	if folder {
		mode = "0700"
	}
	switch {
	case folder != info.IsDir() || !folder && !info.Mode().IsRegular():
		return fmt.Errorf("key file %q: expected a plain file in a folder", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%q holds private keys and others can reach it (%04o); run: chmod %s %q", path, info.Mode().Perm(), mode, path)
	case !ownedByUs(info):
		return fmt.Errorf("%q holds private keys and belongs to another user; run as its owner, or: chown it to this user", path)
	}
	return nil
}
