package proxy_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/proxy"
)

func secretsOf(t interface{ Fatal(...any) }, credentials ...string) *proxy.Secrets {
	s, err := proxy.NewSecrets(credentials)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSecretsInText(t *testing.T) {
	const secret = `t/k"n\1é` + "\U0001F511"
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[1 : len(b)-1])
	}
	ascii := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			switch {
			case r > 0xFFFF:
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
			case r > 0x7E:
				fmt.Fprintf(&b, `\u%04X`, r)
			default:
				b.WriteString(quoted(string(r)))
			}
		}
		return b.String()
	}
	all := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
		return b.String()
	}
	lines := func(s string) string {
		var b strings.Builder
		for i, c := range s {
			if i > 0 && i%5 == 0 {
				b.WriteString("\r\n")
			}
			b.WriteRune(c)
		}
		return b.String()
	}
	std := base64.StdEncoding.EncodeToString
	for name, form := range map[string]string{
		"as it is":                        secret,
		"twice":                           secret + secret,
		"in JSON":                         quoted(secret),
		"in JSON, all in ASCII":           ascii(secret),
		"in JSON, with the slash escaped": strings.ReplaceAll(quoted(secret), "/", `\/`),
		"in JSON in JSON":                 quoted(quoted(secret)),
		"in JSON in JSON in JSON":         quoted(quoted(quoted(secret))),
		"in a query":                      url.QueryEscape(secret),
		"in a path":                       url.PathEscape(secret),
		"every byte by percent":           all(secret),
		"by percent, in capitals":         strings.ToUpper(all(secret)),
		"by percent twice":                url.QueryEscape(url.QueryEscape(secret)),
		"base64":                          std([]byte(secret)),
		"base64 for URLs":                 base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 behind one byte":          std([]byte("x" + secret + "yz")),
		"base64 behind two bytes":         std([]byte("xx" + secret + "y")),
		"base64 of a header":              std([]byte("user:" + secret)),
		"base64 in lines":                 lines(std([]byte("xx" + secret))),
		"base64 by percent":               url.QueryEscape(std([]byte("user:" + secret + "?>"))),
		"base64 in JSON":                  strings.ReplaceAll(std([]byte("x"+secret)), "/", `\/`),
	} {
		t.Run(name, func(t *testing.T) {
			s := secretsOf(t, "another one", secret)
			got := string(s.Clean([]byte("before <" + form + "> after")))
			if !strings.Contains(got, proxy.Removed) {
				t.Fatalf("%q stays %q", form, got)
			}
			if !strings.HasPrefix(got, "before <") || !strings.HasSuffix(got, "> after") {
				t.Errorf("too much is gone: %q", got)
			}
			rest := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(got, "before <"), "> after"), proxy.Removed, "")
			if len(rest) > 12 {
				t.Errorf("too little is gone: %q", got)
			}
		})
	}
	for _, text := range []string{"", "before and after", `t/k"n\1`, "t/k%22", std([]byte("something else")), `\\\\\\\\`, "%%%25%2", `\u12`} {
		if got := secretsOf(t, secret).Clean([]byte(text)); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if _, err := proxy.NewSecrets([]string{"abc"}); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a short credential: %v", err)
	}
	var none *proxy.Secrets
	if got := none.Clean([]byte("x")); string(got) != "x" {
		t.Errorf("got %q", got)
	}
}

// A credential with a space, as a form sends it.
func TestSecretsInAForm(t *testing.T) {
	for _, secret := range []string{"two words here", " begins so", "a b%c\\d"} {
		for _, text := range []string{"token=" + url.QueryEscape(secret) + "&x=1", secret, strings.ReplaceAll(secret, " ", "%20")} {
			if got := string(secretsOf(t, secret).Clean([]byte(text))); !strings.Contains(got, proxy.Removed) {
				t.Errorf("%q stays %q", secret, got)
			}
		}
	}
}

