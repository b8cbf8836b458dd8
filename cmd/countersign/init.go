package main

import (
	"embed"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

//go:embed start
var start embed.FS

// startFiles are what init writes, in this order.
var startFiles = []string{"executor.json", "content-rules.json", "content-rules.test.json"}

func (p *program) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write settings, rules and tests of rules to start from",
		Long: `init writes executor.json, content-rules.json and content-rules.test.json into
the current folder. It overwrites nothing: if one of them is there, it writes
none. What you must fill in stands <like this>; "countersign check" lists what is
left.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.writeStart() },
	}
}

func (p *program) writeStart() error {
	for _, name := range startFiles {
		if _, err := os.Lstat(name); err == nil {
			return hint(fmt.Errorf("%s is there already: nothing was written", name), "run init in an empty folder")
		}
	}
	for _, name := range startFiles {
		b, err := start.ReadFile("start/" + name)
		if err != nil {
			return err
		}
		if err := writeNew(name, b, 0o600); err != nil {
			return errors.Join(err, fmt.Errorf("what was written before it stands"))
		}
		p.say("%s", name)
	}
	p.note(`put in each value written <like this>, then: countersign keys, a signed slip, countersign check`)
	return nil
}
