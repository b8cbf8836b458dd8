package receipts

import (
	"errors"
	"fmt"
)

// cancellationState is a cancellation of a slip of this book.
type cancellationState struct {
	slip  string
	acked bool
}

// remember keeps which cancellations and acknowledgements the book holds.
func (c *Chain) remember(e *Entry) {
	switch r := e.Content.(type) {
	case *Cancellation:
		c.cancelled[e.Fingerprint] = &cancellationState{slip: r.Slip}
	case *Acknowledgement:
		if s := c.cancelled[r.Cancellation]; s != nil && r.Pass == "" {
			s.acked = true
		}
	}
}

// takeCancellations looks for cancellations that were handed in since the last
// turn. One that is there stops every new call under its slip at once; its line
// and the acknowledgement are written now, as no call is in flight, or once the
// time it names has come. One that cannot be taken up stops every call: what a
// person meant to end must not go on for a fault in a file. The caller has the
// turn. An error is final, or a disk without room.
func (c *Chain) takeCancellations() error {
	before := c.blocked
	c.blocked = ""
	handed, err := c.logs.Inbox.Cancellations()
	if err != nil {
		c.block("the cancellations handed in cannot be read: " + err.Error())
	}
	for _, h := range handed {
		if err := c.takeCancellation(h); err != nil {
			return err
		}
	}
	if c.blocked != "" && c.blocked != before {
		c.log.Error("no call is allowed", "why", c.blocked)
	}
	return nil
}

// block refuses every call until the cause is gone.
func (c *Chain) block(why string) { c.blocked = why }

func (c *Chain) takeCancellation(h Handed) error {
	e, err := ReadEnvelope(KindCancellation, h.Record)
	if err != nil {
		c.block(fmt.Sprintf("the cancellation %s cannot be read (%s): put it right, or take it away", h.Name, err))
		return nil
	}
	fp := e.Fingerprint()
	if c.cancelled[fp] == nil {
		content, err := c.checker.Hold(h.Record)
		if err != nil {
			c.block(fmt.Sprintf("the cancellation %s is not sound (%s): put it right, or take it away", h.Name, err))
			return nil
		}
		if content.When > TimeOf(c.cfg.Clock())+ClockSlack {
			return nil // held until then
		}
		if err := c.writeCancellation(fp, h.Record); err != nil {
			if errors.Is(err, errUnsound) {
				c.block(fmt.Sprintf("the cancellation %s cannot be put into the book (%s): take it away, and start the guard again", h.Name, err))
				return nil
			}
			return c.noRoom(err)
		}
	}
	if err := c.acknowledge(fp); err != nil {
		return c.noRoom(err)
	}
	if err := c.logs.Book.Sync(); err != nil {
		return c.noRoom(err)
	}
	if err := c.logs.Inbox.Done(h); err != nil {
		c.block("a cancellation that is in the book cannot be taken out: " + err.Error())
		return nil
	}
	return nil
}

// writeCancellation puts a cancellation into the book, and a notice of it into
// the ledger.
func (c *Chain) writeCancellation(fp string, record []byte) error {
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	if err := c.logs.Book.Reserve(2 * (MaxLine + 1)); err != nil {
		return err
	}
	if err := c.appendBook(AppendLine(nil, KindCancellation, record)); err != nil {
		return err
	}
	content, err := ReadEnvelope(KindCancellation, record)
	if err != nil {
		return err
	}
	r, err := ReadCancellation(content.Payload)
	if err != nil {
		return err
	}
	c.cancelled[fp] = &cancellationState{slip: r.Slip}
	c.log.Warn("the slip was cancelled: no further call is allowed under it", "slip", r.Slip)
	_, err = c.ledger.append(&NoticeLine{What: noticeCancelled, Bytes: int64(len(record)), SHA256: fp, Text: "a cancellation of the slip " + r.Slip + " was taken into the book; sha256 is its fingerprint"})
	return err
}

// acknowledge writes the agent's acknowledgement of a cancellation, once for each
// slip, where the keys of the slip's agent are at hand.
func (c *Chain) acknowledge(fp string) error {
	s := c.cancelled[fp]
	for _, other := range c.cancelled {
		if other.slip == s.slip && other.acked {
			return nil
		}
	}
	slip, ok := c.checker.Slip(s.slip)
	if !ok {
		return nil
	}
	agent := c.signer(slip.Agent.Keys.Fingerprint())
	if agent == nil {
		return nil
	}
	id, err := NewID(&c.rand)
	if err != nil {
		return fmt.Errorf("drawing the id of an acknowledgement: %w", err)
	}
	_, _, last := c.checker.Next(s.slip, "")
	a := Acknowledgement{ID: id, Slip: s.slip, Cancellation: fp, When: max(TimeOf(c.cfg.Clock()), last)}
	record, err := agent.Sign(KindAcknowledgement, a.Append(nil))
	if err != nil {
		return err
	}
	if err := c.appendBook(AppendLine(nil, KindAcknowledgement, record)); err != nil {
		return err
	}
	s.acked = true
	return nil
}
