package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/proxy"
	"countersign/rules"
	"countersign/rulestest"
)

// readSet reads rules files as one set.
func readSet(paths []string) (*rules.Set, error) {
	sources, err := readSources(paths)
	if err != nil {
		return nil, err
	}
	set, problems := rules.ReadSet(sources)
	if err := problems.Err(); err != nil {
		return nil, hint(err, `"countersign rules check" says the same and more`)
	}
	return set, nil
}

// readTools reads a server's list of tools from a file.
func readTools(path string) (*rulestest.Server, error) {
	b, err := plainfile.Read(path, rulestest.MaxServerBytes)
	if err != nil {
		return nil, fmt.Errorf("reading a list of tools: %w", err)
	}
	return rulestest.ReadServer(path, b)
}

func (p *program) rulesCoverageCommand() *cobra.Command {
	var config, tools string
	cmd := p.answers(&cobra.Command{
		Use:   "coverage --config FILE | --tools FILE RULES…",
		Short: "Hold rules against the tools of a server",
		Long: `coverage says where rules and a server's tools do not meet: tools no rule is for,
rules for tools there are not, pointers the tools' schemas do not have, tests no
value can pass, arguments like paths, URLs and commands that no rule looks at,
defaults that stand in for what a rule finds absent.

With --config the rules are those of the settings, and their server is started and
asked. With --tools a file holds its answer to tools/list.

Exit codes: 0 nothing found; 1 something was; 2 it could not be looked at.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (config == "") == (tools == ""):
				return errors.New("expected one of --config and --tools")
			case config != "" && len(args) > 0:
				return errors.New("with --config the rules are those of the settings, expected no other files")
			case config != "":
				return p.coverLive(cmd.Context(), config)
			case len(args) == 0:
				return errors.New("expected the rules files to hold against the tools")
			}
			set, err := readSet(args)
			if err != nil {
				return err
			}
			server, err := readTools(tools)
			if err != nil {
				return err
			}
			return p.tellLint(set, server)
		},
	})
	cmd.Flags().StringVar(&config, "config", "", "the settings file, whose server is asked")
	cmd.Flags().StringVar(&tools, "tools", "", "a file with the server's answer to tools/list")
	return cmd
}

// coverLive holds the rules of settings against their server's tools.
func (p *program) coverLive(ctx context.Context, config string) error {
	w, err := load(config)
	if err != nil {
		return err
	}
	w.readRules()
	w.readServer()
	switch {
	case w.rules == nil || len(w.rules.Files) == 0:
		if err := w.problems.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%s names no content rules", config)
	}
	inventory, err := p.inspect(ctx, w)
	if err != nil {
		return hint(err, "with --tools a file holds the tools")
	}
	server, err := serverOfInventory(inventory)
	if err != nil {
		return err
	}
	return p.tellLint(w.rules, server)
}

// serverOfInventory is what a server offers as rules are held against it.
func serverOfInventory(i *proxy.Inventory) (*rulestest.Server, error) {
	var tools [][]byte
	for _, t := range i.Tools {
		tools = append(tools, t.Definition)
	}
	text := fmt.Appendf(nil, `{"resources":%t,"tools":[%s]}`, i.Resources, bytes.Join(tools, []byte(",")))
	return rulestest.ReadServer("the server's tools", text)
}

func (p *program) tellLint(set *rules.Set, server *rulestest.Server) error {
	s, err := rulestest.NewSuite(set, server, testOptions())
	if err != nil {
		return err
	}
	warnings, silenced := s.Lint()
	if p.asJSON {
		err = p.answer(struct {
			Findings []told `json:"findings"`
			Silenced []told `json:"silenced"`
			Tools    int    `json:"tools"`
		}{tell(warnings), tell(silenced), len(server.Tools)})
	} else {
		p.tellWarnings(warnings)
		p.say("%s, %s silenced by ok, %s", plural(len(warnings), "finding"), plural(len(silenced), "finding"), plural(len(server.Tools), "tool"))
	}
	if err == nil && len(warnings) > 0 {
		return errNo
	}
	return err
}

func (p *program) tellWarnings(l problem.List) {
	for _, w := range l {
		p.say("%s", w)
	}
}

func (p *program) rulesDiffCommand() *cobra.Command {
	var calls []string
	var tries int
	cmd := p.answers(&cobra.Command{
		Use:   "diff OLD NEW [--calls LEDGER|FOLDER]…",
		Short: "Say how two versions of rules differ, and on which calls",
		Long: `diff compares two rules files: what stands in them, and what they decide. With
--calls recorded calls are judged by both; without, calls are made up until one
tells the two apart. That none was found does not show that there is none.

Exit codes: 0 no call was found that the two decide differently; 1 one was; 2 it
could not be looked at.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var two [2]*rulestest.Suite
			for i, path := range args {
				set, err := readSet([]string{path})
				if err != nil {
					return err
				}
				if two[i], err = rulestest.NewSuite(set, nil, testOptions()); err != nil {
					return err
				}
			}
			d, err := rulestest.Compare(cmd.Context(), two[0], two[1], rulestest.DiffOptions{Calls: calls, Tries: tries})
			if err != nil {
				return err
			}
			if p.asJSON {
				err = p.answer(d)
			} else {
				err = d.WriteText(p.out)
			}
			if err == nil && d.Differs() {
				return errNo
			}
			return err
		},
	})
	cmd.Flags().StringArrayVar(&calls, "calls", nil, "recorded calls at this `PATH`: a ledger, a folder of them, or a glob; may be given again")
	cmd.Flags().IntVar(&tries, "tries", rulestest.DefaultDiffTries, "calls to make up where none are given")
	return cmd
}

