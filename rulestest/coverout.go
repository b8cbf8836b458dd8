package rulestest

import (
	"fmt"
	"io"
)

// Findings are what was not reached as findings.
func (c *Coverage) Findings() []Finding {
	var out []Finding
	var of *lines
	var file string
	for _, m := range c.Missed() {
		if of == nil || file != m.File.Path {
			of, file = newLines(m.File.Source), m.File.Path
		}
		line, column := of.position(m.Offset)
		out = append(out, Finding{
			Code: CodeNotReached, Warning: true, File: file, Line: line, Column: column,
			Message: fmt.Sprintf("rule %q: %s in any case: %s", m.Rule.ID, m.What, m.Of),
		})
	}
	return out
}

// WriteText writes the coverage for people: a line for each rule and, with
// indent, what no case reached.
func (c *Coverage) WriteText(w io.Writer) error {
	p := &printer{w: w}
	for i := range c.Rules {
		r := &c.Rules[i]
		p.printf("%s: applied %d, refused %d, passed %d, could not be judged %d\n", r.Rule.ID, r.Applied, r.Refused, r.Passed, r.CannotJudge)
		of := newLines(r.File.Source)
		r.points(func(ok bool, m Missed) {
			if !ok {
				line, column := of.position(m.Offset)
				p.printf("  %s:%d:%d: %s: %s\n", r.File.Path, line, column, m.What, m.Of)
			}
		})
	}
	reached, all := c.Points()
	if c.Unmeasured > 0 {
		p.printf("%d list entries were not looked at one by one and count as not reached\n", c.Unmeasured)
	}
	p.printf("coverage: %d%% (%d of %d)\n", c.Percent(), reached, all)
	return p.err
}

// CoverageJSON is a coverage for programs.
type CoverageJSON struct {
	Percent    int                `json:"percent"`
	Reached    int                `json:"reached"`
	All        int                `json:"all"`
	Unmeasured int                `json:"unmeasured,omitempty"`
	Rules      []RuleCoverageJSON `json:"rules"`
	Missed     []MissedJSON       `json:"missed"`
}

// RuleCoverageJSON is one rule of it.
type RuleCoverageJSON struct {
	File        string                  `json:"file"`
	Rule        string                  `json:"rule"`
	Applied     int64                   `json:"applied"`
	Refused     int64                   `json:"refused"`
	Passed      int64                   `json:"passed"`
	CannotJudge int64                   `json:"cannotJudge"`
	Conditions  []ConditionCoverageJSON `json:"conditions"`
}

// ConditionCoverageJSON is one condition.
type ConditionCoverageJSON struct {
	Pointer     string              `json:"pointer"`
	True        int64               `json:"true"`
	False       int64               `json:"false"`
	CannotJudge int64               `json:"cannotJudge"`
	Entries     []EntryCoverageJSON `json:"entries,omitempty"`
}

// EntryCoverageJSON is one entry of a list.
type EntryCoverageJSON struct {
	Entry string `json:"entry"` // as it stands in the file
	True  bool   `json:"true"`
	False bool   `json:"false"`
}

// MissedJSON is one thing that no case reached.
type MissedJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Rule   string `json:"rule"`
	What   string `json:"what"`
	Of     string `json:"of"`
}

// JSON gives the coverage for programs.
func (c *Coverage) JSON() *CoverageJSON {
	out := &CoverageJSON{Percent: c.Percent(), Unmeasured: c.Unmeasured, Rules: []RuleCoverageJSON{}, Missed: []MissedJSON{}}
	out.Reached, out.All = c.Points()
	for i := range c.Rules {
		r := &c.Rules[i]
		x := RuleCoverageJSON{r.File.Path, r.Rule.ID, r.Applied, r.Refused, r.Passed, r.CannotJudge, []ConditionCoverageJSON{}}
		for k := range r.Conditions {
			n := &r.Conditions[k]
			cj := ConditionCoverageJSON{Pointer: n.Pointer, True: n.True, False: n.False, CannotJudge: n.CannotJudge}
			for _, e := range n.Entries {
				cj.Entries = append(cj.Entries, EntryCoverageJSON{e.Text, e.True, e.False})
			}
			x.Conditions = append(x.Conditions, cj)
		}
		out.Rules = append(out.Rules, x)
		of := newLines(r.File.Source)
		r.points(func(ok bool, m Missed) {
			if !ok {
				line, column := of.position(m.Offset)
				out.Missed = append(out.Missed, MissedJSON{r.File.Path, line, column, r.Rule.ID, m.What, m.Of})
			}
		})
	}
	return out
}
