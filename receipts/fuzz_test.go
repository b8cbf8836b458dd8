package receipts_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/ijson"
	. "countersign/receipts"
)

// seeds are the published lines, and one line of each kind made here.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "vectors", "signed", "*-s*.json"))
	if err != nil || len(names) < 6 {
		t.Fatalf("the published records are missing: %d, %v", len(names), err)
	}
	var out [][]byte
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.TrimSuffix(b, []byte("\n")))
	}
	w := mixed(t)
	w.putPass(w.agent, w.hand(nil))
	terms := Terms{ID: w.id(), By: By{Keys: w.guard.Keys(), Name: "G"}, Accepts: []string{"work"}, ValidFrom: 0, ValidUntil: 1}
	w.put(w.record(KindTerms, w.guard, terms.Append(nil)))
	return append(out, w.lines...)
}

// payloads are the contents of the seeds, by kind.
func payloads(t testing.TB) map[Kind][][]byte {
	t.Helper()
	out := make(map[Kind][][]byte)
	for _, line := range seeds(t) {
		d, err := ijson.Parse(line, ijson.Options{})
		if err != nil {
			continue
		}
		for name, v := range d.Root().Members() {
			if p, err := DecodeBase64url(v.Member("payload").Bytes(nil)); err == nil && len(p) > 0 {
				out[Kind(name.Text())] = append(out[Kind(name.Text())], p)
			}
		}
	}
	return out
}

// TestSeeds fails if there is nothing to begin fuzzing with.
func TestSeeds(t *testing.T) {
	got := payloads(t)
	for _, k := range []Kind{KindSlip, KindStub, KindCountersignature, KindApproval, KindCancellation, KindAcknowledgement,
		KindRefusal, KindTerms, KindPass, KindVouching, KindWithdrawal} {
		if len(got[k]) == 0 {
			t.Errorf("no seed of kind %s", k)
		}
	}
}

// content reads content of any kind and writes it again.
func content(payload []byte) (again []byte, read bool) {
	type appender interface{ Append([]byte) []byte }
	take := func(a appender, err error) bool {
		if err == nil {
			again, read = a.Append(nil), true
		}
		return err == nil
	}
	if s, err := ReadSlip(payload); take(s, err) {
		return
	}
	if s, err := ReadStub(payload); take(s, err) {
		return
	}
	if s, err := ReadCountersignature(payload); take(s, err) {
		return
	}
	if s, err := ReadApproval(payload); take(s, err) {
		return
	}
	if s, err := ReadCancellation(payload); take(s, err) {
		return
	}
	if s, err := ReadAcknowledgement(payload); take(s, err) {
		return
	}
	if s, err := ReadRefusal(payload); take(s, err) {
		return
	}
	if s, err := ReadTerms(payload); take(s, err) {
		return
	}
	if s, err := ReadPass(payload); take(s, err) {
		return
	}
	if s, err := ReadVouching(payload); take(s, err) {
		return
	}
	if s, err := ReadWithdrawal(payload); take(s, err) {
		return
	}
	if s, err := ReadSeal(payload); take(s, err) {
		return
	}
	if s, err := ReadDenial(payload); take(s, err) {
		return
	}
	return nil, false
}

// FuzzContent: what is read as content of any kind is written again as the same
// bytes: there is one spelling of one content.
func FuzzContent(f *testing.F) {
	for _, list := range payloads(f) {
		for _, p := range list {
			f.Add(p)
		}
	}
	seal := Seal{ID: "AgICAgICAgICAgICAgICAg", Size: 1, Root: fingerprintOf("x"), By: By{Name: "R"}}
	denial := Denial{ID: "AgICAgICAgICAgICAgICAg", Slip: fingerprintOf("s"), By: "rule", Code: "condition", With: "g", Details: []Detail{{"a", fingerprintOf("x")}}}
	f.Add(seal.Append(nil))
	f.Add(denial.Append(nil))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if again, ok := content(payload); ok && !bytes.Equal(again, payload) {
			t.Errorf("read %q\nwrote %q", payload, again)
		}
	})
}

// FuzzLine: no line of a book makes the checker fail or be changed by trying, and
// one that is not what it was is never intact.
func FuzzLine(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add([]byte(`{"seal":{"payload":"","signatures":[]},"stamps":[{}]}`))
	slip := signedLine(f, "office-slip")
	known := make(map[string]bool) // some of them are sound under any slip, signed as they are
	for _, s := range seeds(f) {
		known[string(s)] = true
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c := NewChecker(CheckOptions{IssuerKeys: []string{officeIssuer}})
		c.Add(slip)
		e := c.Add(line)
		if !known[string(line)] && len(e.Problems) == 0 {
			t.Errorf("%.200q is sound", line)
		}
		if len(e.Problems) > 0 && c.Result().Summary.Intact {
			t.Errorf("%.200q is intact", line)
		}
		r, err := VerifyBook(bytes.NewReader(append(append(bytes.Clone(slip), '\n'), line...)), CheckOptions{IssuerKeys: []string{officeIssuer}, Workers: 2})
		if err != nil || !bytes.ContainsRune(line, '\n') && len(line) > 0 && r.Root != c.Root() {
			t.Errorf("%.200q: as a book: %v", line, err)
		}
	})
}

// FuzzBase64url: what is decoded is encoded again as the same text, and nothing
// that a plain decoder takes differently is accepted.
func FuzzBase64url(f *testing.F) {
	for _, s := range []string{"", "AQ", "AR", "A\nQ", "AQ\r\n", "AQ==", " AQ", "-_-_", "AAA", "A"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := DecodeBase64url(text)
		if err == nil && EncodeBase64url(b) != string(text) {
			t.Errorf("%q decoded, and encoded as %q", text, EncodeBase64url(b))
		}
		if err != nil {
			if plain, err := unpadded.DecodeString(string(text)); err == nil && unpadded.EncodeToString(plain) == string(text) {
				t.Errorf("%q is refused", text)
			}
		}
	})
}

