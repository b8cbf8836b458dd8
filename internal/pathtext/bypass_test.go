package pathtext_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/pathtext"
)

// An attempt is a text that some reader between the guard and the file may take
// for the forbidden place. Against a require it must not hold; against a refuse
// it must not fail, since there what fails passes.
type attempt struct{ kind, text string }

// leastAttempts is how many attempts each judge is held against at least.
const leastAttempts = 200

// operands are the ways to write one guard: allowed folders as a require, the
// forbidden place as a refuse.
type operands struct{ require, refuse []pathtext.Operand }

func holdOut(t *testing.T, o operands, attempts []attempt) {
	t.Helper()
	seen := map[string]bool{}
	kinds := map[string]int{}
	for _, a := range attempts {
		if !seen[a.text] {
			seen[a.text] = true
			kinds[a.kind]++
		}
	}
	if len(seen) < leastAttempts {
		t.Fatalf("%d different attempts, want at least %d: %v", len(seen), leastAttempts, kinds)
	}
	t.Logf("%d attempts: %v", len(seen), kinds)
	for _, operand := range o.require {
		j := judge(t, operand)
		for _, a := range attempts {
			if got, _ := j.Judge(a.text); got == holds {
				t.Errorf("require %+v, %s: %q holds", operand, a.kind, a.text)
			}
		}
	}
	for _, operand := range o.refuse {
		j := judge(t, operand)
		for _, a := range attempts {
			if got, _ := j.Judge(a.text); got == fails {
				t.Errorf("refuse %+v, %s: %q fails", operand, a.kind, a.text)
			}
		}
	}
}

