package pathtext_test

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/pathtext"
	"countersign/internal/verdict"

	"pgregory.net/rapid"
)

// tree is a disk for tests: path → "" for a folder, "file", "unreadable", or the
// target of a link behind an arrow.
type tree map[string]string

func (d tree) Look(name string) (pathtext.Entry, error) {
	if name != path.Clean(name) || !path.IsAbs(name) {
		return pathtext.Entry{}, fmt.Errorf("looked at %q, which is not clean", name)
	}
	what, ok := d[name]
	target, link := strings.CutPrefix(what, "-> ")
	switch {
	case !ok:
		return pathtext.Entry{Kind: pathtext.Missing}, nil
	case link:
		return pathtext.Entry{Kind: pathtext.Link, Target: target}, nil
	case what == "file":
		return pathtext.Entry{Kind: pathtext.File}, nil
	case what == "":
		return pathtext.Entry{Kind: pathtext.Folder}, nil
	}
	return pathtext.Entry{}, errors.New("no permission")
}

var house = tree{
	"/srv": "", "/srv/work": "", "/srv/work/ok": "", "/srv/work/ok/a": "file", "/srv/work/deep": "", "/srv/work/deep/er": "",
	"/srv/work/out": "-> /etc", "/srv/work/up": "-> ..", "/srv/work/inner": "-> ok", "/srv/work/leaf": "-> /etc/passwd",
	"/srv/work/dangling": "-> /etc/new", "/srv/work/down": "-> deep/er", "/srv/work/self": "-> self", "/srv/work/locked": "unreadable",
	"/srv/work/.env": "-> ../shared/env", "/srv/work/odd": "-> /srv//work/./ok/../ok", "/srv/work/empty": "-> ",
	"/srv/work/process": "-> /proc/self/cwd", "/srv/shared": "", "/srv/shared/env": "file",
	"/etc": "", "/etc/passwd": "file", "/etc/here": "-> /srv/work/ok", "/etc/resolv.conf": "-> /run/resolv.conf", "/run": "", "/run/resolv.conf": "file",
	"/bin": "-> usr/bin", "/usr": "", "/usr/bin": "", "/app": "-> /srv/work", "/proc": "", "/home": "", "/home/link": "-> /srv/work/ok/a",
	"/loops": "", "/loops/a": "-> b", "/loops/b": "-> a",
}

func onDisk(t testingT, o pathtext.Operand, d pathtext.Disk) *pathtext.Judge {
	t.Helper()
	o.Resolve = pathtext.OnDisk
	return judge(t, o).WithDisk(d)
}

// TestPATH01OnDisk is the fifth line of the case, judged on disk.
func TestPATH01OnDisk(t *testing.T) {
	for _, d := range []tree{
		{"/srv": "", "/srv/app": "", "/srv/app/sub": ""},
		{"/srv": "", "/srv/app": ""}, // sub is still to be made
		{},
	} {
		j := onDisk(t, pathtext.Operand{Under: []string{"/srv/app"}}, d)
		for text, want := range map[string]verdict.Result{
			"/srv/app/notes.txt":            holds,
			"/srv/app/sub/../notes.txt":     holds,
			"/srv/app/../app-old/notes.txt": fails,
			"/srv/app/../../etc/passwd":     fails,
			"srv/app/notes.txt":             unsure,
			"":                              unsure,
		} {
			expect(t, j, text, want)
		}
	}
}

