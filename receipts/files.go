package receipts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// DefaultAhead is how many bytes of zeros stand ahead of a ledger's last
	// line: about 1,400 calls. A sync inside them need not commit a new length,
	// which makes it two to five times as fast.
	DefaultAhead = 4 << 20

	// bookAhead is how many bytes are set aside behind a book's end at a time,
	// its length left alone: some 80 receipts.
	bookAhead = 1 << 20

	// DefaultSyncEvery is how long a line that nobody waits for may stay
	// unsynced: with the time of the sync itself it stays under the 50 ms that
	// a book may lag.
	DefaultSyncEvery = 40 * time.Millisecond

	// fillPiece is how many zeros are written at a time.
	fillPiece = 1 << 18
)

// FilesOptions are the settings of [Files]; the zero value is good.
type FilesOptions struct {
	Ahead     int64         // bytes of zeros ahead of a ledger; 0: DefaultAhead
	SyncEvery time.Duration // 0: DefaultSyncEvery
}

// Files is the store of plain files: one ledger, one book and one file of
// denials for each chain. One goroutine of its own syncs the books.
type Files struct {
	disk Disk
	o    FilesOptions

	mu    sync.Mutex // guards dirty and closed
	dirty []*fileLog // logs that asked for a sync and wait for it
	shut  bool

	wake chan struct{} // one token: dirty is not empty
	stop chan struct{}
	done sync.WaitGroup
}

// NewFiles makes a store on a disk. Close it after the chains.
func NewFiles(d Disk, o FilesOptions) *Files {
	if o.Ahead <= 0 {
		o.Ahead = DefaultAhead
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = DefaultSyncEvery
	}
	f := &Files{disk: d, o: o, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	f.done.Go(f.syncer)
	return f
}

// Close ends the goroutine. Logs that are still open must not be used any more.
func (f *Files) Close() error {
	f.mu.Lock()
	was := f.shut
	f.shut = true
	f.mu.Unlock()
	if !was {
		close(f.stop)
	}
	f.done.Wait()
	return nil
}

// syncer syncs the logs that asked for it, once they have waited for SyncEvery,
// so that all lines of that time share one sync.
func (f *Files) syncer() {
	timer := time.NewTimer(f.o.SyncEvery)
	defer timer.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-f.wake:
		}
		timer.Reset(f.o.SyncEvery)
		select {
		case <-f.stop:
			return
		case <-timer.C:
		}
		f.mu.Lock()
		logs := f.dirty
		f.dirty = nil
		f.mu.Unlock()
		for _, l := range logs {
			l.asked.Store(false)
			l.Sync() // a failure is told through the log's fail
		}
	}
}

func (f *Files) soon(l *fileLog) {
	f.mu.Lock()
	f.dirty = append(f.dirty, l)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Lock takes the locks beside the ledger and the book and opens the files,
// making those that are missing.
func (f *Files) Lock(ctx context.Context, p Place, fail func(error)) (_ *Logs, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var undo []func() error
	release := func() error {
		var errs []error
		for i := len(undo) - 1; i >= 0; i-- {
			errs = append(errs, undo[i]())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	host, _ := os.Hostname()
	owner := fmt.Sprintf("process %d on %s", os.Getpid(), host)
	paths := []string{p.Ledger}
	if p.Book != "" {
		paths = append(paths, p.Book)
	}
	for _, path := range paths {
		lock, err := f.disk.Lock(path+lockEnd, owner)
		if err != nil {
			return nil, err
		}
		undo = append(undo, lock.Close)
	}
	open := func(path string, zeros bool) (*fileLog, error) {
		file, err := f.disk.Open(path, true)
		if err != nil {
			return nil, err
		}
		l := &fileLog{store: f, file: file, path: path, fail: fail, zeros: zeros}
		if err := l.measure(); err != nil {
			file.Close()
			return nil, err
		}
		return l, nil
	}
	logs := &Logs{Release: release, Inbox: &folderInbox{disk: f.disk, ledger: p.Ledger}}
	ledger, err := open(p.Ledger, true)
	if err != nil {
		return nil, err
	}
	logs.Ledger = ledger
	if p.Book == "" {
		return logs, nil
	}
	book, err := open(p.Book, false)
	if err != nil {
		ledger.file.Close()
		return nil, err
	}
	denials, err := open(p.Denials(), false)
	if err != nil {
		ledger.file.Close()
		book.file.Close()
		return nil, err
	}
	logs.Book, logs.Denials = book, denials
	logs.Archive = func(name string) error {
		for _, l := range []struct {
			log  *Log
			path string
		}{{&logs.Book, p.Book}, {&logs.Denials, p.Denials()}} {
			if err := f.archive(*l.log, l.path, l.path+"."+name); err != nil {
				return err
			}
			begun, err := open(l.path, false)
			if err != nil {
				return err
			}
			*l.log = begun
		}
		return nil
	}
	return logs, nil
}

// archive closes a log and gives its file another name, unless there is one of
// that name already.
func (f *Files) archive(l Log, path, to string) error {
	if err := l.Close(); err != nil {
		return err
	}
	names, _, err := f.disk.List(filepath.Dir(to))
	if err != nil {
		return err
	}
	if slices.Contains(names, filepath.Base(to)) {
		// Only a plain file can be what a guard put aside.
		there, err := f.disk.Open(to, false)
		if err != nil {
			return err
		}
		return there.Close()
	}
	return f.disk.Rename(path, to)
}

// fileLog is a log in one file.
type fileLog struct {
	store *Files
	file  DiskFile
	path  string
	fail  func(error)
	zeros bool // room is set aside as zeros inside the length, else behind it

	syncing sync.Mutex // held over a sync, so that none is under way when the file is closed; taken before mu

	mu     sync.Mutex // guards what follows
	end    int64      // behind the last line
	room   int64      // up to here bytes can be written without more space
	zeroed int64      // zeros found behind end at opening
	synced int64      // durable up to here
	used   bool       // something was written or reserved since it was opened
	broken error      // the final error
	closed bool
	buf    []byte // the line with its end

	asked atomic.Bool // a background sync was asked for and has not begun
}

// measure finds the end of what was written: behind the last byte that is not
// zero. No line holds a zero byte, as JSON writes one as an escape.
func (l *fileLog) measure() error {
	size, err := l.file.Size()
	if err != nil {
		return err
	}
	end := size
	buf := make([]byte, fillPiece)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := l.file.ReadAt(buf[:n], end-n); err != nil {
			return err
		}
		i := n
		for i > 0 && buf[i-1] == 0 {
			i--
		}
		end -= n - i
		if i > 0 {
			break
		}
	}
	// What is there when a log is opened was either synced or survived, which
	// a start cannot tell; it is made durable before anything is built on it.
	l.end, l.room, l.zeroed = end, end, size-end
	if l.zeros {
		l.room = size
	}
	return nil
}

func (l *fileLog) ReadAt(p []byte, off int64) (int, error) { return l.file.ReadAt(p, off) }

func (l *fileLog) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *fileLog) Zeroed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.zeroed
}

