package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// floor is the least work that reading a raw call and judging it by the policy of
// bench_test.go can be, with the policy's ten kinds written out by hand: one walk
// of the tokens that keeps where the wanted values stand, then each question
// asked once for all rules. It is what the engine is measured against and no part
// of it. One goroutine at a time.
type floor struct {
	tools map[string]*floorTool
	note  *words // all substrings of the rules for every tool
	agent *words // all prefixes
	names [64][]floorName

	raw   []byte
	dec   *jsontext.Decoder
	buf   bytes.Buffer
	at    [floorSlots]extent
	items []extent // elements of recipients and tags
	a, b  []byte
}

type extent struct{ from, to int }

func (e extent) there() bool { return e.to > 0 }

const (
	inTool = iota
	inEnv
	inBody
	inURL
	inPath
	inAmount
	inCurrency
	inRecipients
	inTags
	inOverride
	inApproved
	inLevel
	inNote
	inAgent
	inArgs
	inPayment
	floorSlots
)

type floorTool struct {
	env      map[string]bool
	contains [][]byte
	prefix   [][]byte
	like     [][]string
	find     []*regexp.Regexp
	above    float64
	suffix   [][]byte
	tags     map[string]bool
}

type floorName struct {
	name string
	slot int
}

func floorHash(name []byte) int {
	if len(name) == 0 {
		return 0
	}
	return (len(name)*5 + int(name[0])) & 63
}

// slot is where the value of a name is kept, -1 for a name that nobody asks for.
func (f *floor) slot(name []byte) int {
	l := f.names[floorHash(name)]
	for i := range l {
		if l[i].name == string(name) {
			return l[i].slot
		}
	}
	return -1
}

func newFloor(n int) *floor {
	f := &floor{tools: map[string]*floorTool{}}
	f.dec = jsontext.NewDecoder(&f.buf)
	for name, slot := range map[string]int{
		"tool": inTool, "env": inEnv, "body": inBody, "url": inURL, "path": inPath, "amount": inAmount, "currency": inCurrency,
		"recipients": inRecipients, "tags": inTags, "override": inOverride, "approved": inApproved, "level": inLevel, "note": inNote, "agent": inAgent,
		"args": inArgs, "payment": inPayment,
	} {
		h := floorHash([]byte(name))
		f.names[h] = append(f.names[h], floorName{name, slot})
	}
	var notes, agents []string
	for i := range n / 10 {
		f.tools[fmt.Sprint("tool-", i)] = &floorTool{
			env:      map[string]bool{fmt.Sprint("prod-", i): true, fmt.Sprint("live-", i): true, fmt.Sprint("main-", i): true},
			contains: [][]byte{fmt.Appendf(nil, "DROP TABLE t_%d", i)},
			prefix:   [][]byte{fmt.Appendf(nil, "http://10.%d.", i)},
			like:     [][]string{strings.Split(fmt.Sprintf("srv/%d/*/secret/**", i), "/")},
			find:     []*regexp.Regexp{regexp.MustCompile(pattern(i))},
			above:    float64(1000 + i),
			suffix:   [][]byte{fmt.Appendf(nil, "@evil-%d.example", i)},
			tags:     map[string]bool{"red": true, "green": true, "blue": true, fmt.Sprint("x", i): true},
		}
		notes, agents = append(notes, fmt.Sprint("password_", i)), append(agents, fmt.Sprintf("bad-%d-", i))
	}
	f.note, f.agent = newWords(notes, true), newWords(agents, false)
	return f
}

func (f *floor) deny(raw []byte) bool {
	if f.read(raw) != nil {
		return true
	}
	return f.judge()
}

// read walks the call once.
func (f *floor) read(raw []byte) error {
	f.raw, f.at, f.items = raw, [floorSlots]extent{}, f.items[:0]
	f.buf = *bytes.NewBuffer(raw)
	f.dec.Reset(&f.buf)
	if err := f.members(0); err != nil {
		return err
	}
	if _, err := f.dec.ReadToken(); err != io.EOF {
		return fmt.Errorf("more than one value")
	}
	return nil
}

