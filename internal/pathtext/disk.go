package pathtext

import (
	"strings"

	"countersign/internal/verdict"
)

// Bounds of following a path on the disk.
const (
	maxLinks = 40   // links followed, as Linux does
	maxLooks = 4096 // entries looked at for one path, its links' targets included
)

// Reasons that the disk gives.
const (
	whyNoDisk   = "no disk to follow links on"
	whyUnread   = "a folder or link that cannot be read"
	whyLoop     = "too many symbolic links"
	whyFile     = "a segment below what is no folder"
	whyProc     = "a path through /proc"
	whyReadings = "a path that leads elsewhere when it is cleaned before it is followed"
	whyLinkOut  = "a link that leads out of what its own place is in"
)

// Kind is what a Disk finds at a path.
type Kind uint8

// The kinds of entries.
const (
	Missing Kind = iota
	Folder
	File // anything that is neither a folder nor a link
	Link
)

// Entry is what stands at a path; Target is where a Link leads.
type Entry struct {
	Kind   Kind
	Target string
}

// Disk is what "resolve": "disk" looks at. [OS] is the real one.
//
// The guard looks before the server acts. Whoever can change a folder on the way
// between the two can lead the server elsewhere; only the server could prevent
// that (openat2 with RESOLVE_BENEATH). Hard links and mounts are out of reach:
// two names of one file do not tell of each other. Where the server sees another
// file system than the guard (a container, another user's mounts) following links
// here says nothing about it.
type Disk interface {
	// Look says what stands at an absolute, clean path whose folders are no
	// links. It does not follow a link that stands there. An error means that
	// the guard cannot tell, and the path cannot be judged. It may be called
	// by many judgements at once.
	Look(path string) (Entry, error)
}

// WithDisk gives a judge that follows links on the disk. Without one, a path whose
// operand says "disk" cannot be judged. Other operands take no notice of it.
func (j *Judge) WithDisk(d Disk) *Judge {
	with := *j
	with.disk = d
	return &with
}

// follower follows the paths of one judgement. It remembers what it saw, so that
// one judgement sees one disk as far as it can, and looks once.
type follower struct {
	disk Disk
	seen map[string]Entry
}

func (f *follower) look(path string) (Entry, bool) {
	if e, ok := f.seen[path]; ok {
		return e, true
	}
	e, err := f.disk.Look(path)
	if err != nil {
		return Entry{}, false
	}
	f.seen[path] = e
	return e, true
}

// follow gives the place that the path leads to when each segment in turn is
// followed as the kernel does: a link's target in its place, ".." as the folder
// above the place reached. What does not exist is taken as the folders it would
// be if they were made. The path begins with a slash or is "", for the root.
func (f *follower) follow(path string) (place, why string) {
	pending := appendSegments(nil, path)
	missing, links, looks := 0, 0, 0
	file := false
	for len(pending) > 0 {
		segment := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if file {
			return "", whyFile
		}
		if segment == "." {
			continue
		}
		if segment == ".." {
			if i := strings.LastIndexByte(place, '/'); i >= 0 {
				place = place[:i]
			}
			missing = max(missing-1, 0)
			continue
		}
		next := place + "/" + segment
		if next == "/proc" {
			return "", whyProc
		}
		if missing > 0 {
			place, missing = next, missing+1
			continue
		}
		if looks++; looks > maxLooks {
			return "", whyLoop
		}
		e, ok := f.look(next)
		if !ok {
			return "", whyUnread
		}
		switch e.Kind {
		case Missing:
			place, missing = next, 1
		case Folder:
			place = next
		case File:
			place, file = next, true
		case Link:
			if links++; links > maxLinks {
				return "", whyLoop
			}
			if e.Target == "" || len(e.Target) > MaxBytes {
				return "", whyUnread
			}
			if e.Target[0] == '/' {
				place = ""
			}
			pending = appendSegments(pending, e.Target)
		default:
			return "", whyUnread
		}
	}
	return place, ""
}

// appendSegments puts the segments of a path on a stack, the first on top.
func appendSegments(stack []string, path string) []string {
	for path != "" {
		i := strings.LastIndexByte(path, '/')
		if segment := path[i+1:]; segment != "" {
			stack = append(stack, segment)
		}
		path = path[:max(i, 0)]
	}
	return stack
}

// readings are the places that readers of one path could mean.
type readings struct {
	text    string // the path cleaned, no link followed
	kernel  string // followed as the kernel does
	cleaned string // followed after .. segments are taken out of the text
	own     string // where the last segment stands, if it is a link; else kernel
}

