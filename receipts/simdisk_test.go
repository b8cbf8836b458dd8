package receipts_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/receipts"
)

// simDisk is a disk in memory that keeps a log of all that was done to it, so that
// it can be had as a power cut at any moment may leave it.
//
// The model: a sync makes all writes to its file durable. Of writes not synced any
// part may be there after a cut, in pieces of 512 bytes and in any order, and
// what is missing inside the file reads as zeros; a cut of the length is there or
// not. Making, renaming and removing files is durable at once, as the seam
// promises (the real disk syncs the folder).
type simDisk struct {
	mu      sync.Mutex
	files   map[string][]byte
	base    map[string][]byte // durable when the log began
	locks   map[string]string
	ops     []simOp
	changed int64
}

// simOp is one thing done to the disk, or an event of the test between.
type simOp struct {
	kind string // write sync truncate create remove rename event
	file string
	to   string // of rename; the event
	off  int64
	data []byte
}

const sector = 512

func newSimDisk(files map[string][]byte) *simDisk {
	d := &simDisk{files: map[string][]byte{}, base: files, locks: map[string]string{}}
	for name, text := range files {
		d.files[name] = bytes.Clone(text)
	}
	return d
}

func (d *simDisk) event(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = append(d.ops, simOp{kind: "event", to: fmt.Sprintf(format, args...)})
}

func (d *simDisk) put(path string, text []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[path] = text
	d.changed++
	d.ops = append(d.ops, simOp{kind: "create", file: path, data: text})
}

func (d *simDisk) Open(path string, create bool) (receipts.DiskFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.files[path]; !ok {
		if !create {
			return nil, fs.ErrNotExist
		}
		d.files[path] = nil
		d.changed++
		d.ops = append(d.ops, simOp{kind: "create", file: path})
	}
	return &simFile{d, path}, nil
}

type simLock struct {
	d    *simDisk
	path string
}

func (l simLock) Close() error {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	delete(l.d.locks, l.path)
	return nil
}

func (d *simDisk) Lock(path, owner string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if by, ok := d.locks[path]; ok {
		return nil, &receipts.HeldError{Path: path, Owner: by}
	}
	d.locks[path] = owner
	return simLock{d, path}, nil
}

func (d *simDisk) Changed(string) (time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Unix(d.changed, 0), nil
}

func (d *simDisk) List(folder string) ([]string, time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		if filepath.Dir(path) == filepath.Clean(folder) {
			names = append(names, filepath.Base(path))
		}
	}
	return names, time.Unix(d.changed, 0), nil
}

func (d *simDisk) Read(path string, limit int) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, ok := d.files[path]
	if !ok || len(text) > limit {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(text), nil
}

func (d *simDisk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, path)
	d.changed++
	d.ops = append(d.ops, simOp{kind: "remove", file: path})
	return nil
}

func (d *simDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.files[to]; ok {
		return fs.ErrExist
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	d.changed++
	d.ops = append(d.ops, simOp{kind: "rename", file: from, to: to})
	return nil
}

// simFile follows its path as it was at opening: no test renames an open file and
// goes on with it.
type simFile struct {
	d    *simDisk
	path string
}

func (f *simFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return bytes.NewReader(f.d.files[f.path]).ReadAt(p, off)
}

func (f *simFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op := simOp{kind: "write", file: f.path, off: off, data: bytes.Clone(p)}
	f.d.files[f.path] = op.apply(f.d.files[f.path])
	f.d.ops = append(f.d.ops, op)
	return len(p), nil
}

func (f *simFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op := simOp{kind: "truncate", file: f.path, off: size}
	f.d.files[f.path] = op.apply(f.d.files[f.path])
	f.d.ops = append(f.d.ops, op)
	return nil
}

func (f *simFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.ops = append(f.d.ops, simOp{kind: "sync", file: f.path})
	return nil
}

func (f *simFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.d.files[f.path])), nil
}

func (f *simFile) InPlace(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if text, ok := f.d.files[f.path]; !ok || int64(len(text)) < size {
		return fs.ErrNotExist
	}
	return nil
}

func (f *simFile) Reserve(int64, int64) error { return nil }
func (f *simFile) Close() error               { return nil }