// members walks the call (level 0), its arguments (1) and the payment (2).
func (f *floor) members(level int) error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	for f.dec.PeekKind() != '}' {
		name, err := f.dec.ReadValue()
		if err != nil {
			return err
		}
		text := f.inside(name, &f.a)
		kind := f.dec.PeekKind()
		slot := f.slot(text)
		switch {
		case level == 0 && slot == inArgs && kind == '{', level == 1 && slot == inPayment && kind == '{':
			err = f.members(level + 1)
		case slot < 0:
			err = f.dec.SkipValue()
		case (slot == inRecipients || slot == inTags) && kind == '[':
			err = f.list(slot)
		default:
			var v jsontext.Value
			if v, err = f.dec.ReadValue(); err == nil {
				to := int(f.dec.InputOffset())
				f.at[slot] = extent{to - len(v), to}
			}
		}
		if err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

func (f *floor) list(slot int) error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	from := len(f.items)
	for f.dec.PeekKind() != ']' {
		v, err := f.dec.ReadValue()
		if err != nil {
			return err
		}
		to := int(f.dec.InputOffset())
		f.items = append(f.items, extent{to - len(v), to})
	}
	f.at[slot] = extent{from, len(f.items)}
	_, err := f.dec.ReadToken()
	return err
}

// inside is the text of a string, decoded into scratch where it has escapes.
func (f *floor) inside(v []byte, scratch *[]byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	*scratch, _ = jsontext.AppendUnquote((*scratch)[:0], v)
	return *scratch
}

func (f *floor) string(e extent) ([]byte, bool) {
	v := f.raw[e.from:e.to]
	if !e.there() || v[0] != '"' {
		return nil, false
	}
	return f.inside(v, &f.a), true
}

func (f *floor) judge() bool {
	if s, ok := f.string(f.at[inNote]); ok && f.note.find(s) {
		return true
	}
	if s, ok := f.string(f.at[inAgent]); ok && f.agent.begins(s) {
		return true
	}
	name, _ := f.string(f.at[inTool])
	t := f.tools[string(name)]
	if t == nil {
		return false
	}
	if s, ok := f.string(f.at[inEnv]); ok && t.env[string(s)] {
		return true
	}
	if s, ok := f.string(f.at[inURL]); ok {
		for _, p := range t.prefix {
			if bytes.HasPrefix(s, p) {
				return true
			}
		}
	}
	if s, ok := f.string(f.at[inPath]); ok && f.path(t, s) {
		return true
	}
	if s, ok := f.string(f.at[inCurrency]); ok && string(s) == "EUR" && f.at[inAmount].there() {
		e := f.at[inAmount]
		if x, err := strconv.ParseFloat(string(f.raw[e.from:e.to]), 64); err == nil && (x > t.above || x < 0) {
			return true
		}
	}
	if f.at[inOverride].there() && (!f.at[inApproved].there() || f.raw[f.at[inApproved].from] != 't') {
		if s, ok := f.string(f.at[inLevel]); ok && (string(s) == "high" || string(s) == "critical") {
			return true
		}
	}
	for _, e := range f.items[f.at[inTags].from:f.at[inTags].to] {
		if s, ok := f.string(e); !ok || !t.tags[string(s)] {
			return true
		}
	}
	for _, e := range f.items[f.at[inRecipients].from:f.at[inRecipients].to] {
		s, ok := f.string(e)
		for _, w := range t.suffix {
			if ok && bytes.HasSuffix(s, w) {
				return true
			}
		}
	}
	if s, ok := f.string(f.at[inBody]); ok {
		for _, w := range t.contains {
			if bytes.Contains(s, w) {
				return true
			}
		}
		if anyCase("ssn").in(s) {
			for _, re := range t.find {
				if re.Match(s) {
					return true
				}
			}
		}
	}
	return false
}

