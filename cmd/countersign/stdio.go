package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

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
	for _, warning := range w.warnings {
		log.Warn(warning.Msg, "at", warning.Pointer, "file", warning.File)
	}
	return p.guardOver(ctx, w, log)
}

// guardOver runs the guard over standard input and output.
func (p *program) guardOver(ctx context.Context, w *world, log *slog.Logger) error {
	g, err := p.openGuard(ctx, w, log)
	if err != nil {
		return held(err)
	}
	in, out := p.in, p.out
	if in == os.Stdin && out == os.Stdout {
		var restore func()
		in, out, restore = proxy.Standard()
		defer restore()
	}
	served := g.serve(ctx, in, out)
	if err := errors.Join(served, g.close()); err != nil {
		return &failed{err}
	}
	return nil
}

// held adds what to do where another process holds the records.
func held(err error) error {
	if h := (*receipts.HeldError)(nil); errors.As(err, &h) {
		return hint(err, "one guard alone may write to one ledger and book: end the other first")
	}
	return err
}
