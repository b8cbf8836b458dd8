package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/plainfile"
	"countersign/rules"
	"countersign/rulestest"
)

// maxCall is the most bytes of a call that is read from a file.
const maxCall = 32 << 20

// suiteOf compiles rules files for judging single calls, with what the file tools,
// if any, says of the server.
func suiteOf(paths []string, tools string) (*rulestest.Suite, error) {
	files, err := readSources(paths)
	if err != nil {
		return nil, err
	}
	set, problems := rules.ReadSet(files)
	if err := problems.Err(); err != nil {
		return nil, hint(err, `"countersign rules check" says the same and more`)
	}
	var server *rulestest.Server
	if tools != "" {
		if server, err = readTools(tools); err != nil {
			return nil, err
		}
	}
	return rulestest.NewSuite(set, server, testOptions())
}

// explained is one judgement in the JSON answer of rules explain.
type explained struct {
	Verdict    string             `json:"verdict"` // allowed, refused or unreadable
	Rule       string             `json:"rule,omitempty"`
	Code       string             `json:"code,omitempty"`
	Unreadable string             `json:"unreadable,omitempty"`
	Applied    int                `json:"applied"`
	Told       string             `json:"told,omitempty"` // what the agent would be told
	Steps      int                `json:"steps"`
	Trace      []engine.RuleTrace `json:"trace"`
}

func (p *program) rulesExplainCommand() *cobra.Command {
	var call, now, tools string
	cmd := p.answers(&cobra.Command{
		Use:   "explain FILE… --call FILE|-",
		Short: "Show why rules decide one call as they do",
		Long: `explain judges one call and shows the whole way to the decision: which rules
are for its tool, which conditions held on which values, and what would have
passed. The call is an object as a case of a test file has it:

  {"tool": "read_file", "arguments": {"path": "/srv/work/a.txt"}}

The guard also knows the server's tools: their annotations, and the names of their
arguments, which an argument may not differ from in case alone. --tools gives them.

Exit codes: 0 the call is allowed; 1 it is refused; 2 it could not be judged.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := p.timeOf(now)
			if err != nil {
				return err
			}
			suite, err := suiteOf(args, tools)
			if err != nil {
				return err
			}
			src, err := p.readCall(call)
			if err != nil {
				return err
			}
			c, problems := rulestest.ReadCall(call, src)
			if err := problems.Err(); err != nil {
				return err
			}
			return p.explain(suite.Judge(c, at))
		},
	})
	cmd.Flags().StringVar(&call, "call", "", "the call's file, - for standard input")
	cmd.Flags().StringVar(&now, "now", "", "the time of the call (RFC 3339); the present one if not given")
	cmd.Flags().StringVar(&tools, "tools", "", "a file with the server's answer to tools/list")
	cmd.MarkFlagRequired("call")
	return cmd
}

func (p *program) timeOf(text string) (time.Time, error) {
	if text == "" {
		return p.now(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("--now %q, expected a time such as 2026-11-30T09:00:00Z", text)
	}
	return t, nil
}

func (p *program) readCall(path string) ([]byte, error) {
	if path != "-" {
		return plainfile.Read(path, maxCall)
	}
	b, err := io.ReadAll(io.LimitReader(p.in, maxCall+1))
	if err != nil {
		return nil, fmt.Errorf("reading the call: %w", err)
	}
	return b, nil
}

func (p *program) explain(j rulestest.Judged) error {
	d := j.Decision
	refused := j.Unreadable != "" || !j.NoCall && d.Verdict != engine.Allowed
	if p.asJSON {
		a := explained{Verdict: d.Verdict.String(), Code: string(d.Code), Unreadable: j.Unreadable, Applied: d.Applied, Told: d.Tell("test"), Steps: d.Steps, Trace: d.Trace.Rules}
		if d.Rule != "" {
			a.Rule = d.File + "/" + d.Rule
		}
		if j.Unreadable != "" {
			a = explained{Verdict: "unreadable", Unreadable: j.Unreadable}
		}
		if a.Trace == nil {
			a.Trace = []engine.RuleTrace{}
		}
		if err := p.answer(a); err != nil {
			return err
		}
	} else {
		p.say("%s", j)
		if trace := d.Trace.Text(); trace != "" {
			p.say("%s", strings.TrimSuffix(trace, "\n"))
		}
		if told := d.Tell("rule"); told != "" && j.Unreadable == "" {
			p.say("the agent is told: %s", told)
		}
	}
	if refused {
		return errNo
	}
	return nil
}

func (p *program) rulesTryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "try FILE…",
		Short: "Judge calls typed at a prompt",
		Long: `try reads calls from standard input, one a line, and judges each as explain
does. A line is the name of a tool and its arguments, or a call as a case of a
test file has it:

  read_file {"path": "/srv/work/a.txt"}
  {"tool": "read_file", "arguments": {"path": "/srv/work/a.txt"}}

The files are read again before each line, so an edit counts at once.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.tryRules(args) },
	}
}

func (p *program) tryRules(paths []string) error {
	if _, err := suiteOf(paths, ""); err != nil {
		return err
	}
	prompt := func() {}
	if terminal(p.in) {
		prompt = func() { fmt.Fprint(p.err, "> ") }
	}
	in := bufio.NewScanner(p.in)
	in.Buffer(make([]byte, 0, 64<<10), maxCall)
	for prompt(); in.Scan(); prompt() {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		call, err := callOf(line)
		var suite *rulestest.Suite
		if err == nil {
			suite, err = suiteOf(paths, "")
		}
		if err == nil {
			c, problems := rulestest.ReadCall("call", call)
			if err = problems.Err(); err == nil {
				if err = p.explain(suite.Judge(c, p.now())); errors.Is(err, errNo) {
					err = nil // the answer to one line is none to the whole
				}
			}
		}
		if err != nil {
			p.note("error: %v", err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("reading a line: %w", err)
	}
	return nil
}

// callOf is the call of a line that was typed: the call itself, or the name of a
// tool and its arguments. An error names the place in the line.
func callOf(line string) ([]byte, error) {
	if strings.HasPrefix(line, "{") {
		return []byte(line), nil
	}
	tool, arguments, _ := strings.Cut(line, " ")
	call := struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}{Tool: tool}
	if arguments = strings.TrimSpace(arguments); arguments != "" {
		if _, err := ijson.Parse([]byte(arguments), ijson.Options{}); err != nil {
			at := len(line) - len(arguments)
			if e := (*ijson.Error)(nil); errors.As(err, &e) {
				_, column := ijson.Position([]byte(line), at+e.Offset)
				return nil, fmt.Errorf("line:1:%d: the arguments are not strict JSON: %s", column, e.Msg)
			}
			return nil, fmt.Errorf("line:1:%d: the arguments: %w", at+1, err)
		}
		call.Arguments = json.RawMessage(arguments)
	}
	return json.Marshal(call)
}
