package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

const (
	demoValid  = time.Hour        // of the demonstration's permission
	demoBounds = 30 * time.Second // a demonstration that takes longer hangs
)

func (p *program) demoCommand() *cobra.Command {
	var stdio, tools bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole job done, in a new temporary folder",
		Long: `demo makes a new temporary folder, which it names and leaves: keys, a permission
signed by a stand-in for a passkey, rules. It puts the guard before a tool server
of its own and has one call let through, one refused by a content rule and one
refused by the slip; then it checks the book. It writes nothing outside the
folder, and nothing it writes proves anything about anyone.

demo --stdio makes the same folder with a permission of one hour and serves over
standard input and output until the input closes, for trying the guard from an MCP
client.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case tools:
				return serveTools(cmd.Context())
			case stdio:
				return p.demoStdio(cmd.Context())
			}
			return p.demo(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve over standard input and output")
	cmd.Flags().BoolVar(&tools, "tools", false, "be the demonstration's tool server (echo, add) over standard input and output")
	return cmd
}

func (p *program) demoStdio(ctx context.Context) error {
	w, err := p.makeDemo(demoValid)
	if err != nil {
		return err
	}
	p.note("a demonstration, whose records prove nothing about anyone; calls are let through until %s; the book is %s",
		w.permission.ValidUntil, w.settings.Agent.Book)
	// What is refused is told to the agent and is on record; the one line above
	// is all that a client's log should show.
	return p.guardOver(ctx, w, p.logger(slog.LevelWarn))
}

// demoCall is one call of the demonstration.
type demoCall struct {
	what      string
	tool      string
	arguments map[string]any
	refused   bool
}

var demoCalls = []demoCall{
	{"A call that is let through", "echo", map[string]any{"text": "Hello from behind the guard."}, false},
	{"A call that a content rule refuses", "echo", map[string]any{"text": "My password is hunter2."}, true},
	{"A call that the slip refuses", "add", map[string]any{"a": 5 * demoMost, "b": 1}, true},
}

func (p *program) demo(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, demoBounds)
	defer stop()
	w, err := p.makeDemo(demoValid)
	if err != nil {
		return err
	}
	p.say("The demonstration's folder, which stays: %s", w.settings.Dir)
	p.say("The permission: %s", permissionOf(w.permission))
	wrong, err := p.demoRun(ctx, w)
	if err != nil {
		return &failed{fmt.Errorf("the demonstration in %s: %w", w.settings.Dir, err)}
	}
	p.say("")
	p.say("The checker over the book:")
	v, err := verifyBook(w.settings.Agent.Book, verifyFlags{issuers: w.settings.Agent.IssuerKeys, ledger: w.settings.Agent.Ledger, pubkey: w.ledgerKey.PublicText()})
	if err != nil {
		return err
	}
	p.tellVerdict(filepath.Base(w.settings.Agent.Book), v, true)
	p.say("")
	p.say("Check it yourself:")
	p.say("  countersign verify %s --issuer %s", w.settings.Agent.Book, w.settings.Agent.IssuerKeys[0])
	p.say("  countersign compare --config %s", w.settings.File)
	if wrong > 0 || !v.Sound {
		return &failed{fmt.Errorf("the demonstration in %s did not go as it should", w.settings.Dir)}
	}
	return nil
}

// demoRun puts the guard before the demonstration's tools, makes the calls and
// gives how many did not go as they should.
func (p *program) demoRun(ctx context.Context, w *world) (wrong int, err error) {
	g, err := p.openGuard(ctx, w, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	fromAgent, toGuard := io.Pipe()
	fromGuard, toAgent := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := g.serve(ctx, fromAgent, toAgent)
		served <- errors.Join(err, toAgent.Close(), fromAgent.Close())
	}()
	wrong, err = p.demoAgent(ctx, &mcp.IOTransport{Reader: fromGuard, Writer: toGuard})
	// The end of the agent's input is what ends the guard.
	err = errors.Join(err, toGuard.Close())
	err = errors.Join(err, <-served, fromGuard.Close(), g.close())
	return wrong, err
}

// demoAgent is the agent of the demonstration.
func (p *program) demoAgent(ctx context.Context, t mcp.Transport) (wrong int, err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "countersign-demo-agent", Version: version}, nil)
	session, err := client.Connect(ctx, t, nil)
	if err != nil {
		return 0, fmt.Errorf("connecting: %w", err)
	}
	for _, c := range demoCalls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return wrong, err
		}
		p.say("")
		p.say("%s: %s %s", c.what, c.tool, arguments)
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			return wrong, fmt.Errorf("calling %s: %w", c.tool, err)
		}
		for _, content := range r.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				p.say("  the agent is told: %s", text.Text)
			}
		}
		if r.IsError != c.refused {
			p.say("  that is not as it should be")
			wrong++
		}
	}
	return wrong, session.Close()
}
