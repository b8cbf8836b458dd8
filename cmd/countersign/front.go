package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
)

const (
	// knockEvery is the pause between two tries to reach a guard that holds the
	// records and does not answer.
	knockEvery = 100 * time.Millisecond

	// frontBuffer is how much of one message a front holds at once, in bytes.
	frontBuffer = 64 << 10
)

// frontConn is a front's connection to the guard that runs.
type frontConn struct {
	*net.UnixConn
	lines   *bufio.Reader
	process int64 // of the guard
}

// refusedWindow says why a guard that runs does not take a window.
type refusedWindow struct {
	process int64
	why     string
}

func (r *refusedWindow) Error() string { return r.why }

// explained is a refusal with the guard that holds the records named.
func (r *refusedWindow) explained(h *receipts.HeldError) error {
	owner := h.Owner
	if owner == "" {
		owner = fmt.Sprintf("process %d", r.process)
	}
	return hint(fmt.Errorf("%s: the guard of %s runs already and does not take this window: %s", h.Path, owner, r.why),
		"a window needs the settings, the slip and the rules of the guard that runs: end that guard to start with others")
}

// knock connects to the guard that holds the records of a world and shows it
// that the settings are the same. An error other than *refusedWindow says that no
// guard answered.
func knock(ctx context.Context, w *world) (*frontConn, error) {
	dir := windowDir(w.settings.Agent.Ledger)
	if err := private(dir); err != nil {
		return nil, err
	}
	address, free, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	defer free()
	var d net.Dialer
	dialed, err := d.DialContext(ctx, "unix", address)
	if err != nil {
		return nil, err
	}
	conn, ok := dialed.(*net.UnixConn)
	if !ok {
		dialed.Close()
		return nil, errors.New("not a socket")
	}
	c := &frontConn{UnixConn: conn, lines: bufio.NewReaderSize(conn, frontBuffer)}
	conn.SetDeadline(time.Now().Add(helloTime))
	var line []byte
	if _, err = conn.Write(greetingOf(w, w.fingerprint, w.rules).append(nil)); err == nil {
		line, err = c.lines.ReadSlice('\n')
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the guard did not answer: %w", err)
	}
	conn.SetDeadline(time.Time{})
	taken, process, why := guardSays(line)
	if !taken {
		conn.Close()
		return nil, &refusedWindow{process, why}
	}
	c.process = process
	return c, nil
}

// guardSays reads a line of the guard's own.
func guardSays(line []byte) (ok bool, process int64, why string) {
	doc, err := ijson.Parse(line, ijson.Options{})
	if err != nil {
		return false, 0, "what it says cannot be read"
	}
	process, _ = doc.Root().Member("process").Int()
	return doc.Root().Member("ok").Kind() == ijson.True, process, doc.Root().Member("why").Text()
}

// front passes bytes between an agent and the guard that runs, until the guard
// has answered all of an input that ended, or ctx ends. That the guard ended
// first is an error.
func front(ctx context.Context, c *frontConn, in io.Reader, out io.Writer) error {
	defer c.Close()
	// A hangup reloads the guard's rules, and a front has none.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	unwatch := context.AfterFunc(ctx, func() { c.Close() })
	defer unwatch()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// Whatever ends it, the guard is told that there is no more.
		_, _ = io.Copy(c.UnixConn, in)
		_ = c.CloseWrite()
	}()
	why, err := c.receive(out)
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Now()) == nil {
		<-sent
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case why != "":
		return fmt.Errorf("the guard of process %d, which this window is a front to, ended it: %s", c.process, why)
	}
	return nil
}

// receive passes the guard's messages on, to its last line, which says why it
// ends: "" after the end of the input.
func (c *frontConn) receive(out io.Writer) (why string, err error) {
	fresh := true // at the beginning of a line
	for {
		piece, err := c.lines.ReadSlice('\n')
		if fresh && len(piece) > 0 && piece[0] == lastByte && err == nil {
			_, _, why := guardSays(bytes.TrimPrefix(piece, []byte{lastByte}))
			return why, nil
		}
		if len(piece) > 0 {
			if _, err := out.Write(piece); err != nil {
				return "", fmt.Errorf("writing to the agent: %w", err)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", fmt.Errorf("the guard of process %d, which this window is a front to, is gone: calls that were with it are settled when a guard starts again", c.process)
		}
		fresh = err == nil
	}
}
