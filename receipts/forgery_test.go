package receipts_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"math/big"
	"slices"
	"strings"
	"testing"

	. "countersign/receipts"
)

// weakSignature signs with the neutral point for R: the standard library takes it for
// a signature of the key's, and its holder can make any number of others that share
// that R.
func weakSignature(key ed25519.PrivateKey, msg []byte) []byte {
	le := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	digest := sha512.Sum512(key.Seed())
	digest[0] &= 248
	digest[31] = digest[31]&63 | 64
	r := append([]byte{1}, make([]byte, 31)...)
	h := sha512.Sum512(slices.Concat(r, key.Public().(ed25519.PublicKey), msg))
	s := new(big.Int).Mul(le(h[:]), le(digest[:32]))
	out := s.Mod(s, order).FillBytes(make([]byte, 32))
	slices.Reverse(out)
	return append(r, out...)
}

// A signature whose R is of small order is none, whatever the key: in a record and on
// a ledger's line.
func TestWeakR(t *testing.T) {
	seed := [32]byte{7}
	key := ed25519.NewKeyFromSeed(seed[:])
	w := newScene(t)
	var err error
	if w.agent, err = NewSigner(seed, [32]byte{8}); err != nil {
		t.Fatal(err)
	}
	w.sign(w.plain())
	line := string(w.stub(Stub{}))
	if e := w.last(); len(e.Problems) > 0 {
		t.Fatal(e.Problems)
	}
	_, rest, _ := strings.Cut(line, `"payload":"`)
	payload, rest, _ := strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, `"protected":"`)
	protected, rest, _ := strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, `"signature":"`)
	signature, _, _ := strings.Cut(rest, `"`)
	msg := []byte(protected + "." + payload)
	weak := weakSignature(key, msg)
	if !ed25519.Verify(key.Public().(ed25519.PublicKey), msg, weak) {
		t.Fatal("the standard library does not take the signature, so nothing is shown")
	}
	w.lines[1] = []byte(strings.Replace(line, signature, EncodeBase64url(weak), 1))
	if e := w.last(); !same(e.Problems, CodeSignatureInvalid) || e.Verified != VerifiedSome || w.report().Summary.Intact {
		t.Errorf("a record: %v %s", e.Problems, e.Verified)
	}

	ledgerKey := NewLedgerKey(seed)
	open := Line{At: lineTime, Kind: LineOpen, Body: &OpenLine{Agent: "files", Key: ledgerKey.PublicText(), Service: "guard", Settings: lineDig, Version: "0.1.0"}}
	signed, unsigned := string(WriteLine(open, key)), WriteLine(open, nil)
	if weak = weakSignature(key, unsigned); !ed25519.Verify(ledgerKey.Public(), unsigned, weak) {
		t.Fatal("the standard library does not take the signature, so nothing is shown")
	}
	_, rest, _ = strings.Cut(signed, `"sig":"`)
	signature, _, _ = strings.Cut(rest, `"`)
	for want, text := range map[bool]string{true: signed, false: strings.Replace(signed, signature, EncodeBase64url(weak), 1)} {
		r, err := VerifyLedger(strings.NewReader(text+"\n"), LedgerOptions{PublicKey: ledgerKey.Public()})
		if err != nil || r.Sound() != want {
			t.Errorf("a ledger's line: %s %v, want sound %v", r.Summary(), err, want)
		}
	}
}

// Weak keys in all their spellings: the sign bit, and y of the prime and more.
func TestWeakKeys(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	hex := func(s string) *big.Int { n, _ := new(big.Int).SetString(s, 16); return n }
	weak := []*big.Int{big.NewInt(0), big.NewInt(1), new(big.Int).Sub(p, big.NewInt(1)), p,
		new(big.Int).Add(p, big.NewInt(1)), new(big.Int).Add(p, big.NewInt(18)),
		hex("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7"),
		hex("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826")}
	strong := []*big.Int{big.NewInt(2), big.NewInt(3), new(big.Int).Sub(p, big.NewInt(2)), new(big.Int).Add(weak[6], big.NewInt(1)),
		new(big.Int).Lsh(big.NewInt(1), 248), new(big.Int).Add(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 100))}
	for _, sign := range []byte{0, 0x80} {
		for i, y := range append(slices.Clone(weak), strong...) {
			b := y.FillBytes(make([]byte, 32))
			slices.Reverse(b)
			b[31] |= sign
			_, err := NewEd25519Key(b)
			if want := i < len(weak); (CodeOf(err) == CodeBadKey) != want || WeakEd25519(b) != want {
				t.Errorf("y %x, sign %x: %v, want it weak: %v", y, sign, err, want)
			}
		}
	}
}

