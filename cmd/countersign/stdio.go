package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"countersign/proxy"
	"countersign/receipts"
)

func (p *program) stdioCommand() *cobra.Command {
	var config string
	return configured(&cobra.Command{
		Use:   "stdio",
		Short: "Run the guard over standard input and output",
		Long: `stdio is what an agent's MCP client starts in place of the tool server. It starts
the server named in the settings and speaks MCP on standard input and output until
the input closes. Everything else goes to standard error.

A second one on the same settings, as a client with two windows starts it, is a
front to the first: its calls go through the guard that runs, to a server process
of its own, and into the same records. The first one then goes on until the last
window is closed.

Exit codes: 0 the input closed, or a stop was asked for; 1 the records can no
longer be written, or the server ended; 2 the guard did not start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.stdio(cmd.Context(), config) },
	}, &config)
}

func (p *program) stdio(ctx context.Context, config string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	w.readAll()
	if len(w.problems) > 0 {
		return hint(fmt.Errorf("the guard did not start:\n%w", w.problems.Err()), `"countersign check" lists every problem and warning`)
	}
	log := p.logger(slog.LevelInfo)
	tellWarnings(w, log)
	return p.guardOver(ctx, w, log)
}

func tellWarnings(w *world, log *slog.Logger) {
	for _, warning := range w.warnings {
		log.Warn(warning.Msg, "at", warning.Pointer, "file", warning.File)
	}
}

// guardOver runs the guard over standard input and output. Where another guard
// holds the records already, this process is a front to that one.
func (p *program) guardOver(ctx context.Context, w *world, log *slog.Logger) error {
	g, conn, err := p.guardOrFront(ctx, w, log)
	if err != nil {
		return err
	}
	in, out := p.in, p.out
	if in == os.Stdin && out == os.Stdout {
		var restore func()
		in, out, restore = proxy.Standard()
		defer restore()
	}
	if conn != nil {
		err = front(ctx, conn, in, out)
	} else {
		err = errors.Join(g.serveWindows(ctx, in, out), g.close())
	}
	if err != nil {
		return &failed{err}
	}
	return nil
}

// guardOrFront opens the guard or, where another process has the records open
// already, a connection to the guard in that process.
func (p *program) guardOrFront(ctx context.Context, w *world, log *slog.Logger) (*guard, *frontConn, error) {
	var waited time.Duration
	for {
		g, err := p.openGuard(ctx, w, log)
		h := (*receipts.HeldError)(nil)
		if !errors.As(err, &h) {
			return g, nil, err
		}
		if h.Path != w.settings.Agent.Ledger+".lock" {
			return nil, nil, held(err) // the book of another ledger: no guard for this agent
		}
		conn, knockErr := knock(ctx, w)
		if conn != nil {
			return nil, conn, nil
		}
		if r := (*refusedWindow)(nil); errors.As(knockErr, &r) {
			return nil, nil, r.explained(h)
		}
		// That process may be reading its records still, or about to end.
		if waited >= p.patience {
			return nil, nil, held(err)
		}
		select {
		case <-ctx.Done():
			return nil, nil, held(err)
		case <-time.After(knockEvery):
			waited += knockEvery
		}
	}
}

// held adds what to do where another process holds the records.
func held(err error) error {
	if h := (*receipts.HeldError)(nil); errors.As(err, &h) {
		return hint(err, "one guard alone may write to one ledger and book, and that process takes no second window: end it first")
	}
	return err
}
