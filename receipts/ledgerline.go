package receipts

import (
	"crypto/ed25519"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"countersign/internal/ijson"
)

// LedgerFormat is what the first line of a ledger names.
const LedgerFormat = "countersign.ledger.v0"

const (
	// maxLedgerLine bounds one line of a ledger, in bytes: the arguments of a
	// call (at most 16 MiB), which stand in it as text and so may double, with
	// half as much again for what answers and annotations add.
	maxLedgerLine = 48 << 20

	// outcomeRoom is the room kept free for what follows a call line, in bytes.
	// The content of a stub fits an envelope of 65,536 characters beside its
	// signatures, so 45,000 bytes; the rest of an outcome line is under 2 KiB, and
	// a watch line names 16 rules of under 2,500 bytes each.
	outcomeRoom = 112 << 10

	// ledgerDepth is the most levels a ledger line may have: a record inside it.
	ledgerDepth = maxDepth + 4

	lineTimeLayout = "2006-01-02T15:04:05.000Z"
	maxLineText    = 1000 // code points of a free text in a ledger line
	maxRulesFiles  = 16   // rules files and their versions, content rules section 8
	maxWatched     = 16   // watching rules named for one call; the rest are only counted
)

// LineKind is the kind of a ledger line.
//
// A ledger is a file of lines, each one canonical JSON object (RFC 8785) and a
// line feed. Every line holds
//
//	at    when it was written, YYYY-MM-DDTHH:MM:SS.mmmZ
//	kind  one of the kinds below
//	prev  SHA-256 in base64url of the whole line before, its line feed not
//	      counted; absent on the first line alone
//	seq   0, 1, 2, …
//	sig   Ed25519 over the line without this member, in base64url
//
// and by kind (a ? marks a member that may be absent):
//
//	open     agent, book, format, key, rules, service, settings, slip?, version
//	key      key
//	call     annotations?, approval?, arguments?, draft, inputResponses?,
//	         keys {agent, guard}, peers {agent, client {name, version}, upstream},
//	         rules, tool
//	outcome  book, call, countersignature, how, removed?, result?, status?, stub
//	refused  by, code, denial or details, note?, rule?, tool; or count, span
//	watch    more?, of, rules [{code, rule}]
//	mark     book with root, denials, ledger?
//	notice   bytes?, count?, file?, sha256?, span?, text?, what
//
// book and denials, and a mark's ledger, which is all before the mark itself, are
// extents: {bytes, last?, size}, the length in bytes, the
// fingerprint of the last line, the number of lines. rules of open and call are
// [{name, sha256}]. span is {from, until}.
//
// arguments, inputResponses and annotations are JSON text in a JSON string, byte
// for byte as it was received: the call can be judged and run again on the same
// bytes. draft is the content of the stub but for the detail the answer adds;
// stub, countersignature and denial are contents whole, so that the records can
// be made again byte for byte.
type LineKind string

// The kinds of a ledger's lines (guard, section 5). Lines of the kinds release
// and stamp are not written by this version.
const (
	LineOpen    LineKind = "open"    // a start, or another slip in force
	LineKey     LineKind = "key"     // the key that signs from here on
	LineCall    LineKind = "call"    // a call about to be forwarded
	LineOutcome LineKind = "outcome" // what came of it
	LineRefused LineKind = "refused" // a call that was refused, or a count of such
	LineWatch   LineKind = "watch"   // watching rules that would have refused
	LineMark    LineKind = "mark"    // how far everything was known to be durable
	LineNotice  LineKind = "notice"  // anything else worth keeping
)

// Line is one line of a ledger, as read.
type Line struct {
	Seq  int64     // 0, 1, 2, …
	Prev string    // fingerprint of the whole line before; "" on the first
	At   time.Time // when it was written, to the millisecond
	Kind LineKind
	Body LineBody // by Kind: *OpenLine, *KeyLine, *CallLine, …
	Hash string   // fingerprint of this whole line, its line end not counted

	unsigned []byte // the line without its sig
	sig      []byte
}

