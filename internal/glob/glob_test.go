package glob_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/internal/glob"

	"pgregory.net/rapid"
)

func compile(t testing.TB, pattern string, o glob.Options) *glob.Glob {
	t.Helper()
	g, err := glob.Compile(pattern, o)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return g
}

// TestGLOB01 is the case of that name: ** as a whole segment is any number of
// segments, * never crosses the separator.
func TestGLOB01(t *testing.T) {
	rows := []struct {
		glob, path string
		want       bool
	}{
		{"**/.env", ".env", true},
		{"**/.env", "/.env", true},
		{"**/.env", "/srv/app/.env", true},
		{"/srv/app/**/*", "/srv/app/a.txt", true},
		{"/srv/app/**/*", "/srv/app//a.txt", true},
		{"/srv/app/*", "/srv/app/a/b.txt", false},
		{"/srv/*/secret", "/srv/a/b/secret", false},
	}
	for _, r := range rows {
		if got := compile(t, r.glob, glob.Options{Separator: '/'}).Match(r.path); got != r.want {
			t.Errorf("%q on %q: got %v, want %v", r.glob, r.path, got, r.want)
		}
	}
}

// TestGLOB02 is the case of that name: dir/** takes dir too, ** at the root takes
// everything, and an empty pattern is an error.
func TestGLOB02(t *testing.T) {
	rows := []struct {
		glob, path string
		want       bool
	}{
		{"/**", "/etc/passwd", true},
		{"/**", "/", true},
		{"/srv/app/**", "/srv/app/x", true},
		{"/srv/app/**", "/srv/app", true},
		{"/srv/app/**", "/srv/app/", true},
		{"/srv/app/**", "/srv/apple", false},
	}
	for _, r := range rows {
		if got := compile(t, r.glob, glob.Options{Separator: '/'}).Match(r.path); got != r.want {
			t.Errorf("%q on %q: got %v, want %v", r.glob, r.path, got, r.want)
		}
	}
	if _, err := glob.Compile("", glob.Options{Separator: '/'}); err == nil {
		t.Error("an empty pattern compiled")
	}
}

