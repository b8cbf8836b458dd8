package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The ladder that ends a child: its input is closed, then it is sent SIGTERM,
// then SIGKILL, each with its whole process group, with a wait before the next
// step that a well-behaved server never needs.
const (
	waitAfterClose = 3 * time.Second
	waitAfterTerm  = 2 * time.Second
	// waitAfterKill bounds the wait for a killed child's end, and for the end of
	// its output, which a grandchild that left the group may hold open.
	waitAfterKill = time.Second
)

// Steps are the waits of the ladder. The zero value means 3 s and 2 s.
type Steps struct{ AfterClose, AfterTerm time.Duration }

// maxErrorLine is the most bytes of one line of the child's standard error that
// are passed on; a longer one is left out.
const maxErrorLine = 32 << 10

// passedOn are the variables a child gets from the guard's own environment.
var passedOn = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// ChildConfig says how to start a stdio server.
type ChildConfig struct {
	Command string
	Args    []string
	Dir     string // "": the guard's own
	Env     []Variable
	Stderr  io.Writer // takes the child's standard error, line by line
	Mark    string    // stands before each of those lines
	Log     *slog.Logger

	Steps   Steps
	Timeout time.Duration // bounds a stalled standard input; 0: 60 s
	Limit   int           // bytes of one line of the child; 0: ServerLimit

	// Getenv reads the guard's own environment, of which only PATH, HOME,
	// LANG, TZ and TMPDIR are asked. nil: none of them.
	Getenv func(string) string
	// Clean takes credentials out of a line of standard error. nil: none.
	Clean func(line []byte) []byte
}

// Variable is one variable of the child's environment.
type Variable struct{ Name, Value string }

// Child is a tool server that the guard has started, spoken to over its standard
// input and output.
type Child struct {
	cfg  ChildConfig
	cmd  *exec.Cmd
	in   *out
	stop io.Closer // closes in's stream
	pool pool

	mu      sync.Mutex // guards what follows
	last    int64
	open    map[int64]func(*Message, error)
	closed  error // why no request can be sent any more
	stopped bool  // Close was called

	receive Receiver
	closing chan struct{} // closed by Close
	deaf    chan struct{} // closed when the child does not read any more
	ending  chan struct{} // closed when nothing is open any more and nothing will be
	over    sync.Once     // of ending
	done    chan struct{} // closed when the child and its readers have ended
	exit    error         // how the child ended; read after done
}

