package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/internal/settings"
	"countersign/receipts"
)

// terms are what a slip allows beyond what the settings say of themselves.
type terms struct {
	actions, limits, never []string
	valid                  time.Duration
	purpose, issuer        string
}

func (p *program) signCommand() *cobra.Command {
	var config string
	var development, replace bool
	var t terms
	cmd := configured(&cobra.Command{
		Use:   "sign --development",
		Short: "Make a slip signed by a stand-in for a passkey",
		Long: `sign --development writes a slip where the settings have it (agent.slip), for
their keys, rules and service, signed by a stand-in for a passkey that is made on
the spot and thrown away. It prints the stand-in's thumbprint, which goes into
agent.issuerKeys. No person stands behind such a slip: its issuer's name ends in
"(development)", and check and verify point it out each time.

A limit is written ACTION max N UNIT, ACTION each N UNIT or ACTION count N, and
may end in "per SECONDS" (not each): --limit "pay max 10000 pence per 86400".`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !development {
				return hint(errors.New("signing with a person's passkey is not built into this version"),
					"--development makes a stand-in's signature, for trying things out")
			}
			return p.signDevelopment(config, t, replace)
		},
	}, &config)
	f := cmd.Flags()
	f.BoolVar(&development, "development", false, "sign with a stand-in for a passkey")
	f.BoolVar(&replace, "replace", false, "replace a slip that is there already")
	f.StringArrayVar(&t.actions, "action", nil, "an `ACTION` to allow; may be given again (default: every action of the settings' tools)")
	f.StringArrayVar(&t.limits, "limit", nil, "a `LIMIT`; may be given again")
	f.StringArrayVar(&t.never, "never", nil, "a `KIND` of action or a conduct that is never allowed; may be given again")
	f.DurationVar(&t.valid, "valid", 24*time.Hour, "how long the slip is in force, from now on")
	f.StringVar(&t.purpose, "purpose", "Trying the guard out.", "what the slip is for")
	f.StringVar(&t.issuer, "name", "Nobody", "the name of the stand-in")
	return p.answers(cmd)
}

func (p *program) signDevelopment(config string, t terms, replace bool) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	w.problems = without(w.problems, settings.Unfilled)
	if len(w.problems) == 0 && !w.signs() {
		return fmt.Errorf("the mode %q has no slip", w.settings.Mode)
	}
	w.readRules()
	w.readKeys(false)
	if len(w.problems) > 0 {
		return hint(fmt.Errorf("nothing was signed:\n%w", w.problems.Err()), `"countersign check" lists every problem of the files`)
	}
	path := w.settings.Agent.Slip
	if _, err := os.Lstat(path); err == nil && !replace {
		return hint(fmt.Errorf("the slip %s is there already", path), "--replace puts a new one in its place, whose receipts begin a new chain")
	}
	record, thumbprint, err := p.developmentSlip(w, t)
	if err != nil {
		return err
	}
	if err := replaceFile(path, append(record, '\n')); err != nil {
		return fmt.Errorf("writing the slip: %w", err)
	}
	p.note("wrote %s, signed by a stand-in: no person gave this permission", path)
	if !slices.Contains(w.settings.Agent.IssuerKeys, thumbprint) {
		p.note("put the thumbprint into agent.issuerKeys of %s, beside those of the slips that the book holds; a guard reads it when it starts", w.settings.File)
	}
	if p.asJSON {
		return p.answer(struct {
			Thumbprint string `json:"thumbprint"`
			Slip       string `json:"slip"`
		}{thumbprint, path})
	}
	p.say("%s", thumbprint)
	return nil
}

// developmentSlip makes and signs a slip for the settings' keys, rules and
// service.
func (p *program) developmentSlip(w *world, t terms) (record []byte, thumbprint string, err error) {
	s := w.settings
	if t.valid < time.Second {
		return nil, "", fmt.Errorf("--valid %s, expected at least a second", t.valid)
	}
	actions := t.actions
	if len(actions) == 0 {
		actions = actionsOf(s)
	}
	var limits []receipts.Limit
	for _, text := range t.limits {
		l, err := parseLimit(text)
		if err != nil {
			return nil, "", err
		}
		limits = append(limits, l)
	}
	id, err := receipts.NewID(p.rand)
	if err != nil {
		return nil, "", err
	}
	passkey, err := receipts.NewDevelopmentPasskey(t.issuer, s.Signing.Origin, p.rand)
	if err != nil {
		return nil, "", err
	}
	now := p.now()
	slip := &receipts.Slip{
		ID:         id,
		Agent:      receipts.Agent{Keys: w.agent.Keys(), Name: receipts.Covered{Text: s.Agent.Name}},
		Actions:    actions,
		Limits:     limits,
		Requires:   []receipts.Condition{{Need: receipts.KindCountersignature}},
		Never:      t.never,
		With:       []receipts.Service{{ID: s.Service, Name: receipts.Covered{Text: s.Name}, Keys: w.guard.Keys()}},
		ValidFrom:  receipts.TimeOf(now),
		ValidUntil: receipts.TimeOf(now.Add(t.valid)),
		Purpose:    receipts.Covered{Text: t.purpose},
	}
	for _, f := range softwareOf(w.rules) {
		slip.Agent.Software = append(slip.Agent.Software, receipts.Detail{Name: f.Name, SHA256: f.SHA256})
	}
	if record, err = passkey.SignSlip(slip); err != nil {
		return nil, "", fmt.Errorf("the slip: %w", err)
	}
	return record, passkey.Issuer().Key.Thumbprint(), nil
}

// actionsOf gives every action of the settings' tools once, in their order.
func actionsOf(s *settings.Settings) []string {
	var out []string
	for _, t := range s.Tools.All() {
		if !slices.Contains(out, t.Action) {
			out = append(out, t.Action)
		}
	}
	if s.Unlisted != "" && !slices.Contains(out, s.Unlisted) {
		out = append(out, s.Unlisted)
	}
	return out
}

// parseLimit reads a limit as the command line has it.
func parseLimit(text string) (receipts.Limit, error) {
	bad := func(why string) (receipts.Limit, error) {
		return receipts.Limit{}, fmt.Errorf(`--limit %q: %s, expected "ACTION max N UNIT", "ACTION each N UNIT" or "ACTION count N", and "per SECONDS" behind`, text, why)
	}
	words := strings.Fields(text)
	if len(words) < 3 {
		return bad("too few words")
	}
	l := receipts.Limit{Action: words[0], Kind: receipts.LimitKind(words[1])}
	var err error
	if l.Bound, err = strconv.ParseInt(words[2], 10, 64); err != nil {
		return bad("no whole number behind " + words[1])
	}
	rest := words[3:]
	switch l.Kind {
	case receipts.LimitMax, receipts.LimitEach:
		if len(rest) == 0 {
			return bad("no unit")
		}
		l.Unit, rest = rest[0], rest[1:]
	case receipts.LimitCount:
	default:
		return bad("no kind of limit")
	}
	if len(rest) == 2 && rest[0] == "per" && l.Kind != receipts.LimitEach {
		if l.Per, err = strconv.ParseInt(rest[1], 10, 64); err != nil || l.Per < 1 {
			return bad("no number of seconds behind per")
		}
		rest = nil
	}
	if len(rest) > 0 {
		return bad("words left over")
	}
	return l, nil
}

// replaceFile writes a file whole or not at all, in place of one that may be
// there, whose mode it keeps.
func replaceFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(tmp, b, mode); err != nil {
		return err
	}
	// The mode a file is made with is cut by the umask.
	if err := os.Chmod(tmp, mode); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}
