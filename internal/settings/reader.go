package settings

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// Forms that stand in several members. They are those of the record format.
var (
	shortForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	unitForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,15}$`)
	agentForm   = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)
	envForm     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	hashForm    = regexp.MustCompile(`^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$`) // 32 bytes in base64url
	pointerForm = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)
	methodForm  = regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_$./-]{0,127}$`)
)

const (
	maxText = 4096 // bytes of a path, an argument, a URL: what systems take for a path
	maxList = 256  // entries of a list where no other bound is given
)

// at is a value and the pointer of its place.
type at struct {
	v   ijson.Value
	ptr string
}

func (p at) member(name string) at {
	return at{p.v.Member(name), p.ptr + "/" + problem.EscapePointer(name)}
}

// reader gathers the problems of one file while its members are read.
type reader struct {
	dir      string
	problems []Problem
	dropped  int // problems that are counted alone
	warnings []Problem
	blanks   map[int]bool      // offsets of placeholders, which are told once, as such
	taken    map[string]string // path → pointer of the member that has it for itself
	copied   string            // executor.copy
}

// fault notes a problem at an offset, unless a placeholder stands there.
func (r *reader) fault(offset int, ptr, format string, args ...any) {
	if !r.blanks[offset] {
		r.note(offset, ptr, "", format, args...)
	}
}

func (r *reader) wrong(p at, format string, args ...any) {
	r.fault(p.v.Start(), p.ptr, format, args...)
}

func (r *reader) warn(p at, format string, args ...any) {
	r.warnings = append(r.warnings, Problem{Offset: p.v.Start(), Pointer: p.ptr, Code: CodeWarning, Msg: fmt.Sprintf(format, args...)})
}

// notBuilt notes that a member's part is not in this version. The member's form
// is read all the same, so that its faults are told too.
func (r *reader) notBuilt(p at, part string) {
	if p.v.Exists() {
		r.note(p.v.Start(), p.ptr, CodeNotBuilt, "%s not built into this version: take the member out", part)
	}
}

// kindName names a value's kind as problems do.
func kindName(v ijson.Value) string {
	switch v.Kind() {
	case ijson.Null:
		return "null"
	case ijson.True, ijson.False:
		return "a boolean"
	case ijson.Number:
		return "a number"
	case ijson.String:
		return "a text"
	case ijson.Array:
		return "a list"
	case ijson.Object:
		return "an object"
	}
	return "nothing"
}

// field is one member an object may have.
type field struct {
	name   string
	older  string // an older name it is read under as well
	needed bool
	read   func(p at)
}

// object reads the members of an object and refuses those it does not know.
func (r *reader) object(p at, fields ...field) bool {
	if p.v.Kind() != ijson.Object {
		r.wrong(p, "%s, expected an object", kindName(p.v))
		return false
	}
	seen := make(map[string]string, len(fields))
	for name, value := range p.v.Members() {
		member := name.Text()
		m := at{value, p.ptr + "/" + problem.EscapePointer(member)}
		i := slices.IndexFunc(fields, func(f field) bool {
			return f.name == member || f.older != "" && f.older == member
		})
		if i < 0 {
			r.fault(name.Start(), m.ptr, "unknown member %q, %s", member, suggest(member, fields))
			continue
		}
		if other, twice := seen[fields[i].name]; twice {
			r.fault(name.Start(), m.ptr, "%q and %q are one member under two names: keep %q", other, member, fields[i].name)
			continue
		}
		seen[fields[i].name] = member
		fields[i].read(m)
	}
	for _, f := range fields {
		if _, ok := seen[f.name]; !ok && f.needed {
			r.wrong(p, "the member %q is missing", f.name)
		}
	}
	return true
}

// suggest names the member that was probably meant, else all there are.
func suggest(name string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	if problem.Nearest(name, names) == "" && len(names) > 12 {
		return "no known one is near it"
	}
	return problem.Instead(name, names)
}

// text reads a text of 1 to most code points.
func (r *reader) text(p at, most int) (string, bool) {
	if p.v.Kind() != ijson.String {
		r.wrong(p, "%s, expected a text", kindName(p.v))
		return "", false
	}
	s := p.v.Text()
	if n := utf8.RuneCountInString(s); n < 1 || n > most {
		r.wrong(p, "a text of %d characters, expected 1 to %d", n, most)
		return "", false
	}
	if strings.ContainsRune(s, 0) {
		r.wrong(p, "a text with a NUL in it, expected none")
		return "", false
	}
	return s, !r.blanks[p.v.Start()]
}

// form reads a text of a form that a regular expression gives.
func (r *reader) form(p at, form *regexp.Regexp, expected string) (string, bool) {
	if p.v.Kind() != ijson.String {
		r.wrong(p, "%s, expected %s", kindName(p.v), expected)
		return "", false
	}
	s := p.v.Text()
	if !form.MatchString(s) {
		r.wrong(p, "expected %s", expected)
		return "", false
	}
	return s, !r.blanks[p.v.Start()]
}

// oneOf reads a text that is one of a few words.
func (r *reader) oneOf(p at, words ...string) (string, bool) {
	expected := "expected " + problem.OneOf(words)
	if p.v.Kind() != ijson.String {
		r.wrong(p, "%s, %s", kindName(p.v), expected)
		return "", false
	}
	s := p.v.Text()
	if !slices.Contains(words, s) {
		r.wrong(p, "unknown value, %s", expected)
		return "", false
	}
	return s, true
}

