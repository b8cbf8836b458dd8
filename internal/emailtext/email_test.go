package emailtext_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/emailtext"
	"countersign/internal/verdict"
)

func judge(t testing.TB, o emailtext.Operand) *emailtext.Judge {
	t.Helper()
	j, err := emailtext.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJudge(t *testing.T) {
	j := judge(t, emailtext.Operand{Domains: []string{"corp.test", "*.partner.test", "xn--bcher-kva.example"}, Addresses: []string{"Anna@home.test"}})
	for text, want := range map[string]verdict.Result{
		"a@corp.test":                                verdict.Holds,
		"a@CORP.Test":                                verdict.Holds,
		"a.b+c=d_e-f@corp.test":                      verdict.Holds,
		"a=b?c@corp.test":                            verdict.Holds,
		"Anna Smith <a@corp.test>":                   verdict.Holds,
		"O'Neill-Jones Jr. <a@corp.test>":            verdict.Holds,
		"Änne Müller <a@corp.test>":                  verdict.Holds,
		"<a@corp.test>":                              verdict.Holds,
		"a@corp.test, b@corp.test ,c@x.partner.test": verdict.Holds,
		"a@bücher.example":                           verdict.Holds,
		"Anna@home.test":                             verdict.Holds,
		"Anna@HOME.test":                             verdict.Holds,
		"anna@home.test":                             verdict.Fails,
		"a@home.test":                                verdict.Fails,
		"a@partner.test":                             verdict.Fails,
		"a@x.y.partner.test":                         verdict.Fails,
		"a@xpartner.test":                            verdict.Fails,
		"a@corp.test.evil.test":                      verdict.Fails,
		"a@corp.test, b@evil.test":                   verdict.Fails,
		"a@localhost":                                verdict.Fails,
	} {
		if got, why := j.Judge(text); got != want || (why == "") != (want == verdict.Holds) {
			t.Errorf("%q: %v (%s), want %v", text, got, why, want)
		}
	}
}

// Each kind of trick, dressed up in many ways, against a require and a refuse
// of the same domain: nothing but a plain answer about the address that the
// strictest reader sees.
func TestBypass(t *testing.T) {
	const good, evil = "corp.test", "evil.test"
	var tries []string
	add := func(format string) {
		for _, pair := range [][2]string{{good, evil}, {evil, good}} {
			tries = append(tries, strings.NewReplacer("GOOD", pair[0], "EVIL", pair[1]).Replace(format))
		}
	}
	for _, f := range []string{
		`"a@GOOD"@EVIL`, `"a" <b@EVIL>`, `"a@GOOD" <b@EVIL>`, `a@GOOD <b@EVIL>`, `a＠GOOD <b@EVIL>`, `a﹫GOOD <b@EVIL>`, `<a@GOOD><b@EVIL>`, `<a@GOOD> <b@EVIL>`,
		`a@GOOD(b@EVIL)`, `a(b)@EVIL`, `(x)a@GOOD`, `a@(x)GOOD`, `group: a@GOOD, b@EVIL;`, `undisclosed:;`, `a@GOOD;b@EVIL`, `a@GOOD b@EVIL`, `a@GOOD, `, `,a@GOOD`, `a@GOOD,,b@EVIL`,
		`a@[127.0.0.1]`, `a@[IPv6:::1]`, `a@127.0.0.1`, `a@127.1`, `a@0x7f.1`, `a@GOOD.`, `a@.GOOD`, `a@GOOD..EVIL`, `a@@GOOD`, `a@GOOD@EVIL`, `a%EVIL@GOOD`, `EVIL!a@GOOD`, `@EVIL:a@GOOD`, `<@EVIL:a@GOOD>`,
		`.a@GOOD`, `a.@GOOD`, `a..b@GOOD`, `a b@GOOD`, `a,b@GOOD`, `a\@EVIL@GOOD`, `a\,b@GOOD`, "a@GOOD\n", "a@GOOD\r\nBcc: b@EVIL", "a@GOOD\tb", "a@GOOD\x00", "a@GOOD\u0000.EVIL", "a\u200b@GOOD", "a@GO\u00adOD.EVIL\u200b", "a@GOOD\u2028b@EVIL", "\ufeffa@GOOD",
		`=?utf-8?q?a=40GOOD?= <b@EVIL>`, `=?utf-8?q?b=40EVIL=3e=00?=a@GOOD`, `=?utf-8?q?b=40EVIL?=@GOOD`, `a=?x?b?YkBFVklM?=@GOOD`, `Name <=?utf-8?q?b=40EVIL=3e?=@GOOD>`, `a@GOOD<b@EVIL>`, `Name<a@GOOD>`, `Name <a@GOOD> x`, `Name <a@GOOD`, `Name a@GOOD>`, `<>`, `Name <>`, `a@`, `@GOOD`, ``, ` `, `a`, `mailto:a@GOOD`, `a@GOOD?bcc=b@EVIL`, `a@GOOD/b`, `a@GOOD#b`, `a@GOOD:25`, `a@*.GOOD`, `a@xn--0`, `ä@GOOD`, "a\xff@GOOD", `a@-GOOD`, `a@under_score.GOOD`,
		`Name, b <a@GOOD> @EVIL`, `[a@GOOD] <b@EVIL>`, `{a} <b@EVIL>`, `a:b <c@EVIL>`, `a;b <c@EVIL>`, `a\"b <c@EVIL>`, "a@GOOD\u3000,b@EVIL", "a@GOOD\uff0cb@EVIL", "a@GOOD，b@EVIL", `a@GOOD；b@EVIL`, `"a"@GOOD`, `""@GOOD`, `a"b"@GOOD`, `"a@b"@GOOD`,
	} {
		add(f)
		add(" " + f)
		add("x@GOOD, " + f)
	}
	if len(tries) < 200 {
		t.Fatalf("only %d attempts", len(tries))
	}
	for _, listed := range []string{good, evil} {
		j := judge(t, emailtext.Operand{Domains: []string{listed}})
		for _, s := range tries {
			// Under a require only what holds passes, under a refuse only what does
			// not hold: either answer needs a text that can be read in one way only.
			r, _ := j.Judge(s)
			if r == verdict.CannotJudge {
				continue
			}
			domains, plain := plainly(s)
			if !plain {
				t.Errorf("%s listed: %q: %v, want that it cannot be judged", listed, s, r)
				continue
			}
			all := true
			for _, d := range domains {
				all = all && d == listed
			}
			if all != (r == verdict.Holds) {
				t.Errorf("%s listed: %q: %v", listed, s, r)
			}
		}
	}
}

// plainly is a second reading, by itself: it gives the domains of a text whose
// parts are letters@domain, after at most one plain display name.
func plainly(s string) (domains []string, ok bool) {
	for p := range strings.SplitSeq(s, ",") {
		p = strings.Trim(p, " ")
		if name, rest, found := strings.Cut(p, "<"); found {
			if strings.Trim(name, "Name ") != "" || name != "" && !strings.HasSuffix(name, " ") || !strings.HasSuffix(rest, ">") {
				return nil, false
			}
			p = strings.TrimSuffix(rest, ">")
		}
		l, d, _ := strings.Cut(p, "@")
		if strings.Trim(l, "abcdefghijklmnopqrstuvwxyz.") != "" || l == "" || strings.Trim(d, "abcdefghijklmnopqrstuvwxyz.") != "" || d == "" {
			return nil, false
		}
		domains = append(domains, d)
	}
	return domains, true
}

func TestOrdinary(t *testing.T) {
	j := judge(t, emailtext.Operand{Domains: []string{"corp.test", "mail.corp.test"}})
	n := 0
	for _, name := range []string{"", "Anna Smith ", "J. R. Doe ", "Sales & Support ", "Jean-Luc ", "Þóra Ólafsdóttir ", "李雷 ", "team_a/b ", "O’Hara ", "Dr. Who 2 "} {
		for _, local := range []string{"a", "anna.smith", "a+tag", "x_y", "o'hara", "1234", "a-b", "first.m.last", "no-reply", "A"} {
			text := local + "@corp.test"
			if name != "" {
				text = fmt.Sprintf("%s<%s>", name, text)
			}
			for _, s := range []string{text, text + ", b@mail.corp.test"} {
				n++
				if r, why := j.Judge(s); r != verdict.Holds {
					t.Errorf("%q: %v, %s", s, r, why)
				}
			}
		}
	}
	if n < 100 {
		t.Fatal("too few")
	}
}

func TestOperand(t *testing.T) {
	for _, c := range []struct {
		o           emailtext.Operand
		member, msg string
	}{
		{emailtext.Operand{}, "", "expected domains"},
		{emailtext.Operand{Domains: []string{"a.test", "B.test"}}, "domains", `write "b.test"`},
		{emailtext.Operand{Domains: []string{"*.Bücher.test"}}, "domains", `write "*.xn--bcher-kva.test"`},
		{emailtext.Operand{Domains: []string{"*"}}, "domains", "no plain name"},
		{emailtext.Operand{Domains: []string{"a.*.test"}}, "domains", "no plain name"},
		{emailtext.Operand{Domains: []string{"10.0.0.1"}}, "domains", "address"},
		{emailtext.Operand{Domains: []string{"[::1]"}}, "domains", "literal"},
		{emailtext.Operand{Addresses: []string{"a.test"}}, "addresses", "local@domain"},
		{emailtext.Operand{Addresses: []string{"a@B.test"}}, "addresses", `write "a@b.test"`},
		{emailtext.Operand{Addresses: []string{`"a"@b.test`}}, "addresses", "plain local part"},
	} {
		_, err := emailtext.New(c.o)
		var e *verdict.OperandError
		if !errors.As(err, &e) || e.Member != c.member || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%v: %v, want %s: …%s…", c.o, err, c.member, c.msg)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{"a@corp.test", "Anna <a@corp.test>, b@evil.test", `"a"@corp.test`, "a＠b <c@corp.test>", "a@[::1]"} {
		f.Add(s)
	}
	j := judge(f, emailtext.Operand{Domains: []string{"corp.test"}})
	f.Fuzz(func(t *testing.T, s string) {
		r, _ := j.Judge(s)
		again, _ := j.Judge(s)
		if r != again || r == verdict.Absent {
			t.Fatalf("%q: %v, then %v", s, r, again)
		}
		if r == verdict.Holds && strings.Count(s, "@") != strings.Count(s, ",")+1 {
			t.Fatalf("%q holds", s)
		}
	})
}