// A credential that takes several lines, or whose base64 does: no line shows a part.
func TestSecretsOverLines(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4ypb\nqkDKXj0l1k2m\n-----END PRIVATE KEY-----"
	token := strings.Repeat("0123456789abcdefghij", 8)
	s := secretsOf(t, key, token)
	wrapped := func(text string, n int) string {
		all := base64.StdEncoding.EncodeToString([]byte(text))
		var b strings.Builder
		for len(all) > n {
			b.WriteString("  " + all[:n] + "\r\n")
			all = all[n:]
		}
		return b.String() + all
	}
	for name, text := range map[string]string{
		"a key":               "my key is " + key + "\nand no more",
		"base64 in lines":     wrapped("user:"+token, 76),
		"base64, behind one":  wrapped("x"+token+"tail", 64),
		"base64, behind two":  wrapped("xx"+token, 60),
		"base64 of the key":   wrapped(key, 76),
		"a token cut in two":  token[:70] + "\n" + token[70:],
		"a token among words": "the token " + token[:70] + "\n" + token[70:] + " and more",
	} {
		for line := range strings.Lines(text) {
			got := string(s.Clean([]byte(strings.TrimRight(line, "\r\n"))))
			if part := strings.TrimSpace(line); got != proxy.Removed && len(part) >= 8 && part != "and no more" {
				t.Errorf("%s: %q stays %q", name, line, got)
			}
		}
	}
	// A whole one on the line does not let the part of another through.
	if got := string(s.Clean([]byte("first " + token + ", then " + key[:60]))); got != proxy.Removed {
		t.Errorf("a part behind a whole one: %q", got)
	}
	for _, text := range []string{"", "ready", "listening on 127.0.0.1", "0123456", "AgEAAoI"} {
		if got := string(s.Clean([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Whatever stands around a credential and however it is written, its text is gone
// and the rest stays.
func TestSecretsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9/+"\\%_é-]{6,40}`).Draw(t, "secret")
		before := rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "before")
		after := rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "after")
		encodings := map[string]func(string) string{
			"none":    func(s string) string { return s },
			"json":    func(s string) string { b, _ := json.Marshal(s); return string(b) },
			"percent": url.QueryEscape,
			"base64":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"url64":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		}
		kinds := []string{"none", "json", "percent", "base64", "url64"}
		kind := rapid.SampledFrom(kinds).Draw(t, "encoding")
		encode := encodings[kind]
		// In base64 the neighbours are encoded along.
		text := before + encode(secret) + after
		if strings.HasSuffix(kind, "64") {
			text = encode(before + secret + after)
		}
		got := secretsOf(t, secret).Clean([]byte(text))
		if !bytes.Contains(got, []byte(proxy.Removed)) {
			t.Fatalf("%q stays in %q", secret, got)
		}
		if bytes.Contains(got, []byte(secret)) || bytes.Contains(got, []byte(encode(secret))) {
			t.Fatalf("%q is still in %q", secret, got)
		}
		if !strings.HasSuffix(kind, "64") && !(bytes.HasPrefix(got, []byte(before)) && bytes.HasSuffix(got, []byte(after))) && !strings.Contains(before+"\x00"+after, secret[:1]) && !strings.ContainsAny(before+after, `\%`) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func FuzzSecrets(f *testing.F) {
	for _, text := range []string{`\u0074oken-1`, "%74oken-1", "dG9rZW4tMQ==", `\\\\u0074`, "%252574oken", "token-1", "%", `\`, "tok\nen"} {
		f.Add([]byte(text))
	}
	s := secretsOf(f, "token-1", `a\b"c/é`, "12345678")
	f.Fuzz(func(t *testing.T, text []byte) {
		got := s.Clean(slices.Clone(text))
		for _, secret := range []string{"token-1", `a\b"c/é`, "12345678"} {
			if bytes.Contains(got, []byte(secret)) {
				t.Errorf("%q is still in %q", secret, got)
			}
		}
		if again := s.Clean(slices.Clone(got)); !bytes.Contains(got, []byte(proxy.Removed)) && !bytes.Equal(again, got) {
			t.Errorf("twice is another than once: %q, %q", got, again)
		}
	})
}
