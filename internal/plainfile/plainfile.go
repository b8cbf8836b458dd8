// Package plainfile opens files that someone else may have put in place: a pipe
// or a device there is refused, and not waited for.
package plainfile

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Flags for [os.OpenFile].
const (
	NoWait   = syscall.O_NONBLOCK // the opening of a pipe does not wait for the other end
	NoFollow = syscall.O_NOFOLLOW // a symbolic link in the file's place is refused
)

// Open opens a plain file for reading, through links. The error of anything else
// says so; one of the disk is the [os.PathError] as it is.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|NoWait, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a plain file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a plain file of at most most bytes, and one byte more where it is
// longer, so that its reader sees that.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return b, nil
}