// path cleans a plain absolute path and matches it; it sees none of what a path
// test must refuse to judge but the two dots.
func (f *floor) path(t *floorTool, s []byte) bool {
	if len(s) == 0 || s[0] != '/' {
		return true
	}
	f.b = f.b[:0]
	for len(s) > 0 {
		s = s[1:]
		k := bytes.IndexByte(s, '/')
		if k < 0 {
			k = len(s)
		}
		switch seg := s[:k]; string(seg) {
		case "..":
			return true
		case "", ".":
		default:
			f.b = append(append(f.b, '/'), seg...)
		}
		s = s[k:]
	}
	for _, like := range t.like {
		if globbed(like, f.b) {
			return true
		}
	}
	return false
}

func globbed(like []string, p []byte) bool {
	for _, w := range like {
		if w == "**" {
			return true
		}
		if len(p) == 0 {
			return false
		}
		p = p[1:]
		k := bytes.IndexByte(p, '/')
		if k < 0 {
			k = len(p)
		}
		if w != "*" && w != string(p[:k]) {
			return false
		}
		p = p[k:]
	}
	return len(p) == 0
}

// words finds many words at once: an automaton over classes of bytes, with fail
// links unless only prefixes are asked for.
type words struct {
	class  [256]uint8
	n      int
	next   []int32
	end    []bool
	first  byte // with which all words begin, if one
	single bool
}

func newWords(list []string, fail bool) *words {
	w := &words{n: 1, single: true}
	for _, s := range list {
		if w.first == 0 {
			w.first = s[0]
		}
		w.single = w.single && s[0] == w.first
		for i := range len(s) {
			if w.class[s[i]] == 0 {
				w.class[s[i]] = uint8(w.n)
				w.n++
			}
		}
	}
	add := func() int32 {
		w.next = append(w.next, make([]int32, w.n)...)
		w.end = append(w.end, false)
		return int32(len(w.end) - 1)
	}
	add()
	for _, s := range list {
		at := int32(0)
		for i := range len(s) {
			p := int(at)*w.n + int(w.class[s[i]])
			if w.next[p] == 0 {
				k := add()
				w.next[p] = k
			}
			at = w.next[p]
		}
		w.end[at] = true
	}
	if !fail {
		return w
	}
	back := make([]int32, len(w.end))
	queue := []int32{}
	for c := range w.n {
		if k := w.next[c]; k != 0 {
			queue = append(queue, k)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		w.end[at] = w.end[at] || w.end[back[at]]
		for c := range w.n {
			p, q := int(at)*w.n+c, w.next[int(back[at])*w.n+c]
			if k := w.next[p]; k != 0 {
				back[k] = q
				queue = append(queue, k)
			} else {
				w.next[p] = q
			}
		}
	}
	return w
}

func (w *words) find(s []byte) bool {
	at := int32(0)
	for i := 0; i < len(s); i++ {
		if at == 0 && w.single {
			k := bytes.IndexByte(s[i:], w.first)
			if k < 0 {
				return false
			}
			i += k
		}
		if at = w.next[int(at)*w.n+int(w.class[s[i]])]; w.end[at] {
			return true
		}
	}
	return false
}

func (w *words) begins(s []byte) bool {
	at := int32(0)
	for i := range s {
		if at = w.next[int(at)*w.n+int(w.class[s[i]])]; at == 0 {
			return false
		}
		if w.end[at] {
			return true
		}
	}
	return false
}

// anyCase is a lower-case ASCII literal looked for in any case by the places of
// its first letter.
type anyCase string

func (l anyCase) in(s []byte) bool {
	place := func(from int, c byte) int {
		if k := bytes.IndexByte(s[from:], c); k >= 0 {
			return from + k
		}
		return len(s)
	}
	low, up := place(0, l[0]), place(0, l[0]-32)
	for {
		i := min(low, up)
		if i+len(l) > len(s) {
			return false
		}
		if bytes.EqualFold(s[i:i+len(l)], []byte(l)) {
			return true
		}
		if i == low {
			low = place(i+1, l[0])
		} else {
			up = place(i+1, l[0]-32)
		}
	}
}
