package receipts

import (
	"sync"
	"time"
)

// ledger writes the lines of one ledger: numbered, chained, signed, each durable
// before the next is begun. At most one line is therefore ever half on the disk.
type ledger struct {
	log   Log
	key   *LedgerKey
	clock func() time.Time

	mu   sync.Mutex // guards what follows: one line at a time, from any goroutine
	seq  int64      // of the next line
	prev string     // hash of the last line
	w    lineWriter
}

// append writes one line and returns its number once it is durable. Room must
// have been reserved. Any error is final.
func (l *ledger) append(body LineBody) (seq int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.clock().UTC().Truncate(time.Millisecond)
	if mark, ok := body.(*MarkLine); ok {
		mark.Ledger = Extent{Bytes: l.log.Size(), Lines: l.seq, Last: l.prev}
	}
	line, hash := l.w.write(Line{Seq: l.seq, Prev: l.prev, At: at, Body: body}, l.key.private)
	if err := l.log.Append(line); err != nil {
		return 0, err
	}
	if err := l.log.Sync(); err != nil {
		return 0, err
	}
	seq = l.seq
	l.seq, l.prev = l.seq+1, hash
	if cap(l.w.buf) > 1<<20 {
		l.w.buf = nil // one large call must not hold its memory for good
	}
	return seq, nil
}

// head is the number of lines and the hash of the last.
func (l *ledger) head() (size int64, last string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq, l.prev
}

// reserve makes room for n bytes of lines.
func (l *ledger) reserve(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Reserve(n)
}
