package receipts_test

import (
	"strings"
	"sync"
	"testing"

	. "countersign/receipts"
)

// TestBefore goes through the table of section 6.4, step by step.
func TestBefore(t *testing.T) {
	const order = "provared.order.place"
	for name, tt := range map[string]struct {
		slip     func(w *scene, s *Slip)
		book     func(w *scene)
		options  func(*CheckOptions)
		proposal func(w *scene, p *Proposal)
		problem  Code
		breaches []Code
		needs    Needs
	}{
		"allowed":                    {},
		"1 no issuer keys":           {options: func(o *CheckOptions) { o.IssuerKeys = nil }, problem: CodeRecordNotSound},
		"2 a problem in the book":    {book: func(w *scene) { w.put([]byte("{}")) }, problem: CodeRecordNotSound},
		"2 a method missing":         {book: func(w *scene) { w.stub(Stub{}) }, options: func(o *CheckOptions) { o.WithoutMethods = []Method{MLDSA87} }, problem: CodeRecordNotSound},
		"2 not checked here":         {book: func(w *scene) { w.vouch() }, problem: CodeRecordNotSound},
		"4 action":                   {proposal: func(_ *scene, p *Proposal) { p.Action = "Work" }, problem: CodeBadField},
		"4 reserved action":          {proposal: func(_ *scene, p *Proposal) { p.Action = "provared.money.send" }, problem: CodeBadField},
		"4 slip":                     {proposal: func(_ *scene, p *Proposal) { p.Slip = "x" }, problem: CodeBadField},
		"4 amount":                   {proposal: func(_ *scene, p *Proposal) { p.Amount = gbp(-1) }, problem: CodeBadField},
		"4 amount beyond int":        {proposal: func(_ *scene, p *Proposal) { p.Amount = gbp(MaxInt + 1) }, problem: CodeBadField},
		"4 unit":                     {proposal: func(_ *scene, p *Proposal) { p.Amount = &Amount{"", 1} }, problem: CodeBadField},
		"4 with":                     {proposal: func(_ *scene, p *Proposal) { p.With = "G" }, problem: CodeBadField},
		"4 terms without with":       {proposal: func(_ *scene, p *Proposal) { p.Terms = fingerprintOf("t") }, problem: CodeBadField},
		"4 when":                     {proposal: func(_ *scene, p *Proposal) { p.When = 1 << 60 }, problem: CodeBadField},
		"4 detail":                   {proposal: func(_ *scene, p *Proposal) { p.Details = []Detail{{"", fingerprintOf("x")}} }, problem: CodeBadField},
		"4 bad UTF-8":                {proposal: func(_ *scene, p *Proposal) { p.Details = []Detail{{"\xff", fingerprintOf("x")}} }, problem: CodeBadField},
		"4 too many details":         {proposal: func(_ *scene, p *Proposal) { p.Details = make([]Detail, 33) }, problem: CodeBadField},
		"5 the line would not fit":   {proposal: func(_ *scene, p *Proposal) { p.Approval = []byte(`"` + strings.Repeat("a", MaxLine) + `"`) }, problem: CodeTooLarge},
		"6 no slip":                  {proposal: func(_ *scene, p *Proposal) { p.Slip = fingerprintOf("x") }, problem: CodeSlipMissing},
		"7 no pass":                  {proposal: func(_ *scene, p *Proposal) { p.Pass = fingerprintOf("x") }, problem: CodePassMissing},
		"8 back in time":             {book: func(w *scene) { w.now++; w.stub(Stub{}); w.now-- }, problem: CodeTimeWentBackwards},
		"9 no terms":                 {proposal: func(_ *scene, p *Proposal) { p.With, p.Terms = "guard", fingerprintOf("t") }, problem: CodeTermsNotFound},
		"10 action not allowed":      {proposal: func(_ *scene, p *Proposal) { p.Action = "other" }, breaches: []Code{CodeActionNotAllowed}},
		"10 prohibited":              {slip: func(_ *scene, s *Slip) { s.Never = []string{"destroys"} }, proposal: func(_ *scene, p *Proposal) { p.Action = "provared.data.delete" }, breaches: []Code{CodeActionNotAllowed, CodeProhibited}},
		"10 party":                   {proposal: func(_ *scene, p *Proposal) { p.With = "x" }, breaches: []Code{CodePartyNotAllowed}},
		"10 outside time":            {proposal: func(_ *scene, p *Proposal) { p.When += 30 * 24 * hour }, breaches: []Code{CodeOutsideValidTime}},
		"10 cancelled":               {book: func(w *scene) { w.cancel() }, breaches: []Code{CodeAfterCancellation}},
		"12 approval missing":        {slip: func(_ *scene, s *Slip) { s.Requires = []Condition{{Need: KindApproval}} }, breaches: []Code{CodeApprovalMissing}, needs: Needs{Approval: true}},
		"12 approval given":          {slip: func(_ *scene, s *Slip) { s.Requires = []Condition{{Need: KindApproval}} }, proposal: approved, needs: Needs{Approval: true}},
		"12 approval not needed":     {proposal: approved},
		"12 approval of another":     {proposal: func(w *scene, p *Proposal) { approved(w, p); p.Amount = gbp(2) }, problem: CodeApprovalMismatch},
		"12 not a record":            {proposal: func(_ *scene, p *Proposal) { p.Approval = []byte("{}") }, problem: CodeBadEnvelope},
		"12 not canonical":           {proposal: func(_ *scene, p *Proposal) { p.Approval = []byte("{ }") }, problem: CodePayloadNotCanonical},
		"13 countersignature":        {slip: func(_ *scene, s *Slip) { s.Requires = []Condition{{Need: KindCountersignature}} }, proposal: func(_ *scene, p *Proposal) { p.With = "guard" }, needs: Needs{Countersignature: true}},
		"13 no service":              {slip: func(_ *scene, s *Slip) { s.Requires = []Condition{{Need: KindCountersignature}} }, breaches: []Code{CodeCountersignatureMissing}, needs: Needs{Countersignature: true}},
		"13 a service without keys":  {slip: func(_ *scene, s *Slip) { s.Requires = []Condition{{Need: KindCountersignature}} }, proposal: func(_ *scene, p *Proposal) { p.With = "mute" }, breaches: []Code{CodeCountersignatureMissing}, needs: Needs{Countersignature: true}},
		"a finding in the book, and": {slip: func(_ *scene, s *Slip) { s.Limits = []Limit{{Action: order, Kind: LimitCount, Bound: 1}} }, book: func(w *scene) { w.stub(Stub{Action: order}); w.stub(Stub{Action: order}) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			s := w.plain()
			if tt.slip != nil {
				tt.slip(w, s)
			}
			w.sign(s)
			if tt.book != nil {
				tt.book(w)
			}
			o := w.options()
			if tt.options != nil {
				tt.options(&o)
			}
			c := NewChecker(o)
			for _, l := range w.lines {
				c.Add(l)
			}
			p := Proposal{Slip: w.slip, Action: "work", When: w.now}
			if tt.proposal != nil {
				tt.proposal(w, &p)
			}
			a := c.Before(p)
			var problems []Code
			if tt.problem != "" {
				problems = []Code{tt.problem}
			}
			if !same(a.Problems, problems...) || !same(a.Breaches, tt.breaches...) || tt.problem == "" && a.Needs != tt.needs {
				t.Errorf("problems %v, breaches %v, needs %v", codes(a.Problems), codes(a.Breaches), a.Needs)
			}
			if a.Allowed != (tt.problem == "" && len(tt.breaches) == 0) {
				t.Errorf("allowed: %v", a.Allowed)
			}
		})
	}
}