// What is put together from sound parts is not sound.
func TestForgedBooks(t *testing.T) {
	// signatures gives the texts of a line's signatures, in order.
	signatures := func(line []byte) []string {
		var out []string
		for _, part := range strings.Split(string(line), `"signature":"`)[1:] {
			text, _, _ := strings.Cut(part, `"`)
			out = append(out, text)
		}
		return out
	}
	swap := func(line []byte, from, to string) []byte { return bytes.Replace(line, []byte(from), []byte(to), 1) }
	for name, tt := range map[string]struct {
		make func(w *scene)
		want []Code // of the last entry
	}{
		"two slips with one id": {func(w *scene) {
			s := w.plain()
			s.ID = w.slipID()
			s.Purpose.Text = "another purpose"
			w.sign(s)
		}, []Code{CodeDuplicateID}},
		"a stub under a slip whose id was there": {func(w *scene) {
			s := w.plain()
			s.ID = w.slipID()
			s.Purpose.Text = "another purpose"
			w.sign(s)
			w.stub(Stub{})
		}, []Code{CodeSlipUnusable}},
		"the same slip again": {func(w *scene) { w.put(w.lines[0]) }, []Code{CodeDuplicateSlip}},
		"the same receipt again": {func(w *scene) {
			w.countersigned(Stub{})
			w.put(w.lines[1])
		}, []Code{CodeDuplicateID, CodeChainBroken}},
		"a receipt of another book": {func(w *scene) {
			o := newScene(w.t)
			o.random.n = 1 << 32
			o.agent, o.guard = w.agent, w.guard
			o.sign(o.plain())
			w.put(o.stub(Stub{}))
		}, []Code{CodeSlipMissing}},
		"a receipt before its slip": {func(w *scene) {
			w.stub(Stub{})
			w.lines = [][]byte{w.lines[1]}
		}, []Code{CodeSlipMissing}},
		"two receipts exchanged": {func(w *scene) {
			w.stub(Stub{})
			w.stub(Stub{})
			w.lines[1], w.lines[2] = w.lines[2], w.lines[1]
			w.lines = w.lines[:2]
		}, []Code{CodeChainBroken}},
		"another stub's first signature": {func(w *scene) {
			a := w.stub(Stub{})
			b := w.stub(Stub{})
			w.lines[2] = swap(b, signatures(b)[0], signatures(a)[0])
		}, []Code{CodeSignatureInvalid}},
		"another stub's second signature": {func(w *scene) {
			a := w.stub(Stub{})
			b := w.stub(Stub{})
			w.lines[2] = swap(b, signatures(b)[1], signatures(a)[1])
		}, []Code{CodeSignatureInvalid}},
		"the first signature twice": {func(w *scene) {
			a := w.stub(Stub{})
			w.lines[1] = swap(a, signatures(a)[1], signatures(a)[0])
		}, []Code{CodeSignatureInvalid}},
		"an empty signature": {func(w *scene) {
			a := w.stub(Stub{})
			w.lines[1] = swap(a, signatures(a)[1], "")
		}, []Code{CodeSignatureInvalid}},
		"a byte behind a signature": {func(w *scene) {
			a := w.stub(Stub{})
			b, err := DecodeBase64url([]byte(signatures(a)[0]))
			w.check(err)
			w.lines[1] = swap(a, signatures(a)[0], EncodeBase64url(append(b, 0)))
		}, []Code{CodeSignatureInvalid}},
		"a countersignature of the stub before": {func(w *scene) {
			a := w.countersigned(Stub{})
			b := w.countersigned(Stub{})
			cut := func(line []byte) string {
				text, _, _ := strings.Cut(string(line), `,"stub":`)
				return text
			}
			w.lines[2] = swap(b, cut(b), cut(a))
		}, []Code{CodeCountersignatureWrongStub}},
		"a stub's id that is an approval's": {func(w *scene) {
			s := w.place(&Stub{})
			a := Approval{ID: w.id(), Slip: w.slip, Action: s.Action, When: s.When}
			record, err := w.passkey.SignApproval(&a)
			w.check(err)
			s.Approval = Fingerprint(a.Append(nil))
			w.chains[w.slip].previous = Fingerprint(s.Append(nil))
			w.put(w.line(s, w.agent, false, record))
			w.stub(Stub{ID: a.ID})
		}, []Code{CodeDuplicateID}},
		"a refusal's id that is a stub's": {func(w *scene) {
			id := w.id()
			w.stub(Stub{ID: id})
			r := Refusal{ID: id, Slip: w.slip, By: By{Keys: w.guard.Keys(), Name: "Guard"}, Action: "work", Reason: "other", When: w.now}
			w.put(w.record(KindRefusal, w.guard, r.Append(nil)))
		}, []Code{CodeDuplicateID}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			w.sign(w.plain())
			tt.make(w)
			r := w.report()
			if e := r.Entries[len(r.Entries)-1]; !same(e.Problems, tt.want...) || e.Compared {
				t.Errorf("%v, want %v", e.Problems, tt.want)
			}
			if r.Summary.Intact || r.Summary.WithinSlips || !r.Summary.ProblemFound {
				t.Errorf("%+v", r.Summary)
			}
			// The same with signatures checked beforehand, on all cores.
			whole, err := VerifyBook(bytes.NewReader(bookOf(w.lines)), w.options())
			if err != nil || whole.Summary.Intact || !same(whole.Entries[len(r.Entries)-1].Problems, tt.want...) {
				t.Errorf("a whole book: %v %v", whole.Entries[len(r.Entries)-1].Problems, err)
			}
		})
	}
}

