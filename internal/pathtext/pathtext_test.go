package pathtext_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/pathtext"
	"countersign/internal/verdict"
)

const (
	holds  = verdict.Holds
	fails  = verdict.Fails
	unsure = verdict.CannotJudge
)

// testingT is what *testing.T and *rapid.T share here.
type testingT interface {
	Helper()
	Fatalf(string, ...any)
}

func judge(t testingT, o pathtext.Operand) *pathtext.Judge {
	t.Helper()
	j, err := pathtext.New(o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return j
}

// expect judges one text every way there is.
func expect(t *testing.T, j *pathtext.Judge, text string, want verdict.Result) {
	t.Helper()
	got, why := j.Judge(text)
	if got != want {
		t.Errorf("%q under %+v: got %v (%s), want %v", text, j.Operand(), got, why, want)
	}
	if (why == "") != (got == holds) {
		t.Errorf("%q: %v with the reason %q", text, got, why)
	}
	if again, _ := j.JudgeBytes([]byte(text)); again != got {
		t.Errorf("%q as bytes: got %v, want %v", text, again, got)
	}
	if slow, _ := j.JudgeSlowly(text); slow != got {
		t.Errorf("%q the long way: got %v, want %v", text, slow, got)
	}
}

// TestPATH01 is the case of that name, judged as text. Its fifth line judged on
// disk is in TestPATH01OnDisk.
func TestPATH01(t *testing.T) {
	j := judge(t, pathtext.Operand{Under: []string{"/srv/app"}})
	for text, want := range map[string]verdict.Result{
		"/srv/app/notes.txt":            holds,
		"/srv/app":                      holds,
		"/srv/app/":                     holds,
		"/srv//app/./notes.txt":         holds,
		"/srv/app/sub/../notes.txt":     unsure,
		"/srv/app-old/notes.txt":        fails,
		"/srv/application.txt":          fails,
		"/srv/app/../app-old/notes.txt": unsure,
		"/srv/app/../../etc/passwd":     unsure,
		"srv/app/notes.txt":             unsure,
		"":                              unsure,
	} {
		expect(t, j, text, want)
	}
}

// TestPATH02 is the case of that name: a refuse folds, a require does not.
func TestPATH02(t *testing.T) {
	refuse := judge(t, pathtext.Operand{Like: []string{"**/.env", "**/.env/**", "**/.ssh/**"}, Fold: true})
	require := judge(t, pathtext.Operand{Under: []string{"/srv/app"}})
	for _, r := range []struct {
		text             string
		refuses, allowed bool
	}{
		{"/srv/app/.env", true, true},
		{"/srv/app/.ENV", true, true},
		{"/srv/app/.Ssh/id_test", true, true},
		{"/SRV/APP/readme.md", false, false},
		{"/srv/app/readme.md", false, true},
	} {
		expect(t, refuse, r.text, map[bool]verdict.Result{true: holds, false: fails}[r.refuses])
		expect(t, require, r.text, map[bool]verdict.Result{true: holds, false: fails}[r.allowed])
	}
}

// TestPATH03 is the part of the case of that name that is about paths.
func TestPATH03(t *testing.T) {
	j := judge(t, pathtext.Operand{Under: []string{"/docs"}})
	for text, want := range map[string]verdict.Result{
		"/docs/100%25.txt":             holds,
		"/docs/%2e%2e/etc/passwd":      unsure,
		"/docs/%252e%252e/etc/passwd":  unsure,
		"/docs/%2%65%2%65/etc/passwd":  unsure,
		"file:///docs/a.md":            unsure,
		"/docs/%2525252e%2525252e/etc": holds, // the fourth round is no round of ours
	} {
		expect(t, j, text, want)
	}
}

// TestGLOB01 is the case of that name, through the path test: a path is cleaned
// before it is matched, and a relative one is judged only behind a base.
func TestGLOB01(t *testing.T) {
	for _, r := range []struct {
		glob, text string
		want       verdict.Result
	}{
		{"**/.env", ".env", unsure},
		{"**/.env", "/.env", holds},
		{"**/.env", "/srv/app/.env", holds},
		{"/srv/app/**/*", "/srv/app/a.txt", holds},
		{"/srv/app/**/*", "/srv/app//a.txt", holds},
		{"/srv/app/*", "/srv/app/a/b.txt", fails},
		{"/srv/*/secret", "/srv/a/b/secret", fails},
	} {
		expect(t, judge(t, pathtext.Operand{Like: []string{r.glob}}), r.text, r.want)
	}
	expect(t, judge(t, pathtext.Operand{Like: []string{"**/.env"}, Base: "/srv/app"}), ".env", holds)
}

// TestGLOB02 is the case of that name, through the path test.
func TestGLOB02(t *testing.T) {
	for _, r := range []struct {
		glob, text string
		want       verdict.Result
	}{
		{"/**", "/etc/passwd", holds},
		{"/**", "/", holds},
		{"/srv/app/**", "/srv/app/x", holds},
		{"/srv/app/**", "/srv/app", holds},
		{"/srv/app/**", "/srv/app/", holds},
		{"/srv/app/**", "/srv/apple", fails},
	} {
		expect(t, judge(t, pathtext.Operand{Like: []string{r.glob}}), r.text, r.want)
	}
	if _, err := pathtext.New(pathtext.Operand{Like: []string{""}}); err == nil {
		t.Error("an empty glob was taken")
	}
}

func TestMembers(t *testing.T) {
	work := []string{"/srv/work"}
	rows := []struct {
		name string
		o    pathtext.Operand
		want map[string]verdict.Result
	}{
		{"the root of all", pathtext.Operand{Under: []string{"/"}},
			map[string]verdict.Result{"/": holds, "//": holds, "/.": holds, "/a": holds, "a": unsure}},
		{"a slash as glob", pathtext.Operand{Like: []string{"/"}},
			map[string]verdict.Result{"/": holds, "///": holds, "/a": fails}},
		{"one level", pathtext.Operand{Like: []string{"/*"}},
			map[string]verdict.Result{"/": fails, "/a": holds, "/.a": holds, "/a/": holds, "/a/b": fails}},
		{"two roots", pathtext.Operand{Under: []string{"/a", "/b/c"}},
			map[string]verdict.Result{"/a/x": holds, "/b/c": holds, "/b": fails, "/b/cd": fails, "/ab": fails}},
		{"all members", pathtext.Operand{Under: work, Like: []string{"**/*.txt"}, NotLike: []string{"**/.*/**"}},
			map[string]verdict.Result{"/srv/work/a.txt": holds, "/srv/work/a.go": fails, "/srv/work/.git/a.txt": fails, "/tmp/a.txt": fails}},
		{"not like", pathtext.Operand{NotLike: []string{"/etc/**", "**/.env"}},
			map[string]verdict.Result{"/etc": fails, "/etc/passwd": fails, "/a/.env": fails, "/a/env": holds, "//etc//x": fails}},
		{"a base", pathtext.Operand{Under: work, Base: "/srv/work/sub"},
			map[string]verdict.Result{"a": holds, "./a": holds, ".": holds, "../a": unsure, "/srv/work/b": holds, "/tmp": fails, "~": unsure, "~a": unsure, "a/~": holds}},
		{"the root as base", pathtext.Operand{Under: work, Base: "/"},
			map[string]verdict.Result{"srv/work/a": holds, "srv": fails, ".": fails}},
		{"fold", pathtext.Operand{Under: []string{"/Users/Zoë"}, Fold: true},
			map[string]verdict.Result{"/users/ZOE\u0308/x": holds, "/USERS/zoë": holds, "/users/zoe": fails, "/USER\u017f/zoë": holds}},
		{"fold in globs", pathtext.Operand{Like: []string{"/[A-C]/É*"}, Fold: true},
			map[string]verdict.Result{"/a/e\u0301tude": holds, "/B/É": holds, "/d/é": fails}},
		{"no fold", pathtext.Operand{Under: []string{"/Users"}},
			map[string]verdict.Result{"/users": fails, "/Users/x": holds}},
		{"dots in names", pathtext.Operand{Under: work},
			map[string]verdict.Result{"/srv/work/...": holds, "/srv/work/..a": holds, "/srv/work/a..": holds, "/srv/work/.a": holds, "/srv/work/.": holds, "/srv/work/a/.": holds, "/srv/work/..": unsure}},
		{"the name of a home further in", pathtext.Operand{Under: work},
			map[string]verdict.Result{"/srv/work/~": holds, "/srv/work/a~1": holds, "~/srv/work": unsure}},
		{"file URLs", pathtext.Operand{Under: work, Base: "/srv/work"},
			map[string]verdict.Result{"file:/srv/work": unsure, "FILE:a": unsure, "file": holds, "files:a": holds, "/srv/work/file:a": holds}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			j := judge(t, r.o)
			for text, want := range r.want {
				expect(t, j, text, want)
			}
		})
	}
}

