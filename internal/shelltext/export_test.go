package shelltext

import "strings"

// Ran is one program of a judgement, as a test compares it with what ran.
type Ran struct {
	Words []string // as far as they are known
	Known int      // how many of them are known whole and the same when they run
	Tail  bool     // more may follow
}

// Heard gives the programs a text runs, in the order they were judged.
func (j *Judge) Heard(text string) (Finding, []Ran) {
	var out []Ran
	l := look{j: j, heard: func(words []word, tail bool) {
		r := Ran{Tail: tail, Known: -1}
		for i, w := range words {
			r.Words = append(r.Words, strings.Clone(w.text))
			if !w.settled() && r.Known < 0 {
				r.Known = i
			}
		}
		if r.Known < 0 {
			r.Known = len(words)
		}
		out = append(out, r)
	}}
	l.text(text, j.dialect)
	return l.finding(), out
}
