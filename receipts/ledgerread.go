package receipts

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"iter"
	"time"

	"countersign/internal/ijson"
)

// ReadLine reads one line of a ledger, without its line end. It must be
// canonical and hold exactly the members of its kind. Its signature and its
// place in the chain are not looked at: see [VerifyLedger]. The error never
// holds text from the line.
func ReadLine(raw []byte) (Line, error) {
	var d ijson.Doc
	return readLine(&d, raw)
}

// readLine is ReadLine with a Doc to use again. The line's parts are copies.
func readLine(d *ijson.Doc, raw []byte) (Line, error) {
	if len(raw) > maxLedgerLine {
		return Line{}, fmt.Errorf("the line is longer than %d bytes", maxLedgerLine)
	}
	if err := d.Parse(raw, ijson.Options{Depth: ledgerDepth}); err != nil {
		return Line{}, fmt.Errorf("the line is not JSON: %w", err)
	}
	root := d.Root()
	if root.Kind() != ijson.Object {
		return Line{}, fmt.Errorf("the line is not a JSON object")
	}
	if !isCanonical(raw, root) {
		return Line{}, fmt.Errorf("the line is not in the canonical form")
	}
	l := Line{Kind: LineKind(root.Member("kind").Text()), Hash: Fingerprint(raw)}
	read, ok := lineReaders[l.Kind]
	if !ok {
		return Line{}, fmt.Errorf("the line is of no kind this version knows")
	}
	m := open(root, "line", "at kind seq "+read.required, "prev sig "+read.optional)
	l.Seq = m.int("seq", 0, MaxInt)
	l.Prev = m.digest("prev")
	l.At = m.lineTime(m.value("at"), "at")
	sig := m.text("sig", "64 bytes in base64url", func(s string) bool { return isBase64urlOf(s, ed25519.SignatureSize) })
	if m.err == nil && (l.Seq == 0) != (l.Prev == "") {
		m.failf("prev: must be there on all lines but the first")
	}
	l.Body = read.body(m)
	if m.err != nil {
		return Line{}, m.err
	}
	l.unsigned = raw
	if sig != "" {
		// The name and the value stand behind a comma: at comes before.
		var cut ijson.Value
		for name, v := range root.Members() {
			if name.Is("sig") {
				cut = name
				l.unsigned = append(append(make([]byte, 0, len(raw)), raw[:cut.Start()-1]...), raw[v.End():]...)
			}
		}
		l.sig, _ = decodeBase64url([]byte(sig))
	}
	return l, nil
}

// Signed says whether the line carries a signature, and whether it is key's.
func (l *Line) Signed(key ed25519.PublicKey) (signed, valid bool) {
	if l.sig == nil {
		return false, false
	}
	return true, !weakEd25519(l.sig) && ed25519.Verify(key, l.unsigned, l.sig)
}

// lineReader reads the members of one kind of line.
type lineReader struct {
	required, optional string
	body               func(*members) LineBody
}

