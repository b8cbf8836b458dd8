package receipts_test

import (
	"bytes"
	"sort"
	"strings"
	"testing"

	. "countersign/receipts"
)

// TestLabels holds the 22 protected headers of the format, and our own pair,
// against their exact texts.
func TestLabels(t *testing.T) {
	want := make(map[string]bool)
	for _, k := range []string{"slip", "approval", "cancellation"} {
		want[`{"typ":"vnd.provared.`+k+`.v0+json","alg":"prova.red/webauthn/v0"}`] = true
	}
	for _, k := range []string{"stub", "countersignature", "refusal", "terms", "acknowledgement", "vouching", "withdrawal", "pass", "seal"} {
		want[`{"typ":"vnd.provared.`+k+`.v0+json","alg":"Ed25519"}`] = true
		want[`{"typ":"vnd.provared.`+k+`.v0+json","alg":"ML-DSA-87"}`] = true
	}
	want[`{"typ":"vnd.provared.seal.v0+json","alg":"SLH-DSA-SHA2-256s"}`] = true
	if len(want) != 22 {
		t.Fatalf("%d labels in the test", len(want))
	}
	want[`{"typ":"vnd.countersign.denial.v0+json","alg":"Ed25519"}`] = true
	want[`{"typ":"vnd.countersign.denial.v0+json","alg":"ML-DSA-87"}`] = true
	for _, l := range Labels {
		if !want[l.String()] {
			t.Errorf("%s is no label, or stands twice", l)
		}
		delete(want, l.String())
	}
	for l := range want {
		t.Errorf("%s is missing", l)
	}
}

// TestEnvelope changes one thing at a time around a stub's content: section 1.1.
func TestEnvelope(t *testing.T) {
	w := newScene(t)
	w.sign(w.plain())
	payload := w.place(&Stub{}).Append(nil)
	record, err := w.agent.Sign(KindStub, payload)
	w.check(err)
	good := string(record)
	part := func(header string) string { return unpadded.EncodeToString([]byte(header)) }
	ed, ml := part(`{"typ":"vnd.provared.stub.v0+json","alg":"Ed25519"}`), part(`{"typ":"vnd.provared.stub.v0+json","alg":"ML-DSA-87"}`)
	entries := strings.TrimSuffix(strings.SplitN(good, `"signatures":[`, 2)[1], `]}`)
	first, second, _ := strings.Cut(entries, "},{")
	encoded := unpadded.EncodeToString(payload)
	for name, tt := range map[string]struct {
		old, new string
		want     Code
	}{
		"good":                   {"", "", ""},
		"a member more":          {`"signatures":`, `"signature":"x","signatures":`, CodeBadEnvelope},
		"no payload":             {`"payload":"` + encoded + `",`, "", CodeBadEnvelope},
		"payload a number":       {`"` + encoded + `"`, "1", CodeBadEnvelope},
		"signatures an object":   {`[` + entries + `]`, "{}", CodeBadEnvelope},
		"a header":               {`{"protected"`, `{"header":{},"protected"`, CodeBadEnvelope},
		"a signature a number":   {entries, strings.Replace(entries, first, `{"protected":"`+ed+`","signature":1`, 1), CodeBadEnvelope},
		"protected not base64":   {ed, ed + "=", CodeBadBase64url},
		"protected, stray bits":  {ml, ml[:len(ml)-1] + "1", CodeBadBase64url},
		"signature not base64":   {`"signature":"`, `"signature":"*`, CodeBadBase64url},
		"an unknown label":       {ed, part(`{"typ":"vnd.provared.stub.v1+json","alg":"Ed25519"}`), CodeUnknownType},
		"a label with a space":   {ed, part(`{"typ":"vnd.provared.stub.v0+json", "alg":"Ed25519"}`), CodeUnknownType},
		"a label of another":     {ed, part(`{"typ":"vnd.provared.pass.v0+json","alg":"Ed25519"}`), CodePayloadTypeMismatch},
		"a label of a denial":    {ed, part(`{"typ":"vnd.countersign.denial.v0+json","alg":"Ed25519"}`), CodeUnknownType},
		"one signature":          {"},{" + second, "}", CodeBadSignaturesLayout},
		"no signatures":          {entries, "", CodeBadSignaturesLayout},
		"three signatures":       {entries, entries + ",{" + second, CodeBadSignaturesLayout},
		"signatures exchanged":   {entries, "{" + second + "," + first + "}", CodeBadSignaturesLayout},
		"the same twice":         {ml, ed, CodeBadSignaturesLayout},
		"payload not base64":     {encoded, encoded + "=", CodeBadBase64url},
		"payload not canonical":  {encoded, unpadded.EncodeToString(append([]byte(" "), payload...)), CodePayloadNotCanonical},
		"payload not UTF-8":      {encoded, unpadded.EncodeToString([]byte("\"\xff\"")), CodePayloadNotCanonical},
		"payload a list":         {encoded, unpadded.EncodeToString([]byte("[]")), CodeBadField},
		"payload without a type": {encoded, unpadded.EncodeToString([]byte("{}")), CodeBadField},
		"payload of another":     {encoded, unpadded.EncodeToString([]byte(`{"type":"provared.pass.v0"}`)), CodePayloadTypeMismatch},
		"too large":              {encoded, strings.Repeat("A", MaxRecord), CodeTooLarge},
		"too large, and worse":   {encoded, strings.Repeat("*", MaxRecord), CodeTooLarge},
		"not canonical itself":   {`{"payload"`, `{ "payload"`, CodePayloadNotCanonical},
	} {
		text := good
		if tt.old != "" {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("%s: %q is not in the record", name, tt.old)
			}
			text = strings.Replace(good, tt.old, tt.new, 1)
		}
		e, err := ReadEnvelope(KindStub, []byte(text))
		if CodeOf(err) != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if err == nil && (!bytes.Equal(e.Payload, payload) || e.Fingerprint() != Fingerprint(payload)) {
			t.Errorf("%s: another payload", name)
		}
	}
}

// TestSignSize: writers are held to the size of a record too.
func TestSignSize(t *testing.T) {
	w := newScene(t)
	room := sort.Search(MaxRecord, func(n int) bool {
		_, err := w.agent.Sign(KindStub, bytes.Repeat([]byte("x"), n))
		if err != nil && CodeOf(err) != CodeTooLarge {
			t.Fatal(err)
		}
		return err != nil
	}) - 1
	record, err := w.agent.Sign(KindStub, bytes.Repeat([]byte("x"), room))
	if room <= 0 || err != nil {
		t.Fatal(room, err)
	}
	// The record that just fits is read as far as its content, which is no content.
	if _, err := ReadEnvelope(KindStub, record); CodeOf(err) != CodePayloadNotCanonical {
		t.Error(err)
	}
	for _, kind := range []Kind{KindSlip, KindApproval, KindCancellation, KindSeal, "receipt"} {
		if _, err := w.agent.Sign(kind, []byte("{}")); err == nil {
			t.Errorf("a %s was signed with two keys", kind)
		}
	}
}

// TestSignSame: the same content makes the same record, byte for byte.
func TestSignSame(t *testing.T) {
	w := newScene(t)
	one, err := w.agent.Sign(KindStub, []byte(`{"a":1}`))
	w.check(err)
	two, err := w.agent.Sign(KindStub, []byte(`{"a":1}`))
	w.check(err)
	if !bytes.Equal(one, two) {
		t.Error("two records of the same content differ")
	}
}
