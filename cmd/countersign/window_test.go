package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/receipts"
)

// waits bounds every wait of these tests; nothing takes a fraction of it.
const waits = 30 * time.Second

// errorLog keeps what a process writes to its standard error, and says when a
// text has come.
type errorLog struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newErrorLog() *errorLog { return &errorLog{more: make(chan struct{}, 1)} }

func (l *errorLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a text has come n times.
func (l *errorLog) await(t *testing.T, n int, text string) {
	t.Helper()
	late := time.After(waits)
	for strings.Count(l.String(), text) < n {
		select {
		case <-l.more:
		case <-late:
			t.Fatalf("no %q in\n%s", text, l)
		}
	}
}

// window is a guard process and a real client before it.
type window struct {
	*mcp.ClientSession
	cmd  *exec.Cmd
	errs *errorLog
	done chan error // how the process ended
}

// openWindow starts the guard as a client does.
func openWindow(t *testing.T, config string, env ...string) *window {
	t.Helper()
	w := &window{cmd: exec.Command("countersign", "stdio", "--config", config), errs: newErrorLog(), done: make(chan error, 1)}
	w.cmd.Stderr = w.errs
	w.cmd.Env = append(os.Environ(), env...)
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), waits)
	defer stop()
	client := mcp.NewClient(&mcp.Implementation{Name: "window", Version: "1"}, nil)
	if w.ClientSession, err = client.Connect(ctx, &mcp.IOTransport{Reader: out, Writer: in}, nil); err != nil {
		w.cmd.Process.Kill()
		t.Fatalf("connecting: %v\n%s", err, w.errs)
	}
	go func() { w.done <- w.cmd.Wait() }()
	t.Cleanup(func() { w.cmd.Process.Kill() })
	return w
}

// say calls the tool echo and gives what came back.
func (w *window) say(t *testing.T, text string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), waits)
	defer stop()
	r, err := w.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
	if err != nil {
		t.Fatalf("calling echo: %v\n%s", err, w.errs)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// ended waits for the process's end and gives its exit code.
func (w *window) ended(t *testing.T) int {
	t.Helper()
	select {
	case err := <-w.done:
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			return e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return 0
	case <-time.After(waits):
		t.Fatalf("the process goes on:\n%s", w.errs)
	}
	return 0
}

// sound holds book and ledger of a world against each other, and the number of
// receipts.
func sound(t *testing.T, config string, receipts int) {
	t.Helper()
	dir := filepath.Dir(config)
	w, err := load(config)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, "", "verify", filepath.Join(dir, "book.jsonl"), "--issuer", w.settings.Agent.IssuerKeys[0], "--ledger", filepath.Join(dir, "ledger.jsonl"))
	if code != exitDone || !strings.Contains(out, fmt.Sprintf("receipts %d,", receipts)) {
		t.Errorf("verify: code %d\n%s%s", code, out, errs)
	}
}

// Two clients at once: each is answered, by a server of its own, and the calls of
// both stand in one chain.
func TestTwoWindows(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	first := openWindow(t, config)
	second := openWindow(t, config)
	const each = 10
	var both sync.WaitGroup
	for name, w := range map[string]*window{"first": first, "second": second} {
		both.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%s %d", name, i)
				if got := w.say(t, text); got != text {
					t.Errorf("%s got %q", text, got)
				}
			}
		})
	}
	both.Wait()
	if got := second.say(t, "my password is x"); !strings.Contains(got, "no-secrets") {
		t.Errorf("a refused call in the second window: %q", got)
	}
	first.errs.await(t, 1, "a window opened")

	// Where others can reach the socket they could speak as the agent.
	dir := windowDir(filepath.Join(filepath.Dir(config), "ledger.jsonl"))
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, socketName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %04o", path, info, err, want)
		}
	}

	// The second closes: its guard goes on without it.
	second.Close()
	if code := second.ended(t); code != exitDone {
		t.Errorf("the second window: code %d\n%s", code, second.errs)
	}
	first.errs.await(t, 1, "a window closed")
	if got := first.say(t, "still here"); got != "still here" {
		t.Errorf("after the second closed: %q", got)
	}
	first.Close()
	if code := first.ended(t); code != exitDone {
		t.Errorf("the first window: code %d\n%s", code, first.errs)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket's folder stays: %v", err)
	}
	sound(t, config, 2*each+1)
}

