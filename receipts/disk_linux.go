package receipts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Sync is fdatasync: the bytes, and the length only where it changed, which
// inside room written beforehand is a fifth of the work of fsync.
func (f *osFile) Sync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return pathError("fdatasync", f.Name(), err)
		}
	}
}

func (f *osFile) Reserve(off, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return errors.ErrUnsupported
		default:
			return pathError("fallocate", f.Name(), err)
		}
	}
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}
