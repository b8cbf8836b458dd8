package proxy

import (
	"math/big"
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/receipts"
	"pgregory.net/rapid"
)

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  string
		rule  AmountRule
		want  int64
		wrong string
	}{
		{"whole", `{"amount":45}`, AmountRule{}, 45, ""},
		{"zero", `{"amount":0}`, AmountRule{}, 0, ""},
		{"minus zero", `{"amount":-0.0}`, AmountRule{}, 0, ""},
		{"as a fraction", `{"amount":45.0}`, AmountRule{}, 45, ""},
		{"as a power", `{"amount":4.5e1}`, AmountRule{}, 45, ""},
		{"pence", `{"amount":12.34}`, AmountRule{Scale: 2}, 1234, ""},
		{"one tenth of ten", `{"amount":0.1}`, AmountRule{Scale: 1}, 1, ""},
		{"no float in between", `{"amount":1.15}`, AmountRule{Scale: 2}, 115, ""},
		{"text", `{"amount":"12.340"}`, AmountRule{Scale: 2, Text: true}, 1234, ""},
		{"the largest", `{"amount":9007199254740991}`, AmountRule{}, maxAmount, ""},
		{"the largest, scaled text", `{"amount":"90071992547409.91"}`, AmountRule{Scale: 2, Text: true}, maxAmount, ""},
		{"larger", `{"amount":9007199254740992}`, AmountRule{}, 0, "is larger than any amount"},
		{"far larger", `{"amount":1e300}`, AmountRule{}, 0, "is larger than any amount"},
		{"larger once scaled", `{"amount":9007199254740991}`, AmountRule{Scale: 1}, 0, "is larger than any amount"},
		{"part of a penny", `{"amount":12.345}`, AmountRule{Scale: 2}, 0, "is not whole in the unit it is counted in"},
		{"hardly anything", `{"amount":1e-300}`, AmountRule{Scale: 9}, 0, "is not whole in the unit it is counted in"},
		{"negative", `{"amount":-1}`, AmountRule{}, 0, "is negative"},
		{"missing", `{"amount_":1}`, AmountRule{}, 0, "is missing"},
		{"null", `{"amount":null}`, AmountRule{}, 0, "is not a number"},
		{"text where a number is due", `{"amount":"45"}`, AmountRule{}, 0, "is not a number"},
		{"a number where text is due", `{"amount":45}`, AmountRule{Text: true}, 0, "is not text"},
		{"text with a power", `{"amount":"1e3"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"text with a plus", `{"amount":"+1"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"text with a blank", `{"amount":" 1"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"text with a comma", `{"amount":"1,000"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"text with other digits", `{"amount":"١"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"empty text", `{"amount":""}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"text without end", `{"amount":"` + strings.Repeat("0", 100) + `"}`, AmountRule{Text: true}, 0, "is not a plain decimal number"},
		{"negative text", `{"amount":"-1"}`, AmountRule{Text: true}, 0, "is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ijson.Parse([]byte(c.args), ijson.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.rule.Arg, c.rule.Unit = "/amount", "GBP"
			got, wrong := c.rule.amount(d.Root())
			if wrong != "" {
				if want := "the amount at /amount " + c.wrong; wrong != want {
					t.Errorf("got %q, want %q", wrong, want)
				}
				return
			}
			if c.wrong != "" || *got != (receipts.Amount{Unit: "GBP", Value: c.want}) {
				t.Errorf("got %v, want %d %q", *got, c.want, c.wrong)
			}
		})
	}
}

// Exact means: as rational numbers have it.
func TestScaledIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		scale := rapid.IntRange(0, MaxScale).Draw(t, "scale")
		want, ok := new(big.Rat).SetString(num)
		if !ok {
			t.Fatalf("%q is no number", num)
		}
		want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		fits := want.IsInt() && want.Sign() >= 0 && want.Num().Cmp(big.NewInt(maxAmount)) <= 0
		got, wrong := scaled(num, scale)
		if fits != (wrong == "") {
			t.Fatalf("%q scaled by %d: %q, want fits %v", num, scale, wrong, fits)
		}
		if fits && want.Num().Int64() != got {
			t.Fatalf("%q scaled by %d: got %d, want %s", num, scale, got, want)
		}
	})
}
