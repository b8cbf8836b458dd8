package urltext_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"countersign/internal/urltext"
	"countersign/internal/verdict"
)

func judge(t testing.TB, o urltext.Operand) *urltext.Judge {
	t.Helper()
	j, err := urltext.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// PATH-03: encoded separators and dots, and hosts that only look right.
func TestPATH03(t *testing.T) {
	j := judge(t, urltext.Operand{Scheme: []string{"https"}, Host: []string{"docs.test"}, Path: []string{"/pub/**"}})
	for text, want := range map[string]verdict.Result{
		"https://docs.test/pub/a.md":                 verdict.Holds,
		"https://docs.test/pub/..%2F..%2Fadmin":      verdict.CannotJudge,
		"https://docs.test/pub/%2e%2e/admin":         verdict.CannotJudge,
		"https://docs.test/pub/%252e%252e%252fadmin": verdict.CannotJudge,
		"https://docs.test/pub/../admin":             verdict.CannotJudge,
		"https://docs.test@evil.test/pub/a.md":       verdict.CannotJudge,
		`https://evil.test\@docs.test/pub/a.md`:      verdict.CannotJudge,
		"https://docs.test.evil.test/pub/a.md":       verdict.Fails,
		"file:///pub/a.md":                           verdict.CannotJudge,
	} {
		if r, why := j.Judge(text); r != want || (why == "") != (want == verdict.Holds) {
			t.Errorf("%s: %v (%s), want %v", text, r, why, want)
		}
	}
}

// What servers cut off a segment, or do not see, hides no dot segment and no name;
// a character that stands for a sign does not either, however often it is encoded.
func TestHiddenInThePath(t *testing.T) {
	inside := judge(t, urltext.Operand{Path: []string{"/pub/**"}})
	any := judge(t, urltext.Operand{Host: []string{"docs.test"}})
	for path, both := range map[string]bool{ // both: also where no path is asked for
		"%E2%80%8B../x": true, ".%E2%80%8B./x": false, "..%E2%80%8B/x": true, "..%20/x": true, "%20../x": true, "..%C2%A0/x": true, "..%20;a/x": true,
		"%C2%ADadmin/x": false, "a%EF%B8%8F/x": false, "%EE%80%80/x": false,
		"%EF%BC%8F/x": true, "%25EF%25BC%258F/x": true, "%2525EF%2525BC%25258Fx": true, "%25E2%2580%25A5/x": true, "%25u%2546F0E/x": true,
	} {
		for name, j := range map[string]*urltext.Judge{"path": inside, "host": any} {
			want := verdict.CannotJudge
			if name == "host" && !both {
				want = verdict.Holds
			}
			if r, why := j.Judge("https://docs.test/pub/" + path); r != want {
				t.Errorf("%s, %s: %v (%s), want %v", name, path, r, why, want)
			}
		}
	}
	for _, path := range []string{"a%20b/c%20", "%20a/x", "...%20/x", "caf%C3%A9/x", "%E6%BC%A2", "%25%25", "100%25", "%2525EF"} {
		if r, why := inside.Judge("https://docs.test/pub/" + path); r != verdict.Holds {
			t.Errorf("%s: %v (%s), want holds", path, r, why)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		name        string
		o           urltext.Operand
		hold, fail  []string
		cannotJudge []string
	}{
		{"scheme", urltext.Operand{Scheme: []string{"https", "wss"}}, []string{"https://a.test", "HTTPS://a.test/", "wss://a.test"}, []string{"http://a.test", "ftp://a.test"}, []string{"//a.test", "a.test", "https:a.test", "https:/a.test", "https:///a.test", ""}},
		{"host, exact", urltext.Operand{Host: []string{"api.test"}}, []string{"https://api.test", "https://API.test:8443/x?y#z"}, []string{"https://xapi.test", "https://api.test.evil", "https://a.api.test"}, []string{"https://api.test.", "https://u@api.test", "https://api%2etest"}},
		{"host, one label", urltext.Operand{Host: []string{"*.api.test"}}, []string{"https://a.api.test"}, []string{"https://api.test", "https://a.b.api.test"}, nil},
		{"host, any labels", urltext.Operand{Host: []string{"**.api.test"}}, []string{"https://a.api.test", "https://a.b.api.test", "https://api.test"}, []string{"https://xapi.test"}, nil},
		{"host of other letters", urltext.Operand{Host: []string{"xn--bcher-kva.test"}}, []string{"https://bücher.test", "https://BÜCHER.test"}, []string{"https://bucher.test"}, nil},
		{"addresses", urltext.Operand{Host: []string{"10.0.0.1", "[::1]"}}, []string{"http://10.0.0.1", "http://[::1]:80", "http://[0:0::1]"}, []string{"http://10.0.0.2", "http://[::2]"}, []string{"http://10.1", "http://0xa.0.0.1", "http://012.0.0.1", "http://167772161", "http://[::1%25lo]", "http://::1"}},
		{"address under a glob", urltext.Operand{Host: []string{"10.0.*.*"}}, []string{"http://10.0.3.4", "http://[::ffff:10.0.3.4]"}, []string{"http://10.1.3.4", "http://[::ffff:10.1.3.4]", "http://[64:ff9b::a00:304]"}, nil},
		{"an address in a mapped one", urltext.Operand{Host: []string{"10.0.0.1"}}, []string{"http://10.0.0.1", "http://[::ffff:10.0.0.1]", "http://[::ffff:a00:1]"}, []string{"http://[::ffff:10.0.0.2]"}, nil},
		{"a mapped address", urltext.Operand{Host: []string{"[::ffff:10.0.0.1]"}}, []string{"http://[::ffff:a00:1]"}, []string{"http://10.0.0.1"}, nil},
		{"port", urltext.Operand{Port: []int{443, 8443}}, []string{"https://a.test", "https://a.test:443", "http://a.test:8443"}, []string{"http://a.test", "https://a.test:80"}, []string{"https://a.test:", "https://a.test:0", "https://a.test:0443", "https://a.test:65536", "https://a.test:x", "other://a.test"}},
		{"path", urltext.Operand{Path: []string{"/", "/v1/*", "/über/**"}}, []string{"https://a.test", "https://a.test/", "https://a.test/v1/x", "https://a.test/%C3%BCber/a/b", "https://a.test/v1/a%20b"}, []string{"https://a.test/v1/x/y", "https://a.test/v1", "https://a.test/v2"}, []string{"https://a.test//v1/x", "https://a.test/v1//", "https://a.test//", "https://a.test/v1/%ff", "https://a.test/v1/%0a", "https://a.test/v1/%", "https://a.test/v1/..;/x"}},
		{"query", urltext.Operand{Query: []string{"q", "page size"}, HasQuery: true}, []string{"https://a.test", "https://a.test?", "https://a.test/?q=1&q=2&page+size=3&page%20size"}, []string{"https://a.test?x=1", "https://a.test?q=1&x", "https://a.test?Q=1", "https://a.test?=1"}, []string{"https://a.test?q=1;x=2", "https://a.test?q=%zz", "https://a.test?%ff=1"}},
		{"no query at all", urltext.Operand{HasQuery: true}, []string{"https://a.test/#x"}, []string{"https://a.test?a"}, nil},
		{"public", urltext.Operand{Public: true}, []string{"https://a.test", "http://8.8.8.8", "http://[2606:4700::1111]", "http://[64:ff9b::808:808]"},
			[]string{"http://127.0.0.1", "http://localhost", "http://a.localhost", "http://printer", "http://x.internal", "http://x.local", "http://10.0.0.1", "http://169.254.169.254/latest", "http://[::1]", "http://[::ffff:127.0.0.1]", "http://[64:ff9b::7f00:1]", "http://[2002:7f00:1::]", "http://[fe80::1]"},
			[]string{"http://127.1", "http://2130706433", "http://0x7f000001", "http://0177.0.0.1", "http://[fe80::1%25eth0]", "http://localhost."}},
	} {
		j := judge(t, c.o)
		for want, l := range map[verdict.Result][]string{verdict.Holds: c.hold, verdict.Fails: c.fail, verdict.CannotJudge: c.cannotJudge} {
			for _, s := range l {
				if r, why := j.Judge(s); r != want {
					t.Errorf("%s: %s: %v (%s), want %v", c.name, s, r, why, want)
				}
			}
		}
	}
}

// Tricks of many kinds, each aimed at a guard that allows one host and path and
// at one that refuses another: whatever is answered but "cannot be judged" is
// what Go's reader, which servers of ours use, makes of it.
func TestBypass(t *testing.T) {
	const good, evil = "docs.test", "evil.test"
	var tries []string
	hosts := []string{
		"GOOD@EVIL", "GOOD:80@EVIL", "GOOD%40EVIL", "GOOD%2fx@EVIL", `EVIL\@GOOD`, `EVIL\GOOD`, `EVIL\.GOOD`, "EVIL#@GOOD", "EVIL?@GOOD", "EVIL;GOOD", "EVIL:80:80", "EVIL:", "EVIL:80x", "EVIL:-1", "EVIL:00080",
		"EVIL.", "EVIL..", ".EVIL", "EV\tIL", "EV\nIL", "EV\rIL", "EVIL\x00.GOOD", "EVIL .GOOD", " EVIL", "EVIL\u3000", "EVIL\u200b", "E\u00adVIL", "EVIL\ufeff", "EVIL%00.GOOD", "EVIL%2e", "%65vil.test", "EVIL%EF%BC%8E", "evil。test", "evil．test", "ｅｖｉｌ.test", "𝐞𝐯𝐢𝐥.test", "EVIL\u2044x", "EVIL／x", "EVIL＃@GOOD", "EVIL？@GOOD", "EVIL＠GOOD", "EVIL：80",
		"EVIL,GOOD", "EVIL|GOOD", "EVIL^GOOD", "[EVIL]", "[GOOD]", "[::1", "::1", "[::1]x", "[::1]:80:80", "[::1%25GOOD]", "[::ffff:7f00:1]", "0", "127.1", "0x7f.1", "127.0.0.01", "0177.1", "2130706433", "0x7f000001", "①②⑦.0.0.1", "127。0。0。1", "1.1.1.1 &@GOOD", "EVIL&@GOOD", "GOOD\u0000", "GOOD%", "GOOD%zz", "xn--", "xn--a", "-EVIL", "EVIL-", "a_b.GOOD", "GOOD\"", "GOOD<", "GOOD{", "{GOOD}", "GOOD`", "*", "*.GOOD", "",
	}
	for _, h := range hosts {
		for _, scheme := range []string{"https://", "HTTPS://", "https:", "https:/", "https:///", `https:\\`, "//", "https:////", "java\tscript:https://", "view-source:https://", " https://"} {
			for _, pair := range [][2]string{{good, evil}, {evil, good}} {
				r := strings.NewReplacer("GOOD", pair[0], "EVIL", pair[1])
				tries = append(tries, scheme+r.Replace(h)+"/pub/a")
			}
		}
	}
	for _, p := range []string{
		"/pub/../admin", "/pub/./../admin", "/pub/..", "/pub/%2e%2e/admin", "/pub/.%2e/admin", "/pub/%2e./admin", "/pub/..%2fadmin", "/pub/..%5cadmin", `/pub/..\admin`, "/pub/%252e%252e/admin", "/pub/%25252e/admin", "/pub/%2%65%2%65/admin", "/pub/%c0%ae%c0%ae/admin",
		"/pub/%u002e%u002e/admin", "/pub/．．/admin", "/pub/%ef%bc%8e%ef%bc%8e/admin", "/pub/..;/admin", "/pub/..;x=1/admin", "/pub/.;/admin", "/pub//../admin", "//admin/x", "/pub//admin", "/pub%2f..%2fadmin", "/admin%2fx", "/pub/%00/admin", "/pub/a%00.md", "/pub/\x00", "/pub/%", "/pub/%2", "/pub/%zz", "/pub/a b", "/pub/a\tb", "/pub/a\nb", "/pub/\u2028", "/pub/%0d%0aX: y", "/pub/%ff", "/pub/∕x", "/pub/\u2024\u2024/admin", "/pub/‥/admin", "/pub/…/admin", "/pub/%e2%80%a5/admin", "/PUB/a", "/pub\\admin", "/pub/{x}", "/pub/|", "/pub/^",
	} {
		tries = append(tries, "https://"+good+p, "https://"+good+p+"?q", "https://"+good+p+"#f", "https://"+good+p+"/", "https://"+good+":443"+p)
	}
	if len(tries) < 200 {
		t.Fatalf("only %d attempts", len(tries))
	}
	operands := []urltext.Operand{
		{Host: []string{good}}, {Host: []string{evil}}, {Host: []string{good}, Path: []string{"/pub/**"}}, {Path: []string{"/admin/**"}}, {Public: true}, {Scheme: []string{"https"}, Host: []string{"**." + good}},
	}
	judged := 0
	for _, s := range tries {
		u, err := url.Parse(s)
		for _, o := range operands {
			r, why := judge(t, o).Judge(s)
			if r == verdict.CannotJudge {
				continue
			}
			judged++
			if err != nil || u.User != nil || u.Opaque != "" || strings.ContainsAny(s, "\\\t\n\r \x00") || strings.Contains(s, "..") || strings.Contains(strings.ToLower(s), "%2") {
				t.Errorf("%v: %q: %v (%s), and it reads as %v, %v", o, s, r, why, u, err)
				continue
			}
			host := strings.ToLower(u.Hostname())
			if o.Host != nil && o.Host[0] == host && o.Path == nil && r != verdict.Holds {
				t.Errorf("%v: %q: %v, and its host is %q", o, s, r, host)
			}
			if o.Host != nil && r == verdict.Holds && isASCII(host) && host != strings.TrimPrefix(o.Host[0], "**.") {
				t.Errorf("%v: %q holds, and its host is %q", o, s, host)
			}
		}
	}
	if judged == 0 {
		t.Fatal("nothing could be judged: the test compares nothing")
	}
}

func isASCII(s string) bool { return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-:") == "" }

func TestOrdinary(t *testing.T) {
	j := judge(t, urltext.Operand{Scheme: []string{"http", "https"}, Host: []string{"**.docs.test", "93.184.216.34", "[2606:2800:220:1::1]"}, Path: []string{"/**"}, Public: true})
	n := 0
	for _, host := range []string{"docs.test", "www.docs.test", "a-b.c.docs.test", "DOCS.test", "docs.test:8080", "93.184.216.34", "[2606:2800:220:1::1]:443"} {
		for _, tail := range []string{"", "/", "/a", "/a/b.html", "/a/", "/~user/x", "/a%20b", "/%C3%A9t%C3%A9", "/été", "/a-b_c.d", "/@user", "/a:b", "/a,b;c=d", "/a+b", "/wiki/C++", "/a?x=1&y=2", "/a?x=a%2Fb", "/a?next=https%3A%2F%2Fevil.test", "/a#frag/ment", "/%E6%9D%8E", "/v1.2/x", "/...x", "/a?x=../y", "?q", "#f"} {
			n++
			if r, why := j.Judge("https://" + host + tail); r != verdict.Holds {
				t.Errorf("https://%s%s: %v, %s", host, tail, r, why)
			}
		}
	}
	if n < 100 {
		t.Fatal("too few")
	}
}

func TestOperand(t *testing.T) {
	for _, c := range []struct {
		o           urltext.Operand
		member, msg string
	}{
		{urltext.Operand{}, "", "at least one"},
		{urltext.Operand{Scheme: []string{"HTTPS"}}, "scheme", "lower case"},
		{urltext.Operand{Scheme: []string{"https:"}}, "scheme", "without the colon"},
		{urltext.Operand{Port: []int{0}}, "port", "1 to 65535"},
		{urltext.Operand{Host: []string{"A.test"}}, "host", `write "a.test"`},
		{urltext.Operand{Host: []string{"bücher.test"}}, "host", `write "xn--bcher-kva.test"`},
		{urltext.Operand{Host: []string{"*.Bücher.test"}}, "host", "xn--"},
		{urltext.Operand{Host: []string{"a.test."}}, "host", "no plain name"},
		{urltext.Operand{Host: []string{"127.1"}}, "host", "address"},
		{urltext.Operand{Host: []string{"a.test", "[::01]"}}, "host", `write "[::1]"`},
		{urltext.Operand{Host: []string{"[::1]", "a**.test"}}, "host", ""},
		{urltext.Operand{Host: []string{"https://a.test/*"}}, "host", "lower-case"},
		{urltext.Operand{Path: []string{"pub/**"}}, "path", `write "/pub/**"`},
		{urltext.Operand{Path: []string{"/a/["}}, "path", ""},
		// globs that no URL matches that is judged: holes in a refuse
		{urltext.Operand{Path: []string{"/a/../b"}}, "path", "dot segment"},
		{urltext.Operand{Path: []string{"/{a,.}/b"}}, "path", "dot segment"},
		{urltext.Operand{Path: []string{"/a//b"}}, "path", "empty segment"},
		{urltext.Operand{Path: []string{"{/a,b}/c"}}, "path", "begins with /"},
		{urltext.Operand{Path: []string{`/a\\b`}}, "path", "backslash"},
		{urltext.Operand{Path: []string{"/a\u2024b"}}, "path", "another form"},
		{urltext.Operand{Path: []string{"/a\tb"}}, "path", "escape"},
		{urltext.Operand{Path: []string{"/a%20b"}}, "path", `write "/a b"`},
		{urltext.Operand{Path: []string{"/%2e%2e/x"}}, "path", `write "/../x"`},
		{urltext.Operand{Query: []string{"page%20size"}, HasQuery: true}, "query", `write "page size"`},
		{urltext.Operand{Host: []string{"*.a.test."}}, "host", "ends in a dot"},
		{urltext.Operand{Host: []string{"*..test"}}, "host", "empty label"},
		{urltext.Operand{Host: []string{".*.test"}}, "host", "empty label"},
		{urltext.Operand{Host: []string{"*.-a.test"}}, "host", "begins with a hyphen"},
		{urltext.Operand{Host: []string{"*-.test"}}, "host", "ends in a hyphen"},
		{urltext.Operand{Host: []string{"{a,b!}.test"}}, "host", "lower-case"},
		{urltext.Operand{Query: []string{""}, HasQuery: true}, "query", "name"},
	} {
		_, err := urltext.New(c.o)
		var e *verdict.OperandError
		if !errors.As(err, &e) || e.Member != c.member || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%+v: %v, want %s: …%s…", c.o, err, c.member, c.msg)
		}
	}
	var e *verdict.OperandError
	if _, err := urltext.New(urltext.Operand{Host: []string{"[::1]", "a**.test"}}); !errors.As(err, &e) || e.Index != 1 {
		t.Errorf("the second host is wrong: %v", err)
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{"https://docs.test/pub/a", "http://[::1]:80/?q=1#x", "https://a@b/", "https://docs.test/%2e%2e", "https://bücher.test", "//x"} {
		f.Add(s)
	}
	j := judge(f, urltext.Operand{Host: []string{"docs.test"}, Path: []string{"/pub/**"}})
	f.Fuzz(func(t *testing.T, s string) {
		r, why := j.Judge(s)
		if again, _ := j.Judge(s); r != again || r == verdict.Absent {
			t.Fatalf("%q: %v, then %v", s, r, again)
		}
		if r == verdict.CannotJudge {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.User != nil || u.Host == "" {
			t.Fatalf("%q: %v (%s), but url.Parse gives %v, %v", s, r, why, u, err)
		}
		if r == verdict.Holds && (isASCII(strings.ToLower(u.Hostname())) && strings.ToLower(u.Hostname()) != "docs.test" || !strings.HasPrefix(u.Path, "/pub")) {
			t.Fatalf("%q holds, and is %v", s, u)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	j := judge(b, urltext.Operand{Scheme: []string{"https"}, Host: []string{"**.docs.test"}, Path: []string{"/pub/**"}})
	for _, s := range []string{"https://www.docs.test/pub/a/b.html", fmt.Sprintf("https://www.docs.test/pub/%s?q=1", strings.Repeat("abc/", 500))} {
		b.Run(fmt.Sprintf("%dB", len(s)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, why := j.Judge(s); r != verdict.Holds {
					b.Fatal(why)
				}
			}
		})
	}
}