// whole reads a whole number within bounds.
func (r *reader) whole(p at, least, most int) (int, bool) {
	n, ok := p.v.Int()
	if p.v.Kind() != ijson.Number || !ok {
		r.wrong(p, "%s, expected a whole number from %d to %d", notWhole(p.v), least, most)
		return 0, false
	}
	if n < int64(least) || n > int64(most) {
		r.wrong(p, "%d, expected a whole number from %d to %d", n, least, most)
		return 0, false
	}
	return int(n), true
}

func notWhole(v ijson.Value) string {
	if v.Kind() == ijson.Number {
		return "a number that is not whole or too large"
	}
	return kindName(v)
}

func (r *reader) boolean(p at) (value, ok bool) {
	if k := p.v.Kind(); k != ijson.True && k != ijson.False {
		r.wrong(p, "%s, expected true or false", kindName(p.v))
		return false, false
	}
	return p.v.Bool(), true
}

// list reads a list of least to most entries; ok is false if it is none.
func (r *reader) list(p at, least, most int, entry func(at)) bool {
	if p.v.Kind() != ijson.Array {
		r.wrong(p, "%s, expected a list", kindName(p.v))
		return false
	}
	if n := p.v.Len(); n < least || n > most {
		r.wrong(p, "a list of %d, expected %d to %d entries", n, least, most)
		return false
	}
	i := 0
	for e := range p.v.Elements() {
		entry(at{e, p.ptr + "/" + strconv.Itoa(i)})
		i++
	}
	return true
}

// named reads an object whose member names are chosen by the person.
func (r *reader) named(p at, least, most int, entry func(name ijson.Value, p at)) bool {
	if p.v.Kind() != ijson.Object {
		r.wrong(p, "%s, expected an object", kindName(p.v))
		return false
	}
	if n := p.v.Len(); n < least || n > most {
		r.wrong(p, "an object of %d members, expected %d to %d", n, least, most)
		return false
	}
	for name, value := range p.v.Members() {
		entry(name, at{value, p.ptr + "/" + problem.EscapePointer(name.Text())})
	}
	return true
}

// distinct reads a list of texts, none of them twice.
func (r *reader) distinct(p at, least, most int, entry func(at) (string, bool)) []string {
	var out []string
	r.list(p, least, most, func(e at) {
		s, ok := entry(e)
		if !ok {
			return
		}
		if slices.Contains(out, s) {
			r.wrong(e, "stands in the list twice")
			return
		}
		out = append(out, s)
	})
	return out
}

// path reads a path and joins it to the settings file's folder.
func (r *reader) path(p at) (string, bool) {
	s, ok := r.text(p, maxText)
	if !ok {
		return "", false
	}
	if strings.HasPrefix(s, "~") {
		r.wrong(p, "begins with ~, which only a shell reads: expected a path from the settings file's folder, or an absolute one")
		return "", false
	}
	return r.join(s), true
}

func (r *reader) join(s string) string {
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(r.dir, s)
}

// own is the path of a file that no other member may name.
func (r *reader) own(p at) (string, bool) {
	s, ok := r.path(p)
	if !ok {
		return "", false
	}
	return s, r.take(p, s)
}

// take notes that a member has a file for itself.
func (r *reader) take(p at, path string) bool {
	if other, twice := r.taken[path]; twice {
		r.wrong(p, "the file of %s too, expected a file of its own", other)
		return false
	}
	r.taken[path] = p.ptr
	return true
}

// keySource reads {"file": path} or {"env": NAME}.
func (r *reader) keySource(p at) (KeySource, bool) {
	var k KeySource
	ok := r.object(p,
		field{name: "file", read: func(p at) { k.File, _ = r.own(p) }},
		field{name: "env", read: func(p at) { k.Env, _ = r.form(p, envForm, "the name of an environment variable") }})
	if ok && p.v.Member("file").Exists() == p.v.Member("env").Exists() {
		r.wrong(p, `expected exactly one of "file" and "env"`)
		return k, false
	}
	return k, ok
}

// fileOnly reads {"file": path} of a credential.
func (r *reader) fileOnly(p at) string {
	var file string
	r.object(p, field{name: "file", needed: true, read: func(p at) { file, _ = r.path(p) }})
	return file
}

func (r *reader) tls(p at) *TLS {
	t := new(TLS)
	r.object(p,
		field{name: "cert", needed: true, read: func(p at) { t.Cert, _ = r.path(p) }},
		field{name: "key", needed: true, read: func(p at) { t.Key, _ = r.path(p) }})
	return t
}

// httpURL reads an absolute http or https URL without credentials or fragment.
func (r *reader) httpURL(p at) (*url.URL, bool) {
	s, ok := r.text(p, maxText)
	if !ok {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		r.wrong(p, "expected an http or https URL with a host and no fragment")
		return nil, false
	}
	if u.User != nil {
		r.wrong(p, "a URL with a user or password in it, expected none: a credential belongs in a file")
		return nil, false
	}
	return u, true
}

// loopback says whether a host name or address is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// address reads host:port.
func (r *reader) address(p at) (string, bool) {
	s, ok := r.text(p, 300)
	if !ok {
		return "", false
	}
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || host == "" || n == 0 {
		r.wrong(p, `expected an address and a port, such as "127.0.0.1:8797"`)
		return "", false
	}
	if !loopback(host) {
		r.warn(p, "listens on an address that other machines may reach")
	}
	return s, true
}
