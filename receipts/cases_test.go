package receipts_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"countersign/internal/ijson"
	. "countersign/receipts"
)

// TestSIG01: members are ordered by UTF-16 code units, not by bytes, and what
// needs no escape has none. A record in the order of bytes is refused; one in the
// right order verifies.
func TestSIG01(t *testing.T) {
	for _, tt := range []struct {
		in    string
		order []string
	}{
		{`{"\uFFFD":1,"\uD800\uDC00":2}`, []string{"\U00010000", "\uFFFD"}},
		{`{"\uFB33":1,"\uD83D\uDE02":2,"\u20AC":3,"1":4,"\r":5,"\u00F6":6,"\u0080":7}`,
			[]string{"\r", "1", "\u0080", "\u00F6", "\u20AC", "\U0001F602", "\uFB33"}},
	} {
		got, err := ijson.Canonical([]byte(tt.in), ijson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		d, err := ijson.Parse(got, ijson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name := range d.Root().Members() {
			names = append(names, name.Text())
		}
		if !slices.Equal(names, tt.order) {
			t.Errorf("%s: order %q", tt.in, names)
		}
		if _, err := ParseCanonical(got); err != nil {
			t.Errorf("%s: its canonical form is refused: %v", tt.in, err)
		}
		byBytes := slices.Sorted(slices.Values(tt.order))
		var b bytes.Buffer
		for i, n := range byBytes {
			b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
			b.Write(ijson.AppendString(nil, n))
			b.WriteString(":1")
		}
		b.WriteString("}")
		if _, err := ParseCanonical(b.Bytes()); CodeOf(err) != CodePayloadNotCanonical {
			t.Errorf("the order of bytes %q is accepted: %v", byBytes, err)
		}
	}
	if got, err := ijson.Canonical([]byte(`{"a":"<>&\u2028\u007F\/"}`), ijson.Options{}); err != nil || string(got) != "{\"a\":\"<>&\u2028\u007f/\"}" {
		t.Errorf("%s %v", got, err)
	}
	got, err := ijson.Canonical([]byte(`{"a":[1E30,4.50,0.002,1e-7,0.000001,1e21,1e20,-0.0,333333333.33333329]}`), ijson.Options{Doubles: true})
	if want := `{"a":[1e+30,4.5,0.002,1e-7,0.000001,1e+21,100000000000000000000,0,333333333.3333333]}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	// A signature over the right order verifies: the details' names hold both sorts.
	w := newScene(t)
	w.sign(w.plain())
	w.stub(Stub{Details: []Detail{{"\uFFFD \U00010000 <>&\u2028\u007F/", fingerprintOf("x")}}})
	if e := w.last(); len(e.Problems) > 0 {
		t.Error(e.Problems)
	}
}

// TestSIG02: an ECDSA signature has one spelling. The mirrored s is accepted, as
// WebAuthn does: what is single-use here goes by the id in the signed content.
func TestSIG02(t *testing.T) {
	const (
		message = "slip-0001"
		x       = "c8e051da4ef3f6f6027d8c4eff97c4d48e7f0e6a97807a1487d35f3aec68a39f"
		y       = "e7acf6a7c1616e2b12447dbb4d72dac56487428b70835ec369aaad60a5e22d1c"
	)
	half := func(s string) string {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return EncodeBase64url(b)
	}
	d, err := ijson.Parse([]byte(`{"alg":"ES256","crv":"P-256","kty":"EC","x":"`+half(x)+`","y":"`+half(y)+`"}`), ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(d.Root(), ES256)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		sig, kind string
		want      Code
	}{
		{"30450221009858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f02207d5925470877611be7734c1488a20e83158c1851cba1d527d0764b2eb940bfa6", "as signed, low s", ""},
		{"30460221009858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f02210082a6dab7f7889ee5188cb3eb775df17ca75ae25bdb75c95d23437f94432265ab", "high s", ""},
		{"30450221009858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f02207d5925470877611be7734c1488a20e83158c1851cba1d527d0764b2eb940bfa600", "byte after", CodePasskeyBadData},
		{"30470221009858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f02207d5925470877611be7734c1488a20e83158c1851cba1d527d0764b2eb940bfa60500", "extra element inside", CodePasskeyBadData},
		{"3081450221009858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f02207d5925470877611be7734c1488a20e83158c1851cba1d527d0764b2eb940bfa6", "long-form length", CodePasskeyBadData},
		{"9858d80274b69c92bab68d80b68f10f1ffcd4d6572eb332ab8dbae13ac7f797f7d5925470877611be7734c1488a20e83158c1851cba1d527d0764b2eb940bfa6", "raw r and s", CodePasskeyBadData},
		{"3006020100020100", "zeros", CodePasskeyBadData},
		{"", "empty", CodePasskeyBadData},
	} {
		sig, err := hex.DecodeString(tt.sig)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyPasskey(key, []byte(message), sig); CodeOf(err) != tt.want {
			t.Errorf("%s: got %v, want %q", tt.kind, err, tt.want)
		}
		if tt.want == "" && VerifyPasskey(key, []byte(message+"x"), sig) == nil {
			t.Errorf("%s: fits another message too", tt.kind)
		}
	}
}

// TestSIG03: one value has one text. Any spelling that decoding and encoding again
// does not give back is refused, wherever base64url stands.
func TestSIG03(t *testing.T) {
	for url, ok := range map[string]bool{"AQ": true, "AR": false, "A\nQ": false, "AQ\r\n": false, "AQ==": false, " AQ": false, "AQ=": false, "AQ ": false} {
		b, err := DecodeBase64url([]byte(url))
		if (err == nil) != ok || ok && EncodeBase64url(b) != url {
			t.Errorf("%q: %v", url, err)
		}
	}
	// The same in every field of a real record.
	line := signedLine(t, "office-stub-1")
	var records map[string]struct {
		Payload    string
		Signatures []struct{ Protected, Signature string }
	}
	if err := json.Unmarshal(line, &records); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, r := range records {
		for _, text := range []string{r.Payload, r.Signatures[0].Protected, r.Signatures[0].Signature, r.Signatures[1].Signature} {
			for _, other := range []string{text + "=", text + "==", text + `\n`, text + `\r\n`, " " + text, text[:4] + `\n` + text[4:], strayed(text)} {
				if other == text {
					continue // a text of whole groups has no stray bits
				}
				c := NewChecker(CheckOptions{})
				c.Add(signedLine(t, "office-slip"))
				e := c.Add([]byte(strings.Replace(string(line), `"`+text+`"`, `"`+other+`"`, 1)))
				if !same(e.Problems, CodeBadBase64url) && !same(e.Problems, CodeBadBase64url, CodeTermsNotFound) {
					t.Errorf("another spelling: %v", e.Problems)
				}
				tried++
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d spellings tried", tried)
	}
}

// strayed sets the lowest unused bit of a text's last character, where it has one.
func strayed(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(text)%4 == 0 {
		return text
	}
	last := strings.IndexByte(alphabet, text[len(text)-1])
	return text[:len(text)-1] + string(alphabet[last|1])
}

// TestSLIP01aChecker: a slip that allows one act allows it once.
func TestSLIP01aChecker(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1}}
	w.sign(s)
	c := w.read()
	p := Proposal{Slip: w.slip, Action: "work", When: w.now}
	if a := c.Before(p); !a.Allowed {
		t.Fatal(a)
	}
	release := c.Reserve(p)
	if a := c.Before(p); a.Allowed {
		t.Error("allowed again while the first is in flight")
	}
	release()
	c.Add(w.stub(Stub{}))
	if a := c.Before(p); !same(a.Breaches, CodeOverCountLimit) {
		t.Errorf("allowed again: %v", a)
	}
	// The same from the book alone, as after a restart.
	if a := w.read().Before(p); !same(a.Breaches, CodeOverCountLimit) {
		t.Errorf("allowed again after a restart: %v", a)
	}
}

// TestSLIP01eSlip: a slip's text that differs only in the spelling of its base64url is
// refused. It never begins a fresh count.
func TestSLIP01eSlip(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1}}
	line := string(w.sign(s))
	record := strings.TrimSuffix(strings.TrimPrefix(line, `{"slip":`), "}")
	var parsed struct {
		Payload    string
		Signatures []struct {
			Protected, Signature string
			Header               struct{ AuthenticatorData, ClientDataJSON string }
		}
	}
	if err := json.Unmarshal([]byte(record), &parsed); err != nil {
		t.Fatal(err)
	}
	sig := parsed.Signatures[0]
	for name, text := range map[string]string{"payload": parsed.Payload, "protected": sig.Protected, "signature": sig.Signature,
		"authenticatorData": sig.Header.AuthenticatorData, "clientDataJSON": sig.Header.ClientDataJSON} {
		for _, other := range []string{text + "=", text + `\n`, strayed(text)} {
			if other == text {
				continue
			}
			altered := strings.Replace(record, `"`+text+`"`, `"`+other+`"`, 1)
			if _, err := NewSlipCheck(nil).Check([]byte(altered)); err == nil {
				t.Errorf("%s: another spelling is taken for a slip", name)
			}
			c := NewChecker(w.options())
			if e := c.Add(AppendLine(nil, KindSlip, []byte(altered))); len(e.Problems) == 0 {
				t.Errorf("%s: another spelling is sound", name)
			}
			if a := c.Before(Proposal{Slip: w.slip, Action: "work", When: w.now}); a.Allowed {
				t.Errorf("%s: another spelling allows an act", name)
			}
		}
	}
	// And spaces around or in it.
	for _, altered := range []string{" " + record, record + "\n", strings.Replace(record, ":", ": ", 1)} {
		if _, err := NewSlipCheck(nil).Check([]byte(altered)); err == nil {
			t.Errorf("a record with spaces is taken for a slip")
		}
	}
}
