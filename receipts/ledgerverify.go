package receipts

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/ijson"
)

// maxLedgerProblems bounds the problems of one report; further ones are counted.
const maxLedgerProblems = 100

// Head fixes a ledger up to a line. Who keeps one elsewhere can tell that lines
// were cut off its end since, which nothing in the ledger itself shows.
type Head struct {
	Size int64  // lines
	Last string // fingerprint of the last of them
	Root string // of the tree over them (RFC 6962); "" not compared
}

// String is the head in one word: size:last, and :root where there is one.
func (h Head) String() string {
	s := strconv.FormatInt(h.Size, 10) + ":" + h.Last
	if h.Root != "" {
		s += ":" + h.Root
	}
	return s
}

// ParseHead reads what String writes.
func ParseHead(s string) (Head, error) {
	size, rest, _ := strings.Cut(s, ":")
	last, root, hasRoot := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	h := Head{Size: n, Last: last, Root: root}
	if err != nil || n < 0 || n > MaxInt || !isDigest(last) || hasRoot && !isDigest(root) || h.String() != s {
		return Head{}, errors.New("expected a head as `ledger verify` prints it: number of records, a colon, the fingerprint of the last, and optionally a colon and the root")
	}
	return h, nil
}

// LedgerOptions say what a ledger is held against. The zero value holds it
// against itself alone.
type LedgerOptions struct {
	PublicKey ed25519.PublicKey // nil: the one its first line names, which shows nothing of who wrote it
	Head      *Head             // nil: none was kept
	Receipts  []string          // fingerprints of stubs kept elsewhere, which it must hold
	Unsigned  bool              // lines may be without signatures
}

// LedgerProblem is one thing found wrong in a ledger.
type LedgerProblem struct {
	Line int64  `json:"line"` // 1 for the first; 0 where it is about no one line
	Msg  string `json:"message"`
}

func (p LedgerProblem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("record %d: %s", p.Line, p.Msg)
	}
	return p.Msg
}

// LedgerReport is what the check of a ledger found.
type LedgerReport struct {
	Lines     int64           `json:"lines"` // whole lines read
	Last      string          `json:"last"`  // fingerprint of the last
	Root      string          `json:"root"`  // of the tree over them
	Key       string          `json:"key"`   // that signs the last line, base64url
	KeyGiven  bool            `json:"keyGiven"`
	Problems  []LedgerProblem `json:"problems"`
	MoreFound int             `json:"moreFound"` // problems past the first 100
	Recovered []int64         `json:"recovered"` // notices of a tail that a start mended
	OpenCall  int64           `json:"openCall"`  // line of a call without outcome; 0 for none
	Zeroed    int64           `json:"zeroed"`    // zero bytes behind the last line
	Kinds     map[string]int  `json:"kinds"`     // lines of each kind
	Head      int64           `json:"head"`      // lines that a given head covers; 0 without one
	NotShown  []string        `json:"notShown"`  // what this check could not show
}

// Sound says whether nothing was found wrong. It does not say that the ledger is
// whole: see NotShown.
func (r *LedgerReport) Sound() bool { return len(r.Problems) == 0 }

// Summary says in one line what the check came to.
func (r *LedgerReport) Summary() string {
	var b strings.Builder
	switch {
	case len(r.Problems) > 0:
		fmt.Fprintf(&b, "not sound: %s", r.Problems[0])
		if n := len(r.Problems) + r.MoreFound - 1; n > 0 {
			fmt.Fprintf(&b, " (and %d more)", n)
		}
		return b.String()
	case r.Lines == 0:
		return "empty"
	case r.Head == r.Lines:
		fmt.Fprintf(&b, "intact up to record %d, the head's last", r.Lines)
	case r.Head > 0:
		fmt.Fprintf(&b, "intact up to record %d, the head's last, and consistent up to record %d", r.Head, r.Lines)
	default:
		fmt.Fprintf(&b, "consistent up to record %d", r.Lines)
	}
	for i, n := range r.Recovered {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(r.Recovered)-i)
			break
		}
		fmt.Fprintf(&b, "; recovered tail at record %d", n)
	}
	if r.OpenCall > 0 {
		fmt.Fprintf(&b, "; the call of record %d has no outcome", r.OpenCall)
	}
	if r.Zeroed > 0 {
		fmt.Fprintf(&b, "; %d zero bytes behind it, room that the guard set aside", r.Zeroed)
	}
	return b.String()
}

func (r *LedgerReport) add(line int64, format string, args ...any) {
	if len(r.Problems) == maxLedgerProblems {
		r.MoreFound++
		return
	}
	r.Problems = append(r.Problems, LedgerProblem{line, fmt.Sprintf(format, args...)})
}

