package receipts_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"

	. "countersign/receipts"
)

// BenchmarkSlipCheck: a slip seen before against one never seen (performance
// target 14: at most 0.05).
func BenchmarkSlipCheck(b *testing.B) {
	w := newScene(b)
	record, err := w.passkey.SignSlip(w.plain())
	w.check(err)
	b.Run("uncached", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewSlipCheck(nil).Check(record); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		c := NewSlipCheck(nil)
		for b.Loop() {
			if _, err := c.Check(record); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// limited is a scene whose slip has every sort of limit on work.
func limited(b testing.TB) *scene {
	w := newScene(b)
	s := w.plain()
	s.ValidUntil += 365 * 24 * hour
	s.Limits = []Limit{
		{Action: "work", Kind: LimitMax, Bound: MaxInt, Unit: "GBP"}, {Action: "work", Kind: LimitEach, Bound: 100, Unit: "GBP"},
		{Action: "work", Kind: LimitCount, Bound: MaxInt}, {Action: "work", Kind: LimitMax, Per: 3600, Bound: MaxInt, Unit: "GBP"},
		{Action: "work", Kind: LimitCount, Per: 60, Bound: MaxInt},
	}
	s.Requires = []Condition{{Need: KindCountersignature}}
	w.sign(s)
	return w
}

// grown is a checker with so many stubs in its book.
func grown(b testing.TB, w *scene, n int) *Checker {
	o := w.options()
	o.SummaryOnly = true
	c := NewChecker(o)
	c.Add(w.lines[0])
	for range n {
		w.now++
		s := w.place(&Stub{With: "guard", Amount: gbp(1)})
		counter := Countersignature{Stub: Fingerprint(s.Append(nil)), When: w.now}
		e := c.AddOwn(AppendStubLine(nil, Unsigned(KindStub, s.Append(nil)), Unsigned(KindCountersignature, counter.Append(nil)), nil))
		if len(e.Problems)+len(e.Breaches) > 0 {
			b.Fatal(e.Problems, e.Breaches)
		}
	}
	return c
}

// BenchmarkBefore: the check before acting must not grow with the book.
func BenchmarkBefore(b *testing.B) {
	for name, n := range map[string]int{"10 stubs": 10, "1000 stubs": 1000, "20000 stubs": 20000} {
		b.Run(name, func(b *testing.B) {
			w := limited(b)
			c := grown(b, w, n)
			p := Proposal{Slip: w.slip, Action: "work", With: "guard", Amount: gbp(1), When: w.now,
				Details: []Detail{{"arguments", fingerprintOf("{}")}, {"provared.tool-name", fingerprintOf("t")}}}
			b.ReportAllocs()
			for b.Loop() {
				if a := c.Before(p); !a.Allowed {
					b.Fatal(a)
				}
			}
		})
	}
}

// BenchmarkTry reads a stub before it is signed.
func BenchmarkTry(b *testing.B) {
	w := limited(b)
	c := grown(b, w, 100)
	s := w.place(&Stub{With: "guard", Amount: gbp(1), Details: []Detail{{"arguments", fingerprintOf("{}")}}})
	b.ReportAllocs()
	for b.Loop() {
		if p := c.Try(s, nil); len(p) > 0 {
			b.Fatal(p)
		}
	}
}

// BenchmarkSign is one record of two signatures, of content that is never the same.
func BenchmarkSign(b *testing.B) {
	w := newScene(b)
	s := Stub{ID: w.id(), Slip: fingerprintOf("s"), Action: "work", When: w.now}
	for b.Loop() {
		s.Seq++
		if _, err := w.agent.Sign(KindStub, s.Append(nil)); err != nil {
			b.Fatal(err)
		}
	}
}

const benchStubs = 400

func benchBook(b *testing.B) (*scene, []byte) {
	w := limited(b)
	for range benchStubs {
		w.now++
		w.countersigned(Stub{Amount: gbp(1), Details: []Detail{
			{"arguments", fingerprintOf("{}")}, {"provared.tool-name", fingerprintOf("t")}, {"countersign.content-rules", fingerprintOf("r")}}})
	}
	return w, bookOf(w.lines)
}

// BenchmarkBook: a whole book against its signatures' own verification, both on all
// cores (performance target 15: at most 1.15).
func BenchmarkBook(b *testing.B) {
	w, book := benchBook(b)
	jobs := signatureJobs(b, w)
	b.Run("signatures alone", func(b *testing.B) {
		for b.Loop() {
			var wg sync.WaitGroup
			next := make(chan func() bool, len(jobs))
			for _, j := range jobs {
				next <- j
			}
			close(next)
			for range cores {
				wg.Go(func() {
					for j := range next {
						if !j() {
							b.Error("a signature does not fit")
						}
					}
				})
			}
			wg.Wait()
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if r, err := VerifyBook(bytes.NewReader(book), w.options()); err != nil || !r.Summary.Intact {
				b.Fatal(r.Problems, err)
			}
		}
	})
}

// cores is how many goroutines the floor uses; the machine of the written figures
// has two.
const cores = 2

// signatureJobs are the verifications a book needs, with everything else done
// beforehand: bytes cut out, keys expanded.
func signatureJobs(b *testing.B, w *scene) (jobs []func() bool) {
	type record struct {
		Payload    string
		Signatures []struct{ Protected, Signature string }
	}
	keys := func(s *Signer) (ed25519.PublicKey, *mldsa87.PublicKey) {
		var jwk []struct{ X, Pub string }
		w.check(json.Unmarshal(s.Keys().Append(nil), &jwk))
		x, _ := unpadded.DecodeString(jwk[0].X)
		pub, _ := unpadded.DecodeString(jwk[1].Pub)
		ml := new(mldsa87.PublicKey)
		w.check(ml.UnmarshalBinary(pub))
		return x, ml
	}
	for _, line := range w.lines[1:] {
		var records struct{ Stub, Countersignature record }
		w.check(json.Unmarshal(line, &records))
		for i, r := range []record{records.Stub, records.Countersignature} {
			ed, ml := keys([]*Signer{w.agent, w.guard}[i])
			a, _ := unpadded.DecodeString(r.Signatures[0].Signature)
			c, _ := unpadded.DecodeString(r.Signatures[1].Signature)
			first, second := []byte(r.Signatures[0].Protected+"."+r.Payload), []byte(r.Signatures[1].Protected+"."+r.Payload)
			jobs = append(jobs,
				func() bool { return ed25519.Verify(ed, first, a) },
				func() bool { return mldsa87.Verify(ml, second, nil, c) })
		}
	}
	return jobs
}

// BenchmarkAdd is one line, signatures and all, and one of one's own.
func BenchmarkAdd(b *testing.B) {
	w, _ := benchBook(b)
	for name, own := range map[string]bool{"checked": false, "own": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			c := w.read()
			i := 0
			for b.Loop() {
				if i%benchStubs == 0 {
					b.StopTimer()
					c = NewChecker(w.options())
					c.Add(w.lines[0])
					b.StartTimer()
				}
				add := c.Add
				if own {
					add = c.AddOwn
				}
				if e := add(w.lines[1+i%benchStubs]); len(e.Problems) > 0 {
					b.Fatal(e.Problems)
				}
				i++
			}
		})
	}
}

// BenchmarkCanonical is the reading of a line's JSON alone.
func BenchmarkCanonical(b *testing.B) {
	w := limited(b)
	line := w.countersigned(Stub{Amount: gbp(1)})
	if !strings.HasPrefix(string(line), `{"countersignature"`) {
		b.Fatal("another line")
	}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := ParseCanonical(line); err != nil {
			b.Fatal(err)
		}
	}
}
