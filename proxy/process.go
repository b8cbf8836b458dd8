package proxy

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the child in a process group of its own: a signal to the
// guard's group is not one to the child, and the child's descendants can be
// ended with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup asks a child's group to end, or ends it. A group that is gone is
// no error.
func signalGroup(pid int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, sig)
}
