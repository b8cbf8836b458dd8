package receipts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const (
	// noticesPerHour is how many notices a ledger takes in any hour; past it
	// they are counted (guard, section 5).
	noticesPerHour = 60

	// denialCountEvery and noticeCountEvery are how often a counting line is
	// written while there is something to count.
	denialCountEvery = time.Minute
	noticeCountEvery = time.Hour

	// maxBehind is how many seconds the clock may stand behind the chain's last
	// stub or denial: within it a call takes that record's time, beyond it every
	// call is refused as time-went-backwards.
	maxBehind = 5

	// maxPeerText bounds what peers call themselves in a ledger line, in code
	// points; the rest is cut off.
	maxPeerText = 200

	// maxToolName bounds a tool's name in bytes: a longer one is refused.
	maxToolName = 1000

	// otherRoom is the room, in bytes, for a line that is no call: a refused
	// line holds a denial's content (under 49,152 bytes), others far less.
	otherRoom = outcomeRoom
)

var (
	// ErrFinal says that a write or a sync failed: nothing may be forwarded and
	// nothing answered any more, and the process must end with exit code 1.
	ErrFinal = errors.New("the records can no longer be written")

	// ErrNotRecorded says that a call was not sent because its copy could not
	// be written. It is final.
	ErrNotRecorded = errors.New("the call was not sent: its copy could not be written")

	// ErrWithheld says that the outcome of a call that was sent could not be
	// written. It is final, and its text is for the agent.
	ErrWithheld = errors.New("the server answered; its answer is withheld because it could not be recorded; do not repeat the call")

	// ErrNotYet says that a slip is in force only later.
	ErrNotYet = errors.New("the slip is not in force yet")

	// ErrNotChecked says that a call was handed to Copy that Check did not
	// allow in this turn.
	ErrNotChecked = errors.New("the call is not the one that was checked and allowed")
)

// ChainConfig says what a chain is made of. All members but Log, OldKeys,
// Rollover and MarkEvery are needed.
type ChainConfig struct {
	Name   string // the agent's, 1 to 64 of a-z 0-9 . - _
	Store  Store
	Ledger string // path; its folder is the state folder
	Book   string // path

	Slip       []byte // the slip's record
	Agent      *Signer
	Guard      *Signer
	OldKeys    []*Signer // no longer in the settings, to finish receipts left open under them
	LedgerKey  *LedgerKey
	IssuerKeys []string // thumbprints
	Service    string   // the guard's own service id, the with of every stub

	// Rollover puts the book aside and begins a new one, under a slip that the
	// old book does not hold.
	Rollover bool

	DenialsPerHour int // 0: none is written, all are counted
	MaxWaiting     int // calls that may wait for the turn
	MarkEvery      int // receipts and denials between two marks; 0: DefaultMarkEvery

	Version  string      // of the program
	Settings string      // fingerprint of the settings
	Rules    []RulesFile // loaded at the start

	Clock func() time.Time
	Rand  io.Reader // ids come from here
	Log   *slog.Logger
}

func (c *ChainConfig) check() error {
	var bad []string
	need := func(ok bool, what string) {
		if !ok {
			bad = append(bad, what)
		}
	}
	need(isAgentName(c.Name), "a name of 1 to 64 of a-z 0-9 . - _")
	need(c.Store != nil, "a store")
	need(c.Ledger != "", "the ledger's path")
	need(c.Book != "", "the book's path")
	need(len(c.Slip) > 0, "a slip")
	need(c.Agent != nil, "the agent's keys")
	need(c.Guard != nil, "the guard's keys")
	need(c.LedgerKey != nil, "the ledger's key")
	need(len(c.IssuerKeys) > 0, "the thumbprint of the passkey that signs its slips")
	need(isShort(c.Service), "the guard's service id")
	need(c.DenialsPerHour >= 0 && c.DenialsPerHour <= 3600, "denials an hour from 0 to 3600")
	need(c.MaxWaiting >= 0 && c.MaxWaiting <= 10_000, "waiting calls from 0 to 10000")
	need(isText(c.Version, 1, maxName), "the program's version")
	need(isDigest(c.Settings), "the fingerprint of the settings")
	need(checkRules(c.Rules) == nil, "rules files with names and fingerprints, at most 16")
	need(c.Clock != nil, "a clock")
	need(c.Rand != nil, "a source of randomness")
	if bad != nil {
		return fmt.Errorf("chain %q needs %s", c.Name, strings.Join(bad, ", "))
	}
	return nil
}

// isAgentName: 1 to 64 of a-z 0-9 . - _ in any order.
func isAgentName(s string) bool {
	return s != "" && len(s) <= maxShort && isShort("a"+s[1:]) && isShort("a"+s[:1])
}

