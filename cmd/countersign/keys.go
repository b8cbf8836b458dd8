package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"countersign/internal/problem"
	"countersign/internal/settings"
	"countersign/receipts"
)

// slipParts is what of the guard goes into a slip. Its members are those of the
// slip itself.
type slipParts struct {
	Agent    agentPart       `json:"agent"`
	Requires []conditionPart `json:"requires"`
	With     []servicePart   `json:"with"`
}

type agentPart struct {
	Keys     json.RawMessage `json:"keys"`
	Software []software      `json:"software,omitempty"`
}

type conditionPart struct {
	Need string `json:"need"`
}

type servicePart struct {
	ID   string          `json:"id"`
	Keys json.RawMessage `json:"keys"`
	Name string          `json:"name"`
}

func (p *program) keysCommand() *cobra.Command {
	var config, out string
	cmd := configured(&cobra.Command{
		Use:   "keys",
		Short: "Make the keys that are missing, and print what goes into the slip",
		Long: `keys reads and checks everything first: the settings, the rules files, the key
files already there, and that the missing ones can be made. Then it makes the
missing key files (the agent's, the guard's, the ledger's) and prints what goes
into the permission the person signs. It does not need the passkey's thumbprint
yet. With --out it writes that to a new file instead.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.keys(config, out) },
	}, &config)
	cmd.Flags().StringVar(&out, "out", "", "write to this new file in place of standard output")
	return p.answers(cmd)
}

func (p *program) keys(config, out string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	w.problems = without(w.problems, settings.Unfilled)
	w.readRules()
	w.readKeys(true)
	if len(w.problems) == 0 && !w.signs() {
		return fmt.Errorf("the mode %q has no keys", w.settings.Mode)
	}
	if len(w.problems) == 0 {
		w.checkKeyFolders(out)
	}
	if len(w.problems) > 0 {
		return hint(fmt.Errorf("nothing was made:\n%w", w.problems.Err()), `"countersign check" lists every problem of the files`)
	}
	made, err := p.makeKeys(w, func(path string) { p.note("made %s", path) })
	if err != nil {
		return err
	}
	parts := slipParts{
		Agent:    agentPart{Keys: w.agent.Keys().Append(nil), Software: softwareOf(w.rules)},
		Requires: []conditionPart{{string(receipts.KindCountersignature)}},
		With:     []servicePart{{w.settings.Service, w.guard.Keys().Append(nil), w.settings.Name}},
	}
	if out != "" {
		return p.writeParts(out, parts)
	}
	if p.asJSON {
		return p.answer(struct {
			Made []string  `json:"made"`
			Slip slipParts `json:"slip"`
		}{made, parts})
	}
	return p.answer(parts)
}

// without leaves problems out.
func without(l problem.List, leave func(problem.Problem) bool) problem.List {
	var out problem.List
	for _, p := range l {
		if !leave(p) {
			out = append(out, p)
		}
	}
	return out
}

// checkKeyFolders notes what would keep a missing key file, or the file of --out,
// from being made.
func (w *world) checkKeyFolders(out string) {
	s := w.settings
	source := s.LedgerKeyOf(s.Agent)
	paths := map[string]string{"/agent/keys": s.Agent.Keys, "/executor/keys": s.Executor.Keys, "/executor/ledgerKey": source.File}
	for _, pointer := range []string{"/agent/keys", "/executor/keys", "/executor/ledgerKey"} {
		path := paths[pointer]
		if _, err := os.Lstat(path); path == "" || err == nil {
			continue
		}
		if err := canWrite(path, true); err != nil {
			w.fault(pointer, "the key file %s cannot be made: %v", path, err)
		}
	}
	if out == "" {
		return
	}
	full, err := filepath.Abs(out)
	if err == nil {
		for pointer, path := range paths {
			if path == full {
				w.fault(pointer, "--out names this key file, expected another one")
			}
		}
		if _, lerr := os.Lstat(full); lerr == nil {
			err = errors.New("it is there already, expected a new file")
		} else {
			err = canWrite(full, false)
		}
	}
	if err != nil {
		w.problems = append(w.problems, problem.Problem{File: out, Line: 1, Column: 1, Msg: err.Error()})
	}
}

// makeKeys makes the key files that are missing, tells of each, and gives their
// paths.
func (p *program) makeKeys(w *world, tell func(path string)) ([]string, error) {
	made := []string{}
	signer := func(have *receipts.Signer, path string) (*receipts.Signer, error) {
		if have != nil {
			return have, nil
		}
		s, err := receipts.CreateSigner(path, p.rand)
		if err != nil {
			return nil, fmt.Errorf("making the key file %s: %w", path, err)
		}
		made = append(made, path)
		tell(path)
		return s, nil
	}
	var err error
	if w.agent, err = signer(w.agent, w.settings.Agent.Keys); err != nil {
		return made, err
	}
	if w.guard, err = signer(w.guard, w.settings.Executor.Keys); err != nil {
		return made, err
	}
	if path := w.settings.LedgerKeyOf(w.settings.Agent).File; w.ledgerKey == nil {
		if w.ledgerKey, err = receipts.CreateLedgerKey(path, p.rand); err != nil {
			return made, fmt.Errorf("making the key file %s: %w", path, err)
		}
		made = append(made, path)
		tell(path)
	}
	return made, nil
}

// writeParts writes what goes into the slip to a new file, whole or not at all.
func (p *program) writeParts(path string, parts slipParts) error {
	b, err := json.MarshalIndent(parts, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return writeNew(path, append(b, '\n'), 0o600)
}

// writeNew makes a file that must not be there yet.
func writeNew(path string, b []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(path))
	}
	return nil
}
