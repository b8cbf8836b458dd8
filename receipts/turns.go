package receipts

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrBusy says that as many calls wait for their turn as may.
var ErrBusy = errors.New("too many calls are waiting for their turn")

// turns lets one caller at a time have the turn of a chain, in the order they
// came.
type turns struct {
	most int // waiting at once

	mu      sync.Mutex // guards what follows
	taken   bool
	ahead   []chan struct{} // closed when the turn is that caller's; not counted
	waiting []chan struct{} // the same, once nobody is ahead
	shut    bool
	idle    chan struct{} // made by close, closed when the turn comes back
}

// take waits for the turn, behind the others or ahead of them. The caller that gets
// nil must call pass once.
func (t *turns) take(ctx context.Context, first bool) error {
	t.mu.Lock()
	if t.shut {
		t.mu.Unlock()
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		t.mu.Unlock()
		return err
	}
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	if !first && len(t.waiting) >= t.most {
		t.mu.Unlock()
		return ErrBusy
	}
	mine, queue := make(chan struct{}), &t.waiting
	if first {
		queue = &t.ahead
	}
	*queue = append(*queue, mine)
	t.mu.Unlock()

	var err error
	select {
	case <-mine:
	case <-ctx.Done():
		err = ctx.Err()
		t.mu.Lock()
		if i := slices.Index(*queue, mine); i >= 0 {
			*queue = slices.Delete(*queue, i, i+1)
			t.mu.Unlock()
			return err
		}
		t.mu.Unlock()
		<-mine // the turn came at the same moment
	}
	t.mu.Lock()
	if t.shut {
		err = ErrClosed
	}
	t.mu.Unlock()
	if err != nil {
		t.pass()
	}
	return err
}

// pass hands the turn on.
func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&t.ahead, &t.waiting} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	t.taken = false
	if t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// close lets nobody have the turn any more and waits until it comes back from
// whoever has it now.
func (t *turns) close() {
	t.mu.Lock()
	t.shut = true
	if !t.taken {
		t.mu.Unlock()
		return
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	<-idle
}
