// Package emailtext judges the email test of the content rules (section 4.4): one
// address, or a list of addresses between commas, in the two forms that every
// mail program reads alike. Whatever some program could read as another address
// cannot be judged.
package emailtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/internal/hostname"
	"countersign/internal/verdict"

	"golang.org/x/text/unicode/norm"
)

// Bounds on the text of a test.
const (
	maxText      = 64 << 10 // bytes: a header line far past what mail servers take
	maxAddresses = 1000     // addresses in one text
	maxLocal     = 64       // bytes of a local part (RFC 5321, 4.5.3.1.1)
	maxAddress   = 254      // bytes of local@domain (RFC 5321, 4.5.3.1.3, less the brackets)
)

// Operand is the operand of an email test. At least one member is set; an
// address passes where either holds it.
type Operand struct {
	Domains   []string // a domain, or "*." and a domain: exactly one label before it
	Addresses []string // local@domain, the local part compared exactly
}

// Judge is a compiled operand. It holds no state.
type Judge struct {
	domains   map[string]bool
	parents   map[string]bool // of "*." entries
	addresses map[string]bool
}

// New compiles an operand. An error is a *verdict.OperandError.
func New(o Operand) (*Judge, error) {
	if len(o.Domains)+len(o.Addresses) == 0 {
		return nil, verdict.BadOperand("", -1, "expected domains, addresses or both")
	}
	j := &Judge{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i, d := range o.Domains {
		name, star := strings.CutPrefix(d, "*.")
		ascii, err := domain(name)
		if err != nil {
			return nil, verdict.BadOperand("domains", i, fmt.Sprintf("%v, expected a domain such as example.com, or *. and a domain for exactly one label before it", err))
		}
		if ascii != name {
			return nil, verdict.BadOperand("domains", i, fmt.Sprintf("not as it is compared, write %q", d[:len(d)-len(name)]+ascii))
		}
		if star {
			j.parents[ascii] = true
		} else {
			j.domains[ascii] = true
		}
	}
	for i, a := range o.Addresses {
		local, name, ok := strings.Cut(a, "@")
		if !ok {
			return nil, verdict.BadOperand("addresses", i, "expected local@domain")
		}
		if why := badLocal(local); why != "" {
			return nil, verdict.BadOperand("addresses", i, why+", expected local@domain")
		}
		ascii, err := domain(name)
		if err != nil {
			return nil, verdict.BadOperand("addresses", i, fmt.Sprintf("%v, expected local@domain", err))
		}
		if ascii != name {
			return nil, verdict.BadOperand("addresses", i, fmt.Sprintf("not as it is compared, write %q", local+"@"+ascii))
		}
		j.addresses[a] = true
	}
	return j, nil
}

// Judge holds a text against the operand. Why is "" where the test holds, else
// a reason without the text.
func (j *Judge) Judge(text string) (r verdict.Result, why string) {
	if len(text) > maxText {
		return verdict.CannotJudge, "a text that is too long for addresses"
	}
	if strings.Count(text, ",") >= maxAddresses {
		return verdict.CannotJudge, "too many addresses"
	}
	for _, c := range text {
		if c == utf8.RuneError || unicode.Is(unicode.C, c) || unicode.Is(unicode.Zl, c) || unicode.Is(unicode.Zp, c) {
			return verdict.CannotJudge, "a control or invisible character"
		}
	}
	r = verdict.Holds
	for part := range strings.SplitSeq(text, ",") {
		local, name, why := address(strings.Trim(part, " "))
		if why != "" {
			return verdict.CannotJudge, why
		}
		if !j.holds(local, name) {
			r = verdict.Fails // every address is read before any answer
		}
	}
	if r == verdict.Fails {
		return r, "an address outside the lists"
	}
	return r, ""
}

func (j *Judge) holds(local, name string) bool {
	_, parent, _ := strings.Cut(name, ".")
	return j.domains[name] || j.parents[parent] || j.addresses[local+"@"+name]
}

// address reads local@domain, or a plain name and the same in angle brackets.
func address(s string) (local, name, why string) {
	if spec, ok := strings.CutSuffix(s, ">"); ok {
		display, inner, found := strings.Cut(spec, "<")
		if !found {
			return "", "", "a > without its <"
		}
		if why := badDisplay(display); why != "" {
			return "", "", why
		}
		s = inner
	}
	if s == "" {
		return "", "", "an empty address"
	}
	local, name, ok := strings.Cut(s, "@")
	if !ok {
		return "", "", "a text without an @"
	}
	if len(s) > maxAddress {
		return "", "", "an address that is too long"
	}
	if why := badLocal(local); why != "" {
		return "", "", why
	}
	name, err := domain(name)
	if err != nil {
		return "", "", err.Error()
	}
	return local, name, ""
}

func domain(name string) (string, error) {
	if strings.HasPrefix(name, "[") {
		return "", fmt.Errorf("a domain literal")
	}
	return hostname.Map(name)
}

// badLocal says why a local part is no dot-atom of ASCII (RFC 5322, 3.2.3), or
// one that an old relay could send elsewhere (user%host and host!user), or in which
// a mail program may find an encoded word, and in that another address.
func badLocal(l string) string {
	if l == "" || len(l) > maxLocal {
		return "a local part that is empty or too long"
	}
	if l[0] == '.' || l[len(l)-1] == '.' || strings.Contains(l, "..") {
		return "a dot out of place in the local part"
	}
	if strings.Contains(l, "=?") || strings.Contains(l, "?=") {
		return "a local part that some readers decode (RFC 2047)"
	}
	for i := range len(l) {
		c := l[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case strings.IndexByte("#$&'*+-/=?^_`{|}~.", c) >= 0:
		case c == '%' || c == '!':
			return "a local part that a relay could take for a route"
		default:
			return "a character that no plain local part has"
		}
	}
	return ""
}

// badDisplay says why the text before the angle brackets is no plain name. Also
// a character whose compatibility form is one that addresses are made of counts.
func badDisplay(d string) string {
	if len(d) > 0 && !strings.HasSuffix(d, " ") {
		return "a display name that touches the bracket"
	}
	for _, c := range norm.NFKC.String(d) {
		if c == '@' {
			return "a display name that holds an address"
		}
		if !unicode.In(c, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" .'’-_&/+", c) {
			return "a display name that is not plain words"
		}
	}
	return ""
}
