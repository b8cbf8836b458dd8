package pathtext

import (
	"errors"
	"path"
	"strings"

	"countersign/internal/glob"
)

// globSet is like or notLike.
type globSet struct {
	*glob.Set
	folders []string // of each glob, the literal folders it begins with, not folded
}

// globs compiles like or notLike.
func (c *compiler) globs(member string, patterns []string) *globSet {
	if patterns == nil {
		return nil
	}
	if len(patterns) == 0 {
		c.fault(member, -1, "an empty list; expected at least one glob")
	}
	var globs []*glob.Glob
	var folders []string
	for i, pattern := range patterns {
		g, exact, err := c.j.glob(pattern)
		if err != nil {
			c.fault(member, i, "%q: %s%s", pattern, message(err), c.j.suggestGlob(pattern))
			continue
		}
		globs = append(globs, g)
		folders = append(folders, exact.Folder())
		if strings.HasPrefix(pattern, "//") {
			c.j.unc = true
			if share := shareOf(exact.Folder()); share != "" {
				c.j.shares = append(c.j.shares, c.j.folded(share))
			} else {
				c.j.anyHost = true
			}
		}
	}
	return &globSet{Set: glob.SetOf(globs), folders: folders}
}

// message is the text of a glob's fault, with its place.
func message(err error) string {
	var e *glob.Error
	if errors.As(err, &e) && e.Offset > 0 {
		return e.Error()
	}
	if e != nil {
		return e.Msg
	}
	return err.Error()
}

// glob compiles one pattern, folded and as it is written, and sees to it that
// every alternative can match a clean path.
func (j *Judge) glob(pattern string) (folded, exact *glob.Glob, err error) {
	exact, err = glob.Compile(pattern, glob.Options{Separator: '/'})
	if err != nil {
		return nil, nil, err
	}
	if err := exact.Flow(0, j.cleanStep()); err != nil {
		return nil, nil, err
	}
	if escapes(pattern) {
		return nil, nil, &glob.Error{Msg: "no path is judged that holds " + whyEscape}
	}
	// What the signs stand for is tried on one text.
	example := exact.Example()
	switch {
	case strings.HasPrefix(example, "/"):
	case !j.windows:
		example = "/" + example
	case len(example) < 2 || example[1] != ':':
		example = "C:/" + example
	}
	if _, _, why := j.read(nil, example, true); why != "" {
		return nil, nil, &glob.Error{Msg: "no path is judged that holds " + why}
	}
	if !j.fold {
		return exact, exact, nil
	}
	folded, err = glob.Compile(pattern, glob.Options{Separator: '/', Fold: foldPath, FoldClasses: true})
	return folded, exact, err
}

// The states of the automaton that follows a glob through all its alternatives.
const (
	globBegins    uint8 = iota // nothing is read
	globRoot                   // behind the first slash of an absolute path
	globSegment                // behind another slash
	globDot                    // the segment is "." so far
	globDots                   // the segment is ".." so far
	globName                   // the segment is a name
	globTrailing               // the same, ending in a dot or space
	globDouble                 // the segment is **
	globLetter                 // Windows: behind the drive letter
	globColon                  // Windows: behind its colon
	globSlash                  // Windows: behind the first slash of a network path
	globNetwork                // Windows: behind the second
	globServer                 // Windows: in the server's name
	globShare                  // Windows: behind the server's name
	globShareName              // Windows: in the share's name
)

// cleanStep gives the automaton of clean paths.
func (j *Judge) cleanStep() func(uint8, glob.Token) (uint8, string) {
	absolute := `expected a glob of whole paths, which begins with / or **`
	if j.windows {
		absolute = `expected a glob of whole paths, which begins with a drive as C:/, with //server/share or with **`
	}
	return func(from uint8, t glob.Token) (uint8, string) {
		if t.Kind == glob.Literal && (!j.windows || t.Rune != ':') {
			if why := j.inGlob(t.Rune); why != "" {
				return 0, "no path is judged that holds " + why
			}
		}
		name := t.Kind != glob.Separator && t.Kind != glob.End && t.Kind != glob.Double
		colon := t.Kind == glob.Literal && t.Rune == ':'
		switch from {
		case globBegins:
			switch {
			case t.Kind == glob.Double:
				return globDouble, ""
			case !j.windows && t.Kind == glob.Separator:
				return globRoot, ""
			case j.windows && t.Kind == glob.Separator:
				return globSlash, ""
			case j.windows && (t.Kind == glob.Any || t.Kind == glob.Class || t.Kind == glob.Literal && t.Rune < 0x80 && letter(byte(t.Rune))):
				return globLetter, ""
			}
			return 0, absolute
		case globLetter:
			if colon {
				return globColon, ""
			}
			return 0, absolute
		case globColon:
			if t.Kind == glob.Separator {
				return globRoot, ""
			}
			return 0, absolute
		case globSlash:
			if t.Kind == glob.Separator {
				return globNetwork, ""
			}
			return 0, absolute
		case globNetwork, globServer:
			switch {
			case name && !colon:
				return globServer, ""
			case from == globServer && t.Kind == glob.Separator:
				return globShare, ""
			}
			return 0, absolute
		case globShare, globShareName:
			switch {
			case name && !colon:
				return globShareName, ""
			case from == globShareName && t.Kind == glob.Separator:
				return globSegment, ""
			case from == globShareName && t.Kind == glob.End:
				return globName, ""
			case from == globShare && t.Kind == glob.Double:
				return globDouble, ""
			}
			return 0, absolute
		}
		if colon && j.windows {
			return 0, "no path is judged that holds " + whyColon
		}
		if t.Kind == glob.Separator || t.Kind == glob.End {
			switch {
			case from == globRoot && t.Kind == glob.End, from == globDouble && t.Kind == glob.End:
				return globName, ""
			case from == globDot:
				return 0, "a clean path has no . segment"
			case from == globDots:
				return 0, "a clean path has no .. segment"
			case from == globTrailing:
				return 0, "no path is judged that holds " + whyTrailing
			case (from == globRoot || from == globSegment) && t.Kind == glob.Separator:
				return 0, "a clean path has no doubled slash"
			case from == globSegment:
				return 0, "a clean path has no slash at its end"
			}
			return globSegment, ""
		}
		if t.Kind == glob.Double {
			return globDouble, ""
		}
		begins := from == globRoot || from == globSegment
		switch dot := t.Kind == glob.Literal && t.Rune == '.'; {
		case dot && begins:
			return globDot, ""
		case dot && from == globDot:
			return globDots, ""
		case j.windows && t.Kind == glob.Literal && (dot || t.Rune == ' '):
			return globTrailing, ""
		}
		return globName, ""
	}
}

