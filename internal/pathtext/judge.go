package pathtext

import (
	"slices"
	"unsafe"

	"countersign/internal/verdict"
)

// MaxBytes is the longest text that is judged: the PATH_MAX of Linux.
const MaxBytes = 4096

// Reasons for which a path does not hold, or is not sure to.
const (
	whyNotUnder = "under none of the roots"
	whyNotLike  = "like none of the globs"
	whyLike     = "like a glob of notLike"
	whyShare    = "on a network share that may be another name of a listed one"
)

// Judge is a compiled operand. It is immutable and safe for concurrent use.
type Judge struct {
	o       Operand
	windows bool
	fold    bool
	onDisk  bool
	plain   bool // POSIX, as text, without fold: a plain text is compared where it stands
	unc     bool // a root, glob or base is a network path
	base    string
	hasBase bool

	roots   *roots   // of under, folded; nil if it is not given
	folders []string // of under, not folded
	like    *globSet
	notLike *globSet
	shares  []string // "//server/share" of all roots, globs and base, folded
	anyHost bool     // a glob names a server or share by signs

	disk Disk
}

// Operand gives what the judge was made of. The caller does not change its lists.
func (j *Judge) Operand() Operand { return j.o }

// Judge judges a text. why says, without the text, what decided; it is empty if
// the test holds. Nothing is allocated for a text that is plain: ASCII, clean, of
// at most some hundred bytes if it has a base or the operand folds.
func (j *Judge) Judge(text string) (result verdict.Result, why string) {
	if j.plain && plain(text) {
		if len(text) == 1 {
			text = "" // the root
		}
		return j.compare(text)
	}
	return j.judge(text)
}

// JudgeBytes is Judge without the text being copied.
func (j *Judge) JudgeBytes(text []byte) (result verdict.Result, why string) {
	return j.Judge(view(text))
}

// view reads bytes as a string. The string must not outlive the next write.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// plain reports whether the text is, as it stands, an absolute and clean POSIX
// path of printable ASCII without a percent sign or backslash.
func plain(text string) bool {
	n := len(text)
	if n == 0 || n > MaxBytes || text[0] != '/' || n > 1 && text[n-1] == '/' {
		return false
	}
	for i := 1; i < n; i++ {
		switch c := text[i]; {
		case c > '/' && c < 0x7f && c != '\\':
		case c == '/':
			if text[i-1] == '/' {
				return false
			}
		case c == '.':
			if text[i-1] == '/' && dots(text[i:]) {
				return false
			}
		case c < 0x20 || c >= 0x7f || c == '\\' || c == '%':
			return false
		}
	}
	return true
}

// dots reports whether a text begins with a segment "." or "..".
func dots(text string) bool {
	for i := 1; i < len(text) && i < 3; i++ {
		if text[i] == '/' {
			return true
		}
		if text[i] != '.' {
			return false
		}
	}
	return len(text) < 3
}

// judge is Judge for every text.
func (j *Judge) judge(text string) (verdict.Result, string) {
	var space [512]byte
	path, parents, why := j.read(space[:0], text, false)
	if why != "" {
		return verdict.CannotJudge, why
	}
	if j.onDisk {
		return j.judgeOnDisk(string(path), parents)
	}
	if j.fold {
		path = foldInPlace(path)
	}
	return j.compare(view(path))
}

// compare holds a path, folded where the operand folds, against the members.
func (j *Judge) compare(path string) (verdict.Result, string) {
	unsure := j.unc && !j.knownShare(path)
	if j.roots != nil && !j.roots.hold(path) {
		return j.fails(unsure, whyNotUnder)
	}
	if j.like != nil && !j.matches(j.like, path) {
		return j.fails(unsure, whyNotLike)
	}
	if j.notLike != nil {
		if j.matches(j.notLike, path) {
			return verdict.Fails, whyLike
		}
		if unsure {
			return j.doubt(whyShare)
		}
	}
	return verdict.Holds, ""
}

// fails gives the result of a member that does not hold, on the path as it reads.
func (j *Judge) fails(unsure bool, why string) (verdict.Result, string) {
	if unsure {
		return j.doubt(whyShare)
	}
	return verdict.Fails, why
}

// doubt gives the result where two readings of the path differ: the one that
// refuses. See Operand.Required.
func (j *Judge) doubt(why string) (verdict.Result, string) {
	if j.o.Required {
		return verdict.Fails, why
	}
	return verdict.CannotJudge, why
}

// matches reports whether any glob matches the path.
func (j *Judge) matches(set *globSet, path string) bool {
	switch {
	case path == "":
		return set.Match("/")
	case !j.windows:
		return set.Match(path)
	case len(path) == 2:
		path += "/" // the root of a drive
	}
	if set.Match(path) {
		return true
	}
	if j.fold || path[1] != ':' {
		return false
	}
	// The drive letter is compared without case.
	var space [512]byte
	other := append(space[:0], path...)
	other[0] |= 0x20
	return set.Match(view(other))
}

// knownShare reports whether the path lies on a drive, or on a share that the
// operand names. One share has many names (of its server, its folders, an
// administrator's), so of any other one the text cannot tell where it leads.
func (j *Judge) knownShare(path string) bool {
	share := shareOf(path)
	return share == "" || j.anyHost || slices.Contains(j.shares, share)
}

// folded gives a path as the operand compares it.
func (j *Judge) folded(path string) string {
	if j.fold {
		return foldPath(path)
	}
	return path
}
