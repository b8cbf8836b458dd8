// Package house holds the rules of the whole repository that no single room can
// hold: who may import whom, and what no file may say.
package house_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "countersign"

// root is the repository, from the folder the test runs in.
const root = "../.."

// allowed says for each room which rooms it may know. What lies under internal
// belongs to no room and knows none.
var allowed = map[string][]string{
	"rules":     {},
	"engine":    {"rules"},
	"rulestest": {"engine", "rules"},
	"receipts":  {},
	"proxy":     {"engine", "rules", "receipts"},
	"cmd":       {"engine", "rules", "rulestest", "receipts", "proxy"},
	"examples":  {"engine", "rules", "rulestest", "receipts", "proxy"},
	"internal":  {},
}

// room is the top folder of one of our packages, "" for a foreign one.
func room(pkg string) string {
	rest, ours := strings.CutPrefix(pkg, module+"/")
	if !ours {
		return ""
	}
	top, _, _ := strings.Cut(rest, "/")
	return top
}

// list runs go list at the root and gives the words of each line.
func list(t *testing.T, args ...string) [][]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &errs)
	}
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 0 {
			lines = append(lines, f)
		}
	}
	return lines
}

const depsFormat = `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`

func TestImportDirections(t *testing.T) {
	rooms := make(map[string]bool)
	for _, line := range list(t, "-f", depsFormat, "./...") {
		pkg, deps := line[0], line[1:]
		from := room(pkg)
		rooms[from] = true
		may, known := allowed[from]
		if !known {
			t.Errorf("%s is in no room: give it one in this test, and its arrows", pkg)
			continue
		}
		for _, dep := range deps {
			to := room(dep)
			if to == "" || to == from || to == "internal" || slices.Contains(may, to) {
				continue
			}
			t.Errorf("%s imports %s: %s may know %q", pkg, dep, from, may)
		}
	}
	for _, name := range []string{"rules", "engine", "receipts", "proxy", "internal"} {
		if !rooms[name] {
			t.Errorf("no package of the room %q was looked at", name)
		}
	}
}

// The guard's own wire is not the SDK's, which drops members it does not know
// and does not give back the bytes it read.
func TestForbiddenImports(t *testing.T) {
	for _, line := range list(t, "-f", depsFormat, "./rules/...", "./engine/...", "./receipts/...", "./proxy/...", "./internal/...") {
		for _, dep := range line[1:] {
			if strings.HasPrefix(dep, "github.com/modelcontextprotocol/") {
				t.Errorf("%s depends on %s, which is for the demo's server and the tests", line[0], dep)
			}
		}
	}
}

// JSON is read in one place. The standard library's reader takes repeated and
// differently spelt members, so no room calls it.
func TestOneReaderOfJSON(t *testing.T) {
	looked := 0
	for _, dir := range []string{"rules", "engine", "receipts", "proxy", "internal", "rulestest"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			src, err := os.ReadFile(path)
			looked++
			for _, call := range []string{"json.Unmarshal(", "json.NewDecoder("} {
				if bytes.Contains(src, []byte(call)) {
					t.Errorf("%s calls %s…): read with internal/ijson", path, call)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 10 {
		t.Errorf("looked at %d files only", looked)
	}
}

// A person who reads a message has no document with numbered sections, but for
// the published ones that it names.
func TestMessagesNameNoSection(t *testing.T) {
	section := regexp.MustCompile(`(?:RFC \d+,? )?\bsection \d`)
	looked := 0
	for _, dir := range []string{"rules", "engine", "rulestest", "receipts", "proxy", "internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				text, ok := n.(*ast.BasicLit)
				if !ok || text.Kind != token.STRING {
					return true
				}
				looked++
				for _, found := range section.FindAllString(text.Value, -1) {
					if !strings.HasPrefix(found, "RFC") {
						t.Errorf("%s: a text names a section: %s", files.Position(text.Pos()), text.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 1000 {
		t.Errorf("looked at %d texts only", looked)
	}
}

// machine is what a file would say only by an oversight: where it was written, or
// the hosts that modules come from. Put together here so that this file passes.
var machine = []string{"/wo" + "rk/shared", "/wo" + "rk/main", "/wo" + "rk/.lib", "/tmp/" + "team", "proxy.go" + "lang.org", "registry.npm" + "js.org", "deb.deb" + "ian.org"}

func TestNoFileNamesTheMachine(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("NOT RUN: not a git work tree, so which files belong to it is not known: %v", err)
	}
	looked := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for _, word := range machine {
			if i := bytes.Index(b, []byte(word)); i >= 0 {
				t.Errorf("%s:%d names %s", name, 1+bytes.Count(b[:i], []byte("\n")), word)
			}
		}
	}
	if looked < 20 {
		t.Errorf("looked at %d files only", looked)
	}
}
