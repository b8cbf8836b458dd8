package main

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"countersign/rules"
)

func (p *program) rulesFmtCommand() *cobra.Command {
	var write, check bool
	cmd := &cobra.Command{
		Use:   "fmt FILE…",
		Short: "Lay rules files out in the one usual way",
		Long: `fmt prints a rules file in the usual layout. With -w it changes the files in
place and names those it changed; with --check it changes nothing, names the files
that are laid out in another way, and exits 1 if there are any. A file's
fingerprint does not depend on its layout.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.fmtRules(args, write, check) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "change the files in place")
	cmd.Flags().BoolVar(&check, "check", false, "name the files that are laid out in another way")
	cmd.MarkFlagsMutuallyExclusive("write", "check")
	return cmd
}

func (p *program) fmtRules(paths []string, write, check bool) error {
	if len(paths) > 1 && !write && !check {
		return hint(errors.New("several files cannot be printed as one"), "-w changes them in place, --check only names them")
	}
	files, err := readSources(paths)
	if err != nil {
		return err
	}
	laid := make([][]byte, len(files))
	var problems rules.Problems
	for i, f := range files {
		out, faults := rules.Format(f.Path, f.Data)
		laid[i], problems = out, append(problems, faults...)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	other := 0
	for i, f := range files {
		if !write && !check {
			_, err := p.out.Write(laid[i])
			return err
		}
		if bytes.Equal(laid[i], f.Data) {
			continue
		}
		other++
		if write {
			if err := replaceFile(f.Path, laid[i]); err != nil {
				return err
			}
		}
		p.say("%s", f.Path)
	}
	if check && other > 0 {
		return errNo
	}
	return nil
}

func (p *program) rulesSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rules files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.out.Write(rules.Schema())
			return err
		},
	}
}
