package hostname_test

import (
	"net/netip"
	"strings"
	"testing"

	"countersign/internal/hostname"
)

func TestMap(t *testing.T) {
	for in, want := range map[string]string{
		"docs.test":                           "docs.test",
		"DOCS.Test":                           "docs.test",
		"bücher.example":                      "xn--bcher-kva.example",
		"xn--bcher-kva.example":               "xn--bcher-kva.example",
		"ｄｏｃｓ。test":                           "docs.test",
		"straße.example":                      "xn--strae-oqa.example",
		"localhost":                           "localhost",
		"\u212Ailo.test":                      "kilo.test",
		"1and1.example":                       "1and1.example",
		strings.Repeat("a.", 120) + "example": strings.Repeat("a.", 120) + "example",
	} {
		if got, err := hostname.Map(in); err != nil || got != want {
			t.Errorf("Map(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ".", "a.", ".a", "a..b", "docs.test.", "-a.test", "a-.test", "a_b.test", "a b.test", "a\tb", "a/b", "a%2e.test", "a@b", "a:1",
		"127.1", "127.0.0.1", "0x7f000001", "0x7f.1", "2130706433", "0177.0.0.1", "１２７.0.0.1", "x.0x", "x.1", "xn--a.test", "xn--0.test", "xn--ß-", "a.xn--ı-.test", "XN--ü.test", "ｘn--ß-.test", "x\u00adn--ß-", "a\u3002xn--ß-",
		"a\u200bb.test\u2024com\u0000", "a\u2488test", "\xff.test", "[::1]", "a*b.test", strings.Repeat("a", 64) + ".test", strings.Repeat("a.", 125) + "test", strings.Repeat("ä", 2000),
	} {
		if got, err := hostname.Map(in); err == nil {
			t.Errorf("Map(%q) = %q, want an error", in, got)
		}
	}
}

func TestAddr(t *testing.T) {
	for in, want := range map[string]string{"127.0.0.1": "127.0.0.1", "[::1]": "[::1]", "[0:0:0:0:0:0:0:1]": "[::1]", "[::FFFF:1.2.3.4]": "[::ffff:1.2.3.4]"} {
		if a, ok := hostname.Addr(in); !ok || hostname.AddrText(a) != want {
			t.Errorf("Addr(%q) = %v, %v; want %s", in, a, ok, want)
		}
	}
	for _, in := range []string{"", "127.1", "127.0.0.01", "0177.0.0.1", "127.0.0.1.", "256.1.1.1", "::1", "[::1", "::1]", "[fe80::1%eth0]", "[127.0.0.1]", "[]", "[[::1]]"} {
		if a, ok := hostname.Addr(in); ok {
			t.Errorf("Addr(%q) = %v, want none", in, a)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7"} {
		if !hostname.PublicAddr(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	for _, s := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.0.0.1",
		"192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "::7f00:1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1", "100::1", "2001:1::1", "64:ff9b:1::a00:1", "5f00::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:a00:1::1",
		"2001:0:7f00:1::f7f7:f7f7", "2001:0:808:808:0:0:80ff:fffe", // Teredo: server, then client inside
	} {
		if hostname.PublicAddr(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	for name, want := range map[string]bool{"example.com": true, "a.b.example": true, "localhost": false, "a.localhost": false, "foolocalhost.localhost": false, "printer": false,
		"printer.local": false, "db.internal": false, "x.home.arpa": false, "home.arpa": false, "internal.example": true} {
		if hostname.PublicName(name) != want {
			t.Errorf("PublicName(%q) is not %v", name, want)
		}
	}
}

func FuzzMap(f *testing.F) {
	for _, s := range []string{"docs.test", "bücher.example", "127.0.0.1", "xn--bcher-kva.example", "a..b", "１.2", "a\u3002b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := hostname.Map(s)
		if err != nil {
			return
		}
		if again, err := hostname.Map(got); err != nil || again != got {
			t.Fatalf("%q maps to %q, that to %q, %v", s, got, again, err)
		}
		if _, err := netip.ParseAddr(got); err == nil {
			t.Fatalf("%q maps to the address %q", s, got)
		}
	})
}
