package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"countersign/engine"
	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/rules"
	"countersign/rulestest"
)

func (p *program) rulesCommand() *cobra.Command {
	cmd := parent(&cobra.Command{
		Use:   "rules",
		Short: "Work on rules files",
	})
	cmd.AddCommand(p.rulesCheckCommand(), p.rulesExplainCommand(), p.rulesTryCommand(), p.rulesBenchCommand(), p.rulesFmtCommand(), p.rulesFingerprintCommand(),
		p.rulesSchemaCommand())
	cmd.AddCommand(p.testCommands()...)
	return cmd
}

func (p *program) rulesCheckCommand() *cobra.Command {
	var tools string
	cmd := p.answers(&cobra.Command{
		Use:   "check FILE…",
		Short: "Say every fault of rules files, then what to look at",
		Long: `check reads the files as one set and lists every fault, then warnings, each
with its place. Exit codes: 0 no fault; 1 a file has faults; 2 a file cannot be
read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := readSources(args)
			if err != nil {
				return err
			}
			return p.checkRules(files, tools)
		},
	})
	cmd.Flags().StringVar(&tools, "tools", "", "a file with the server's answer to tools/list, to hold the rules against too")
	return cmd
}

// readSources reads rules files from the disk.
func readSources(paths []string) ([]rules.Source, error) {
	files := make([]rules.Source, 0, len(paths))
	for _, path := range paths {
		b, err := plainfile.Read(path, rules.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("reading a rules file: %w", err)
		}
		files = append(files, rules.Source{Path: path, Data: b})
	}
	return files, nil
}

// checkedFile is a rules file in the JSON answer of rules check.
type checkedFile struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Rules       int    `json:"rules"`
	Silenced    int    `json:"silenced"` // warnings that a rule's ok silences
	// Steps is the most that judging one call takes; where it is past the limit,
	// the limit ends the judging.
	Steps      int `json:"steps"`
	StepsLimit int `json:"stepsLimit"`
	// SlowPatterns are the pointers of patterns that long texts are held against
	// slowly.
	SlowPatterns []string `json:"slowPatterns,omitempty"`
}

func (p *program) checkRules(files []rules.Source, tools string) error {
	set, problems := rules.ReadSet(files)
	answer := struct {
		OK       bool          `json:"ok"`
		Problems []told        `json:"problems"`
		Warnings []told        `json:"warnings"`
		Files    []checkedFile `json:"files"`
	}{OK: len(problems) == 0, Problems: tell(problems), Warnings: []told{}, Files: []checkedFile{}}
	var warnings rules.Problems
	if set != nil && answer.OK {
		e, err := engine.New(set, engineOptions())
		if err != nil {
			return err
		}
		worst := e.WorstSteps()
		for _, f := range set.Files {
			warnings = append(warnings, f.Warnings...)
			c := checkedFile{Path: f.Path, Name: f.Name, Fingerprint: f.Fingerprint, Rules: len(f.Rules), Silenced: len(f.Silenced),
				Steps: worst[f.Name], StepsLimit: f.Limits.Steps}
			for _, slow := range e.SlowPatterns() {
				if slow.File == f.Name {
					c.SlowPatterns = append(c.SlowPatterns, slow.Pointer)
				}
			}
			answer.Files = append(answer.Files, c)
		}
		if tools != "" {
			found, err := lintFile(set, tools)
			if err != nil {
				return err
			}
			warnings = append(warnings, found...)
		}
		answer.Warnings = tell(warnings)
	}
	if p.asJSON {
		if err := p.answer(answer); err != nil {
			return err
		}
	} else {
		for _, problem := range problems {
			p.tellPlace("error", problem, files)
		}
		for _, w := range warnings {
			p.tellPlace("warning", w, files)
		}
		for _, f := range answer.Files {
			p.say("%s: %s, %s, %s", f.Path, f.Name, plural(f.Rules, "rule"), f.Fingerprint)
			if f.Silenced > 0 {
				p.say("%s: %s silenced by ok", f.Path, plural(f.Silenced, "warning"))
			}
			p.say("%s: a call takes at most %d steps, the limit is %d", f.Path, f.Steps, f.StepsLimit)
			for _, pointer := range f.SlowPatterns {
				p.say("%s: %s: a pattern that long texts are held against slowly; rules bench says how slowly", f.Path, pointer)
			}
		}
		p.say("%s, %s", plural(len(problems), "error"), plural(len(warnings), "warning"))
	}
	if !answer.OK {
		return errNo
	}
	return nil
}

// lintFile holds rules against the tools that a file lists.
func lintFile(set *rules.Set, path string) (problem.List, error) {
	server, err := readTools(path)
	if err != nil {
		return nil, err
	}
	suite, err := rulestest.NewSuite(set, server, testOptions())
	if err != nil {
		return nil, err
	}
	warnings, _ := suite.Lint()
	return warnings, nil
}

// tellPlace says a problem and, to a person at a terminal, shows its place.
func (p *program) tellPlace(word string, x problem.Problem, files []rules.Source) {
	p.say("%s: %s", word, x)
	if !terminal(p.out) {
		return
	}
	for _, f := range files {
		if f.Path == x.File {
			p.say("%s", strings.TrimSuffix(x.Excerpt(f.Data), "\n"))
		}
	}
}

// terminal says whether a stream is a person's terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *program) rulesFingerprintCommand() *cobra.Command {
	return p.answers(&cobra.Command{
		Use:   "fingerprint FILE…",
		Short: "Print the fingerprints of rules files, as a slip names them",
		Long: `fingerprint prints, for each file, the SHA-256 of its canonical form in
base64url. Layout and the order of members do not change it; every other
character does. A faulty file has none.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := readSources(args)
			if err != nil {
				return err
			}
			set, problems := rules.ReadSet(files)
			if err := problems.Err(); err != nil {
				return hint(err, "a faulty file has no fingerprint; \"countersign rules check\" says the same and more")
			}
			prints := softwareOf(set)
			if p.asJSON {
				return p.answer(prints)
			}
			for i, f := range set.Files {
				p.say("%s  %s  %s", f.Fingerprint, prints[i].Name, f.Path)
			}
			return nil
		},
	})
}
