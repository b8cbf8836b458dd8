package receipts_test

import (
	"testing"

	. "countersign/receipts"
)

// TestFindings holds stubs against slips with one bound each: section 3.4.
func TestFindings(t *testing.T) {
	const order = "provared.order.place"
	limit := func(kind LimitKind, bound, per int64) func(*Slip) {
		return func(s *Slip) {
			l := Limit{Action: order, Kind: kind, Bound: bound, Per: per}
			if kind != LimitCount {
				l.Unit = "GBP"
			}
			s.Limits = append(s.Limits, l)
		}
	}
	need := func(c Condition) func(*Slip) { return func(s *Slip) { s.Requires = append(s.Requires, c) } }
	// act is one stub, so many seconds after the one before; want is what it is
	// found for.
	type act struct {
		after  Time
		action string
		amount *Amount
		with   string
		signed bool // countersigned
		want   []Code
	}
	for name, tt := range map[string]struct {
		slip func(*Slip)
		acts []act
	}{
		"action":            {nil, []act{{action: "other", want: []Code{CodeActionNotAllowed}}}},
		"party":             {nil, []act{{with: "guard"}, {with: "stranger", want: []Code{CodePartyNotAllowed}}}},
		"before valid time": {func(s *Slip) { s.ValidFrom += hour + 1 }, []act{{want: []Code{CodeOutsideValidTime}}, {after: 1}}},
		"after valid time":  {func(s *Slip) { s.ValidUntil = s.ValidFrom + hour + 1 }, []act{{}, {after: 1, want: []Code{CodeOutsideValidTime}}}},
		"max": {limit(LimitMax, 100, 0), []act{
			{action: order, amount: gbp(60)}, {action: order, amount: gbp(40)}, {action: order, amount: gbp(0)},
			{action: order, amount: gbp(1), want: []Code{CodeOverLimit}}, {action: order, amount: gbp(0), want: []Code{CodeOverLimit}},
			{action: "work"}}},
		"max of 0": {limit(LimitMax, 0, 0), []act{{action: order, amount: gbp(0)}, {action: order, amount: gbp(1), want: []Code{CodeOverLimit}}}},
		"each":     {limit(LimitEach, 50, 0), []act{{action: order, amount: gbp(50)}, {action: order, amount: gbp(51), want: []Code{CodeOverEachLimit}}}},
		"count": {limit(LimitCount, 2, 0), []act{
			{action: order}, {action: "work"}, {action: order, amount: gbp(1)}, {action: order, want: []Code{CodeOverCountLimit}}}},
		"amount missing": {limit(LimitMax, 10, 0), []act{
			{action: order, want: []Code{CodeAmountMissing}}, {action: order, amount: &Amount{"EUR", 1}, want: []Code{CodeAmountMissing}},
			{action: order, amount: gbp(10)}}},
		"a stub with a finding counts": {limit(LimitMax, 10, 0), []act{
			{action: order, amount: gbp(11), want: []Code{CodeOverLimit}}, {action: order, amount: gbp(1), want: []Code{CodeOverLimit}}}},
		"sum in a period": {limit(LimitMax, 10, 60), []act{
			{action: order, amount: gbp(6)}, {after: 59, action: order, amount: gbp(5), want: []Code{CodeOverPeriodLimit}},
			{after: 1, action: order, amount: gbp(5)}, {after: 120, action: order, amount: gbp(10)}}},
		"count in a period": {limit(LimitCount, 2, 60), []act{
			{action: order}, {action: order}, {after: 59, action: order, want: []Code{CodeOverPeriodLimit}},
			{after: 1, action: order}, {after: 58, action: order, want: []Code{CodeOverPeriodLimit}}}},
		"a period goes by time, not by turn": {limit(LimitCount, 1, 60), []act{{action: order}, {after: 60, action: order}, {after: 60, action: order}}},
		"sums beyond 64 bits": {limit(LimitMax, MaxInt, 0), []act{
			{action: order, amount: gbp(MaxInt)}, {action: order, amount: gbp(MaxInt), want: []Code{CodeOverLimit}}}},
		"countersignature": {need(Condition{Need: KindCountersignature}), []act{
			{signed: true}, {action: order, with: "guard", want: []Code{CodeCountersignatureMissing}}}},
		"countersignature of one action": {need(Condition{Need: KindCountersignature, Action: order}), []act{
			{}, {action: order, want: []Code{CodeCountersignatureMissing}}}},
		"approval above": {need(Condition{Need: KindApproval, Action: order, HasAbove: true, Above: 20, Unit: "GBP"}), []act{
			{action: order, amount: gbp(20)}, {action: order, amount: gbp(21), want: []Code{CodeApprovalMissing}},
			{action: order, want: []Code{CodeAmountMissing}}}},
		"never": {func(s *Slip) { s.Actions, s.Never = []string{"work"}, []string{"commits", "destroys"} }, []act{
			{action: order, want: []Code{CodeActionNotAllowed, CodeProhibited}},
			{action: "provared.data.delete", want: []Code{CodeActionNotAllowed, CodeProhibited}},
			{action: "provared.data.read", want: []Code{CodeActionNotAllowed}}}},
		"several at once": {func(s *Slip) {
			limit(LimitMax, 5, 0)(s)
			limit(LimitEach, 4, 0)(s)
			limit(LimitCount, 1, 60)(s)
			limit(LimitMax, 4, 60)(s)
		}, []act{{action: order, amount: gbp(4)},
			{action: order, amount: gbp(5), with: "x", want: []Code{CodeOverLimit, CodeOverEachLimit, CodeOverPeriodLimit, CodePartyNotAllowed}}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			s := w.plain()
			if tt.slip != nil {
				tt.slip(s)
			}
			w.sign(s)
			c := w.read()
			if r := c.Result(); r.Summary.ProblemFound {
				t.Fatal(r.Entries[0].Problems)
			}
			for i, a := range tt.acts {
				w.now += a.after
				stub := Stub{Action: a.action, Amount: a.amount, With: a.with}
				var line []byte
				if a.signed {
					line = w.countersigned(stub)
				} else {
					line = w.stub(stub)
				}
				// What the check before acting says, and what is found of the same stub
				// afterwards, agree, but for what is not there yet.
				p := Proposal{Slip: w.slip, Action: a.action, Amount: a.amount, With: a.with, When: w.now}
				if a.action == "" {
					p.Action = "work"
				}
				if a.signed {
					p.With = "guard"
				}
				before := c.Before(p)
				e := c.Add(line)
				if len(e.Problems) > 0 || !e.Compared || !same(e.Breaches, a.want...) {
					t.Errorf("act %d: %v %v, want %v", i, e.Problems, codes(e.Breaches), a.want)
				}
				late := a.with == "guard" && !a.signed // the guard could have countersigned
				if !late && !same(before.Breaches, a.want...) || len(before.Problems) > 0 {
					t.Errorf("act %d: before: %v %v, want %v", i, before.Problems, codes(before.Breaches), a.want)
				}
			}
			r := c.Result()
			if r.Summary.ProblemFound || !r.Summary.Intact || r.Summary.WithinSlips != (r.Summary.FirstBreach < 0) {
				t.Errorf("summary %+v", r.Summary)
			}
		})
	}
}

