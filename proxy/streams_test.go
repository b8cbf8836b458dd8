//go:build unix

package proxy_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/proxy"
)

// A read of standard input that waits ends when it is told to, whatever standard
// input is; until then it gives what comes, and then the end.
func TestEndable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func(in io.Reader) (string, error) {
		b := make([]byte, 100)
		n, err := in.Read(b)
		return string(b[:n]), err
	}

	in, undo := proxy.Endable(r)
	w.WriteString("one")
	if s, err := read(in); s != "one" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	waits := make(chan error)
	go func() {
		_, err := read(in)
		waits <- err
	}()
	w.WriteString("two")
	if err := <-waits; err != nil {
		t.Error(err)
	}
	go func() {
		_, err := read(in)
		waits <- err
	}()
	if err := in.(interface{ SetReadDeadline(time.Time) error }).SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	w.WriteString("three") // stays for whoever reads the pipe next
	if s, err := read(in); s != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", s, err)
	}
	undo()

	in, undo = proxy.Endable(r)
	if s, err := read(in); s != "three" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	w.Close()
	if s, err := read(in); s != "" || err != io.EOF {
		t.Errorf("%q, %v", s, err)
	}
	undo()

	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in, undo = proxy.Endable(f)
	defer undo()
	if b, err := io.ReadAll(in); string(b) != "file" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	f.Close()
	if _, err := read(in); err == nil || err == io.EOF {
		t.Errorf("a closed file: %v", err)
	}
}
