package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"countersign/internal/ijson"
)

var (
	// ErrBusy says that as many calls wait as may.
	ErrBusy = errors.New("too many calls are waiting for their turn")

	// ErrNoRoom says that a call cannot be recorded now, and that nothing is
	// lost: another may be later. Every other failure to record is final.
	ErrNoRoom = errors.New("no room for the records of a call")
)

// Chain is one agent's records: the slip its calls stand under, and the ledger
// and book they are written to.
type Chain interface {
	// Take waits for the turn of one call, ErrBusy when too many wait already.
	Take(ctx context.Context) (Turn, error)

	// Notice writes what is not a call but must be on record: a refused
	// message, a tool whose definition changed. Past its hourly bound the
	// chain only counts.
	Notice(Notice) error
}

// Turn is the one call of a chain that is being decided. Exactly one of Refuse,
// Copy and Release ends it or takes it over; Release is harmless after the
// others.
type Turn interface {
	// At is T0, the moment the turn came: the time of rules, check and stub.
	At() time.Time

	// Check asks the slip, once the rules have let the call pass.
	Check(Proposal) Answer

	// Refuse records a call that is not made. It is durable on return.
	Refuse(Refusal) error

	// Copy records the call before anything is sent. It is durable on return.
	Copy(Copy) (Flight, error)

	Release()
}

// Flight is a call that is recorded and may be sent.
type Flight interface {
	// Finish records the outcome and writes the receipt. Only after it has
	// returned without error may the agent be answered.
	Finish(Outcome) (Receipt, error)
}

// Amount is how much of a unit one call is about.
type Amount struct {
	Unit  string
	Value int64 // 0 to 2^53-1
}

// Detail binds something to a stub by its SHA-256, in base64url.
type Detail struct{ Name, SHA256 string }

// Names of details (guard.md, section 3, step 6). Those of tool and result have
// a prefix that the settings choose.
const (
	detailArguments = "arguments"
	detailTool      = ".tool-name"
	detailResult    = ".tool-result"
	detailRules     = "countersign.content-rules"
	detailInput     = "countersign.input-responses"
	detailUnknown   = "countersign.outcome-not-known"
)

// Proposal is the stub a call would have, without what only its outcome gives.
type Proposal struct {
	Action  string
	Amount  *Amount
	With    string
	Details []Detail
}

// Answer is what the slip says to a proposal.
type Answer struct {
	Allowed bool
	Code    string // of the check before acting, when not allowed
	Say     string // for the agent
}

// Call is what is on record of any call, refused or made.
type Call struct {
	Proposal
	Tool                      string
	Arguments                 []byte // as they came; absent ones as {}
	InputResponses            []byte // as they came, nil without
	Annotations               []byte // the tool's, as the server gave them; nil without
	Agent, Upstream           string
	ClientName, ClientVersion string
	Watched                   []string // "file name/rule id"
}

// Refusal is a call that is not made, and who said no.
type Refusal struct {
	Call
	By   string // rule, slip or settings
	Code string
	Rule string // "file name/rule id", of a refusal by rule
	// Note tells refusals of one code apart for whoever reads the ledger. It is
	// not told to the agent.
	Note string
	// NoDenial marks a request that is no tools/call: it has a line in the
	// ledger and no denial.
	NoDenial bool
}

// Copy is the guard's own copy of a call it is about to make.
type Copy struct{ Call }

// Outcome is what came of a call.
type Outcome struct {
	// How is result, tool-error (a result whose isError is true) or error, or
	// the reason why the outcome is not known.
	How     string
	Detail  Detail // the stub's last: the digest of the answer, or of the reason
	Answer  []byte // the canonical form of {"result": …} or {"error": …}; nil when not known
	Removed int    // credentials taken out of the answer
}

// Receipt names the stub that was written; empty where none is.
type Receipt struct {
	ID, Fingerprint string
}

// Notice is something on record that is no call.
type Notice struct {
	What string // refused-message, tool-changed
	Text string // never text of a message
	Size int    // bytes of the message
	Hash string // SHA-256 of the message or definition, in base64url
}

// Reasons for an outcome that is not known (guard.md, section 3, step 6).
const (
	reasonTimeout    = "timeout"
	reasonCancelled  = "cancelled"
	reasonStopped    = "stopped"
	reasonClosed     = "upstream-closed"
	reasonUnreadable = "unreadable"
)

// fingerprint is a SHA-256 as the records spell it.
func fingerprint(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// digest is the fingerprint of a value's canonical form.
func digest(v ijson.Value) string {
	return fingerprint(ijson.AppendCanonical(nil, v))
}

// unrecorded is the chain of mode rules: no slip is asked, nothing is written, and
// calls do not wait for one another.
type unrecorded struct{ now func() time.Time }

func (u unrecorded) Take(context.Context) (Turn, error) { return unrecordedTurn{u.now()}, nil }

// Notice writes nothing: whoever notices logs it too.
func (unrecorded) Notice(Notice) error { return nil }

type unrecordedTurn struct{ at time.Time }

func (t unrecordedTurn) At() time.Time             { return t.at }
func (unrecordedTurn) Check(Proposal) Answer       { return Answer{Allowed: true} }
func (unrecordedTurn) Refuse(Refusal) error        { return nil }
func (t unrecordedTurn) Copy(Copy) (Flight, error) { return t, nil }
func (unrecordedTurn) Release()                    {}

func (unrecordedTurn) Finish(Outcome) (Receipt, error) { return Receipt{}, nil }
