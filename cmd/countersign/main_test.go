package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary a countersign of its own, on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"countersign": main})
}

// TestScripts runs the scripts: one promise each, with what is printed where and
// the exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, dir := range []string{"home", "tmp"} {
				if err := os.Mkdir(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": exitCode, "replace": replace, "capture": capture, "tree": tree, "chmodto": chmodTo, "lines": lines,
		},
	})
}

// exitCode runs a command and holds its exit code: code 2 countersign …
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// replace changes a text in a file, which must be there: replace FILE OLD NEW
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(b), args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(string(b), args[1], args[2])), info.Mode()))
}

// capture puts the first line of what a command printed into a variable:
// capture NAME stdout
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME FILE")
	}
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	// Of a sentence, what stands behind the last blank.
	ts.Setenv(args[0], line[strings.LastIndexByte(line, ' ')+1:])
}

// tree writes the names of all files under folders into a file: tree OUT DIR…
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tree OUT DIR…")
	}
	var b strings.Builder
	for _, dir := range args[1:] {
		root := ts.MkAbs(dir)
		ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if !d.IsDir() {
				fmt.Fprintf(&b, "%s/%s %d\n", dir, rel, info.Size())
			}
			return err
		}))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// chmodTo sets the mode of a file, in octal: chmodto 600 FILE
func chmodTo(ts *testscript.TestScript, neg bool, args []string) {
	var mode fs.FileMode
	if len(args) != 2 {
		ts.Fatalf("usage: chmodto MODE FILE")
	}
	if _, err := fmt.Sscanf(args[0], "%o", &mode); err != nil {
		ts.Fatalf("mode %q", args[0])
	}
	ts.Check(os.Chmod(ts.MkAbs(args[1]), mode))
}

// lines holds how many lines a command printed: lines 1 stderr
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	text := ts.ReadFile(args[1])
	if got := fmt.Sprint(strings.Count(text, "\n")); got != args[0] {
		ts.Fatalf("%s lines, want %s:\n%s", got, args[0], text)
	}
}
