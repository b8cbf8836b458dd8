package receipts

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
)

// Store keeps the logs of chains: append a line, make it durable, read from, lock
// a chain. There is no way to change or remove a line that was made durable:
// [Log.Cut] takes away only what a start found to be no whole line.
type Store interface {
	// Lock takes a chain for this process alone and opens its logs. A chain
	// that another holds gives a *HeldError.
	//
	// fail is called, at most once for each log and from any goroutine, when a
	// write or a sync failed for good; the log then takes nothing more.
	Lock(ctx context.Context, p Place, fail func(error)) (*Logs, error)
}

// Place says where the logs of one chain are.
type Place struct {
	Ledger string // path of the ledger; its folder is the chain's state folder
	Book   string // path of the book; "" for a chain without one
}

// Denials is the path of the denials that stand beside the book.
func (p Place) Denials() string { return p.Book + ".denials.jsonl" }

// aside is the end of the name of a book that was put aside.
var aside = regexp.MustCompile(`\.until-record-[0-9]+$`)

// DenialsBeside is the path of the denials that belong to a book, which may be one
// that was put aside.
func DenialsBeside(book string) string {
	end := aside.FindString(book)
	return Place{Book: strings.TrimSuffix(book, end)}.Denials() + end
}

// Logs are the open logs of a chain that is held.
type Logs struct {
	Ledger  Log
	Book    Log // nil without a book
	Denials Log // nil without a book
	Inbox   Inbox

	// Archive puts book and denials aside under a name and begins new ones. What
	// is aside already under this name is left alone, so an archive that was
	// broken off is completed by the same call.
	Archive func(name string) error
	Release func() error
}

// Inbox is where records are handed to a chain that is held: a cancellation by
// `cancel`. It is looked into at every turn.
type Inbox interface {
	// Cancellations gives the records that were handed in and not taken out.
	// With nothing new since the last call it costs little.
	Cancellations() ([]Handed, error)
	// Done takes a record out, once it is durable in the book.
	Done(Handed) error
}

// Handed is a record handed in.
type Handed struct {
	Name   string // says where, for messages
	Record []byte
}

// Log is one append-only log of lines. Its methods may be called from several
// goroutines; Append and Cut come one at a time.
type Log interface {
	// ReadAt reads bytes of the log: lines with a line end (LF) behind each.
	io.ReaderAt

	// Size is the length in bytes that Append goes on from. When a log is
	// opened it is all that was found but zeros at the end, so it may end in
	// half a line; the start looks, and cuts.
	Size() int64

	// Zeroed is the number of zero bytes found behind Size when the log was
	// opened: room set aside by a guard that did not close it, or what a power
	// cut left of a line.
	Zeroed() int64

	// Reserve sees to it that n bytes more than Size can be written. With no
	// room the error is [ErrNoRoom], and the log is as it was; any other error
	// is final.
	Reserve(n int) error

	// Append writes line and a line end. When it returns nil the line stands
	// whole in the log for every reader; Sync makes it outlast a power cut.
	// Any error is final.
	Append(line []byte) error

	// Sync returns once all that Append wrote before is durable. Any error is
	// final.
	Sync() error

	// SyncSoon has the store sync the log within 50 ms, in the background.
	SyncSoon()

	// Synced is the length known to be durable.
	Synced() int64

	// InPlace gives an error where a reader would no longer find what was
	// written: the log was taken away, replaced or cut by somebody else. The
	// error is final.
	InPlace() error

	// Cut takes away all behind size, durably; recovery at a start alone uses
	// it.
	Cut(size int64) error

	// Close syncs, gives back the room set aside and closes the log.
	Close() error
}

var (
	// ErrNoRoom says that what a call would write cannot be written: the disk
	// is full. Nothing was written and nothing sent; a later call may find room.
	ErrNoRoom = errors.New("no room on the disk for the records of a call")

	// ErrClosed says that the chain or its log is closed.
	ErrClosed = errors.New("the chain is closed")
)

// readLimit bounds one read of a log, in bytes: large enough that reading costs
// little beside hashing, small enough for the cache.
const readLimit = 1 << 18

// section is a reader of the bytes of a log from one offset to another.
func section(l io.ReaderAt, from, to int64) io.Reader {
	return io.NewSectionReader(l, from, to-from)
}