// Chain is one agent's records under one exclusive lock: the slip its calls stand
// under, its ledger, its book and its denials. One call at a time has the turn.
type Chain struct {
	cfg       ChainConfig
	log       *slog.Logger
	logs      *Logs
	ledger    *ledger
	slip      atomic.Pointer[string] // fingerprint of the one in force; changed by whoever has the turn
	agentKeys string                 // fingerprint
	guardKeys string                 // fingerprint
	turns     turns
	rand      lockedReader

	// What follows belongs to whoever has the turn.
	checker    *Checker
	seq        int64   // of the next stub
	previous   string  // fingerprint of the last stub; "" before the first
	last       Time    // its when
	lastNo     Time    // when of the last denial under the slip; minTime before the first
	lastDenial *Denial // under whichever slip; nil before the first
	book       bookEnd
	denied     Extent // of the denials, as far as they are written
	line       []byte // the book line being made
	unmarked   int    // receipts and denials since the last mark
	cancelled  map[string]*cancellationState
	blocked    string // why no call is allowed, where a record handed in cannot be taken up; else ""

	failed  chan struct{}
	failing sync.Once
	failure error // good once failed is closed

	counts  sync.Mutex // guards the two counts
	denials hourly
	notices hourly
	counted chan struct{} // one token: there is something new to count

	stop   chan struct{}
	keeper sync.WaitGroup
	close  sync.Once
	closed error
}

// lockedReader lets several goroutines read one source of randomness.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return io.ReadFull(l.r, p)
}

// OpenChain takes the chain's locks, reads its ledger, book and denials, checks
// that they agree, and writes the ledger's open line. A *HeldError says who
// holds the chain; a *StartError says what in the records stops the start.
func OpenChain(ctx context.Context, cfg ChainConfig) (*Chain, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.MarkEvery <= 0 {
		cfg.MarkEvery = DefaultMarkEvery
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Chain{
		cancelled: make(map[string]*cancellationState),
		cfg:       cfg, log: cfg.Log.With("agent", cfg.Name),
		agentKeys: cfg.Agent.Keys().Fingerprint(), guardKeys: cfg.Guard.Keys().Fingerprint(),
		turns:   turns{most: cfg.MaxWaiting},
		rand:    lockedReader{r: cfg.Rand},
		denials: hourly{most: cfg.DenialsPerHour}, notices: hourly{most: noticesPerHour},
		failed: make(chan struct{}), counted: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	logs, err := cfg.Store.Lock(ctx, Place{Ledger: cfg.Ledger, Book: cfg.Book}, c.fail)
	if err != nil {
		return nil, err
	}
	c.logs = logs
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.letGo())
	}
	c.keeper.Go(c.keep)
	return c, nil
}

// letGo closes the logs and gives the locks back.
func (c *Chain) letGo() error {
	var errs []error
	for _, l := range []Log{c.logs.Denials, c.logs.Book, c.logs.Ledger} {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, c.logs.Release())...)
}

// fail makes err the chain's final error.
func (c *Chain) fail(err error) {
	c.failing.Do(func() {
		c.failure = err
		close(c.failed)
		c.log.Error("the records can no longer be written: nothing more is forwarded or answered", "err", err)
	})
}

// Failed is closed when a write or a sync failed for good. The process must then
// end with exit code 1; what is on the disk is settled by the next start.
func (c *Chain) Failed() <-chan struct{} { return c.failed }

// Err is the final error, nil while there is none.
func (c *Chain) Err() error {
	select {
	case <-c.failed:
		return fmt.Errorf("%w: %w", ErrFinal, c.failure)
	default:
		return nil
	}
}

// Slip is the fingerprint of the slip in force.
func (c *Chain) Slip() string { return *c.slip.Load() }

// Entries is how many entries the book has; it can have MaxEntries.
func (c *Chain) Entries() int { return c.checker.Size() }

// Take waits for the turn: one call at a time, in the order they came. The turn
// must be given back by Release, Refuse or the Finish of what Copy gave.
func (c *Chain) Take(ctx context.Context) (*Turn, error) { return c.take(ctx, false) }

// TakeFirst waits for the next turn, ahead of the calls that wait: what is to hold
// for them comes before them. It is never busy, so whoever uses it does so once at a
// time.
func (c *Chain) TakeFirst(ctx context.Context) (*Turn, error) { return c.take(ctx, true) }

func (c *Chain) take(ctx context.Context, first bool) (*Turn, error) {
	if err := c.turns.take(ctx, first); err != nil {
		return nil, err
	}
	err := c.Err()
	if err == nil {
		err = c.takeCancellations()
	}
	if err != nil {
		c.turns.pass()
		return nil, err
	}
	when := TimeOf(c.cfg.Clock())
	if last := max(c.last, c.lastNo); when < last && last-when <= maxBehind {
		when = last
	}
	return &Turn{c: c, at: when}, nil
}

