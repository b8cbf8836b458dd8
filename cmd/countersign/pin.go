package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/proxy"
)

func (p *program) pinCommand() *cobra.Command {
	var config string
	return p.answers(configured(&cobra.Command{
		Use:   "pin",
		Short: "Pin the tools of the server as they are now",
		Long: `pin starts the server of the settings, lists its tools, ends it, and writes the
file that pinTools names: the fingerprint of each whole tool object and of the set.
It says what is new, changed or gone since the file was written: look at that
before you let the agent go on. A guard that runs takes the file on at once; until
then tools that are new or changed are hidden and refused.

Exit codes: 0 the file holds the tools as they are; 2 they could not be listed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.pin(cmd.Context(), config) },
	}, &config))
}

func (p *program) pin(ctx context.Context, config string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	path := w.settings.PinTools
	if path == "" {
		return hint(fmt.Errorf("%s names no pin file", config), `put "pinTools": "pins.json" into it`)
	}
	w.readServer()
	inventory, err := p.inspect(ctx, w)
	if err != nil {
		return err
	}
	now := proxy.NewPins(inventory.Tools)
	was := proxy.NewPins(nil)
	old, err := plainfile.Read(path, proxy.MaxPinBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("reading the pin file: %w", err)
	default:
		if was, err = proxy.ReadPins(old); err != nil {
			was = proxy.NewPins(nil)
			p.note("the pin file %s cannot be read, so every tool counts as new: %v", path, err)
		}
	}
	added, changed, gone := was.Compare(now)
	src := now.Append(nil)
	if string(src) != string(old) {
		if err := replaceFile(path, src); err != nil {
			return fmt.Errorf("writing the pin file: %w", err)
		}
	}
	if p.asJSON {
		return p.answer(struct {
			File    string   `json:"file"`
			Set     string   `json:"set"`
			Tools   int      `json:"tools"`
			New     []string `json:"new"`
			Changed []string `json:"changed"`
			Gone    []string `json:"gone"`
		}{path, now.Set(), now.Len(), list(added), list(changed), list(gone)})
	}
	for _, l := range []struct {
		word  string
		tools []string
	}{{"new", added}, {"changed", changed}, {"gone", gone}} {
		for _, name := range l.tools {
			p.say("%s: %s", l.word, problem.Quoted(name))
		}
	}
	p.say("%s: %s, %s", path, plural(now.Len(), "tool"), now.Set())
	return nil
}

// errNotStarted says that what is wrong with the settings, which is told with it,
// kept the server from being started.
var errNotStarted = errors.New("the server was not started")

// list is one that JSON shows as a list also where it is empty.
func list(l []string) []string { return append([]string{}, l...) }

// inspect starts the server of the settings, which were read, asks what it offers,
// and ends it. The settings need to be whole only as far as the server goes: slip
// and keys come later.
func (p *program) inspect(ctx context.Context, w *world) (*proxy.Inventory, error) {
	if w.settings.Server == nil {
		return nil, errors.Join(fmt.Errorf("the settings name no server that can be started"), w.problems.Err())
	}
	for _, x := range w.problems {
		if x.File == w.settings.File && (x.Pointer == "" || strings.HasPrefix(x.Pointer, "/server")) {
			return nil, fmt.Errorf("%w:\n%w", errNotStarted, w.problems.Err())
		}
	}
	log := p.logger(slog.LevelWarn)
	child := p.serverOf(w, log)
	child.Mark = serverMark
	inventory, err := proxy.Inspect(ctx, configOf(w.settings, w), version, func(receive proxy.Receiver) (proxy.Server, error) {
		c, err := proxy.StartChild(child, receive)
		if err != nil {
			return nil, err
		}
		return c, nil
	})
	if err != nil {
		return nil, fmt.Errorf("asking the server for its tools: %w", err)
	}
	return inventory, nil
}
