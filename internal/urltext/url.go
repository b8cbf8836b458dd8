// Package urltext judges the url test of the content rules (section 4.2): whole
// URLs that every reader takes apart in the same way. Anything else cannot be
// judged, before any member of the operand is looked at.
package urltext

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/internal/glob"
	"countersign/internal/hostname"
	"countersign/internal/percent"
	"countersign/internal/verdict"
)

// maxText is the most bytes of a URL that is judged: what common servers and
// browsers agree to carry.
const maxText = 8 << 10

// Operand is the operand of a url test; at least one member is set. All that are
// set must hold.
type Operand struct {
	Scheme []string // lower case
	Host   []string // globs with the dot as separator, or addresses
	Port   []int    // 1 to 65535
	Path   []string // globs with the slash as separator, held against the path decoded once
	Query  []string // the only names allowed
	Public bool     // no address and no name of this machine or its networks
	// HasQuery tells an empty list of names, which allows no query, from none.
	HasQuery bool
}

// Judge is a compiled operand. It holds no state.
type Judge struct {
	scheme map[string]bool
	host   *glob.Set // nil: not asked for
	addrs  map[netip.Addr]bool
	port   map[int]bool
	path   *glob.Set // nil: not asked for
	query  map[string]bool
	public bool
}

// New compiles an operand. An error is a *verdict.OperandError.
func New(o Operand) (*Judge, error) {
	if len(o.Scheme)+len(o.Host)+len(o.Port)+len(o.Path) == 0 && !o.HasQuery && !o.Public {
		return nil, verdict.BadOperand("", -1, "expected at least one of scheme, host, port, path, query and public")
	}
	j := &Judge{public: o.Public}
	for i, s := range o.Scheme {
		if !isScheme(s) || strings.ToLower(s) != s {
			return nil, verdict.BadOperand("scheme", i, "expected a scheme in lower case, such as https, without the colon")
		}
		add(&j.scheme, s)
	}
	for i, p := range o.Port {
		if p < 1 || p > 65535 {
			return nil, verdict.BadOperand("port", i, "expected a port from 1 to 65535")
		}
		add(&j.port, p)
	}
	if o.HasQuery {
		j.query = map[string]bool{}
	}
	for i, q := range o.Query {
		switch decoded := decodedOnce(q); {
		case q == "":
			return nil, verdict.BadOperand("query", i, "expected the name of a query parameter")
		case decoded != q:
			return nil, verdict.BadOperand("query", i, fmt.Sprintf("names are compared decoded, write %q", decoded))
		}
		j.query[q] = true
	}
	if err := j.hosts(o.Host); err != nil {
		return nil, err
	}
	for i, p := range o.Path {
		if p != "" && p[0] != '/' && p[0] != '{' && !strings.HasPrefix(p, "**") {
			return nil, verdict.BadOperand("path", i, fmt.Sprintf("no path of a URL can match it, write %q", "/"+p))
		}
		if decoded := decodedOnce(p); decoded != p {
			return nil, verdict.BadOperand("path", i, fmt.Sprintf("the path is compared decoded once, write %q (a literal percent sign there is [%%])", decoded))
		}
	}
	var err error
	j.path, err = globs("path", o.Path, '/', pathStep)
	return j, err
}

func add[K comparable](m *map[K]bool, k K) {
	if *m == nil {
		*m = map[K]bool{}
	}
	(*m)[k] = true
}

