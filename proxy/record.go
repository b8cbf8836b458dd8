package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// Chain is one agent's records: the slip its calls stand under, and the ledger
// and book they are written to. [Recorded] makes one of a receipts.Chain.
type Chain interface {
	// Take waits for the turn of one call, receipts.ErrBusy when too many wait
	// already. Turns come in the order of the calls of Take.
	Take(ctx context.Context) (Turn, error)

	// Notice writes what is not a call but must be on record: a refused
	// message, a tool whose definition changed. Past its hourly bound the
	// chain only counts.
	Notice(receipts.Notice) error
}

// Turn is the one call of a chain that is being decided. Exactly one of Refuse,
// Copy and Release ends it or takes it over; Release is harmless after the
// others.
type Turn interface {
	// At is T0, the moment the turn came: the time of rules, check and stub.
	At() time.Time

	// Check asks the slip, once the rules have let the call pass.
	Check(receipts.Proposal) receipts.Answer

	// Refuse records a call that is not made. It is durable on return.
	Refuse(receipts.Refused) error

	// Copy records the call before anything is sent. It is durable on return.
	Copy(receipts.Call) (Flight, error)

	Release()
}

// Flight is a call that is recorded and may be sent.
type Flight interface {
	// Finish records the outcome and writes the receipt. Only after it has
	// returned without error may the agent be answered.
	Finish(receipts.Outcome) (receipts.Receipt, error)
}

// Recorded is a chain of the receipts room as the pipeline takes it.
func Recorded(c *receipts.Chain) Chain { return recorded{c} }

type recorded struct{ *receipts.Chain }

func (r recorded) Take(ctx context.Context) (Turn, error) {
	t, err := r.Chain.Take(ctx)
	if err != nil {
		return nil, err
	}
	return recordedTurn{t}, nil
}

type recordedTurn struct{ *receipts.Turn }

func (t recordedTurn) Copy(c receipts.Call) (Flight, error) {
	f, err := t.Turn.Copy(c)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// final says whether an error of the chain is one after which nothing can be
// recorded any more.
func final(err error) bool {
	return errors.Is(err, receipts.ErrFinal) || errors.Is(err, receipts.ErrNotRecorded) || errors.Is(err, receipts.ErrWithheld)
}

// unrecorded is the chain of mode rules: no slip is asked, nothing is written, and
// calls do not wait for one another.
type unrecorded struct{ now func() time.Time }

func (u unrecorded) Take(context.Context) (Turn, error) { return unrecordedTurn{u.now()}, nil }

// Notice writes nothing: whoever notices logs it too.
func (unrecorded) Notice(receipts.Notice) error { return nil }

type unrecordedTurn struct{ at time.Time }

func (t unrecordedTurn) At() time.Time                         { return t.at }
func (unrecordedTurn) Check(receipts.Proposal) receipts.Answer { return receipts.Answer{Allowed: true} }
func (unrecordedTurn) Refuse(receipts.Refused) error           { return nil }
func (t unrecordedTurn) Copy(receipts.Call) (Flight, error)    { return t, nil }
func (unrecordedTurn) Release()                                {}

func (unrecordedTurn) Finish(receipts.Outcome) (receipts.Receipt, error) {
	return receipts.Receipt{}, nil
}

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
