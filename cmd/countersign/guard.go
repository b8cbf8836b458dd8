package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"countersign/engine"
	"countersign/internal/settings"
	"countersign/proxy"
	"countersign/receipts"
)

// guard is everything that runs in front of one server for one agent.
type guard struct {
	pipeline *proxy.Pipeline
	chain    *receipts.Chain // nil where nothing is written
	store    *receipts.Files
	server   proxy.ChildConfig
	log      *slog.Logger
}

// openGuard makes the guard of settings that were read and held together.
func (p *program) openGuard(ctx context.Context, w *world, log *slog.Logger) (_ *guard, err error) {
	s := w.settings
	ruleset, err := proxy.NewRules(w.rules, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("compiling the rules: %w", err)
	}
	g := &guard{log: log, server: p.serverOf(w, log)}
	var chain proxy.Chain
	if w.signs() {
		if err := g.openChain(ctx, p, w); err != nil {
			return nil, err
		}
		chain = proxy.Recorded(g.chain)
	}
	if g.pipeline, err = proxy.New(configOf(s, w), ruleset, chain, log, p.now); err != nil {
		return nil, errors.Join(fmt.Errorf("the settings: %w", err), g.close())
	}
	return g, nil
}

func (g *guard) openChain(ctx context.Context, p *program, w *world) error {
	s := w.settings
	var files []receipts.RulesFile
	for _, f := range w.rules.Files {
		files = append(files, receipts.RulesFile{Name: f.Name, SHA256: f.Fingerprint})
	}
	g.store = receipts.NewFiles(receipts.OSDisk(), receipts.FilesOptions{})
	chain, err := receipts.OpenChain(ctx, receipts.ChainConfig{
		Name: s.Agent.Name, Store: g.store, Ledger: s.Agent.Ledger, Book: s.Agent.Book,
		Slip: w.slip, Agent: w.agent, Guard: w.guard, OldKeys: w.oldKeys, Rollover: w.rollover, LedgerKey: w.ledgerKey, IssuerKeys: s.Agent.IssuerKeys, Service: s.Service,
		DenialsPerHour: s.DenialsPerHour, MaxWaiting: s.MaxWaiting,
		Version: version, Settings: s.Fingerprint, Rules: files,
		Clock: p.now, Rand: p.rand, Log: g.log,
	})
	if err != nil {
		return errors.Join(err, g.store.Close())
	}
	g.chain = chain
	return nil
}

// close writes what is left to write and gives the locks back.
func (g *guard) close() error {
	if g.chain == nil {
		return nil
	}
	return errors.Join(g.chain.Close(), g.store.Close())
}

// serve speaks with one agent until its input ends, ctx ends, or the guard can
// no longer do its work; only then there is an error.
func (g *guard) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if g.chain != nil {
		// A sync in the background may fail while no call is there to tell.
		watched := make(chan struct{})
		defer func() { stop(); <-watched }()
		go func() {
			defer close(watched)
			select {
			case <-g.chain.Failed():
				stop()
			case <-ctx.Done():
			}
		}()
	}
	err := proxy.Serve(ctx, proxy.Connection{
		Pipeline: g.pipeline, In: in, Out: out, Log: g.log,
		Start: func(receive proxy.Receiver) (proxy.Server, error) {
			child, err := proxy.StartChild(g.server, receive)
			if err != nil {
				return nil, err
			}
			return child, nil
		},
	})
	if err == nil && g.chain != nil {
		err = g.chain.Err()
	}
	return err
}

// serverOf says how to start the server of the settings.
func (p *program) serverOf(w *world, log *slog.Logger) proxy.ChildConfig {
	s := w.settings
	c := proxy.ChildConfig{
		Command: s.Server.Command, Args: s.Server.Args, Dir: s.Server.Dir,
		Stderr: p.err, Mark: "server: ", Log: log, Timeout: s.Timeout, Getenv: os.Getenv,
	}
	for _, e := range s.Server.Env {
		v := proxy.Variable{Name: e.Name, Value: e.Value}
		if e.File != "" {
			v.Value = w.credentials[e.File].Reveal()
		}
		c.Env = append(c.Env, v)
	}
	return c
}

// configOf is what the pipeline needs of the settings.
func configOf(s *settings.Settings, w *world) proxy.Config {
	c := proxy.Config{
		Name: s.Name, Service: s.Service, Tools: make(map[string]proxy.Tool),
		ShowUnlisted: !s.HideUnlisted, SkipSchemas: !s.ValidateArguments, Tell: s.Tell,
		Timeout: s.Timeout, MaxWaiting: s.MaxWaiting, BodyLimit: s.BodyLimit,
		CallIDInMeta: s.CallIDInMeta, CountersignNames: s.DetailNames == "countersign",
	}
	if s.Mode == settings.RulesOnly {
		c.Mode = proxy.RulesOnly
	}
	if s.Agent != nil {
		c.Agent = s.Agent.Name
	}
	if s.MaxWaiting == 0 {
		c.MaxWaiting = -1 // none; 0 is the default there
	}
	if !s.PassAll {
		c.PassThrough = append([]string{}, s.PassThrough...)
	}
	if s.Unlisted != "" {
		c.Unlisted = &proxy.Tool{Action: s.Unlisted}
	}
	for _, t := range s.Tools.All() {
		tool := proxy.Tool{Action: t.Action}
		if a := t.Amount; a != nil {
			tool.Amount = &proxy.AmountRule{Arg: a.Arg, Unit: a.Unit, Scale: a.Scale, Text: a.Text}
		}
		if t.Glob {
			c.Globs = append(c.Globs, proxy.ToolGlob{Pattern: t.Name, Match: t.Match, Tool: tool})
		} else {
			c.Tools[t.Name] = tool
		}
	}
	for _, credential := range w.credentials {
		c.Credentials = append(c.Credentials, credential.Reveal())
	}
	return c
}
