package pathtext

import (
	"strings"
	"unicode/utf8"
)

// windowsSegment says why a segment cannot be judged on Windows, or nothing.
func windowsSegment(segment string) string {
	for i := range len(segment) {
		switch segment[i] {
		case ':':
			return whyColon
		case '<', '>', '"', '|', '?', '*':
			// Some of them are wild cards where folders are searched.
			return whyForbidden
		}
	}
	if last := segment[len(segment)-1]; last == '.' || last == ' ' {
		return whyTrailing
	}
	if device(segment) {
		return whyName
	}
	if short(segment) {
		return whyShort
	}
	return ""
}

// device reports a name that Windows takes for a device in whatever folder and
// with whatever extension: CON, PRN, AUX, NUL, CLOCK$, CONIN$, CONOUT$, and COM
// and LPT with a digit, a superscript one too.
func device(segment string) bool {
	name, _, _ := strings.Cut(segment, ".")
	name = strings.TrimRight(name, " ")
	if len(name) < 3 || len(name) > len("CONOUT$") {
		return false
	}
	for _, known := range [...]string{"CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	if !strings.EqualFold(name[:3], "COM") && !strings.EqualFold(name[:3], "LPT") {
		return false
	}
	digit, size := utf8.DecodeRuneInString(name[3:])
	return size > 0 && len(name) == 3+size && strings.ContainsRune("0123456789⁰¹²³⁴⁵⁶⁷⁸⁹", digit)
}

// short reports a name of the 8.3 kind, which Windows may have given to a file
// with a long one: at most eight characters that end in ~ and digits, and an
// extension of at most three.
func short(segment string) bool {
	name, extension, _ := strings.Cut(segment, ".")
	stem := strings.TrimRight(name, "0123456789")
	return len(stem) < len(name) && strings.HasSuffix(stem, "~") &&
		utf8.RuneCountInString(name) <= 8 && utf8.RuneCountInString(extension) <= 3
}

// shareOf gives the "//server/share" that a network path lies on, "" of any other
// path. The path is as paths are compared.
func shareOf(path string) string {
	if !strings.HasPrefix(path, "//") {
		return ""
	}
	server := strings.IndexByte(path[2:], '/')
	if server < 0 {
		return ""
	}
	if end := strings.IndexByte(path[2+server+1:], '/'); end >= 0 {
		return path[:2+server+1+end]
	}
	return path
}