// StartChild starts a server and begins to read its messages. receive is called
// with what the server sends of itself, never for two messages at once. A
// variable that is asked for and has no value is an error.
func StartChild(cfg ChildConfig, receive Receiver) (*Child, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Limit == 0 {
		cfg.Limit = ServerLimit
	}
	if cfg.Steps == (Steps{}) {
		cfg.Steps = Steps{waitAfterClose, waitAfterTerm}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	env, err := environment(cfg.Env, cfg.Getenv)
	if err != nil {
		return nil, err
	}
	c := &Child{
		cfg:     cfg,
		open:    map[int64]func(*Message, error){},
		receive: receive,
		closing: make(chan struct{}),
		deaf:    make(chan struct{}),
		ending:  make(chan struct{}),
		done:    make(chan struct{}),
	}
	cmd := exec.Command(cfg.Command, cfg.Args...)
	cmd.Dir, cmd.Env = cfg.Dir, env
	ownGroup(cmd)
	// The pipes are made here and not by exec, which would hand out ends that
	// have no deadlines.
	var ends [3][2]*os.File
	shut := func() {
		for _, e := range ends {
			for _, f := range e {
				if f != nil {
					f.Close()
				}
			}
		}
	}
	for i := range ends {
		if ends[i][0], ends[i][1], err = os.Pipe(); err != nil {
			shut()
			return nil, fmt.Errorf("starting the server %q: %w", cfg.Command, err)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0][0], ends[1][1], ends[2][1]
	if err := closeOnExec(); err != nil {
		shut()
		return nil, fmt.Errorf("starting the server %q: keeping open files from it: %w", cfg.Command, err)
	}
	if err := cmd.Start(); err != nil {
		shut()
		return nil, fmt.Errorf("starting the server %q: %w", cfg.Command, err)
	}
	ends[0][0].Close()
	ends[1][1].Close()
	ends[2][1].Close()
	c.cmd = cmd
	c.stop = ends[0][1]
	c.in = newOut(ends[0][1], cfg.Timeout)
	go c.run(ends[1][0], ends[2][0])
	return c, nil
}

// environment is what the child gets: the variables named for it and a few that
// programs cannot do without.
func environment(vars []Variable, getenv func(string) string) ([]string, error) {
	env := []string{} // not nil, which would mean the guard's whole environment
	for _, name := range passedOn {
		if slices.ContainsFunc(vars, func(v Variable) bool { return v.Name == name }) || getenv == nil {
			continue
		}
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for _, v := range vars {
		switch {
		case v.Name == "" || strings.ContainsAny(v.Name, "=\x00"):
			return nil, fmt.Errorf("env: %q is no name of a variable", v.Name)
		case v.Value == "":
			return nil, fmt.Errorf("env: %s is asked for and not set", v.Name)
		case strings.Contains(v.Value, "\x00"):
			return nil, fmt.Errorf("env: %s has a value with a NUL in it", v.Name)
		}
		env = append(env, v.Name+"="+v.Value)
	}
	return env, nil
}

// run owns the child: it reads what the child writes, and once that ends or Close
// asks for it takes the child down and settles what is still open.
func (c *Child) run(stdout, stderr *os.File) {
	spoken, exited := make(chan struct{}), make(chan struct{})
	var reap func() error
	var readers sync.WaitGroup
	readers.Go(func() {
		defer close(spoken)
		c.readMessages(stdout)
	})
	readers.Go(func() { c.readErrors(stderr) })
	go func() { // ends with the process, which the ladder sees to
		defer close(exited)
		reap = awaitExit(c.cmd)
	}()

	select {
	case <-spoken:
		c.end(ErrUpstreamClosed) // no answer can come any more
	case <-exited: // what it left behind may hold its output open
	case <-c.closing:
	case <-c.deaf: // half a line may stand in the pipe: nothing can follow it
	}
	c.stop.Close()
	if c.ladder(exited) {
		c.exit = reap()
	} else {
		c.exit = errors.New("the server is still there after SIGKILL")
	}
	// What the child wrote before it ended is in the pipes.
	limit := time.Now().Add(waitAfterKill)
	stdout.SetReadDeadline(limit)
	stderr.SetReadDeadline(limit)
	readers.Wait()
	c.end(ErrUpstreamClosed)
	stdout.Close()
	stderr.Close()
	close(c.done)
}

// ladder ends the child, whose input is closed, with its process group. It
// reports whether the child has ended.
func (c *Child) ladder(exited <-chan struct{}) bool {
	wait := func(d time.Duration) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-exited:
			return true
		case <-t.C:
			return false
		}
	}
	pid := c.cmd.Process.Pid
	if wait(c.cfg.Steps.AfterClose) {
		signalGroup(pid, true) // the group may outlive its leader
		return true
	}
	c.cfg.Log.Warn("the server did not stop when its input ended", "step", "SIGTERM")
	signalGroup(pid, false)
	if !wait(c.cfg.Steps.AfterTerm) {
		c.cfg.Log.Warn("the server did not stop when asked to", "step", "SIGKILL")
	}
	signalGroup(pid, true)
	return wait(waitAfterKill)
}

// Close ends the child by the ladder and waits for it. It returns how the child
// ended, nil for an exit of 0. Requests that are open are settled with what the
// child still answers, or with ErrUpstreamClosed.
func (c *Child) Close() error {
	c.mu.Lock()
	if c.closed == nil {
		c.closed = ErrUpstreamClosed
	}
	if !c.stopped {
		c.stopped = true
		close(c.closing)
	}
	c.mu.Unlock()
	<-c.done
	return c.exit
}

// Done is closed when the child has ended and everything it wrote was read.
func (c *Child) Done() <-chan struct{} { return c.done }

// Ending is closed when the child takes no requests any more and what was open is
// settled. Its process may be there still, for as long as the ladder takes.
func (c *Child) Ending() <-chan struct{} { return c.ending }

// NumberAfter makes Open give numbers above n.
func (c *Child) NumberAfter(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, n)
}

// Await does not wait: a child that has ended does not come back.
func (c *Child) Await(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// There says whether requests can be sent.
func (c *Child) There() bool { return c.Await(context.Background()) == nil }

// end refuses new requests and settles the open ones.
func (c *Child) end(why error) {
	c.mu.Lock()
	if c.closed == nil {
		c.closed = why
	}
	open := c.open
	c.open = map[int64]func(*Message, error){}
	c.mu.Unlock()
	c.in.end(why)
	for _, answer := range open {
		answer(nil, why)
	}
	c.over.Do(func() { close(c.ending) })
}

func (c *Child) Open(answer func(*Message, error)) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return 0, c.closed
	}
	if len(c.open) >= MaxOpen {
		return 0, ErrCrowded
	}
	c.last++
	c.open[c.last] = answer
	return c.last, nil
}