// VerifyLedger checks a whole ledger: the form of each line, the chain, every
// signature, that each call has its outcome, that the digests of a call's stub
// are those of what the line holds. An error is one of reading r.
func VerifyLedger(r io.Reader, o LedgerOptions) (LedgerReport, error) {
	rep := LedgerReport{KeyGiven: o.PublicKey != nil, Kinds: map[string]int{},
		Problems: []LedgerProblem{}, Recovered: []int64{}, NotShown: []string{}} // in JSON a list is one also where it is empty
	s := ledgerState{key: o.PublicKey, unsigned: o.Unsigned}
	var tree Tree
	wanted := make(map[string]bool, len(o.Receipts))
	for _, fp := range o.Receipts {
		wanted[fp] = true
	}
	headRoot, headLast := "", ""
	z := &zeroTail{r: r}
	for p, err := range pieces(z, 0, maxLedgerLine) {
		if err != nil {
			return rep, err
		}
		line := rep.Lines + 1
		l, err := s.take(p.text)
		switch {
		case err != nil:
			rep.add(line, "%s", err)
			if !s.resync(&l) {
				rep.Lines, rep.Last = line, Fingerprint(p.text)
				rep.NotShown = append(rep.NotShown, "what stands behind this record: without the first open line no key is known; give the ledger's public key")
				return rep, nil
			}
		case !p.whole:
			rep.add(line, "it lacks its line end: it was cut short, or the guard is writing it just now")
		}
		if err != nil && l.Hash == "" && !p.whole {
			break // half a line at the end
		}
		rep.Lines, rep.Last = line, Fingerprint(p.text)
		tree.Add(LeafHash(p.text))
		if o.Head != nil && line == o.Head.Size {
			headRoot, headLast = tree.Root().String(), rep.Last
		}
		if l.Body == nil {
			continue
		}
		rep.Kinds[string(l.Kind)]++
		switch b := l.Body.(type) {
		case *NoticeLine:
			if b.What == noticeTail {
				rep.Recovered = append(rep.Recovered, line)
			}
		case *CallLine:
			if err := boundIn(b); err != nil {
				rep.add(line, "%s", err)
			}
		case *OutcomeLine:
			delete(wanted, Fingerprint(b.Stub))
			if err := outcomeBound(b); err != nil {
				rep.add(line, "%s", err)
			}
		}
	}
	rep.Zeroed = z.zeros
	rep.Root = tree.Root().String()
	if s.key != nil {
		rep.Key = encodeBase64url(s.key)
	}
	if s.call != nil {
		rep.OpenCall = s.callSeq + 1
	}
	rep.head(o.Head, headLast, headRoot)
	for _, fp := range o.Receipts {
		if wanted[fp] {
			rep.add(0, "the receipt %s is not in the ledger: it was cut off, or is another ledger's", fp)
		}
	}
	rep.limits(o)
	return rep, nil
}

// head holds the ledger against a head kept elsewhere.
func (r *LedgerReport) head(h *Head, last, root string) {
	switch {
	case h == nil:
	case r.Lines < h.Size:
		r.add(r.Lines+1, "it is missing: the head names %d records, and the ledger ends with record %d", h.Size, r.Lines)
	case h.Size > 0 && last != h.Last:
		r.add(h.Size, "it is not the one the head names")
	case h.Size > 0 && h.Root != "" && root != h.Root:
		r.add(h.Size, "the records up to it are not those the head names")
	default:
		r.Head = h.Size
	}
}

// limits says what was not shown.
func (r *LedgerReport) limits(o LedgerOptions) {
	if o.Head == nil {
		r.NotShown = append(r.NotShown, "that nothing was cut off the end: no head that was kept elsewhere was given")
	} else if r.Head > 0 && r.Head < r.Lines {
		r.NotShown = append(r.NotShown, fmt.Sprintf("that nothing was cut off behind record %d, the head's last", r.Head))
	}
	if o.PublicKey == nil {
		r.NotShown = append(r.NotShown, "who wrote it: the lines fit the key that the ledger itself names, and no other was given")
	}
	if o.Unsigned {
		r.NotShown = append(r.NotShown, "who wrote lines without a signature")
	}
	r.NotShown = append(r.NotShown, "when anything happened: times are the guard's own clock")
}