// Notice is something worth keeping that is no call.
type Notice struct {
	What  string // a short: what happened
	Text  string // says more; never text of a message
	Bytes int64  // length of what it is about
	Hash  string // its SHA-256; "" where there is nothing of that sort
}

// Notice writes a notice line, durable when it returns. Past 60 in any hour they
// are only counted. An error that is not ErrFinal is a disk without room.
func (c *Chain) Notice(n Notice) error {
	if err := c.Err(); err != nil {
		return err
	}
	if !isShort(n.What) || n.Hash != "" && !isDigest(n.Hash) {
		return errors.New("a notice needs a short name, and a SHA-256 or none")
	}
	c.counts.Lock()
	ok := c.notices.allow(c.cfg.Clock())
	c.counts.Unlock()
	if !ok {
		c.wakeKeeper()
		return nil
	}
	line := &NoticeLine{What: n.What, Text: bounded(n.Text, maxLineText), SHA256: n.Hash}
	if n.Hash != "" {
		line.Bytes = n.Bytes
	}
	return c.note(line)
}

// note makes room for and writes a line that is no call.
func (c *Chain) note(body LineBody) error {
	if err := c.ledger.reserve(otherRoom); err != nil {
		return c.noRoom(err)
	}
	if _, err := c.ledger.append(body); err != nil {
		c.fail(err)
		return c.Err()
	}
	return nil
}

// inPlace looks whether the records are still where they were opened, as what is
// written to a file that was taken away or replaced is lost with it. An error is
// final.
func (c *Chain) inPlace() error {
	for _, l := range []Log{c.logs.Ledger, c.logs.Book, c.logs.Denials} {
		if err := l.InPlace(); err != nil {
			c.fail(err)
			return c.Err()
		}
	}
	return nil
}

// noRoom tells a full disk, after which the chain goes on, from everything else.
func (c *Chain) noRoom(err error) error {
	if errors.Is(err, ErrNoRoom) || errors.Is(err, ErrClosed) {
		return err
	}
	c.fail(err)
	return c.Err()
}

func (c *Chain) wakeKeeper() {
	select {
	case c.counted <- struct{}{}:
	default:
	}
}

// keep writes the counting lines. It runs until the chain is closed.
func (c *Chain) keep() {
	var denials, notices <-chan time.Time
	for {
		select {
		case <-c.stop:
			return
		case <-c.failed:
			return
		case <-c.counted:
			c.counts.Lock()
			if c.denials.count > 0 && denials == nil {
				denials = time.After(denialCountEvery)
			}
			if c.notices.count > 0 && notices == nil {
				notices = time.After(noticeCountEvery)
			}
			c.counts.Unlock()
		case <-denials:
			denials = nil
			c.writeCount(&c.denials)
		case <-notices:
			notices = nil
			c.writeCount(&c.notices)
		}
	}
}

// writeCount writes one counting line, where there is something to count. With
// no room it counts on.
func (c *Chain) writeCount(h *hourly) {
	c.counts.Lock()
	count, from, until := h.report()
	c.counts.Unlock()
	if count == 0 {
		return
	}
	var body LineBody = &RefusedLine{Count: count, From: from, Until: until}
	if h == &c.notices {
		body = &NoticeLine{What: noticeCounted, Count: count, From: from, Until: until}
	}
	if err := c.note(body); err != nil && c.Err() == nil {
		c.counts.Lock()
		h.putBack(count, from, until)
		c.counts.Unlock()
		c.wakeKeeper()
		c.log.Warn("a counting line could not be written", "err", err)
	}
}

// Sync makes all that was written durable: before a seal, a Show, a stamp, a head
// or an export.
func (c *Chain) Sync() error {
	for _, l := range []Log{c.logs.Ledger, c.logs.Book, c.logs.Denials} {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	return c.Err()
}

// Close lets no more calls have the turn, waits for the one that has it, writes
// what was only counted, syncs everything and gives the locks back.
func (c *Chain) Close() error {
	c.close.Do(func() {
		c.turns.close()
		close(c.stop)
		c.keeper.Wait()
		if c.Err() == nil {
			c.writeCount(&c.denials)
			c.writeCount(&c.notices)
		}
		if c.Err() == nil && c.unmarked > 0 {
			if err := c.writeMark(); err != nil {
				c.log.Warn("no mark was written: the next start has more to check", "err", err)
			}
		}
		c.closed = c.letGo()
	})
	return c.closed
}

// bounded is valid text of at most n code points.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	i := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i]
}
