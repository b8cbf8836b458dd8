package receipts_test

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"testing"

	. "countersign/receipts"
)

func gbp(n int64) *Amount { return &Amount{Unit: "GBP", Value: n} }

// TestBook is a book as the guard writes it: sound, checked, within its slip.
func TestBook(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	for range 3 {
		w.now += 60
		w.countersigned(Stub{Details: []Detail{{"arguments", fingerprintOf("{}")}}})
	}
	w.stub(Stub{})
	r := w.report()
	for _, e := range r.Entries {
		if len(e.Problems)+len(e.Breaches) > 0 {
			t.Errorf("entry %d: %v %v", e.Index, e.Problems, e.Breaches)
		}
	}
	s := r.Summary
	if !s.Intact || !s.WithinSlips || !s.Development || s.Counts.Countersigned != 3 || s.Counts.OneSided != 1 {
		t.Errorf("summary %+v", s)
	}
}

// bookOf joins lines as a file has them.
func bookOf(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

// TestBookParallel: on all cores, on one, and line by line, the report is the same.
func TestBookParallel(t *testing.T) {
	w := mixed(t)
	want := w.report()
	for _, workers := range []int{1, 2, 7} {
		o := w.options()
		o.Workers = workers
		got, err := VerifyBook(bytes.NewReader(bookOf(w.lines)), o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with %d workers the report differs", workers)
		}
	}
}

// mixed is a book with most kinds of line in it, good and bad.
func mixed(t testing.TB) *scene {
	w := newScene(t)
	s := w.plain()
	s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 4}}
	s.Requires = []Condition{{Need: KindApproval, Action: "provared.order.place"}}
	w.sign(s)
	w.countersigned(Stub{})
	approved := &Stub{Action: "provared.order.place", Amount: gbp(7)}
	approved.When = w.now
	record, fp := w.approve(approved)
	approved.Approval = fp
	w.put(w.line(w.place(approved), w.agent, false, record))
	w.put([]byte("not json"))
	w.put([]byte(`{"unknown":1}`))
	w.put([]byte(`{ "stub":1}`))
	refusal := Refusal{ID: w.id(), Slip: w.slip, By: By{Keys: w.guard.Keys(), Name: "Guard"}, Action: "work", Reason: "other", When: w.now}
	w.put(w.record(KindRefusal, w.guard, refusal.Append(nil)))
	forged := w.place(&Stub{})
	w.put(w.line(forged, w.guard, false, nil)) // the wrong keys
	for range 4 {
		w.now += 10
		w.stub(Stub{})
	}
	vouching := Vouching{ID: w.id(), By: By{Keys: w.guard.Keys(), Name: "Org"}, ValidFrom: w.now, ValidUntil: w.now + 1, When: w.now,
		For: Vouched{Kind: "agent", Keys: w.agent.Keys(), Name: "Agent"}}
	w.put(w.record(KindVouching, w.guard, vouching.Append(nil)))
	withdrawal := Withdrawal{ID: w.id(), Vouching: Fingerprint(vouching.Append(nil)), When: w.now}
	w.put(w.record(KindWithdrawal, w.guard, withdrawal.Append(nil)))
	cancellation := Cancellation{ID: w.id(), Slip: w.slip, When: w.now}
	record, err := w.passkey.SignCancellation(&cancellation)
	w.check(err)
	w.put(AppendLine(nil, KindCancellation, record))
	ack := Acknowledgement{ID: w.id(), Slip: w.slip, Cancellation: Fingerprint(cancellation.Append(nil)), When: w.now}
	w.put(w.record(KindAcknowledgement, w.agent, ack.Append(nil)))
	w.stub(Stub{})
	w.put(w.lines[0])
	return w
}