func TestMatch(t *testing.T) {
	rows := []struct {
		pattern string
		sep     byte
		yes, no []string
	}{
		{"read_*", 0, []string{"read_", "read_file", "read_a/b"}, []string{"read", "xread_"}},
		{"*", 0, []string{"", "a", "a/b", "\n"}, nil},
		{"?", 0, []string{"a", "é", "日", "/", "\xff"}, []string{"", "ab", "e\u0301"}},
		{"[a-c]x", 0, []string{"ax", "cx"}, []string{"dx", "x", "aax", "Ax"}},
		{"[!a-c]x", 0, []string{"dx", "!x", "\xffx", "éx"}, []string{"ax", "x"}},
		{"[^a-c]x", 0, []string{"dx", "^x"}, []string{"ax"}},
		{"[a^!]", 0, []string{"a", "^", "!"}, []string{"b"}},
		{"[-a]", 0, []string{"-", "a"}, []string{"b"}},
		{"[a-]", 0, []string{"-", "a"}, []string{"b"}},
		{"[a-c-]", 0, []string{"-", "b"}, []string{"d"}},
		{`[\]\-\\]`, 0, []string{"]", "-", `\`}, []string{"["}},
		{`[\!a]`, 0, []string{"!", "a"}, []string{"b"}},
		{"[[]", 0, []string{"["}, []string{"]"}},
		{"[*?{},]", 0, []string{"*", "?", "{", "}", ","}, []string{"a"}},
		{"[α-ω]", 0, []string{"β"}, []string{"a"}},
		{`\*\?\[\]\{\}\\\a`, 0, []string{`*?[]{}\a`}, []string{"x"}},
		{"a,b", 0, []string{"a,b"}, []string{"a", "b"}},
		{"{a,b}c", 0, []string{"ac", "bc"}, []string{"c", "abc"}},
		{"{a}", 0, []string{"a"}, []string{"", "{a}"}},
		{"{a,}b", 0, []string{"ab", "b"}, []string{"aab"}},
		{"{,a}", 0, []string{"", "a"}, []string{"b"}},
		{"{a,{b,{c,{d,e}}}}x", 0, []string{"ax", "bx", "cx", "dx", "ex"}, []string{"x"}},
		{`{a\,b,c\}}`, 0, []string{"a,b", "c}"}, []string{"a", "b"}},
		{"{a*,*b}c", 0, []string{"axc", "xbc", "ac", "bc"}, []string{"c", "xc"}},
		{"{*,a}*", 0, []string{"", "xyz"}, nil},
		{"*.{jpg,png}", 0, []string{"a.jpg", ".png", "a.jpg.png"}, []string{"jpg", "a.gif"}},
		{"*a*b*c*", 0, []string{"abc", "xaxbxcx", "aabbcc"}, []string{"acb", "ab"}},
		{"a*a", 0, []string{"aa", "aba"}, []string{"a"}},
		{"*ab?", 0, []string{"abab1", "abx"}, []string{"ab"}},
		{"*\ufffd", 0, []string{"\ufffd"}, []string{"\xff"}},

		{"/a/*/c", '/', []string{"/a/b/c"}, []string{"/a//c", "/a/c", "/a/b/b/c"}},
		{"/a/?", '/', []string{"/a/b"}, []string{"/a/", "/a//"}},
		{"/a/[!x]b", '/', []string{"/a/yb"}, []string{"/a//b", "/a/xb"}},
		{"/a[+-9]b", '/', []string{"/a.b", "/a1b"}, []string{"/a/b"}},
		{"/*", '/', []string{"/a", "/.a"}, []string{"/", "", "/a/b"}},
		{"*", '/', []string{"a"}, []string{"", "/", "/a"}},
		{"/a/**/b", '/', []string{"/a/b", "/a/x/b", "/a/x/y/b"}, []string{"/a", "/ab", "/a/b/c"}},
		{"/a/**", '/', []string{"/a", "/a/b", "/a/b/c"}, []string{"/", "/ab"}},
		{"**/a", '/', []string{"a", "/a", "/b/a"}, []string{"/ba", "/a/b"}},
		{"**", '/', []string{"", "/", "a", "/a/b"}, nil},
		{"/**/**/a", '/', []string{"/a", "/b/a", "/b/c/a"}, []string{"/b"}},
		{"/**/a/**/b/**", '/', []string{"/a/b", "/x/a/y/b/z", "/a/a/b"}, []string{"/b/a", "/a"}},
		{"/{a,b/**}/c", '/', []string{"/a/c", "/b/c", "/b/x/c"}, []string{"/c", "/a/x/c"}},
		{"/a{/**,}", '/', []string{"/a", "/a/b/c"}, []string{"/ab"}},
		{"{**/,}a", '/', []string{"a", "/x/a"}, []string{"xa"}},
		{"**{/a,/b}", '/', []string{"a", "b", "/x/a"}, []string{"/x", "xa"}},
		{"/{*,x}/y", '/', []string{"/x/y", "/z/y"}, []string{"//y", "/y"}},
		{"/{*,x}{*,y}", '/', []string{"/x", "/xy", "/z"}, []string{"/", "/a/b"}},
		{`/a\/**`, '/', []string{"/a", "/a/b"}, []string{"/ab"}},

		{"*.example.com", '.', []string{"a.example.com"}, []string{"example.com", ".example.com", "a.b.example.com"}},
		{"**.example.com", '.', []string{"a.example.com", "a.b.example.com", "example.com"}, []string{"aexample.com", "example.com.evil"}},
		{"a?.com", '.', []string{"ab.com"}, []string{"a.com", "a..com"}},
	}
	for _, r := range rows {
		g := compile(t, r.pattern, glob.Options{Separator: r.sep})
		check := func(text string, want bool) {
			if got := g.Match(text); got != want {
				t.Errorf("%q on %q: got %v, want %v", r.pattern, text, got, want)
			}
			if got := g.MatchBytes([]byte(text)); got != want {
				t.Errorf("%q on bytes of %q: got %v, want %v", r.pattern, text, got, want)
			}
			if got, _ := g.Walk(text); got != want {
				t.Errorf("%q walked on %q: got %v, want %v", r.pattern, text, got, want)
			}
			if got := refMatch(r.pattern, text, r.sep); got != want {
				t.Errorf("the reference: %q on %q: got %v, want %v", r.pattern, text, got, want)
			}
		}
		for _, text := range r.yes {
			check(text, true)
		}
		for _, text := range r.no {
			check(text, false)
		}
	}
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat("{a,", 5) + "b" + strings.Repeat("}", 5)
	rows := []struct {
		name, pattern string
		sep           byte
		offset        int
		want          string // part of the message
	}{
		{"empty", "", 0, 0, "empty pattern"},
		{"lone bracket", "a]", 0, 1, `write \]`},
		{"lone brace", "a}b", 0, 1, `write \}`},
		{"open bracket", "ab[c", 0, 2, `write \[`},
		{"open bracket, range", "[a-", 0, 0, `write \[`},
		{"open bracket, escape", `[\`, 0, 0, `write \[`},
		{"open brace", "a{b,c", 0, 1, `write \{`},
		{"open inner brace", "{a,{b}", 0, 0, `write \{`},
		{"empty brackets", "[]", 0, 1, `write \]`},
		{"bracket first", "[]a]", 0, 1, `write \]`},
		{"empty negated brackets", "[!]", 0, 2, `write \]`},
		{"backwards range", "[z-a]", 0, 1, "lower character first"},
		{"hyphen between", "[a-b-c]", 0, 4, `write \-`},
		{"hyphen ends a range", "[a--]", 0, 3, `write \-`},
		{"named list", "[[:alpha:]]", 0, 1, "not known"},
		{"escape at the end", `a\`, 0, 1, `write \\`},
		{"nothing in braces", "a{}", 0, 2, `write \{\}`},
		{"five deep", deep, 0, 12, "4 deep"},
		{"double without separator", "a**", 0, 1, "write *"},
		{"double alone without separator", "**", 0, 0, "write *"},
		{"double behind a letter", "/a**/b", '/', 2, "whole segment"},
		{"double before a letter", "/**a/b", '/', 3, "whole segment"},
		{"double before a question mark", "/**?", '/', 3, "whole segment"},
		{"three stars", "/***", '/', 3, "whole segment"},
		{"double behind a star in braces", "/{*,a}**", '/', 6, "whole segment"},
		{"double in a branch", "/a{b,**}", '/', 5, "whole segment"},
		{"double before a branch", "/**{/a,b}", '/', 7, "whole segment"},
		{"double in a host", "a**.com", '.', 1, "whole segment"},
		{"separator in brackets", "/a[b/c]", '/', 4, "take it out"},
		{"separator alone in brackets", "a[.]b", '.', 2, "take it out"},
		{"brackets for nothing", "[!\x00-\U0010ffff]", 0, 0, "no character is left"},
		{"brackets for the separator alone", "/[!\x00-.0-\U0010ffff]", '/', 1, "no character is left"},
		{"too long", strings.Repeat("a", 1025), 0, 0, "1,024 bytes"},
		{"too many alternatives", strings.Repeat("{a,b}", 11), 0, 54, "1,024 alternatives"},
		{"too many alternatives in one", "{" + strings.Repeat("{a,b,c,d,e,f,g,h}", 4) + "}", 0, 68, "1,024 alternatives"},
		{"not UTF-8", "a\xff", 0, 0, "UTF-8"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := glob.Compile(r.pattern, glob.Options{Separator: r.sep})
			var e *glob.Error
			if !errors.As(err, &e) {
				t.Fatalf("%q: got %v, want an error", r.pattern, err)
			}
			if e.Offset != r.offset || !strings.Contains(e.Msg, r.want) {
				t.Errorf("%q: got %q at %d, want %q at %d", r.pattern, e.Msg, e.Offset, r.want, r.offset)
			}
		})
	}
}