// TestFindingsRunning: the running sum is that of the published sample.
func TestFindingsRunning(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Limits = []Limit{{Action: "work", Kind: LimitMax, Bound: MaxInt, Unit: "u"}}
	w.sign(s)
	for i, want := range []string{"9007199254740991", "18014398509481982", "27021597764222973"} {
		w.stub(Stub{Amount: &Amount{"u", MaxInt}})
		if got := w.last().Running; got != want {
			t.Errorf("stub %d: %s, want %s", i, got, want)
		}
	}
}

// TestStubProblems: faults of a stub's record and of what it stands on.
func TestStubProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(w *scene)
		want []Code
	}{
		"no slip": {func(w *scene) { w.slip = fingerprintOf("none"); w.stub(Stub{}) }, []Code{CodeSlipMissing}},
		"seq skipped": {func(w *scene) {
			s := w.place(&Stub{})
			s.Seq, s.Previous = 1, fingerprintOf("gone")
			w.put(w.line(s, w.agent, false, nil))
		}, []Code{CodeChainBroken}},
		"another previous": {func(w *scene) {
			w.stub(Stub{})
			s := w.place(&Stub{})
			s.Previous = fingerprintOf("other")
			w.put(w.line(s, w.agent, false, nil))
		}, []Code{CodeChainBroken}},
		"one break is one report": {func(w *scene) {
			s := w.place(&Stub{})
			s.Seq, s.Previous = 5, fingerprintOf("gone")
			w.chains[w.slip] = &link{6, Fingerprint(s.Append(nil))}
			w.put(w.line(s, w.agent, false, nil))
			w.stub(Stub{})
		}, nil},
		"back in time":                  {func(w *scene) { w.stub(Stub{}); w.now--; w.stub(Stub{}) }, []Code{CodeTimeWentBackwards}},
		"id twice":                      {func(w *scene) { id := w.id(); w.stub(Stub{ID: id}); w.stub(Stub{ID: id}) }, []Code{CodeDuplicateID}},
		"unknown pass":                  {func(w *scene) { w.stub(Stub{Pass: fingerprintOf("pass")}) }, []Code{CodePassMissing}},
		"unknown terms":                 {func(w *scene) { w.stub(Stub{With: "guard", Terms: fingerprintOf("t")}) }, []Code{CodeTermsNotFound}},
		"approval absent":               {func(w *scene) { w.stub(Stub{Approval: fingerprintOf("a")}) }, []Code{CodeApprovalNotFound}},
		"wrong keys":                    {func(w *scene) { w.put(w.line(w.place(&Stub{}), w.guard, false, nil)) }, []Code{CodeSignatureInvalid}},
		"countersignature without keys": {func(w *scene) { w.countersigned(Stub{With: "mute"}) }, []Code{CodeCountersignatureImpossible}},
		"countersignature without service": {func(w *scene) {
			w.put(w.line(w.place(&Stub{}), w.agent, true, nil))
		}, []Code{CodeCountersignatureImpossible}},
		"countersignature of another": {func(w *scene) {
			s := w.place(&Stub{With: "guard"})
			record, err := w.agent.Sign(KindStub, s.Append(nil))
			w.check(err)
			counter := Countersignature{Stub: fingerprintOf("x"), When: w.now}
			other, err := w.guard.Sign(KindCountersignature, counter.Append(nil))
			w.check(err)
			w.put(AppendStubLine(nil, record, other, nil))
		}, []Code{CodeCountersignatureWrongStub}},
		"countersignature by the agent": {func(w *scene) {
			guard := w.guard
			w.guard = w.agent
			w.countersigned(Stub{})
			w.guard = guard
		}, []Code{CodeCountersignatureInvalid}},
		"a countersignature where the stub should be": {func(w *scene) {
			c := Countersignature{Stub: fingerprintOf("x"), When: w.now}
			record, err := w.guard.Sign(KindCountersignature, c.Append(nil))
			w.check(err)
			w.put(AppendStubLine(nil, record, nil, nil))
		}, []Code{CodePayloadTypeMismatch}},
		"a denial in a book": {func(w *scene) {
			d := Denial{ID: w.id(), Slip: w.slip, By: "slip", With: "guard", Details: []Detail{{"arguments", fingerprintOf("{}")}}, Code: "over-limit", When: w.now}
			w.put(w.record(KindDenial, w.agent, d.Append(nil)))
		}, []Code{CodeUnknownEntry}},
		"a denial as a stub": {func(w *scene) {
			d := Denial{ID: w.id(), Slip: w.slip, By: "slip", With: "guard", Details: []Detail{{"arguments", fingerprintOf("{}")}}, Code: "over-limit", When: w.now}
			record, err := w.agent.Sign(KindDenial, d.Append(nil))
			w.check(err)
			w.put(AppendStubLine(nil, record, nil, nil))
		}, []Code{CodeUnknownType}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			w.sign(w.plain())
			tt.make(w)
			e := w.last()
			if !same(e.Problems, tt.want...) || len(e.Breaches) > 0 || e.Compared != (len(tt.want) == 0) {
				t.Errorf("%v %v", e.Problems, e.Breaches)
			}
			if w.report().Summary.Intact && len(tt.want) > 0 {
				t.Error("intact")
			}
		})
	}
}

