package pattern_test

import (
	"strings"
	"testing"

	"countersign/internal/pattern"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		min, max int
	}{
		{"", 1, 1},
		{"abc", 3, 10},
		{"(a|b)*", 4, 20},
		{"[a-z]{0,30}", 30, 100},
		{"(?:[a-z]{0,30}){0,30}", 900, 3000},
		{"a{5,}", 5, 30},
		{strings.Repeat("[ab]{1000}", 11), 11_000, 2*pattern.MaxSize + 1},
		{strings.Repeat("(?:a|b){1000}", 40), pattern.MaxSize + 1, pattern.MaxSize + 1},
	} {
		if n, err := pattern.Size(c.pattern); err != nil || n < c.min || n > c.max {
			t.Errorf("%.40s: %d, %v; want %d to %d", c.pattern, n, err, c.min, c.max)
		}
	}
	for _, bad := range []string{"a)", "(?=x)", `\1`, "[a-", "a{1001}"} {
		if _, err := pattern.Size(bad); err == nil {
			t.Errorf("%s has a size", bad)
		}
	}
}