// TestErrorPlace: a person counts characters, a program bytes.
func TestErrorPlace(t *testing.T) {
	_, err := glob.Compile("éé]", glob.Options{})
	var e *glob.Error
	if !errors.As(err, &e) || e.Offset != 4 || !strings.HasPrefix(e.Error(), "glob, character 3: ") {
		t.Errorf("got %v at byte %d, want character 3 at byte 4", err, e.Offset)
	}
}

func TestBoundsAreReached(t *testing.T) {
	for _, p := range []string{
		strings.Repeat("a", glob.MaxBytes),
		strings.Repeat("{a,b}", 10),
		"{{{{a,b},c},d},e}",
		strings.Repeat("?", glob.MaxBytes),
		strings.Repeat("{a,b}", 10) + strings.Repeat("c", glob.MaxBytes-50),
	} {
		compile(t, p, glob.Options{})
	}
	if _, err := glob.Compile("a", glob.Options{Separator: 200}); err == nil {
		t.Error("a separator that is no ASCII character was taken")
	}
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u200b' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func TestFold(t *testing.T) {
	rows := []struct {
		pattern, text string
		classes, want bool
	}{
		{"READ_*", "read_file", false, true},
		{"READ_{A,B}", "read_b", false, true},
		{`R\EAD`, "read", false, true},
		{"R\u200bEAD", "read", false, true},
		{"[A-Zb]BC", "abc", false, false},
		{"[A-Zb]BC", "bbc", false, true},
		{"[a-z]BC", "abc", false, true},
		{"[A-Z]BC", "abc", true, true},
		{"[!A-Z]BC", "abc", true, false},
		{"[!A-Z]BC", "1bc", true, true},
		{"[ſ]x", "sx", true, true},
		{"[É]x", "éx", true, true},
	}
	for _, r := range rows {
		g := compile(t, r.pattern, glob.Options{Fold: fold, FoldClasses: r.classes})
		if got := g.Match(r.text); got != r.want {
			t.Errorf("%q on %q, classes %v: got %v, want %v", r.pattern, r.text, r.classes, got, r.want)
		}
	}
	if _, err := glob.Compile("\u200b", glob.Options{Fold: fold}); err == nil {
		t.Error("a pattern that folds to nothing compiled")
	}
	for _, p := range []string{"[A-Z]BC", "x[A-Z]", "{a,[QR]}"} {
		if _, err := glob.Compile(p, glob.Options{Fold: fold}); err == nil {
			t.Errorf("%q compiled, though no folded text can match it", p)
		}
	}
	grow := func(s string) string { return strings.Repeat(s, 3) }
	if _, err := glob.Compile(strings.Repeat("a", 400), glob.Options{Fold: grow}); err == nil {
		t.Error("a pattern that folds to more states than a set holds compiled")
	}
	compile(t, strings.Repeat("a", 300), glob.Options{Fold: grow})
}

