package proxy

import (
	"errors"
	"math"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, with the function that takes its
// end. Until that is called its number, which is also its group's, is not given
// out again, so that the group can be ended safely.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return cmd.Wait
		}
	}
}

// closeOnExec keeps every open file but the three standard ones from being
// inherited, also those that the guard itself was handed by a careless parent.
func closeOnExec() error {
	return unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