// TestBookMixed says what is found in the mixed book.
func TestBookMixed(t *testing.T) {
	r := mixed(t).report()
	want := []struct {
		kind     Kind
		problems []Code
		breaches []Code
	}{
		{KindSlip, nil, nil},
		{KindStub, nil, nil},
		{KindStub, nil, nil},
		{KindUnreadable, []Code{CodeNotJSON}, nil},
		{KindUnreadable, []Code{CodeUnknownEntry}, nil},
		{KindUnreadable, []Code{CodeLineNotCanonical}, nil},
		{KindRefusal, nil, nil},
		{KindStub, []Code{CodeSignatureInvalid}, nil},
		{KindStub, nil, nil},
		{KindStub, nil, nil},
		{KindStub, nil, nil},
		{KindStub, nil, []Code{CodeOverCountLimit}},
		{KindVouching, nil, nil},
		{KindWithdrawal, nil, nil},
		{KindCancellation, nil, nil},
		{KindAcknowledgement, nil, nil},
		{KindStub, nil, []Code{CodeOverCountLimit, CodeAfterCancellation}},
		{KindSlip, []Code{CodeDuplicateSlip}, nil},
	}
	if len(r.Entries) != len(want) {
		t.Fatalf("%d entries", len(r.Entries))
	}
	for i, e := range r.Entries {
		if e.Kind != want[i].kind || !same(e.Problems, want[i].problems...) || !same(e.Breaches, want[i].breaches...) {
			t.Errorf("entry %d: %s %v %v, want %v", i, e.Kind, codes(e.Problems), codes(e.Breaches), want[i])
		}
	}
	if r.Entries[6].Service != "guard" || r.Entries[2].Approval != StateValid {
		t.Errorf("refusal by %q, approval %s", r.Entries[6].Service, r.Entries[2].Approval)
	}
	s := r.Summary
	if s.Intact || s.FullyChecked || s.WithinSlips || s.FirstBreach != 11 || len(s.NotChecked) != 1 {
		t.Errorf("summary %+v", s)
	}
}

// TestBookBounds: what a whole book is refused for.
func TestBookBounds(t *testing.T) {
	w := newScene(t)
	slip := w.sign(w.plain())
	for name, tt := range map[string]struct {
		book  string
		whole []Code
		entry []Code // of the last entry
	}{
		"empty":            {"", []Code{CodeNotJSON}, nil},
		"a line feed":      {"\n", nil, []Code{CodeNotJSON}},
		"an empty line":    {string(slip) + "\n\n", nil, []Code{CodeNotJSON}},
		"a mark":           {"\xef\xbb\xbf" + string(slip) + "\n", nil, []Code{CodeNotJSON}},
		"CR LF":            {string(slip) + "\r\n", nil, []Code{CodeLineNotCanonical}},
		"no last LF":       {string(slip), nil, nil},
		"with last LF":     {string(slip) + "\n", nil, nil},
		"bad UTF-8":        {"{\"slip\":\"\xff\"}\n", nil, []Code{CodeNotJSON}},
		"a name twice":     {`{"slip":1,"slip":1}`, nil, []Code{CodeLineNotCanonical}},
		"a list":           {`[1]`, nil, []Code{CodeUnknownEntry}},
		"too many members": {`{"approval":1,"countersignature":1,"stub":1,"x":1}`, nil, []Code{CodeUnknownEntry}},
		"stamps on a stub": {`{"stamps":["x"],"stub":1}`, nil, []Code{CodeUnknownEntry}},
		"the longest line": {`"` + strings.Repeat("a", MaxLine-2) + `"`, nil, []Code{CodeUnknownEntry}},
		"a longer line":    {`"` + strings.Repeat("a", MaxLine-1) + `"`, nil, []Code{CodeTooLarge}},
		"a far longer one": {strings.Repeat("a", 3*MaxLine), nil, []Code{CodeTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := VerifyBook(strings.NewReader(tt.book), w.options())
			if err != nil {
				t.Fatal(err)
			}
			if !same(r.Problems, tt.whole...) {
				t.Errorf("whole: %v", r.Problems)
			}
			if len(r.Entries) > 0 && !same(r.Entries[len(r.Entries)-1].Problems, tt.entry...) {
				t.Errorf("entry: %v", r.Entries[len(r.Entries)-1].Problems)
			}
			var leaves []Hash
			for l := range strings.SplitSeq(strings.TrimSuffix(tt.book, "\n"), "\n") {
				leaves = append(leaves, LeafHash([]byte(l)))
			}
			if tt.book == "" {
				leaves = nil
			}
			if r.Root != Root(leaves).String() || r.Size != len(leaves) {
				t.Errorf("root %s of %d, want that of %d leaves", r.Root, r.Size, len(leaves))
			}
			if fine := len(tt.whole)+len(tt.entry) == 0; r.Summary.Intact != fine {
				t.Errorf("intact: %v", r.Summary.Intact)
			}
		})
	}
}

