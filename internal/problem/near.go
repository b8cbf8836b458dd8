package problem

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/ijson"
)

// longestGuess is the most code points of a name that are compared with the
// known ones; no known name comes near it.
const longestGuess = 64

// maxQuoted is the most code points of an input that a problem repeats.
const maxQuoted = 60

// Nearest is the known name that word was probably meant to be: the one with the
// fewest letters to insert, drop, change or swap, at most a third of them. Letter
// case does not count. It is "" where none is near.
func Nearest(word string, known []string) string {
	if utf8.RuneCountInString(word) > longestGuess {
		return ""
	}
	w := []rune(ijson.FoldName(word))
	best, least := "", max(1, len(w)/3)+1
	for _, name := range known {
		if d := distance(w, []rune(ijson.FoldName(name))); d < least && d < len(w) {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, drop, change or swap with their
// neighbour to get from a to b.
func distance(a, b []rune) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

// Quoted is a text of the file in quotes, its end cut off when it is long.
func Quoted(s string) string {
	if utf8.RuneCountInString(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(string([]rune(s)[:maxQuoted])) + "…"
}

// OneOf lists names as an expectation: "a", "b" or "c".
func OneOf(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = strconv.Quote(n)
	}
	if len(q) == 1 {
		return q[0]
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}

// Instead ends the message about an unknown word: the nearest known one, or all
// of them.
func Instead(word string, known []string) string {
	if n := Nearest(word, known); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "expected " + OneOf(known)
}
