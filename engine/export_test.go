package engine

import (
	"regexp"
	"slices"
)

// Words are the numbers of the words of a list that stand in a text, that begin it
// and that end it, each found in one pass. sparse makes the automaton of maps.
func Words(list []string, text string, sparse bool) (in, begin, end []int32, any, begins, ends bool) {
	back := make([]string, len(list))
	for i, s := range list {
		back[i] = reversed(s)
	}
	cells := maxCells
	if sparse {
		cells = 0
	}
	var seen []uint64
	a, t, r := automatonOf(list, cells), trieOf(list, cells), trieOf(back, cells)
	in = a.all([]byte(text), nil, &seen)
	if again := a.all([]byte(text), nil, &seen); !slices.Equal(in, again) {
		panic("a second pass finds other words: scratch was left dirty")
	}
	return in, t.beginning([]byte(text), nil, false), r.beginning([]byte(text), nil, true),
		a.in([]byte(text)), t.begins([]byte(text), false), r.begins([]byte(text), true)
}

// Needed says whether a pattern has needed literals, and whether a text may match
// by them.
func Needed(source, text string) (known, may bool) {
	p := patternOf(source, regexp.MustCompile(source), &tables{maxTables, maxTableWork})
	return p.needed != nil, p.needed == nil || possible(p.needed, []byte(text))
}

// Table says whether a pattern has a table, and whether a text matches by it.
func Table(source, text string) (made, match bool) {
	d := dfaOf(source, &tables{maxTables, maxTableWork})
	return d != nil, d != nil && d.match([]byte(text))
}