// Many processes that start at once: one of them has the records, the others are
// fronts to it or, where it has ended meanwhile, have them next. Each is answered.
func TestManyWindowsAtOnce(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	const many = 8
	ctx, stop := context.WithTimeout(t.Context(), waits)
	defer stop()
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, "countersign", "stdio", "--config", config)
			cmd.Stdin = strings.NewReader(hello)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), `"text":"hello there"`) {
				t.Errorf("%v\n%s%s", err, out, &errs)
			}
		})
	}
	all.Wait()
	sound(t, config, many)
}

// The first window closes: its process goes on until the last window has closed,
// and takes new ones meanwhile.
func TestFirstWindowCloses(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	first := openWindow(t, config)
	second := openWindow(t, config)
	first.Close()
	first.errs.await(t, 1, "this window is closed; the guard goes on for others")
	if got := second.say(t, "one"); got != "one" {
		t.Errorf("the second window: %q", got)
	}
	third := openWindow(t, config)
	second.Close()
	if code := second.ended(t); code != exitDone {
		t.Errorf("the second window: code %d\n%s", code, second.errs)
	}
	if got := third.say(t, "two"); got != "two" {
		t.Errorf("the third window: %q", got)
	}
	third.Close()
	if code := third.ended(t); code != exitDone {
		t.Errorf("the third window: code %d\n%s", code, third.errs)
	}
	if code := first.ended(t); code != exitDone {
		t.Errorf("the guard: code %d\n%s", code, first.errs)
	}
	sound(t, config, 2)
}

// A guard that is stopped ends its windows in order; one that is killed is missed.
func TestGuardEndsBeforeItsWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
		code   int // of the guard
		said   string
	}{
		{"stopped", syscall.SIGTERM, exitDone, "ended it: it was stopped"},
		{"killed", syscall.SIGKILL, -1, "is gone: calls that were with it are settled when a guard starts again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, sign, _ := signedWorld(t)
			sign()
			first := openWindow(t, config)
			second := openWindow(t, config)
			if got := second.say(t, "one"); got != "one" {
				t.Errorf("before: %q", got)
			}
			first.cmd.Process.Signal(c.signal)
			if code := first.ended(t); code != c.code {
				t.Errorf("the guard: code %d\n%s", code, first.errs)
			}
			if code := second.ended(t); code != exitNo || !strings.Contains(second.errs.String(), c.said) {
				t.Errorf("the window: code %d\n%s", code, second.errs)
			}
			// What a dead guard left does not keep the next from serving, nor it
			// from taking windows.
			next := openWindow(t, config)
			beside := openWindow(t, config)
			if got := beside.say(t, "two"); got != "two" {
				t.Errorf("after: %q", got)
			}
			beside.Close()
			beside.ended(t)
			next.Close()
			next.ended(t)
			sound(t, config, 2)
		})
	}
}

// A window that is killed ends its server and nothing else.
func TestWindowIsKilled(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	first := openWindow(t, config)
	second := openWindow(t, config)
	second.cmd.Process.Kill()
	second.ended(t)
	first.errs.await(t, 1, "a window closed")
	if got := first.say(t, "one"); got != "one" {
		t.Errorf("afterwards: %q", got)
	}
	first.Close()
	if code := first.ended(t); code != exitDone {
		t.Errorf("the guard: code %d\n%s", code, first.errs)
	}
	sound(t, config, 1)
}

