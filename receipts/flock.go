package receipts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the exclusive lock of an open file, where nobody has it: it ends
// when the file is closed.
func flock(f *os.File) (got bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// full says whether an error means that there is no room: a full disk, a used-up
// quota, or a bound on the size of files.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
