package receipts

import (
	"math/big"
	"math/bits"
	"slices"
	"sort"
)

// total is a sum of amounts. 100,000 amounts of up to 2^53 need 70 bits.
type total struct{ hi, lo uint64 }

func (t total) plus(n int64) total {
	lo, carry := bits.Add64(t.lo, uint64(n), 0)
	return total{t.hi + carry, lo}
}

func (t total) minus(o total) total {
	lo, borrow := bits.Sub64(t.lo, o.lo, 0)
	return total{t.hi - o.hi - borrow, lo}
}

// exceeds says whether the sum is more than a bound.
func (t total) exceeds(bound int64) bool { return t.hi > 0 || t.lo > uint64(bound) }

func (t total) String() string {
	n := new(big.Int).SetUint64(t.hi)
	return n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(t.lo)).String()
}

// use is one stub that counts against the limits of its action.
type use struct {
	when   Time
	amount int64 // 0 without a usable amount
	has    bool  // a usable amount
	entry  int   // index in the book
	before total // of the uses before it in the list
}

// tally is what has been used of one action under one slip or pass, and what
// bounds it.
type tally struct {
	unit             string // that its limits and conditions name; "" for none
	max, each, count *Limit
	windows          []window

	sum  total // of all uses, for max
	uses int64

	// ordered holds every use by time, those of equal time in the order of the
	// book; only where there are windows. It is not cut by time: a helper's chain
	// may still bring a stub dated long ago, and a book ends at MaxEntries.
	ordered []use

	reserved []*use // calls in flight
}

// window is a limit over any Per seconds.
type window struct {
	Limit
	from int // where the last window began in ordered: times mostly rise
}

// act is an action as far as limits look at it.
type act struct {
	action string
	amount *Amount
	when   Time
}

// usable is the amount in the tally's unit, where there is one.
func (t *tally) usable(a *Amount) (int64, bool) {
	if t.unit == "" || a == nil || a.Unit != t.unit {
		return 0, false
	}
	return a.Value, true
}

// upTo is the index behind the last use of a time at or before when.
func (t *tally) upTo(when Time) int {
	n := len(t.ordered)
	if n == 0 || t.ordered[n-1].when <= when {
		return n
	}
	return sort.Search(n, func(i int) bool { return t.ordered[i].when > when })
}

// reach bounds how far a window's beginning is looked for step by step.
const reach = 8

// since is the index of the first use later than after, near w.from where times
// rise.
func (t *tally) since(w *window, after Time) int {
	n := len(t.ordered)
	i := min(w.from, n)
	if i == 0 || t.ordered[i-1].when <= after {
		for range reach {
			if i == n || t.ordered[i].when > after {
				w.from = i
				return i
			}
			i++
		}
	}
	w.from = sort.Search(n, func(i int) bool { return t.ordered[i].when > after })
	return w.from
}

// sumBefore is the sum of the uses before an index.
func (t *tally) sumBefore(i int) total {
	if i == len(t.ordered) {
		if i == 0 {
			return total{}
		}
		last := &t.ordered[i-1]
		return last.before.plus(last.amount)
	}
	return t.ordered[i].before
}

// over says whether the window that ends at when, with the uses of ordered before
// end, held ones in flight where wanted, and one more of this amount (or none, if
// extra is 0), holds more than its limit.
func (t *tally) over(w *window, when Time, end int, amount int64, extra int64, inFlight bool) bool {
	after := when - Time(w.Per)
	begin := min(t.since(w, after), end)
	sum := t.sumBefore(end).minus(t.sumBefore(begin)).plus(amount)
	n := int64(end-begin) + extra
	if inFlight {
		for _, r := range t.reserved {
			if r.when > after && r.when <= when {
				sum = sum.plus(r.amount)
				n++
			}
		}
	}
	if w.Kind == LimitCount {
		return n > w.Bound
	}
	return sum.exceeds(w.Bound)
}

// findings are what one more such act would be or is a finding for. ahead is set
// before acting: calls in flight count as used, and later-dated stubs must not be
// pushed over their windows either.
func (t *tally) findings(a act, ahead bool, found func(Code)) {
	amount, ok := t.usable(a.amount)
	if t.unit != "" && !ok {
		found(CodeAmountMissing)
	}
	sum, n := t.sum.plus(amount), t.uses+1
	if ahead {
		for _, r := range t.reserved {
			sum = sum.plus(r.amount)
			n++
		}
	}
	if t.max != nil && ok && sum.exceeds(t.max.Bound) {
		found(CodeOverLimit)
	}
	if t.each != nil && ok && amount > t.each.Bound {
		found(CodeOverEachLimit)
	}
	if t.count != nil && n > t.count.Bound {
		found(CodeOverCountLimit)
	}
	for i := range t.windows {
		w := &t.windows[i]
		if w.Kind != LimitCount && !ok {
			continue // it adds to no sum, so it can overfill none
		}
		end := t.upTo(a.when)
		if t.over(w, a.when, end, amount, 1, ahead) || ahead && t.later(w, a.when, end, amount) {
			found(CodeOverPeriodLimit)
		}
	}
}

