package casefold_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/internal/casefold"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func fold(s string) string { return new(casefold.Folder).Text(s) }

func TestFoldText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ascii", "PassWord-9_Z", "password-9_z"},
		{"sharp s", "Straße STRASSE ẞ", "strasse strasse ss"},
		{"kelvin, angstrom, ohm", "\u212A\u212B\u2126", "k\u00e5\u03c9"},
		{"full width", "ＰＡＳＳｗｏｒｄ", "password"},
		{"mathematical letters", "𝐩𝒂𝓼𝕤𝐖𝘰𝙧𝚍", "password"},
		{"circled", "ⓟⓐⓢⓢ", "pass"},
		{"ligature", "\uFB01le \uFB06", "file st"},
		{"long s", "\u017Fecret", "secret"},
		{"final sigma", "ΣΑΣ σας", "σασ σασ"},
		{"dotted capital I", "\u0130", "i\u0307"},
		{"soft hyphen", "pass\u00ADword", "password"},
		{"zero width", "p\u200Ba\u200Cs\u200Ds\u2060w\uFEFFord", "password"},
		{"direction marks", "\u202Epass\u202C\u2066word\u2069", "password"},
		{"variation selectors", "pass\uFE0Fwo\U000E0100rd", "password"},
		{"tag characters", "pass\U000E0041\U000E007Fword", "password"},
		{"reserved ignorable", "pass\U000E0FFFword\uFFF0", "password"},
		{"hangul fillers", "pa\u3164ss\uFFA0\u115F\u1160word", "password"},
		{"grapheme joiner", "pass\u034Fword", "password"},
		{"composed and decomposed", "caf\u00e9 cafe\u0301", "caf\u00e9 caf\u00e9"},
		{"a joiner between letter and mark", "cafe\u034F\u0301", "caf\u00e9"},
		{"iota below among marks", "\u03B1\u0345\u0301 \u03B1\u0301\u0345 \u1FB4", "\u03AC\u03B9 \u03AC\u03B9 \u03AC\u03B9"},
		{"annotation marks are not ignorable", "a\uFFF9b", "a\uFFF9b"},
		{"an arabic sign that joins is not ignorable", "a\u0600b", "a\u0600b"},
		{"cherokee folds to capitals", "\u13A0\uAB70 \u13F5\u13FD", "\u13A0\u13A0 \u13F5\u13F5"},
		{"fractions and squares", "½ ㎏", "1\u20442 kg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fold(c.in); got != c.want {
				t.Errorf("fold %+q = %+q, want %+q", c.in, got, c.want)
			}
		})
	}
}

// Every code point alone: the form is stable, and is what the standard's own
// definition of the mapping gives when written out plainly.
func TestFoldEveryRune(t *testing.T) {
	plain := func(s string) string {
		for range 100 {
			n := norm.NFKC.String(s)
			if !unicode.Is(unicode.Cherokee, []rune(n + " ")[0]) { // which package cases turns round and round
				n = cases.Fold().String(n)
			}
			n = norm.NFKC.String(n)
			n = strings.Map(func(r rune) rune {
				switch {
				case casefold.Ignorable(r):
					return -1
				case unicode.Is(unicode.Cherokee, r):
					return unicode.ToUpper(r)
				}
				return r
			}, n)
			if n == s {
				return s
			}
			s = n
		}
		return "no end"
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := fold(string(r))
		if want := plain(string(r)); got != want {
			t.Fatalf("%U: %+q, want %+q", r, got, want)
		}
		if again := fold(got); again != got {
			t.Fatalf("%U: %+q folds on to %+q", r, got, again)
		}
	}
}

// IDNA's mapping of UTS 46 is NFKC_Casefold but for the characters it forbids or
// treats on their own; letters that it maps must come out the same here.
func TestFoldAgreesWithIDNA(t *testing.T) {
	p := idna.New(idna.MapForLookup(), idna.Transitional(false))
	held := 0
	for r := rune(0xA1); r <= 0x1FFFF; r++ {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			continue
		}
		m, err := p.ToUnicode("a" + string(r) + "a")
		if err != nil || r == 'ß' || r == 'ς' || r == 'ẞ' || strings.ContainsAny(m, ".") {
			continue // forbidden there, or one of its deviations
		}
		held++
		if got := fold("a" + string(r) + "a"); got != m {
			t.Errorf("%U: %+q, IDNA maps to %+q", r, got, m)
		}
	}
	if held < 50_000 {
		t.Errorf("only %d letters held against IDNA", held)
	}
}

func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("aAbßſSıİσςéE\u0301\u0345\u034F\u00AD\u200Bﬁ½Ω한ᄒ\u1161"))).Draw(t, "s")
		f := fold(s)
		if fold(f) != f {
			t.Fatalf("%+q folds to %+q and on to %+q", s, f, fold(f))
		}
		for name, form := range map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD} {
			if g := fold(form.String(s)); g != f {
				t.Fatalf("%+q: folded %+q, its %s %+q", s, f, name, g)
			}
		}
	})
}

// One round is enough but for what ignorable characters kept apart, also of
// characters and marks in any order.
func TestFoldOnce(t *testing.T) {
	var odd, marks []rune
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		switch {
		case !utf8.ValidRune(r):
		case unicode.Is(unicode.M, r):
			marks = append(marks, r)
		case unicode.SimpleFold(r) != r || !norm.NFKD.IsNormalString(string(r)):
			odd = append(odd, r)
		}
	}
	draw := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom(odd), rapid.SampledFrom(marks), rapid.SampledFrom([]rune("a \u0345\u0301\u0308\u034F\u00AD\u1161\u11A8"))), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		for range 100 {
			s := draw.Draw(t, "s")
			f := fold(s)
			if again := fold(f); again != f {
				t.Fatalf("%+q folds to %+q and on to %+q", s, f, again)
			}
		}
	})
}
