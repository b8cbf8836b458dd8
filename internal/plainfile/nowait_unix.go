//go:build unix

package plainfile

import "syscall"

// NoWait, a flag for [os.OpenFile], keeps the opening of a pipe from waiting for
// the other end.
const NoWait = syscall.O_NONBLOCK

// NoFollow, a flag for [os.OpenFile], refuses a symbolic link in the file's place.
const NoFollow = syscall.O_NOFOLLOW