// inGlob says why no path holds the character, or nothing.
func (j *Judge) inGlob(r rune) string {
	if why := character(r, false); why != "" {
		return why // a backslash is none of a glob's in either style
	}
	if j.windows && r < 0x80 && strings.ContainsRune(`<>"|?*`, r) {
		return whyForbidden
	}
	return ""
}

// suggestGlob gives the clean spelling of a faulty glob as a clause, or nothing.
func (j *Judge) suggestGlob(pattern string) string {
	if pattern == "~" || strings.HasPrefix(pattern, "~/") {
		home := "/home/*"
		if j.windows {
			home = "C:/Users/*"
		}
		return `; write the home folder out, such as "` + home + pattern[1:] + `"`
	}
	var better []string
	try := func(candidate string) {
		if _, _, err := j.glob(candidate); err == nil && candidate != pattern {
			better = append(better, candidate)
		}
	}
	clean := cleanPattern(pattern)
	switch {
	case j.windows && strings.Contains(pattern, `\`):
		try(cleanPattern(strings.ReplaceAll(pattern, `\`, "/")))
	case strings.HasPrefix(pattern, "/") && j.windows:
		try(clean)
		try("C:" + clean)
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "**"):
		try(clean)
	default:
		try(clean)
		if j.windows {
			try("C:/" + clean)
		} else {
			try("/" + clean)
		}
		try("**/" + clean)
	}
	switch len(better) {
	case 0:
		return ""
	case 1:
		return `; write "` + better[0] + `"`
	}
	return `; write "` + better[0] + `", or "` + better[1] + `" for any folder`
}

// cleanPattern takes doubled slashes, dot segments and a slash at the end out of a
// pattern, as far as that can be told from its text.
func cleanPattern(pattern string) string {
	network := strings.HasPrefix(pattern, "//") && !strings.HasPrefix(pattern, "///")
	clean := path.Clean(pattern)
	if !strings.HasPrefix(pattern, "/") {
		clean = strings.TrimPrefix(path.Clean("/"+pattern), "/")
	}
	if network {
		return "/" + clean
	}
	return clean
}

// suggestFolder gives the clean spelling of a root or base, or "".
func (j *Judge) suggestFolder(name string) string {
	if strings.HasPrefix(name, "~") || path.Clean(name) == "." || strings.HasPrefix(path.Clean(name), "..") {
		return ""
	}
	written := name
	if len(name) >= len("file://") && strings.EqualFold(name[:len("file://")], "file://") {
		name = name[len("file://"):]
	}
	candidate := path.Clean("/" + name)
	if j.windows {
		slashes := strings.ReplaceAll(name, `\`, "/")
		switch {
		case strings.HasPrefix(slashes, "//"):
			candidate = "/" + path.Clean(slashes)
		case len(slashes) > 1 && slashes[1] == ':':
			candidate = slashes[:2] + path.Clean("/"+slashes[2:])
		default:
			candidate = "C:" + path.Clean("/"+slashes)
		}
		if !strings.Contains(name, "/") || strings.Contains(name, `\`) {
			candidate = strings.ReplaceAll(candidate, "/", `\`)
		}
	}
	if _, ok := j.cleanFolder(candidate); !ok || candidate == written {
		return ""
	}
	return candidate
}

// cleanFolder reads a root or base and reports whether it is absolute and clean.
func (j *Judge) cleanFolder(name string) (string, bool) {
	absolute := &Judge{windows: j.windows}
	read, _, why := absolute.read(nil, name, true)
	if why != "" {
		return "", false
	}
	clean := string(read)
	if !j.windows {
		return clean, name == clean || name == "/"
	}
	spelt := strings.ReplaceAll(name, `\`, "/")
	if letter(spelt[0]) {
		spelt = string(spelt[0]&^0x20) + spelt[1:]
	}
	return clean, spelt == clean || len(clean) == 2 && spelt == clean+"/"
}
