package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/proxy"
	"countersign/receipts"
	"countersign/rules"
)

// patience bounds every wait of the tests: nothing here takes a fraction of it.
const patience = 20 * time.Second

// TestMain runs the test binary as a server where a test asks for that.
func TestMain(m *testing.M) {
	if name := os.Getenv("PROXY_TEST_SERVER"); name != "" {
		serve, ok := servers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such test server:", name)
			os.Exit(2)
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// servers are the programs the test binary can be.
var servers = map[string]func() error{
	"bridge":    bridge,
	"everyday":  everyday,
	"stubborn":  stubborn,
	"environ":   environ,
	"guard":     guardProgram,
	"responder": responder,
}

// self is how to start the test binary as a server.
func self(t *testing.T, name string, env ...proxy.Variable) proxy.ChildConfig {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return proxy.ChildConfig{
		Command: exe,
		Env:     append([]proxy.Variable{{Name: "PROXY_TEST_SERVER", Value: name}}, env...),
		Getenv:  os.Getenv,
		Stderr:  testWriter{t},
		Mark:    "server: ",
		Log:     testLog(t),
	}
}

// bridge is a server whose part a test plays, over a socket.
func bridge() error {
	conn, err := net.Dial("unix", os.Getenv("BRIDGE"))
	if err != nil {
		return err
	}
	go func() {
		io.Copy(conn, os.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// testWriter sends what it is given to the test's log.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// testLog is a log that ends with the test: a late line must not panic.
func testLog(t *testing.T) *slog.Logger {
	var w logWriter
	w.t = t
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t = nil
	})
	return slog.New(slog.NewTextHandler(&w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type logWriter struct {
	mu sync.Mutex
	t  *testing.T
}

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(strings.TrimRight(string(b), "\n"))
	}
	return len(b), nil
}

// wires are the four wires of a guard at work: the test is the agent and, behind
// a real child process, the server.
type wires struct {
	t        *testing.T
	listener net.Listener
	agentIn  io.WriteCloser
	toAgent  *lines
	serverIn *net.UnixConn
	toServer *lines
	done     chan error
	cancel   context.CancelFunc
	ended    bool
	serveErr error
	served   chan struct{}
}

// lines are the lines that came out of a wire.
type lines struct {
	t    *testing.T
	name string
	ch   chan string
}

func readLines(t *testing.T, name string, r io.Reader) *lines {
	l := &lines{t, name, make(chan string, 4096)}
	go func() {
		defer close(l.ch)
		b := bufio.NewReaderSize(r, 1<<20)
		for {
			line, err := b.ReadString('\n')
			if line != "" {
				l.ch <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// next is the next line; the test fails when none comes.
func (l *lines) next() string {
	l.t.Helper()
	select {
	case line, ok := <-l.ch:
		if !ok {
			l.t.Fatalf("%s: the wire ended, expected a line", l.name)
		}
		return line
	case <-time.After(patience):
		l.t.Fatalf("%s: no line came", l.name)
	}
	panic("unreachable")
}

// want fails the test unless the next line is exactly this.
func (l *lines) want(line string) {
	l.t.Helper()
	if got := l.next(); got != line {
		l.t.Fatalf("%s:\n got %s\nwant %s", l.name, cut(got), cut(line))
	}
}

// rest is what is left until the wire ends.
func (l *lines) rest() []string {
	l.t.Helper()
	var rest []string
	after := time.After(patience)
	for {
		select {
		case line, ok := <-l.ch:
			if !ok {
				return rest
			}
			rest = append(rest, line)
		case <-after:
			l.t.Fatalf("%s: the wire does not end", l.name)
		}
	}
}

func cut(s string) string {
	if len(s) > 2000 {
		return s[:1000] + "…" + s[len(s)-1000:]
	}
	return s
}

// guard puts a guard between the test as agent and the test as server.
func guard(t *testing.T, cfg proxy.Config, rules *proxy.Rules, chain proxy.Chain) *wires {
	t.Helper()
	p, err := proxy.New(cfg, rules, chain, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return guardWith(t, p)
}

// unread is an option of guardWith: nobody reads what goes to the agent.
const unread = true

func guardWith(t *testing.T, p *proxy.Pipeline, unread ...bool) *wires {
	t.Helper()
	return guardRestarting(t, p, proxy.Restarts{Attempts: -1}, unread...)
}

// guardRestarting is a guard whose server may be started again; see again.
func guardRestarting(t *testing.T, p *proxy.Pipeline, limits proxy.Restarts, unread ...bool) *wires {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // short: a socket's path has a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })

	child := self(t, "bridge", proxy.Variable{Name: "BRIDGE", Value: sock})
	w := guardChild(t, p, child, limits, unread...)
	w.listener = listener
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w.serverIn = conn.(*net.UnixConn)
	w.toServer = readLines(t, "to the server", conn)
	return w
}

// guardChild puts a guard between the test as agent and a server.
func guardChild(t *testing.T, p *proxy.Pipeline, child proxy.ChildConfig, limits proxy.Restarts, unread ...bool) *wires {
	t.Helper()
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &wires{t: t, agentIn: inWrite, done: make(chan error, 1), cancel: cancel}
	go func() {
		err := proxy.Serve(ctx, proxy.Connection{
			Pipeline: p,
			Start:    func(r proxy.Receiver) (proxy.Server, error) { return proxy.StartChild(child, r) },
			In:       inRead, Out: outWrite, Log: testLog(t), Restarts: limits,
		})
		outWrite.Close()
		inRead.Close()
		w.done <- err
	}()
	if unread == nil {
		w.toAgent = readLines(t, "to the agent", outRead)
	}
	t.Cleanup(func() {
		cancel()
		inWrite.Close()
		if w.serverIn != nil {
			w.serverIn.Close()
		}
		w.wait()
		outRead.Close()
	})
	return w
}

// crash ends the server's process as if by itself, after whatever it was sent.
func (w *wires) crash() {
	w.t.Helper()
	w.serverIn.Close()
}

// again takes the part of the server that was started in place of the last one.
func (w *wires) again() {
	w.t.Helper()
	w.listener.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
	conn, err := w.listener.Accept()
	if err != nil {
		w.t.Fatalf("the server was not started again: %v", err)
	}
	w.serverIn = conn.(*net.UnixConn)
	w.toServer = readLines(w.t, "to the server", conn)
}

// agent writes lines as the agent.
func (w *wires) agent(lines ...string) {
	w.t.Helper()
	if _, err := io.WriteString(w.agentIn, strings.Join(lines, "\n")+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// server writes lines as the server.
func (w *wires) server(lines ...string) {
	w.t.Helper()
	if _, err := io.WriteString(w.serverIn, strings.Join(lines, "\n")+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// wait waits for the guard to end.
func (w *wires) wait() error {
	w.t.Helper()
	if !w.ended {
		if w.serverIn != nil {
			go func() { // a server that ends when its input does
				for range w.toServer.ch {
				}
				w.serverIn.Close()
			}()
		}
		select {
		case w.serveErr = <-w.done:
			w.ended = true
		case <-time.After(patience):
			w.t.Fatal("the guard does not end")
		}
	}
	return w.serveErr
}

// close ends the agent's input and fails the test if anything was left on a wire.
func (w *wires) close() {
	w.t.Helper()
	w.agentIn.Close()
	if rest := w.toServer.rest(); len(rest) > 0 {
		w.t.Errorf("to the server came more: %s", cut(strings.Join(rest, "\n")))
	}
	w.serverIn.Close()
	if err := w.wait(); err != nil {
		w.t.Errorf("the guard ended: %v", err)
	}
	if rest := w.toAgent.rest(); len(rest) > 0 {
		w.t.Errorf("to the agent came more: %s", cut(strings.Join(rest, "\n")))
	}
}

// listed answers the guard's own tools/list, which stands before the first call.
func (w *wires) listed(number int, tools ...string) {
	w.t.Helper()
	w.toServer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, number))
	w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s]}}`, number, strings.Join(tools, ",")))
}

// serve plays a server by itself until the wire ends: it lists tools, answers
// pings, and gives back what it was called with.
func (w *wires) serve(tools map[string]string) {
	w.served = make(chan struct{})
	go func() {
		defer close(w.served)
		for line := range w.toServer.ch {
			m, err := ijson.Parse([]byte(line), ijson.Options{Depth: 100})
			if err != nil {
				w.t.Errorf("the server was sent what is no message: %s", cut(line))
				return
			}
			id := m.Root().Member("id").Raw()
			if id == nil {
				continue
			}
			result := "{}"
			switch params := m.Root().Member("params"); m.Root().Member("method").Text() {
			case "tools/list":
				result = `{"tools":[` + strings.Join(slices.Collect(maps.Values(tools)), ",") + `]}`
			case "tools/call":
				result = `{"content":[],"got":` + string(params.Raw()) + `}`
			}
			fmt.Fprintf(w.serverIn, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
	}()
}

// closeServed is close after serve.
func (w *wires) closeServed() {
	w.t.Helper()
	w.agentIn.Close()
	<-w.served
	w.close()
}

// plain is a tool without any demands on its arguments.
func plain(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// memory is a chain that only remembers, for tests that need records to fail or
// to stand still on cue. What is on record is told in the order it came.
type memory struct {
	mu     sync.Mutex
	turn   chan struct{}
	events []string
	slip   func(receipts.Proposal) receipts.Answer
	fail   map[string]error // by event
	hold   chan struct{}    // when not nil, Finish waits for it
	copies []receipts.Call
	ends   []receipts.Outcome
	no     []receipts.Refused
	at     time.Time
}

func newMemory() *memory {
	return &memory{turn: make(chan struct{}, 1), fail: map[string]error{}, at: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
}

func (c *memory) note(event, detail string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.fail[event]; err != nil {
		return err
	}
	c.events = append(c.events, strings.TrimSpace(event+" "+detail))
	return nil
}

// wantEvents fails the test unless exactly this is on record.
func (c *memory) wantEvents(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Join(c.events, "\n") != strings.Join(want, "\n") {
		t.Errorf("on record:\n%s\nwant:\n%s", strings.Join(c.events, "\n"), strings.Join(want, "\n"))
	}
}

func (c *memory) Take(ctx context.Context) (proxy.Turn, error) {
	if err := c.fail["take"]; err != nil {
		return nil, err
	}
	select {
	case c.turn <- struct{}{}:
		return &memoryTurn{chain: c}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *memory) Notice(n receipts.Notice) error { return c.note("notice", n.What) }

type memoryTurn struct {
	chain *memory
	over  bool
}

func (t *memoryTurn) At() time.Time { return t.chain.at }

func (t *memoryTurn) Check(p receipts.Proposal) receipts.Answer {
	if t.chain.slip != nil {
		return t.chain.slip(p)
	}
	return receipts.Answer{Allowed: true}
}

func (t *memoryTurn) Refuse(r receipts.Refused) error {
	detail := r.By + " " + r.Code + " " + r.Tool
	if r.NoDenial {
		detail += " (no denial)"
	}
	err := t.chain.note("refused", detail)
	t.chain.mu.Lock()
	t.chain.no = append(t.chain.no, r)
	t.chain.mu.Unlock()
	t.Release()
	return err
}

func (t *memoryTurn) Copy(c receipts.Call) (proxy.Flight, error) {
	if err := t.chain.note("call", c.Tool); err != nil {
		return nil, err
	}
	t.chain.mu.Lock()
	c.Arguments = bytes.Clone(c.Arguments)
	t.chain.copies = append(t.chain.copies, c)
	t.chain.mu.Unlock()
	t.over = true // the flight has the turn now
	return &memoryFlight{t}, nil
}

func (t *memoryTurn) Release() {
	if !t.over {
		t.over = true
		<-t.chain.turn
	}
}

type memoryFlight struct{ turn *memoryTurn }

func (f *memoryFlight) Finish(o receipts.Outcome) (receipts.Receipt, error) {
	c := f.turn.chain
	if c.hold != nil {
		<-c.hold
	}
	how := o.Unknown
	if how == "" {
		how, _, _ = strings.Cut(strings.TrimPrefix(string(o.Result), `{"`), `"`)
	}
	err := c.note("outcome", how)
	c.mu.Lock()
	c.ends = append(c.ends, o)
	c.mu.Unlock()
	<-c.turn
	return receipts.Receipt{ID: "stub-id", Fingerprint: "stub-fingerprint"}, err
}

// ruleset reads and compiles rules of one file.
func ruleset(t testing.TB, list string) *proxy.Rules {
	t.Helper()
	src := `{"format":"content-rules/v1","name":"test","rules":[` + list + `]}`
	set, problems := rules.ReadSet([]rules.Source{{Path: "test.json", Data: []byte(src)}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := proxy.NewRules(set, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var errBroken = fmt.Errorf("%w: the disk is broken", receipts.ErrFinal)

func tools(names ...string) map[string]proxy.Tool {
	m := map[string]proxy.Tool{}
	for _, n := range names {
		m[n] = proxy.Tool{Action: "act-" + strings.ReplaceAll(n, "_", "-")}
	}
	return m
}
