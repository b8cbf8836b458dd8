package percent_test

import (
	"net/url"
	"strings"
	"testing"

	"countersign/internal/percent"
)

func TestHides(t *testing.T) {
	for _, s := range []string{
		"%2e", "%2E", "%2f", "%5c", "%00", "a%2e%2e/b", "%252e", "%25252e", "%2%65", "%%32e", "%%32%65", "%2%2565", "%25%32%65", "%c0%ae", "%C0%AF", "%c1%9c", "%e0%80%ae", "%e0%80%af", "%f0%80%80%ae",
		"%f8%80%80%80%ae", "%u002e", "%u002F", "%uff0e", "%uFF0F", "%25u002e", "%25c0%25ae", "%e0\x80\xae", "%32%65%2%65",
	} {
		if !percent.Hides(s) {
			t.Errorf("%q hides nothing", s)
		}
	}
	for _, s := range []string{"", "a", "..", "/./x", "100%", "100%25.txt", "%41%42", "%2", "%zz", "%", "%%", "a%20b", "%C3%A9", "%E2%82%AC", "%F0%9F%98%80", "%u00e9", "%2525252e"} {
		if percent.Hides(s) {
			t.Errorf("%q hides something", s)
		}
	}
}

// Held against the standard library's decoder, where it decodes at all.
func FuzzHides(f *testing.F) {
	for _, s := range []string{"%2e", "%252e", "a%2%65", "%c0%ae", "100%25", "%u002e", "%25%2535%2563"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hides := percent.Hides(s)
		text := s
		for range percent.Rounds {
			next, err := url.PathUnescape(text)
			if err != nil {
				return
			}
			for _, c := range "./\\\x00" {
				if strings.Count(next, string(c)) > strings.Count(text, string(c)) && !hides {
					t.Fatalf("%q gives %q, and hides nothing", s, next)
				}
			}
			text = next
		}
		if once, ok := percent.Decode(s); ok {
			if want, err := url.PathUnescape(s); err != nil || once != want {
				t.Fatalf("%q decodes to %q, want %q", s, once, want)
			}
		}
	})
}
