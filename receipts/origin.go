package receipts

import (
	"strconv"
	"strings"
)

// Bounds of a page's origin and a passkey's website (section 2.1), in characters.
const (
	maxOrigin = 300
	maxRPID   = 253
	maxLabel  = 63 // of a label of a host
	maxPort   = 65535
)

// isRPID: lower-case letters, digits, full stops and hyphens, 1 to 253, a letter or
// digit at both ends.
func isRPID(s string) bool {
	if s == "" || len(s) > maxRPID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && i < len(s)-1
		if !isHostByte(c) && !(inner && (c == '.' || c == '-')) {
			return false
		}
	}
	return true
}

// isHostByte: a letter in lower case or a digit.
func isHostByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// isOrigin says whether s is the origin of a page that may sign for rpID: section
// 2.1, compared as text, since a browser writes an origin in one way only.
func isOrigin(s, rpID string) bool {
	if len(s) > maxOrigin {
		return false
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "https" && scheme != "http" {
		return false
	}
	host, port, hasPort := strings.Cut(rest, ":")
	if hasPort && !isPort(port, scheme) {
		return false
	}
	if !isHost(host) || scheme == "http" && host != "localhost" {
		return false
	}
	return host == rpID || strings.HasSuffix(host, "."+rpID)
}

// isPort: 1 to 65535, no leading zero, not the scheme's default.
func isPort(s, scheme string) bool {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPort || strconv.Itoa(n) != s {
		return false
	}
	return !(scheme == "https" && n == 443 || scheme == "http" && n == 80)
}

// isHost: labels of a-z 0-9 -, no hyphen at an end, the last not all digits.
func isHost(s string) bool {
	last := ""
	for l := range strings.SplitSeq(s, ".") {
		if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for i := range len(l) {
			if !isHostByte(l[i]) && l[i] != '-' {
				return false
			}
		}
		last = l
	}
	return strings.Trim(last, "0123456789") != ""
}