// later says whether one more use at when would stand in the window of a
// later-dated use, a stub's or one in flight, and overfill it, or stand in one
// that is overfull already.
func (t *tally) later(w *window, when Time, end int, amount int64) bool {
	for i := end; i < len(t.ordered) && t.ordered[i].when < when+Time(w.Per); i++ {
		at := t.ordered[i].when
		if i+1 < len(t.ordered) && t.ordered[i+1].when == at {
			continue // the last of equal time has the fullest window
		}
		if t.over(w, at, i+1, amount, 1, true) {
			return true
		}
	}
	for _, r := range t.reserved {
		if r.when > when && r.when < when+Time(w.Per) && t.over(w, r.when, t.upTo(r.when), amount, 1, true) {
			return true
		}
	}
	return false
}

// add counts a stub. overfull is told of later-dated stubs whose window it
// overfilled: the finding is theirs.
func (t *tally) add(a act, entry int, overfull func(entry int)) {
	amount, has := t.usable(a.amount)
	t.sum = t.sum.plus(amount)
	t.uses++
	if len(t.windows) == 0 {
		return
	}
	i := t.upTo(a.when)
	t.ordered = slices.Insert(t.ordered, i, use{when: a.when, amount: amount, has: has, entry: entry, before: t.sumBefore(i)})
	for k := i + 1; k < len(t.ordered); k++ {
		t.ordered[k].before = t.ordered[k].before.plus(amount)
	}
	for w := range t.windows {
		w := &t.windows[w]
		for k := i + 1; k < len(t.ordered) && t.ordered[k].when < a.when+Time(w.Per); k++ {
			if (w.Kind == LimitCount || t.ordered[k].has) && t.over(w, t.ordered[k].when, k+1, 0, 0, false) {
				overfull(t.ordered[k].entry)
			}
		}
	}
}

// reserve counts a call in flight until release is called.
func (t *tally) reserve(a act) (release func()) {
	amount, _ := t.usable(a.amount)
	r := &use{when: a.when, amount: amount}
	t.reserved = append(t.reserved, r)
	return func() {
		if i := slices.Index(t.reserved, r); i >= 0 {
			t.reserved = slices.Delete(t.reserved, i, i+1)
		}
	}
}

// scope is what a slip or a pass allows, with what has been used of it.
type scope struct {
	actions     []string
	from, until Time
	tallies     map[string]*tally // one for each of actions
}

func newScope(actions []string, limits []Limit, requires []Condition, from, until Time) *scope {
	s := &scope{actions: actions, from: from, until: until, tallies: make(map[string]*tally, len(actions))}
	for _, a := range actions {
		s.tallies[a] = new(tally)
	}
	for i := range limits {
		l := &limits[i]
		t := s.tallies[l.Action]
		if l.Unit != "" {
			t.unit = l.Unit
		}
		switch {
		case l.Per > 0:
			t.windows = append(t.windows, window{Limit: *l})
		case l.Kind == LimitMax:
			t.max = l
		case l.Kind == LimitEach:
			t.each = l
		default:
			t.count = l
		}
	}
	for _, c := range requires {
		if c.HasAbove {
			s.tallies[c.Action].unit = c.Unit
		}
	}
	return s
}

// findings are those of a scope itself: its actions, times and limits.
func (s *scope) findings(a act, ahead bool, found func(Code)) {
	if a.when < s.from || a.when >= s.until {
		found(CodeOutsideValidTime)
	}
	t, ok := s.tallies[a.action]
	if !ok {
		found(CodeActionNotAllowed)
		return
	}
	t.findings(a, ahead, found)
}

// add counts a stub; one of an action that is not allowed enters no tally, since
// nothing bounds it.
func (s *scope) add(a act, entry int, overfull func(entry int)) {
	if t, ok := s.tallies[a.action]; ok {
		t.add(a, entry, overfull)
	}
}

func (s *scope) reserve(a act) (release func()) {
	if t, ok := s.tallies[a.action]; ok {
		return t.reserve(a)
	}
	return func() {}
}

// running is the sum of an action's amounts, "" where no limit bounds that sum.
func (s *scope) running(action string) string {
	t, ok := s.tallies[action]
	if !ok || t.max == nil {
		return ""
	}
	return t.sum.String()
}
