package receipts_test

import (
	"testing"

	. "countersign/receipts"
)

// hand makes a pass under the slip signed last, narrow enough to be sound.
func (w *scene) hand(change func(*Pass)) *Pass {
	p := &Pass{ID: w.id(), Slip: w.slip, To: By{Keys: w.guard.Keys(), Name: "Helper"}, Actions: []string{"work"},
		ValidFrom: w.now, ValidUntil: w.now + hour, When: w.now}
	if change != nil {
		change(p)
	}
	return p
}

// putPass signs a pass as its writer and puts it into the book.
func (w *scene) putPass(by *Signer, p *Pass) string {
	payload := p.Append(nil)
	w.put(w.record(KindPass, by, payload))
	return Fingerprint(payload)
}

// TestPass: section 6.7. The helper signs with the guard's keys.
func TestPass(t *testing.T) {
	for name, tt := range map[string]struct {
		make     func(w *scene)
		problems []Code
		breaches []Code
	}{
		"allowed":           {func(w *scene) { w.putPass(w.agent, w.hand(nil)) }, nil, nil},
		"by another":        {func(w *scene) { w.putPass(w.guard, w.hand(nil)) }, []Code{CodeSignatureInvalid}, nil},
		"no slip":           {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.Slip = fingerprintOf("x") })) }, []Code{CodeSlipMissing}, nil},
		"from none":         {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.From = fingerprintOf("x") })) }, []Code{CodePassMissing}, nil},
		"an action more":    {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.Actions = []string{"work", "play"} })) }, nil, []Code{CodePassWider}},
		"begins before":     {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.ValidFrom -= 2 * hour })) }, nil, []Code{CodePassWider}},
		"ends after":        {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.ValidUntil += 48 * hour })) }, nil, []Code{CodePassWider}},
		"written too early": {func(w *scene) { w.putPass(w.agent, w.hand(func(p *Pass) { p.When -= 2 * hour })) }, nil, []Code{CodeOutsideValidTime}},
		"after cancellation": {func(w *scene) {
			w.cancel()
			w.putPass(w.agent, w.hand(nil))
		}, nil, []Code{CodeAfterCancellation}},
		"handed on": {func(w *scene) {
			from := w.putPass(w.agent, w.hand(nil))
			w.putPass(w.guard, w.hand(func(p *Pass) { p.From = from }))
		}, nil, nil},
		"handed on wider": {func(w *scene) {
			from := w.putPass(w.agent, w.hand(nil))
			w.putPass(w.guard, w.hand(func(p *Pass) { p.From, p.Actions = from, []string{"provared.order.place"} }))
		}, nil, []Code{CodePassWider}},
		"handed on too deep": {func(w *scene) { w.chainOfPasses(3) }, nil, []Code{CodePassNotAllowed}},
		"eleven in a row":    {func(w *scene) { w.chainOfPasses(11) }, []Code{CodePassTooDeep}, nil},
		"of another slip": {func(w *scene) {
			from := w.putPass(w.agent, w.hand(nil))
			w.sign(w.plain())
			w.putPass(w.guard, w.hand(func(p *Pass) { p.From = from }))
		}, []Code{CodePassMismatch}, nil},
		"a stub under it": {func(w *scene) {
			pass := w.putPass(w.agent, w.hand(nil))
			w.put(w.line(w.place(&Stub{Pass: pass}), w.guard, false, nil))
		}, nil, nil},
		"a stub by the agent under it": {func(w *scene) {
			pass := w.putPass(w.agent, w.hand(nil))
			w.put(w.line(w.place(&Stub{Pass: pass}), w.agent, false, nil))
		}, []Code{CodeSignatureInvalid}, nil},
		"a stub beyond it": {func(w *scene) {
			pass := w.putPass(w.agent, w.hand(nil))
			w.put(w.line(w.place(&Stub{Pass: pass, Action: "provared.order.place"}), w.guard, false, nil))
		}, nil, []Code{CodeActionNotAllowed}},
		"a stub under one not allowed": {func(w *scene) {
			pass := w.chainOfPasses(3)
			w.put(w.line(w.place(&Stub{Pass: pass}), w.guard, false, nil))
		}, nil, []Code{CodePassNotAllowed}},
		"a stub of another slip": {func(w *scene) {
			pass := w.putPass(w.agent, w.hand(nil))
			w.sign(w.plain())
			w.put(w.line(w.place(&Stub{Pass: pass}), w.guard, false, nil))
		}, []Code{CodePassMismatch}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			s := w.plain()
			s.Passes = 2
			w.sign(s)
			tt.make(w)
			e := w.last()
			if !same(e.Problems, tt.problems...) || !same(e.Breaches, tt.breaches...) {
				t.Errorf("%v %v", codes(e.Problems), codes(e.Breaches))
			}
		})
	}
}