// What the checker cannot check is never intact, and stands named in the report:
// stamps, a vouching's names, a seal's third signature. A sound record beside them
// does not make up for it, nor does a withdrawal.
func TestNotCheckedIsNeverIntact(t *testing.T) {
	by := func(s *Signer) By { return By{Keys: s.Keys(), Name: "Org"} }
	for name, tt := range map[string]struct {
		make   func(w *scene)
		checks string
		method Method
	}{
		"a stamped cancellation": {func(w *scene) {
			record, err := w.passkey.SignCancellation(&Cancellation{ID: w.id(), Slip: w.slip, When: w.now})
			w.check(err)
			w.put(slices.Concat([]byte(`{"cancellation":`), record, []byte(`,"stamps":["AAAA"]}`)))
		}, "stamps", ""},
		"a vouching": {func(w *scene) {
			v := Vouching{ID: w.id(), By: by(w.guard), For: Vouched{Kind: "agent", Keys: w.agent.Keys(), Name: "Agent"}, ValidFrom: w.now, ValidUntil: w.now + 1, When: w.now}
			w.put(w.record(KindVouching, w.guard, v.Append(nil)))
		}, "names backed by a vouching", ""},
		"a vouching withdrawn": {func(w *scene) {
			v := Vouching{ID: w.id(), By: by(w.guard), For: Vouched{Kind: "agent", Keys: w.agent.Keys(), Name: "Agent"}, ValidFrom: w.now, ValidUntil: w.now + 1, When: w.now}
			w.put(w.record(KindVouching, w.guard, v.Append(nil)))
			x := Withdrawal{ID: w.id(), Vouching: Fingerprint(v.Append(nil)), When: w.now}
			w.put(w.record(KindWithdrawal, w.guard, x.Append(nil)))
		}, "names backed by a vouching", ""},
		"a seal": {func(w *scene) {
			third, err := ReadKeySetOf(SLHDSA256s)
			w.check(err)
			s := Seal{ID: w.id(), By: By{Keys: append(slices.Clone(w.guard.Keys()), third), Name: "Recorder"}, Size: 1, Root: w.read().Root(), When: w.now}
			w.put(AppendLine(nil, KindSeal, SealedBy(w.guard, s.Append(nil), 29792)))
		}, "", SLHDSA256s},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			w.sign(w.plain())
			tt.make(w)
			r := w.report()
			s := r.Summary
			if s.ProblemFound || s.Intact || s.FullyChecked {
				t.Errorf("%+v %v", s, r.Entries[len(r.Entries)-1].Problems)
			}
			if tt.checks != "" && !slices.Contains(s.NotChecked, tt.checks) || tt.method != "" && !slices.Contains(s.MethodsMissing, tt.method) {
				t.Errorf("what was not checked is not named: %v %v", s.NotChecked, s.MethodsMissing)
			}
			c := w.read()
			if a := c.Before(Proposal{Slip: w.slip, Action: "work", When: w.now}); a.Allowed || !same(a.Problems, CodeRecordNotSound) {
				t.Errorf("before acting: %+v", a)
			}
		})
	}
}
