//go:build unix

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// writable says whether this user may make files in a folder.
func writable(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("no file can be made in %s: %w", folder, err)
	}
	return nil
}