// chainOfPasses hands a pass on until so many stand in a row.
func (w *scene) chainOfPasses(n int) (last string) {
	last = w.putPass(w.agent, w.hand(nil))
	for range n - 1 {
		last = w.putPass(w.guard, w.hand(func(p *Pass) { p.From = last }))
	}
	return last
}

// TestBeforeLater: an act dated before a stub of another chain may not overfill
// that stub's window, nor stand in one that is overfull.
func TestBeforeLater(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Passes = 1
	s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1, Per: 60}}
	w.sign(s)
	pass := w.putPass(w.agent, w.hand(nil))
	w.now += 100
	w.stub(Stub{})
	c := w.read()
	for back, want := range map[Time][]Code{0: {CodeOverPeriodLimit}, 1: {CodeOverPeriodLimit}, 59: {CodeOverPeriodLimit}, 60: nil, 61: nil} {
		if a := c.Before(Proposal{Slip: w.slip, Pass: pass, Action: "work", When: w.now - back}); !same(a.Breaches, want...) || len(a.Problems) > 0 {
			t.Errorf("%d seconds before: %v", back, a)
		}
	}
	// The finding of a stub read later, dated before, goes to the stub whose window
	// it overfills.
	w.now -= 59
	w.put(w.line(w.place(&Stub{Pass: pass}), w.guard, false, nil))
	r := w.report()
	if e := r.Entries[2]; !same(e.Breaches, CodeOverPeriodLimit) || len(r.Entries[3].Breaches) > 0 || r.Summary.FirstBreach != 2 || r.Summary.WithinSlips {
		t.Errorf("%v %v, first %d", e.Breaches, r.Entries[3].Breaches, r.Summary.FirstBreach)
	}
	o := w.options()
	o.SummaryOnly = true
	short := NewChecker(o)
	for _, l := range w.lines {
		short.Add(l)
	}
	if got := short.Result(); got.Summary.FirstBreach != 2 || got.Summary.WithinSlips || len(got.Entries) > 0 {
		t.Errorf("without entries: %+v", got.Summary)
	}
}

// TestTerms: section 6.3.
func TestTerms(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(*Terms)
		with     string
		problems []Code
		breaches []Code
	}{
		"accepted":        {nil, "guard", nil, nil},
		"not accepted":    {func(t *Terms) { t.Accepts = []string{"other"} }, "guard", nil, []Code{CodeOutsideTerms}},
		"not yet":         {func(t *Terms) { t.ValidFrom, t.ValidUntil = t.ValidFrom+1, t.ValidUntil+5 }, "guard", nil, []Code{CodeOutsideTerms}},
		"no longer":       {func(t *Terms) { t.ValidFrom, t.ValidUntil = t.ValidFrom-2, t.ValidFrom }, "guard", nil, []Code{CodeOutsideTerms}},
		"not its service": {nil, "mute", []Code{CodeTermsMismatch}, nil},
		"not a service":   {nil, "other", []Code{CodeTermsMismatch}, nil},
		"an id twice":     {func(t *Terms) { t.ID = "" }, "guard", []Code{CodeTermsUnusable}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			w.sign(w.plain())
			terms := &Terms{ID: w.id(), By: By{Keys: w.guard.Keys(), Name: "Guard"}, Accepts: []string{"work"}, ValidFrom: w.now, ValidUntil: w.now + 1}
			if tt.change != nil {
				tt.change(terms)
			}
			if terms.ID == "" {
				terms.ID = w.slipID()
			}
			w.put(w.record(KindTerms, w.guard, terms.Append(nil)))
			fp := Fingerprint(terms.Append(nil))
			c := w.read()
			a := c.Before(Proposal{Slip: w.slip, Action: "work", With: tt.with, Terms: fp, When: w.now})
			e := c.Add(w.stub(Stub{With: tt.with, Terms: fp}))
			if !same(e.Problems, tt.problems...) || !same(e.Breaches, tt.breaches...) {
				t.Errorf("%v %v", codes(e.Problems), codes(e.Breaches))
			}
			if a.Allowed != (len(tt.problems)+len(tt.breaches) == 0) {
				t.Errorf("before: %v", a)
			}
		})
	}
}

