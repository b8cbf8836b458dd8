package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/receipts"
)

// verifyFlags are what verify holds a book against.
type verifyFlags struct {
	issuers, sealers []string
	ledger, pubkey   string
	entries          bool
}

func (p *program) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify BOOK --issuer THUMBPRINT…",
		Short: "Check a book of receipts, offline",
		Long: `verify checks a book: the form of each line, every signature, the chain, and
whether the agent stayed within its slips. It needs nothing but the file. With
--ledger it also holds the book, and the denials beside it, against the guard's
own copy; --pubkey says whose copy that must be, else anyone may have made it.

Exit codes: 0 the book is sound, wholly checked here, within its slips, and its
slips are signed by keys that --issuer names; 1 anything else; 2 a file cannot be
read. Without --issuer the answer is never 0: anyone can make a sound book.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.verify(args[0], f) },
	}
	cmd.Flags().StringArrayVar(&f.issuers, "issuer", nil, "`THUMBPRINT` of a passkey whose slips are expected; may be given again")
	cmd.Flags().StringArrayVar(&f.sealers, "sealer", nil, "`FINGERPRINT` of a key set whose seals are expected; may be given again")
	cmd.Flags().StringVar(&f.ledger, "ledger", "", "hold the book and its denials against this ledger as well")
	cmd.Flags().StringVar(&f.pubkey, "pubkey", "", "the public key of that ledger, or a file that holds it")
	cmd.Flags().BoolVar(&f.entries, "entries", false, "list every entry, not only those with something to say")
	return p.answers(cmd)
}

// verdict is the answer of verify.
type verdict struct {
	Sound   bool                    `json:"sound"`             // the exit code is 0
	Against []string                `json:"against,omitempty"` // why it is not
	Book    receipts.Report         `json:"book"`
	Denials []denialAnswer          `json:"denials,omitempty"` // the side's own word
	Ledger  *receipts.LedgerReport  `json:"ledger,omitempty"`
	Compare *receipts.CompareReport `json:"compare,omitempty"`
}

// denialAnswer is what a denial says, once it was found sound.
type denialAnswer struct {
	receipts.DenialEntry
	By     string `json:"by,omitempty"`
	Code   string `json:"code,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Action string `json:"action,omitempty"`
	When   string `json:"when,omitempty"`
}

func (p *program) verify(path string, f verifyFlags) error {
	v, err := verifyBook(path, f)
	if err != nil {
		return err
	}
	if p.asJSON {
		if err := p.answer(v); err != nil {
			return err
		}
	} else {
		p.tellVerdict(path, v, f.entries)
	}
	if !v.Sound {
		return errNo
	}
	return nil
}

func verifyBook(path string, f verifyFlags) (*verdict, error) {
	if err := errors.Join(digests("issuer", f.issuers), digests("sealer", f.sealers)); err != nil {
		return nil, hint(err, "no key has another, so the answer would be no whatever the book holds")
	}
	var key ed25519.PublicKey
	if f.pubkey != "" {
		if f.ledger == "" {
			return nil, errors.New("--pubkey is the key of a ledger, and no --ledger is given")
		}
		var err error
		if key, err = readPublicKey(f.pubkey); err != nil {
			return nil, err
		}
	}
	book, err := plainfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the book: %w", err)
	}
	defer book.Close()
	v := new(verdict)
	// Denials are opened first: one that a guard writes now may stand after a
	// receipt that is not read any more.
	denials, err := openDenials(path)
	if err != nil {
		return nil, err
	}
	if denials != nil {
		defer denials.Close()
	}
	if err := v.readBook(book, f); err != nil {
		return nil, err
	}
	if denials != nil {
		if err := v.readDenials(denials.upTo); err != nil {
			return nil, err
		}
	}
	if f.ledger != "" {
		if err := v.holdLedger(path, f.ledger, key); err != nil {
			return nil, err
		}
	}
	v.Sound = len(v.Against) == 0
	return v, nil
}

// digests looks at the form of what a flag was given.
func digests(flag string, given []string) error {
	for _, d := range given {
		if !digestForm.MatchString(d) {
			return fmt.Errorf("--%s %s, expected 43 characters of base64url", flag, problem.Quoted(d))
		}
	}
	return nil
}

// against notes a reason for which the answer is no.
func (v *verdict) against(format string, args ...any) {
	v.Against = append(v.Against, fmt.Sprintf(format, args...))
}

// readBook checks the book itself.
func (v *verdict) readBook(r io.Reader, f verifyFlags) (err error) {
	o := receipts.CheckOptions{IssuerKeys: f.issuers, SealKeys: f.sealers}
	if v.Book, err = receipts.VerifyBook(r, o); err != nil {
		return fmt.Errorf("reading the book: %w", err)
	}
	s := v.Book.Summary
	if s.ProblemFound {
		v.against("the book is not sound: %s%s", firstProblem(&v.Book), noBook(&v.Book))
	}
	if !s.FullyChecked && !s.ProblemFound {
		v.against("not everything in the book was checked here")
	}
	if !s.WithinSlips && !s.ProblemFound {
		v.against("the agent did not stay within its slips%s", atEntry(s.FirstBreach))
	}
	if len(f.issuers) == 0 {
		v.against("no --issuer names whose slips are expected, so the book may be anyone's")
	}
	switch {
	case v.Book.Size == 0:
		v.against("the book is empty")
	case s.Counts.Slips == 0 && !s.ProblemFound:
		v.against("the book holds no slip, so nothing in it is by anyone --issuer names")
	}
	return nil
}