func TestLiteralPrefixString(t *testing.T) {
	rows := []struct {
		pattern string
		sep     byte
		literal string
		ok      bool
		prefix  string
		folder  string
	}{
		{"read_file", 0, "read_file", true, "read_file", "read_file"},
		{`a\*b`, 0, "a*b", true, "a*b", "a*b"},
		{"a*", 0, "", false, "a", ""},
		{"a{b,c}", 0, "", false, "a", ""},
		{"[a]", 0, "", false, "", ""},
		{"/srv/app", '/', "/srv/app", true, "/srv/app", "/srv/app"},
		{"/srv/app/**", '/', "", false, "/srv/app", "/srv/app"},
		{"/srv/app/**/x", '/', "", false, "/srv/app/", "/srv/app"},
		{"/srv/a?", '/', "", false, "/srv/a", "/srv"},
		{"/srv/{a,b}/c", '/', "", false, "/srv/", "/srv"},
		{"/**", '/', "", false, "", ""},
		{"**/a", '/', "", false, "", ""},
	}
	for _, r := range rows {
		g := compile(t, r.pattern, glob.Options{Separator: r.sep})
		literal, ok := g.Literal()
		if literal != r.literal || ok != r.ok || g.Prefix() != r.prefix || g.Folder() != r.folder || g.String() != r.pattern {
			t.Errorf("%q: got %q %v, prefix %q, folder %q, %q", r.pattern, literal, ok, g.Prefix(), g.Folder(), g)
		}
	}
}

func TestSet(t *testing.T) {
	s, err := glob.NewSet([]string{"b*", "abc", "a*", "abc", "*c"}, glob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"abc": 1, "abd": 2, "bc": 0, "xc": 4, "x": -1, "": -1} {
		if got := s.Index(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
		if got := s.Match(text); got != (want >= 0) {
			t.Errorf("%q: got %v, want %v", text, got, want >= 0)
		}
	}
	if len(s.Globs()) != 5 {
		t.Errorf("got %d globs, want 5", len(s.Globs()))
	}
	if _, err := glob.NewSet(nil, glob.Options{}); err == nil {
		t.Error("an empty set compiled")
	}
	_, err = glob.NewSet([]string{"a", "b]"}, glob.Options{})
	var e *glob.Error
	if !errors.As(err, &e) || e.Index != 1 || e.Offset != 1 {
		t.Errorf("got %v, want an error of pattern 1 at 1", err)
	}
}

// patterns draws patterns over a small alphabet, most of which compile.
func patterns(sep byte) *rapid.Generator[string] {
	pieces := []string{"a", "b", "é", "*", "*", "?", "[ab]", "[!a]", "[a-b]", `\*`, "{a,b}", "{*,b}", "{a*,}", "{a,{b?,*}}", "{,a}"}
	if sep != 0 {
		s := string(sep)
		pieces = append(pieces, s, s, s+"**"+s, "**"+s, s+"**", "{a"+s+",b}", "{"+s+"**,}", "{**"+s+",}", "{"+s+"*,"+s+"b}", s+"*"+s)
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 7).Draw(t, "pieces"), "")
	})
}