// TestApproval: section 6.1.
func TestApproval(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(w *scene, s *Stub, a *Approval)
		want   []Code
	}{
		"good":              {func(*scene, *Stub, *Approval) {}, nil},
		"good, dated ahead": {func(_ *scene, _ *Stub, a *Approval) { a.When += ClockSlack }, nil},
		"dated after":       {func(_ *scene, _ *Stub, a *Approval) { a.When += ClockSlack + 1 }, []Code{CodeApprovalDatedAfterStub}},
		"other amount":      {func(_ *scene, _ *Stub, a *Approval) { a.Amount = gbp(8) }, []Code{CodeApprovalMismatch}},
		"no amount":         {func(_ *scene, _ *Stub, a *Approval) { a.Amount = nil }, []Code{CodeApprovalMismatch}},
		"other details": {func(_ *scene, _ *Stub, a *Approval) {
			a.Details = []Detail{a.Details[1], a.Details[0]}
		}, []Code{CodeApprovalMismatch}},
		"other slip":     {func(_ *scene, _ *Stub, a *Approval) { a.Slip = fingerprintOf("x") }, []Code{CodeApprovalMismatch}},
		"id of a slip":   {func(w *scene, _ *Stub, a *Approval) { a.ID = w.slipID() }, []Code{CodeDuplicateID}},
		"id of its stub": {func(_ *scene, s *Stub, a *Approval) { a.ID = s.ID }, []Code{CodeDuplicateID}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			w.sign(w.plain())
			s := &Stub{ID: w.id(), Action: "work", Amount: gbp(7), With: "guard", When: w.now,
				Details: []Detail{{"arguments", fingerprintOf("1")}, {"b", fingerprintOf("2")}}}
			a := &Approval{ID: w.id(), Slip: w.slip, Action: s.Action, Amount: s.Amount, With: s.With, Details: s.Details, When: w.now}
			tt.change(w, s, a)
			record, err := w.passkey.SignApproval(a)
			w.check(err)
			s.Approval = Fingerprint(a.Append(nil))
			w.place(s)
			c := w.read()
			tried := c.Try(s, record)
			e := c.Add(w.line(s, w.agent, true, record))
			if !same(e.Problems, tt.want...) || e.Approval != StateValid {
				t.Errorf("%v, approval %s", e.Problems, e.Approval)
			}
			if !same(tried, tt.want...) {
				t.Errorf("tried: %v", tried)
			}
		})
	}
	t.Run("used twice", func(t *testing.T) {
		w := newScene(t)
		w.sign(w.plain())
		c := w.read()
		for i, want := range [][]Code{nil, {CodeApprovalReused}} {
			s := &Stub{Action: "work", When: w.now}
			if i == 0 {
				w.saved, w.savedPrint = w.approve(s)
			}
			s.Approval = w.savedPrint
			w.place(s)
			if e := c.Add(w.line(s, w.agent, false, w.saved)); !same(e.Problems, want...) {
				t.Errorf("use %d: %v", i+1, e.Problems)
			}
		}
	})
	t.Run("not named", func(t *testing.T) {
		w := newScene(t)
		w.sign(w.plain())
		s := w.place(&Stub{})
		record, _ := w.approve(s)
		w.put(w.line(s, w.agent, false, record))
		if e := w.last(); !same(e.Problems, CodeApprovalMismatch) {
			t.Error(e.Problems)
		}
	})
	t.Run("by another passkey", func(t *testing.T) {
		w := newScene(t)
		w.sign(w.plain())
		other, err := NewDevelopmentPasskey("Eve", origin, w.random)
		w.check(err)
		w.passkey = other
		s := &Stub{Action: "work", When: w.now}
		record, fp := w.approve(s)
		s.Approval = fp
		c := NewChecker(CheckOptions{})
		c.Add(w.lines[0])
		if e := c.Add(w.line(w.place(s), w.agent, false, record)); !same(e.Problems, CodeApprovalInvalid) || e.Approval != StateInvalid {
			t.Error(e.Problems)
		}
	})
}