// denialsFile is an open file of denials, read as far as it went when it was opened.
type denialsFile struct {
	io.Closer
	upTo io.Reader
}

// openDenials opens the denials beside a book; nil where there are none.
func openDenials(book string) (*denialsFile, error) {
	f, err := plainfile.Open(receipts.DenialsBeside(book))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the denials: %w", err)
	}
	size, err := sizeOf(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reading the denials: %w", err)
	}
	return &denialsFile{f, io.LimitReader(f, size)}, nil
}

// readDenials checks the denials beside a book by the book's slips and stubs.
func (v *verdict) readDenials(denials io.Reader) error {
	type place struct{ slip, stub string }
	agents := make(map[string]receipts.KeySet)
	stubs := make(map[place]int64)
	for _, e := range v.Book.Entries {
		switch r := e.Content.(type) {
		case *receipts.Slip:
			agents[e.Fingerprint] = r.Agent.Keys
		case *receipts.Stub:
			if r.Pass == "" {
				stubs[place{r.Slip, e.Fingerprint}] = r.Seq
			}
		}
	}
	found, err := receipts.VerifyDenials(denials, receipts.DeniedBook{
		Keys: func(slip string) (receipts.KeySet, bool) { keys, ok := agents[slip]; return keys, ok },
		Stub: func(slip, stub string) (int64, bool) { seq, ok := stubs[place{slip, stub}]; return seq, ok },
	})
	if err != nil {
		return err
	}
	for _, d := range found {
		a := denialAnswer{DenialEntry: d}
		if d.Denial != nil && len(d.Problems) == 0 {
			a.By, a.Code, a.Rule, a.Action, a.When = d.Denial.By, d.Denial.Code, d.Denial.Rule, d.Denial.Action, d.Denial.When.String()
		}
		v.Denials = append(v.Denials, a)
	}
	for _, d := range v.Denials {
		if len(d.Problems) > 0 {
			v.against("the denials beside the book are not sound: line %d: %s (%s)", d.Index+1, d.Problems[0].Message, d.Problems[0].Code)
			break
		}
	}
	return nil
}

// firstProblem says what is wrong first, and where.
func firstProblem(r *receipts.Report) string {
	for _, e := range r.Entries {
		if len(e.Problems) > 0 {
			return fmt.Sprintf("entry %d (%s): %s (%s)", e.Index, e.Kind, e.Problems[0].Message, e.Problems[0].Code)
		}
	}
	if len(r.Problems) > 0 {
		return fmt.Sprintf("%s (%s)", r.Problems[0].Message, r.Problems[0].Code)
	}
	return "a problem was found"
}

// noBook says that a file is something else than a book: no line of it is an entry.
func noBook(r *receipts.Report) string {
	for _, e := range r.Entries {
		if len(e.Problems) != 1 || e.Problems[0].Code != receipts.CodeUnknownEntry {
			return ""
		}
	}
	if len(r.Entries) == 0 {
		return ""
	}
	return `; no line is an entry of a book: a ledger is for "countersign ledger verify", and denials are read beside their book`
}

func atEntry(i int) string {
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(": entry %d", i)
}

