package engine

import "bytes"

// words finds which of many words stand in a text in one pass, however many they
// are: an Aho-Corasick automaton, or the trie alone where only the beginnings of
// texts matter. It is only read once it is made.
type words struct {
	class [256]uint8 // of each byte; 0: in no word
	width int        // classes
	// dense[state+class] is the next state; states count in steps of width. In an
	// automaton it is that doubled, and one more where a word ends there.
	dense []int32
	// Past maxCells the edges stand in a map instead, with the root alone dense,
	// and fail says where to go on without an edge.
	edges map[edge]int32
	fail  []int32

	word  []int32 // of each state, the word that ends there, or -1
	link  []int32 // of each state, the next shorter state at which a word ends, or -1
	first byte    // of all words, where alike
	alike bool
}

type edge struct {
	state int32
	b     byte
}

// maxCells bounds the dense table of one automaton to 4 MiB. A list of 10,000
// long texts goes past it and is matched by the slower map.
const maxCells = 1 << 20

// trieOf makes the trie of distinct words, none empty, as a table of at most so
// many cells or else as a map.
func trieOf(list []string, cells int) *words {
	w := &words{width: 1, alike: true}
	total := 1
	for _, s := range list {
		total += len(s)
		w.alike = w.alike && s[0] == list[0][0]
		for i := range len(s) {
			if w.class[s[i]] == 0 {
				w.class[s[i]] = uint8(w.width)
				w.width++
			}
		}
	}
	if len(list) > 0 {
		w.first = list[0][0]
	}
	if total*w.width > cells {
		w.width = 1
		w.edges = make(map[edge]int32, total)
	}
	w.add()
	for k, s := range list {
		at := int32(0)
		for i := range len(s) {
			next, ok := w.step(at, s[i])
			if !ok {
				next = w.add()
				w.set(at, s[i], next)
			}
			at = next
		}
		if w.word[w.index(at)] < 0 {
			w.word[w.index(at)] = int32(k)
		}
	}
	return w
}

func (w *words) add() int32 {
	n := len(w.word)
	w.word, w.link = append(w.word, -1), append(w.link, -1)
	if w.edges != nil {
		return int32(n)
	}
	w.dense = append(w.dense, make([]int32, w.width)...)
	return int32(n * w.width)
}

// index is a state's number.
func (w *words) index(state int32) int { return int(state) / w.width }

// step is the trie's edge.
func (w *words) step(at int32, b byte) (int32, bool) {
	if w.edges != nil {
		next, ok := w.edges[edge{at, b}]
		return next, ok
	}
	next := w.dense[int(at)+int(w.class[b])]
	return next, next != 0
}

func (w *words) set(at int32, b byte, next int32) {
	if w.edges != nil {
		w.edges[edge{at, b}] = next
		return
	}
	w.dense[int(at)+int(w.class[b])] = next
}

