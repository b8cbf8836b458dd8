package proxy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// out writes whole lines to one peer, from any goroutine. A line is written in
// one piece, by whoever has it: nothing is queued, so a peer that does not read
// holds up those who write to it and nobody's memory grows. A peer that takes
// nothing for timeout counts as stalled, and nothing is written to it any more.
type out struct {
	w       io.Writer
	until   deadliner // nil where w has no deadlines
	timeout time.Duration

	// The watch over a write that waits: one timer, set at most once in timeout
	// and not once for each line.
	began atomic.Int64 // when the write in progress began, in Unix nanoseconds; 0 for none
	armed atomic.Bool

	mu      sync.Mutex // guards what follows, and the order of lines on w
	scratch []byte
	err     error // the first failure; final
}

// deadliner is a stream whose waiting writes can be ended.
type deadliner interface{ SetWriteDeadline(time.Time) error }

func newOut(w io.Writer, timeout time.Duration) *out {
	o := &out{w: w, timeout: timeout}
	if d, ok := w.(deadliner); ok && d.SetWriteDeadline(time.Time{}) == nil {
		o.until = d
	}
	return o
}

// message writes a message with another id in place of its own.
func (o *out) message(m *Message, id []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scratch = m.append(o.scratch[:0], id)
	return o.flush()
}

// put writes a line that has no end yet.
func (o *out) put(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scratch = append(o.scratch[:0], line...)
	return o.flush()
}

// flush writes scratch and a line's end. mu is held.
func (o *out) flush() error {
	if o.err != nil {
		return o.err
	}
	o.scratch = append(o.scratch, '\n')
	if o.until != nil {
		o.began.Store(time.Now().UnixNano())
		o.watch(o.timeout)
	}
	_, o.err = o.w.Write(o.scratch)
	o.began.Store(0)
	if errors.Is(o.err, os.ErrDeadlineExceeded) {
		o.err = fmt.Errorf("%w: nothing taken for %v", ErrStalled, o.timeout)
	}
	if cap(o.scratch) > keepBytes {
		o.scratch = nil
	}
	return o.err
}

// watch has look called after d, unless that is to happen anyway.
func (o *out) watch(d time.Duration) {
	if o.armed.CompareAndSwap(false, true) {
		time.AfterFunc(d, o.look)
	}
}

// look ends the write in progress where it has waited for too long, and else
// comes back when it would have.
func (o *out) look() {
	o.armed.Store(false) // before began is read, so that a write begun since is not missed
	began := o.began.Load()
	if began == 0 {
		return
	}
	left := o.timeout - time.Since(time.Unix(0, began))
	if left > 0 {
		o.watch(left)
		return
	}
	// No other write begins while this one waits.
	_ = o.until.SetWriteDeadline(time.Unix(1, 0))
}

// end makes every later write fail with err.
func (o *out) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}