func texts(sep byte) *rapid.Generator[string] {
	pieces := []string{"a", "b", "a", "b", "é", "*", "\xff"}
	if sep != 0 {
		pieces = append(pieces, string(sep), string(sep), string(sep))
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 9).Draw(t, "text"), "")
	})
}

// TestAgreesWithReference holds both matchers against the plain one.
func TestAgreesWithReference(t *testing.T) {
	for name, sep := range map[string]byte{"none": 0, "slash": '/', "dot": '.'} {
		t.Run(name, func(t *testing.T) {
			compiled, matched := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				pattern := patterns(sep).Draw(t, "pattern")
				g, err := glob.Compile(pattern, glob.Options{Separator: sep})
				if err != nil {
					return
				}
				compiled++
				for round := range 8 {
					text := texts(sep).Draw(t, "text")
					switch round {
					case 0:
						text = g.Example()
					case 1:
						// Something near what matches.
						at := rapid.IntRange(0, len(g.Example())).Draw(t, "at")
						text = g.Example()[:at] + text + g.Example()[at:]
					}
					want := refMatch(pattern, text, sep)
					if want {
						matched++
					}
					if got := g.Match(text); got != want {
						t.Fatalf("%q on %q: got %v, want %v", pattern, text, got, want)
					}
					if got, _ := g.Walk(text); got != want {
						t.Fatalf("%q walked on %q: got %v, want %v", pattern, text, got, want)
					}
				}
			})
			if !testing.Short() && (compiled < 40 || matched < 20) {
				t.Errorf("%d compiled, %d matched: the draw looks at too little", compiled, matched)
			}
		})
	}
}

// stepsPerCell bounds the steps of a match: for each pair of a byte of the text
// and a byte of the pattern, with one of each added. Up to eight alternatives are
// matched one after the other.
const stepsPerCell = 3 * 8

func withinBound(g *glob.Glob, text string) (steps, bound int, ok bool) {
	_, steps = g.Steps(text)
	bound = stepsPerCell * (len(text) + 1) * (len(g.String()) + 1)
	return steps, bound, steps <= bound
}

// TestStepsAreBounded counts the steps on texts and patterns that send matchers
// with backtracking astray.
func TestStepsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 5000)
	folders := strings.Repeat("/a", 1000)
	rows := []struct {
		pattern string
		sep     byte
		text    string
	}{
		{strings.Repeat("*a", 300) + "b", 0, long},
		{strings.Repeat("?*", 300) + "b", 0, long},
		{strings.Repeat("*?[ab]", 150) + "c", 0, long},
		{"*" + strings.Repeat("a", 1000) + "b", 0, long},
		{"*" + strings.Repeat("[ab]", 200) + "b*c", 0, long},
		{strings.Repeat("{a,aa}", 10) + "*b", 0, long},
		{strings.Repeat("{*a,*}", 10) + "b", 0, long},
		{strings.Repeat("{*a,*a}", 10) + strings.Repeat("?*", 200) + "b", 0, long},
		{strings.Repeat("/**/a", 150) + "/b", '/', folders},
		{strings.Repeat("/**/a/*", 100) + "/b", '/', folders},
		{strings.Repeat("/**/*a*", 100) + "/b", '/', folders},
		{"/**" + strings.Repeat("/a", 400) + "/b", '/', folders},
		{"/**" + strings.Repeat("/{a,*}", 10) + "/**/b", '/', folders},
		{strings.Repeat("/{**,a}", 10) + "/b", '/', folders},
		{"/{" + strings.Repeat("**/a,", 100) + "b}/c", '/', folders},
	}
	for _, r := range rows {
		g := compile(t, r.pattern, glob.Options{Separator: r.sep})
		if steps, bound, ok := withinBound(g, r.text); !ok {
			t.Errorf("%.40q… on %d bytes: %d steps, bound %d", r.pattern, len(r.text), steps, bound)
		}
		// Twice the text is about twice the work.
		_, once := g.Steps(r.text)
		_, twice := g.Steps(r.text + r.text)
		if twice > 3*once+1000 {
			t.Errorf("%.40q…: %d steps, and %d on twice the text", r.pattern, once, twice)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for pattern, sep := range map[string]byte{
		"read_*": 0, "*a*b?c*": 0, "{read,write}_{file,*}": 0, "plain": 0,
		"/srv/**/*.{go,md}": '/', "/srv/**/a/**/[a-z]*": '/', "**.example.com": '.',
	} {
		g := compile(t, pattern, glob.Options{Separator: sep})
		text := strings.Repeat("/srv/a/b.md", 20)
		b := []byte(text)
		if n := testing.AllocsPerRun(20, func() { g.Match(text); g.MatchBytes(b) }); n != 0 {
			t.Errorf("%q: %v allocations a match", pattern, n)
		}
	}
}

// TestFlow follows every alternative: here, whether all of them begin with a.
func TestFlow(t *testing.T) {
	begins := func(from uint8, tok glob.Token) (uint8, string) {
		if from == 0 && (tok.Kind != glob.Literal || tok.Rune != 'a') {
			return 0, "begins otherwise"
		}
		return 1, ""
	}
	for pattern, want := range map[string]int{
		"ab": -1, "{a,ab}c": -1, "a*": -1, "{a,b}c": 3, "*a": 0, "{,a}c": 4, "{a,{a,?}}": 6, "[a]": 0, "{a,}": 4,
	} {
		err := compile(t, pattern, glob.Options{}).Flow(0, begins)
		var e *glob.Error
		if got := errors.As(err, &e); got != (want >= 0) || got && e.Offset != want {
			t.Errorf("%q: got %v, want an error at %d", pattern, err, want)
		}
	}
}

// seedFolder holds patterns and texts, one pair a line, a tab between.
const seedFolder = "testdata/seeds"

func seeds(t testing.TB) [][2]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(seedFolder, "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no seeds in %s: %v", seedFolder, err)
	}
	var out [][2]string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			pattern, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !ok {
				t.Fatalf("%s: a line without a tab: %q", name, line)
			}
			out = append(out, [2]string{pattern, text})
		}
	}
	return out
}

