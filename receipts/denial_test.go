package receipts_test

import (
	"bytes"
	"strings"
	"testing"

	. "countersign/receipts"
)

// TestDenial: guard, section 4.
func TestDenial(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Denial)
		ok     bool
	}{
		"by the slip":               {func(*Denial) {}, true},
		"by a rule":                 {func(d *Denial) { d.By, d.Code, d.Rule = "rule", "condition", "content-rules.json/no-secrets" }, true},
		"by a rule, not named":      {func(d *Denial) { d.By, d.Code = "rule", "over-budget" }, true},
		"by the settings":           {func(d *Denial) { d.By, d.Code, d.Action = "settings", "unlisted", "" }, true},
		"by the person":             {func(d *Denial) { d.By, d.Code = "person", "approval-missing" }, true},
		"the first":                 {func(d *Denial) { d.After = "" }, true},
		"with an amount":            {func(d *Denial) { d.Amount = gbp(5) }, true},
		"by nobody":                 {func(d *Denial) { d.By = "nobody" }, false},
		"a rule's code by the slip": {func(d *Denial) { d.Code = "condition" }, false},
		"a code of nobody":          {func(d *Denial) { d.Code = "because" }, false},
		"a rule named by the slip":  {func(d *Denial) { d.Rule = "x/y" }, false},
		"no with":                   {func(d *Denial) { d.With = "" }, false},
		"no details":                {func(d *Denial) { d.Details = nil }, false},
		"no id":                     {func(d *Denial) { d.ID = "" }, false},
	} {
		w := newScene(t)
		d := &Denial{ID: w.id(), Slip: fingerprintOf("s"), After: fingerprintOf("a"), By: "slip", Action: "work", With: "guard",
			Details: []Detail{{"arguments", fingerprintOf("{}")}}, Code: "over-limit", When: w.now}
		tt.change(d)
		payload := d.Append(nil)
		got, err := ReadDenial(payload)
		if (err == nil) != tt.ok || err != nil && CodeOf(err) != CodeBadField {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil && !bytes.Equal(got.Append(nil), payload) {
			t.Errorf("%s: read and written again, it differs", name)
		}
		if err == nil {
			record, err := w.agent.Sign(KindDenial, payload)
			w.check(err)
			line := AppendLine(nil, KindDenial, record)
			for keys, want := range map[*Signer][]Code{w.agent: nil, w.guard: {CodeSignatureInvalid}} {
				list, err := VerifyDenials(bytes.NewReader(line), DeniedBook{Keys: func(string) (KeySet, bool) { return keys.Keys(), true }})
				if err != nil || len(list) != 1 || !same(list[0].Problems, want...) {
					t.Errorf("%s: %v", name, list)
				}
			}
		}
	}
}

// TestVerifyDenials: what is wrong with a file of them.
func TestVerifyDenials(t *testing.T) {
	w := newScene(t)
	slip := fingerprintOf("slip")
	keys := func(s string) (KeySet, bool) { return w.agent.Keys(), s == slip }
	make := func(id, slip string, when Time) []byte {
		d := Denial{ID: id, Slip: slip, By: "settings", With: "guard", Code: "schema", When: when, Details: []Detail{{"arguments", fingerprintOf("{}")}}}
		return w.record(KindDenial, w.agent, d.Append(nil))
	}
	id := w.id()
	lines := [][]byte{
		make(id, slip, w.now),
		make(w.id(), slip, w.now+1),
		make(id, slip, w.now+2),
		make(w.id(), slip, w.now+1),
		make(w.id(), fingerprintOf("other"), w.now),
		[]byte("{}"),
		[]byte(""),
		bytes.Repeat([]byte("1"), MaxLine+1),
		append(make(w.id(), slip, w.now+9), ' '),
	}
	want := [][]Code{nil, nil, {CodeDuplicateID}, {CodeTimeWentBackwards}, {CodeSlipMissing}, {CodeUnknownEntry}, {CodeNotJSON}, {CodeTooLarge}, {CodeLineNotCanonical}}
	got, err := VerifyDenials(bytes.NewReader(bookOf(lines)), DeniedBook{Keys: keys})
	if err != nil || len(got) != len(want) {
		t.Fatal(len(got), err)
	}
	for i, e := range got {
		if e.Index != i || !same(e.Problems, want[i]...) || (e.Denial != nil) != (i < 5) {
			t.Errorf("line %d: %v", i, e.Problems)
		}
	}
}

// TestVerifyDenialsAfter: a denial stands after a stub that the book holds, and the
// denials in the order of those stubs.
func TestVerifyDenialsAfter(t *testing.T) {
	w := newScene(t)
	slip, other := fingerprintOf("slip"), fingerprintOf("other slip")
	book := DeniedBook{Keys: func(string) (KeySet, bool) { return w.agent.Keys(), true },
		Stub: func(s, stub string) (int64, bool) {
			seq, ok := map[string]int64{fingerprintOf("0"): 0, fingerprintOf("1"): 1}[stub]
			return seq, ok && s == slip
		}}
	for name, tt := range map[string]struct {
		after []string
		slip  string
		want  Code // of the last
	}{
		"in order":            {[]string{"", "", fingerprintOf("0"), fingerprintOf("0"), fingerprintOf("1")}, slip, ""},
		"no such stub":        {[]string{fingerprintOf("2")}, slip, CodeChainBroken},
		"another slip's":      {[]string{fingerprintOf("0")}, other, CodeChainBroken},
		"an earlier stub":     {[]string{fingerprintOf("1"), fingerprintOf("0")}, slip, CodeChainBroken},
		"before the first":    {[]string{fingerprintOf("0"), ""}, slip, CodeChainBroken},
		"another slip begins": {[]string{""}, other, ""},
	} {
		var lines [][]byte
		for _, after := range tt.after {
			d := Denial{ID: w.id(), Slip: tt.slip, After: after, By: "settings", With: "guard", Code: "schema", When: w.now, Details: []Detail{{"arguments", fingerprintOf("{}")}}}
			lines = append(lines, w.record(KindDenial, w.agent, d.Append(nil)))
		}
		list, err := VerifyDenials(bytes.NewReader(bookOf(lines)), book)
		if err != nil || len(list) != len(lines) {
			t.Fatal(err)
		}
		for i, e := range list {
			if want := tt.want; i < len(list)-1 && len(e.Problems) > 0 || i == len(list)-1 && (want == "" && len(e.Problems) > 0 || want != "" && !same(e.Problems, want)) {
				t.Errorf("%s: line %d: %v, want %q", name, i+1, e.Problems, want)
			}
		}
	}
}

// TestVerifyDenialsFlood: a file of nothing but faults is not told line by line.
func TestVerifyDenialsFlood(t *testing.T) {
	list, err := VerifyDenials(strings.NewReader(strings.Repeat("\n", 1_000_000)), DeniedBook{})
	if err != nil || len(list) != 1001 || !same(list[999].Problems, CodeNotJSON) || !same(list[1000].Problems, CodeCheckFailed) {
		t.Errorf("%d lines, %v, want 1,001", len(list), err)
	}
}