func approved(w *scene, p *Proposal) {
	p.Approval, _ = w.approve(&Stub{Action: p.Action, Amount: p.Amount, With: p.With, Details: p.Details, When: p.When})
}

// vouch puts a vouching into the book, which is not wholly checked here.
func (w *scene) vouch() {
	v := Vouching{ID: w.id(), By: By{Keys: w.guard.Keys(), Name: "Org"}, ValidFrom: w.now, ValidUntil: w.now + 1, When: w.now,
		For: Vouched{Kind: "person", Key: w.passkey.Issuer().Key, Name: "Sam"}}
	w.put(w.record(KindVouching, w.guard, v.Append(nil)))
}

// cancel puts a cancellation of the slip into the book.
func (w *scene) cancel() (record []byte) {
	record, err := w.passkey.SignCancellation(&Cancellation{ID: w.id(), Slip: w.slip, When: w.now})
	w.check(err)
	w.put(AppendLine(nil, KindCancellation, record))
	return record
}

// TestBeforeHeld: a cancellation that is only held stops acting, and makes no
// finding of what was done.
func TestBeforeHeld(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	w.stub(Stub{})
	c := w.read()
	record := w.cancel()
	w.lines = w.lines[:len(w.lines)-1]
	p := Proposal{Slip: w.slip, Action: "work", When: w.now}
	if a := c.Before(p); !a.Allowed {
		t.Fatal(a)
	}
	for name, tt := range map[string]struct {
		record []byte
		want   Code
	}{
		"nothing":          {nil, CodePayloadNotCanonical},
		"no record":        {[]byte("{}"), CodeBadEnvelope},
		"one byte altered": {[]byte(strings.Replace(string(record), `"signature":"M`, `"signature":"N`, 1)), CodeCancellationInvalid},
	} {
		if _, err := c.Hold(tt.record); CodeOf(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if a := c.Before(p); !a.Allowed {
			t.Errorf("%s: an unsound copy stopped the agent: %v", name, a)
		}
	}
	held, err := c.Hold(record)
	if err != nil || held.Slip != w.slip {
		t.Fatal(err)
	}
	if a := c.Before(p); !same(a.Breaches, CodeAfterCancellation) || !c.Cancelled(w.slip) {
		t.Errorf("%v", a)
	}
	if s := c.Result().Summary; !s.WithinSlips || !s.Intact {
		t.Errorf("summary %+v", s)
	}
	if e := c.Add(w.stub(Stub{})); len(e.Breaches) > 0 {
		t.Errorf("a stub was found for a held copy without a stamp: %v", e.Breaches)
	}
}

// TestReserve: a call in flight counts as used, under any chain, until it is
// released.
func TestReserve(t *testing.T) {
	for name, tt := range map[string]struct {
		limit  Limit
		amount *Amount
		want   Code
	}{
		"count":           {Limit{Kind: LimitCount, Bound: 2}, nil, CodeOverCountLimit},
		"count in period": {Limit{Kind: LimitCount, Bound: 2, Per: 60}, nil, CodeOverPeriodLimit},
		"sum":             {Limit{Kind: LimitMax, Bound: 10, Unit: "GBP"}, gbp(5), CodeOverLimit},
		"sum in period":   {Limit{Kind: LimitMax, Bound: 10, Unit: "GBP", Per: 60}, gbp(5), CodeOverPeriodLimit},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			s := w.plain()
			tt.limit.Action = "work"
			s.Limits = []Limit{tt.limit}
			w.sign(s)
			c := w.read()
			p := Proposal{Slip: w.slip, Action: "work", Amount: tt.amount, When: w.now}
			first, second := c.Reserve(p), c.Reserve(p)
			if a := c.Before(p); !same(a.Breaches, tt.want) {
				t.Errorf("with two in flight: %v", a)
			}
			earlier := p
			earlier.When -= 30
			if a := c.Before(earlier); !same(a.Breaches, tt.want) {
				t.Errorf("earlier than the two in flight: %v", a)
			}
			first()
			first() // no harm
			if a := c.Before(p); !a.Allowed {
				t.Errorf("with one in flight: %v", a)
			}
			if e := c.Add(w.stub(Stub{Amount: tt.amount})); len(e.Breaches) > 0 {
				t.Errorf("a call in flight made a finding: %v", e.Breaches)
			}
			if a := c.Before(p); !same(a.Breaches, tt.want) {
				t.Errorf("with one in flight and one written: %v", a)
			}
			second()
			if a := c.Before(p); !a.Allowed {
				t.Errorf("with one written: %v", a)
			}
		})
	}
}

