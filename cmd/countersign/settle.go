package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"countersign/receipts"
)

func (p *program) settleCommand() *cobra.Command {
	var config string
	var old []string
	cmd := configured(&cobra.Command{
		Use:   "settle --keys OLD…",
		Short: "Finish receipts left open under keys that the settings no longer name",
		Long: `settle does what a start does with what a crash left open, with key files beside
those of the settings: a receipt can only be finished under the keys its call was
copied for. It serves nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(old) == 0 {
				return hint(errors.New("no --keys"), "without other keys than the settings', a start of the guard settles by itself")
			}
			return p.openOnce(cmd.Context(), config, old, false)
		},
	}, &config)
	cmd.Flags().StringArrayVar(&old, "keys", nil, "a key `FILE` of the agent or the guard from before; may be given again")
	return cmd
}

func (p *program) rolloverCommand() *cobra.Command {
	var config string
	return configured(&cobra.Command{
		Use:   "rollover",
		Short: "Begin a new book under a new slip",
		Long: `rollover puts the book and its denials aside, under names beside their own, and
begins a new book with the slip of the settings, which the old book must not hold.
The ledger goes on, and "countersign verify --ledger" still holds the old book
against it. Thumbprints of the old book's slips may then leave agent.issuerKeys. Run
it while no guard runs, and put the new slip in its place only then: a guard that runs
takes it on, into the old book.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.openOnce(cmd.Context(), config, nil, true) },
	}, &config)
}

// openOnce opens the records as a start does, and closes them again.
func (p *program) openOnce(ctx context.Context, config string, old []string, rollover bool) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	w.readRules()
	w.readKeys(false)
	w.readSlip()
	if len(w.problems) == 0 {
		w.hold()
	}
	if len(w.problems) > 0 {
		return hint(fmt.Errorf("nothing was changed:\n%w", w.problems.Err()), `"countersign check" lists every problem and warning`)
	}
	if !w.signs() {
		return fmt.Errorf("the mode %q writes no records", w.settings.Mode)
	}
	for _, path := range old {
		keys, err := receipts.LoadSigner(path)
		if err != nil {
			return fmt.Errorf("the old keys: %w", err)
		}
		w.oldKeys = append(w.oldKeys, keys)
	}
	w.rollover = rollover
	g := &guard{log: p.logger(slog.LevelInfo)}
	if err := g.openChain(ctx, p, w); err != nil {
		return held(err)
	}
	if err := g.close(); err != nil {
		return &failed{err}
	}
	p.note("the records of %s are whole", w.settings.Agent.Name)
	return nil
}