// LineBody is what a line holds besides what every line holds.
type LineBody interface {
	kind() LineKind
	// appendTo writes the members in the order of their names.
	appendTo(w *lineWriter)
}

// RulesFile names a rules file and its fingerprint.
type RulesFile struct {
	Name   string
	SHA256 string
}

// Client is what the agent's MCP client said of itself.
type Client struct {
	Name, Version string
}

// Watched is a watching rule that would have refused a call.
type Watched struct {
	Rule string // "file name/rule id"
	Code string // as of a refusal: condition, cannot-judge, over-budget
}

// Extent is how much of a book or a file of denials there was: its length in
// bytes and in lines, and the fingerprint of the last whole line, "" of none.
type Extent struct {
	Bytes int64
	Lines int64
	Last  string
}

// OpenLine is written by each start, and where another slip comes into force.
type OpenLine struct {
	Agent    string // the chain's name
	Book     Extent
	Key      string // the ledger's public Ed25519 key, base64url
	Rules    []RulesFile
	Service  string // the guard's own service id
	Settings string // fingerprint of the settings
	Slip     string // fingerprint of the slip in force
	Version  string // of the program
}

// KeyLine hands the ledger on to another key; the old one signs it.
type KeyLine struct {
	Key string // base64url
}

// CallLine is the guard's copy of a call, written before it is forwarded: all
// that its receipt needs, and all that judging and running it again need.
type CallLine struct {
	Agent          string // the chain's name
	AgentKeys      string // fingerprint of the agent's key set
	Annotations    string // JSON text of the tool's annotations; "" when unknown
	Approval       []byte // the approval's record; nil without one
	Arguments      string // JSON text, byte for byte as received; "" when absent
	Client         Client
	Draft          []byte // the stub's content, but for what the answer adds to its details
	GuardKeys      string // fingerprint of the guard's key set
	InputResponses string // JSON text as received; "" when absent
	Rules          []RulesFile
	Tool           string
	Upstream       string
}

// OutcomeLine is what came of a call: the contents of the records that are in
// its receipt, whole, so that the receipt can be made again byte for byte.
type OutcomeLine struct {
	Book             Extent // known to be durable when this line was written
	Call             int64  // seq of the call line
	Countersignature []byte // content
	How              string // "result", "tool-error", "error", or the reason why there is none
	Removed          int64  // credentials taken out of the answer
	Result           string // fingerprint of the answer; "" without one
	Status           int64  // HTTP status; 0 for none
	Stub             []byte // content
}

// RefusedLine is a call that was refused, with the content of its denial whole;
// or, past the number of denials an hour, how many were refused in a minute.
type RefusedLine struct {
	By      string // rule, slip, person or settings
	Code    string
	Denial  []byte   // content; nil for a request that has no denial
	Details []Detail // where there is no denial to hold them
	Note    string   // tells refusals of one code apart
	Rule    string
	Tool    string // or the method, of a request that is no tools/call

	Count       int64 // of a counting line, with From and Until; else 0
	From, Until time.Time
}

// WatchLine says which watching rules would have refused the call of a line.
type WatchLine struct {
	Of    int64 // seq of the call or refused line
	Rules []Watched
	More  int64 // further rules, not named
}

// MarkLine says how far book and denials were durable when it was written, with
// the root of the book's tree (section 4.2 of the format): a start checks only
// what follows. The ledger up to the mark is fixed by the mark's own prev.
type MarkLine struct {
	Book, Denials Extent
	Ledger        Extent // before this line; the writer sets it, marks of older versions lack it
	Root          string // of the book
}

// NoticeLine is anything else worth keeping.
type NoticeLine struct {
	What string // a short
	Text string // says more; never an argument's value

	File   string // of a recovered tail: "ledger", "book", "denials"; else ""
	Bytes  int64  // length of what the notice is about: a tail that was cut, a message
	SHA256 string // its SHA-256; "" where there are no bytes to speak of

	Count       int64 // of a counting line, with From and Until; else 0
	From, Until time.Time
}

