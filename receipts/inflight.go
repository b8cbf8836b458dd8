package receipts

import (
	"errors"
	"fmt"
	"time"
)

// InFlight is a call that is on record and may be forwarded. Until Finish
// returns, nothing of the answer may reach the agent.
type InFlight struct {
	t        *Turn
	stub     Stub // without what the answer adds
	approval []byte
	call     int64  // seq of the call line
	release  func() // of the checker's reservation
	done     bool
}

// Outcome is what came of a call: an answer or the reason why there is none.
type Outcome struct {
	Detail  Detail // the stub's last: its name, and the digest of Result or Unknown
	Result  []byte // canonical form of {"result": …} or {"error": …}
	Unknown string // or one of the reasons
	Removed int    // credentials taken out of the answer
	Status  int    // HTTP status of the answer; 0 for none
}

// Receipt names the stub that was written.
type Receipt struct {
	ID          string
	Fingerprint string
	Seq         int64
	When        time.Time
}

// ID is the id of the call's stub.
func (f *InFlight) ID() string { return f.stub.ID }

// how checks an outcome and says how the call ended.
func (o *Outcome) how() (string, error) {
	bound := o.Result
	how := ""
	switch {
	case o.Unknown != "" && o.Result == nil:
		if isReason(o.Unknown) {
			how = o.Unknown
		}
		bound = []byte(o.Unknown)
	case o.Unknown == "":
		how = howOf(o.Result)
	}
	if how == "" {
		return "", errors.New("an outcome is either a result or error in canonical form, or one of the reasons")
	}
	if o.Detail.SHA256 != Fingerprint(bound) {
		return "", errors.New("the outcome's detail does not fit it")
	}
	return how, nil
}

// Finish records what came of the call and writes its receipt. The outcome line
// becomes durable while the four signatures are made; the book line stands whole
// when Finish returns and is durable within 50 ms. Then the answer may be given,
// and the turn passes on.
//
// ErrWithheld is final: the answer must not be given. Any other error is of the
// outcome's form, and leaves the call as it was.
func (f *InFlight) Finish(o Outcome) (Receipt, error) {
	if f.done {
		return Receipt{}, errors.New("the call is finished already")
	}
	how, err := o.how()
	if err != nil {
		return Receipt{}, err
	}
	f.done = true
	c := f.t.c
	withheld := func(err error) (Receipt, error) {
		c.fail(err)
		c.turns.pass()
		return Receipt{}, fmt.Errorf("%w: %w", ErrWithheld, c.Err())
	}
	line := &OutcomeLine{Call: f.call, How: how, Removed: int64(o.Removed), Status: int64(o.Status)}
	if o.Unknown == "" {
		line.Result = o.Detail.SHA256
	}
	if f.stub.Approval == "" {
		// A stub that names an approval carries exactly the approval's details.
		f.stub.Details = append(f.stub.Details, o.Detail)
	}
	line.Stub = f.stub.Append(nil)
	receipt := Receipt{ID: f.stub.ID, Fingerprint: Fingerprint(line.Stub), Seq: f.stub.Seq, When: f.stub.When.Time()}
	counter := Countersignature{Stub: receipt.Fingerprint, When: max(TimeOf(c.cfg.Clock()), f.stub.When)}
	line.Countersignature = counter.Append(nil)
	line.Book = c.book.known(c.logs.Book.Synced())

	var r signedPair
	signing := r.sign(c.cfg.Agent, c.cfg.Guard, line)
	_, err = c.ledger.append(line)
	signing.Wait()
	if err = errors.Join(err, r.err()); err != nil {
		return withheld(err)
	}
	c.line = AppendStubLine(c.line[:0], r.stub, r.counter, f.approval)
	if err := c.logs.Book.Append(c.line); err != nil {
		return withheld(err)
	}
	c.logs.Book.SyncSoon()
	if err := c.Err(); err != nil { // something else failed while the call was out
		return withheld(err)
	}
	// What the next call needs is done after the answer; whoever closes the
	// chain waits for it, as the turn is out until then.
	go func() {
		defer c.turns.pass()
		f.release()
		c.took(c.line, &f.stub, receipt.Fingerprint)
	}()
	return receipt, nil
}

// took brings the chain's state up to date with a receipt it has just written.
func (c *Chain) took(line []byte, stub *Stub, fingerprint string) {
	c.book.wrote(line)
	c.seq, c.previous, c.last = stub.Seq+1, fingerprint, stub.When
	if e := c.checker.AddOwn(line); len(e.Problems) > 0 {
		c.fail(fmt.Errorf("the receipt just written is not sound: %w", e.Problems[0]))
		return
	}
	c.unmarked++
	c.markIfDue()
}

// signedPair is a receipt in the making: stub and countersignature, each signed with
// two keys.
type signedPair struct {
	stub, counter       []byte
	stubErr, counterErr error
}

func (r *signedPair) err() error { return errors.Join(r.stubErr, r.counterErr) }
