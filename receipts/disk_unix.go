//go:build unix

package receipts

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func (osDisk) Lock(path, owner string) (io.Closer, error) {
	return takeLock(path, owner, func(f *os.File) (bool, error) {
		for {
			err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			switch {
			case err == nil:
				return true, nil
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EWOULDBLOCK):
				return false, nil
			default:
				return false, &os.PathError{Op: "flock", Path: path, Err: err}
			}
		}
	})
}

// full says whether an error means that there is no room: a full disk, a used-up
// quota, or a bound on the size of files.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
