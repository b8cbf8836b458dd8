package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
	"countersign/rules"
)

// Bounds of the windows beside a guard's own.
const (
	maxWindows = 16 // each has a server process, and no person has more open

	// helloTime is how long a front may take to say what it is, in a few
	// hundred bytes on one machine.
	helloTime = 5 * time.Second

	// maxHello is the most bytes of a first line either way: sixteen rules files
	// of at most 120 bytes, three paths and names.
	maxHello = 16 << 10

	// acceptPause keeps a guard that has no file numbers left from spinning.
	acceptPause = 100 * time.Millisecond
)

// wire is the version of what guard and front say to each other.
const wire = 1

// lastByte begins the guard's last line to a front. No message begins with it.
const lastByte = 0x04

// greeting is what a front must have in common with the guard: the settings, the
// folder their paths begin in, the slip and the rules.
type greeting struct {
	Settings string
	Dir      string
	Slip     string
	Rules    []receipts.RulesFile
}

// greetingOf is that of files that were read, with the slip and the rules in force.
func greetingOf(w *world, slip string, set *rules.Set) greeting {
	return greeting{Settings: w.settings.Fingerprint, Dir: w.settings.Dir, Slip: slip, Rules: filesOf(set)}
}

func (h greeting) append(b []byte) []byte {
	text := func(name, value string) {
		b = append(ijson.AppendString(append(b, ','), name), ':')
		b = ijson.AppendString(b, value)
	}
	b = fmt.Appendf(b, `{"wire":%d`, wire)
	text("version", version)
	text("settings", h.Settings)
	text("dir", h.Dir)
	text("slip", h.Slip)
	b = append(b, `,"rules":[`...)
	for i, f := range h.Rules {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ijson.AppendString(append(b, `{"name":`...), f.Name), `,"sha256":`...)
		b = append(ijson.AppendString(b, f.SHA256), '}')
	}
	return append(b, "]}\n"...)
}

// unlike says what a front's first line has otherwise, "" where nothing.
func (h greeting) unlike(line []byte) string {
	doc, err := ijson.Parse(line, ijson.Options{})
	if err != nil {
		return "what it says of itself cannot be read"
	}
	front := doc.Root()
	if n, _ := front.Member("wire").Int(); n != wire {
		return "it is of a version that speaks otherwise to its windows"
	}
	switch {
	case !front.Member("settings").Is(h.Settings):
		return "its settings are others"
	case !front.Member("dir").Is(h.Dir):
		return "its settings file is in another folder"
	case !front.Member("slip").Is(h.Slip):
		return "its slip is another"
	case front.Member("rules").Len() != len(h.Rules):
		return "its rules files are others"
	}
	i := 0
	for f := range front.Member("rules").Elements() {
		if !f.Member("name").Is(h.Rules[i].Name) || !f.Member("sha256").Is(h.Rules[i].SHA256) {
			return "its rules files are others"
		}
		i++
	}
	return ""
}

// windowDir is the folder of the socket at which the guard of a ledger takes
// further windows, and socketName the socket in it.
func windowDir(ledger string) string { return ledger + ".windows" }

const socketName = "socket"

// maxSocketPath is what the address of a socket can hold on every system.
const maxSocketPath = 103

// socketAddress is the address of the socket in a folder. Where the path is too
// long for one, it goes by the open folder, which free closes.
func socketAddress(dir string) (address string, free func(), err error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if _, err := os.Stat(short); err != nil {
		f.Close()
		return "", nil, fmt.Errorf("the path %s is longer than the %d bytes that a socket's may have here", path, maxSocketPath)
	}
	return filepath.Join(short, socketName), func() { f.Close() }, nil
}

// listen opens the socket of a guard that holds the ledger's lock, in a folder
// that is closed to all other users. What an earlier guard left there is dead.
func listen(ledger string) (l *net.UnixListener, free func(), err error) {
	dir := windowDir(ledger)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	if err := private(dir); err != nil {
		return nil, nil, err
	}
	address, free, err := socketAddress(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := os.Remove(filepath.Join(dir, socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		free()
		return nil, nil, err
	}
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"}); err == nil {
		if err = os.Chmod(filepath.Join(dir, socketName), 0o600); err != nil {
			l.Close()
		}
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	return l, free, nil
}

// private says what is wrong with a folder that must be one, and closed to all
// other users.
func private(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("other users can reach the folder %s (mode %04o), expected 0700", dir, info.Mode().Perm())
	}
	return nil
}

// windows are the fronts of a guard at work.
type windows struct {
	g        *guard
	listener *net.UnixListener
	work     sync.WaitGroup // the accepting, and each window

	mu    sync.Mutex // guards what follows
	open  int
	made  int           // windows so far, for their marks
	last  chan struct{} // closed when the last window has closed; nil while nobody waits for that
	ended bool          // no window is taken any more
}

// serveWindows serves the guard's own agent and, where there are records, the
// windows that other processes open. When the own agent's input has ended the
// others are served until the last of them closes; when ctx ends, or the own
// server or the records fail, all end.
func (g *guard) serveWindows(ctx context.Context, in io.Reader, out io.Writer) error {
	return g.working(ctx, func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer g.watch(ctx)()
		defer stop()
		if g.chain == nil {
			return g.speak(ctx, in, out, serverMark)
		}
		l, free, err := listen(g.world.settings.Agent.Ledger)
		if err != nil {
			g.log.Warn("no second window can be opened beside this one", "err", err)
			return g.speak(ctx, in, out, serverMark)
		}
		defer func() {
			free()
			// Only when it is empty: what is not ours stays.
			_ = os.Remove(windowDir(g.world.settings.Agent.Ledger))
		}()
		ws := &windows{g: g, listener: l}
		ws.work.Go(func() { ws.accept(ctx) })
		err = g.speak(ctx, in, out, serverMark)
		if err == nil {
			select {
			case <-ws.whenLast():
			case <-ctx.Done():
			}
		}
		ws.end()
		stop()
		ws.work.Wait()
		return err
	})
}