// TestManyRoots compares the tree of roots with the list.
func TestManyRoots(t *testing.T) {
	names := []string{"/a", "/b/c", "/b/cd", "/e/f/g", "/h", "/h/i"}
	if len(names) <= pathtext.FewRoots {
		t.Fatal("not enough roots for a tree")
	}
	many := judge(t, pathtext.Operand{Under: names})
	for text, want := range map[string]verdict.Result{
		"/a": holds, "/a/x/y": holds, "/ab": fails, "/b": fails, "/b/c": holds, "/b/c/x": holds, "/b/cd/x": holds,
		"/b/cde": fails, "/e/f": fails, "/e/f/g": holds, "/h/z": holds, "/": fails, "/z": fails,
	} {
		expect(t, many, text, want)
		var any verdict.Result
		for _, n := range names {
			if r, _ := judge(t, pathtext.Operand{Under: []string{n}}).Judge(text); r == holds {
				any = holds
			}
		}
		if any != want {
			t.Errorf("%q under each root: got %v, want %v", text, any, want)
		}
	}
	all := judge(t, pathtext.Operand{Under: append(names, "/")})
	expect(t, all, "/z", holds)
	expect(t, all, "/", holds)
}

func TestLength(t *testing.T) {
	j := judge(t, pathtext.Operand{Under: []string{"/a"}})
	long := "/a/" + strings.Repeat("b", pathtext.MaxBytes-3)
	expect(t, j, long, holds)
	expect(t, j, long+"b", unsure)
	expect(t, j, "/a/"+strings.Repeat("/", pathtext.MaxBytes-3), holds)
	expect(t, j, "/a/"+strings.Repeat("/", pathtext.MaxBytes-2), unsure)
}

