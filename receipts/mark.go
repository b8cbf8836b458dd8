package receipts

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// DefaultMarkEvery is how many receipts and denials there are between two marks:
// what a start has to check anew, under a second of signatures.
const DefaultMarkEvery = 256

// with is the extent with one more line.
func (e Extent) with(line []byte) Extent {
	return Extent{Bytes: e.Bytes + int64(len(line)) + 1, Lines: e.Lines + 1, Last: Fingerprint(line)}
}

// bookEnd follows how far a book was written and how far it is durable.
type bookEnd struct {
	end     Extent
	pending []Extent // ends after each line that may not be durable yet
	durable Extent
}

func (b *bookEnd) wrote(line []byte) {
	b.end = b.end.with(line)
	b.pending = append(b.pending, b.end)
}

// known gives the last extent within the bytes that are synced.
func (b *bookEnd) known(synced int64) Extent {
	n := 0
	for n < len(b.pending) && b.pending[n].Bytes <= synced {
		b.durable = b.pending[n]
		n++
	}
	b.pending = append(b.pending[:0], b.pending[n:]...)
	return b.durable
}

// writeMark makes book and denials durable and says so in the ledger. The caller
// has the turn, or nobody can have it any more. ErrNoRoom leaves the chain as it
// was; any other error is final.
func (c *Chain) writeMark() error {
	if int64(c.checker.Size()) != c.book.end.Lines {
		return errUnsound // the checker was given a line that the book was not
	}
	for _, l := range []Log{c.logs.Book, c.logs.Denials} {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	if err := c.ledger.reserve(otherRoom); err != nil {
		return err
	}
	_, err := c.ledger.append(&MarkLine{Book: c.book.end, Denials: c.denied, Root: c.checker.Root()})
	if err == nil {
		c.unmarked = 0
	}
	return err
}

// markIfDue writes a mark after so many records. The caller has the turn. With no
// room it is tried again after the next record.
func (c *Chain) markIfDue() {
	if c.unmarked < c.cfg.MarkEvery {
		return
	}
	if err := c.writeMark(); err != nil && !errors.Is(err, ErrNoRoom) {
		c.fail(err)
	}
}

// backwards gives the lines of the first size bytes of r from the last to the
// first. Only the last may lack its line end. It ends at a line past limit bytes
// or a failing read, with an error.
func backwards(r io.ReaderAt, size int64, limit int) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		start := size // offset of buf
		var buf []byte
		for start > 0 || len(buf) > 0 {
			// The line end that closes the last line in buf does not begin one.
			body := bytes.TrimSuffix(buf, []byte("\n"))
			i := bytes.LastIndexByte(body, '\n')
			if i < 0 && start > 0 {
				if len(buf) > limit {
					yield(piece{}, errLongLine(limit))
					return
				}
				n := min(start, int64(max(readLimit, len(buf))))
				more := make([]byte, n, n+int64(len(buf)))
				if _, err := r.ReadAt(more, start-n); err != nil {
					yield(piece{}, err)
					return
				}
				buf, start = append(more, buf...), start-n
				continue
			}
			p := piece{off: start + int64(i) + 1, text: body[i+1:], whole: len(body) < len(buf)}
			buf = buf[:i+1]
			if !yield(p, nil) {
				return
			}
		}
	}
}