// hosts compiles the host member: addresses are compared as addresses, names by
// globs over their labels.
func (j *Judge) hosts(hosts []string) error {
	var names []string
	for i, h := range hosts {
		if a, ok := hostname.Addr(h); ok {
			if hostname.AddrText(a) != h {
				return verdict.BadOperand("host", i, fmt.Sprintf("not as it is compared, write %q", hostname.AddrText(a)))
			}
			add(&j.addrs, a)
			continue
		}
		if !strings.ContainsAny(h, `*?[]{}\`) {
			name, err := hostname.Map(h)
			if err != nil {
				return verdict.BadOperand("host", i, err.Error()+", expected a host name, a glob such as *.example.com, or an address ([::1] for IPv6)")
			}
			if name != h {
				return verdict.BadOperand("host", i, fmt.Sprintf("not as it is compared, write %q", name))
			}
		} else if strings.TrimFunc(h, func(c rune) bool {
			return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune(`-.*?[]{}!^,\`, c)
		}) != "" {
			return verdict.BadOperand("host", i, "expected lower-case ASCII letters, digits, hyphens and dots beside the glob signs; names of other letters in their xn-- form")
		}
		names = append(names, h)
	}
	if len(hosts) > 0 && len(names) == 0 {
		return nil
	}
	var err error
	if j.host, err = globs("host", names, '.', hostStep); err != nil {
		var e *verdict.OperandError
		if errors.As(err, &e) && e.Index >= 0 {
			for i, h := range hosts { // its place among the names is another among the hosts
				if h == names[e.Index] {
					e.Index = i
					break
				}
			}
		}
	}
	return err
}

// globs compiles a member's globs. step is the automaton of what is judged (see
// [glob.Glob.Flow]): a glob of which no alternative, or only some, can match would
// be a hole in a refuse.
func globs(member string, patterns []string, sep byte, step func(uint8, glob.Token) (uint8, string)) (*glob.Set, error) {
	var all []*glob.Glob
	for i, p := range patterns {
		g, err := glob.Compile(p, glob.Options{Separator: sep})
		if err == nil {
			err = g.Flow(begins, step)
		}
		if err != nil {
			msg := err.Error()
			if e := (*glob.Error)(nil); errors.As(err, &e) {
				msg = e.Msg
			}
			return nil, verdict.BadOperand(member, i, msg)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return glob.SetOf(all), nil
}

// The states of both automata.
const (
	begins  uint8 = iota // nothing is read
	part                 // a label or a segment begins
	within               // inside one
	special              // behind a hyphen, or the segment is "." so far
	dots                 // the segment is ".." so far
	double               // the label or segment is **
)

// hostStep follows the hosts that are judged: labels of letters, digits and hyphens.
func hostStep(from uint8, t glob.Token) (uint8, string) {
	switch t.Kind {
	case glob.Separator, glob.End:
		switch {
		case from == special:
			return 0, "no label of a host ends in a hyphen"
		case from == part && t.Kind == glob.End:
			return 0, "no host is judged that ends in a dot"
		case from == begins || from == part:
			return 0, "no host has an empty label"
		}
		return part, ""
	case glob.Double:
		return double, ""
	case glob.Literal:
		switch r := t.Rune; {
		case r == '-' && (from == begins || from == part):
			return 0, "no label of a host begins with a hyphen"
		case r == '-':
			return special, ""
		case (r < 'a' || r > 'z') && (r < '0' || r > '9'):
			return 0, "expected lower-case ASCII letters, digits, hyphens and dots beside the glob signs; names of other letters in their xn-- form"
		}
	}
	return within, ""
}

// pathStep follows the paths that are judged: no empty segment but at the end, and
// none of dots.
func pathStep(from uint8, t glob.Token) (uint8, string) {
	switch {
	case from == begins && t.Kind != glob.Separator && t.Kind != glob.Double:
		return 0, "no path of a URL can match it, expected a glob that begins with / or **"
	case t.Kind == glob.Separator || t.Kind == glob.End:
		switch {
		case from == special || from == dots:
			return 0, "no URL is judged that holds a dot segment"
		case from == part && t.Kind == glob.Separator:
			return 0, "no path is judged that holds an empty segment"
		}
		return part, ""
	case t.Kind == glob.Double:
		return double, ""
	case t.Kind != glob.Literal:
		return within, ""
	}
	if why := inPath(t.Rune); why != "" {
		return 0, "no path is judged that holds " + why
	}
	switch dot := t.Rune == '.'; {
	case dot && from == part:
		return special, ""
	case dot && from == special:
		return dots, ""
	}
	return within, ""
}

// decodedOnce is a text of the operand without its percent escapes, as it stands
// where it has none or they are none.
func decodedOnce(s string) string {
	if text, ok := percent.Decode(s); ok && utf8.ValidString(text) {
		return text
	}
	return s
}

// inPath says why no decoded path that is judged holds a character, or nothing.
func inPath(c rune) string {
	switch {
	case ' ' <= c && c < 0x7f && c != '\\':
	case c == utf8.RuneError || unicode.IsControl(c):
		return "an escape in the path that is no character of a path"
	case invisible(c):
		return "an invisible character"
	case c == '\\':
		return "a backslash"
	case percent.StandsForSign([]byte(string(c))):
		return "a character that is a slash, backslash or dot in another form"
	}
	return ""
}

// invisible: does a reader see nothing of the character, or another one?
func invisible(c rune) bool {
	return unicode.In(c, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// blank is what some servers cut off the ends of a segment.
func blank(c rune) bool { return invisible(c) || unicode.Is(unicode.Z, c) }

// defaultPorts are those of the schemes that agents use (WHATWG URL, special schemes).
var defaultPorts = map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}

// Judge holds a text against the operand. Why is "" where the test holds, else a
// reason without the text.
func (j *Judge) Judge(text string) (verdict.Result, string) {
	u, why := split(text)
	if why != "" {
		return verdict.CannotJudge, why
	}
	if j.port != nil && u.port == 0 {
		return verdict.CannotJudge, "no port, and the scheme has no usual one"
	}
	if j.path != nil {
		if strings.Contains(u.path, "//") {
			return verdict.CannotJudge, "an empty segment, which some servers leave out, in the path"
		}
		for _, c := range u.path {
			if why := inPath(c); why != "" {
				return verdict.CannotJudge, why
			}
		}
	}
	var names []string
	if j.query != nil {
		if names, why = queryNames(u.query); why != "" {
			return verdict.CannotJudge, why
		}
	}
	switch {
	case j.scheme != nil && !j.scheme[u.scheme]:
		return verdict.Fails, "another scheme"
	case (j.host != nil || j.addrs != nil) && !j.hostHolds(u):
		return verdict.Fails, "another host"
	case j.port != nil && !j.port[u.port]:
		return verdict.Fails, "another port"
	case j.path != nil && !j.path.Match(u.path):
		return verdict.Fails, "another path"
	case j.public && !u.public():
		return verdict.Fails, "a host that is not of the public internet"
	}
	for _, n := range names {
		if !j.query[n] {
			return verdict.Fails, "another query parameter"
		}
	}
	return verdict.Holds, ""
}

func (j *Judge) hostHolds(u parts) bool {
	host := u.host
	if u.addr.IsValid() {
		if j.addrs[u.addr] {
			return true
		}
		if u.addr.Is4In6() { // [::ffff:10.0.0.5] leads to 10.0.0.5
			v4 := u.addr.Unmap()
			if j.addrs[v4] {
				return true
			}
			host = hostname.AddrText(v4)
		} else if u.addr.Is6() {
			return false
		}
	}
	return j.host != nil && j.host.Match(host)
}

// parts is a URL taken apart.
type parts struct {
	scheme string
	host   string     // mapped, or the text of addr
	addr   netip.Addr // where the host is an address
	port   int        // 0: none given and none usual
	path   string     // decoded once; "/" where there is none
	query  string     // as it stands
}

func (u parts) public() bool {
	if u.addr.IsValid() {
		return hostname.PublicAddr(u.addr)
	}
	return hostname.PublicName(u.host)
}

// split takes an absolute URL apart (RFC 3986, narrowed to what it and the
// WHATWG's readers agree on), or says why it cannot.
func split(text string) (u parts, why string) {
	if len(text) > maxText {
		return u, "a URL that is too long"
	}
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z' || '-' <= c && c <= '9': // most of most URLs
		case c == utf8.RuneError:
			return u, "a character that is none"
		case blank(c):
			return u, "a space, control or invisible character"
		case c == '\\':
			return u, "a backslash"
		case strings.ContainsRune("\"<>^`{|}", c):
			return u, "a character that must be escaped in a URL"
		}
	}
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !isScheme(scheme) {
		return u, "no absolute URL"
	}
	u.scheme = strings.ToLower(scheme)
	if rest, ok = strings.CutPrefix(rest, "//"); !ok {
		return u, "an opaque URL, or one without its two slashes"
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, u.query, _ = strings.Cut(rest, "?")
	authority, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	for _, part := range []string{u.query, fragment} {
		if _, ok := percent.Decode(part); !ok {
			return u, "a percent sign that begins no escape"
		}
	}
	if why = u.authority(authority); why != "" {
		return u, why
	}
	return u, u.setPath(path)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z') && (i == 0 || !('0' <= s[i] && s[i] <= '9') && strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

func (u *parts) authority(a string) (why string) {
	if strings.Contains(a, "@") {
		return "credentials before the host"
	}
	host, port := a, ""
	if i := strings.LastIndexByte(a, ':'); i >= 0 && i > strings.LastIndexByte(a, ']') {
		host, port = a[:i], a[i+1:]
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			return "a port that is none"
		}
		u.port = n
	} else {
		u.port = defaultPorts[u.scheme]
	}
	switch {
	case host == "":
		return "no host"
	case strings.Contains(host, "%"):
		return "an encoded host or a zone"
	}
	var ok bool
	if u.addr, ok = hostname.Addr(host); ok {
		u.host = hostname.AddrText(u.addr)
		return ""
	}
	name, err := hostname.Map(host)
	if err != nil {
		return err.Error()
	}
	u.host = name
	return ""
}

func (u *parts) setPath(path string) (why string) {
	if percent.Hides(path) {
		return "an encoded slash, backslash, dot or NUL in the path"
	}
	var ok bool
	if u.path, ok = percent.Decode(path); !ok {
		return "a percent sign that begins no escape"
	}
	for seg := range strings.SplitSeq(u.path, "/") {
		seg, _, _ = strings.Cut(seg, ";")  // some servers cut a parameter off a segment
		seg = strings.TrimFunc(seg, blank) // and some what is not seen at its ends
		if seg == "." || seg == ".." {
			return "a dot segment"
		}
	}
	if percent.StandsForSign([]byte(u.path)) {
		return "a character that is a slash, backslash or dot in another form"
	}
	return ""
}

// queryNames gives the decoded names of a query's parameters.
func queryNames(query string) (names []string, why string) {
	if strings.Contains(query, ";") {
		return nil, "a semicolon, which some servers take for an ampersand, in the query"
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, _, _ := strings.Cut(pair, "=")
		name, _ = percent.Decode(strings.ReplaceAll(name, "+", " "))
		if !utf8.ValidString(name) {
			return nil, "a query parameter's name that is not UTF-8"
		}
		names = append(names, name)
	}
	return names, ""
}
