package pathtext

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// OS is the disk of the system that the guard runs on. A look can take as long as
// the file system takes; a folder on a network that hangs makes the judgement
// hang, so roots and bases belong on local disks.
type OS struct{}

// Look implements Disk.
func (OS) Look(name string) (Entry, error) {
	if name == "" || name[0] != '/' {
		return Entry{}, errors.New("looking at a path that is not absolute")
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{Kind: Missing}, nil
	case err != nil:
		return Entry{}, err
	case info.IsDir():
		return Entry{Kind: Folder}, nil
	case info.Mode()&fs.ModeSymlink == 0:
		return Entry{Kind: File}, nil
	}
	if magic(path.Dir(name)) {
		// Links of procfs lead to open files, whatever their text says.
		return Entry{}, errors.New("following a link of a process file system")
	}
	target, err := os.Readlink(name)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Kind: Link, Target: target}, nil
}