// TestBookEveryByte changes every byte of one book, one at a time: none is left
// intact.
func TestBookEveryByte(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	w.countersigned(Stub{Details: []Detail{{"arguments", fingerprintOf("{}")}}})
	book := bookOf(w.lines)
	stride := 1
	if testing.Short() {
		stride = 101
	}
	o := w.options()
	o.SummaryOnly, o.Workers = true, 1
	var wg sync.WaitGroup
	for half := range 2 {
		wg.Go(func() {
			altered := bytes.Clone(book)
			for i := half * stride; i < len(book); i += 2 * stride {
				altered[i] ^= 1
				r, err := VerifyBook(bytes.NewReader(altered), o)
				if err != nil || r.Summary.Intact || !r.Summary.ProblemFound {
					t.Errorf("byte %d of %d changed: %+v", i, len(book), r.Summary)
				}
				altered[i] = book[i]
			}
		})
	}
	wg.Wait()
	if r, err := VerifyBook(bytes.NewReader(book), o); err != nil || !r.Summary.Intact {
		t.Errorf("the book itself: %v", r.Problems)
	}
}

// TestBookExpected: the root does not fix the size, so both are compared.
func TestBookExpected(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	w.stub(Stub{})
	root := w.report().Root
	for name, tt := range map[string]struct {
		root string
		size int
		want []Code
	}{
		"both":         {root, 2, nil},
		"other root":   {fingerprintOf("x"), 2, []Code{CodeRootMismatch}},
		"other size":   {root, 3, []Code{CodeRootMismatch}},
		"size unsaid":  {root, -1, nil},
		"size alone":   {"", 2, nil},
		"cut off":      {"", 3, []Code{CodeRootMismatch}},
		"both differ":  {fingerprintOf("x"), 1, []Code{CodeRootMismatch, CodeRootMismatch}},
		"root of none": {root, 0, []Code{CodeRootMismatch}},
	} {
		o := w.options()
		o.ExpectedRoot, o.ExpectedSize = tt.root, tt.size
		r, err := VerifyBook(bytes.NewReader(bookOf(w.lines)), o)
		if err != nil || !same(r.Problems, tt.want...) || r.Summary.Intact != (len(tt.want) == 0) {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

// TestBookFull: entries past the most there may be are not read, and that is said.
func TestBookFull(t *testing.T) {
	o := CheckOptions{SummaryOnly: true}
	r, err := VerifyBook(bytes.NewReader(bytes.Repeat([]byte("1\n"), MaxEntries+1)), o)
	if err != nil || r.Size != MaxEntries || !same(r.Problems, CodeTooLarge) {
		t.Errorf("%d entries, %v", r.Size, r.Problems)
	}
	r, err = VerifyBook(bytes.NewReader(bytes.Repeat([]byte("1\n"), MaxEntries)), o)
	if err != nil || r.Size != MaxEntries || len(r.Problems) > 0 {
		t.Errorf("%d entries, %v", r.Size, r.Problems)
	}
}
