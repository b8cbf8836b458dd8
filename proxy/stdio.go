package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/ijson"
)

// drainTime is how long a connection whose agent has closed its input waits for
// the answers to requests that are open still, other than calls, which are
// waited for as long as they may take.
const drainTime = 5 * time.Second

// Server is an upstream with an end.
type Server interface {
	Upstream
	Close() error
	// Done is closed once the server has ended by itself or by Close.
	Done() <-chan struct{}
	// Ending is closed once everything that was open is settled and nothing new
	// is taken; no message comes any more. Done follows.
	Ending() <-chan struct{}
	// NumberAfter makes Open give numbers above n.
	NumberAfter(n int64)
}

// Connection is one agent that speaks over a pair of streams.
type Connection struct {
	Pipeline *Pipeline
	// Start starts the server that this connection talks to.
	// It is called again when that ends by itself.
	Start    func(Receiver) (Server, error)
	Restarts Restarts
	In       io.Reader
	Out      io.Writer
	Log      *slog.Logger
}

// session is a connection at work. Three kinds of goroutine share it: the one
// that reads the agent, the one in which the server's messages come, and one for
// each call.
type session struct {
	p    *Pipeline
	up   *keeper
	in   io.Reader
	out  *out
	log  *slog.Logger
	pool pool

	calls sync.WaitGroup // calls, and requests being refused, that have no answer yet
	order order
	ended chan error // holds the first reason to end that came from within

	mu      sync.Mutex          // guards what follows
	open    map[string]*request // the agent's, by the id's key
	asked   map[int64]asked     // the server's, by the number the agent knows them by
	askedAs map[string]int64    // the same, by the key of the server's id
	last    int64
	listens map[int64][]byte // subscriptions by their number at the server: the agent's id
	client  struct{ name, version string }
	idle    chan struct{} // closed when open is empty; nil while nobody waits for that
	closing bool          // no call begins any more
}

// request is one that the agent waits to be answered.
type request struct {
	id     []byte // as the agent wrote it
	key    string // of id
	method string
	number int64       // at the server; 0 until it is sent, and of calls
	giveUp func(error) // of calls and of requests being refused; nil of others

	of   *session
	over atomic.Bool // it has its answer
}

func (r *request) settled() bool { return r.over.Load() }

// late ends a request, other than a call, that the server has not answered in
// time: the agent is told, and the server that nobody waits any more.
func (r *request) late() {
	s := r.of
	s.mu.Lock()
	n := r.number
	s.mu.Unlock()
	if !s.up.Forget(n) {
		return // its answer came at the same moment
	}
	s.answered(r, nil, fmt.Errorf("the tool server did not answer within %v", s.p.cfg.Timeout))
	if r.method == "initialize" { // it must not be cancelled
		return
	}
	if err := s.up.Put(cancellation(n, reasonTimeout, nil)); err != nil {
		s.log.Debug("the tool server did not take a cancellation", "err", err)
	}
}

// asked is a request of the server.
type asked struct {
	id  []byte
	key string
}

// Serve speaks with the agent until its input ends, the context ends, or the
// server has ended and does not come back, and returns nil in the first two cases. It then lets calls in
// flight be recorded and answered (on the context's end at once, their outcome
// being unknown), ends the server, and returns when everything it started has
// ended. In must be one whose reading can be ended, by SetReadDeadline or Close,
// for that to be so when the context ends; see [Standard].
func Serve(ctx context.Context, c Connection) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &session{
		p: c.Pipeline, in: c.In, log: c.Log,
		out:     newOut(c.Out, c.Pipeline.cfg.Timeout),
		ended:   make(chan error, 1),
		open:    map[string]*request{},
		asked:   map[int64]asked{},
		askedAs: map[string]int64{},
		listens: map[int64][]byte{},
	}

	started := make(chan struct{}) // the server may speak before keep returns
	up, err := keep(&keeper{
		start: func(r Receiver) (Server, error) {
			server, err := c.Start(r)
			if err != nil {
				return nil, err
			}
			return cleaned{server, c.Pipeline}, nil
		},
		receive: func(m *Message) {
			<-started
			if f := c.Pipeline.clean(m); f != nil {
				m.free()
				return
			}
			s.fromServer(m)
		},
		limits: c.Restarts, timeout: c.Pipeline.cfg.Timeout, log: c.Log,
		down: func() { <-started; s.down() },
		up:   s.back,
	})
	if err != nil {
		return err
	}
	s.up = up
	close(started)

	read := make(chan error, 1)
	go func() { read <- s.readAgent() }()

	var result error
	reading := true
	select {
	case result = <-read:
		reading = false
		if result == nil {
			result = s.drain(ctx)
		}
	case <-ctx.Done():
	case result = <-s.ended:
	case <-up.Done():
		result = up.err
	}
	s.stop()
	if reading && endReading(s.in) {
		<-read
	}
	s.calls.Wait()
	if err := up.Close(); err != nil {
		s.log.Info("the server ended", "err", err)
	}
	select {
	case err := <-s.ended: // a call that could not be recorded while ending
		if result == nil || errors.Is(result, ErrUpstreamClosed) {
			result = err
		}
	default:
	}
	return result
}

