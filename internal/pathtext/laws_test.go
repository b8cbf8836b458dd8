package pathtext_test

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/pathtext"
	"countersign/internal/verdict"

	"pgregory.net/rapid"
)

// inside reports whether a clean path is the root or lies under it.
func inside(clean, root string) bool {
	return root == "/" || clean == root || strings.HasPrefix(clean, root+"/")
}

// heldInside fails unless a text that holds stays inside the root whichever way a
// server cleans it: as it is, and decoded up to three times.
func heldInside(fatalf func(string, ...any), text, base, root string) {
	for round := range 4 {
		full := text
		if !strings.HasPrefix(full, "/") {
			full = base + "/" + full
		}
		if clean := path.Clean(full); !inside(clean, root) {
			fatalf("%q holds under %q, and decoded %d times it is %q", text, root, round, clean)
		}
		decoded, err := url.PathUnescape(text)
		if err != nil {
			return
		}
		text = decoded
	}
}

func paths() *rapid.Generator[string] {
	pieces := []string{"/", "/", "/", "srv", "work", "a", ".", "..", "%2e", "%", "2e", "%25", "%2f", "~", "é", "\u200b", "\n", `\`, "etc", "file:", "workshop", "SRV", "．"}
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "/", "/srv/work", "/srv/work/"}).Draw(t, "start") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "rest"), "")
	})
}

// TestHeldIsInside: a text that holds under a root is inside it when path.Clean
// has had its way with it.
func TestHeldIsInside(t *testing.T) {
	rows := []pathtext.Operand{
		{Under: []string{"/srv/work"}},
		{Under: []string{"/srv/work"}, Base: "/srv/work/a"},
		{Under: []string{"/srv/work"}, Base: "/"},
		{Like: []string{"/srv/work/**"}, Base: "/srv/work"},
		{Like: []string{"/srv/w[o]rk/{a,**}"}},
	}
	held := 0
	for _, o := range rows {
		j := judge(t, o)
		rapid.Check(t, func(t *rapid.T) {
			text := paths().Draw(t, "text")
			got, _ := j.Judge(text)
			if slow, _ := j.JudgeSlowly(text); slow != got {
				t.Fatalf("%q: got %v, the long way %v", text, got, slow)
			}
			if got != holds {
				return
			}
			held++
			heldInside(t.Fatalf, text, o.Base, "/srv/work")
		})
	}
	if !testing.Short() && held < 20 {
		t.Errorf("%d texts held: the draw looks at too little", held)
	}
}

// TestFoldOnlyWidensUnder: what holds without fold holds with it.
func TestFoldOnlyWidensUnder(t *testing.T) {
	exact := judge(t, pathtext.Operand{Under: []string{"/srv/work", "/SRV/é"}})
	folded := judge(t, pathtext.Operand{Under: []string{"/srv/work", "/SRV/é"}, Fold: true})
	rapid.Check(t, func(t *rapid.T) {
		text := paths().Draw(t, "text")
		a, _ := exact.Judge(text)
		b, _ := folded.Judge(text)
		if a == holds && b != holds || (a == unsure) != (b == unsure) {
			t.Fatalf("%q: exact %v, folded %v", text, a, b)
		}
	})
}

// seeds are texts, one a line, with Go's escapes.
func seeds(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/seeds/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no seeds under testdata/seeds: %v", err)
	}
	var out []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

func TestSeeds(t *testing.T) {
	if got := len(seeds(t)); got < 30 {
		t.Fatalf("%d seeds, want at least 30", got)
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	for _, a := range posixAttempts() {
		f.Add(a.text)
	}
	plain := judge(f, pathtext.Operand{Under: []string{"/srv/work"}, NotLike: []string{"**/.env"}})
	based := judge(f, pathtext.Operand{Under: []string{"/srv/work"}, Base: "/srv/work"})
	fold := judge(f, pathtext.Operand{Under: []string{"/srv/work"}, Fold: true})
	windows := judge(f, pathtext.Operand{Under: []string{`C:\work`}, Style: pathtext.Windows})
	windowsFold := judge(f, pathtext.Operand{Under: []string{`C:\work`}, Style: pathtext.Windows, Fold: true})
	f.Fuzz(func(t *testing.T, text string) {
		for _, j := range []*pathtext.Judge{plain, based, fold, windows, windowsFold} {
			got, why := j.Judge(text)
			if got == verdict.Absent || (why == "") != (got == holds) {
				t.Fatalf("%q: %v with the reason %q", text, got, why)
			}
			if slow, _ := j.JudgeSlowly(text); slow != got {
				t.Fatalf("%q: got %v, the long way %v", text, got, slow)
			}
			if got == holds && strings.Contains(text, "..") {
				for segment := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
					if segment == ".." {
						t.Fatalf("%q holds", text)
					}
				}
			}
		}
		if got, _ := plain.Judge(text); got == holds {
			heldInside(t.Fatalf, text, "", "/srv/work")
		}
		if got, _ := based.Judge(text); got == holds {
			heldInside(t.Fatalf, text, "/srv/work", "/srv/work")
		}
	})
}

func FuzzNew(f *testing.F) {
	for _, s := range []string{"/srv/**", "srv/**", "**/.env", "/a/../b", "~/x", `C:\work\**`, "//files/work/**", "{/a,b}/c", "/a/", "/[.]", "C:/x", "/%2e", "*", "\\"} {
		for style := range 2 {
			for fold := range 2 {
				f.Add(s, style == 1, fold == 1)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string, windows, fold bool) {
		style := pathtext.POSIX
		if windows {
			style = pathtext.Windows
		}
		for _, o := range []pathtext.Operand{{Under: []string{text}}, {Like: []string{text}}, {NotLike: []string{text}}, {Like: []string{"**"}, Base: text}} {
			o.Style, o.Fold = style, fold
			j, err := pathtext.New(o)
			if err != nil {
				continue
			}
			// A root holds itself.
			if o.Under != nil {
				if got, why := j.Judge(text); got != holds {
					t.Fatalf("%q is a root and does not hold under itself: %v, %s", text, got, why)
				}
			}
			j.Judge("/srv/work/a")
		}
	})
}

func TestNoAllocations(t *testing.T) {
	rows := map[string]struct {
		o    pathtext.Operand
		text string
	}{
		"plain":              {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/internal/pathtext/judge.go"},
		"not under":          {pathtext.Operand{Under: []string{"/srv/work"}}, "/etc/passwd"},
		"a dot name":         {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/.gitignore"},
		"not clean":          {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv//work/./a/"},
		"letters":            {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/Zoë/日本語.txt"},
		"an escape":          {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/a%20b.txt"},
		"globs":              {pathtext.Operand{Like: []string{"/srv/**/*.go"}, NotLike: []string{"**/.env"}}, "/srv/work/internal/pathtext/judge.go"},
		"a base":             {pathtext.Operand{Under: []string{"/srv/work"}, Base: "/srv/work"}, "internal/pathtext/judge.go"},
		"fold":               {pathtext.Operand{Under: []string{"/srv/work"}, Fold: true}, "/SRV/work/Makefile"},
		"many roots":         {pathtext.Operand{Under: []string{"/a", "/b", "/c", "/d", "/e", "/f/g"}}, "/f/g/h"},
		"Windows":            {pathtext.Operand{Under: []string{`C:\work`}, Style: pathtext.Windows}, `c:\work\src\main.go`},
		"Windows globs":      {pathtext.Operand{Like: []string{`c:/work/**`}, Style: pathtext.Windows}, `C:\work\src\main.go`},
		"what is not judged": {pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/../x"},
	}
	for name, r := range rows {
		j, b := judge(t, r.o), []byte(r.text)
		if n := testing.AllocsPerRun(50, func() { j.Judge(r.text); j.JudgeBytes(b) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	rows := []struct {
		name string
		o    pathtext.Operand
		text string
	}{
		{"plain", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/countersign/internal/pathtext/judge.go"},
		{"plain 256 B", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work" + strings.Repeat("/folder7", 30) + "/a.txt"},
		{"not clean", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work//countersign/./internal/pathtext/judge.go"},
		{"letters", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/Zoë/日本語/internal/pathtext/judge.go"},
		{"escape", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/a%20b/internal/pathtext/judge.go"},
		{"parent", pathtext.Operand{Under: []string{"/srv/work"}}, "/srv/work/../work/internal/pathtext/judge.go"},
		{"glob", pathtext.Operand{Like: []string{"/srv/work/**/*.go"}}, "/srv/work/countersign/internal/pathtext/judge.go"},
		{"10,000 roots", pathtext.Operand{Under: manyRoots(10000)}, "/srv/9999/countersign/internal/pathtext/judge.go"},
		{"fold", pathtext.Operand{Under: []string{"/srv/work"}, Fold: true}, "/srv/Work/countersign/internal/pathtext/judge.go"},
		{"Windows", pathtext.Operand{Under: []string{`C:\work`}, Style: pathtext.Windows}, `C:\work\countersign\internal\pathtext\judge.go`},
	}
	for _, r := range rows {
		j := judge(b, r.o)
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j.Judge(r.text)
			}
		})
	}
}

func manyRoots(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("/srv/%d", i))
	}
	return out
}
