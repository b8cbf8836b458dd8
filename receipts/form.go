package receipts

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/ijson"
)

// Bounds of the forms every record shares (the table at the head of the format).
const (
	MaxInt      = 1<<53 - 1 // the largest int
	maxName     = 200       // code points of a name
	maxShort    = 64        // characters of a short
	maxUnit     = 16        // characters of a unit
	idBytes     = 16        // random bytes of an id
	digestBytes = 32        // bytes of a SHA-256
	MaxDetails  = 32        // details of a stub, approval or denial
	maxActions  = 64        // actions of a slip, pass or terms
	maxLimits   = 64        // limits of a slip or pass
	maxNever    = 16        // names in never
	maxMembers  = 16        // no object of the format has more members
)

// NewID draws the id of a new record: 16 random bytes in base64url.
func NewID(rand io.Reader) (string, error) {
	var b [idBytes]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return "", err
	}
	return encodeBase64url(b[:]), nil
}

func isID(s string) bool     { return isBase64urlOf(s, idBytes) }
func isDigest(s string) bool { return isBase64urlOf(s, digestBytes) }

// isText says whether s is well-formed text of least to most code points.
func isText(s string, least, most int) bool {
	if !utf8.ValidString(s) {
		return false
	}
	n := utf8.RuneCountInString(s)
	return n >= least && n <= most
}

