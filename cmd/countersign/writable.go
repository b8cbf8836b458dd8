package main

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// writable says whether this user may make files in a folder.
func writable(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("no file can be made in %s: %w", folder, err)
	}
	return nil
}

// modeOf gives who may do what with a file; ok is false where it is not there.
func modeOf(path string) (mode fs.FileMode, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Perm(), true
}
