// Package hostname reads the names of hosts as the url and email tests of the
// content rules take them (sections 4.2 and 4.4): in one way only, or not at all.
// No name is ever looked up.
package hostname

import (
	"errors"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Bounds of RFC 1035, section 2.3.4, in bytes of the ASCII form.
const (
	maxName  = 253
	maxLabel = 63
)

// Map gives a domain name in the form that is compared: mapped by IDNA (UTS 46,
// non-transitional), in lower case and ASCII. An error says why the name cannot
// be taken in one way only: it is no plain name, ends in a dot, or is or maps to
// what some reader would take for an address.
func Map(name string) (string, error) {
	if name == "" {
		return "", errors.New("an empty host name")
	}
	if len(name) > 4*maxName { // a name of ASCII form within bounds is never longer in UTF-8
		return "", errors.New("a host name that is too long")
	}
	if !utf8.ValidString(name) {
		return "", errors.New("a host name that is not UTF-8")
	}
	if mixedACE(name) {
		return "", errors.New("a host that is no plain name after IDNA")
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", errors.New("a host that is no plain name after IDNA")
	}
	labels := strings.Split(ascii, ".")
	for _, l := range labels {
		if !plainLabel(l) {
			return "", errors.New("a host that is no plain name after IDNA")
		}
	}
	if len(ascii) > maxName {
		return "", errors.New("a host name that is too long")
	}
	if last := labels[len(labels)-1]; numeric(last) {
		return "", errors.New("a host that can be taken for an address")
	}
	return ascii, nil
}

// mixedACE reports a label that begins as one of ASCII form and holds other letters
// all the same, such as "xn--ß-": package idna makes a name of it that others do
// not.
func mixedACE(name string) bool {
	seen := strings.Map(func(c rune) rune {
		switch {
		case c == '。':
			return '.'
		case unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1 // IDNA leaves most of them out
		}
		return c
	}, norm.NFKC.String(name))
	for label := range strings.SplitSeq(seen, ".") {
		if len(label) >= 4 && strings.EqualFold(label[:4], "xn--") && strings.IndexFunc(label, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
			return true
		}
	}
	return false
}

// plainLabel: letters, digits and hyphens, no hyphen at an end (RFC 1123, 2.1).
func plainLabel(l string) bool {
	if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := range len(l) {
		c := l[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// numeric says whether a last label makes URL readers take a host for an IPv4
// address (WHATWG URL, "ends in a number"): decimal, octal or hexadecimal.
func numeric(l string) bool {
	if h, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(h, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

// Addr reads a strict dotted quad, or an IPv6 address in brackets without a
// zone. ok is false for anything else.
func Addr(host string) (a netip.Addr, ok bool) {
	if inner, found := strings.CutPrefix(host, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		return a, found && err == nil && a.Is6() && a.Zone() == ""
	}
	a, err := netip.ParseAddr(host) // takes no leading zeros, no short forms
	return a, err == nil && a.Is4()
}

// AddrText is the form in which an address is compared: the dotted quad, or the
// form of RFC 5952 in brackets.
func AddrText(a netip.Addr) string {
	if a.Is4() {
		return a.String()
	}
	return "[" + a.String() + "]"
}

// notPublic are the blocks of the IANA special-purpose registries (RFC 6890 and
// its updates) that are not reached over the public internet, or whose addresses
// stand for others.
var notPublic = prefixes(
	// "this network", private use, carrier-grade NAT, loopback, link-local
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	// protocol assignments, documentation, the old 6to4 relays, benchmarking
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	// multicast, reserved, broadcast
	"224.0.0.0/4", "240.0.0.0/4",
	// protocol assignments but Teredo, documentation
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

// Blocks whose addresses carry an IPv4 address.
var (
	global = netip.MustParsePrefix("2000::/3") // the only block of IPv6 unicast addresses handed out so far
	mapped = netip.MustParsePrefix("::ffff:0:0/96")
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4 = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo = netip.MustParsePrefix("2001::/32")    // RFC 4380
)

func prefixes(texts ...string) (l []netip.Prefix) {
	for _, t := range texts {
		l = append(l, netip.MustParsePrefix(t))
	}
	return l
}

// PublicAddr says whether an address is one of the public internet. An address
// that carries another is public only if that one is too.
func PublicAddr(a netip.Addr) bool {
	if a.Is4() {
		return outside(a)
	}
	b := a.As16()
	v4 := func(at int) netip.Addr { return netip.AddrFrom4([4]byte(b[at : at+4])) }
	switch {
	case mapped.Contains(a) || a.Is4In6():
		return outside(v4(12))
	case nat64.Contains(a):
		return outside(v4(12))
	case sixTo4.Contains(a):
		return outside(v4(2))
	case teredo.Contains(a):
		client := b
		for i := 12; i < 16; i++ {
			client[i] ^= 0xFF
		}
		return outside(v4(4)) && outside(netip.AddrFrom4([4]byte(client[12:16])))
	}
	return global.Contains(a) && outside(a)
}

func outside(a netip.Addr) bool {
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// PublicName says whether a mapped name can be one of the public internet: it
// has a dot and none of the endings kept for this machine or its network
// (RFC 6761, RFC 6762, RFC 8375, and internal, which ICANN keeps back).
func PublicName(name string) bool {
	if !strings.Contains(name, ".") {
		return false
	}
	for _, end := range []string{"localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return name != "home.arpa"
}