var lineReaders = map[LineKind]lineReader{
	LineOpen: {"agent book format key rules service settings version", "slip", func(m *members) LineBody {
		l := &OpenLine{Agent: m.name("agent"), Book: m.extent("book", nil), Key: m.publicKey("key"), Rules: m.rulesFiles("rules"),
			Service: m.short("service"), Settings: m.digest("settings"), Slip: m.digest("slip"), Version: m.name("version")}
		m.text("format", "\""+LedgerFormat+"\"", func(s string) bool { return s == LedgerFormat })
		return l
	}},
	LineKey: {"key", "", func(m *members) LineBody {
		return &KeyLine{Key: m.publicKey("key")}
	}},
	LineCall: {"draft keys peers rules tool", "annotations approval arguments inputResponses", func(m *members) LineBody {
		l := &CallLine{Annotations: m.free("annotations"), Approval: m.object("approval"), Arguments: m.free("arguments"),
			Draft: m.object("draft"), InputResponses: m.free("inputResponses"), Rules: m.rulesFiles("rules"), Tool: m.free("tool")}
		keys := open(m.value("keys"), "keys", "agent guard", "")
		l.AgentKeys, l.GuardKeys = keys.digest("agent"), keys.digest("guard")
		peers := open(m.value("peers"), "peers", "agent client upstream", "")
		l.Agent, l.Upstream = peers.name("agent"), peers.free("upstream")
		client := open(peers.value("client"), "peers.client", "name version", "")
		l.Client = Client{Name: client.free("name"), Version: client.free("version")}
		m.also(keys, peers, client)
		return l
	}},
	LineOutcome: {"book call countersignature how stub", "removed result status", func(m *members) LineBody {
		return &OutcomeLine{Book: m.extent("book", nil), Call: m.int("call", 0, MaxInt), Countersignature: m.object("countersignature"),
			How: m.text("how", "how the call ended", isHow), Removed: m.int("removed", 1, MaxInt), Result: m.digest("result"),
			Status: m.int("status", 100, 999), Stub: m.object("stub")}
	}},
	LineRefused: {"", "by code count denial details note rule span tool", func(m *members) LineBody {
		if m.has("count") {
			l := &RefusedLine{Count: m.int("count", 1, MaxInt)}
			l.From, l.Until = m.countingSpan()
			for _, name := range []string{"by", "code", "denial", "details", "note", "rule", "tool"} {
				if m.err == nil && m.has(name) {
					m.failf("%q: must not stand on a counting line", name)
				}
			}
			if m.err == nil && !m.has("span") {
				m.failf("span: is missing on a counting line")
			}
			return l
		}
		l := &RefusedLine{By: m.text("by", "rule, slip, person or settings", isDenier), Code: m.text("code", "a code", isShort),
			Denial: m.object("denial"), Details: m.details("details", 0, MaxDetails), Note: m.free("note"), Rule: m.free("rule"), Tool: m.free("tool")}
		for _, name := range []string{"by", "code", "tool"} {
			if m.err == nil && !m.has(name) {
				m.failf("%q: is missing", name)
			}
		}
		if m.err == nil && m.has("denial") == m.has("details") {
			m.failf("denial: stands where there is one, and details where there is none")
		}
		if m.err == nil && m.has("span") {
			m.failf("span: stands on a counting line alone")
		}
		return l
	}},
	LineWatch: {"of rules", "more", func(m *members) LineBody {
		l := &WatchLine{Of: m.int("of", 0, MaxInt), More: m.int("more", 1, MaxInt)}
		for _, e := range m.list("rules", 1, maxWatched) {
			in := open(e, "rules[]", "code rule", "")
			l.Rules = append(l.Rules, Watched{Code: in.free("code"), Rule: in.free("rule")})
			m.also(in)
		}
		return l
	}},
	LineMark: {"book denials", "ledger", func(m *members) LineBody {
		l := &MarkLine{Denials: m.extent("denials", nil)}
		if m.has("ledger") {
			if l.Ledger = m.extent("ledger", nil); m.err == nil && l.Ledger.Lines == 0 {
				m.failf("ledger: a mark is never the first line")
			}
		}
		l.Book = m.extent("book", &l.Root)
		return l
	}},
	LineNotice: {"what", "bytes count file sha256 span text", func(m *members) LineBody {
		l := &NoticeLine{What: m.short("what"), Text: m.free("text"), File: m.short("file"), Bytes: m.int("bytes", 0, MaxInt),
			SHA256: m.digest("sha256"), Count: m.int("count", 1, MaxInt)}
		l.From, l.Until = m.countingSpan()
		if m.err == nil && m.has("span") != m.has("count") {
			m.failf("span: must stand beside count, and there alone")
		}
		if m.err == nil && m.has("bytes") != m.has("sha256") {
			m.failf("bytes: must stand beside sha256, and there alone")
		}
		return l
	}},
}

// free reads a text of any length the line itself allows.
func (m *members) free(name string) string {
	return m.text(name, "text", func(string) bool { return true })
}

