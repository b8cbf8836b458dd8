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
	var from string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write settings, rules and tests of rules to start from",
		Long: `init writes executor.json, content-rules.json and content-rules.test.json into
the current folder. It overwrites nothing: if one of them is there, it writes
none. What you must fill in stands <like this>; "countersign check" lists what is
left.

With --from it starts that server in the current folder, lists its tools, and
drafts from them: an action for each tool, a rule for each argument that holds a
path, a URL or a command, tests that notice every change of those rules, and the
pin file. Paths may lie in the folder "workspace" beside the settings, not in the
current one, since an agent that reaches the guard's own files passes any guard.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("from") {
				return p.initFrom(cmd.Context(), from)
			}
			return p.writeStart()
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the server's command line, to draft from what it offers")
	return cmd
}

// noneThere says which of the files that are to be written is there already.
func noneThere(files []string) error {
	for _, name := range files {
		if _, err := os.Lstat(name); err == nil {
			return hint(fmt.Errorf("%s is there already: nothing was written", name), "run init in an empty folder")
		}
	}
	return nil
}

func (p *program) writeStart() error {
	if err := noneThere(startFiles); err != nil {
		return err
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
