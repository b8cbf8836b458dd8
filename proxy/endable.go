package proxy

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// endableReader reads a file and waits for it in poll(2), together with a pipe
// that ends the wait. The runtime's own waiting would need the file's
// description, which other processes share, to be non-blocking, does not know
// terminals, and wakes the reader later when nothing came for some milliseconds.
type endableReader struct {
	fd    int
	ended int      // of a pipe: readable once reads are to end
	end   *os.File // its other end
}

// endable makes f endable; where it cannot, for want of descriptors, f stays as it is.
func endable(f *os.File) (io.Reader, func()) {
	ended, end, err := os.Pipe()
	if err != nil {
		return f, func() {}
	}
	return &endableReader{int(f.Fd()), int(ended.Fd()), end}, func() { ended.Close(); end.Close() }
}

func (r *endableReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		waits := [2]unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}, {Fd: int32(r.ended), Events: unix.POLLIN}}
		_, err := unix.Poll(waits[:], -1)
		if err == nil && waits[1].Revents != 0 {
			return 0, os.ErrDeadlineExceeded
		}
		n := 0
		if err == nil {
			// Whatever woke it, data, the end or a fault, is what the read says.
			n, err = unix.Read(r.fd, p)
		}
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// SetReadDeadline ends every read at once, whatever the time.
func (r *endableReader) SetReadDeadline(time.Time) error {
	_, err := r.end.Write([]byte{0})
	return err
}
