package receipts

// State is what became of one signature, or of the signatures of one record.
type State string

const (
	StateAbsent      State = "absent"      // there is none
	StateValid       State = "valid"       // checked here, and fits
	StateInvalid     State = "invalid"     // checked here, and does not fit
	StateUnavailable State = "unavailable" // a method is missing here
	StateUnchecked   State = "unchecked"   // not reached: something before it failed
)

// Verified says how much of a record's own signatures was confirmed here.
type Verified string

const (
	VerifiedAll  Verified = "all"
	VerifiedSome Verified = "some"
	VerifiedNone Verified = "none"
)

// Entry is what was found about one line of a book (section 4.4). Its content,
// where there are problems or nothing was verified, is not to be shown as fact.
type Entry struct {
	Index       int       `json:"index"`
	Kind        Kind      `json:"kind"` // "unreadable" where the line was not read
	Fingerprint string    `json:"fingerprint,omitempty"`
	Verified    Verified  `json:"verified"`
	Problems    []Problem `json:"problems"`
	Breaches    []Problem `json:"breaches"`
	Notes       []string  `json:"notes,omitempty"`
	NotChecked  []string  `json:"notChecked,omitempty"` // what this program did not check

	Slip             string `json:"slip,omitempty"` // fingerprint of the slip it is under
	Pass             string `json:"pass,omitempty"`
	Compared         bool   `json:"compared,omitempty"` // held against its slip
	Needs            []Kind `json:"needs,omitempty"`    // what conditions asked for
	Running          string `json:"running,omitempty"`  // sum of the action's amounts up to here, where a max bounds it
	Countersignature State  `json:"countersignature,omitempty"`
	Approval         State  `json:"approval,omitempty"`
	IssuerKey        string `json:"issuerKey,omitempty"` // thumbprint, of a slip
	Development      bool   `json:"development,omitempty"`
	Covered          int    `json:"covered,omitempty"` // fields of a slip that stand covered
	Signer           string `json:"signer,omitempty"`  // key-set fingerprint of who signed a refusal, terms, vouching or seal
	Service          string `json:"service,omitempty"` // the signer's id as a service of the slip, of a refusal

	// Content is what the record says: *Slip, *Stub and so on; nil when unread.
	Content any `json:"-"`
}

// KindUnreadable is the kind of an entry whose line is of no known kind.
const KindUnreadable Kind = "unreadable"

// Report is what a check of a whole book found.
type Report struct {
	Format   string    `json:"format"`
	Size     int       `json:"size"` // entries
	Root     string    `json:"root"` // top fingerprint of the tree over the lines
	Problems []Problem `json:"problems"`
	Notes    []string  `json:"notes"`
	Entries  []*Entry  `json:"entries"`
	Summary  Summary   `json:"summary"`
}

// BookFormat is the format a book's report names.
const BookFormat = "provared-book-draft-v0"

// Summary keeps apart three answers: whether a problem was found, whether every
// signature was checked here, and whether the agent stayed within its slips.
type Summary struct {
	Intact         bool     `json:"intact"` // no problem, and everything checked
	ProblemFound   bool     `json:"problemFound"`
	FullyChecked   bool     `json:"fullyChecked"`
	IssuerCompared bool     `json:"issuerCompared"` // issuer keys were given to hold slips against
	MethodsMissing []Method `json:"methodsMissing"`
	WithinSlips    bool     `json:"withinSlips"`
	FirstBreach    int      `json:"firstBreach"` // index of an entry, -1 for none
	Counts         Counts   `json:"counts"`
	Development    bool     `json:"development"`          // a slip was signed by a stand-in, not a person
	NotChecked     []string `json:"notChecked,omitempty"` // kinds of check this program does not do
	Limits         []string `json:"limits"`               // what no check of this book can show
}

// Counts counts the entries of each kind, and the stubs by how they stand.
type Counts struct {
	Slips            int `json:"slips"`
	Stubs            int `json:"stubs"`
	Countersigned    int `json:"countersigned"`
	OneSided         int `json:"oneSided"`
	Approved         int `json:"approved"`
	Refusals         int `json:"refusals"`
	Terms            int `json:"terms"`
	Seals            int `json:"seals"`
	Cancellations    int `json:"cancellations"`
	Acknowledgements int `json:"acknowledgements"`
	Vouchings        int `json:"vouchings"`
	Withdrawals      int `json:"withdrawals"`
	Passes           int `json:"passes"`
}

// Proposal is an action not yet taken, to be held against the book (section 6.4).
type Proposal struct {
	Slip     string // fingerprint
	Action   string
	Amount   *Amount
	With     string
	Details  []Detail
	Approval []byte // the approval's record, nil for none
	Terms    string // fingerprint
	Pass     string // fingerprint
	When     Time
}

// Answer is the answer of the check before acting. A problem ends the check, and
// Breaches is then empty.
type Answer struct {
	Allowed  bool      `json:"allowed"`
	Problems []Problem `json:"problems"`
	Breaches []Problem `json:"breaches"`
	Needs    Needs     `json:"needs"`
}

// Needs says what the slip's conditions ask for the action.
type Needs struct {
	Countersignature bool `json:"countersignature"`
	Approval         bool `json:"approval"`
}

// First is the first problem or breach, false where there is none.
func (a Answer) First() (Problem, bool) {
	if len(a.Problems) > 0 {
		return a.Problems[0], true
	}
	if len(a.Breaches) > 0 {
		return a.Breaches[0], true
	}
	return Problem{}, false
}

// CheckOptions say what a check is held against. The zero value checks
// everything, and trusts no issuer.
type CheckOptions struct {
	IssuerKeys     []string            // thumbprints of the passkeys slips must be signed with; none: not compared
	SealKeys       []string            // fingerprints of key sets seals must be signed with; none: not compared
	Disclosures    map[string][]string // by slip fingerprint: what to reveal of it
	ExpectedRoot   string              // of the whole book; "" not compared
	ExpectedSize   int                 // of the whole book; -1, or 0 with no root, not compared
	WithoutMethods []Method            // treated as missing here
	Workers        int                 // of VerifyBook; 0: as many as there are processors
	SummaryOnly    bool                // keep no entries: Report has none, memory stays small
}

const (
	// MaxEntries and MaxLine bound a book (section 4.1): its entries, and the bytes
	// of a line without its line feed.
	MaxEntries = 100_000
	MaxLine    = 131_072

	// ClockSlack is how many seconds two parties' clocks may differ.
	ClockSlack = 300
)
