package receipts_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	. "countersign/receipts"
)

// helper is a chain that acts under the slip: the agent's own, or a pass's.
type helper struct {
	pass   *Pass // nil for the agent
	print  string
	above  *helper
	next   Stub // only Seq and Previous
	last   Time
	flight func() // releases the call in flight
	want   *Stub  // its stub
}

// lived is a slip with passes and all that was done under them.
type lived struct {
	w       *scene
	slip    *Slip
	helpers []*helper
	c       *Checker
	stubs   []done // in the order of the book
}

type done struct {
	*Stub
	by    *helper
	entry int
}

const order = "provared.order.place"

func drawLimits(t *rapid.T, name string) []Limit {
	var out []Limit
	for _, action := range []string{"work", order} {
		for _, kind := range []LimitKind{LimitMax, LimitEach, LimitCount} {
			for _, per := range []int64{0, 3, 8} {
				if kind == LimitEach && per > 0 || rapid.IntRange(0, 3).Draw(t, name) > 0 {
					continue
				}
				l := Limit{Action: action, Kind: kind, Per: per, Bound: rapid.Int64Range(1, 12).Draw(t, "bound")}
				if kind != LimitCount {
					l.Unit = "GBP"
				}
				out = append(out, l)
			}
		}
	}
	return out
}

// live draws a slip with up to three passes and reads them into a checker.
func live(t *rapid.T, w *scene) *lived {
	l := &lived{w: w}
	w.lines, w.first, w.chains = nil, nil, make(map[string]*link)
	l.slip = w.plain()
	l.slip.Limits = drawLimits(t, "limit")
	l.slip.Passes = 3
	if rapid.Bool().Draw(t, "approvals") {
		l.slip.Requires = []Condition{{Need: KindApproval, Action: order, HasAbove: true, Above: 6, Unit: "GBP"}}
	}
	w.sign(l.slip)
	l.c = w.read()
	l.helpers = []*helper{{last: w.now}}
	for range rapid.IntRange(0, 3).Draw(t, "passes") {
		above := l.helpers[rapid.IntRange(0, len(l.helpers)-1).Draw(t, "above")]
		p := &Pass{ID: w.id(), Slip: w.slip, From: above.print, To: By{Keys: w.guard.Keys(), Name: "Helper"},
			Actions: l.slip.Actions, Limits: drawLimits(t, "pass limit"), ValidFrom: l.slip.ValidFrom, ValidUntil: l.slip.ValidUntil, When: w.now}
		payload := p.Append(nil)
		e := l.c.AddOwn(AppendLine(nil, KindPass, Unsigned(KindPass, payload)))
		if len(e.Problems) > 0 {
			t.Fatal(e.Problems)
		}
		l.helpers = append(l.helpers, &helper{pass: p, print: e.Fingerprint, above: above, last: w.now})
	}
	return l
}

// propose draws the next act of one chain.
func (l *lived) propose(t *rapid.T, h *helper) Proposal {
	p := Proposal{Slip: l.w.slip, Pass: h.print, Action: rapid.SampledFrom([]string{"work", order, order, "other"}).Draw(t, "action"),
		When: h.last + Time(rapid.IntRange(0, 4).Draw(t, "later"))}
	if n := rapid.Int64Range(-2, 7).Draw(t, "amount"); n >= 0 {
		p.Amount = gbp(n)
	} else if n == -2 {
		p.Amount = &Amount{"EUR", 3}
	}
	return p
}

// stub makes the stub of a proposal, the next of its chain.
func (l *lived) stub(h *helper, p Proposal) *Stub {
	s := &Stub{ID: l.w.id(), Slip: p.Slip, Pass: p.Pass, Action: p.Action, Amount: p.Amount, When: p.When, Seq: h.next.Seq, Previous: h.next.Previous}
	h.next.Seq, h.next.Previous, h.last = s.Seq+1, Fingerprint(s.Append(nil)), s.When
	return s
}

func (l *lived) add(t *rapid.T, h *helper, s *Stub) Entry {
	e := l.c.AddOwn(AppendStubLine(nil, Unsigned(KindStub, s.Append(nil)), nil, nil))
	if len(e.Problems) > 0 || !e.Compared {
		t.Fatalf("a sound stub: %v", e.Problems)
	}
	l.stubs = append(l.stubs, done{s, h, e.Index})
	return e
}

// recount works out the findings of every stub anew from the words of section
// 3.4, without keeping anything up.
func (l *lived) recount() map[int][]Code {
	out := make(map[int][]Code)
	for i, d := range l.stubs {
		found := make(map[Code]bool)
		if d.Action == "other" {
			found[CodeActionNotAllowed] = true
		}
		for _, r := range l.slip.Requires {
			if d.Action != r.Action {
				continue
			}
			if usable := d.Amount != nil && d.Amount.Unit == r.Unit; !usable {
				found[CodeAmountMissing] = true
			} else if d.Amount.Value > r.Above {
				found[CodeApprovalMissing] = true
			}
		}
		l.recountLimits(i, l.slip.Limits, func(done) bool { return true }, found)
		for h := d.by; h.pass != nil; h = h.above {
			l.recountLimits(i, h.pass.Limits, func(o done) bool { return under(o.by, h) }, found)
		}
		for c := range found {
			out[d.entry] = append(out[d.entry], c)
		}
	}
	return out
}

