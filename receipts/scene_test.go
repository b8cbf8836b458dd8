package receipts_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"testing"
	"time"

	. "countersign/receipts"
)

// counting is a source of "randomness" that never gives the same bytes twice, and
// gives the same ones in every run.
type counting struct{ n uint64 }

func (c *counting) Read(b []byte) (int, error) {
	for i := 0; i < len(b); {
		c.n++
		var in [8]byte
		binary.BigEndian.PutUint64(in[:], c.n)
		sum := sha256.Sum256(in[:])
		i += copy(b[i:], sum[:])
	}
	return len(b), nil
}

func fingerprintOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// scene is a person, an agent and a guard that countersigns, and the book they
// fill.
type scene struct {
	t       testing.TB
	random  *counting
	passkey *DevelopmentPasskey
	agent   *Signer
	guard   *Signer
	slip    string // fingerprint
	now     Time
	chains  map[string]*link
	lines   [][]byte

	first      *Slip
	saved      []byte // an approval's record
	savedPrint string
}

// slipID is the id of the slip signed first.
func (w *scene) slipID() string { return w.first.ID }

type link struct {
	seq      int64
	previous string
}

const (
	origin = "http://localhost:8797"
	hour   = 3600
)

// signers are made once: an ML-DSA key takes a while.
func sceneSigner(t testing.TB, random *counting) *Signer {
	t.Helper()
	var a, b [32]byte
	random.Read(a[:])
	random.Read(b[:])
	s, err := NewSigner(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newScene(t testing.TB) *scene {
	t.Helper()
	w := &scene{t: t, random: new(counting), chains: make(map[string]*link)}
	w.now = TimeOf(time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC))
	w.agent, w.guard = sceneSigner(t, w.random), sceneSigner(t, w.random)
	var err error
	if w.passkey, err = NewDevelopmentPasskey("Sam Example", origin, w.random); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *scene) id() string {
	id, err := NewID(w.random)
	w.check(err)
	return id
}

func (w *scene) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// plain is a slip that allows "work" and "provared.order.place" for a day.
func (w *scene) plain() *Slip {
	return &Slip{
		ID:         w.id(),
		Agent:      Agent{Keys: w.agent.Keys(), Name: Covered{Text: "Agent"}},
		Actions:    []string{"work", "provared.order.place"},
		With:       []Service{{ID: "guard", Name: Covered{Text: "Guard"}, Keys: w.guard.Keys()}, {ID: "mute", Name: Covered{Text: "No keys"}}},
		ValidFrom:  w.now - hour,
		ValidUntil: w.now + 24*hour,
		Purpose:    Covered{Text: "tests"},
	}
}

// sign signs a slip and puts it into the book.
func (w *scene) sign(s *Slip) []byte {
	w.t.Helper()
	record, err := w.passkey.SignSlip(s)
	w.check(err)
	if w.first == nil {
		w.first = s
	}
	w.slip = Fingerprint(s.Append(nil))
	return w.put(AppendLine(nil, KindSlip, record))
}

func (w *scene) put(line []byte) []byte {
	w.lines = append(w.lines, line)
	return line
}

// place fills in what a stub of a chain needs, and moves the chain on.
func (w *scene) place(s *Stub) *Stub {
	key := w.slip + s.Pass
	l := w.chains[key]
	if l == nil {
		l = new(link)
		w.chains[key] = l
	}
	if s.ID == "" {
		s.ID = w.id()
	}
	if s.When == 0 {
		s.When = w.now
	}
	if s.Action == "" {
		s.Action = "work"
	}
	s.Slip, s.Seq, s.Previous = w.slip, l.seq, l.previous
	l.seq++
	l.previous = Fingerprint(s.Append(nil))
	return s
}

// stub signs a stub as the agent and puts its line into the book.
func (w *scene) stub(s Stub) []byte {
	w.t.Helper()
	return w.put(w.line(w.place(&s), w.agent, false, nil))
}

// countersigned is stub with the guard's countersignature.
func (w *scene) countersigned(s Stub) []byte {
	w.t.Helper()
	if s.With == "" {
		s.With = "guard"
	}
	return w.put(w.line(w.place(&s), w.agent, true, nil))
}

func (w *scene) line(s *Stub, by *Signer, countersign bool, approval []byte) []byte {
	w.t.Helper()
	payload := s.Append(nil)
	record, err := by.Sign(KindStub, payload)
	w.check(err)
	var counter []byte
	if countersign {
		c := Countersignature{Stub: Fingerprint(payload), When: s.When}
		counter, err = w.guard.Sign(KindCountersignature, c.Append(nil))
		w.check(err)
	}
	return AppendStubLine(nil, record, counter, approval)
}

// approve makes an approval of what a stub asks for.
func (w *scene) approve(s *Stub) (record []byte, fingerprint string) {
	w.t.Helper()
	a := Approval{ID: w.id(), Slip: w.slip, Action: s.Action, When: s.When, Amount: s.Amount, With: s.With, Details: s.Details}
	record, err := w.passkey.SignApproval(&a)
	w.check(err)
	return record, Fingerprint(a.Append(nil))
}

// record signs content with two keys and gives its line.
func (w *scene) record(kind Kind, by *Signer, payload []byte) []byte {
	w.t.Helper()
	r, err := by.Sign(kind, payload)
	w.check(err)
	return AppendLine(nil, kind, r)
}

func (w *scene) options() CheckOptions {
	return CheckOptions{IssuerKeys: []string{w.passkey.Issuer().Key.Thumbprint()}}
}

// read gives every line of the book to a new checker.
func (w *scene) read() *Checker {
	w.t.Helper()
	c := NewChecker(w.options())
	for _, l := range w.lines {
		c.Add(l)
	}
	return c
}

func (w *scene) report() Report { w.t.Helper(); return w.read().Result() }

// last is the entry of the last line.
func (w *scene) last() *Entry {
	w.t.Helper()
	r := w.report()
	return r.Entries[len(r.Entries)-1]
}
