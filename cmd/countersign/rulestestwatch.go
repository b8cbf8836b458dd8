package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"countersign/rulestest"
)

const (
	// quiet is how long files must not change before tests run again: an editor
	// writes a file in several steps.
	quiet = 100 * time.Millisecond
	// maxSettle bounds how long files that keep changing are waited for.
	maxSettle = 2 * time.Second
)

// watchTests runs the tests, and again after each change of a file they are of,
// until ctx ends. It then gives what the last run came to; one that ctx broke off
// came to nothing.
func (p *program) watchTests(ctx context.Context, paths []string, f *testFlags) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching files: %w", err)
	}
	defer w.Close()
	for {
		// Watched first and read after: no change falls in between.
		now, err := watchSources(w, paths)
		if err != nil {
			return err
		}
		_, last := p.loadAndTest(ctx, paths, f)
		if ctx.Err() != nil {
			return errors.New("interrupted while tests ran")
		}
		if last != nil && !errors.Is(last, errNo) {
			fmt.Fprintf(p.err, "countersign: error: %v\n", last)
		}
		p.note("waiting for a change")
		changed, err := waitForChange(ctx, w, paths, now)
		if err != nil || !changed {
			return errors.Join(err, last)
		}
	}
}

// stamps tell whether files changed: what the disk says of each, nil of one that
// is not there.
type stamps map[string]fs.FileInfo

func stampsOf(files []string) stamps {
	s := make(stamps, len(files))
	for _, path := range files {
		s[path], _ = os.Stat(path) // through links: what they lead to is read
	}
	return s
}

func (s stamps) same(o stamps) bool {
	return maps.EqualFunc(s, o, func(a, b fs.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
	})
}

// watchSources watches the folders that tests are made of and gives the files as
// they are. Folders are watched, not files: editors put a new file in the place of
// an old one.
func watchSources(w *fsnotify.Watcher, paths []string) (stamps, error) {
	for {
		files, folders, err := rulestest.Sources(paths)
		if err != nil {
			return nil, err
		}
		wanted, fresh := map[string]bool{}, false
		before := w.WatchList()
		for _, dir := range folders {
			at, err := watchFolder(w, dir)
			if err != nil {
				return nil, err
			}
			wanted[at], fresh = true, fresh || !slices.Contains(before, at)
		}
		for _, dir := range before {
			if !wanted[dir] {
				_ = w.Remove(dir) // gone already, or of no more use
			}
		}
		if !fresh {
			return stampsOf(files), nil
		}
		// What came into a folder before it was watched told nobody: look again.
	}
}

// watchFolder watches a folder, or the one in which it would come, and says which.
func watchFolder(w *fsnotify.Watcher, dir string) (string, error) {
	for {
		err := w.Add(dir)
		if err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return "", fmt.Errorf("watching %s: %w", dir, err)
		}
		dir = up
	}
}

// waitForChange waits until the files are not as they were, and then until they do
// not change for a while. It says false where ctx ended before.
func waitForChange(ctx context.Context, w *fsnotify.Watcher, paths []string, were stamps) (bool, error) {
	var look <-chan time.Time // since something happened in a folder
	var since time.Time       // when the files were first seen changed
	last := were
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case _, ok := <-w.Events:
			if !ok {
				return false, errors.New("watching files: the watch ended")
			}
		case _, ok := <-w.Errors: // events were lost: look
			if !ok {
				return false, errors.New("watching files: the watch ended")
			}
		case <-look:
			look = nil
			now, err := watchSources(w, paths)
			if err != nil {
				return false, err
			}
			switch {
			case now.same(last) && since.IsZero():
				continue // of another file, such as a report
			case now.same(last), !since.IsZero() && time.Since(since) > maxSettle:
				return true, nil
			case since.IsZero():
				since = time.Now()
			}
			last = now
		}
		if look == nil {
			look = time.After(quiet)
		}
	}
}
