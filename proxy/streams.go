package proxy

import (
	"io"
	"os"
)

// Standard gives the process's standard input and output as streams whose
// waiting reads and writes can be ended, where they are pipes or sockets, as they
// are when a client starts the guard. They must not be read or written by other
// means meanwhile. restore makes them what they were.
func Standard() (in io.Reader, out io.Writer, restore func()) {
	i, undoIn := nonblocking(os.Stdin)
	undoOut := func() {}
	o := os.Stdout
	// One description under two numbers would make standard error, which is not
	// ready for it, give up where it now waits.
	if !same(os.Stdout, os.Stderr) {
		o, undoOut = nonblocking(os.Stdout)
	}
	return i, o, func() { undoIn(); undoOut() }
}

func same(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}