// isShort: [a-z0-9][a-z0-9._-]{0,63}
func isShort(s string) bool {
	if s == "" || len(s) > maxShort {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// isUnit: [A-Za-z0-9][A-Za-z0-9._-]{0,15}. Folding s to lower case first would let
// in the letters that fold to an ASCII one, such as the sign for kelvin.
func isUnit(s string) bool {
	if s == "" || len(s) > maxUnit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// isAction is a short that, if it begins "provared.", is on the shared list.
func isAction(s string) bool {
	return isShort(s) && (!strings.HasPrefix(s, sharedPrefix) || kindOfAction(s) != "")
}

// members reads the members of one object of a record. The first thing wrong is
// kept and everything after it reads as empty, so that a reader states its
// members one after the other and asks for err once.
type members struct {
	what  string // how messages name the object
	names []string
	vals  [maxMembers]ijson.Value
	err   error
}

// open takes v's members apart. Those of required must all be there; no others
// than those of required and optional may be. The two are space-separated.
func open(v ijson.Value, what, required, optional string) *members {
	m := &members{what: what}
	if v.Kind() != ijson.Object {
		m.failf("%s: must be an object", what)
		return m
	}
	m.names = strings.Fields(required)
	needed := len(m.names)
	m.names = append(m.names, strings.Fields(optional)...)
	for name, val := range v.Members() {
		i := m.index(name)
		if i < 0 {
			m.failf("%s: holds a member that is not known", what)
			return m
		}
		m.vals[i] = val
	}
	for i, name := range m.names[:needed] {
		if !m.vals[i].Exists() {
			m.failf("%s: %q is missing", what, name)
			return m
		}
	}
	return m
}

func (m *members) index(name ijson.Value) int {
	for i, n := range m.names {
		if name.Is(n) {
			return i
		}
	}
	return -1
}

// failf keeps a bad-field, unless something is kept already.
func (m *members) failf(format string, args ...any) {
	m.fail(problem(CodeBadField, format, args...))
}

func (m *members) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// value is the member of this name, absent when it is not there or when reading
// has failed.
func (m *members) value(name string) ijson.Value {
	if m.err != nil {
		return ijson.Value{}
	}
	for i, n := range m.names {
		if n == name {
			return m.vals[i]
		}
	}
	return ijson.Value{}
}

func (m *members) has(name string) bool { return m.value(name).Exists() }

// text reads a member that must pass is, where it is there at all.
func (m *members) text(name, want string, is func(string) bool) string {
	v := m.value(name)
	if !v.Exists() {
		return ""
	}
	s := v.Text()
	if v.Kind() != ijson.String || !is(s) {
		m.failf("%s: must be %s", m.path(name), want)
		return ""
	}
	return s
}

func (m *members) path(name string) string {
	if strings.Contains(m.what, ".") || strings.HasSuffix(m.what, "]") {
		return m.what + "." + name
	}
	switch m.what { // members of members; a content's own stand alone
	case "amount", "issuer", "agent", "by", "to", "for":
		return m.what + "." + name
	}
	return name
}

const (
	wantID     = "16 random bytes in base64url, 22 characters"
	wantDigest = "a SHA-256 fingerprint in base64url, 43 characters"
	wantName   = "text of 1 to 200 characters"
	wantShort  = "1 to 64 lower-case letters, digits, full stops, underscores and hyphens, the first a letter or digit"
	wantAction = wantShort + "; names that begin \"provared.\" only from the shared list"
	wantUnit   = "1 to 16 letters, digits, full stops, underscores and hyphens, the first a letter or digit"
	wantTime   = "a time written YYYY-MM-DDTHH:MM:SSZ"
)

func (m *members) id(name string) string     { return m.text(name, wantID, isID) }
func (m *members) digest(name string) string { return m.text(name, wantDigest, isDigest) }
func (m *members) short(name string) string  { return m.text(name, wantShort, isShort) }
func (m *members) action(name string) string { return m.text(name, wantAction, isAction) }
func (m *members) unit(name string) string   { return m.text(name, wantUnit, isUnit) }
func (m *members) name(name string) string {
	return m.text(name, wantName, func(s string) bool { return isText(s, 1, maxName) })
}

func (m *members) time(name string) Time {
	t, _ := ParseTime(m.text(name, wantTime, func(s string) bool { _, ok := ParseTime(s); return ok }))
	return t
}

// int reads a whole number of least to most.
func (m *members) int(name string, least, most int64) int64 {
	v := m.value(name)
	if !v.Exists() {
		return 0
	}
	n, ok := v.Int()
	if !ok || n < least || n > most {
		m.failf("%s: must be a whole number, %d to %d", m.path(name), least, most)
		return 0
	}
	return n
}

// list gives the elements of a member that must be a list of least to most.
func (m *members) list(name string, least, most int) []ijson.Value {
	v := m.value(name)
	if !v.Exists() {
		return nil
	}
	if v.Kind() != ijson.Array || v.Len() < least || v.Len() > most {
		m.failf("%s: must be a list of %d to %d", m.path(name), least, most)
		return nil
	}
	items := make([]ijson.Value, 0, v.Len())
	for e := range v.Elements() {
		items = append(items, e)
	}
	return items
}

// texts reads a list of distinct texts that pass is.
func (m *members) texts(name string, least, most int, want string, is func(string) bool) []string {
	items := m.list(name, least, most)
	if m.err != nil {
		return nil
	}
	out := make([]string, 0, len(items))
	for i, e := range items {
		s := e.Text()
		if e.Kind() != ijson.String || !is(s) {
			m.failf("%s[%d]: must be %s", m.path(name), i, want)
			return nil
		}
		for _, before := range out {
			if before == s {
				m.failf("%s[%d]: stands twice in the list", m.path(name), i)
				return nil
			}
		}
		out = append(out, s)
	}
	return out
}

// Amount is a whole number of some unit, such as 45 GBP.
type Amount struct {
	Unit  string
	Value int64 // 0 to MaxInt
}

func (a Amount) append(dst []byte) []byte {
	dst = append(dst, `{"unit":`...)
	dst = ijson.AppendString(dst, a.Unit)
	dst = append(dst, `,"value":`...)
	return append(strconv.AppendInt(dst, a.Value, 10), '}')
}

func (m *members) amount(name string) *Amount {
	v := m.value(name)
	if !v.Exists() {
		return nil
	}
	in := open(v, name, "unit value", "")
	a := &Amount{Unit: in.unit("unit"), Value: in.int("value", 0, MaxInt)}
	if in.err != nil {
		m.fail(in.err)
		return nil
	}
	return a
}

// Detail is a name, which proves nothing, and the SHA-256 in base64url of what it
// names.
type Detail struct {
	Name   string
	SHA256 string
}

func appendDetails(dst []byte, details []Detail) []byte {
	dst = append(dst, '[')
	for i, d := range details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = ijson.AppendString(dst, d.Name)
		dst = appendText(dst, `,"sha256":`, d.SHA256)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func (m *members) details(name string, least, most int) []Detail {
	items := m.list(name, least, most)
	if items == nil || m.err != nil {
		return nil
	}
	out := make([]Detail, len(items))
	for i, e := range items {
		in := open(e, name+"["+strconv.Itoa(i)+"]", "name sha256", "")
		out[i] = Detail{Name: in.name("name"), SHA256: in.digest("sha256")}
		if in.err != nil {
			m.fail(in.err)
			return nil
		}
	}
	return out
}

// appendText appends a member: what stands before its value, and the value as a
// canonical string.
func appendText(dst []byte, before, s string) []byte {
	return ijson.AppendString(append(dst, before...), s)
}

// appendOptional is appendText for a member that is left out when empty.
func appendOptional(dst []byte, before, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(dst, before, s)
}

func appendTime(dst []byte, before string, t Time) []byte {
	return append(t.Append(append(append(dst, before...), '"')), '"')
}

func appendTexts(dst []byte, before string, list []string) []byte {
	dst = append(append(dst, before...), '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ijson.AppendString(dst, s)
	}
	return append(dst, ']')
}