// endReading makes a waiting read return, where the stream can do that.
func endReading(r io.Reader) bool {
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Now()) == nil {
		return true
	}
	if c, ok := r.(*io.PipeReader); ok {
		return c.Close() == nil
	}
	return false
}

// stop gives up every call, and lets none begin.
func (s *session) stop() {
	s.mu.Lock()
	s.closing = true
	var all []func(error)
	for _, r := range s.open {
		if r.giveUp != nil {
			all = append(all, r.giveUp)
		}
	}
	s.mu.Unlock()
	for _, giveUp := range all {
		giveUp(errStopped)
	}
}

// drain waits, once the agent sends no more, for what it still waits for.
func (s *session) drain(ctx context.Context) error {
	calls := make(chan struct{})
	go func() { s.calls.Wait(); close(calls) }()
	select {
	case <-calls:
	case <-ctx.Done():
		s.stop()
		<-calls
		return nil
	case err := <-s.ended:
		s.stop()
		<-calls
		return err
	}
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-s.whenIdle():
	case <-t.C:
	case <-ctx.Done():
	case <-s.up.Done():
	}
	return nil
}

// whenIdle is closed when no request is open but subscriptions, which have no end.
func (s *session) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = make(chan struct{})
	s.checkIdle()
	return s.idle
}

// checkIdle closes idle when it is time. mu is held.
func (s *session) checkIdle() {
	if s.idle == nil {
		return
	}
	for _, r := range s.open {
		if r.method != "subscriptions/listen" {
			return
		}
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// end notes a reason to end the connection, unless there is one.
func (s *session) end(err error) {
	select {
	case s.ended <- err:
	default:
	}
}

// send writes a line to the agent, and ends the connection when that fails.
func (s *session) send(line []byte) {
	if err := s.out.put(line); err != nil {
		s.end(fmt.Errorf("writing to the agent: %w", err))
	}
}

// sendMessage is send for a message under another id.
func (s *session) sendMessage(m *Message, id []byte) {
	if err := s.out.message(m, id); err != nil {
		s.end(fmt.Errorf("writing to the agent: %w", err))
	}
}

// readAgent reads the agent's messages to the end of its input.
func (s *session) readAgent() error {
	lines := newLineReader(s.in, s.p.cfg.BodyLimit)
	for {
		m := s.pool.get()
		line, id, flaw, err := lines.next(m.line)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading from the agent: %w", err)
		}
		m.line = line
		var f *fault
		switch {
		case flaw == tooLong:
			f = &fault{code: codeRequest, id: id, why: fmt.Sprintf("a message of more than %d bytes", s.p.cfg.BodyLimit)}
		case flaw == unterminated:
			f = &fault{code: codeParse, id: findID(line), why: "the input ends inside a line"}
		case blank(line):
			m.free()
			continue
		default:
			f = m.read(fromAgent)
		}
		if f != nil {
			s.fault(m, f)
			m.free()
			continue
		}
		s.fromAgent(m)
	}
}

// fault answers a message of the agent that goes no further.
func (s *session) fault(m *Message, f *fault) {
	if r := s.p.fault(m, f); r.Line != nil {
		s.send(r.Line)
	}
}

// fromAgent takes one message of the agent, which it owns, to where it belongs.
func (s *session) fromAgent(m *Message) {
	switch m.Kind {
	case Request:
		s.request(m)
		return // whoever has it frees it
	case Notification:
		s.notification(m)
		return
	}
	// An answer to a request of the server.
	s.mu.Lock()
	var to asked
	if n, ok := number(m.ID); ok {
		to, ok = s.asked[n]
		if ok {
			delete(s.asked, n)
			delete(s.askedAs, to.key)
		}
	}
	s.mu.Unlock()
	if to.id == nil {
		s.log.Debug("dropped an answer of the agent that nobody waits for")
	} else if err := s.up.Send(m, to.id); err != nil {
		s.log.Warn("the tool server did not take an answer", "err", err)
	}
	m.free()
}

// number is an id that the guard gave, spelt as the guard spells it.
func number(id ijson.Value) (int64, bool) {
	if id.Kind() != ijson.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(id.Raw()), 10, 64)
	return n, err == nil
}

