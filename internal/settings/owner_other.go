//go:build !unix

package settings

import (
	"errors"
	"io/fs"
)

// private refuses every file: whose it is and who may read it is not known here.
func private(fs.FileInfo) error {
	return errors.New("who may read a file cannot be told on this system, so no credential is read")
}
