package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mvdan.cc/sh/v3/shell"

	"countersign/proxy"
	"countersign/rulestest"
)

const (
	// inspectTimeout bounds one answer of a server that init asks for its tools.
	inspectTimeout = 60 * time.Second

	pinsFile   = "pins.json"
	rulesFile  = "content-rules.json"
	thumbprint = "<the thumbprint of the passkey that signs the slip>"

	// workspace is the folder that drafted rules let paths lie in. It is not the
	// current one, where the guard's keys, settings and records come to stand: an
	// agent that can read or change those needs no guard to pass.
	workspace = "workspace"
)

// initFrom starts a server, lists its tools, and writes settings, rules, tests and
// pins drafted from them.
func (p *program) initFrom(ctx context.Context, command string) error {
	if strings.HasPrefix(command, "http://") || strings.HasPrefix(command, "https://") {
		return hint(errors.New("--from takes a command: a server behind a URL is not built into this version"), `expected a command such as --from "node server.js /srv/work"`)
	}
	files := append([]string{pinsFile}, startFiles...)
	if err := noneThere(files); err != nil {
		return err
	}
	words, err := shell.Fields(command, func(string) string { return "" })
	if err != nil || len(words) == 0 {
		return fmt.Errorf("--from %q: expected a program and its arguments", command)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	child := proxy.ChildConfig{Command: words[0], Args: words[1:], Dir: dir, Stderr: p.err, Mark: serverMark,
		Log: p.logger(slog.LevelWarn), Timeout: inspectTimeout, Getenv: os.Getenv}
	inventory, err := proxy.Inspect(ctx, proxy.Config{Mode: proxy.RulesOnly}, version, func(receive proxy.Receiver) (proxy.Server, error) {
		return proxy.StartChild(child, receive)
	})
	if err != nil {
		return fmt.Errorf("asking the server for its tools: %w", err)
	}
	server, err := serverOfInventory(inventory)
	if err != nil {
		return err
	}
	name := shortOf(inventory.Name)
	draft, err := rulestest.MakeDraft(ctx, server, rulestest.DraftOptions{
		Name: name, Workspace: []string{filepath.Join(dir, workspace)}, Base: dir, RulesFile: rulesFile, Options: testOptions(),
	})
	if err != nil {
		return fmt.Errorf("drafting rules: %w", err)
	}
	settings, err := draftSettings(name, words, dir, draft)
	if err != nil {
		return err
	}
	texts := map[string][]byte{
		"executor.json": settings, rulesFile: draft.Rules, "content-rules.test.json": draft.Tests,
		pinsFile: proxy.NewPins(inventory.Tools).Append(nil),
	}
	for _, file := range files {
		if err := writeNew(file, texts[file], 0o600); err != nil {
			return errors.Join(err, fmt.Errorf("what was written before it stands"))
		}
		p.say("%s", file)
	}
	for _, t := range draft.Tools {
		p.say("%s: %s", t.Name, t.Action)
	}
	if bytes.Contains(draft.Rules, []byte(`"@workspace"`)) {
		p.note("paths may lie in %s alone, which is yours to make: keep the guard's own files, which stand here, out of every folder that the rules let paths lie in", filepath.Join(dir, workspace))
	}
	p.note("the actions are guesses from the tools' names, and the rules a beginning: read both; then countersign keys, a signed slip, countersign check")
	if n := len(draft.Open); n > 0 {
		p.note("%s of the drafted rules are noticed by no drafted test: countersign rules test --mutants says which", plural(n, "change"))
	}
	return nil
}

// shortOf makes a name of a rules file and of a service from what a server calls
// itself.
func shortOf(name string) string {
	const most = 48 // leaves room for "-guard"
	short := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-':
			return c
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, name)
	short = strings.Trim(short[:min(len(short), most)], "-._")
	if short == "" {
		return "server"
	}
	return short
}

// draftSettings are settings in which only the thumbprint is left to fill in.
func draftSettings(name string, words []string, dir string, draft *rulestest.Draft) ([]byte, error) {
	type action struct {
		Action string `json:"action"`
	}
	tools := make(map[string]action, len(draft.Tools))
	for _, t := range draft.Tools {
		tools[t.Name] = action{t.Action}
	}
	settings := struct {
		Name    string `json:"name"`
		Service string `json:"service"`
		Server  struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Cwd     string   `json:"cwd"`
		} `json:"server"`
		Tools        map[string]action `json:"tools"`
		PinTools     string            `json:"pinTools"`
		ContentRules string            `json:"contentRules"`
		Agent        struct {
			Slip       string   `json:"slip"`
			Book       string   `json:"book"`
			Keys       string   `json:"keys"`
			IssuerKeys []string `json:"issuerKeys"`
			Ledger     string   `json:"ledger"`
		} `json:"agent"`
		Executor struct {
			Keys      string `json:"keys"`
			LedgerKey struct {
				File string `json:"file"`
			} `json:"ledgerKey"`
		} `json:"executor"`
	}{Name: name + " guard", Service: name + "-guard", Tools: tools, PinTools: pinsFile, ContentRules: rulesFile}
	settings.Server.Command, settings.Server.Args, settings.Server.Cwd = words[0], append([]string{}, words[1:]...), dir
	settings.Agent.Slip, settings.Agent.Book, settings.Agent.Keys = "slip.json", "book.jsonl", "keys/agent.keys"
	settings.Agent.IssuerKeys, settings.Agent.Ledger = []string{thumbprint}, "ledger.jsonl"
	settings.Executor.Keys, settings.Executor.LedgerKey.File = "keys/guard.keys", "keys/ledger.key"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(settings); err != nil {
		return nil, fmt.Errorf("writing the settings: %w", err)
	}
	return b.Bytes(), nil
}
