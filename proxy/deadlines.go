package proxy

import (
	"sync"
	"time"
)

// deadlines calls a function for each call that has had no outcome for a fixed
// time. As the time is the same for all, calls become late in the order they were
// added; one timer serves them all and is set at most once in that time, not once
// for each call.
type deadlines struct {
	after  time.Duration
	passed func(*Call)

	mu    sync.Mutex // guards what follows
	queue []deadline // by at
	armed bool
}

type deadline struct {
	at time.Time
	c  *Call
}

// add begins a call's time.
func (d *deadlines) add(c *Call) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	d.queue = append(d.queue, deadline{now.Add(d.after), c})
	if !d.armed {
		d.armed = true
		time.AfterFunc(d.after, d.look)
	}
}

// settle takes calls from the front that have their outcome. mu is held.
func (d *deadlines) settle() {
	n := 0
	for n < len(d.queue) && d.queue[n].c.over.Load() {
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

// look sees to the calls that are late, and sets the timer for the next one.
func (d *deadlines) look() {
	now := time.Now()
	var late []*Call
	d.mu.Lock()
	for len(d.queue) > 0 && !d.queue[0].at.After(now) {
		if c := d.queue[0].c; !c.over.Load() {
			late = append(late, c)
		}
		d.queue = d.queue[1:]
	}
	d.settle()
	d.armed = len(d.queue) > 0
	if d.armed {
		time.AfterFunc(d.queue[0].at.Sub(now), d.look)
	}
	d.mu.Unlock()
	for _, c := range late {
		d.passed(c)
	}
}
