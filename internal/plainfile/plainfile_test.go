//go:build unix

package plainfile_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/plainfile"
)

// What is no plain file is refused, without waiting for the other end of a pipe.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	plain, pipe, link := filepath.Join(dir, "plain"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, os.DevNull} {
		if f, err := plainfile.Open(path); err == nil || !strings.Contains(err.Error(), "not a plain file") {
			if f != nil {
				f.Close()
			}
			t.Errorf("%s: %v, want a refusal", path, err)
		}
	}
	for _, path := range []string{plain, link} {
		f, err := plainfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		f.Close()
	}
}
