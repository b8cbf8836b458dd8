package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"countersign/internal/ijson"
)

// Restarts bound how a server that ended by itself is started again. The zero
// value of a member means the default that its comment names.
type Restarts struct {
	// First is the wait before the first start, doubled for each further one
	// within Within up to Most. 0: 100 ms and 5 s.
	First, Most time.Duration
	// Attempts is how many starts there may be within Within; one more and the
	// guard gives up. 0: 8 in one minute. Negative: none.
	Attempts int
	Within   time.Duration
}

// Defaults of [Restarts]. A server that comes back at all does so at once; one
// that does not is given up after about 16 seconds, well inside the minute that
// a client waits for an answer by default.
const (
	restartFirst    = 100 * time.Millisecond
	restartMost     = 5 * time.Second
	restartAttempts = 8
	restartWithin   = time.Minute
)

func (r *Restarts) defaults() {
	if r.First == 0 {
		r.First = restartFirst
	}
	if r.Most == 0 {
		r.Most = restartMost
	}
	if r.Attempts == 0 {
		r.Attempts = restartAttempts
	}
	if r.Within == 0 {
		r.Within = restartWithin
	}
}

// ErrChanged says that a server came back as another than the one the agent
// shook hands with, so that the agent cannot go on with it.
var ErrChanged = errors.New("the tool server is another since it was started again")

// keeper is a server that is started again when it ends by itself. To its users
// it is one server with pauses: what was sent and is not answered is settled as
// at any end of a connection, and nothing of it is sent again.
//
// The agent of a legacy era is not told, so the new process is brought to where
// the old one was: it is sent the agent's own initialize and initialized, its
// last logging/setLevel and its open resources/subscribe. In the modern era there
// is nothing of that sort: each request stands by itself, and a subscription ends
// with an error, upon which the agent opens another.
type keeper struct {
	start   func(Receiver) (Server, error)
	receive Receiver
	limits  Restarts
	timeout time.Duration // for a handshake, and for one that waits
	log     *slog.Logger
	down    func()                     // the server ended and what was open is settled
	up      func(declared ijson.Value) // another is there; declared are its capabilities, absent in the modern era

	closing chan struct{} // closed by Close
	done    chan struct{} // closed when run has ended
	once    sync.Once     // of closing
	err     error         // why it ended; read after done
	exit    error         // how the last process ended; read after done

	mu       sync.Mutex    // guards what follows
	server   Server        // nil between two
	back     chan struct{} // closed when server is there again, or will never be
	over     bool          // no server will come any more
	last     int64         // the highest number given
	answered bool          // some server has answered some request
	hello    *handshake    // nil until initialize is answered
	ready    *Message      // the agent's notifications/initialized
	state    []replay      // what else to bring another to, in order
}

// handshake is an initialize and what the server answered.
type handshake struct {
	request      *Message
	version      string
	capabilities []byte // canonical
}

// replay is a request whose effect lasts as long as the process. Another with
// the same key takes its place.
type replay struct {
	key     string
	request *Message
}

// maxReplays is how many of them are kept: a bound for what a client can make us
// keep. One more stops the replay: a server brought back in part would be another.
const maxReplays = 1024

// keep starts a server that is started again as limits say.
func keep(k *keeper) (*keeper, error) {
	k.limits.defaults()
	k.closing, k.done, k.back = make(chan struct{}), make(chan struct{}), make(chan struct{})
	server, err := k.start(k.receive)
	if err != nil {
		return nil, err
	}
	k.server = server
	close(k.back)
	go k.run(server)
	return k, nil
}

// run owns the servers, one after the other.
func (k *keeper) run(server Server) {
	defer close(k.done)
	var starts []time.Time // within the period
	for {
		select {
		case <-server.Ending():
		case <-k.closing:
			k.exit = server.Close()
			k.finish(nil)
			return
		}
		k.mu.Lock()
		k.gone()
		worthwhile := k.answered
		k.mu.Unlock()
		k.down()
		k.exit = server.Close()
		if !worthwhile {
			// A wrong command line does not mend itself.
			k.finish(fmt.Errorf("%w before it answered anything: %w", ErrUpstreamClosed, ended(k.exit)))
			return
		}
		k.log.Warn("the server ended", "err", ended(k.exit))
		if server = k.again(&starts); server == nil {
			return
		}
	}
}