// spellings of a dot, a slash and a backslash that some decoder takes for them.
var (
	dotSpellings = []string{"%2e", "%2E", "%252e", "%25252E", "%u002e", "%c0%ae", "%C0%AE", "%c0%2e", "%e0%80%ae", "%f0%80%80%ae",
		"%f8%80%80%80%ae", "%fc%80%80%80%80%ae", "%c0%25ae", "%25c0%ae", "%2%65", "%%32%65", "%%32e", "%25%32%65", "%2%2565", "%ef%bc%8e", "%uff0e", "%e2%80%a4",
		"\uff0e", "\u2024", "\ufe52"}
	slashSpellings = []string{"%2f", "%2F", "%252f", "%25252f", "%u002f", "%c0%af", "%e0%80%af", "%f0%80%80%af", "%2%66", "%%32%66", "%25%32%66",
		"%ef%bc%8f", "%uff0f", "\uff0f"}
	backSpellings = []string{"%5c", "%5C", "%255c", "%c1%9c", "%e0%81%9c", "%5%63", "%ef%bc%bc", "\uff3c", "\ufe68"}
	// twoDots stand for two dots, dotSlash for something that holds a slash or dot.
	oddSigns  = []string{"\u2025", "\u2026", "\ufe19", "\u2100", "\u2101", "\u2105", "\u2106", "\u33c2", "\u33d8", "\u2488", "\u2491", "\U0001f100"}
	invisible = []string{"\u00ad", "\u034f", "\u061c", "\u070f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f",
		"\u2028", "\u2029", "\u202a", "\u202e", "\u2060", "\u2064", "\u2066", "\u2069", "\u206f", "\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\ufff9",
		"\U0001bca0", "\U0001d173", "\U000e0001", "\U000e0041", "\U000e0100", "\U000e0fff"}
	controls = []string{"\x00", "\x01", "\x07", "\b", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x1b", "\x1f", "\x7f", "\u0080", "\u0085", "\u009f"}
)

func posixAttempts() []attempt {
	var out []attempt
	add := func(kind, text string) { out = append(out, attempt{kind, text}) }
	for depth := 1; depth <= 6; depth++ {
		up := strings.Repeat("../", depth)
		add("dots", "/srv/work/"+up+"etc/passwd")
		add("dots", "/srv/work/a/b/"+up+"etc/passwd")
		add("dots", "/srv/work/./"+up+"etc/passwd")
		add("dots", "/srv/work//"+strings.ReplaceAll(up, "/", "//")+"etc/passwd")
		add("dots", "/srv/work/"+strings.ReplaceAll(up, "/", "/./")+"etc/passwd")
		add("dots", up+"etc/passwd")
		add("dots", "/"+up+"etc/passwd")
	}
	add("dots", "/srv/work/..")
	add("dots", "/srv/work/../../etc")
	add("dots", "/etc/x/../passwd")
	add("dots", "/srv/work/../../etc/passwd/.")
	for _, dot := range dotSpellings {
		for _, up := range []string{dot + dot, "." + dot, dot + "."} {
			add("encoded dots", "/srv/work/"+up+"/"+up+"/etc/passwd")
		}
		add("encoded dots", "/etc/"+dot+"/passwd")
	}
	for _, slash := range append(append([]string{}, slashSpellings...), backSpellings...) {
		add("encoded slash", "/srv/work/x"+slash+".."+slash+".."+slash+".."+slash+"etc/passwd")
		add("encoded slash", slash+"etc"+slash+"passwd")
		add("encoded slash", "/etc"+slash+"passwd")
	}
	for _, dot := range dotSpellings[:8] {
		for _, slash := range slashSpellings[:6] {
			add("encoded both", "/srv/work/"+dot+dot+slash+dot+dot+slash+"etc"+slash+"passwd")
		}
	}
	for _, nul := range []string{"%00", "%2500", "%252500", "%c0%80", "%u0000", "%%30%30"} {
		add("encoded NUL", "/etc/passwd"+nul+".txt")
		add("encoded NUL", "/srv/work/a"+nul+"/../../../etc/passwd")
	}
	for _, sign := range oddSigns {
		add("look-alike", "/srv/work/"+sign+"/"+sign+"/etc/passwd")
		add("look-alike", "/etc/"+sign+"passwd")
	}
	for _, s := range []string{"//etc/passwd", "///etc///passwd", "/./etc/./passwd", "/etc/passwd/", "/etc/", "/etc", "/etc/passwd//.", "/.//etc"} {
		add("slashes", s)
	}
	for _, c := range invisible {
		add("invisible", "/e"+c+"tc/passwd")
		add("invisible", "/etc/passwd"+c)
		add("invisible", "/srv/work/."+c+"./."+c+"./etc/passwd")
	}
	for _, c := range controls {
		add("control", "/etc/passwd"+c)
		add("control", c+"/etc/passwd")
		add("control", "/e"+c+"tc/passwd")
		add("control", "/srv/work/a"+c+"/etc/passwd")
	}
	for _, s := range []string{"", "etc/passwd", "./etc/passwd", "~", "~/x", "~root/x", "~/../../etc/passwd", "file:///etc/passwd", "FILE:/etc/passwd",
		"file:/etc/passwd", "File://localhost/etc/passwd", "file:%2f%2f%2fetc/passwd", `\etc\passwd`, `/srv/work\..\..\etc\passwd`, `/etc\passwd`, `C:\etc\passwd`,
		"/etc/pass\xc0\xafwd", "/\xff/etc", "/srv/work/\xc0\xae\xc0\xae/etc"} {
		add("other forms", s)
	}
	add("length", "/etc/"+strings.Repeat("./", 2100)+"passwd")
	add("length", "/srv/work/"+strings.Repeat("a", pathtext.MaxBytes))
	return out
}

func TestBypassPOSIX(t *testing.T) {
	holdOut(t, operands{
		require: []pathtext.Operand{
			{Under: []string{"/srv/work"}},
			{Under: []string{"/srv/work"}, Fold: true},
			{Under: []string{"/srv/work", "/tmp/a", "/tmp/b", "/tmp/c", "/tmp/d"}},
			{Like: []string{"/srv/work/**"}},
			{Like: []string{"/srv/{work,play}/**"}},
			{NotLike: []string{"/etc/**"}},
			{NotLike: []string{"**/etc/**"}, Under: []string{"/srv/work"}},
		},
		refuse: []pathtext.Operand{
			{Under: []string{"/etc"}},
			{Under: []string{"/etc"}, Fold: true},
			{Under: []string{"/etc", "/tmp/a", "/tmp/b", "/tmp/c", "/tmp/d"}},
			{Like: []string{"/etc/**"}},
			{Like: []string{"**/etc/**"}},
			{NotLike: []string{"/srv/work/**"}},
		},
	}, posixAttempts())
}

// TestBypassBase does the same where a base makes relative paths judgeable.
func TestBypassBase(t *testing.T) {
	var attempts []attempt
	for _, a := range posixAttempts() {
		// Behind the base these are names in it, as they would be on the disk.
		if a.text == "etc/passwd" || a.text == "./etc/passwd" {
			continue
		}
		attempts = append(attempts, a)
	}
	holdOut(t, operands{
		require: []pathtext.Operand{{Under: []string{"/srv/work"}, Base: "/srv/work"}, {Like: []string{"/srv/work/**"}, Base: "/srv/work"}},
		refuse:  []pathtext.Operand{{Under: []string{"/etc"}, Base: "/srv/work"}, {NotLike: []string{"/srv/work/**"}, Base: "/srv/work"}},
	}, attempts)
}

// TestBypassFold is for file systems that take case and composition as one.
func TestBypassFold(t *testing.T) {
	var attempts []attempt
	variants := func(c string, others ...string) []string { return append([]string{c}, others...) }
	letters := [][]string{
		variants("s", "S", "ſ"), variants("k", "K", "\u212a"), variants("é", "É", "e\u0301", "E\u0301"), variants("å", "Å", "\u212b", "a\u030a"), variants("ß", "ẞ"), variants("σ", "ς", "Σ"),
	}
	var spell func(prefix string, rest [][]string)
	spell = func(prefix string, rest [][]string) {
		if len(rest) == 0 {
			for _, around := range []string{"/srv/%s/x", "/SRV/%s"} {
				attempts = append(attempts, attempt{"case", fmt.Sprintf(around, prefix)})
			}
			return
		}
		for _, c := range rest[0] {
			spell(prefix+c, rest[1:])
		}
	}
	spell("", letters)
	holdOut(t, operands{
		require: []pathtext.Operand{{NotLike: []string{"/srv/skéåßσ/**"}, Fold: true}},
		refuse: []pathtext.Operand{
			{Under: []string{"/srv/SKE\u0301Åßς"}, Fold: true},
			{Like: []string{"**/sKéåẞ[σ]/**"}, Fold: true},
			{Like: []string{"/s[R]v/skéåß?/**"}, Fold: true},
			{Like: []string{"/srv/{x,y,z,skéåßσ,a,b,c,d,e,f}/**"}, Fold: true},
		},
	}, attempts)
}

func windowsAttempts() []attempt {
	var out []attempt
	add := func(kind, text string) { out = append(out, attempt{kind, text}) }
	for depth := 1; depth <= 4; depth++ {
		for _, sep := range []string{`\`, "/", `\\`, `/\`, `\.\`} {
			add("dots", `C:\work`+sep+strings.Repeat(".."+sep, depth)+`secret`+sep+`x`)
		}
	}
	for _, dot := range dotSpellings {
		add("encoded dots", `C:\work\`+dot+dot+`\secret\x`)
		add("encoded dots", `C:\work\`+dot+`.\secret\x`)
	}
	for _, slash := range append(append([]string{}, slashSpellings...), backSpellings...) {
		add("encoded slash", `C:\work\x`+slash+".."+slash+".."+slash+"secret")
		add("encoded slash", `C:\secret`+slash+"x")
	}
	for _, c := range invisible {
		add("invisible", `C:\sec`+c+`ret\x`)
	}
	for _, c := range controls {
		add("control", `C:\secret\x`+c)
	}
	for _, sign := range oddSigns {
		add("look-alike", `C:\work\`+sign+`\secret\x`)
	}
	for _, s := range []string{`C:\secret\x`, `c:\secret`, `C:/secret/x`, `c:/secret\x`, `C:\\secret\\x`, `C:\.\secret`, `C:\secret\`, `C://secret`} {
		add("spelling", s)
	}
	for _, s := range []string{`C:secret\x`, `C:`, `c:x`, `C:..\secret`, `\secret\x`, `/secret/x`, `secret\x`, `..\secret\x`, `D:secret`} {
		add("drive", s)
	}
	for _, s := range []string{`\\?\C:\secret\x`, `\\.\C:\secret\x`, `//?/C:/secret/x`, `//./C:/secret/x`, `\/?\C:\secret`, `\\?\UNC\localhost\C$\secret`, `\??\C:\secret`,
		`\\?\GLOBALROOT\Device\HarddiskVolume1\secret`, `\\?\Volume{0}\secret`, `\\.\PhysicalDrive0`, `\\.\pipe\x`, `\\?`, `\\.`, `\\.\`} {
		add("device path", s)
	}
	for _, s := range []string{`\\localhost\C$\secret\x`, `//localhost/C$/secret/x`, `\\127.0.0.1\c$\secret`, `\\host\share`, `\\host`, `\\\host\share\x`, `\\`, `\/host\share`, `\\host\\share\x`, `\\..\share`, `\\host@SSL\x`} {
		add("network", s)
	}
	for _, s := range []string{`secret.`, `secret `, `secret..`, `secret. .`, `secret   `, `secret.\x`, `secret \x`, `secret ...\x`} {
		add("trailing", `C:\`+s)
	}
	for _, s := range []string{`secret::$INDEX_ALLOCATION`, `secret:$I30:$INDEX_ALLOCATION\x`, `secret\x::$DATA`, `secret\x:stream`, `:secret`, `work:x`} {
		add("stream", `C:\`+s)
	}
	for _, s := range []string{`SECRET~1`, `SECRET~1\x`, `SECRE~12.txt`, `SE1A2B~1`, `S~123456`, `~1`, `PROGRA~1\x.y`, `SECRE~1.TXT`} {
		add("short name", `C:\`+s)
	}
	for _, name := range []string{"CON", "con", "PRN", "AUX", "NUL", "nul", "COM1", "com9", "COM0", "LPT1", "lpt9", "COM¹", "COM²", "com³", "LPT¹", "LPT³", "CONIN$", "CONOUT$", "CLOCK$"} {
		for _, around := range []string{`C:\work\%s`, `C:\work\%s.txt`, `C:\work\%s .txt`, `C:\%s\x`, `c:/work/%s.tar.gz`} {
			add("device", fmt.Sprintf(around, name))
		}
	}
	for _, c := range `<>"|?*` {
		add("wild card", `C:\secre`+string(c)+`\x`)
	}
	for _, s := range []string{"", "~", `~\x`, "file:///C:/secret/x", "FILE:C:/secret", "file://localhost/c$/secret"} {
		add("other forms", s)
	}
	return out
}

func TestBypassWindows(t *testing.T) {
	w := pathtext.Windows
	holdOut(t, operands{
		require: []pathtext.Operand{
			{Style: w, Under: []string{`C:\work`}},
			{Style: w, Under: []string{`C:/work`}, Fold: true},
			{Style: w, Like: []string{"C:/work/**"}},
			{Style: w, Under: []string{`C:\work`}, NotLike: []string{"C:/secret/**"}},
			{Style: w, Under: []string{`C:\work`, `\\files\work`}},
		},
		refuse: []pathtext.Operand{
			{Style: w, Under: []string{`C:\secret`}},
			{Style: w, Under: []string{`c:\SECRET`}, Fold: true},
			{Style: w, Like: []string{"c:/secret/**"}},
			{Style: w, Like: []string{"**/secret/**"}},
			{Style: w, Like: []string{"[a-c]:/secret/**"}},
			{Style: w, NotLike: []string{"C:/work/**"}},
			{Style: w, Under: []string{`C:\secret`, `\\files\secret`}},
		},
	}, windowsAttempts())
}

// TestBypassShares is for shares, each of which has many names.
func TestBypassShares(t *testing.T) {
	refuse := judge(t, pathtext.Operand{Style: pathtext.Windows, Under: []string{`\\files\secret`, `C:\secret`}})
	require := judge(t, pathtext.Operand{Style: pathtext.Windows, Under: []string{`\\files\work`}, Required: true})
	for _, text := range []string{`\\FILES\secret\x`, `\\files\SECRET\x`, `\\files.example.test\secret\x`, `\\10.0.0.5\secret\x`, `\\files\d$\secret\x`, `\\localhost\c$\secret`, `\\files\work\x`} {
		expect(t, refuse, text, unsure)
	}
	expect(t, refuse, `\\files\secret\x`, holds)
	expect(t, refuse, `//files/secret`, holds)
	expect(t, refuse, `C:\work`, fails)
	expect(t, require, `\\files\work\x`, holds)
	expect(t, require, `\\files\work`, holds)
	expect(t, require, `\\files\workshop\x`, fails)
	expect(t, require, `\\FILES\work\x`, fails)
	expect(t, require, `C:\work`, fails)
}

// TestOrdinary holds paths of every day, which must pass.
func TestOrdinary(t *testing.T) {
	names := []string{
		"a", "a.txt", "notes.md", "README", "Makefile", ".env.example", ".gitignore", ".github/workflows/ci.yml", "src/main.go", "src/./main.go",
		"src//main.go", "src/", ".", "go.mod", "node_modules/@types/node/index.d.ts", "a b c.txt", "Report (final).pdf", "Report [2].pdf", "100%.txt", "100%25.txt",
		"50%20off.txt", "a%20b.txt", "caf%C3%A9.txt", "%7Euser", "%", "%%", "%zz", "a&b=c.txt", "a+b.txt", "a,b;c.txt",
		"it's.txt", `say "hi".txt`, "a=b", "a@b.txt", "#1.txt", "$HOME", "{a,b}", "*", "?", "a!b",
		"a:b", "12:30.log", "x~", "~x", "a~1.txt", "...", "....", "..a", "a..", "a..b",
		"v1.2.3/file", "file.tar.gz", "a.b.c.d.e", "-rf", "--help", "_x", "__init__.py", "x__y", "a-b_c.d", "0",
		"2026-11-30T09-00-00Z.log", "IMG_0001.JPG", "ÄÖÜ.txt", "äöüß.txt", "café.txt", "cafe\u0301.txt", "naïve.md", "Ελλάδα.txt", "Москва.txt", "日本語.txt",
		"中文/文件.txt", "한국어.txt", "العربية.txt", "עברית.txt", "हिन्दी.txt", "ไทย.txt", "Việt Nam.txt", "İstanbul.txt", "ıssız.txt", "ŁÓDŹ.txt",
		"Ærø/Øl.txt", "½.txt", "x².txt", "№1.txt", "™.txt", "€100.txt", "£5.txt", "«x».txt", "“x”.txt", "a–b—c.txt",
		"😀.txt", "👍🏽.txt", "音楽♪.mp3", "a\u00a0b.txt", "∕.txt", "⁄.txt", "a'b`c.txt", "a^b.txt", "a|b.txt", "<a>.txt",
		"con", "nul.txt", "COM1", "trailing ", "trailing.", " leading", "deep/" + strings.Repeat("d/", 200) + "x", strings.Repeat("n", 255), "a/b/c/d/e/f/g/h", "tmp/.cache/x",
	}
	if len(names) < 100 {
		t.Fatalf("%d names, want at least 100", len(names))
	}
	require := []*pathtext.Judge{
		judge(t, pathtext.Operand{Under: []string{"/srv/work"}}),
		judge(t, pathtext.Operand{Under: []string{"/srv/work"}, Fold: true}),
		judge(t, pathtext.Operand{Under: []string{"/srv/other", "/srv/work"}, Like: []string{"/srv/**"}, NotLike: []string{"**/.ssh/**"}}),
		judge(t, pathtext.Operand{Like: []string{"/srv/{work,play}/**"}}),
	}
	refuse := judge(t, pathtext.Operand{Under: []string{"/etc"}, Fold: true})
	based := judge(t, pathtext.Operand{Under: []string{"/srv/work"}, Base: "/srv/work"})
	for _, name := range names {
		for _, j := range require {
			expect(t, j, "/srv/work/"+name, holds)
		}
		expect(t, refuse, "/srv/work/"+name, fails)
		if name[0] != '~' {
			expect(t, based, name, holds)
		}
	}
}

func TestOrdinaryWindows(t *testing.T) {
	w := pathtext.Windows
	names := []string{"a.txt", `src\main.go`, "src/main.go", "", `a\\b`, `.\a`, "Program Files", "Program Files (x86)", ".gitignore", "a b.txt", "a~b.txt", "~a.txt", "~$Report.docx", "longer-name~1.txt",
		"100%.txt", "50%20off.txt", "console", "CONfig", "nullable.txt", "COM10", "COMX", "LPTs", "com", "lpt", "auxiliary.c", "a..b", "..a", ".a", "ÄÖÜ.txt", "日本語.txt", " leading", "a;b,c=d+e@f#g!h$i&j'k(l)m[n]{o}"}
	for _, root := range []string{`C:\work`, "C:/work", `c:\work`} {
		j := judge(t, pathtext.Operand{Style: w, Under: []string{root}, NotLike: []string{"**/.ssh/**", "D:/**"}})
		globs := judge(t, pathtext.Operand{Style: w, Like: []string{root[:1] + ":/work/**"}})
		based := judge(t, pathtext.Operand{Style: w, Under: []string{root}, Base: root})
		for _, name := range names {
			expect(t, j, `C:\work\`+name, holds)
			expect(t, j, `c:/work/`+name, holds)
			expect(t, globs, `C:\work\`+name, holds)
			expect(t, globs, `c:\work\`+name, holds)
			if name != "" && name[0] != '~' {
				expect(t, based, name, holds)
			}
		}
		expect(t, j, `C:\workshop`, fails)
		expect(t, j, `C:\`, fails)
		expect(t, j, `D:\work`, fails)
		expect(t, j, `C:\WORK`, fails)
	}
	drive := judge(t, pathtext.Operand{Style: w, Under: []string{`C:\`}, Like: []string{"C:/", "c:/*"}})
	expect(t, drive, `C:\`, holds)
	expect(t, drive, `c:/`, holds)
	expect(t, drive, `C:\a`, holds)
	expect(t, drive, `C:\a\b`, fails)
	fold := judge(t, pathtext.Operand{Style: w, Under: []string{`C:\Users\Zoë`}, Fold: true})
	expect(t, fold, `c:\users\ZOË\x`, holds)
	expect(t, fold, `d:\users\ZOË\x`, fails)
}