func (*OpenLine) kind() LineKind    { return LineOpen }
func (*KeyLine) kind() LineKind     { return LineKey }
func (*CallLine) kind() LineKind    { return LineCall }
func (*OutcomeLine) kind() LineKind { return LineOutcome }
func (*RefusedLine) kind() LineKind { return LineRefused }
func (*WatchLine) kind() LineKind   { return LineWatch }
func (*MarkLine) kind() LineKind    { return LineMark }
func (*NoticeLine) kind() LineKind  { return LineNotice }

// lineWriter writes one canonical line. A body gives its members in order; what
// every line holds is put between them.
type lineWriter struct {
	buf  []byte
	line Line // Seq, Prev, At, Kind
	next int  // of common
	sig  int  // where ,"sig":"…" goes
}

// common are the members every line holds, in order.
var common = [...]string{"at", "kind", "prev", "seq", "sig"}

// write makes the line, signs it and gives it with its hash. The result is good
// until the next write.
func (w *lineWriter) write(l Line, key ed25519.PrivateKey) (line []byte, hash string) {
	w.buf, w.line, w.next, w.sig = append(w.buf[:0], '{'), l, 0, 0
	l.Body.appendTo(w)
	w.flush("~") // behind every name
	w.buf = append(w.buf, '}')
	if key != nil {
		var sig [len(`,"sig":""`) + 86]byte // 64 bytes in base64url
		s := append(sig[:0], `,"sig":"`...)
		s = base64url.AppendEncode(s, ed25519.Sign(key, w.buf))
		w.buf = slices.Insert(w.buf, w.sig, append(s, '"')...)
	}
	sum := sha256.Sum256(w.buf)
	return w.buf, encodeBase64url(sum[:])
}

// flush writes the common members whose names come before name.
func (w *lineWriter) flush(name string) {
	for ; w.next < len(common) && common[w.next] < name; w.next++ {
		switch common[w.next] {
		case "at":
			w.open("at")
			w.time(w.line.At)
		case "kind":
			w.open("kind")
			w.buf = ijson.AppendString(w.buf, string(w.line.Body.kind()))
		case "prev":
			if w.line.Prev != "" {
				w.open("prev")
				w.buf = ijson.AppendString(w.buf, w.line.Prev)
			}
		case "seq":
			w.open("seq")
			w.buf = strconv.AppendInt(w.buf, w.line.Seq, 10)
		case "sig":
			w.sig = len(w.buf)
		}
	}
}

// open begins a member: the comma, where one is needed, and its name.
func (w *lineWriter) open(name string) {
	if c := w.buf[len(w.buf)-1]; c != '{' && c != '[' {
		w.buf = append(w.buf, ',')
	}
	w.buf = ijson.AppendString(w.buf, name)
	w.buf = append(w.buf, ':')
}

// member begins a member of the line itself.
func (w *lineWriter) member(name string) {
	w.flush(name)
	w.open(name)
}

func (w *lineWriter) text(name, s string) {
	w.member(name)
	w.buf = ijson.AppendString(w.buf, s)
}

