package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"countersign/internal/plainfile"
)

// reportFile is a report that rules test writes beside its answer.
type reportFile struct {
	option string
	path   string
	begins []string // one of which an earlier report of its kind holds at its beginning
	write  func(io.Writer) error
}

// maxBeginning is how much of a file is looked at to tell a report by.
const maxBeginning = 512

// maxLinks bounds the links to a report that are followed, as the system does.
const maxLinks = 40

// clearReports takes the reports of earlier runs away, so that what stands there after
// is of this run, whatever becomes of it. What is no report is no report's place:
// a rules file named by mistake stays as it is.
func clearReports(files []reportFile) error {
	taken := map[string]string{}
	for _, f := range files {
		path, plain, err := f.place()
		if err != nil {
			return err
		}
		if other, twice := taken[path]; twice {
			return fmt.Errorf("--%s and --%s name one file, %s; expected one for each", other, f.option, f.path)
		}
		taken[path] = f.option
		if plain {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // another run was first
				return fmt.Errorf("taking an earlier report away: %w", err)
			}
		}
	}
	return nil
}

// place is where the report goes, links followed, and whether a plain file is
// there. An error says that it is something else than a report.
func (f *reportFile) place() (path string, plain bool, err error) {
	path = filepath.Clean(f.path)
	if strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		return path, false, nil // what a stream of the process leads to is not taken away
	}
	for range maxLinks { // to a file that need not be there, as EvalSymlinks would have it
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, false, nil
	case err != nil:
		return "", false, fmt.Errorf("--%s: %w", f.option, err)
	case info.IsDir():
		return "", false, fmt.Errorf("--%s %s: a folder, expected a file", f.option, f.path)
	case !info.Mode().IsRegular():
		return path, false, nil
	}
	b, err := plainfile.Read(path, maxBeginning)
	switch {
	case errors.Is(err, fs.ErrNotExist): // another run took it away meanwhile
		return path, false, nil
	case err != nil:
		return "", false, fmt.Errorf("--%s: %w", f.option, err)
	}
	for _, begin := range f.begins {
		if bytes.Contains(b, []byte(begin)) {
			return path, true, nil
		}
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return path, true, nil
	}
	return "", false, fmt.Errorf("--%s %s: holds something else than such a report, expected a new file or an earlier report", f.option, f.path)
}

// writeReports writes each report whole or not at all.
func writeReports(files []reportFile) error {
	for _, f := range files {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
		path, _, err := f.place()
		if err != nil {
			return err
		}
		if err := putReport(path, b.Bytes()); err != nil {
			return fmt.Errorf("writing a report: %w", err)
		}
	}
	return nil
}

// putReport writes a file whole or not at all; into a pipe or a device it writes
// as it is.
func putReport(path string, b []byte) error {
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/")) {
		return os.WriteFile(path, b, 0)
	}
	// Two runs at once each have their own.
	half := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid())+".half")
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(half, b, 0o644); err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return nil
}
