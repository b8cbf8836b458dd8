package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/receipts"
)

func (p *program) compareCommand() *cobra.Command {
	var config string
	return p.answers(configured(&cobra.Command{
		Use:   "compare",
		Short: "Hold the ledger against the book and the denials",
		Long: `compare finds what was left out of the book or the denials, added to them or
altered, by the guard's own copy of every call. It may run beside a guard, and
needs the settings; "countersign verify BOOK --ledger LEDGER" needs the files alone.

Exit codes: 0 nothing differs; 1 something does; 2 a file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.compare(config) },
	}, &config))
}

func (p *program) compare(config string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	if err := w.problems.Err(); err != nil {
		return hint(fmt.Errorf("the settings:\n%w", err), `"countersign check" lists every problem`)
	}
	a := w.settings.Agent
	if a == nil || a.Book == "" {
		return errors.New("the settings name no agent with a book, so there is nothing to compare")
	}
	w.readKeys(false)
	if w.ledgerKey == nil {
		return hint(fmt.Errorf("the keys:\n%w", w.problems.Err()), "the ledger is held against its own key")
	}
	r, err := compareFiles(a.Ledger, a.Book, w.ledgerKey.Public(), "")
	if err != nil {
		return err
	}
	if p.asJSON {
		err = p.answer(struct {
			Same bool `json:"same"`
			*receipts.CompareReport
		}{r.Clean(), r})
	} else {
		p.tellComparison(r)
	}
	if err == nil && !r.Clean() {
		return errNo
	}
	return err
}

// maxLedgerOnly bounds the approved calls that are told one by one; --json has all.
const maxLedgerOnly = 20

func (p *program) tellComparison(r *receipts.CompareReport) {
	for _, u := range r.Unsound {
		p.say("  not sound: %s", u)
	}
	for _, d := range r.Differences {
		p.say("  differs: %s", d)
	}
	for _, a := range r.Altered {
		p.say("  differs: %s", a)
	}
	if r.More > 0 {
		p.say("  %d more", r.More)
	}
	for i, l := range r.LedgerOnly {
		if i == maxLedgerOnly {
			p.say("  and %d more receipts of approved calls", len(r.LedgerOnly)-i)
			break
		}
		p.say("  receipt %s names an approval, so what came of its call stands in ledger record %d alone: %s", l.ID, l.Ledger, l.How)
	}
	if r.OpenCall > 0 {
		p.say("  the call of ledger record %d has no outcome yet", r.OpenCall)
	}
	if r.Counted > 0 {
		p.say("  %d refusals were only counted, and have no denial", r.Counted)
	}
	if r.Clean() {
		if r.Aside != "" {
			p.say("  the book is the one that was put aside as %s", r.Aside)
		}
		p.say("ledger and book agree: %s, %s", plural(r.Receipts, "receipt"), plural(r.Denials, "denial"))
	}
}