// request takes one request of the agent.
func (s *session) request(m *Message) {
	r := &request{id: bytes.Clone(m.ID.Raw()), key: m.key, method: m.Method, of: s}
	peer := Peer{Upstream: s.up}
	var f *fault
	s.mu.Lock()
	peer.ClientName, peer.ClientVersion = s.client.name, s.client.version
	switch {
	case s.open[m.key] != nil:
		f = &fault{code: codeRequest, id: r.id, why: "the id is that of a request that is open still"}
	case len(s.open) >= MaxOpen:
		f = &fault{code: codeRequest, id: r.id, why: ErrCrowded.Error()}
	default:
		s.open[m.key] = r
	}
	s.mu.Unlock()
	if f != nil {
		s.fault(m, f)
		m.free()
		return
	}
	if m.Method == "tools/call" {
		s.call(m, r, peer)
		return
	}
	f, no := s.p.keeps(m, peer)
	switch {
	case f != nil:
		s.close(r)
		s.fault(m, f)
		m.free()
	case no != nil:
		s.refuse(m, r, peer, no)
	default:
		s.passOn(m, r)
	}
}

// call takes one tools/call into the pipeline, in its place among the calls.
func (s *session) call(m *Message, r *request, peer Peer) {
	most := MaxOpen // without a chain calls do not wait for one another
	if s.p.recorded {
		most = s.p.cfg.MaxWaiting
	}
	var err error
	if peer.Place, err = s.order.enter(most, !s.p.recorded); err != nil {
		s.close(r)
		s.send(s.p.busy(m))
		m.free()
		return
	}
	if !s.begin() {
		peer.Place.pass()
		s.close(r)
		m.free()
		return
	}
	c := s.p.Begin(m, peer, func(reply Reply) { s.replied(m, r, reply) })
	s.givesUp(r, func(cause error) { s.p.GiveUp(c, cause) })
}

// refuse records and answers a request that is refused, in a goroutine of its
// own: the record may have to wait for its turn.
func (s *session) refuse(m *Message, r *request, peer Peer, no *refusal) {
	if !s.begin() {
		s.close(r)
		m.free()
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.givesUp(r, cancel)
	go func() {
		defer cancel(nil)
		s.replied(m, r, s.p.refuseRequest(ctx, m, peer, no))
	}()
}

// begin counts a call in, unless the connection ends.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.calls.Add(1)
	}
	return !s.closing
}

// givesUp notes how a request is given up (nil: by a word to the server), and does
// so at once where the connection ends meanwhile.
func (s *session) givesUp(r *request, giveUp func(error)) {
	s.mu.Lock()
	r.giveUp = giveUp
	closing := s.closing
	s.mu.Unlock()
	if closing && giveUp != nil {
		giveUp(errStopped)
	}
}

// replied gives the agent the answer to a call and counts it out.
func (s *session) replied(m *Message, r *request, reply Reply) {
	defer s.calls.Done()
	s.close(r)
	if reply.Line != nil {
		s.send(reply.Line)
	}
	if reply.Fatal != nil {
		s.end(reply.Fatal)
	}
	m.free()
}

// close forgets an open request of the agent; its id may be used again.
func (s *session) close(r *request) {
	r.over.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[r.key] == r {
		delete(s.open, r.key)
		delete(s.listens, r.number)
	}
	s.checkIdle()
}

