package receipts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "countersign/receipts"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "agent.json")
	made, err := CreateSigner(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := LoadSigner(path)
	if err != nil || !read.Keys().Equal(made.Keys()) {
		t.Fatalf("read as another key: %v", err)
	}
	for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v", p, info.Mode())
		}
	}
	if _, err := CreateSigner(path, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made over an old key: %v", err)
	}
	if keys := made.Keys(); len(keys) != 2 || keys[0].Method() != Ed25519 || keys[1].Method() != MLDSA87 {
		t.Errorf("%v", keys)
	}
	set, err := ReadKeySet(made.Keys().Append(nil))
	if err != nil || !set.Equal(made.Keys()) || set.Fingerprint() != made.Keys().Fingerprint() {
		t.Errorf("key set read again: %v", err)
	}
}

// TestKeyFileRefused: a key others can read or replace is none, and no error shows
// what a key file holds.
func TestKeyFileRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	path := filepath.Join(folder, "agent.json")
	if _, err := CreateSigner(path, new(counting)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seed := strings.Split(string(good), `"`)[3]
	if len(seed) != 43 {
		t.Fatalf("no seed in %d parts", len(seed))
	}
	chmod := func(path string, mode fs.FileMode) func(t *testing.T) {
		return func(t *testing.T) {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(text string) func(t *testing.T) {
		return func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		spoil func(t *testing.T)
		want  string
	}{
		"readable by the group": {chmod(path, 0o640), "chmod 0600"},
		"readable by others":    {chmod(path, 0o604), "chmod 0600"},
		"writable by others":    {chmod(path, 0o602), "chmod 0600"},
		"folder open to others": {chmod(folder, 0o755), "chmod 0700"},
		"folder, search alone":  {chmod(folder, 0o711), "chmod 0700"},
		"a link": {func(t *testing.T) {
			if err := errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)); err != nil {
				t.Fatal(err)
			}
		}, "plain file"},
		"a folder": {func(t *testing.T) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "plain file"},
		"gone":            {func(t *testing.T) { os.Remove(path) }, "no such file"},
		"empty":           {write(""), "expected"},
		"no line end":     {write(strings.TrimSuffix(string(good), "\n")), "expected"},
		"two line ends":   {write(string(good) + "\n"), "expected"},
		"another type":    {write(strings.Replace(string(good), "keys.v0", "keys.v1", 1)), "expected"},
		"a member more":   {write(strings.Replace(string(good), `{`, `{"A":1,`, 1)), "expected"},
		"a seed cut":      {write(strings.Replace(string(good), seed, seed[:42], 1)), "expected"},
		"a seed padded":   {write(strings.Replace(string(good), seed, seed+"=", 1)), "expected"},
		"a seed repeated": {write(strings.Replace(string(good), `{`, `{"Ed25519":"`+seed+`",`, 1)), "expected"},
		"very long":       {write(strings.Repeat(" ", 5000) + string(good)), "expected"},
		"a space":         {write(strings.Replace(string(good), `:`, `: `, 1)), "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
				t.Fatal(err)
			}
			write(string(good))(t)
			if _, err := LoadSigner(path); err != nil {
				t.Fatalf("the good file: %v", err)
			}
			tt.spoil(t)
			_, err := LoadSigner(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), seed[:8]) {
				t.Error("the error shows the key")
			}
		})
	}
	t.Run("made in an open folder", func(t *testing.T) {
		open := t.TempDir()
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := CreateSigner(filepath.Join(open, "k"), nil); err == nil || !strings.Contains(err.Error(), "chmod 0700") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no randomness", func(t *testing.T) {
		p := filepath.Join(t.TempDir(), "k", "k")
		if _, err := CreateSigner(p, bytes.NewReader(make([]byte, 40))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(p); err == nil {
			t.Error("a key file was left")
		}
	})
}

// TestSignerPrinted: however a signer is printed, no private key is seen.
func TestSignerPrinted(t *testing.T) {
	s := newScene(t).agent
	want := s.Keys().Fingerprint()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "signer", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "signer", s)
	for _, got := range []string{fmt.Sprint(s), fmt.Sprintf("%v", s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%x", s), fmt.Sprintf("%d", s)} {
		if got != "signer "+want {
			t.Errorf("printed as %.60s", got)
		}
	}
	if strings.Count(log.String(), want) != 2 || log.Len() > 400 {
		t.Errorf("logged as %.200s", log.String())
	}
	if b, err := json.Marshal(s); err == nil {
		t.Errorf("written as JSON: %.60s", b)
	}
}
