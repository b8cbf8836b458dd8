package proxy

import (
	"context"
	"sync"

	"countersign/receipts"
)

// order keeps the calls of one connection in the order they came, from the
// moment they are read until the chain (or, without one, the server) has them.
type order struct {
	mu      sync.Mutex // guards what follows
	last    *Place
	between int // calls that have a place and have not passed it on
}

// Place is one call's place in that order. A nil Place has nobody before it.
type Place struct {
	of     *order
	prev   *Place
	came   bool          // everybody before has passed
	passed chan struct{} // closed by pass
	early  bool          // passed without having come; read after passed
	once   sync.Once
}

// enter takes the next place. At most most calls may wait beside the one whose
// turn it is. With alone there is no place to keep where nobody is before.
func (o *order) enter(most int, alone bool) (*Place, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if alone && o.between == 0 {
		return nil, nil
	}
	if o.between > most {
		return nil, receipts.ErrBusy
	}
	p := &Place{of: o, prev: o.last, passed: make(chan struct{})}
	o.last = p
	o.between++
	return p, nil
}

// come waits until all before have passed.
func (p *Place) come(ctx context.Context) error {
	if p == nil || p.came {
		return nil
	}
	for q := p.prev; q != nil; q = q.prev {
		select {
		case <-q.passed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !q.early {
			break
		}
	}
	p.came, p.prev = true, nil
	return nil
}

// pass lets the next one come. Who gives up passes too: the next one then waits
// for those before, so that nobody overtakes.
func (p *Place) pass() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.early = !p.came
		p.of.mu.Lock()
		p.of.between--
		if p.of.last == p {
			p.of.last = nil
			if p.early {
				p.of.last = p.prev
			}
		}
		p.of.mu.Unlock()
		close(p.passed)
	})
}