// TestCancellation: sections 6.5 and 6.6, without stamps.
func TestCancellation(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	w.stub(Stub{})
	record := w.cancel()
	w.now += 10
	w.stub(Stub{})
	r := w.report()
	if len(r.Entries[1].Breaches) > 0 || !same(r.Entries[3].Breaches, CodeAfterCancellation) || r.Summary.WithinSlips || !r.Summary.Intact {
		t.Errorf("%v %v", r.Entries[1].Breaches, r.Entries[3].Breaches)
	}
	t.Run("by another passkey", func(t *testing.T) {
		w := newScene(t)
		w.sign(w.plain())
		w.passkey, _ = NewDevelopmentPasskey("Eve", origin, w.random)
		w.cancel()
		c := NewChecker(CheckOptions{})
		c.Add(w.lines[0])
		if e := c.Add(w.lines[1]); !same(e.Problems, CodeCancellationInvalid) || c.Cancelled(w.slip) {
			t.Error(e.Problems)
		}
	})
	t.Run("of no slip", func(t *testing.T) {
		c := NewChecker(CheckOptions{})
		if e := c.Add(w.lines[2]); !same(e.Problems, CodeSlipMissing) {
			t.Error(e.Problems)
		}
	})
	t.Run("with stamps", func(t *testing.T) {
		line := AppendLine(nil, KindCancellation, record)
		for stamps, want := range map[string][]Code{
			`["x"]`: nil, `["x",{}]`: nil, `[]`: {CodeBadField}, `["x","x"]`: {CodeBadField}, `["a","b","c","d","e"]`: {CodeBadField}, `[1]`: {CodeBadField}, `"x"`: {CodeBadField},
		} {
			c := NewChecker(w.options())
			c.Add(w.lines[0])
			e := c.Add(append(append([]byte{}, line[:len(line)-1]...), `,"stamps":`+stamps+`}`...))
			s := c.Result().Summary
			if !same(e.Problems, want...) || s.Intact || s.FullyChecked && want == nil || s.WithinSlips {
				t.Errorf("%s: %v, %+v", stamps, e.Problems, s)
			}
		}
	})
	t.Run("acknowledged", func(t *testing.T) {
		cancellation := Fingerprint(r.Entries[2].Content.(*Cancellation).Append(nil))
		for name, tt := range map[string]struct {
			by   *Signer
			of   string
			pass string
			want []Code
		}{
			"good":          {w.agent, cancellation, "", nil},
			"by another":    {w.guard, cancellation, "", []Code{CodeSignatureInvalid}},
			"of another":    {w.agent, fingerprintOf("x"), "", []Code{CodeCancellationNotFound}},
			"under no pass": {w.agent, cancellation, fingerprintOf("x"), []Code{CodePassMissing}},
		} {
			c := w.read()
			ack := Acknowledgement{ID: w.id(), Slip: w.slip, Cancellation: tt.of, Pass: tt.pass, When: w.now}
			if e := c.Add(w.record(KindAcknowledgement, tt.by, ack.Append(nil))); !same(e.Problems, tt.want...) || len(e.Breaches) > 0 {
				t.Errorf("%s: %v", name, e.Problems)
			}
		}
	})
}

// TestSeal: a seal's root, size and chain are checked, its third method is not
// here, and a book with one is never wholly checked.
func TestSeal(t *testing.T) {
	three := append(KeySet{}, sceneSigner(t, new(counting)).Keys()...)
	third, err := ReadKeySetOf(SLHDSA256s)
	if err != nil {
		t.Fatal(err)
	}
	three = append(three, third)
	for name, tt := range map[string]struct {
		change func(*Seal)
		third  int // bytes of the third signature
		want   []Code
	}{
		"root, size and chain":      {func(*Seal) {}, 29792, nil},
		"other root":                {func(s *Seal) { s.Root = fingerprintOf("x") }, 29792, []Code{CodeSealMismatch}},
		"other size":                {func(s *Seal) { s.Size++ }, 29792, []Code{CodeSealMismatch}},
		"a previous":                {func(s *Seal) { s.Previous = fingerprintOf("x") }, 29792, []Code{CodeSealChainBroken}},
		"dated before":              {func(s *Seal) { s.When -= ClockSlack + 1 }, 29792, []Code{CodeTimeWentBackwards}},
		"before a countersignature": {func(s *Seal) { s.When -= 1 }, 29792, nil},
		"dated a little before":     {func(s *Seal) { s.When -= ClockSlack }, 29792, nil},
		"a short third":             {func(*Seal) {}, 29791, []Code{CodeSignatureInvalid}},
	} {
		w := newScene(t)
		signer := sceneSigner(t, new(counting))
		w.sign(w.plain())
		w.stub(Stub{})
		root := w.report().Root
		s := &Seal{ID: w.id(), By: By{Keys: three, Name: "Recorder"}, Size: 2, Root: root, When: w.now}
		tt.change(s)
		w.put(AppendLine(nil, KindSeal, SealedBy(signer, s.Append(nil), tt.third)))
		r := w.report()
		e := r.Entries[2]
		if !same(e.Problems, tt.want...) || e.Verified != VerifiedSome {
			t.Errorf("%s: %v, verified %s", name, e.Problems, e.Verified)
		}
		if r.Summary.Intact || r.Summary.FullyChecked {
			t.Errorf("%s: wholly checked without its third method", name)
		}
	}
}
