package rulestest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/plainfile"
)

// maxFolders bounds the folders that tests may come in, so that watching the wrong
// folder ends.
const maxFolders = 10_000

// Sources gives the files that [Load] reads and [Suite.Run] looks at for these
// paths, be they there or not, and the folders in which they are or may come. What
// is faulty or missing is left out as far as it is not known.
func Sources(paths []string) (files, folders []string, err error) {
	addFile := func(path string) {
		path = filepath.Clean(path)
		files, folders = append(files, path), append(folders, filepath.Dir(path))
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			if folders, err = foldersIn(path, folders); err != nil {
				return nil, nil, err
			}
		case strings.HasSuffix(path, Suffix):
			addFile(path)
		default:
			addFile(path)
			addFile(strings.TrimSuffix(path, ".json") + Suffix)
		}
		found, err := Find([]string{path})
		if err != nil {
			continue // told by Load
		}
		for _, test := range found {
			addFile(test)
			src, err := plainfile.Read(test, MaxBytes)
			if err != nil {
				continue
			}
			f, _ := Read(test, src)
			if f == nil {
				continue
			}
			for _, r := range f.rulesPaths() {
				addFile(r)
			}
			if f.Tools != "" {
				addFile(f.beside(f.Tools))
			}
			for i := range f.Cases {
				if c := f.Cases[i].Calls; c != nil {
					glob := f.beside(c.Glob)
					folders = append(folders, folderOfGlob(glob))
					recorded, _ := RecordedFiles(glob) // told by Run
					for _, r := range recorded {
						addFile(r)
					}
				}
			}
		}
	}
	unique := func(l []string) []string {
		slices.Sort(l)
		return slices.Compact(l)
	}
	return unique(files), unique(folders), nil
}

func foldersIn(dir string, folders []string) ([]string, error) {
	root := dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		root = real
	}
	before := len(folders)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // one that vanished meanwhile, or may not be read
		case len(folders)-before == maxFolders:
			return fmt.Errorf("%s holds more than %d folders, name a smaller one", dir, maxFolders)
		}
		folders = append(folders, filepath.Join(dir, strings.TrimPrefix(path, root)))
		return nil
	})
	return folders, err
}

// folderOfGlob is the folder below which all lies that a glob names.
func folderOfGlob(glob string) string {
	if info, err := os.Stat(glob); err == nil && info.IsDir() {
		return glob
	}
	dir := filepath.Dir(glob)
	for strings.ContainsAny(dir, `*?[\`) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}
