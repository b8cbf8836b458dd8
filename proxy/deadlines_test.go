package proxy

import (
	"sync/atomic"
	"testing"
	"time"
)

type quick struct{ over atomic.Bool }

func (q *quick) settled() bool { return q.over.Load() }
func (*quick) late()           {}

// What is settled behind a request that goes on is not kept until that one ends:
// each entry holds its call, and a call may be large.
func TestDeadlinesHoldNoneThatAreSettled(t *testing.T) {
	d := deadlines{after: time.Hour}
	d.add(new(quick)) // goes on
	for range 10_000 {
		q := new(quick)
		d.add(q)
		q.over.Store(true)
	}
	if n := len(d.queue); n > 2*leastQueue {
		t.Fatalf("%d requests are kept, of which one is open", n)
	}
	open := 0
	for range 1_000 {
		d.add(new(quick))
	}
	for i := range d.queue {
		if !d.queue[i].of.settled() {
			open++
		}
		if i > 0 && d.queue[i].at.Before(d.queue[i-1].at) {
			t.Fatal("out of the order of their times")
		}
	}
	if open != 1_001 {
		t.Fatalf("%d open requests are kept, want 1001", open)
	}
}
