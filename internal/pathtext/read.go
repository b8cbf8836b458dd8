package pathtext

// Reasons for which a text cannot be judged. They hold nothing of the text.
const (
	whyEmpty     = "an empty text"
	whyLong      = "more than 4,096 bytes"
	whyUTF8      = "bytes that are no UTF-8"
	whyControl   = "a control character"
	whyInvisible = "an invisible character"
	whyStandsFor = "a character that stands for a slash, backslash or dot"
	whyEscape    = "a percent escape of a slash, backslash, dot or NUL"
	whyBackslash = "a backslash"
	whyHome      = "a leading ~"
	whyFileURL   = "a file: URL"
	whyRelative  = "a relative path, and no base is set"
	whyParent    = "a .. segment"

	whyColon     = "a colon that is not behind a drive letter"
	whyDrive     = "a drive without an absolute path"
	whyRooted    = "a path from the root of whichever drive is current"
	whyDevice    = "a device path"
	whyNetwork   = "a network path, and none is among the roots"
	whyHost      = "a network path without server and share"
	whyName      = "the name of a device"
	whyTrailing  = "a segment that ends in a dot or a space"
	whyShort     = "a short name such as PROGRA~1"
	whyForbidden = "a character that no Windows name holds"
)

// read appends the path that the text names, as paths are compared. dots says
// that it still holds .. segments, which happens only where the disk is asked.
// network allows a network path where no root is one.
func (j *Judge) read(dst []byte, text string, network bool) (path []byte, dots bool, why string) {
	if why := characters(text, j.windows); why != "" {
		return nil, false, why
	}
	if j.windows {
		path, why = j.readWindows(dst, text, network)
		return path, false, why
	}
	if text[0] != '/' {
		if !j.hasBase {
			return nil, false, whyRelative
		}
		dst = append(dst, j.base...)
	}
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && text[end] != '/' {
			end++
		}
		switch segment := text[start:end]; segment {
		case "", ".":
		case "..":
			if !j.onDisk {
				return nil, false, whyParent
			}
			dots = true
			fallthrough
		default:
			dst = append(dst, '/')
			dst = append(dst, segment...)
		}
		start = end + 1
	}
	return dst, dots, ""
}

// separator reports what separates segments on Windows.
func separator(c byte) bool { return c == '\\' || c == '/' }

// readWindows is read for the style windows.
func (j *Judge) readWindows(dst []byte, text string, network bool) (path []byte, why string) {
	leading := 0
	for leading < len(text) && separator(text[leading]) {
		leading++
	}
	rest := text[leading:]
	segments := 0 // still to come that make up server and share
	switch {
	case leading > 2:
		return nil, whyHost
	case leading == 2:
		if rest != "" && (rest[0] == '?' || rest[0] == '.') && (len(rest) == 1 || separator(rest[1])) {
			return nil, whyDevice
		}
		if !network && !j.unc {
			return nil, whyNetwork
		}
		dst = append(dst, '/')
		segments = 2
	case leading == 1:
		return nil, whyRooted
	case len(rest) >= 2 && rest[1] == ':' && letter(rest[0]):
		if len(rest) == 2 || !separator(rest[2]) {
			return nil, whyDrive
		}
		dst = append(dst, rest[0]&^0x20, ':')
		rest = rest[3:]
	default:
		if !j.hasBase {
			// Said here, so that a fault of the segments comes first.
			why = whyRelative
		}
		dst = append(dst, j.base...)
	}
	for start := 0; start < len(rest); {
		end := start
		for end < len(rest) && !separator(rest[end]) {
			end++
		}
		segment := rest[start:end]
		start = end + 1
		switch {
		case segments > 0 && (segment == "" || segment == "." || segment == ".."):
			return nil, whyHost
		case segment == "" || segment == ".":
			continue
		case segment == "..":
			return nil, whyParent
		}
		if wrong := windowsSegment(segment); wrong != "" {
			return nil, wrong
		}
		segments--
		dst = append(dst, '/')
		dst = append(dst, segment...)
	}
	if segments > 0 {
		return nil, whyHost
	}
	return dst, why
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