// holdLedger checks a ledger and holds the book and its denials against it.
func (v *verdict) holdLedger(book, ledger string, key ed25519.PublicKey) error {
	c, err := compareFiles(ledger, book, key, v.Book.Root)
	if err != nil {
		return err
	}
	v.Compare = c
	l, err := plainfile.Open(ledger)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	defer l.Close()
	r, err := receipts.VerifyLedger(l, receipts.LedgerOptions{PublicKey: key})
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	v.Ledger = &r
	if !r.Sound() {
		v.against("the ledger is %s", r.Summary())
	}
	if !c.Clean() {
		why := ""
		if denials := receipts.DenialsBeside(book); c.Denials > 0 && !there(denials) {
			why = "; there is no " + denials + " beside the book"
		}
		v.against("the ledger and the book differ%s", why)
	}
	return nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// compareFiles holds a ledger against a book and the denials beside it. The book
// and the denials are opened and measured first, so that a guard that runs cannot
// make the ledger look older than they are. With its root the book may be one that
// was put aside.
func compareFiles(ledger, book string, key []byte, root string) (*receipts.CompareReport, error) {
	in := receipts.CompareInput{PublicKey: key, Root: root, Measured: true}
	b, err := plainfile.Open(book)
	if err != nil {
		return nil, fmt.Errorf("reading the book: %w", err)
	}
	defer b.Close()
	if in.BookSize, err = sizeOf(b); err != nil {
		return nil, fmt.Errorf("reading the book: %w", err)
	}
	in.Book = b
	d, err := plainfile.Open(receipts.DenialsBeside(book))
	switch {
	case err == nil:
		defer d.Close()
		if in.DenialsSize, err = sizeOf(d); err != nil {
			return nil, fmt.Errorf("reading the denials: %w", err)
		}
		in.Denials = d
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the denials: %w", err)
	}
	l, err := plainfile.Open(ledger)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	defer l.Close()
	in.Ledger = l
	r, err := receipts.Compare(in)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func sizeOf(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (p *program) tellVerdict(path string, v *verdict, entries bool) {
	r := &v.Book
	c := r.Summary.Counts
	p.say("%s: %s, root %s", path, entriesOf(r.Size), r.Root)
	p.say("  slips %d, receipts %d, countersigned %d, one-sided %d", c.Slips, c.Stubs, c.Countersigned, c.OneSided)
	for _, e := range r.Entries {
		if entries || len(e.Problems)+len(e.Breaches)+len(e.Notes)+len(e.NotChecked) > 0 || e.Kind == receipts.KindSlip {
			p.tellEntry(e)
		}
	}
	for _, problem := range r.Problems {
		p.say("  problem: %s (%s)", problem.Message, problem.Code)
	}
	for _, n := range r.Notes {
		p.say("  note: %s", n)
	}
	for _, n := range r.Summary.NotChecked {
		p.say("  not checked here: %s", n)
	}
	for _, m := range r.Summary.MethodsMissing {
		p.say("  cannot be checked here: signatures with %s", m)
	}
	p.tellDenials(v.Denials, entries)
	if v.Ledger != nil {
		p.say("ledger: %s", v.Ledger.Summary())
		for _, n := range v.Ledger.NotShown {
			p.say("  not shown: %s", n)
		}
		p.tellComparison(v.Compare)
	}
	if r.Summary.Development {
		p.say("a slip was signed by a stand-in for a passkey, made for development: no person gave that permission")
	}
	for _, why := range v.Against {
		p.say("no: %s", why)
	}
	if v.Sound {
		p.say("sound: every signature was checked here, and the agent stayed within its slips")
		if v.Ledger != nil && !v.Ledger.KeyGiven {
			p.say("the ledger was held against no key of yours, so anyone may have made it: give --pubkey")
		}
	}
}

// tellDenials tells denials as what they are: the word of the agent's own side.
func (p *program) tellDenials(denials []denialAnswer, all bool) {
	if len(denials) == 0 {
		return
	}
	p.say("denials beside the book, the agent's own side's word: %d", len(denials))
	for _, d := range denials {
		for _, x := range d.Problems {
			p.say("  %d problem: %s (%s)", d.Index, x.Message, x.Code)
		}
		if all && len(d.Problems) == 0 {
			what := d.Action
			if what == "" {
				what = "a tool without an action"
			}
			p.say("  %d %s, %s: refused by %s, %s%s", d.Index, what, d.When, d.By, d.Code, ruleOf(d.Rule))
		}
	}
}

// ruleOf is the rule a denial names, nothing where it names none. It may be any text,
// and is quoted where it holds what could pass for other parts of the answer.
func ruleOf(name string) string {
	quoted := strconv.Quote(name)
	switch {
	case name == "":
		return ""
	case quoted == `"`+name+`"`:
		return " " + name
	}
	return " " + quoted
}

func entriesOf(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (p *program) tellEntry(e *receipts.Entry) {
	var about []string
	switch {
	case e.IssuerKey == "":
	case len(e.Problems) == 0 && e.Verified == receipts.VerifiedAll:
		about = append(about, "signed by "+e.IssuerKey)
	default:
		about = append(about, "names the passkey "+e.IssuerKey)
	}
	if e.Development {
		about = append(about, "(development)")
	}
	// Content is fact only where nothing is wrong with it.
	if stub, ok := e.Content.(*receipts.Stub); ok && len(e.Problems) == 0 && e.Verified == receipts.VerifiedAll {
		about = append(about, stub.Action, stub.When.String())
		if stub.Amount != nil {
			about = append(about, fmt.Sprintf("%d %s", stub.Amount.Value, stub.Amount.Unit))
		}
		if e.Countersignature == receipts.StateValid {
			about = append(about, "countersigned by "+stub.With)
		}
	}
	p.say("  %d %s %s", e.Index, e.Kind, strings.Join(about, ", "))
	for _, x := range e.Problems {
		p.say("    problem: %s (%s)", x.Message, x.Code)
	}
	for _, x := range e.Breaches {
		p.say("    outside the slip: %s (%s)", x.Message, x.Code)
	}
	for _, x := range e.Notes {
		p.say("    note: %s", x)
	}
	for _, x := range e.NotChecked {
		p.say("    not checked here: %s", x)
	}
}