// resync goes on behind a line that does not fit, so that one fault is reported
// once. Without a key there is nothing to go on with.
func (s *ledgerState) resync(l *Line) bool {
	if s.key == nil {
		return false
	}
	if s.first == nil {
		s.first = &OpenLine{}
	}
	if l.Hash == "" { // not read: the next line says where it stands
		s.lines++
		s.prev = anyPrev
		s.call, s.draft = nil, nil
		return true
	}
	if l.Seq+1 != s.lines || l.Hash != s.prev {
		s.call, s.draft = nil, nil
		clear(s.last)
	}
	s.lines, s.prev = l.Seq+1, l.Hash
	return true
}

// anyPrev stands for the hash of a line that could not be read.
const anyPrev = "?"

// boundIn holds the digests of a call's draft against what its line keeps.
func boundIn(b *CallLine) error {
	draft, err := ReadStub(b.Draft)
	if err != nil {
		return nil // said already
	}
	arguments := b.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	rules := 0
	bounds := make(map[string]bool) // what of the line the draft binds
	for _, d := range draft.Details {
		what, text, isJSON := "", "", false
		switch d.Name {
		case "arguments", "countersign.arguments-redacted":
			what, text, isJSON = "arguments", arguments, true
		case "countersign.input-responses":
			what, text, isJSON = "input responses", b.InputResponses, true
		case "provared.tool-name", "countersign.tool-name":
			what, text = "tool name", b.Tool
		case "countersign.content-rules":
			if rules >= len(b.Rules) || b.Rules[rules].SHA256 != d.SHA256 {
				return fmt.Errorf("its draft names other rules than the line does")
			}
			rules++
			continue
		default:
			return fmt.Errorf("its draft has a detail that no call has")
		}
		if bounds[what] {
			return fmt.Errorf("its draft binds the %s twice", what)
		}
		bounds[what] = true
		bound := []byte(text)
		if isJSON {
			if bound, err = ijson.Canonical(bound, ijson.Options{}); err != nil {
				return fmt.Errorf("its %s are not strict JSON: %w", what, err)
			}
		}
		if Fingerprint(bound) != d.SHA256 {
			return fmt.Errorf("its draft has another digest of the %s than what the line keeps", what)
		}
	}
	if rules != len(b.Rules) {
		return fmt.Errorf("its draft names other rules than the line does")
	}
	switch {
	case !bounds["tool name"]:
		return fmt.Errorf("its draft does not bind the tool's name")
	case !bounds["arguments"]:
		return fmt.Errorf("its draft does not bind the arguments")
	case b.InputResponses != "" && !bounds["input responses"]:
		return fmt.Errorf("its draft does not bind the input responses that the line keeps")
	}
	return nil
}

// outcomeBound holds the last detail of an outcome's stub against what the line
// says of the answer. A stub that names an approval has none.
func outcomeBound(b *OutcomeLine) error {
	stub, err := ReadStub(b.Stub)
	if err != nil {
		return nil // said already
	}
	if isReason(b.How) == (b.Result != "") {
		return fmt.Errorf("it must have a digest of the answer exactly where there was one")
	}
	if stub.Approval != "" {
		return nil
	}
	want, names := b.Result, []string{"provared.tool-result", "countersign.tool-result"}
	if isReason(b.How) {
		want, names = Fingerprint([]byte(b.How)), []string{detailUnknown}
	}
	if len(stub.Details) == 0 {
		return fmt.Errorf("its stub binds no answer")
	}
	last := stub.Details[len(stub.Details)-1]
	if last.SHA256 != want || !slices.Contains(names, last.Name) {
		return fmt.Errorf("its stub binds another answer than the line names")
	}
	return nil
}

// zeroTail reads r up to the zeros at its end, and counts those. Zeros that
// something follows are passed on.
type zeroTail struct {
	r     io.Reader
	zeros int64 // held back
	keep  []byte
	buf   []byte
	err   error
}

func (z *zeroTail) Read(p []byte) (int, error) {
	if z.buf == nil {
		z.buf = make([]byte, readLimit)
	}
	for len(z.keep) == 0 {
		if z.err != nil {
			return 0, z.err
		}
		n, err := z.r.Read(z.buf)
		z.err = err
		b := z.buf[:n]
		if len(b) == 0 {
			continue
		}
		end := len(b)
		for end > 0 && b[end-1] == 0 {
			end--
		}
		if end == 0 {
			z.zeros += int64(n)
			continue
		}
		if z.zeros > 0 {
			// Zeros inside: they belong to what is no whole line, which may be
			// long; what is said of it does not hang on how many there are.
			z.keep = append(z.keep, make([]byte, min(z.zeros, 1))...)
		}
		z.keep = append(z.keep, b[:end]...)
		z.zeros = int64(len(b) - end)
	}
	n := copy(p, z.keep)
	z.keep = z.keep[n:]
	return n, nil
}