// Other settings on the same records are refused, and the other guard is named.
func TestWindowWithOtherSettings(t *testing.T) {
	config, sign, passkey := signedWorld(t)
	sign()
	first := openWindow(t, config)
	other := filepath.Join(filepath.Dir(config), "other.json")
	src, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, bytes.Replace(src, []byte(`"name"`), []byte(`"tell": "say", "name"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, hello, "stdio", "--config", other)
	if code != exitCannot || out != "" || !strings.Contains(errs, fmt.Sprintf("the guard of process %d on", first.cmd.Process.Pid)) ||
		!strings.Contains(errs, "its settings are others") {
		t.Errorf("code %d, %q, %s", code, out, errs)
	}
	first.errs.await(t, 1, "refused a window: its settings are others")
	// Another slip, which the guard does not take on.
	w := &pinnedWorld{t, config, filepath.Dir(config), passkey}
	w.signAs(func(s *receipts.Slip) { s.ValidUntil = receipts.TimeOf(time.Now()) }, []string{softwareName, demoRules})
	if code, _, errs := command(t, hello, "stdio", "--config", config); code != exitCannot || !strings.Contains(errs, "its slip is another") {
		t.Errorf("another slip: code %d, %s", code, errs)
	}
	first.Close()
	if code := first.ended(t); code != exitDone {
		t.Errorf("the guard: code %d\n%s", code, first.errs)
	}
	sound(t, config, 0)
}

// Records that are held by something that takes no windows: the error names it.
func TestHeldByOther(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	w, err := load(config)
	if err != nil {
		t.Fatal(err)
	}
	w.readAll()
	p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now, rand: rand.Reader}
	g, err := p.openGuard(t.Context(), w, p.logger(0))
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := command(t, hello, "stdio", "--config", config); code != exitCannot || out != "" ||
		!strings.Contains(errs, fmt.Sprintf("held by process %d on", os.Getpid())) || !strings.Contains(errs, "hint: one guard alone may write") {
		t.Errorf("code %d, %q, %s", code, out, errs)
	}
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
}

// What a front says first is bounded, and must fit; who says something else is
// not spoken to.
func TestWindowsFirstLine(t *testing.T) {
	config, sign, _ := signedWorld(t)
	sign()
	first := openWindow(t, config)
	w, err := load(config)
	if err != nil {
		t.Fatal(err)
	}
	w.readAll()
	own := greetingOf(w, w.fingerprint, w.rules)
	line := string(own.append(nil))
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "hello\n", "cannot be read"},
		{"another version", strings.Replace(line, `"wire":1`, `"wire":2`, 1), "speaks otherwise"},
		{"another folder", strings.Replace(line, own.Dir, own.Dir+"/x", 1), "another folder"},
		{"another slip", strings.Replace(line, own.Slip, own.Rules[0].SHA256, 1), "its slip is another"},
		{"other rules", strings.Replace(line, own.Rules[0].SHA256, own.Slip, 1), "its rules files are others"},
		{"no rules", strings.Replace(line, `"rules":[{`, `"rules":[],"x":[{`, 1), "its rules files are others"},
		{"too long", strings.Repeat("x", maxHello) + "\n", ""},
		{"more than a line", line + "{}", ""},
		{"an end", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("unix", filepath.Join(windowDir(w.settings.Agent.Ledger), socketName))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(waits))
			if _, err := io.WriteString(conn, c.line); err != nil {
				t.Fatal(err)
			}
			if c.line == "" {
				conn.(*net.UnixConn).CloseWrite()
			}
			got, err := io.ReadAll(conn)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) { // what was not read is thrown away
				t.Fatal(err)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (!strings.Contains(string(got), c.want) || !strings.HasPrefix(string(got), `{"ok":false`)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	first.Close()
	if code := first.ended(t); code != exitDone {
		t.Errorf("the guard: code %d\n%s", code, first.errs)
	}
}

// More windows than there may be are turned away, with the reason.
func TestTooManyWindows(t *testing.T) {
	ws := &windows{g: &guard{log: slog.New(slog.DiscardHandler)}}
	for i := range maxWindows {
		if n, ok := ws.enter(); n != i+2 || !ok {
			t.Fatalf("window %d: %d, %v", i, n, ok)
		}
	}
	if n, ok := ws.enter(); n != 0 || !ok {
		t.Errorf("one too many: %d, %v", n, ok)
	}
	ws.leave()
	if n, _ := ws.enter(); n == 0 {
		t.Error("no room after one has closed")
	}
	last := ws.whenLast()
	for range maxWindows {
		select {
		case <-last:
			t.Fatal("the last has closed before it did")
		default:
		}
		ws.leave()
	}
	<-last
	if n, ok := ws.enter(); n != 0 || ok {
		t.Errorf("after the last: %d, %v", n, ok)
	}
}

// A state folder whose path is longer than a socket's address can be.
func TestWindowsInADeepFolder(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("NOT RUN: no /proc/self/fd here, by which a path too long for a socket is reached")
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 50))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(dir, "ledger.jsonl")
	l, free, err := listen(ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	defer l.Close()
	address, freeAddress, err := socketAddress(windowDir(ledger))
	if err != nil {
		t.Fatal(err)
	}
	defer freeAddress()
	conn, err := net.Dial("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()

	// A folder that others can reach holds no socket of ours.
	if err := os.Chmod(windowDir(ledger), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := listen(ledger); err == nil || !strings.Contains(err.Error(), "other users can reach the folder") {
		t.Errorf("a folder open to others: %v", err)
	}
}
