// Countersign is a guard in front of an MCP tool server: it holds each tool call
// against rules about its content and against a permission a person signed,
// refuses the others, and writes a countersigned receipt for each it lets
// through.
//
// Exit codes: 0 done; 1 the answer is no (a check failed, a record is not
// sound); 2 could not answer (usage, a file that cannot be read). Standard output
// carries answers alone; logs and errors go to standard error.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is the program's own, as ledgers and clients have it.
const version = "0.1.0"

func main() {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, rand: rand.Reader, patience: patience}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// program is what every command is given of the world around it.
type program struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	rand     io.Reader
	logAs    string        // text or json
	asJSON   bool          // of the command that runs
	noHelp   error         // why help that was asked for could not be given
	unsaid   error         // the first line of an answer that could not be written
	patience time.Duration // how long a guard that holds the records is waited for
}

// patience is enough for a guard to read a long ledger before it serves.
const patience = 10 * time.Second

// The exit codes.
const (
	exitDone   = 0
	exitNo     = 1
	exitCannot = 2
)

// errNo says that the answer is no, which the command has told already.
var errNo = errors.New("the answer is no")

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// hint adds what to do to an error.
func hint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// run carries out one command line and gives the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = p.noHelp
	}
	if p.unsaid != nil && (err == nil || errors.Is(err, errNo)) {
		err = fmt.Errorf("writing the answer: %w", p.unsaid)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNo):
		return exitNo
	}
	fmt.Fprintf(p.err, "countersign: error: %v\n", err)
	if h := (*hinted)(nil); errors.As(err, &h) {
		fmt.Fprintf(p.err, "countersign: hint: %s\n", h.hint)
	}
	if f := (*failed)(nil); errors.As(err, &f) {
		return exitNo
	}
	return exitCannot
}

// failed is an error whose exit code is 1: the guard began its work and could not
// go on with it.
type failed struct{ error }

func (f *failed) Unwrap() error { return f.error }

func (p *program) root() *cobra.Command {
	root := parent(&cobra.Command{
		Use:   "countersign",
		Short: "A guard in front of an MCP tool server",
		Long: `countersign stands between an agent and an MCP tool server. It holds each tool
call against rules about its content and against a permission a person signed,
refuses the others, and writes a countersigned receipt for each it lets through.

Begin with "countersign demo", which needs nothing and writes into a new
temporary folder alone.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
	})
	root.SetVersionTemplate("countersign {{.Version}}\n")
	root.PersistentFlags().StringVar(&p.logAs, "log", "text", "how logs are written to standard error: text or json")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if p.logAs != "text" && p.logAs != "json" {
			return fmt.Errorf("--log %q, expected text or json", p.logAs)
		}
		return flagsFit(cmd)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return unknown(cmd, words[0]) // the flag is that command's
		}
		return hint(err, `"%s --help" shows what it takes`, cmd.CommandPath())
	})
	root.AddCommand(p.demoCommand(), p.stdioCommand(), p.rulesCommand(), p.keysCommand(), p.signCommand(), p.initCommand(), p.checkCommand(), p.pinCommand(),
		p.verifyCommand(), p.compareCommand(), p.ledgerCommand(), p.cancelCommand(), p.settleCommand(), p.rolloverCommand(), p.versionCommand())
	root.SetHelpCommand(helpCommand())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		// Help about a command that is not there is none about the one above it.
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			p.noHelp = unknown(cmd, words[0])
			return
		}
		help(cmd, args)
	})
	plainly(root)
	return root
}

// answers adds --json to a command that answers a question.
func (p *program) answers(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.asJSON, "json", false, "answer as JSON")
	return cmd
}

// defaultConfig is the settings file that init writes.
const defaultConfig = "executor.json"

// configured adds --config.
func configured(cmd *cobra.Command, path *string) *cobra.Command {
	cmd.Flags().StringVar(path, "config", defaultConfig, "the settings file")
	return cmd
}
