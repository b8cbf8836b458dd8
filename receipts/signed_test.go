package receipts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "countersign/receipts"
)

// signedLine is one line of a published book, without its line feed.
func signedLine(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "vectors", "signed", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b, []byte("\n"))
}

func codes(problems []Problem) []Code {
	out := []Code{}
	for _, p := range problems {
		out = append(out, p.Code)
	}
	return out
}

// same says whether two sets of codes are equal, whatever their order.
func same(got []Problem, want ...Code) bool {
	if len(got) != len(want) {
		return false
	}
	seen := make(map[Code]int)
	for _, p := range got {
		seen[p.Code]++
	}
	for _, c := range want {
		seen[c]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

const (
	officeIssuer = "ihy9Ars_PYFEEa48Nz8VOp4d2DHjC03vpEffGvOkPOM"
	siteSlip     = "CnTvaSDU7wh-PXnMyAG-EUNwtpoonB9DeM1OIPJfBOY"
	siteStub1    = "0OOO7dhr7U5PG06FzRgk8ehiPC0UVG_6RBAGYB0ud8I"
)

// TestSignedSite reads the beginning of a book in real use as its published
// checker does: sound, wholly checked, within the slip.
func TestSignedSite(t *testing.T) {
	book := bytes.Join([][]byte{signedLine(t, "site-slip"), signedLine(t, "site-stub-1"), signedLine(t, "site-stub-2")}, []byte("\n"))
	r, err := VerifyBook(bytes.NewReader(book), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Entries {
		if len(e.Problems)+len(e.Breaches) > 0 || e.Verified != VerifiedAll {
			t.Errorf("entry %d: %v %v %s", e.Index, e.Problems, e.Breaches, e.Verified)
		}
	}
	if r.Entries[0].Fingerprint != siteSlip || r.Entries[1].Fingerprint != siteStub1 {
		t.Errorf("fingerprints %s %s", r.Entries[0].Fingerprint, r.Entries[1].Fingerprint)
	}
	s := r.Summary
	if !s.Intact || !s.FullyChecked || !s.WithinSlips || s.FirstBreach != -1 || s.IssuerCompared || s.Development {
		t.Errorf("summary %+v", s)
	}
	if s.Counts.Slips != 1 || s.Counts.Stubs != 2 || s.Counts.OneSided != 2 {
		t.Errorf("counts %+v", s.Counts)
	}
}

// TestSignedOffice reads the three lines of the published sample that are at
// hand. The terms that the first stub names are not among them, so that stub has
// the one problem terms-not-found; all signatures hold.
func TestSignedOffice(t *testing.T) {
	var want struct {
		Fingerprints []string
		IssuerKey    string
		Running      []*string
	}
	src, err := os.ReadFile("testdata/vectors/signed/office-expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, &want); err != nil {
		t.Fatal(err)
	}
	c := NewChecker(CheckOptions{IssuerKeys: []string{officeIssuer}})
	slip := c.Add(signedLine(t, "office-slip"))
	one := c.Add(signedLine(t, "office-stub-1"))
	two := c.Add(signedLine(t, "office-stub-2"))
	if slip.Fingerprint != want.Fingerprints[0] || one.Fingerprint != want.Fingerprints[2] || two.Fingerprint != want.Fingerprints[3] {
		t.Errorf("fingerprints %s %s %s", slip.Fingerprint, one.Fingerprint, two.Fingerprint)
	}
	if slip.IssuerKey != want.IssuerKey || len(slip.Problems) > 0 {
		t.Errorf("slip: %s %v", slip.IssuerKey, slip.Problems)
	}
	if !same(one.Problems, CodeTermsNotFound) || one.Verified != VerifiedAll || one.Countersignature != StateValid {
		t.Errorf("first stub: %v %s %s", one.Problems, one.Verified, one.Countersignature)
	}
	if len(two.Problems)+len(two.Breaches) > 0 || two.Verified != VerifiedAll || two.Countersignature != StateAbsent || two.Running != "" {
		t.Errorf("second stub: %v %v", two.Problems, two.Breaches)
	}
	stub := one.Content.(*Stub)
	if stub.Terms != want.Fingerprints[1] || stub.Amount.Value != 45 || stub.Amount.Unit != "GBP" {
		t.Errorf("content %+v", stub)
	}
	s := c.Result().Summary
	if s.Intact || !s.ProblemFound || !s.FullyChecked || s.WithinSlips || s.Counts.Countersigned != 1 {
		t.Errorf("summary %+v", s)
	}
}

// TestSignedIssuer: a slip by another passkey than expected is a problem, and so
// is all that rests on it.
func TestSignedIssuer(t *testing.T) {
	c := NewChecker(CheckOptions{IssuerKeys: []string{officeIssuer}})
	if e := c.Add(signedLine(t, "site-slip")); !same(e.Problems, CodeIssuerNotExpected) {
		t.Errorf("slip: %v", e.Problems)
	}
	if e := c.Add(signedLine(t, "site-stub-1")); !same(e.Problems, CodeSlipUnusable) {
		t.Errorf("stub: %v", e.Problems)
	}
}

// TestSignedAltered changes one character at a time inside every string that is
// signed or is a signature. Nothing altered passes.
func TestSignedAltered(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	books := [][]string{
		{"office-slip"}, {"office-slip", "office-stub-1"}, {"office-slip", "office-stub-2"},
		{"site-slip"}, {"site-slip", "site-stub-1"}, {"site-slip", "site-stub-1", "site-stub-2"},
	}
	tried := 0
	for _, names := range books {
		line := signedLine(t, names[len(names)-1])
		var before [][]byte
		for _, n := range names[:len(names)-1] {
			before = append(before, signedLine(t, n))
		}
		base := NewChecker(CheckOptions{})
		for _, b := range before {
			base.Add(b)
		}
		untouched := len(base.Add(line).Problems)
		for _, member := range []string{`"payload":"`, `"protected":"`, `"signature":"`, `"authenticatorData":"`, `"clientDataJSON":"`} {
			for from := 0; ; {
				at := bytes.Index(line[from:], []byte(member))
				if at < 0 {
					break
				}
				from += at + len(member)
				length := bytes.IndexByte(line[from:], '"')
				for _, offset := range []int{0, 1, length / 3, length / 2, length - 2, length - 1} {
					altered := bytes.Clone(line)
					i := strings.IndexByte(alphabet, altered[from+offset])
					altered[from+offset] = alphabet[(i+1)%len(alphabet)]
					c := NewChecker(CheckOptions{})
					for _, b := range before {
						c.Add(b)
					}
					e := c.Add(altered)
					if len(e.Problems) <= untouched && !(untouched > 0 && !same(e.Problems, CodeTermsNotFound)) {
						t.Errorf("%v: %s at %d altered, and only %v found", names, member, offset, codes(e.Problems))
					}
					if c.Result().Summary.Intact {
						t.Errorf("%v: %s at %d altered, and intact", names, member, offset)
					}
					tried++
				}
			}
		}
	}
	if tried < 36 {
		t.Errorf("only %d alterations tried", tried)
	}
}