func TestSeeds(t *testing.T) {
	if got := seeds(t); len(got) < 20 {
		t.Fatalf("%d seeds, want at least 20", len(got))
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range seeds(f) {
		for _, sep := range []byte{0, '/', '.'} {
			f.Add(s[0], s[1], sep)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string, sep byte) {
		g, err := glob.Compile(pattern, glob.Options{Separator: sep})
		if err != nil {
			return
		}
		if !g.Match(g.Example()) {
			t.Fatalf("%q does not match its example", pattern)
		}
		got := g.Match(text)
		if walked, _ := g.Walk(text); walked != got {
			t.Fatalf("%q on %q: %v, walked %v", pattern, text, got, walked)
		}
		if steps, bound, ok := withinBound(g, text); !ok {
			t.Fatalf("%q on %q: %d steps, bound %d", pattern, text, steps, bound)
		}
		if literal, ok := g.Literal(); ok && got != (text == literal) {
			t.Fatalf("%q on %q: %v, and it is the literal %q", pattern, text, got, literal)
		}
		if got && !strings.HasPrefix(text, g.Prefix()) {
			t.Fatalf("%q matches %q without its prefix %q", pattern, text, g.Prefix())
		}
		// The reference is exponential, so it sees small ones only.
		if len(text) > 16 || len(pattern) > 48 || strings.Count(pattern, "*") > 5 {
			return
		}
		if want := refMatch(pattern, text, sep); got != want {
			t.Fatalf("%q on %q: got %v, want %v", pattern, text, got, want)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	rows := []struct {
		name, pattern string
		sep           byte
		text          string
	}{
		{"literal", "read_file", 0, "read_file"},
		{"prefix", "read_*", 0, "read_multiple_files"},
		{"finds in 6 KB", "*needle*", 0, noise(6 << 10)},
		{"braces in 6 KB", "*{needle,pin}*", 0, noise(6 << 10)},
		{"path", "/srv/work/**/*.go", '/', "/srv/work/countersign/internal/glob/glob.go"},
		{"path with braces", "/srv/work/**/*.{go,md}", '/', "/srv/work/countersign/internal/glob/glob.go"},
		{"host", "**.example.com", '.', "a.b.example.com"},
	}
	for _, r := range rows {
		g := compile(b, r.pattern, glob.Options{Separator: r.sep})
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Match(r.text)
			}
		})
	}
}

func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		b.WriteRune(rune('a' + r.IntN(26)))
	}
	if !utf8.ValidString(b.String()) {
		panic("noise is not text")
	}
	return b.String()
}