// TestPATH04 is the case of that name, on the real disk.
func TestPATH04(t *testing.T) {
	parent := t.TempDir()
	w := filepath.Join(parent, "w")
	make := func(name string) {
		t.Helper()
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	make(w)
	make(filepath.Join(w, "ok"))
	make(filepath.Join(parent, "outside"))
	link(filepath.Join(parent, "outside"), filepath.Join(w, "link"))
	leaf := filepath.Join(parent, "outside", "hostname")
	if err := os.WriteFile(leaf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link(leaf, filepath.Join(w, "leaf"))
	link("ok", filepath.Join(w, "inner"))
	link(w, filepath.Join(parent, "root"))

	for _, root := range []string{w, filepath.Join(parent, "root")} {
		require := onDisk(t, pathtext.Operand{Under: []string{root}, Required: true}, pathtext.OS{})
		careful := onDisk(t, pathtext.Operand{Under: []string{root}}, pathtext.OS{})
		for name, allowed := range map[string]bool{
			"ok/new.txt":           true,
			"inner/new.txt":        true,
			"link/new.txt":         false,
			"link/../ok/new.txt":   false,
			"leaf":                 false,
			"missing/deep/new.txt": true,
		} {
			if allowed {
				expect(t, require, w+"/"+name, holds)
				expect(t, careful, w+"/"+name, holds)
				continue
			}
			expect(t, require, w+"/"+name, fails)
			expect(t, careful, w+"/"+name, unsure)
		}
	}
}

func TestOnDisk(t *testing.T) {
	work := pathtext.Operand{Under: []string{"/srv/work"}}
	require := work
	require.Required = true
	rows := []struct {
		name string
		o    pathtext.Operand
		want map[string]verdict.Result
	}{
		{"links in a require", require, map[string]verdict.Result{
			"/srv/work": holds, "/srv/work/ok/a": holds, "/srv/work/inner/a": holds, "/srv/work/odd/a": holds, "/srv/work/down/x": holds,
			"/srv/work/out": fails, "/srv/work/out/passwd": fails, "/srv/work/up": fails, "/srv/work/up/shared/env": fails, "/srv/work/leaf": fails,
			"/srv/work/dangling": fails, "/srv/work/up/work/ok": holds, "/etc/here/a": holds, "/app": holds, "/app/ok": holds, "/etc": fails, "/": fails,
		}},
		{"parents in a require", require, map[string]verdict.Result{
			"/srv/work/ok/../a": holds, "/srv/work/out/../srv/work/a": holds, "/srv/work/out/../a": fails, "/srv/work/down/../x": holds, "/srv/work/down/../../x": fails,
			"/srv/work/down/../../../x": fails, "/srv/work/none/../a": holds, "/srv/work/none/../out/x": fails, "/../srv/work/a": holds,
			"/bin/../srv/work": fails, "/srv/work/none/none/../../../x": fails, "/srv/work/..": fails, "/srv/work/ok/..": holds,
		}},
		{"what the disk cannot say", require, map[string]verdict.Result{
			"/srv/work/self": unsure, "/loops/a": unsure, "/srv/work/locked": unsure, "/srv/work/locked/x": unsure, "/srv/work/empty": unsure,
			"/srv/work/process": unsure, "/srv/work/process/x": unsure, "/proc": unsure, "/proc/self/root/srv/work": unsure, "/srv/../proc/x": unsure,
			"/srv/work/ok/a/x": unsure, "/srv/work/ok/a/../b": unsure, "/srv/work/ok/a/.": holds, "/processes": fails,
		}},
		{"a refuse", pathtext.Operand{Under: []string{"/etc"}}, map[string]verdict.Result{
			"/etc/passwd": holds, "/srv/work/out/passwd": holds, "/srv/work/leaf": holds, "/srv/work/dangling": holds, "/srv/work/ok/a": fails,
			// Its own place is in /etc, and it leads out of there.
			"/etc/resolv.conf": unsure, "/etc/here/a": unsure,
			// A server that cleans first opens /etc/passwd, the kernel something else.
			"/bin/../etc/passwd": unsure, "/bin/../x": fails,
		}},
		{"a root that is a link", pathtext.Operand{Under: []string{"/app"}}, map[string]verdict.Result{
			"/app/ok": holds, "/srv/work/ok": holds, "/srv/shared": fails,
		}},
		{"a root that cannot be followed", pathtext.Operand{Under: []string{"/srv/work/locked/x", "/srv/work/ok"}}, map[string]verdict.Result{
			"/srv/work/ok/a": holds, "/srv/shared": unsure,
		}},
		{"a root through /proc", pathtext.Operand{Under: []string{"/proc/self/cwd"}}, map[string]verdict.Result{"/srv/work": unsure}},
		{"globs in a require", pathtext.Operand{Like: []string{"/srv/work/**"}, Required: true}, map[string]verdict.Result{
			"/srv/work/ok": holds, "/srv/work/out/x": fails, "/app/ok": holds, "/srv/work/leaf": fails,
		}},
		{"globs that begin with a link", pathtext.Operand{Like: []string{"/app/*/a"}, Required: true}, map[string]verdict.Result{
			"/app/ok/a": holds, "/srv/work/ok/a": holds, "/app/ok/b": fails,
		}},
		{"a glob without signs that is a link", pathtext.Operand{Like: []string{"/home/link"}}, map[string]verdict.Result{
			"/home/link": holds, "/srv/work/ok/a": holds, "/srv/work/ok": fails,
		}},
		{"globs in a refuse", pathtext.Operand{Like: []string{"**/.env", "/etc/**"}}, map[string]verdict.Result{
			// The name is the forbidden one, though the link leads elsewhere.
			"/srv/work/.env": unsure, "/srv/work/leaf": holds, "/srv/work/ok/.env": holds, "/srv/shared/env": fails,
		}},
		{"not like, required", pathtext.Operand{NotLike: []string{"**/.env", "/etc/**"}, Required: true}, map[string]verdict.Result{
			"/srv/work/.env": fails, "/srv/work/leaf": fails, "/srv/work/ok": holds, "/bin/../etc/x": fails,
		}},
		{"not like in a refuse", pathtext.Operand{NotLike: []string{"/srv/work/**"}}, map[string]verdict.Result{
			"/srv/work/ok": fails, "/srv/work/out/x": unsure, "/etc/x": holds, "/srv/work/out/../srv/work/x": fails, "/bin/../srv/work/x": unsure,
		}},
		{"several members", pathtext.Operand{Under: []string{"/srv/work"}, NotLike: []string{"**/.env"}, Required: true}, map[string]verdict.Result{
			"/srv/work/ok/.env": fails, "/srv/work/ok/a": holds, "/etc/.env": fails, "/etc/x": fails,
		}},
		{"fold", pathtext.Operand{Under: []string{"/SRV/work"}, Fold: true, Required: true}, map[string]verdict.Result{"/srv/work/ok": holds, "/srv/work/leaf": fails}},
		{"a base", pathtext.Operand{Under: []string{"/srv/work"}, Base: "/srv/work", Required: true}, map[string]verdict.Result{"ok/a": holds, "out/a": fails, "../shared": fails, "ok/../x": holds}},
		{"text is read as before", require, map[string]verdict.Result{"/srv/work/%2e%2e/x": unsure, "/srv/work/a\n": unsure, `\srv`: unsure, "~": unsure, "file:/x": unsure}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			j := onDisk(t, r.o, house)
			for text, want := range r.want {
				expect(t, j, text, want)
			}
		})
	}
}

func TestNoDisk(t *testing.T) {
	expect(t, judge(t, pathtext.Operand{Under: []string{"/srv"}, Resolve: pathtext.OnDisk}), "/srv/a", unsure)
	// An operand that asks for no disk never looks at one.
	expect(t, judge(t, pathtext.Operand{Under: []string{"/srv"}}).WithDisk(tree{"/srv": "unreadable"}), "/srv/a", holds)
}

// TestFollowIsBounded: forty links, no more, and no endless targets.
func TestFollowIsBounded(t *testing.T) {
	chain := tree{"/l40": ""}
	for i := range 41 {
		chain[fmt.Sprintf("/c%d", i)] = fmt.Sprintf("-> /c%d", i+1)
	}
	chain["/c41"] = ""
	if place, why := pathtext.Follow(chain, "/c1"); why != "" || place != "/c41" {
		t.Errorf("40 links: got %q, %s", place, why)
	}
	if place, why := pathtext.Follow(chain, "/c0"); why == "" {
		t.Errorf("41 links: got %q", place)
	}
	long := tree{"/a": "-> " + strings.Repeat("x/", 2100)}
	if place, why := pathtext.Follow(long, "/a"); why == "" {
		t.Errorf("a target of 4,200 bytes: got %q", place)
	}
	// Each link puts thousands of segments before what is left.
	wide := tree{"/d": "", "/a": "-> " + strings.Repeat("d/../", 800) + "a"}
	if place, why := pathtext.Follow(wide, "/a"); why == "" {
		t.Errorf("targets without end: got %q", place)
	}
}

func TestOS(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]pathtext.Entry{
		dir:              {Kind: pathtext.Folder},
		dir + "/file":    {Kind: pathtext.File},
		dir + "/link":    {Kind: pathtext.Link, Target: "target"},
		dir + "/missing": {Kind: pathtext.Missing},
	} {
		if got, err := (pathtext.OS{}).Look(name); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "relative", dir + "/file/x", "/proc/self/cwd", "/proc/self", dir + "/" + strings.Repeat("n", 300)} {
		if strings.HasPrefix(name, "/proc") {
			if _, err := os.Lstat(name); err != nil {
				continue // no procfs here
			}
		}
		if got, err := (pathtext.OS{}).Look(name); err == nil {
			t.Errorf("%q: got %v, want an error", name, got)
		}
	}
	if os.Getuid() == 0 {
		return // root may read every folder
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, onDisk(t, pathtext.Operand{Under: []string{dir}}, pathtext.OS{}), closed+"/x", unsure)
}

