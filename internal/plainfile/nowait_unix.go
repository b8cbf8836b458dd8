//go:build unix

package plainfile

import "syscall"

// NoWait, a flag for [os.OpenFile], keeps the opening of a pipe from waiting for
// the other end.
const NoWait = syscall.O_NONBLOCK
