package engine_test

import (
	"regexp"
	"testing"

	"countersign/engine"

	"pgregory.net/rapid"
)

func TestNeededLiterals(t *testing.T) {
	for _, c := range []struct {
		re, text   string
		known, may bool
	}{
		{`(?i)\bssn[: ]+\d{3}-7`, "nothing of it", true, false},
		{`(?i)\bssn[: ]+\d{3}-7`, "my SsN", true, true},
		{`(?i)\bssn[: ]+\d{3}-7`, "my ſſn", true, true},
		{`(?i)kilo`, "\u212Ailo", true, true},
		{`(?i)kilo`, "ilo", true, false},
		{`(?i)9-x`, "8 9-X", true, true},
		{`abc|defg`, "xdefgx", true, true},
		{`abc|defg`, "ab", true, false},
		{`abc|.*`, "", false, true},
		{`[a-z]+@evil\.example`, "user@good.example", true, false},
		{`(ab)+c?`, "xab", true, true},
		{`(ab){2,}`, "a", true, false},
		{`(ab){0,2}`, "", false, true},
		{`(ab)*`, "", false, true},
		{`\d+`, "", false, true},
		{`(?i)straße`, "STRAẞE", true, true},
		{`(?i)é`, "", false, true},
	} {
		known, may := engine.Needed(c.re, c.text)
		if known != c.known || may != c.may {
			t.Errorf("%s on %q: known %v, may match %v; want %v, %v", c.re, c.text, known, may, c.known, c.may)
		}
		if !may && regexp.MustCompile(c.re).MatchString(c.text) {
			t.Errorf("%s matches %q, which has none of its literals", c.re, c.text)
		}
	}
}

// A text that matches is never passed over.
func TestNeededLiteralsNeverMissing(t *testing.T) {
	atoms := []string{"a", "ab", "s", "K", "ss", "é", ".", "[ab]", `\d`, "(?:a|b)", "(?:ab|sk|É)", "x?", "(?:sk)+", "(?:ab){1,2}", `\b`, "(k)", "-", "ſ", "\u212A"}
	texts := []string{"a", "b", "A", "S", "s", "ſ", "k", "K", "\u212A", "é", "É", "1", "-", "x", "ab", "sk", " "}
	var matched int
	rapid.Check(t, func(t *rapid.T) {
		source := pick(t, []string{"", "(?i)", "(?s)"})
		for range rapid.IntRange(1, 5).Draw(t, "atoms") {
			source += pick(t, atoms)
		}
		if chance(t, 30) {
			source += "|" + pick(t, atoms) + pick(t, atoms)
		}
		re := regexp.MustCompile(source)
		for range 20 {
			text := ""
			for range rapid.IntRange(0, 8).Draw(t, "n") {
				text += pick(t, texts)
			}
			if re.MatchString(text) {
				matched++
				if _, may := engine.Needed(source, text); !may {
					t.Fatalf("%s matches %q, which is said to have none of its literals", source, text)
				}
			}
		}
	})
	if matched == 0 {
		t.Error("no text matched")
	}
}