// ended is how a process ended, in words where it said nothing.
func ended(exit error) error {
	if exit == nil {
		return errors.New("exit status 0")
	}
	return exit
}

// again starts the server until one is there to go on with; nil where none will be.
func (k *keeper) again(starts *[]time.Time) Server {
	for {
		now := time.Now()
		for len(*starts) > 0 && now.Sub((*starts)[0]) >= k.limits.Within {
			*starts = (*starts)[1:]
		}
		n := len(*starts)
		if n >= k.limits.Attempts {
			k.finish(fmt.Errorf("%w; it was started %d times within %v and does not stay: %w", ErrUpstreamClosed, n, k.limits.Within, ended(k.exit)))
			return nil
		}
		wait := k.limits.Most
		if n < 32 { // as far as shifting goes
			wait = min(wait, k.limits.First<<n)
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-k.closing:
			pause.Stop()
			k.finish(nil)
			return nil
		}
		*starts = append(*starts, time.Now())
		server, err := k.start(k.receive)
		if err != nil {
			k.exit = err
			k.log.Warn("the server cannot be started again", "attempt", n+1, "err", err)
			continue
		}
		err = k.resume(server)
		if err == nil {
			k.log.Warn("the server was started again", "attempt", n+1)
			return server
		}
		exit := server.Close()
		if errors.Is(err, errClosing) || errors.Is(err, ErrChanged) {
			if errors.Is(err, errClosing) {
				err = nil
			}
			k.exit = exit
			k.finish(err)
			return nil
		}
		k.exit = errors.Join(err, exit)
		k.log.Warn("the server was started again and did not take up its work", "attempt", n+1, "err", err)
	}
}

// errClosing says that Close came while a server was being started.
var errClosing = errors.New("closing")

// resume brings a new server to where the old one was and makes it the one in use.
func (k *keeper) resume(server Server) error {
	k.mu.Lock()
	hello, last := k.hello, k.last
	k.mu.Unlock()
	server.NumberAfter(last)
	declared := ijson.Value{}
	if hello != nil {
		answer, err := k.ask(server, hello.request)
		if err != nil {
			return fmt.Errorf("the handshake: %w", err)
		}
		if err := hello.same(answer); err != nil {
			return err
		}
		declared = answer.Result.Member("capabilities")
	}
	for greeted, sent := false, 0; ; {
		k.mu.Lock()
		ready, state := k.ready, k.state
		if (ready == nil || greeted) && (hello == nil || sent == len(state)) {
			k.server = server
			close(k.back)
			k.mu.Unlock()
			break
		}
		k.mu.Unlock()
		if ready != nil && !greeted {
			if err := server.Send(ready, nil); err != nil {
				return err
			}
			greeted = true
			continue
		}
		if len(state) > maxReplays {
			return fmt.Errorf("%w: it has more than %d subscriptions to be brought back to", ErrChanged, maxReplays)
		}
		if sent < len(state) {
			answer, err := k.ask(server, state[sent].request)
			if err != nil {
				return err
			}
			if answer.Kind != Result {
				return fmt.Errorf("%w: it refuses %s, which it took before", ErrChanged, state[sent].request.Method)
			}
			sent++
		}
	}
	k.up(declared)
	return nil
}

// same holds the answer of another process against that of the first.
func (h *handshake) same(m *Message) error {
	switch got := m.Result; {
	case m.Kind != Result:
		return fmt.Errorf("%w: it refuses the handshake it took before", ErrChanged)
	case !got.Member("protocolVersion").Is(h.version):
		return fmt.Errorf("%w: it negotiates another protocol version", ErrChanged)
	case !bytes.Equal(ijson.AppendCanonical(nil, got.Member("capabilities")), h.capabilities):
		return fmt.Errorf("%w: it declares other capabilities", ErrChanged)
	}
	return nil
}

// ask sends a request to a server that is not in use yet and waits for its answer.
func (k *keeper) ask(server Server, m *Message) (*Message, error) {
	type settled struct {
		m   *Message
		err error
	}
	came := make(chan settled, 1)
	n, err := server.Open(func(m *Message, err error) { came <- settled{m, err} })
	if err == nil {
		k.mu.Lock()
		k.last = max(k.last, n)
		k.mu.Unlock()
		err = server.Request(n, m)
	}
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(k.timeout)
	defer late.Stop()
	select {
	case s := <-came:
		return s.m, s.err
	case <-late.C:
		return nil, fmt.Errorf("no answer to %s within %v", m.Method, k.timeout)
	case <-k.closing:
		return nil, errClosing
	}
}