// judgeOnDisk compares the place that the path leads to. The path is not folded.
func (j *Judge) judgeOnDisk(path string, parents bool) (verdict.Result, string) {
	if j.disk == nil {
		return verdict.CannotJudge, whyNoDisk
	}
	f := &follower{disk: j.disk, seen: map[string]Entry{}}
	r, why := f.readings(path, parents)
	if why != "" {
		return verdict.CannotJudge, why
	}
	d := &diskJudge{j: j, f: f, r: r}
	result, why := verdict.Holds, ""
	// As all does: what does not hold outweighs what cannot be judged.
	weigh := func(more verdict.Result, because string) {
		if more == verdict.Fails && result != verdict.Fails || more == verdict.CannotJudge && result == verdict.Holds {
			result, why = more, because
		}
	}
	if j.roots != nil {
		weigh(d.member(d.inRoots, true, whyNotUnder))
	}
	if j.like != nil {
		weigh(d.member(d.inGlobs(j.like), true, whyNotLike))
	}
	if j.notLike != nil {
		weigh(d.member(d.inGlobs(j.notLike), false, whyLike))
	}
	return result, why
}

func (f *follower) readings(path string, parents bool) (r readings, why string) {
	r.text = path
	if parents {
		r.text = withoutParents(path)
	}
	if r.kernel, why = f.follow(path); why != "" {
		return r, why
	}
	r.cleaned = r.kernel
	if parents {
		if r.cleaned, why = f.follow(r.text); why != "" {
			return r, why
		}
	}
	r.own = r.kernel
	folder, last := cut(path)
	if last != "" && last != ".." {
		if folder, why = f.follow(folder); why != "" {
			return r, why
		}
		r.own = folder + "/" + last
	}
	return r, ""
}

// cut splits off the last segment of a path.
func cut(path string) (folder, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// withoutParents cleans a path as path.Clean does.
func withoutParents(path string) string {
	var clean string
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if segment != ".." {
			clean += "/" + segment
			continue
		}
		clean, _ = cut(clean)
	}
	return clean
}

// diskJudge holds the readings of one path against the members of an operand.
type diskJudge struct {
	j *Judge
	f *follower
	r readings
}

// belongs reports whether a place is one that a member lists. followed says that
// the place is one on the disk, which a root that is a link no longer names.
type belongs func(place string, followed bool) (in bool, why string)

// member judges one member: want says whether it holds in what it lists or out of
// it. Where the kernel's reading and the others do not agree, the result is the
// one that refuses; only a path whose text lies outside and that leads inside is
// judged by where it leads.
func (d *diskJudge) member(in belongs, want bool, why string) (verdict.Result, string) {
	kernel, wrong := in(d.r.kernel, true)
	if wrong != "" {
		return verdict.CannotJudge, wrong
	}
	if d.r.cleaned != d.r.kernel {
		cleaned, wrong := in(d.r.cleaned, true)
		if wrong != "" {
			return verdict.CannotJudge, wrong
		}
		if cleaned != kernel {
			return d.j.doubt(whyReadings)
		}
	}
	if !kernel {
		text, wrong := in(d.r.text, false)
		if wrong != "" {
			return verdict.CannotJudge, wrong
		}
		own := false
		if d.r.own != d.r.kernel {
			if own, wrong = in(d.r.own, true); wrong != "" {
				return verdict.CannotJudge, wrong
			}
		}
		if text || own {
			return d.j.doubt(whyLinkOut)
		}
	}
	if kernel != want {
		return verdict.Fails, why
	}
	return verdict.Holds, ""
}

// inRoots is belongs for under. A root that cannot be followed decides nothing
// unless no other holds.
func (d *diskJudge) inRoots(place string, followed bool) (bool, string) {
	place = d.j.folded(place)
	if !followed && d.j.roots.hold(place) {
		return true, ""
	}
	unread := ""
	for _, root := range d.j.folders {
		at, why := d.f.follow(root)
		switch {
		case why != "":
			unread = why
		case under(place, d.j.folded(at)):
			return true, ""
		}
	}
	return false, unread
}

// inGlobs is belongs for a set of globs. The literal folders that a glob begins
// with are followed like a root: of /srv/app/** the place of /srv/app.
func (d *diskJudge) inGlobs(set *globSet) belongs {
	return func(place string, _ bool) (bool, string) {
		place = d.j.folded(place)
		if d.j.matches(set, place) {
			return true, ""
		}
		unread := ""
		for i, g := range set.Globs() {
			folder := set.folders[i]
			if folder == "" {
				continue
			}
			at, why := d.f.follow(folder)
			if why != "" {
				unread = why
				continue
			}
			if at == folder {
				continue
			}
			at, folder = d.j.folded(at), d.j.folded(folder)
			if under(place, at) && g.Match(folder+place[len(at):]) {
				return true, ""
			}
		}
		return false, unread
	}
}
