package proxy

import (
	"errors"
	"fmt"
	"time"
)

// Config is what the pipeline needs of the settings (guard.md, section 2). The
// zero value of a member means the default that its comment names.
type Config struct {
	// Name and Service are the guard's name and its own service id, the `with`
	// of every stub. The pipeline itself only hands Service on.
	Name, Service string

	// Agent is the agent's name as rules and ledger have it; Upstream the id of
	// the server, "" where there is only one.
	Agent, Upstream string

	Mode Mode

	// Tools says what a tool's calls are, by its exact name; Globs by pattern,
	// for names that are not in Tools. A name that two globs match has no
	// meaning of its own and is refused.
	Tools map[string]Tool
	Globs []ToolGlob

	// Unlisted is what a tool without an entry is; nil refuses it.
	Unlisted *Tool

	// ShowUnlisted leaves tools without an entry in tools/list (hideUnlisted
	// is its opposite). A hidden tool is refused.
	ShowUnlisted bool

	// SkipSchemas switches validateArguments off.
	SkipSchemas bool

	// Tell is how much a refusal tells the agent: say, rule or test. "": rule.
	Tell string

	// PassThrough are the methods let through besides tools/* and the
	// lifecycle; nil lets all through.
	PassThrough []string

	// Timeout bounds one answer of the server and one stalled reader. 0: 60 s.
	Timeout time.Duration

	// MaxWaiting is how many calls may wait for their turn. Negative: none; 0:
	// 64.
	MaxWaiting int

	// BodyLimit is the most bytes of one line from the agent. 0: 10 MiB.
	BodyLimit int

	// CallIDInMeta puts the stub's id and fingerprint into the result's _meta.
	CallIDInMeta bool

	// CountersignNames writes the two details whose names begin "provared."
	// with the prefix "countersign." (detailNames).
	CountersignNames bool

	// Credentials are texts that must not reach the agent; see [Secrets].
	Credentials []string
}

// Mode is how much of the pipeline holds (guard.md, section 2).
type Mode uint8

const (
	Enforce    Mode = iota // rules, slip, receipts
	RulesOnly              // rules, schemas and pins; nothing is written
	RecordOnly             // rules; every call is written to the ledger, no slip
)

// Tool is one entry of the setting `tools`.
type Tool struct {
	Action string
	Amount *AmountRule // nil: the tool's calls have no amount
}

// ToolGlob is an entry whose name is a pattern.
type ToolGlob struct {
	Pattern string
	Match   func(tool string) bool
	Tool    Tool
}

// AmountRule says where a call's amount stands.
type AmountRule struct {
	Arg   string // JSON pointer into the arguments
	Unit  string
	Scale int  // powers of ten the value is multiplied by, 0 to 9
	Text  bool // the value is decimal text, not a number
}

// Defaults and bounds of the settings.
const (
	DefaultTimeout    = 60 * time.Second
	DefaultMaxWaiting = 64
	DefaultBodyLimit  = 10 << 20

	// ServerLimit is the most bytes of one line or event from the server.
	ServerLimit = 16 << 20

	// MaxScale keeps a scaled amount of an exact double within 64 bits by far.
	MaxScale = 9
)

// defaults fills in what the zero value leaves open and says what cannot work.
func (c *Config) defaults() error {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	switch {
	case c.MaxWaiting == 0:
		c.MaxWaiting = DefaultMaxWaiting
	case c.MaxWaiting < 0:
		c.MaxWaiting = 0
	}
	if c.BodyLimit == 0 {
		c.BodyLimit = DefaultBodyLimit
	}
	if c.Tell == "" {
		c.Tell = "rule"
	}
	var errs []error
	if c.Timeout < 0 {
		errs = append(errs, errors.New("timeout: expected a time above 0"))
	}
	if c.BodyLimit < 0 {
		errs = append(errs, errors.New("bodyLimit: expected a size above 0"))
	}
	switch c.Tell {
	case "say", "rule", "test":
	default:
		errs = append(errs, fmt.Errorf("tell: %q, expected say, rule or test", c.Tell))
	}
	check := func(name string, t Tool) {
		if a := t.Amount; a != nil && (a.Scale < 0 || a.Scale > MaxScale) {
			errs = append(errs, fmt.Errorf("tools: %q: scale %d, expected 0 to %d", name, a.Scale, MaxScale))
		}
	}
	for name, t := range c.Tools {
		check(name, t)
	}
	for _, g := range c.Globs {
		check(g.Pattern, g.Tool)
	}
	return errors.Join(errs...)
}

// tool finds a tool's entry, by exact name before globs, and how many there are:
// with more than one nobody can say which was meant.
func (c *Config) tool(name string) (t Tool, n int) {
	if t, ok := c.Tools[name]; ok {
		return t, 1
	}
	for _, g := range c.Globs {
		if g.Match(name) {
			t = g.Tool
			n++
		}
	}
	return t, n
}

// detailPrefix is that of the details whose names the settings choose.
func (c *Config) detailPrefix() string {
	if c.CountersignNames {
		return "countersign"
	}
	return "provared"
}

// openToAll: in mode rules without tools, no tool needs an entry.
func (c *Config) openToAll() bool {
	return c.Mode == RecordOnly || c.Mode == RulesOnly && len(c.Tools) == 0 && len(c.Globs) == 0
}

// offered says what a tool's calls are and whether the tool may be listed and
// called at all.
func (c *Config) offered(name string) (Tool, bool) {
	t, n := c.tool(name)
	switch {
	case n == 1:
		return t, true
	case c.openToAll():
		return Tool{}, true
	case n == 0 && c.Unlisted != nil && c.ShowUnlisted:
		return *c.Unlisted, true
	}
	return Tool{}, false
}

// shown says whether tools/list may name a tool: what may be called, and, with
// ShowUnlisted, also what may not.
func (c *Config) shown(name string) bool {
	if c.ShowUnlisted {
		return true
	}
	_, ok := c.offered(name)
	return ok
}