// TestTry: a stub that would spoil the book is found before it is signed, and
// trying changes nothing.
func TestTry(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	w.stub(Stub{})
	c := w.read()
	root := c.Root()
	good := w.place(&Stub{Details: []Detail{{"provared.tool-result", fingerprintOf("placeholder")}}})
	for name, tt := range map[string]struct {
		change func(*Stub)
		want   []Code
	}{
		"good":          {func(*Stub) {}, nil},
		"id twice":      {func(s *Stub) { s.ID = w.slipID() }, []Code{CodeDuplicateID}},
		"seq":           {func(s *Stub) { s.Seq++ }, []Code{CodeChainBroken}},
		"previous":      {func(s *Stub) { s.Previous = fingerprintOf("x") }, []Code{CodeChainBroken}},
		"when":          {func(s *Stub) { s.When-- }, []Code{CodeTimeWentBackwards}},
		"slip":          {func(s *Stub) { s.Slip = fingerprintOf("x") }, []Code{CodeSlipMissing}},
		"no approval":   {func(s *Stub) { s.Approval = fingerprintOf("x") }, []Code{CodeApprovalNotFound}},
		"malformed":     {func(s *Stub) { s.Action = "" }, []Code{CodeBadField}},
		"name too long": {func(s *Stub) { s.Details = []Detail{{strings.Repeat("n", 201), fingerprintOf("x")}} }, []Code{CodeBadField}},
	} {
		s := *good
		tt.change(&s)
		if got := c.Try(&s, nil); !same(got, tt.want...) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if c.Root() != root || c.Size() != 2 {
		t.Error("trying changed the book")
	}
	if e := c.Add(w.line(good, w.agent, false, nil)); len(e.Problems)+len(e.Breaches) > 0 {
		t.Errorf("after trying: %v", e.Problems)
	}
}

// TestAddOwn: signatures just made are not checked again; everything else is.
func TestAddOwn(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	c := w.read()
	if e := c.AddOwn(w.countersigned(Stub{})); len(e.Problems) > 0 || e.Verified != VerifiedAll || e.Countersignature != StateValid {
		t.Errorf("%v", e.Problems)
	}
	s := w.place(&Stub{})
	s.Seq++
	if e := c.AddOwn(w.line(s, w.agent, false, nil)); !same(e.Problems, CodeChainBroken) {
		t.Errorf("%v", e.Problems)
	}
}

// TestNext: where a chain stands.
func TestNext(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	c := w.read()
	if seq, previous, _ := c.Next(w.slip, ""); seq != 0 || previous != "" {
		t.Error(seq, previous)
	}
	e := c.Add(w.stub(Stub{}))
	if seq, previous, when := c.Next(w.slip, ""); seq != 1 || previous != e.Fingerprint || when != w.now {
		t.Error(seq, previous, when)
	}
	if s, ok := c.Slip(w.slip); !ok || s.ID != w.slipID() {
		t.Error("no slip")
	}
}

// TestConcurrent: many may ask, reserve and release while lines are read.
func TestConcurrent(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 5, Per: 60}}
	w.sign(s)
	for range 10 {
		w.now += 60
		w.stub(Stub{})
	}
	c := NewChecker(w.options())
	c.Add(w.lines[0])
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				p := Proposal{Slip: w.slip, Action: "work", When: w.now}
				if c.Before(p).Allowed {
					c.Reserve(p)()
				}
				c.Result()
			}
		})
	}
	for _, l := range w.lines[1:] {
		c.Add(l)
	}
	wg.Wait()
	if r := c.Result(); !r.Summary.Intact || !r.Summary.WithinSlips || r.Size != 11 {
		t.Errorf("%+v", r.Summary)
	}
}
