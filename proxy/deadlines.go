package proxy

import (
	"slices"
	"sync"
	"time"
)

// deadlines sees to requests that have had no outcome for a fixed time. As the
// time is the same for all, they become late in the order they were added; one
// timer serves them all and is set at most once in that time, not once for each.
type deadlines struct {
	after time.Duration

	mu    sync.Mutex // guards what follows
	queue []deadline // by at
	room  int        // entries up to which queue is not gone through
	armed bool
}

// leastQueue is how many entries, settled or not, are never gone through: each may
// hold a call of bodyLimit bytes.
const leastQueue = 8

// timed is a request whose time runs.
type timed interface {
	settled() bool // it has its outcome
	late()         // it has had none for too long
}

type deadline struct {
	at time.Time
	of timed
}

// add begins a request's time.
func (d *deadlines) add(r timed) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	if len(d.queue) >= max(d.room, leastQueue) {
		// Settled ones behind one that goes on. Going through all when they have
		// doubled costs each a constant.
		d.queue = slices.DeleteFunc(d.queue, func(e deadline) bool { return e.of.settled() })
		d.room = 2 * len(d.queue)
	}
	d.queue = append(d.queue, deadline{now.Add(d.after), r})
	if !d.armed {
		d.armed = true
		time.AfterFunc(d.after, d.look)
	}
}

// settle takes requests from the front that have their outcome. mu is held.
func (d *deadlines) settle() {
	n := 0
	for n < len(d.queue) && d.queue[n].of.settled() {
		n++
	}
	if n == len(d.queue) {
		clear(d.queue)
		d.queue = d.queue[:0]
		return
	}
	clear(d.queue[:n])
	d.queue = d.queue[n:]
}

// look sees to the requests that are late, and sets the timer for the next one.
func (d *deadlines) look() {
	now := time.Now()
	var late []timed
	d.mu.Lock()
	for len(d.queue) > 0 && !d.queue[0].at.After(now) {
		if r := d.queue[0].of; !r.settled() {
			late = append(late, r)
		}
		d.queue[0] = deadline{} // the array lives on
		d.queue = d.queue[1:]
	}
	d.settle()
	d.armed = len(d.queue) > 0
	if d.armed {
		time.AfterFunc(d.queue[0].at.Sub(now), d.look)
	}
	d.mu.Unlock()
	for _, r := range late {
		r.late()
	}
}
