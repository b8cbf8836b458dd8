package proxy

import (
	"strconv"
	"strings"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// maxAmount is the largest amount of the record format: 2^53-1.
const maxAmount = receipts.MaxInt

// maxAmountText is the most bytes of an amount that is text. The largest amount
// has 16 digits; leading and trailing zeros are let pass.
const maxAmountText = 64

// amount reads a call's amount from its arguments (guard.md, section 2, tools).
// The second result says what is wrong, without the value.
func (r *AmountRule) amount(arguments ijson.Value) (*receipts.Amount, string) {
	v, err := arguments.Pointer(r.Arg)
	if err != nil {
		return nil, "the settings name no place for the amount"
	}
	place := "the amount at " + r.Arg
	var text string
	switch {
	case !v.Exists():
		return nil, place + " is missing"
	case r.Text && v.Kind() != ijson.String:
		return nil, place + " is not text"
	case r.Text:
		if text = v.Text(); !plainDecimal(text) {
			return nil, place + " is not a plain decimal number"
		}
	case v.Kind() != ijson.Number:
		return nil, place + " is not a number"
	default:
		text = string(v.Raw())
	}
	n, wrong := scaled(text, r.Scale)
	if wrong != "" {
		return nil, place + " " + wrong
	}
	return &receipts.Amount{Unit: r.Unit, Value: n}, ""
}

// plainDecimal: digits, perhaps a minus before and a point with digits behind.
func plainDecimal(s string) bool {
	if len(s) > maxAmountText {
		return false
	}
	s = strings.TrimPrefix(s, "-")
	whole, frac, point := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	return digits(whole) && (!point || digits(frac))
}

// scaled multiplies a number, as JSON spells it, by ten to the power of scale.
// The result must be whole and within the bounds of an amount. All is exact:
// nothing goes through a float.
func scaled(num string, scale int) (int64, string) {
	const (
		negative = "is negative"
		partial  = "is not whole in the unit it is counted in"
		large    = "is larger than any amount"
	)
	num, minus := strings.CutPrefix(num, "-")
	exp := 0
	if i := strings.IndexAny(num, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(strings.TrimPrefix(num[i+1:], "+")); err != nil {
			exp = 0 // past an int: only zero has such
		}
		num = num[:i]
	}
	whole, frac, _ := strings.Cut(num, ".")
	exp += scale - len(frac)
	digits := strings.TrimLeft(whole+frac, "0")
	if digits == "" {
		return 0, ""
	}
	short := strings.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	switch {
	case minus:
		return 0, negative
	case exp < 0:
		return 0, partial
	case len(short)+exp > len("9007199254740991"):
		return 0, large
	}
	n, err := strconv.ParseInt(short+strings.Repeat("0", exp), 10, 64)
	if err != nil || n > maxAmount {
		return 0, large
	}
	return n, ""
}
