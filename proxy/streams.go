package proxy

import (
	"io"
	"os"
)

// Standard gives the process's standard input and output as streams whose
// waiting reads can be ended and, where output is a pipe or a socket, as when a
// client starts the guard, waiting writes too. They must not be read or written
// by other means meanwhile. restore makes them what they were; no read may be
// under way then.
func Standard() (in io.Reader, out io.Writer, restore func()) {
	in, undoIn := endable(os.Stdin)
	o, undoOut := os.Stdout, func() {}
	// One description under two numbers would make standard error, which is not
	// ready for it, give up where it now waits.
	if !same(os.Stdout, os.Stderr) {
		o, undoOut = nonblocking(os.Stdout)
	}
	return in, o, func() { undoIn(); undoOut() }
}

func same(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}
