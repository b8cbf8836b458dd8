package receipts_test

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"

	"countersign/receipts"
)

// faultDisk lets single operations of the real disk fail, before or after they
// took hold.
type faultDisk struct {
	receipts.Disk
	mu sync.Mutex
	// before and after are asked about each operation (write, sync, truncate,
	// reserve) of each file (by its base name); an error they give is the
	// operation's. With one from after it was done all the same.
	before, after func(op, file string) error
	log           []string // "op file" of all operations, in order
}

func (d *faultDisk) set(before, after func(op, file string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.after = before, after
}

// reached is how many operations there were.
func (d *faultDisk) reached() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.log)
}

func (d *faultDisk) Open(path string, create bool) (receipts.DiskFile, error) {
	f, err := d.Disk.Open(path, create)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, d, filepath.Base(path)}, nil
}

func (d *faultDisk) do(op, file string, f func() error) error {
	d.mu.Lock()
	before, after := d.before, d.after
	d.log = append(d.log, op+" "+file)
	d.mu.Unlock()
	if before != nil {
		if err := before(op, file); err != nil {
			return err
		}
	}
	err := f()
	if after != nil && err == nil {
		err = after(op, file)
	}
	return err
}

type faultFile struct {
	receipts.DiskFile
	d    *faultDisk
	name string
}

func (f *faultFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.d.do("write", f.name, func() error { n, err = f.DiskFile.WriteAt(p, off); return err })
	return n, err
}
func (f *faultFile) Sync() error { return f.d.do("sync", f.name, f.DiskFile.Sync) }
func (f *faultFile) Truncate(n int64) error {
	return f.d.do("truncate", f.name, func() error { return f.DiskFile.Truncate(n) })
}
func (f *faultFile) Reserve(off, n int64) error {
	return f.d.do("reserve", f.name, func() error { return f.DiskFile.Reserve(off, n) })
}

// failNth fails the nth operation of this kind on this file, counted from when it
// is set; a full disk stays full.
func failNth(n int, op, file string, err error) func(string, string) error {
	var mu sync.Mutex
	return func(o, f string) error {
		if o != op || f != file {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 || n < 0 && full(err) {
			return err
		}
		return nil
	}
}

func full(err error) bool { return errors.Is(err, errFull) }

var (
	errIO   = errors.New("input/output error")
	errFull = error(syscall.ENOSPC)
)