func (c *Child) Request(n int64, m *Message) error {
	var id [20]byte
	err := c.in.message(m, strconv.AppendInt(id[:0], n, 10))
	if err == nil {
		return nil
	}
	c.unheard(err)
	if !c.Forget(n) {
		return nil // it was settled meanwhile
	}
	return fmt.Errorf("%w: %w", ErrUpstreamClosed, err)
}

func (c *Child) Forget(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.open[n]
	delete(c.open, n)
	return ok
}

func (c *Child) Send(m *Message, id []byte) error { return c.unheard(c.in.message(m, id)) }
func (c *Child) Put(line []byte) error            { return c.unheard(c.in.put(line)) }

// unheard notes that something could not be written to the child. Nothing can be
// after that, so a child that goes on without reading is ended: it would be of no
// use until somebody did.
func (c *Child) unheard(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		c.closed = ErrUpstreamClosed
		close(c.deaf)
		if errors.Is(err, ErrStalled) {
			c.cfg.Log.Warn("the server does not read and is ended", "err", err)
		}
	}
	return err
}

// readMessages reads the child's standard output to its end.
func (c *Child) readMessages(r io.Reader) {
	lines := newLineReader(r, c.cfg.Limit)
	for {
		m := c.pool.get()
		line, id, flaw, err := lines.next(m.line)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				c.cfg.Log.Error("reading from the server", "err", err)
			}
			return
		}
		m.line = line
		if flaw == sound && blank(line) {
			m.free()
			continue
		}
		if flaw == unterminated {
			c.cfg.Log.Warn("dropped the server's last line: it has no end", "bytes", len(line))
			m.free()
			continue
		}
		f := &fault{id: id, why: fmt.Sprintf("a line over %d bytes", c.cfg.Limit)}
		if flaw == sound {
			f = m.read(fromServer)
		}
		if f != nil {
			c.unreadable(f, len(line))
			m.free()
			continue
		}
		c.dispatch(m)
	}
}

// dispatch hands a message to who waits for it.
func (c *Child) dispatch(m *Message) {
	if m.Kind == Request || m.Kind == Notification || m.key == "" {
		c.receive(m)
		return
	}
	if answer := c.take(m.ID.Raw()); answer != nil {
		answer(m, nil)
		return
	}
	c.cfg.Log.Debug("dropped a response that nobody waits for")
	m.free()
}

// take is the answer function of the open request that an id names, which must
// be spelt as it was sent.
func (c *Child) take(id []byte) func(*Message, error) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(id) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.open[n]
	delete(c.open, n)
	return answer
}

// unreadable settles the request that a message which cannot be read answers, as
// far as that can be told; otherwise the line is dropped: it is no protocol
// message at all, which some servers print.
func (c *Child) unreadable(f *fault, size int) {
	if answer := c.take(f.id); answer != nil {
		c.cfg.Log.Warn("the server's answer cannot be read", "bytes", size, "err", f.why)
		answer(nil, ErrUnreadable)
		return
	}
	c.cfg.Log.Warn("dropped a line of the server that is no message", "bytes", size, "err", f.why)
}

// readErrors passes the child's standard error on, line by line and marked. A line
// over maxErrorLine is left out whole: cut in two, it could hold a credential that
// neither half shows.
func (c *Child) readErrors(r io.Reader) {
	b := bufio.NewReaderSize(r, maxErrorLine)
	var line []byte
	long := false
	for {
		piece, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = true
			continue
		}
		text := []byte(strings.TrimRight(string(piece), "\r\n"))
		switch {
		case long:
			text = fmt.Appendf(nil, "(a line over %d bytes, left out)", maxErrorLine)
		case c.cfg.Clean != nil:
			text = c.cfg.Clean(text)
		}
		if long || len(piece) > 0 {
			line = append(line[:0], c.cfg.Mark...)
			// A bare CR would let the server write over the mark.
			line = append(line, strings.ReplaceAll(string(text), "\r", `\r`)...)
			line = append(line, '\n')
			c.cfg.Stderr.Write(line) // a log that cannot be written must not stop the server
		}
		if long = false; err != nil {
			return
		}
	}
}
