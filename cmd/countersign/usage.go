package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"countersign/internal/problem"
)

// unbuilt are commands that this program will have and that this version lacks,
// by the command they stand below.
var unbuilt = map[string][]string{
	"countersign":        {"approve", "http", "pass", "resolve", "resolvers", "seal", "secret", "show", "store", "timestamp", "view", "vouch"},
	"countersign ledger": {"export", "head", "replay", "stamp", "verify-bundle", "witness"},
}

// unknown is the error of a word that stands where a command's name would.
func unknown(parent *cobra.Command, word string) error {
	path := parent.CommandPath()
	if slices.Contains(unbuilt[path], word) {
		return hint(fmt.Errorf("%s %s is not built into this version", path, word), `"%s --help" lists what is`, path)
	}
	err := fmt.Errorf("%s has no command %s", path, problem.Quoted(word))
	var names []string
	for _, c := range parent.Commands() {
		names = append(names, c.Name())
	}
	if near := problem.Nearest(word, names); near != "" {
		return hint(err, "did you mean %q?", near)
	}
	return hint(err, `"%s --help" lists them`, path)
}

// parent makes a command one that only has commands below it.
func parent(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		what := cmd.CommandPath() + " needs a command"
		if !cmd.HasParent() {
			what = "no command given"
		}
		return hint(errors.New(what), `"%s --help" lists them`, cmd.CommandPath())
	}
	return cmd
}

// plainly makes every command below cmd say in our words how it was called wrongly.
func plainly(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		plainly(c)
	}
	if cmd.HasSubCommands() || cmd.Args == nil {
		return
	}
	fits := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if fits(cmd, args) == nil {
			return nil
		}
		given := "no argument"
		if len(args) > 0 {
			given = plural(len(args), "argument")
		}
		return hint(fmt.Errorf("%s was given %s, expected: %s", cmd.CommandPath(), given, cmd.UseLine()), `"%s --help" shows what it takes`, cmd.CommandPath())
	}
}

// flagsFit looks at flags that are needed and flags that exclude each other.
func flagsFit(cmd *cobra.Command) error {
	if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
		return hint(err, `"%s --help" shows what it takes`, cmd.CommandPath())
	}
	return nil
}

// helpCommand is help, which fails where there is no such command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if found == nil {
				return err
			}
			if len(rest) > 0 {
				return unknown(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
