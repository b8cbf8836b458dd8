package pathtext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/internal/pathtext"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// TestDefaultIgnorable holds the derived set against the ranges that
// DerivedCoreProperties.txt of Unicode 15 gives for Default_Ignorable_Code_Point.
func TestDefaultIgnorable(t *testing.T) {
	published := [][2]rune{
		{0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
		{0x202a, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8},
		{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	}
	total := 0
	for _, p := range published {
		for r := p[0]; r <= p[1]; r++ {
			total++
			if !pathtext.Invisible(r) {
				t.Errorf("%U is ignorable and counts as visible", r)
			}
		}
	}
	if total < 4000 {
		t.Fatalf("%d code points, want the whole set", total)
	}
	// Nothing else is invisible but what is of the four categories.
	for r := rune(0); r <= unicode.MaxRune; r++ {
		listed := false
		for _, p := range published {
			listed = listed || p[0] <= r && r <= p[1]
		}
		want := listed || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		if got := pathtext.Invisible(r); got != want {
			t.Errorf("%U: invisible %v, want %v", r, got, want)
		}
	}
}

// TestStandsForSign holds every character against its NFKC form.
func TestStandsForSign(t *testing.T) {
	found := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || pathtext.Invisible(r) {
			continue
		}
		want := strings.ContainsAny(norm.NFKC.String(string(r)), `./\`)
		if want {
			found++
		}
		if got := pathtext.Character(r, false) != ""; got != want {
			t.Errorf("%U: %v, and its NFKC form is %q", r, got, norm.NFKC.String(string(r)))
		}
	}
	if found < 30 {
		t.Errorf("%d characters stand for a sign, want at least 30", found)
	}
}

func TestEscapes(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a.b/c": false, "%": false, "%2": false, "%zz": false, "%2g": false, "%20": false, "%25": false, "100%25.txt": false, "%41%42": false,
		"%2e": true, "%2F": true, "%5c": true, "%00": true, "a%2": false, "a%%2e": true, "%%": false, "%%%2e": true,
		"%252e": true, "%25252e": true, "%2525252e": false, "%2%65": true, "%%32%65": true, "%25%32%65": true, "%2%35%32%65": true,
		"%c0%ae": true, "%c0%af": true, "%c1%9c": true, "%c0%80": true, "%e0%80%af": true, "%f0%80%80%ae": true, "%f8%80%80%80%af": true, "%fc%80%80%80%80%af": true,
		"%c0%6e": true, "%c0%25ae": true, "%25c0%ae": true, "%c0": false, "%c3%a9": false, "%e2%82%ac": false, "%c0a": false, "%f4%8f%bf%bf": false,
		"%u002e": true, "%U002F": true, "%u00e9": false, "%uff0e": true, "%u2215": false, "%u002": false, "%25u002e": true,
		"%ef%bc%8f": true, "%e2%80%a6": true, "%e2%80%94": false,
	} {
		if got := pathtext.Escapes(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestFoldLaws: folding twice is folding once, and what is composed otherwise or
// written in another case folds to the same.
func TestFoldLaws(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || 0x20000 <= r && r < 0x2f800 || r >= 0x2fa20 {
			continue // no case and no composition in what is left out
		}
		s := string(r)
		folded := pathtext.FoldPath(s)
		if again := pathtext.FoldPath(folded); again != folded {
			t.Errorf("%U: folded %q, again %q", r, folded, again)
		}
		if other := pathtext.FoldPath(string(unicode.SimpleFold(r))); other != folded {
			t.Errorf("%U: folded %q, its other case %q", r, folded, other)
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if other := pathtext.FoldPath(form.String(s)); other != folded {
				t.Errorf("%U: folded %q, normalised before %q", r, folded, other)
			}
		}
	}
	for _, p := range [][2]string{{"ſ̌", "Š"}, {"K", "k"}, {"J̌", "ǰ"}, {"Σ", "ς"}, {"É", "é"}, {"ẞ", "ß"}, {"Å", "å"}} {
		if a, b := pathtext.FoldPath(p[0]), pathtext.FoldPath(p[1]); a != b {
			t.Errorf("%q folds to %q, %q to %q", p[0], a, p[1], b)
		}
	}
	for _, p := range [][2]string{{"İ", "i"}, {"ı", "i"}, {"ß", "ss"}, {"é", "e"}, {"ａ", "a"}} {
		if a, b := pathtext.FoldPath(p[0]), pathtext.FoldPath(p[1]); a == b {
			t.Errorf("%q and %q both fold to %q", p[0], p[1], a)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("aAeEkK\u212asSſßẞσςΣİıǰJ\u030c\u0301\u0308\u0327\u0345αᾳῼé가\u1100\u1161"))).Draw(t, "text")
		folded := pathtext.FoldPath(s)
		if again := pathtext.FoldPath(folded); again != folded {
			t.Fatalf("%q: folded %q, again %q", s, folded, again)
		}
		if other := pathtext.FoldPath(norm.NFD.String(s)); other != folded {
			t.Fatalf("%q: folded %q, decomposed before %q", s, folded, other)
		}
		if !norm.NFC.IsNormalString(folded) {
			t.Fatalf("%q: folded to %q, which is not composed", s, folded)
		}
	})
}
