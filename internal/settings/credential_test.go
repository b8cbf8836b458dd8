//go:build unix

package settings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/settings"
)

func TestCredentialFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write("target", "linked\n", 0o600), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want, err string }{
		"plain":           {write("a", "s3cret", 0o600), "s3cret", ""},
		"one line end":    {write("b", "s3cret\n", 0o400), "s3cret", ""},
		"one of two":      {write("c", "s3cret\n\n", 0o600), "s3cret\n", ""},
		"CR LF":           {write("d", "s3cret\r\n", 0o600), "s3cret", ""},
		"a CR stays":      {write("e", "s3cret\r", 0o600), "s3cret\r", ""},
		"blanks stay":     {write("f", " s3cret ", 0o600), " s3cret ", ""},
		"through a link":  {link, "linked", ""},
		"empty":           {write("g", "", 0o600), "", "it is empty, expected a credential"},
		"a line end only": {write("h", "\n", 0o600), "", "it is empty, expected a credential"},
		"group may read":  {write("i", "s3cret", 0o640), "", "other users have rights on it (mode 0640), expected 0600: chmod 600 it"},
		"all may write":   {write("j", "s3cret", 0o602), "", "other users have rights on it (mode 0602), expected 0600: chmod 600 it"},
		"too long":        {write("k", strings.Repeat("x", settings.MaxCredential+1), 0o600), "", "more than 65536 bytes, expected one credential"},
		"NUL":             {write("l", "s3\x00cret", 0o600), "", "it holds a NUL byte, which no variable or header can carry"},
		"a folder":        {dir, "", "it is not a regular file"},
		"a pipe":          {pipe, "", "it is not a regular file"},
		"not there":       {filepath.Join(dir, "none"), "", "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := settings.ReadCredential(c.path)
			if got.Reveal() != c.want {
				t.Errorf("got %q, want %q", got.Reveal(), c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("error %v, want %s", err, c.err)
			}
			if err != nil && strings.Contains(err.Error(), "s3") {
				t.Errorf("the error holds the credential: %v", err)
			}
		})
	}
	if os.Geteuid() == 0 {
		path := write("m", "s3cret", 0o600)
		if err := os.Chown(path, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.ReadCredential(path); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
			t.Errorf("another user's file: %v", err)
		}
	}
}

// However a credential is printed, logged or written out, its text does not show.
func TestCredentialNeverShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := settings.ReadCredential(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", struct{ C settings.Credential }{c})
		fmt.Fprintf(&out, verb+"\n", &c)
	}
	fmt.Fprintln(&out, c, &c, c.String(), c.GoString())
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "credential", c, "inside", []settings.Credential{c})
	slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "credential", c, "inside", []settings.Credential{c})
	if err := json.NewEncoder(&out).Encode(map[string]any{"c": c}); err != nil {
		t.Fatal(err)
	}
	out.WriteString((&settings.CredentialError{Name: "TOKEN", File: path, Err: errors.New("it is empty")}).Error())
	for _, form := range []string{"s3cret", fmt.Sprintf("%x", "s3cret"), fmt.Sprint([]byte("s3cret"))} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the credential shows:\n%s", out.String())
		}
	}
}