// whenLast is closed once there is no window; from then on none is taken.
func (ws *windows) whenLast() <-chan struct{} {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.last = make(chan struct{})
	if n := ws.open; n > 0 {
		ws.g.log.Info("this window is closed; the guard goes on for others", "windows", n)
	}
	ws.checkLast()
	return ws.last
}

// checkLast notes that the last window has closed. mu is held.
func (ws *windows) checkLast() {
	if ws.last != nil && ws.open == 0 && !ws.ended {
		ws.ended = true
		close(ws.last)
	}
}

// end takes no more windows.
func (ws *windows) end() {
	ws.mu.Lock()
	ws.ended = true
	ws.mu.Unlock()
	ws.listener.Close()
}

// enter counts a connection in. n is 0 where there are too many already, and ok
// false where none is taken any more.
func (ws *windows) enter() (n int, ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	switch {
	case ws.ended:
		return 0, false
	case ws.open >= maxWindows:
		return 0, true
	}
	ws.open++
	ws.made++
	return ws.made + 1, true // the guard's own is the first
}

func (ws *windows) leave() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.open--
	ws.checkLast()
}

// accept takes windows until the listener is closed.
func (ws *windows) accept(ctx context.Context) {
	for {
		conn, err := ws.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			ws.g.log.Warn("taking a window", "err", err)
			select {
			case <-time.After(acceptPause):
				continue
			case <-ctx.Done():
				return
			}
		}
		n, ok := ws.enter()
		if n == 0 {
			if ok {
				answerFront(conn, fmt.Sprintf("it has %d windows already", maxWindows))
			}
			conn.Close()
			continue
		}
		ws.work.Go(func() {
			defer ws.leave()
			defer conn.Close()
			ws.serve(ctx, conn, n)
		})
	}
}

// greeting is what a front must have in common with the guard now. Its files are
// looked at first: the front has read what stands there. A new slip that waits for a
// call that is out is not waited for as long as that may take.
func (g *guard) greeting(ctx context.Context) greeting {
	ctx, stop := context.WithTimeout(ctx, helloTime/2)
	defer stop()
	g.reload(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	return greetingOf(g.world, g.chain.Slip(), g.set)
}

// serve speaks with one window.
func (ws *windows) serve(ctx context.Context, conn *net.UnixConn, n int) {
	log := ws.g.log.With("window", n)
	conn.SetReadDeadline(time.Now().Add(helloTime))
	// A guard that ends does not wait for one that has not said anything.
	unwatch := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	lines := bufio.NewReaderSize(conn, maxHello)
	line, err := lines.ReadSlice('\n')
	unwatch()
	if err != nil || lines.Buffered() > 0 {
		log.Warn("a window did not say what it is", "err", err)
		return
	}
	why := ws.g.greeting(ctx).unlike(line)
	if !answerFront(conn, why) {
		return
	}
	if why != "" {
		log.Warn("refused a window: " + why)
		return
	}
	conn.SetReadDeadline(time.Time{})
	log.Info("a window opened")
	err = ws.g.speak(ctx, conn, conn, fmt.Sprintf("server of window %d: ", n))
	switch {
	case err != nil:
		log.Warn("a window ended", "err", err)
		why = err.Error()
	case ctx.Err() != nil:
		why = "it was stopped"
	default:
		log.Info("a window closed")
	}
	sayLast(conn, lastByte, why)
}

// answerFront gives a front the answer to its first line: taken, or why not.
func answerFront(conn *net.UnixConn, why string) bool { return sayLast(conn, 0, why) }

// sayLast writes one line of the guard's own to a front, begun with a byte that
// tells it from messages, 0 for none.
func sayLast(conn *net.UnixConn, begin byte, why string) bool {
	var b []byte
	if begin != 0 {
		b = append(b, begin)
	}
	b = fmt.Appendf(b, `{"ok":%t,"process":%d,"why":`, why == "", os.Getpid())
	b = append(ijson.AppendString(b, why), "}\n"...)
	conn.SetWriteDeadline(time.Now().Add(helloTime))
	_, err := conn.Write(b)
	return err == nil
}