// also keeps the first fault of the objects inside.
func (m *members) also(inner ...*members) {
	for _, in := range inner {
		if in.err != nil {
			m.fail(in.err)
		}
	}
}

// object gives a copy of the canonical JSON of a member that must be an object.
func (m *members) object(name string) []byte {
	v := m.value(name)
	if !v.Exists() {
		return nil
	}
	if v.Kind() != ijson.Object {
		m.failf("%s: must be an object", name)
		return nil
	}
	return bytes.Clone(v.Raw())
}

func (m *members) publicKey(name string) string {
	return m.text(name, "an Ed25519 public key, 32 bytes in base64url", func(s string) bool {
		b, err := decodeBase64url([]byte(s))
		if err != nil {
			return false
		}
		_, err = NewEd25519Key(b)
		return err == nil
	})
}

// extent reads an extent, and the root in it where one is asked for.
func (m *members) extent(name string, root *string) Extent {
	needed, optional := "bytes size", "last"
	if root != nil {
		needed += " root"
	}
	in := open(m.value(name), name, needed, optional)
	e := Extent{Bytes: in.int("bytes", 0, MaxInt), Lines: in.int("size", 0, MaxInt), Last: in.digest("last")}
	if root != nil {
		*root = in.digest("root")
	}
	if in.err == nil && (e.Lines == 0) != (e.Last == "" && e.Bytes == 0) {
		in.failf("%s: last and bytes must say of a last line when size does, and only then", name)
	}
	m.also(in)
	return e
}

func (m *members) rulesFiles(name string) []RulesFile {
	var files []RulesFile
	for _, e := range m.list(name, 0, maxRulesFiles) {
		in := open(e, name+"[]", "name sha256", "")
		files = append(files, RulesFile{Name: in.name("name"), SHA256: in.digest("sha256")})
		m.also(in)
	}
	return files
}

func (m *members) lineTime(v ijson.Value, name string) time.Time {
	s := v.Text()
	t, err := time.Parse(lineTimeLayout, s)
	if m.err == nil && (err != nil || t.Format(lineTimeLayout) != s) {
		m.failf("%s: must be a time written YYYY-MM-DDTHH:MM:SS.mmmZ", name)
	}
	return t
}

func (m *members) countingSpan() (from, until time.Time) {
	if !m.has("span") {
		return
	}
	in := open(m.value("span"), "span", "from until", "")
	from, until = in.lineTime(in.value("from"), "span.from"), in.lineTime(in.value("until"), "span.until")
	m.also(in)
	return from, until
}

// piece is one line found in a log.
type piece struct {
	off   int64  // of its first byte
	text  []byte // without its line end; good until the next piece
	whole bool   // a line end stood behind it
}

// pieces gives the lines of r one by one. The last may lack its line end. A line
// past limit bytes, or a failing read, ends it with an error. off is the offset
// of r's first byte.
func pieces(r io.Reader, off int64, limit int) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		buf := make([]byte, 0, readLimit)
		start := 0 // of the piece in buf
		for {
			if i := bytes.IndexByte(buf[start:], '\n'); i >= 0 {
				if i > limit {
					yield(piece{off: off}, errLongLine(limit))
					return
				}
				if !yield(piece{off: off, text: buf[start : start+i : start+i], whole: true}, nil) {
					return
				}
				start += i + 1
				off += int64(i) + 1
				continue
			}
			if len(buf)-start > limit {
				yield(piece{off: off}, errLongLine(limit))
				return
			}
			switch {
			case start > 0:
				buf = append(buf[:0], buf[start:]...)
				start = 0
			case len(buf) == cap(buf):
				buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			}
			n, err := io.ReadAtLeast(r, buf[len(buf):cap(buf)], 1)
			buf = buf[:len(buf)+n]
			switch {
			case n > 0:
			case err == io.EOF:
				if len(buf) > 0 {
					yield(piece{off: off, text: buf}, nil)
				}
				return
			default:
				yield(piece{off: off}, err)
				return
			}
		}
	}
}

func errLongLine(limit int) error { return fmt.Errorf("a line is longer than %d bytes", limit) }
