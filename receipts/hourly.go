package receipts

import "time"

// hourly lets a bounded number of events through in any hour and counts the rest.
// It is not safe for concurrent use.
type hourly struct {
	most  int
	times []time.Time // of the last events let through, a ring once it is full
	next  int

	count       int64 // events not let through since the last report
	from, until time.Time
}

// allow says whether an event at this time is among the most of its hour; if not
// it is counted.
func (h *hourly) allow(now time.Time) bool {
	if h.most > 0 && (len(h.times) < h.most || now.Sub(h.times[h.next]) >= time.Hour) {
		h.took(now)
		return true
	}
	if h.count == 0 {
		h.from = now
	}
	h.count++
	h.until = now
	return false
}

// took remembers an event let through.
func (h *hourly) took(at time.Time) {
	switch {
	case h.most <= 0:
	case len(h.times) < h.most:
		h.times = append(h.times, at)
	default:
		h.times[h.next] = at
		h.next = (h.next + 1) % h.most
	}
}

// report gives the count and begins a new one.
func (h *hourly) report() (count int64, from, until time.Time) {
	count, from, until = h.count, h.from, h.until
	h.count = 0
	return count, from, until
}

// putBack takes a report back that could not be written.
func (h *hourly) putBack(count int64, from, until time.Time) {
	if h.count == 0 {
		h.until = until
	}
	h.count += count
	h.from = from
}