// automatonOf makes the automaton of distinct words, none empty.
func automatonOf(list []string, cells int) *words {
	w := trieOf(list, cells)
	if w.edges != nil {
		w.linkSparse(list)
		return w
	}
	// Breadth first, so that a state's fail state is whole before it.
	fail := make([]int32, len(w.word))
	queue := make([]int32, 0, len(w.word))
	for c := 1; c < w.width; c++ {
		if s := w.dense[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := fail[w.index(s)]
		w.linkTo(w.index(s), f)
		for c := 1; c < w.width; c++ {
			p, onFail := int(s)+c, w.dense[int(f)+c]
			if next := w.dense[p]; next != 0 {
				fail[w.index(next)] = onFail
				queue = append(queue, next)
			} else {
				w.dense[p] = onFail
			}
		}
	}
	for p, s := range w.dense {
		w.dense[p] = s << 1
		if s != 0 && w.ends(w.index(s)) {
			w.dense[p]++
		}
	}
	return w
}

// linkTo sets the link of a state whose fail state is f.
func (w *words) linkTo(i int, f int32) {
	if k := w.index(f); w.word[k] >= 0 {
		w.link[i] = int32(k)
	} else {
		w.link[i] = w.link[k]
	}
}

func (w *words) linkSparse(list []string) {
	w.fail = make([]int32, len(w.word))
	// The words' own prefixes, by length, are the states breadth first.
	type place struct {
		s     string
		state int32
	}
	level := make([]place, 0, len(list))
	for _, s := range list {
		level = append(level, place{s, 0})
	}
	for depth := 0; len(level) > 0; depth++ {
		next := level[:0]
		for _, p := range level {
			if len(p.s) == depth {
				continue
			}
			b := p.s[depth]
			state := w.edges[edge{p.state, b}]
			if depth > 0 {
				f := w.fail[p.state]
				for {
					if g, ok := w.edges[edge{f, b}]; ok {
						w.fail[state] = g
						break
					}
					if f == 0 {
						break
					}
					f = w.fail[f]
				}
			}
			w.linkTo(int(state), w.fail[state])
			next = append(next, place{p.s, state})
		}
		level = next
	}
}

// in: does any word stand in s?
func (w *words) in(s []byte) bool {
	if w.edges != nil {
		_, found := w.sparse(s, nil, nil, true)
		return found
	}
	at := int32(0)
	for i := 0; i < len(s); i++ {
		if at == 0 && w.alike {
			k := bytes.IndexByte(s[i:], w.first)
			if k < 0 {
				return false
			}
			i += k
		}
		if at = w.dense[int(at>>1)+int(w.class[s[i]])]; at&1 != 0 {
			return true
		}
	}
	return false
}

func (w *words) ends(i int) bool { return w.word[i] >= 0 || w.link[i] >= 0 }

// all appends to hits the words that stand in s, each once. seen is scratch: a
// bit for each state, all zero before and after.
func (w *words) all(s []byte, hits []int32, seen *[]uint64) []int32 {
	if w.edges != nil {
		hits, _ = w.sparse(s, hits, seen, false)
		return hits
	}
	from, at := len(hits), int32(0)
	for i := 0; i < len(s); i++ {
		if at == 0 && w.alike {
			k := bytes.IndexByte(s[i:], w.first)
			if k < 0 {
				break
			}
			i += k
		}
		if at = w.dense[int(at>>1)+int(w.class[s[i]])]; at&1 != 0 {
			hits = w.hit(int32(w.index(at>>1)), hits, seen)
		}
	}
	if len(hits) > from {
		clear(*seen)
	}
	return hits
}

// sparse runs the automaton by its map; with once it stops at the first word.
func (w *words) sparse(s []byte, hits []int32, seen *[]uint64, once bool) ([]int32, bool) {
	from, at := len(hits), int32(0)
	for i := range s {
		for {
			if next, ok := w.edges[edge{at, s[i]}]; ok {
				at = next
				break
			}
			if at == 0 {
				break
			}
			at = w.fail[at]
		}
		if at == 0 || !w.ends(int(at)) {
			continue
		}
		if once {
			return hits, true
		}
		hits = w.hit(at, hits, seen)
	}
	if len(hits) > from {
		clear(*seen)
	}
	return hits, len(hits) > from
}

// hit takes the words that end at a state, the shorter ones too, but those taken
// before: so the work of all hits is at most a step for each state.
func (w *words) hit(i int32, hits []int32, seen *[]uint64) []int32 {
	if need := len(w.word)/64 + 1; len(*seen) < need {
		*seen = append(*seen, make([]uint64, need-len(*seen))...)
	}
	for i >= 0 {
		bit := uint64(1) << (i & 63)
		if (*seen)[i>>6]&bit != 0 {
			break
		}
		(*seen)[i>>6] |= bit
		if w.word[i] >= 0 {
			hits = append(hits, w.word[i])
		}
		i = w.link[i]
	}
	return hits
}

// beginning appends to hits the words, of a trie without fail links, that s
// begins with; backwards, those whose letters stand in turn at the end of s from
// its last.
func (w *words) beginning(s []byte, hits []int32, backwards bool) []int32 {
	at := int32(0)
	for i := range s {
		b := s[i]
		if backwards {
			b = s[len(s)-1-i]
		}
		next, ok := w.step(at, b)
		if !ok {
			break
		}
		at = next
		if k := w.word[w.index(at)]; k >= 0 {
			hits = append(hits, k)
		}
	}
	return hits
}

// begins: is there such a word?
func (w *words) begins(s []byte, backwards bool) bool {
	at := int32(0)
	for i := range s {
		b := s[i]
		if backwards {
			b = s[len(s)-1-i]
		}
		next, ok := w.step(at, b)
		if !ok {
			return false
		}
		at = next
		if w.word[w.index(at)] >= 0 {
			return true
		}
	}
	return false
}

func reversed(s string) string {
	b := []byte(s)
	for i, k := 0, len(b)-1; i < k; i, k = i+1, k-1 {
		b[i], b[k] = b[k], b[i]
	}
	return string(b)
}

func reversedAll(list []string) []string {
	back := make([]string, len(list))
	for i, s := range list {
		back[i] = reversed(s)
	}
	return back
}