// finish ends it for good.
func (k *keeper) finish(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone()
	k.err, k.over = err, true
	close(k.back)
}

// gone takes a server that has ended out of use. mu is held.
func (k *keeper) gone() {
	if k.server != nil {
		k.server = nil
		k.back = make(chan struct{})
	}
}

// current is the server in use; an error where there is none now.
func (k *keeper) current() (Server, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == nil {
		return nil, ErrUpstreamClosed
	}
	return k.server, nil
}

// There says whether a server can be spoken to now.
func (k *keeper) There() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server != nil && !k.server.There() {
		k.gone() // run will find out: whoever has heard of the end waits already
	}
	return k.server != nil
}

func (k *keeper) Await(ctx context.Context) error {
	there := k.There()
	k.mu.Lock()
	over, back := k.over, k.back
	k.mu.Unlock()
	switch {
	case there:
		return nil
	case over:
		return ErrUpstreamClosed
	}
	late := time.NewTimer(k.timeout)
	defer late.Stop()
	select {
	case <-back:
		_, err := k.current()
		return err
	case <-late.C:
		return fmt.Errorf("%w and was not back within %v", ErrUpstreamClosed, k.timeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *keeper) Open(answer func(*Message, error)) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == nil {
		return 0, ErrUpstreamClosed
	}
	if !k.answered {
		inner := answer
		answer = func(m *Message, err error) {
			if err == nil {
				k.mu.Lock()
				k.answered = true
				k.mu.Unlock()
			}
			inner(m, err)
		}
	}
	n, err := k.server.Open(answer)
	k.last = max(k.last, n)
	return n, err
}

func (k *keeper) Request(n int64, m *Message) error {
	server, err := k.current()
	if err != nil {
		return err // the end of the server has settled n or will
	}
	return server.Request(n, m)
}

func (k *keeper) Forget(n int64) bool {
	server, err := k.current()
	return err == nil && server.Forget(n)
}

// Send drops what is meant for a process that is gone: an answer to a request of
// its own, or a word about one of the agent's.
func (k *keeper) Send(m *Message, id []byte) error {
	var own *Message
	if m.Method == "notifications/initialized" {
		own = m.copied()
	}
	k.mu.Lock()
	server := k.server
	if own != nil {
		k.ready = own // resume sees it where there is no server now
	}
	k.mu.Unlock()
	if server == nil {
		k.log.Debug("dropped a message for a server that ended", "method", short(m.Method))
		return nil
	}
	return server.Send(m, id)
}

func (k *keeper) Put(line []byte) error {
	server, err := k.current()
	if err != nil {
		return err
	}
	return server.Put(line)
}

func (k *keeper) Close() error {
	k.once.Do(func() { close(k.closing) })
	<-k.done
	return k.exit
}

func (k *keeper) Done() <-chan struct{} { return k.done }

// lasting says whether a method's effect lasts as long as the process.
func lasting(method string) bool {
	switch method {
	case "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return false
}

// note remembers a request of a lasting effect once the server has granted it.
// request is the keeper's from then on.
func (k *keeper) note(request, answer *Message) {
	if answer.Kind != Result {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := request.Method
	switch request.Method {
	case "initialize":
		k.hello = &handshake{
			request:      request,
			version:      answer.Result.Member("protocolVersion").Text(),
			capabilities: ijson.AppendCanonical(nil, answer.Result.Member("capabilities")),
		}
		k.ready, k.state = nil, nil
		return
	case "resources/subscribe", "resources/unsubscribe":
		key = "resources/subscribe " + request.Params.Member("uri").Text()
	}
	// resume may be looking at the old list.
	state := make([]replay, 0, len(k.state)+1)
	for _, r := range k.state {
		if r.key != key {
			state = append(state, r)
		}
	}
	if request.Method != "resources/unsubscribe" && len(state) <= maxReplays {
		state = append(state, replay{key, request})
	}
	k.state = state
}
