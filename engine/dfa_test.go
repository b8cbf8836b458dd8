package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"countersign/engine"

	"pgregory.net/rapid"
)

func TestTables(t *testing.T) {
	for _, c := range []struct {
		re   string
		made bool
		in   []string
	}{
		{`a`, true, []string{"", "a", "b", "ba", "é"}},
		{`^a$`, true, []string{"", "a", "a\n", "ba", "ab"}},
		{`(?m)^a$`, true, []string{"", "a", "a\n", "b\na", "b\na\nc", "ba", "a b"}},
		{`\Aa*\z`, true, []string{"", "a", "aaaa", "aab", "\n"}},
		{`\b\d{3}-\d{2}\b`, true, []string{"123-45", "x123-45", " 123-45 ", "123-456", "é123-45", "123-45é"}},
		{`\Bx\B`, true, []string{"x", "axb", "ax", "xa", "éxé"}},
		{`(?i)k\b`, true, []string{"k", "K", "\u212A", "ka", "\u212Aa"}},
		{`(?i)straße`, true, []string{"STRASSE", "straße", "STRAẞE", "ſtraße"}},
		{`[^a-z]`, true, []string{"", "abc", "aéc", "\n", "日"}},
		{`.`, true, []string{"", "\n", "é", "\u2028"}},
		{`(?s).`, true, []string{"", "\n"}},
		{`\pL+\d`, true, []string{"a1", "é1", "日本1", "1", "-1", "\U0001F600" + "1"}},
		{`x*`, true, []string{"", "y"}},
		{`(a|b)*abb$`, true, []string{"abb", "aababb", "abba"}},
		{`$^`, true, []string{"", "a"}},
		{`[ab]*a[ab]{14}c`, false, []string{"a"}}, // 2^14 states
		{`[a-z]{1000}`, false, nil},
	} {
		re := regexp.MustCompile(c.re)
		for _, s := range append(c.in, "") {
			made, match := engine.Table(c.re, s)
			if made != c.made {
				t.Errorf("%s: a table: %v, want %v", c.re, made, c.made)
				break
			}
			if made && match != re.MatchString(s) {
				t.Errorf("%s on %q: %v, package regexp says %v", c.re, s, match, !match)
			}
		}
	}
}

// The table says what package regexp says.
func TestTablesAgree(t *testing.T) {
	atoms := []string{"a", "ab", "s", "K", "é", ".", "[ab]", "[^a]", `\d`, `\w`, `\W`, `\s`, "(?:a|b)", "(?:ab|sk|É)", "x?", "(?:sk)+", "(?:ab){1,2}", `\b`, `\B`, "^", "$", `\A`, `\z`,
		"(?:a*)", "(?:b|)", "-", "ſ", `\pL`, "[α-ω]", "\n", "(?:^a|b$)", "(?:a??)"}
	texts := []string{"a", "b", "A", "S", "s", "ſ", "k", "K", "\u212A", "é", "É", "1", "-", "x", "ab", "sk", " ", "\n", "α", "Ω", "日", "\U0001F600"}
	matched, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		source := pick(t, []string{"", "(?i)", "(?s)", "(?m)", "(?im)"})
		for range rapid.IntRange(1, 6).Draw(t, "atoms") {
			source += pick(t, atoms)
		}
		if chance(t, 30) {
			source += "|" + pick(t, atoms) + pick(t, atoms)
		}
		if chance(t, 30) {
			source = `\A(?:` + source + `)\z`
		}
		re := regexp.MustCompile(source)
		for range 20 {
			text := ""
			for range rapid.IntRange(0, 8).Draw(t, "n") {
				text += pick(t, texts)
			}
			made, match := engine.Table(source, text)
			if !made {
				t.Fatalf("no table of %s", source)
			}
			if match != re.MatchString(text) {
				t.Fatalf("%s on %q: %v, package regexp says %v", source, text, match, !match)
			}
			if match {
				matched++
			} else {
				failed++
			}
		}
	})
	if matched == 0 || failed == 0 {
		t.Errorf("%d matched, %d did not", matched, failed)
	}
}

// A pattern without a table, or that grows, is still one step for each character:
// no text makes it slow by going back.
func TestPatternsDoNotGoBack(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for _, re := range []string{`^(a+)+$`, `(a*)*b`, `(a|a)*b`, `(.*a){12}b`, `[ab]*a[ab]{14}c`} {
		e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/v", "finds": "`+re+`"}}`))
		want := "ALLOW"
		if re == `^(a+)+$` {
			want = "DENY"
		}
		hold(t, e, "x", []row{{`{"v":"` + long + `"}`, want}})
	}
}
