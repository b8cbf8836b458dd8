package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

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