// FuzzECDSA: a signature that is read is the one DER spelling of its two numbers.
func FuzzECDSA(f *testing.F) {
	f.Add([]byte{0x30, 6, 2, 1, 1, 2, 1, 2})
	f.Add([]byte{0x30, 8, 2, 2, 0, 0x80, 2, 2, 0, 0x81})
	f.Fuzz(func(t *testing.T, der []byte) {
		raw, err := ECDSAFromDER(der)
		if err != nil {
			return
		}
		integer := func(b []byte) []byte {
			b = bytes.TrimLeft(b, "\x00")
			if b[0]&0x80 != 0 {
				b = append([]byte{0}, b...)
			}
			return append([]byte{2, byte(len(b))}, b...)
		}
		body := append(integer(raw[:32]), integer(raw[32:])...)
		if again := append([]byte{0x30, byte(len(body))}, body...); !bytes.Equal(again, der) {
			t.Errorf("%x read as %x", der, again)
		}
	})
}

// FuzzDisclosure: no disclosure makes a slip fail or reveals what it does not
// cover.
func FuzzDisclosure(f *testing.F) {
	w := newScene(f)
	s := w.plain()
	s.Issuer = w.passkey.Issuer()
	name, shown, err := Cover("name", "Agent", w.random)
	w.check(err)
	s.Agent.Name = name
	payload := s.Append(nil)
	f.Add(shown)
	f.Add(EncodeBase64url([]byte(`["s","...","x"]`)))
	f.Fuzz(func(t *testing.T, d string) {
		got, err := ReadSlip(payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Reveal([]string{d}); (err == nil) != (d == shown) || err != nil && got.Agent.Name.Text != "" {
			t.Errorf("%q: %v, %q", d, err, got.Agent.Name.Text)
		}
	})
}

// FuzzTime: a time that is read is written again as the same text.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-10-05T09:00:00Z", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-10-05t09:00:00z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, ok := ParseTime(s); ok && at.String() != s {
			t.Errorf("%q read as %s", s, at)
		}
	})
}

// FuzzKeyFile: a key file that is read is the one text of its two seeds.
func FuzzKeyFile(f *testing.F) {
	good := `{"Ed25519":"` + fingerprintOf("a") + `","ML-DSA-87":"` + fingerprintOf("b") + `","type":"countersign.keys.v0"}` + "\n"
	f.Add([]byte(good))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ed, ml, err := ReadSeeds(text)
		if err != nil {
			return
		}
		again := `{"Ed25519":"` + EncodeBase64url(ed[:]) + `","ML-DSA-87":"` + EncodeBase64url(ml[:]) + `","type":"countersign.keys.v0"}` + "\n"
		if again != string(text) {
			t.Errorf("another text of the same seeds is read")
		}
	})
}

// FuzzKeySet: a key set that is read is written again as the same bytes.
func FuzzKeySet(f *testing.F) {
	f.Add(newScene(f).agent.Keys().Append(nil))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if set, err := ReadKeySet(text); err == nil && !bytes.Equal(set.Append(nil), text) {
			t.Errorf("read %q, wrote %q", text, set.Append(nil))
		}
	})
}

// FuzzPasskey: no answer of a passkey but its own is taken for a slip.
func FuzzPasskey(f *testing.F) {
	line := signedLine(f, "site-slip")
	d, err := ijson.Parse(line, ijson.Options{})
	if err != nil {
		f.Fatal(err)
	}
	part := func(pointer string) []byte {
		v, err := d.Root().Pointer(pointer)
		if err != nil {
			f.Fatal(err)
		}
		b, err := DecodeBase64url(v.Bytes(nil))
		if err != nil {
			f.Fatal(pointer, err)
		}
		return b
	}
	payload := part("/slip/payload")
	auth, client := part("/slip/signatures/0/header/authenticatorData"), part("/slip/signatures/0/header/clientDataJSON")
	signature := part("/slip/signatures/0/signature")
	if !bytes.Contains(line, PasskeyRecord(payload, auth, client, signature)) {
		f.Fatal("put together again, the record differs")
	}
	f.Add(auth, client, signature)
	f.Fuzz(func(t *testing.T, a, c, s []byte) {
		_, err := NewSlipCheck(nil).Check(PasskeyRecord(payload, a, c, s))
		if own := bytes.Equal(a, auth) && bytes.Equal(c, client) && bytes.Equal(s, signature); (err == nil) != own {
			t.Errorf("%q %q %x: %v", a, c, s, err)
		}
	})
}

// FuzzDenials: no file of denials makes the check fail, and none but a signed one
// is sound.
func FuzzDenials(f *testing.F) {
	w := newScene(f)
	d := Denial{ID: w.id(), Slip: fingerprintOf("s"), By: "settings", With: "guard", Code: "schema", When: w.now, Details: []Detail{{"arguments", fingerprintOf("{}")}}}
	line := w.record(KindDenial, w.agent, d.Append(nil))
	f.Add(line)
	f.Add(append(append(bytes.Clone(line), '\n'), line...))
	keys := func(string) (KeySet, bool) { return w.agent.Keys(), true }
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := VerifyDenials(bytes.NewReader(file), DeniedBook{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if len(e.Problems) == 0 && !bytes.Contains(file, line) {
				t.Errorf("%.200q is sound", file)
			}
		}
	})
}