func (p *program) rulesCaptureCommand() *cobra.Command {
	var seqs []int64
	var tool, name string
	var files []string
	var all bool
	cmd := &cobra.Command{
		Use:   "capture LEDGER",
		Short: "Make recorded calls cases of a test file",
		Long: `capture prints recorded calls as cases, ready for a test file: the last one that
can be judged again, those of --line, or with --all every one. With --rules each
expects what these rules say of it now; without, that it was allowed.

Exit codes: 0 done; 1 a call that was asked for cannot be a case; 2 the ledger
cannot be read, or holds no such call.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var s *rulestest.Suite
			if len(files) > 0 {
				set, err := readSet(files)
				if err != nil {
					return err
				}
				if s, err = rulestest.NewSuite(set, nil, testOptions()); err != nil {
					return err
				}
			}
			return p.capture(args[0], s, seqs, tool, name, all)
		},
	}
	cmd.Flags().Int64SliceVar(&seqs, "line", nil, "the `SEQ` of a ledger line; may be given again")
	cmd.Flags().StringVar(&tool, "tool", "", "only calls of this tool")
	cmd.Flags().StringVar(&name, "name", "", "the case's name, where one is made")
	cmd.Flags().StringArrayVar(&files, "rules", nil, "a rules `FILE` that says what to expect; may be given again")
	cmd.Flags().BoolVar(&all, "all", false, "every call that can be judged again")
	return cmd
}

func (p *program) capture(path string, s *rulestest.Suite, seqs []int64, tool, name string, all bool) error {
	wanted := map[int64]bool{}
	for _, n := range seqs {
		wanted[n] = true
	}
	var last *rulestest.Recorded
	told, left := 0, 0
	print := func(r *rulestest.Recorded) error {
		as := name
		if as != "" && told > 0 {
			as = fmt.Sprintf("%s, %d", name, told+1) // the names of a test file are all different
		}
		text, err := rulestest.Capture(r, as, s)
		if err != nil {
			return &failed{err}
		}
		told++
		p.say("%s", text)
		return nil
	}
	err := rulestest.ReadRecorded(path, func(r *rulestest.Recorded) error {
		if tool != "" && r.Call.Tool != tool {
			return nil
		}
		switch {
		case wanted[r.Seq]:
			return print(r)
		case len(wanted) > 0:
		case r.Why != "":
			left++
		case all:
			return print(r)
		default:
			last = r
		}
		return nil
	})
	if err == nil && last != nil {
		err = print(last)
	}
	if err != nil {
		return err
	}
	if left > 0 {
		p.note("%s cannot be judged again and are no cases", plural(left, "record"))
	}
	if told < max(len(wanted), 1) {
		return fmt.Errorf("%s holds no such call", path)
	}
	return nil
}

func (p *program) rulesWatchReportCommand() *cobra.Command {
	var files []string
	cmd := p.answers(&cobra.Command{
		Use:   "watch-report LEDGER…",
		Short: "Say what watching rules would have refused",
		Long: `watch-report reads ledgers and says, for each rule of mode watch, which recorded
calls it would have refused. With --rules the watching rules of these files that
noticed nothing are named too.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var set *rules.Set
			if len(files) > 0 {
				var err error
				if set, err = readSet(files); err != nil {
					return err
				}
			}
			r, err := rulestest.Watched(args, set)
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.answer(r)
			}
			return r.WriteText(p.out)
		},
	})
	cmd.Flags().StringArrayVar(&files, "rules", nil, "a rules `FILE`; may be given again")
	return cmd
}
