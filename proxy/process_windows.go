package proxy

import (
	"os"
	"os/exec"
)

// ownGroup: Windows has no process groups to signal.
func ownGroup(*exec.Cmd) {}

// signalGroup ends the child alone; there is no gentler way.
func signalGroup(pid int, kill bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