// under says whether a chain acts under a pass, or one handed on from it.
func under(h, pass *helper) bool {
	for ; h != nil; h = h.above {
		if h == pass {
			return true
		}
	}
	return false
}

func (l *lived) recountLimits(i int, limits []Limit, counts func(done) bool, found map[Code]bool) {
	s := l.stubs[i]
	value := func(o done, unit string) (int64, bool) {
		if o.Amount == nil || o.Amount.Unit != unit {
			return 0, false
		}
		return o.Amount.Value, true
	}
	for _, lim := range limits {
		if lim.Action != s.Action {
			continue
		}
		amount, usable := value(s, lim.Unit)
		if lim.Unit != "" && !usable {
			found[CodeAmountMissing] = true
			continue
		}
		sum, n := new(big.Int), int64(0)
		for k, o := range l.stubs {
			if o.Action != s.Action || !counts(o) {
				continue
			}
			inside := k <= i
			if lim.Per > 0 {
				inside = k == i || o.When > s.When-Time(lim.Per) && (o.When < s.When || o.When == s.When && k < i)
			}
			if inside {
				v, _ := value(o, lim.Unit)
				sum.Add(sum, big.NewInt(v))
				n++
			}
		}
		over := n > lim.Bound
		if lim.Kind != LimitCount {
			over = sum.Cmp(big.NewInt(lim.Bound)) > 0
		}
		switch {
		case lim.Kind == LimitEach && amount > lim.Bound:
			found[CodeOverEachLimit] = true
		case lim.Kind == LimitEach || !over:
		case lim.Per > 0:
			found[CodeOverPeriodLimit] = true
		case lim.Kind == LimitMax:
			found[CodeOverLimit] = true
		default:
			found[CodeOverCountLimit] = true
		}
	}
}

func (l *lived) breaches() map[int][]Code {
	out := make(map[int][]Code)
	for _, e := range l.c.Result().Entries {
		if e.Kind == KindStub && len(e.Breaches) > 0 {
			out[e.Index] = codes(e.Breaches)
		}
	}
	return out
}

func sorted(m map[int][]Code) string {
	for _, v := range m {
		slices.Sort(v)
	}
	return fmt.Sprint(m)
}

// TestLimitsRecount: what is kept up line by line is what a slow recount gives,
// over several chains whose times cross.
func TestLimitsRecount(t *testing.T) {
	w := newScene(t)
	rapid.Check(t, func(t *rapid.T) {
		l := live(t, w)
		for range rapid.IntRange(1, 40).Draw(t, "acts") {
			h := rapid.SampledFrom(l.helpers).Draw(t, "helper")
			l.add(t, h, l.stub(h, l.propose(t, h)))
		}
		if got, want := sorted(l.breaches()), sorted(l.recount()); got != want {
			t.Fatalf("kept up:   %s\nrecounted: %s", got, want)
		}
		s := l.c.Result().Summary
		if s.WithinSlips != (len(l.recount()) == 0) {
			t.Fatalf("within: %v", s.WithinSlips)
		}
	})
}

// TestLimitsBefore: what is allowed before acting brings no finding when its stub
// is read, not on it and not on any other; what is not allowed brings one, but for
// an act in a window that is overfull already.
func TestLimitsBefore(t *testing.T) {
	w := newScene(t)
	rapid.Check(t, func(t *rapid.T) {
		l := live(t, w)
		for range rapid.IntRange(1, 40).Draw(t, "acts") {
			h := rapid.SampledFrom(l.helpers).Draw(t, "helper")
			p := l.propose(t, h)
			a := l.c.Before(p)
			if len(a.Problems) > 0 {
				t.Fatal(a.Problems)
			}
			if !a.Allowed && rapid.IntRange(0, 2).Draw(t, "obey") > 0 {
				continue
			}
			before := sorted(l.breaches())
			e := l.add(t, h, l.stub(h, p))
			after := sorted(l.breaches())
			if a.Allowed && before != after {
				t.Fatalf("allowed, and then found: %s", after)
			}
			if !a.Allowed && before == after && !same(a.Breaches, CodeOverPeriodLimit) {
				t.Fatalf("refused for %v, and nothing was found: %v", codes(a.Breaches), e.Breaches)
			}
		}
	})
}

// TestLimitsInFlight: however calls of several chains overlap, each allowed while
// the others are in flight, no finding comes of them.
func TestLimitsInFlight(t *testing.T) {
	w := newScene(t)
	rapid.Check(t, func(t *rapid.T) {
		l := live(t, w)
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			h := rapid.SampledFrom(l.helpers).Draw(t, "helper")
			if h.want != nil { // its answer came
				h.flight()
				l.add(t, h, h.want)
				h.want = nil
				continue
			}
			p := l.propose(t, h)
			if l.c.Before(p).Allowed {
				h.flight = l.c.Reserve(p)
				h.want = l.stub(h, p)
			}
		}
		if got := l.breaches(); len(got) > 0 {
			t.Fatalf("every call was allowed, and found: %v", got)
		}
	})
}
