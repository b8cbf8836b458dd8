//go:build !linux

package proxy

import "os/exec"

// awaitExit returns when the process has ended. Here there is no way to see that
// without taking its end.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	err := cmd.Wait()
	return func() error { return err }
}

// closeOnExec: Go opens every file so that it is not inherited; files that the
// guard was handed by its parent are not reached here.
func closeOnExec() error { return nil }