func (w *lineWriter) optional(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *lineWriter) int(name string, n int64) {
	w.member(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

func (w *lineWriter) time(t time.Time) {
	w.buf = append(w.buf, '"')
	w.buf = t.UTC().AppendFormat(w.buf, lineTimeLayout)
	w.buf = append(w.buf, '"')
}

// raw writes a member whose value is canonical JSON already.
func (w *lineWriter) raw(name string, v []byte) {
	w.member(name)
	w.buf = append(w.buf, v...)
}

func (w *lineWriter) extent(name string, e Extent, root string) {
	w.member(name)
	w.buf = append(w.buf, `{"bytes":`...)
	w.buf = strconv.AppendInt(w.buf, e.Bytes, 10)
	w.buf = appendOptional(w.buf, `,"last":`, e.Last)
	w.buf = appendOptional(w.buf, `,"root":`, root)
	w.buf = append(w.buf, `,"size":`...)
	w.buf = append(strconv.AppendInt(w.buf, e.Lines, 10), '}')
}

func (w *lineWriter) rules(files []RulesFile) {
	w.member("rules")
	w.buf = append(w.buf, '[')
	for i, f := range files {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendText(w.buf, `{"name":`, f.Name)
		w.buf = appendText(w.buf, `,"sha256":`, f.SHA256)
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.buf, ']')
}

func (l *OpenLine) appendTo(w *lineWriter) {
	w.text("agent", l.Agent)
	w.extent("book", l.Book, "")
	w.text("format", LedgerFormat)
	w.text("key", l.Key)
	w.rules(l.Rules)
	w.text("service", l.Service)
	w.text("settings", l.Settings)
	w.optional("slip", l.Slip)
	w.text("version", l.Version)
}

func (l *KeyLine) appendTo(w *lineWriter) { w.text("key", l.Key) }

func (l *CallLine) appendTo(w *lineWriter) {
	w.optional("annotations", l.Annotations)
	if l.Approval != nil {
		w.raw("approval", l.Approval)
	}
	w.optional("arguments", l.Arguments)
	w.raw("draft", l.Draft)
	w.optional("inputResponses", l.InputResponses)
	w.member("keys")
	w.buf = appendText(w.buf, `{"agent":`, l.AgentKeys)
	w.buf = append(appendText(w.buf, `,"guard":`, l.GuardKeys), '}')
	w.member("peers")
	w.buf = appendText(w.buf, `{"agent":`, l.Agent)
	w.buf = appendText(w.buf, `,"client":{"name":`, l.Client.Name)
	w.buf = appendText(w.buf, `,"version":`, l.Client.Version)
	w.buf = append(appendText(w.buf, `},"upstream":`, l.Upstream), '}')
	w.rules(l.Rules)
	w.text("tool", l.Tool)
}

func (l *OutcomeLine) appendTo(w *lineWriter) {
	w.extent("book", l.Book, "")
	w.int("call", l.Call)
	w.raw("countersignature", l.Countersignature)
	w.text("how", l.How)
	if l.Removed != 0 {
		w.int("removed", l.Removed)
	}
	w.optional("result", l.Result)
	if l.Status != 0 {
		w.int("status", l.Status)
	}
	w.raw("stub", l.Stub)
}

func (l *RefusedLine) appendTo(w *lineWriter) {
	if l.Count != 0 {
		w.int("count", l.Count)
		w.span(l.From, l.Until)
		return
	}
	w.text("by", l.By)
	w.text("code", l.Code)
	if l.Denial != nil {
		w.raw("denial", l.Denial)
	} else {
		w.member("details")
		w.buf = appendDetails(w.buf, l.Details)
	}
	w.optional("note", l.Note)
	w.optional("rule", l.Rule)
	w.text("tool", l.Tool)
}

// span writes the member span of a counting line.
func (w *lineWriter) span(from, until time.Time) {
	w.member("span")
	w.buf = append(w.buf, `{"from":`...)
	w.time(from)
	w.buf = append(w.buf, `,"until":`...)
	w.time(until)
	w.buf = append(w.buf, '}')
}

func (l *WatchLine) appendTo(w *lineWriter) {
	if l.More != 0 {
		w.int("more", l.More)
	}
	w.int("of", l.Of)
	w.member("rules")
	w.buf = append(w.buf, '[')
	for i, r := range l.Rules {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendText(w.buf, `{"code":`, r.Code)
		w.buf = append(appendText(w.buf, `,"rule":`, r.Rule), '}')
	}
	w.buf = append(w.buf, ']')
}

func (l *MarkLine) appendTo(w *lineWriter) {
	w.extent("book", l.Book, l.Root)
	w.extent("denials", l.Denials, "")
	if l.Ledger.Lines != 0 {
		w.extent("ledger", l.Ledger, "")
	}
}

func (l *NoticeLine) appendTo(w *lineWriter) {
	if l.SHA256 != "" {
		w.int("bytes", l.Bytes)
	}
	if l.Count != 0 {
		w.int("count", l.Count)
	}
	w.optional("file", l.File)
	w.optional("sha256", l.SHA256)
	if l.Count != 0 {
		w.span(l.From, l.Until)
	}
	w.optional("text", l.Text)
	w.text("what", l.What)
}
