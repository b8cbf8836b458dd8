package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"countersign/internal/plainfile"
	"countersign/receipts"
)

func (p *program) cancelCommand() *cobra.Command {
	var config, file string
	cmd := configured(&cobra.Command{
		Use:   "cancel --file CANCELLATION",
		Short: "Hand in the signed end of a slip",
		Long: `cancel takes a cancellation that the slip's passkey signed, checks it, and puts it
where the guard looks at every call. From then on it refuses every new call under
the slip; a call that is out still gets its receipt.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				return hint(errors.New("signing a cancellation with a passkey is not built into this version"), "--file hands in one that was signed elsewhere")
			}
			return p.cancel(config, file)
		},
	}, &config)
	cmd.Flags().StringVar(&file, "file", "", "the file that holds the cancellation's record")
	return cmd
}

func (p *program) cancel(config, file string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	if err := w.problems.Err(); err != nil {
		return hint(fmt.Errorf("the settings:\n%w", err), `"countersign check" lists every problem`)
	}
	if !w.signs() || w.settings.Agent == nil {
		return errors.New("the settings name no agent with a slip, so there is nothing to cancel")
	}
	record, err := plainfile.Read(file, receipts.MaxLine)
	if err != nil {
		return fmt.Errorf("reading the cancellation: %w", err)
	}
	record = bytes.TrimSuffix(record, []byte("\n"))
	if err := w.checkCancellation(record); err != nil {
		return fmt.Errorf("the cancellation %s: %w", file, err)
	}
	path, err := receipts.HandInCancellation(w.settings.Agent.Ledger, record)
	if err != nil {
		return fmt.Errorf("handing the cancellation in: %w", err)
	}
	p.say("%s", path)
	p.note("handed in: the guard that runs, or the next to start, refuses every call under this slip")
	return nil
}

// checkCancellation holds a cancellation against the slip of the settings and the
// slips of the book.
func (w *world) checkCancellation(record []byte) error {
	a := w.settings.Agent
	c := receipts.NewChecker(receipts.CheckOptions{IssuerKeys: a.IssuerKeys, SummaryOnly: true})
	if w.readSlip(); w.slip != nil {
		c.Add(receipts.AppendLine(nil, receipts.KindSlip, w.slip))
	}
	book, err := plainfile.Open(a.Book)
	if err == nil {
		defer book.Close()
		lines := bufio.NewScanner(book)
		lines.Buffer(nil, receipts.MaxLine+1)
		for lines.Scan() {
			// The other lines say nothing of who may cancel.
			if bytes.HasPrefix(lines.Bytes(), []byte(`{"slip":`)) {
				c.Add(bytes.Clone(lines.Bytes()))
			}
		}
		err = lines.Err()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the book: %w", err)
	}
	_, err = c.Hold(record)
	return err
}