// TestOperandErrors holds the text of every fault, since authors live by it.
func TestOperandErrors(t *testing.T) {
	rows := []struct {
		name string
		o    pathtext.Operand
		want string
	}{
		{"nothing", pathtext.Operand{}, `expected at least one of under, like and notLike`},
		{"nothing but a base", pathtext.Operand{Base: "/a"}, `expected at least one of under, like and notLike`},
		{"empty list", pathtext.Operand{Under: []string{}}, `under: an empty list; expected at least one folder`},
		{"empty globs", pathtext.Operand{NotLike: []string{}}, `notLike: an empty list; expected at least one glob`},
		{"style", pathtext.Operand{Under: []string{"/a"}, Style: "dos"}, `style: expected "posix" or "windows"`},
		{"resolve", pathtext.Operand{Under: []string{"/a"}, Resolve: "link"}, `resolve: expected "text" or "disk"`},
		{"disk of Windows", pathtext.Operand{Under: []string{`C:\a`}, Style: "windows", Resolve: "disk"}, `resolve: "disk" follows the links of a POSIX system; with style "windows" expected "text"`},

		{"relative root", pathtext.Operand{Under: []string{"srv/work"}}, `under, entry 1: "srv/work": expected an absolute, clean path; write "/srv/work"`},
		{"slash at the end", pathtext.Operand{Under: []string{"/ok", "/srv/"}}, `under, entry 2: "/srv/": expected an absolute, clean path; write "/srv"`},
		{"doubled slash", pathtext.Operand{Under: []string{"/srv//work"}}, `under, entry 1: "/srv//work": expected an absolute, clean path; write "/srv/work"`},
		{"dots in a root", pathtext.Operand{Under: []string{"/srv/x/../work"}}, `under, entry 1: "/srv/x/../work": expected an absolute, clean path; write "/srv/work"`},
		{"dot in a base", pathtext.Operand{Under: []string{"/a"}, Base: "/srv/./work"}, `base: "/srv/./work": expected an absolute, clean path; write "/srv/work"`},
		{"home", pathtext.Operand{Under: []string{"~/work"}}, `under, entry 1: "~/work": expected an absolute, clean path; write the home folder out, such as "/home/name/work"`},
		{"empty root", pathtext.Operand{Under: []string{""}}, `under, entry 1: "" (an empty text): expected an absolute, clean path that can be judged, such as "/srv/work"`},
		{"dot as root", pathtext.Operand{Under: []string{"."}}, `under, entry 1: "." (a relative path, and no base is set): expected an absolute, clean path that can be judged, such as "/srv/work"`},
		{"parent as root", pathtext.Operand{Under: []string{"../x"}}, `under, entry 1: "../x" (a relative path, and no base is set): expected an absolute, clean path that can be judged, such as "/srv/work"`},
		{"URL as root", pathtext.Operand{Under: []string{"file:///srv/work"}}, `under, entry 1: "file:///srv/work": expected an absolute, clean path; write "/srv/work"`},
		{"Windows root", pathtext.Operand{Under: []string{`C:\work`}}, `under, entry 1: "C:\\work": expected an absolute, clean path, such as "/srv/work"; a path with backslashes needs style "windows"`},
		{"line end in a root", pathtext.Operand{Under: []string{"/srv\n"}}, `under, entry 1: "/srv\n" (a control character): expected an absolute, clean path that can be judged, such as "/srv/work"`},

		{"Windows relative", pathtext.Operand{Under: []string{`work`}, Style: "windows"}, `under, entry 1: "work": expected an absolute, clean Windows path; write "C:\\work"`},
		{"Windows drive alone", pathtext.Operand{Under: []string{`C:`}, Style: "windows"}, `under, entry 1: "C:": expected an absolute, clean Windows path; write "C:\\"`},
		{"Windows slash at the end", pathtext.Operand{Under: []string{`C:\work\`}, Style: "windows"}, `under, entry 1: "C:\\work\\": expected an absolute, clean Windows path; write "C:\\work"`},
		{"Windows slashes", pathtext.Operand{Under: []string{`C:/work/../x`}, Style: "windows"}, `under, entry 1: "C:/work/../x": expected an absolute, clean Windows path; write "C:/x"`},
		{"Windows rooted", pathtext.Operand{Under: []string{`/work`}, Style: "windows"}, `under, entry 1: "/work": expected an absolute, clean Windows path; write "C:/work"`},
		{"Windows share", pathtext.Operand{Under: []string{`\\files\work\`}, Style: "windows"}, `under, entry 1: "\\\\files\\work\\": expected an absolute, clean Windows path; write "\\\\files\\work"`},
		{"Windows device", pathtext.Operand{Under: []string{`C:\con`}, Style: "windows"}, `under, entry 1: "C:\\con" (the name of a device): expected an absolute, clean Windows path that can be judged, such as "C:\\work"`},

		{"relative glob", pathtext.Operand{Like: []string{"srv/**"}}, `like, entry 1: "srv/**": expected a glob of whole paths, which begins with / or **; write "/srv/**", or "**/srv/**" for any folder`},
		{"star first", pathtext.Operand{Like: []string{"*/x"}}, `like, entry 1: "*/x": expected a glob of whole paths, which begins with / or **; write "/*/x", or "**/*/x" for any folder`},
		{"a name alone", pathtext.Operand{NotLike: []string{".env"}}, `notLike, entry 1: ".env": expected a glob of whole paths, which begins with / or **; write "/.env", or "**/.env" for any folder`},
		{"home glob", pathtext.Operand{Like: []string{"~/x"}}, `like, entry 1: "~/x": expected a glob of whole paths, which begins with / or **; write the home folder out, such as "/home/*/x"`},
		{"dots in a glob", pathtext.Operand{Like: []string{"/a/../b"}}, `like, entry 1: "/a/../b": glob, character 6: a clean path has no .. segment; write "/b"`},
		{"dot in a glob", pathtext.Operand{Like: []string{"/a/./*"}}, `like, entry 1: "/a/./*": glob, character 5: a clean path has no . segment; write "/a/*"`},
		{"slash at a glob's end", pathtext.Operand{Like: []string{"/a/"}}, `like, entry 1: "/a/": glob, character 4: a clean path has no slash at its end; write "/a"`},
		{"doubled slash in a glob", pathtext.Operand{Like: []string{"/a//b"}}, `like, entry 1: "/a//b": glob, character 4: a clean path has no doubled slash; write "/a/b"`},
		{"slash behind **", pathtext.Operand{Like: []string{"**/x/**/"}}, `like, entry 1: "**/x/**/": glob, character 9: a clean path has no slash at its end; write "**/x/**"`},
		{"one branch", pathtext.Operand{Like: []string{"/ok/{a,..}/b"}}, `like, entry 1: "/ok/{a,..}/b": glob, character 11: a clean path has no .. segment`},
		{"one relative branch", pathtext.Operand{Like: []string{"{/a,b}/c"}}, `like, entry 1: "{/a,b}/c": glob, character 5: expected a glob of whole paths, which begins with / or **`},
		{"an empty branch at the end", pathtext.Operand{Like: []string{"/a/{b,}"}}, `like, entry 1: "/a/{b,}": glob, character 8: a clean path has no slash at its end`},
		{"dots in brackets", pathtext.Operand{Like: []string{"/a/[.][.]/b"}}, `like, entry 1: "/a/[.][.]/b": no path is judged that holds a .. segment`},
		{"escape in a glob", pathtext.Operand{Like: []string{"/a/%2e/b"}}, `like, entry 1: "/a/%2e/b": no path is judged that holds a percent escape of a slash, backslash, dot or NUL`},
		{"invisible in a glob", pathtext.Operand{Like: []string{"/a/\u200b*"}}, "like, entry 1: \"/a/\\u200b*\": glob, character 4: no path is judged that holds an invisible character"},
		{"backslash in a glob", pathtext.Operand{Like: []string{`/a/\\*`}}, `like, entry 1: "/a/\\\\*": glob, character 4: no path is judged that holds a backslash`},
		{"not a glob", pathtext.Operand{Like: []string{"/a/b]"}}, `like, entry 1: "/a/b]": glob, character 5: a ] that closes nothing; write \] for the character itself`},
		{"** in a segment", pathtext.Operand{Like: []string{"/a/**.go"}}, `like, entry 1: "/a/**.go": glob, character 6: ** is a whole segment or nothing; write * for any run of characters in a segment`},

		{"Windows glob with backslashes", pathtext.Operand{Like: []string{`C:\work\**`}, Style: "windows"}, `like, entry 1: "C:\\work\\**": glob, character 3: expected a glob of whole paths, which begins with a drive as C:/, with //server/share or with **; write "C:/work/**"`},
		{"Windows glob without drive", pathtext.Operand{Like: []string{`/work/**`}, Style: "windows"}, `like, entry 1: "/work/**": glob, character 2: expected a glob of whole paths, which begins with a drive as C:/, with //server/share or with **; write "C:/work/**"`},
		{"Windows glob, relative", pathtext.Operand{Like: []string{`*.txt`}, Style: "windows"}, `like, entry 1: "*.txt": expected a glob of whole paths, which begins with a drive as C:/, with //server/share or with **; write "C:/*.txt", or "**/*.txt" for any folder`},
		{"Windows glob, trailing dot", pathtext.Operand{Like: []string{`C:/a./*`}, Style: "windows"}, `like, entry 1: "C:/a./*": glob, character 6: no path is judged that holds a segment that ends in a dot or a space`},
		{"Windows glob, colon", pathtext.Operand{Like: []string{`C:/a:b`}, Style: "windows"}, `like, entry 1: "C:/a:b": glob, character 5: no path is judged that holds a colon that is not behind a drive letter`},
		{"Windows glob, device", pathtext.Operand{Like: []string{`**/nul`}, Style: "windows"}, `like, entry 1: "**/nul": no path is judged that holds the name of a device`},
		{"Windows glob, server alone", pathtext.Operand{Like: []string{`//files`}, Style: "windows"}, `like, entry 1: "//files": glob, character 8: expected a glob of whole paths, which begins with a drive as C:/, with //server/share or with **`},

		{"several", pathtext.Operand{Under: []string{"a", "/b/"}, Like: []string{"c"}, Base: "d", Style: "x"},
			`style: expected "posix" or "windows"; under, entry 1: "a": expected an absolute, clean path; write "/a"; under, entry 2: "/b/": expected an absolute, clean path; write "/b"; like, entry 1: "c": expected a glob of whole paths, which begins with / or **; write "/c", or "**/c" for any folder; base: "d": expected an absolute, clean path; write "/d"`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := pathtext.New(r.o)
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != r.want {
				t.Errorf("got  %s\nwant %s", err, r.want)
			}
		})
	}
	_, err := pathtext.New(pathtext.Operand{Under: []string{"/a", "b"}, Like: []string{"c"}})
	var all pathtext.Errors
	if !errors.As(err, &all) || len(all) != 2 || all[0].Member != "under" || all[0].Index != 1 || all[1].Member != "like" || all[1].Index != 0 {
		t.Errorf("got %#v", err)
	}
	var one *pathtext.Error
	if !errors.As(err, &one) || one.Member != "under" {
		t.Errorf("got %v, want the first fault", one)
	}
}

// TestGoodOperands holds globs and roots that look odd and can match.
func TestGoodOperands(t *testing.T) {
	for _, o := range []pathtext.Operand{
		{Like: []string{"/", "/*", "/**", "**", "**/x", "/{a,b/**}", "/a/.*", "/a/..*", "/.{a,b}", "/a/...", "{/a,**/b}", "/a{,b}", "/[!a]*", "/a/100%25", "/a:b", "/a/~"}},
		{Under: []string{"/"}, Base: "/"},
		{Like: []string{"C:/**", "c:/x", "?:/x", "[C-D]:/x", "**/x", "//files/work/**", "//files/**", "//*/work/x", "C:/"}, Style: "windows"},
		{Under: []string{`C:\`, `c:\a`, `D:/a/b`, `\\files\work`, `//files/work/x`}, Base: `C:\a`, Style: "windows"},
	} {
		judge(t, o)
	}
}
