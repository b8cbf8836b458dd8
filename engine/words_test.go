package engine_test

import (
	"slices"
	"strings"
	"testing"

	"countersign/engine"

	"pgregory.net/rapid"
)

// The automaton finds what looking for each word alone finds.
func TestWords(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, list []string, text string, sparse bool) {
		in, begin, end, any, begins, ends := engine.Words(list, text, sparse)
		var wantIn, wantBegin, wantEnd []int32
		for i, w := range list {
			if strings.Contains(text, w) {
				wantIn = append(wantIn, int32(i))
			}
			if strings.HasPrefix(text, w) {
				wantBegin = append(wantBegin, int32(i))
			}
			if strings.HasSuffix(text, w) {
				wantEnd = append(wantEnd, int32(i))
			}
		}
		for _, l := range [][]int32{in, begin, end} {
			slices.Sort(l)
		}
		if !slices.Equal(in, wantIn) || !slices.Equal(begin, wantBegin) || !slices.Equal(end, wantEnd) {
			t.Fatalf("%q in %q (sparse %v): in %v, want %v; begin %v, want %v; end %v, want %v", list, text, sparse, in, wantIn, begin, wantBegin, end, wantEnd)
		}
		if any != (len(wantIn) > 0) || begins != (len(wantBegin) > 0) || ends != (len(wantEnd) > 0) {
			t.Fatalf("%q in %q (sparse %v): any %v, begins %v, ends %v", list, text, sparse, any, begins, ends)
		}
	}
	for _, sparse := range []bool{false, true} {
		check(t, []string{"he", "she", "his", "hers", "h"}, "ushers", sparse)
		check(t, []string{"a", "aa", "aaa", "b"}, "aaaa", sparse)
		check(t, []string{"ab", "abab", "bab"}, "xabababx", sparse)
		check(t, []string{"é", "\u00e9t", "日本"}, "été 日本語", sparse)
		check(t, []string{"abc"}, "", sparse)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.StringMatching(`[abé]{1,6}`), 1, 12, rapid.ID).Draw(t, "words")
		text := rapid.StringMatching(`[abcé]{0,30}`).Draw(t, "text")
		check(t, list, text, rapid.Bool().Draw(t, "sparse"))
	})
}