func (l *fileLog) Synced() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
}

// usable gives the error that keeps the log from being used. l.mu is held.
func (l *fileLog) usable() error {
	if l.broken != nil {
		return l.broken
	}
	if l.closed {
		return ErrClosed
	}
	return nil
}

// breaks makes err the final error of the log. l.mu is held.
func (l *fileLog) breaks(doing string, err error) error {
	if l.broken == nil {
		l.broken = fmt.Errorf("%s %s: %w", doing, l.path, err)
		l.fail(l.broken)
	}
	return l.broken
}

func (l *fileLog) Reserve(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	need := l.end + int64(n)
	if need <= l.room {
		return nil
	}
	l.used = true
	ahead := l.store.o.Ahead
	if !l.zeros {
		ahead = min(ahead, bookAhead)
	}
	err := l.extend(max(need, l.room+ahead))
	if full(err) {
		err = l.extend(need) // no room for as much as we like, but perhaps for this
	}
	if full(err) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	if err != nil {
		return l.breaks("making room in", err)
	}
	return nil
}

// extend sets space aside up to the offset to. When it fails for want of space
// the file is as it was. l.mu is held.
func (l *fileLog) extend(to int64) error {
	if !l.zeros {
		err := l.file.Reserve(l.end, to-l.end)
		if errors.Is(err, errors.ErrUnsupported) {
			// Nothing is set aside then: a disk that fills up while a call is
			// out is found when its line is written, and the answer withheld.
			err = nil
		}
		if err == nil {
			l.room = to
		}
		return err
	}
	zeros := make([]byte, fillPiece)
	for at := l.room; at < to; {
		n := min(to-at, fillPiece)
		if _, err := l.file.WriteAt(zeros[:n], at); err != nil {
			if full(err) {
				// Zeros that were written do no harm; the space is wanted back.
				l.file.Truncate(l.room)
			}
			return err
		}
		at += n
	}
	// The new length must be durable before lines count on it.
	if err := l.file.Sync(); err != nil {
		if full(err) {
			return fmt.Errorf("sync without room: %v", err) // final: a failed sync proves nothing
		}
		return err
	}
	l.room = to
	return nil
}

func (l *fileLog) Append(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.used = true
	l.buf = append(append(l.buf[:0], line...), '\n')
	if _, err := l.file.WriteAt(l.buf, l.end); err != nil {
		return l.breaks("writing", err)
	}
	l.end += int64(len(l.buf))
	l.room = max(l.room, l.end)
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return nil
}

func (l *fileLog) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	err, end := l.usable(), l.end
	l.mu.Unlock()
	if err != nil {
		return err
	}
	err = l.file.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return l.breaks("syncing", err)
	}
	l.synced = max(l.synced, end)
	return l.broken
}

func (l *fileLog) InPlace() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.file.InPlace(l.end); err != nil {
		return l.breaks("looking after", err)
	}
	return nil
}

func (l *fileLog) SyncSoon() {
	if !l.asked.Swap(true) {
		l.store.soon(l)
	}
}

func (l *fileLog) Cut(size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if size > l.end {
		return fmt.Errorf("cutting %s: %d bytes asked for, %d there", l.path, size, l.end)
	}
	l.used = true
	if l.zeros {
		// Zeros, and not a shorter file: should the power fail before the
		// notice of the cut is durable, the next start still finds an end that
		// is not whole, and says so.
		zeros := make([]byte, fillPiece)
		for at := size; at < l.end; at += fillPiece {
			if _, err := l.file.WriteAt(zeros[:min(l.end-at, fillPiece)], at); err != nil {
				return l.breaks("cutting", err)
			}
		}
	} else if err := l.file.Truncate(size); err != nil {
		return l.breaks("cutting", err)
	} else {
		l.room = size
	}
	if err := l.file.Sync(); err != nil {
		return l.breaks("syncing", err)
	}
	l.end, l.synced = size, size
	return nil
}

func (l *fileLog) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.broken != nil {
		// Nothing more may be said about this file: it stays as it is for the
		// next start to look at.
		return errors.Join(l.broken, l.file.Close())
	}
	if !l.used {
		return l.file.Close() // as it was found
	}
	err := l.file.Truncate(l.end) // gives back what was set aside, in or behind the length
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.breaks("closing", err)
		return errors.Join(l.broken, l.file.Close())
	}
	l.synced = l.end
	return l.file.Close()
}
