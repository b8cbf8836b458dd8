// Package plainfile opens files that someone else may have put in place: a pipe
// or a device there is refused, and not waited for.
package plainfile

import (
	"fmt"
	"os"
)

// Open opens a plain file for reading, through links. The error of anything else
// says so; one of the disk is the [os.PathError] as it is.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|NoWait, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a plain file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
