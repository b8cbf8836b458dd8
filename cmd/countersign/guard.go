package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"countersign/engine"
	"countersign/internal/pathtext"
	"countersign/internal/settings"
	"countersign/proxy"
	"countersign/receipts"
	"countersign/rules"
)

// engineOptions are those of every engine here, so that rules are tested as they
// are judged.
func engineOptions() engine.Options { return engine.Options{Disk: pathtext.OS{}} }

// guard is everything that runs in front of one server for one agent. Each
// connection of the agent (a window) has a server process and a pipeline of its
// own; the chain and the rules in force are those of all.
type guard struct {
	world  *world // as it was read at the start
	config proxy.Config
	chain  *receipts.Chain // nil where nothing is written
	store  *receipts.Files
	server proxy.ChildConfig
	log    *slog.Logger
	now    func() time.Time

	reloading chan struct{} // of one: holds a value over a reload, which guards what follows
	kept      kept          // why rules or a slip that changed are not taken on
	keptPins  kept          // why pins that changed are not

	mu        sync.Mutex // guards what follows
	set       *rules.Set // in force
	rules     *proxy.Rules
	pins      *proxy.Pins // nil where none are named
	pipelines map[*proxy.Pipeline]bool
}

// openGuard makes the guard of settings that were read and held together.
func (p *program) openGuard(ctx context.Context, w *world, log *slog.Logger) (_ *guard, err error) {
	s := w.settings
	ruleset, err := proxy.NewRules(w.rules, engineOptions())
	if err != nil {
		return nil, fmt.Errorf("compiling the rules: %w", err)
	}
	g := &guard{
		world: w, config: configOf(s, w), server: p.serverOf(w, log), log: log, now: p.now,
		set: w.rules, rules: ruleset, pins: w.pins, pipelines: make(map[*proxy.Pipeline]bool),
		reloading: make(chan struct{}, 1),
	}
	// What is wrong with the settings is told before anything is written.
	if _, err := proxy.New(g.config, ruleset, nil, log, p.now); err != nil {
		return nil, fmt.Errorf("the settings: %w", err)
	}
	if w.signs() {
		if err := g.openChain(ctx, p, w); err != nil {
			return nil, err
		}
		// Another guard may have gone on to later rules since the files were held
		// against the ledger; from here on no other writes to it.
		if err := w.goneBack(); err != nil {
			return nil, errors.Join(err, g.close())
		}
	}
	return g, nil
}

// join makes a pipeline for one connection, under the rules in force now and
// later. leave ends that.
func (g *guard) join() (pipeline *proxy.Pipeline, leave func(), err error) {
	var chain proxy.Chain
	if g.chain != nil {
		chain = proxy.Recorded(g.chain)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if pipeline, err = proxy.New(g.config, g.rules, chain, g.log, g.now); err != nil {
		return nil, nil, fmt.Errorf("the settings: %w", err)
	}
	pipeline.SetPins(g.pins)
	g.pipelines[pipeline] = true
	return pipeline, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.pipelines, pipeline)
	}, nil
}

func (g *guard) openChain(ctx context.Context, p *program, w *world) error {
	s := w.settings
	g.store = receipts.NewFiles(receipts.OSDisk(), receipts.FilesOptions{})
	chain, err := receipts.OpenChain(ctx, receipts.ChainConfig{
		Name: s.Agent.Name, Store: g.store, Ledger: s.Agent.Ledger, Book: s.Agent.Book,
		Slip: w.slip, Agent: w.agent, Guard: w.guard, OldKeys: w.oldKeys, Rollover: w.rollover, LedgerKey: w.ledgerKey, IssuerKeys: s.Agent.IssuerKeys, Service: s.Service,
		DenialsPerHour: s.DenialsPerHour, MaxWaiting: s.MaxWaiting,
		Version: version, Settings: s.Fingerprint, Rules: filesOf(w.rules),
		Clock: p.now, Rand: p.rand, Log: g.log,
	})
	if err != nil {
		return errors.Join(err, g.store.Close())
	}
	g.chain = chain
	return nil
}

// filesOf names the files of a set as the records do.
func filesOf(set *rules.Set) []receipts.RulesFile {
	var files []receipts.RulesFile
	for _, f := range set.Files {
		files = append(files, receipts.RulesFile{Name: f.Name, SHA256: f.Fingerprint})
	}
	return files
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
	return g.working(ctx, func(ctx context.Context) error { return g.speak(ctx, in, out, serverMark) })
}

// working runs what serves agents, with a context that ends when the records can
// no longer be written: a sync in the background may fail while no call is there
// to tell.
func (g *guard) working(ctx context.Context, serve func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if g.chain == nil {
		return serve(ctx)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-g.chain.Failed():
			stop()
		case <-ctx.Done():
		}
	}()
	err := serve(ctx)
	stop()
	<-watched
	if err == nil {
		err = g.chain.Err()
	}
	return err
}

// serverMark stands before each line that a server writes to its standard error.
const serverMark = "server: "

// speak speaks with one agent, before a server process of its own.
func (g *guard) speak(ctx context.Context, in io.Reader, out io.Writer, mark string) error {
	pipeline, leave, err := g.join()
	if err != nil {
		return err
	}
	defer leave()
	server := g.server
	server.Mark = mark
	return proxy.Serve(ctx, proxy.Connection{
		Pipeline: pipeline, In: in, Out: out, Log: g.log,
		Start: func(receive proxy.Receiver) (proxy.Server, error) {
			child, err := proxy.StartChild(server, receive)
			if err != nil {
				return nil, err
			}
			return child, nil
		},
	})
}

// serverOf says how to start the server of the settings.
func (p *program) serverOf(w *world, log *slog.Logger) proxy.ChildConfig {
	s := w.settings
	c := proxy.ChildConfig{
		Command: s.Server.Command, Args: s.Server.Args, Dir: s.Server.Dir,
		Stderr: p.err, Log: log, Timeout: s.Timeout, Getenv: os.Getenv, Clean: cleaner(w),
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

// cleaner takes the credentials out of what the server writes to standard error.
// Where they cannot be looked for, nothing of it is shown.
func cleaner(w *world) func(line []byte) []byte {
	secrets, err := proxy.NewSecrets(revealed(w))
	if err != nil {
		return func([]byte) []byte { return []byte("(a line that could not be searched for credentials)") }
	}
	return secrets.Clean
}

// revealed are the texts of all credentials.
func revealed(w *world) []string {
	var texts []string
	for _, credential := range w.credentials {
		texts = append(texts, credential.Reveal())
	}
	return texts
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
	c.Credentials = revealed(w)
	return c
}