// passOn sends a request that is no call to the server as it is, once there is one.
func (s *session) passOn(m *Message, r *request) {
	if s.up.There() {
		s.toServer(m, r)
		return
	}
	if !s.begin() {
		s.close(r)
		m.free()
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.givesUp(r, cancel)
	go func() {
		defer s.calls.Done()
		defer cancel(nil)
		err := s.up.Await(ctx)
		s.givesUp(r, nil)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err == nil {
			s.toServer(m, r)
			return
		}
		s.close(r)
		if gaveUp := (*cancelled)(nil); !errors.As(err, &gaveUp) {
			s.send(errorLine(r.id, codeInternal, err.Error()+"; the request was not sent"))
		}
		m.free()
	}()
}

// toServer sends a request that is no call to the server.
func (s *session) toServer(m *Message, r *request) {
	if m.Method == "initialize" {
		info := m.Params.Member("clientInfo")
		s.mu.Lock()
		s.client.name, s.client.version = label(info.Member("name")), label(info.Member("version"))
		s.mu.Unlock()
	}
	answered := func(answer *Message, err error) { s.answered(r, answer, err) }
	if lasting(m.Method) {
		own := m.copied()
		answered = func(answer *Message, err error) {
			if err == nil {
				s.up.note(own, answer)
			}
			s.answered(r, answer, err)
		}
	}
	n, err := s.up.Open(answered)
	if err == nil {
		// Known before anything can refer to it.
		s.mu.Lock()
		r.number = n
		if r.method == "subscriptions/listen" {
			s.listens[n] = r.id
		}
		s.mu.Unlock()
		err = s.up.Request(n, m)
	}
	m.free()
	if err == nil && r.method != "subscriptions/listen" { // which has no end
		s.p.late.add(r)
	}
	if err != nil {
		s.answered(r, nil, err)
	}
}

// answered gives the agent the server's answer to a request that is no call.
func (s *session) answered(r *request, m *Message, err error) {
	s.mu.Lock()
	n := r.number
	s.mu.Unlock()
	s.close(r)
	if err == nil && r.method == "tools/list" && m.Kind == Result {
		var cut *Message
		if cut, err = s.p.seen(m); err == nil && cut != m {
			m.free()
			m = cut
		}
	}
	if err != nil {
		s.log.Warn("a request has no answer", "method", short(r.method), "err", err)
		s.send(errorLine(r.id, codeInternal, err.Error()))
		m.free()
		return
	}
	if at := m.Result.Member("_meta").Member(metaSubscription); at.Exists() && n != 0 && isNumber(at, n) {
		edits := []edit{{at.Start(), at.End(), r.id}, {m.ID.Start(), m.ID.End(), r.id}}
		if edits[0].from > edits[1].from {
			edits[0], edits[1] = edits[1], edits[0]
		}
		s.send(apply(m.line, edits))
	} else {
		s.sendMessage(m, r.id)
	}
	m.free()
}

// metaSubscription is the member of _meta that names a subscription by the id of
// the request that opened it.
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

func isNumber(v ijson.Value, n int64) bool {
	got, ok := number(v)
	return ok && got == n
}

// notification takes one notification of the agent.
func (s *session) notification(m *Message) {
	switch {
	case judged(m.Method):
		s.fault(m, &fault{code: codeRequest, why: "a message without an id whose method is that of a request", mute: true})
	case m.Method == "notifications/cancelled":
		s.cancelled(m)
		return
	case !s.p.passes(m.Method):
		s.log.Info("kept a notification back", "method", short(m.Method))
	default:
		if err := s.up.Send(m, nil); err != nil {
			s.log.Warn("the tool server did not take a notification", "method", short(m.Method), "err", err)
		}
	}
	m.free()
}

// cancelled passes on that the agent gives a request up, under the number the
// server knows it by.
func (s *session) cancelled(m *Message) {
	id := m.Params.Member("requestId")
	key, ok := readID(id)
	if !ok {
		s.fault(m, &fault{code: codeRequest, why: "a cancellation whose requestId is no id", mute: true})
		m.free()
		return
	}
	s.mu.Lock()
	r := s.open[key]
	var giveUp func(error)
	var n int64
	if r != nil {
		giveUp, n = r.giveUp, r.number
	}
	s.mu.Unlock()
	switch {
	case r == nil:
		// Late ones are usual: the answer was on its way already.
		s.log.Debug("dropped a cancellation of a request that is not open")
	case giveUp != nil:
		giveUp(&cancelled{m}) // which has the notification now
		return
	case r.method == "initialize":
		// It must not be cancelled; its answer would be missed.
		s.log.Info("kept a cancellation of initialize back")
	default:
		if s.up.Forget(n) {
			s.close(r)
			if err := s.up.Put(cancellation(n, reasonCancelled, m)); err != nil {
				s.log.Warn("the tool server did not take a cancellation", "err", err)
			}
		}
	}
	m.free()
}
