package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"countersign/internal/settings"
	"countersign/receipts"
)

func (p *program) checkCommand() *cobra.Command {
	var config, report string
	var runtime bool
	cmd := p.answers(configured(&cobra.Command{
		Use:   "check",
		Short: "Say every problem of the settings and of all they name",
		Long: `check lists every problem it can find in one run: each value still written
<like this>, the server's program and folder, each credential, the rules files,
each key file and the slip. Once none is left it holds the slip against the keys,
the rules and the tools, as a start does. It writes nothing, starts nothing and
prints no credential. With --runtime it starts the server too, lists its tools and
ends it: tools with no entry, entries with no tool, amounts that no tool has, tools
that are not as they were pinned, and what rules do not look at. With --report it
holds the rules files against the last report of their tests.

Exit codes: 0 no problem; 1 there are; 2 the settings file cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.check(cmd.Context(), config, report, runtime) },
	}, &config))
	cmd.Flags().BoolVar(&runtime, "runtime", false, "start the server, and hold its tools against settings, pins and rules")
	cmd.Flags().StringVar(&report, "report", "", "an answer of \"rules test --json\", in which each rules file must have passed")
	return cmd
}

func (p *program) check(ctx context.Context, config, report string, runtime bool) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	if err := w.checkAll(); err != nil {
		return err
	}
	if report != "" {
		if err := w.readReport(report); err != nil {
			return err
		}
	}
	var live *liveServer
	if runtime {
		live = p.checkRuntime(ctx, w)
	}
	if p.asJSON {
		answer := struct {
			OK          bool       `json:"ok"`
			Problems    []told     `json:"problems"`
			Warnings    []told     `json:"warnings"`
			Mode        string     `json:"mode"`
			Settings    string     `json:"settings,omitempty"` // fingerprint
			Rules       []software `json:"rules"`
			Environment []string   `json:"environment,omitempty"` // the names the server is given
			Ledger      string     `json:"ledgerKey,omitempty"`   // public
			Slip        string     `json:"slip,omitempty"`        // fingerprint
			ValidUntil  string     `json:"validUntil,omitempty"`
			Development bool       `json:"development"`

			Server *liveServer `json:"server,omitempty"` // with --runtime
		}{OK: len(w.problems) == 0, Problems: tell(w.problems), Warnings: tell(w.warnings),
			Mode: string(w.settings.Mode), Settings: w.settings.Fingerprint, Rules: []software{}, Server: live}
		if w.rules != nil {
			answer.Rules = softwareOf(w.rules)
		}
		answer.Environment, _ = w.environment()
		if w.ledgerKey != nil {
			answer.Ledger = w.ledgerKey.PublicText()
		}
		if w.permission != nil {
			answer.Slip = w.fingerprint
			answer.ValidUntil = w.permission.ValidUntil.String()
			answer.Development = receipts.IsDevelopment(w.permission)
		}
		if err := p.answer(answer); err != nil {
			return err
		}
	} else {
		p.tellCheck(w, live)
	}
	if len(w.problems) > 0 {
		return errNo
	}
	return nil
}

// readAll reads and checks all there is, and holds it together once nothing else
// is wrong.
func (w *world) readAll() {
	w.readServer()
	w.readRules()
	w.readPins()
	w.readKeys(false)
	w.readSlip()
	w.lookAtModes()
	if len(w.problems) == 0 {
		w.hold()
	}
}

// checkAll is readAll, and looks at the records that are there already.
func (w *world) checkAll() error {
	w.readAll()
	return w.readRecords()
}

// passedOn are the variables of the guard's own environment that a server gets.
var passedOn = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// environment gives the names of the variables that the server is given, and of
// those passed on to it that are not set here.
func (w *world) environment() (given, unset []string) {
	if w.settings.Server == nil {
		return nil, nil
	}
	for _, e := range w.settings.Server.Env {
		given = append(given, e.Name)
	}
	for _, name := range passedOn {
		if slices.Contains(given, name) {
			continue
		}
		if _, ok := os.LookupEnv(name); ok {
			given = append(given, name)
		} else {
			unset = append(unset, name)
		}
	}
	return given, unset
}

func (p *program) tellCheck(w *world, live *liveServer) {
	for _, problem := range w.problems {
		p.say("error: %s", problem)
	}
	for _, warning := range w.warnings {
		warning.Code = "" // the line says that it is one
		p.say("warning: %s", warning)
	}
	if len(w.problems) > 0 {
		p.say("%s, %s", plural(len(w.problems), "problem"), plural(len(w.warnings), "warning"))
		return
	}
	live.tell(p)
	if w.rules != nil {
		for i, s := range softwareOf(w.rules) {
			p.say("rules: %s  %s  %s", s.SHA256, s.Name, w.rules.Files[i].Path)
		}
	}
	if w.permission != nil {
		p.say("slip: %s, in force from %s until %s", w.fingerprint, w.permission.ValidFrom, w.permission.ValidUntil)
	}
	if given, unset := w.environment(); len(given) > 0 {
		line := "server: its environment is " + strings.Join(given, " ")
		if len(unset) > 0 {
			line += "; not set here: " + strings.Join(unset, " ")
		}
		p.say("%s", line)
	}
	if w.ledgerKey != nil {
		p.say("ledger: public key %s", w.ledgerKey.PublicText())
	}
	if w.settings.Mode != settings.Enforce {
		p.say("mode: %s", w.settings.Mode)
	}
	p.say("no problem, %s", plural(len(w.warnings), "warning"))
}
