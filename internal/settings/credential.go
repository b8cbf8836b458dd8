package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
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
	// Not to wait for a writer, should the path name a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// private says what is wrong where others than the guard's user could read or
// change a file.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("this system does not say whose file it is")
	}
	if int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, expected the guard's own user %d: chown it", owner.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("other users have rights on it (mode %04o), expected 0600: chmod 600 it", mode)
	}
	return nil
}
