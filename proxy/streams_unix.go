//go:build unix

package proxy

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblocking is a file over the same descriptor that the runtime waits for, so
// that its waits can be ended. Files that are neither pipes nor sockets stay as
// they are: terminals are shared with others, and disks do not wait.
func nonblocking(f *os.File) (*os.File, func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return f, func() {}
	}
	fd := f.Fd()
	if syscall.SetNonblock(int(fd), true) != nil {
		return f, func() {}
	}
	return os.NewFile(fd, f.Name()), func() { _ = syscall.SetNonblock(int(fd), false) }
}
