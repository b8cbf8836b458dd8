package receipts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/plainfile"
)

// Disk is the file system under [Files]: the seam at which tests cut the power,
// fill the disk and let single writes fail. [OSDisk] is the real one.
type Disk interface {
	// Open opens a file for reading and writing. With create a missing file is
	// made, for its owner alone (0600), in folders made 0700, and every folder
	// that got a new name is synced, so that the file is still there after a
	// power cut. Without create a missing file is fs.ErrNotExist. A file that
	// others than its owner may write is refused. An open file is held for this
	// process alone until it is closed, by whatever path it was reached: one
	// that is held already gives a *HeldError.
	Open(path string, create bool) (DiskFile, error)

	// Lock takes the exclusive lock that the file at path stands for and writes
	// owner into it. It does not wait: a lock that is taken gives a *HeldError
	// with what the holder wrote. The lock ends with Close or the process.
	Lock(path, owner string) (io.Closer, error)

	// List gives the names of all that stands in a folder, sorted, and when the
	// folder last changed, as Changed does. A missing folder is empty.
	List(folder string) (names []string, changed time.Time, err error)
	Changed(folder string) (time.Time, error)

	// Read gives a whole file of at most limit bytes; a longer one is an error.
	Read(path string, limit int) ([]byte, error)

	// Remove removes a file and Rename renames one within its folder, onto no
	// other; both are durable when they return.
	Remove(path string) error
	Rename(from, to string) error
}

// DiskFile is one open file. ReadAt may run beside everything else; WriteAt,
// Truncate and Reserve come one at a time; Sync may run beside WriteAt and then
// covers the writes that had returned when it began.
type DiskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Sync returns once all bytes written before, and the length they need, are
	// on the disk. After an error nothing is known about them, and asking
	// again proves nothing: the kernel may have dropped the pages.
	Sync() error
	Truncate(size int64) error
	// InPlace gives an error where the path the file was opened by leads to
	// another file or none, or the file is shorter than size bytes.
	InPlace(size int64) error
	// Reserve sets space aside for n bytes at off and leaves the length as it
	// is. A file system that cannot do that gives errors.ErrUnsupported.
	Reserve(off, n int64) error
}

// HeldError says that another process (or another part of this one) holds the
// lock of a chain.
type HeldError struct {
	Path  string // the lock file, or the file of the records itself
	Owner string // what the holder wrote of itself; "" when it cannot be read
}

func (e *HeldError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "a process that left no name"
	}
	return fmt.Sprintf("%s: held by %s: stop that guard first, or use the running one", e.Path, owner)
}

// maxOwner bounds what is read of a lock file, in bytes: a host's name and a few
// numbers.
const maxOwner = 512

// osDisk is the machine's own disk.
type osDisk struct{}

// OSDisk is the machine's own file system.
func OSDisk() Disk { return osDisk{} }

func (osDisk) Open(path string, create bool) (DiskFile, error) {
	flag := os.O_RDWR | plainfile.NoWait
	if create {
		if err := makeFolders(filepath.Dir(path)); err != nil {
			return nil, err
		}
		flag |= os.O_CREATE
	}
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, flag, 0o600) // os sets O_CLOEXEC
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case !st.Mode().IsRegular():
		err = fmt.Errorf("%s: not a plain file", path)
	case st.Mode().Perm()&0o022 != 0:
		err = fmt.Errorf("%s: others than its owner may write it (mode %04o): chmod 600 it after looking at what it holds", path, st.Mode().Perm())
	case errors.Is(missing, os.ErrNotExist):
		err = syncDir(filepath.Dir(path))
	}
	if err == nil {
		// The lock file beside it does not cover a link to the file from
		// elsewhere, nor a lock file that was taken away.
		var got bool
		if got, err = flock(f); err == nil && !got {
			err = &HeldError{Path: path, Owner: holder(path)}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &osFile{File: f, opened: st}, nil
}

// lockEnd is what a lock file is called behind the name of its file.
const lockEnd = ".lock"

// holder is what stands in the lock file beside the file that a link leads to; ""
// where path is none, or nothing can be read.
func holder(path string) string {
	if st, err := os.Lstat(path); err != nil || st.Mode()&os.ModeSymlink == 0 {
		return "" // the caller has the lock beside it, and wrote it itself
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	f, err := plainfile.Open(to + lockEnd)
	if err != nil {
		return ""
	}
	defer f.Close()
	return ownerIn(f)
}

// ownerIn is what the holder of a lock file wrote into it.
func ownerIn(f *os.File) string {
	buf := make([]byte, maxOwner)
	n, _ := f.ReadAt(buf, 0)
	return printable(string(buf[:n]))
}

// makeFolders makes a folder and those above it where missing, for their owner
// alone, and syncs each parent that got a new name.
func makeFolders(dir string) error {
	st, err := os.Stat(dir)
	if err == nil {
		if !st.IsDir() {
			return fmt.Errorf("%s: not a folder", dir)
		}
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeFolders(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

func (osDisk) Changed(folder string) (time.Time, error) {
	st, err := os.Stat(folder)
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

func (d osDisk) List(folder string) ([]string, time.Time, error) {
	changed, err := d.Changed(folder)
	if err != nil || changed.IsZero() {
		return nil, time.Time{}, err
	}
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return nil, time.Time{}, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, changed, nil
}

func (osDisk) Read(path string, limit int) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	return text, err
}

func (osDisk) Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func (osDisk) Rename(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s: is there already", to)
		}
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// osFile is a file of the machine's own disk.
type osFile struct {
	*os.File
	opened os.FileInfo // device and inode as they were at opening
}

func (f *osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// InPlace is one stat of the path.
func (f *osFile) InPlace(size int64) error {
	st, err := os.Stat(f.Name())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: it was removed or moved away while the guard ran", f.Name())
	case err != nil:
		return err
	case !os.SameFile(st, f.opened):
		return fmt.Errorf("%s: another file was put in its place while the guard ran", f.Name())
	case st.Size() < size:
		return fmt.Errorf("%s: it was cut to %d bytes while the guard ran, and %d were written", f.Name(), st.Size(), size)
	}
	return nil
}

// osLock is a lock file that is held.
type osLock struct{ f *os.File }

// Close empties the file, which stays (removing it would let a third process
// lock another file of the same name), and lets the lock go.
func (l *osLock) Close() error {
	return errors.Join(l.f.Truncate(0), l.f.Close())
}

func (osDisk) Lock(path, owner string) (io.Closer, error) {
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	got, err := flock(f)
	if err == nil && !got {
		err = &HeldError{Path: path, Owner: ownerIn(f)}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(owner+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &osLock{f}, nil
}

// openLock opens a lock file, making it where it is missing. What the holder writes
// must not go elsewhere: a link in its place, or what is no plain file, is refused.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|plainfile.NoWait|plainfile.NoFollow, 0o600)
	if err != nil {
		if st, lerr := os.Lstat(path); lerr == nil && !st.Mode().IsRegular() {
			err = notLock(path)
		}
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = notLock(path)
	}
	if err == nil {
		// What was put in its place meanwhile would be locked by another guard.
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && !os.SameFile(there, opened) {
			err = notLock(path)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func notLock(path string) error {
	return fmt.Errorf("%s: not a plain file, expected the lock that a guard makes: look at what put it there, and remove it", path)
}

// printable is the first line of s without anything a terminal would act on.
func printable(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r > 0x7e {
			return -1
		}
		return r
	}, s)
}
