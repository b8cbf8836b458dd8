package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"countersign/internal/plainfile"
)

// MaxCredential is the most bytes of a credential's file: a long token or a
// certificate with its key fits.
const MaxCredential = 64 << 10

// Credential is a secret text. However it is printed or logged, the text does
// not show; Reveal alone gives it.
type Credential struct{ text string }

const hidden = "[credential]"

// Reveal is the text, for the one place that sends it.
func (c Credential) Reveal() string { return c.text }

// String never gives the text.
func (c Credential) String() string { return hidden }

// GoString never gives the text.
func (c Credential) GoString() string { return hidden }

// Format writes the same whatever the verb.
func (c Credential) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// LogValue never gives the text.
func (c Credential) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText never gives the text.
func (c Credential) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// CredentialError says which variable's credential cannot be read, and why.
type CredentialError struct {
	Name string // of the environment variable, "" for an upstream's
	File string
	Err  error
}

func (e *CredentialError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("the credential file %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("the credential file %s, for the variable %s: %v", e.File, e.Name, e.Err)
}

func (e *CredentialError) Unwrap() error { return e.Err }

// ReadCredential reads the file of a credential, which must belong to the guard's
// user and be closed to every other. One line end at its end is cut.
func ReadCredential(path string) (Credential, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|plainfile.NoWait, 0)
	if err != nil {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err
		}
		return Credential{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Credential{}, errors.New("its owner and mode cannot be read")
	}
	if err := private(info); err != nil {
		return Credential{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxCredential+1))
	if err != nil {
		return Credential{}, errors.New("it cannot be read to its end")
	}
	if len(b) > MaxCredential {
		return Credential{}, fmt.Errorf("more than %d bytes, expected one credential", MaxCredential)
	}
	if cut, ok := bytes.CutSuffix(b, []byte("\n")); ok {
		b = bytes.TrimSuffix(cut, []byte("\r"))
	}
	if len(b) == 0 {
		return Credential{}, errors.New("it is empty, expected a credential")
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return Credential{}, errors.New("it holds a NUL byte, which no variable or header can carry")
	}
	return Credential{string(b)}, nil
}