// segments are what drawn paths and links are made of.
var segments = rapid.SampledFrom([]string{".", "..", "..", "a/b", "a", "b", "c", "d"})

// drawTree makes a tree of folders and drawn links.
func drawTree(t *rapid.T, root string) {
	for _, dir := range []string{"", "/a", "/b", "/a/b", "/a/c"} {
		if err := os.Mkdir(root+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 6 {
		at := root + "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3).Draw(t, "link"), "/")
		target := strings.Join(rapid.SliceOfN(segments, 1, 4).Draw(t, "target"), "/")
		if rapid.Bool().Draw(t, "absolute") {
			target = root + "/" + target
		}
		os.Symlink(target, at) // where something stands already it stays
	}
}

// kernelPlace asks the kernel where a path leads.
func kernelPlace(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
}

// drawnBase gives a folder for drawn trees, or skips where the kernel cannot be
// asked.
func drawnBase(t *testing.T) string {
	t.Helper()
	if _, err := os.Readlink("/proc/self/fd/0"); err != nil {
		t.Skip("NOT RUN: needs /proc/self/fd to ask the kernel where a file is")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// TestFollowsAsTheKernel compares the place reached with that of a file opened at
// the same path, over drawn trees of folders and links.
func TestFollowsAsTheKernel(t *testing.T) {
	base := drawnBase(t)
	reached, missed, trees := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		trees++
		root := filepath.Join(base, fmt.Sprint(trees))
		drawTree(t, root)
		for range 10 {
			name := root + "/" + strings.Join(rapid.SliceOfN(segments, 1, 6).Draw(t, "path"), "/")
			place, why := pathtext.Follow(pathtext.OS{}, name)
			want, err := kernelPlace(name)
			switch {
			case err == nil:
				reached++
				if place == "" {
					place = "/"
				}
				if why != "" || place != want {
					t.Fatalf("%s: got %q (%s), the kernel reaches %q", name, place, why, want)
				}
			case errors.Is(err, syscall.ELOOP):
				if why == "" {
					t.Fatalf("%s: got %q, and the kernel finds a loop", name, place)
				}
			default:
				missed++
			}
		}
	})
	if !testing.Short() && (reached < 100 || missed < 20) {
		t.Errorf("%d places reached, %d missed: the draw looks at too little", reached, missed)
	}
}

// TestHeldOnDiskIsInside: a path that holds leads inside the root, and one that
// fails without being required leads outside, for a server that opens it as it is
// and for one that cleans it first.
func TestHeldOnDiskIsInside(t *testing.T) {
	base := drawnBase(t)
	held, failed, trees := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		trees++
		root := filepath.Join(base, fmt.Sprint(trees))
		drawTree(t, root)
		guarded := root + "/a"
		require := onDisk(t, pathtext.Operand{Under: []string{guarded}, Required: true}, pathtext.OS{})
		refuse := onDisk(t, pathtext.Operand{Like: []string{guarded + "/**"}}, pathtext.OS{})
		for range 10 {
			name := root + "/" + strings.Join(rapid.SliceOfN(segments, 1, 6).Draw(t, "path"), "/")
			required, _ := require.Judge(name)
			refused, _ := refuse.Judge(name)
			for _, opened := range []string{name, path.Clean(name)} {
				place, err := kernelPlace(opened)
				if err != nil {
					continue
				}
				in := inside(place, guarded)
				if required == holds && !in {
					t.Fatalf("%s holds, and %s is %s", name, opened, place)
				}
				if refused == fails && in {
					t.Fatalf("%s fails, and %s is %s", name, opened, place)
				}
				if required == holds {
					held++
				}
				if refused == fails {
					failed++
				}
			}
		}
	})
	if !testing.Short() && (held < 50 || failed < 50) {
		t.Errorf("%d held, %d failed: the draw looks at too little", held, failed)
	}
}