// apply does a write or truncate to the content of a file.
func (o *simOp) apply(text []byte) []byte {
	if o.kind == "truncate" {
		if int64(len(text)) >= o.off {
			return text[:o.off]
		}
		return append(text, make([]byte, o.off-int64(len(text)))...)
	}
	if end := o.off + int64(len(o.data)); end > int64(len(text)) {
		text = append(text, make([]byte, end-int64(len(text)))...)
	}
	copy(text[o.off:], o.data)
	return text
}

// simFate is what becomes of the operations of one file that were not synced.
type simFate struct {
	name string
	of   func(r *rand.Rand, text []byte, pending []simOp) []byte
}

var simFates = []simFate{
	{"dropped", func(_ *rand.Rand, text []byte, _ []simOp) []byte { return text }},
	{"kept", func(_ *rand.Rand, text []byte, pending []simOp) []byte {
		for _, o := range pending {
			text = o.apply(text)
		}
		return text
	}},
	{"torn", func(r *rand.Rand, text []byte, pending []simOp) []byte { // in order, the last cut short anywhere
		n := r.IntN(len(pending) + 1)
		for i, o := range pending[:n] {
			if i == n-1 && o.kind == "write" && len(o.data) > 0 {
				o.data = o.data[:r.IntN(len(o.data))]
			}
			text = o.apply(text)
		}
		return text
	}},
	{"reordered", func(r *rand.Rand, text []byte, pending []simOp) []byte { // each piece there or not
		for _, o := range pending {
			if o.kind == "truncate" {
				if r.IntN(2) == 0 {
					text = o.apply(text)
				}
				continue
			}
			for at := int64(0); at < int64(len(o.data)); {
				n := min(int64(len(o.data))-at, sector-(o.off+at)%sector)
				if r.IntN(2) == 0 {
					part := simOp{kind: "write", off: o.off + at, data: o.data[at : at+n]}
					text = part.apply(text)
				}
				at += n
			}
			if end := o.off + int64(len(o.data)); r.IntN(2) == 0 && end > int64(len(text)) { // the length is there, the bytes not
				text = append(text, make([]byte, end-int64(len(text)))...)
			}
		}
		return text
	}},
}

// simReplay goes through the log of a disk and gives it as a cut leaves it.
type simReplay struct {
	ops     []simOp
	at      int
	durable map[string][]byte
	pending map[string][]simOp
	events  []string
}

func (d *simDisk) replay() *simReplay {
	r := &simReplay{ops: d.ops, durable: map[string][]byte{}, pending: map[string][]simOp{}}
	for name, text := range d.base {
		r.durable[name] = bytes.Clone(text)
	}
	return r
}

// next takes one operation in; false at the end.
func (r *simReplay) next() bool {
	if r.at == len(r.ops) {
		return false
	}
	o := r.ops[r.at]
	r.at++
	switch o.kind {
	case "event":
		r.events = append(r.events, o.to)
	case "write", "truncate":
		r.pending[o.file] = append(r.pending[o.file], o)
	case "sync":
		for _, p := range r.pending[o.file] {
			r.durable[o.file] = p.apply(r.durable[o.file])
		}
		delete(r.pending, o.file)
	case "create":
		r.durable[o.file] = bytes.Clone(o.data)
	case "remove":
		delete(r.durable, o.file)
		delete(r.pending, o.file)
	case "rename":
		r.durable[o.to], r.pending[o.to] = r.durable[o.file], r.pending[o.file]
		delete(r.durable, o.file)
		delete(r.pending, o.file)
	}
	return true
}

// cut gives the files as a power cut now, with this fate, leaves them.
func (r *simReplay) cut(fate simFate, seed uint64) map[string][]byte {
	random := rand.New(rand.NewPCG(seed, uint64(r.at)))
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(r.durable)) {
		files[name] = fate.of(random, bytes.Clone(r.durable[name]), r.pending[name])
	}
	return files
}

// count says how many events begin so.
func (r *simReplay) count(prefix string) int {
	n := 0
	for _, e := range r.events {
		if strings.HasPrefix(e, prefix) {
			n++
		}
	}
	return n
}
