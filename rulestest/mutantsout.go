package rulestest

import (
	"fmt"
	"io"
	"strings"
)

// Findings are the mutants alive as findings.
func (m *Mutants) Findings() []Finding {
	var out []Finding
	places := map[string]*lines{}
	for i := range m.All {
		x := &m.All[i]
		if x.State != Alive {
			continue
		}
		at := places[x.File.Path]
		if at == nil {
			at = newLines(x.File.Source)
			places[x.File.Path] = at
		}
		line, column := at.position(x.Offset)
		out = append(out, Finding{
			Code: CodeMutant, Warning: true, File: x.File.Path, Line: line, Column: column,
			Message: fmt.Sprintf("no case notices: %s (%s)\na case that would: %s", x.What, x.Kind, x.Case),
		})
	}
	return out
}

// WriteText writes the mutants for people: those no case noticed, then a line for
// each kind. With verbose those that were noticed too.
func (m *Mutants) WriteText(w io.Writer, verbose bool) error {
	p := &printer{w: w}
	places := map[string]*lines{}
	for i := range m.All {
		x := &m.All[i]
		if x.State == Killed && !verbose {
			continue
		}
		at := places[x.File.Path]
		if at == nil {
			at = newLines(x.File.Source)
			places[x.File.Path] = at
		}
		line, column := at.position(x.Offset)
		p.printf("%s %s:%d:%d: %s: %s (%s)\n", x.State, x.File.Path, line, column, strings.Join(x.Rules, ", "), x.What, x.Kind)
		switch x.State {
		case Killed:
			p.printf("  by the case %q\n", x.By)
		case Alive:
			p.printf("  a case that would notice:\n    %s\n", x.Case)
		default:
			p.printf("  by none of %d calls\n", x.Tries)
		}
	}
	for _, kind := range append(Kinds(), "") {
		killed, alive, untold := m.Count(kind, Killed), m.Count(kind, Alive), m.Count(kind, Untold)
		if killed+alive+untold == 0 && kind != "" {
			continue
		}
		name := kind
		if kind == "" {
			name = "mutants"
		}
		p.printf("%s: %d killed, %d alive, %d not told apart\n", name, killed, alive, untold)
	}
	if m.Left > 0 {
		p.printf("%d more mutants were not tried\n", m.Left)
	}
	if m.LeftCalls > 0 {
		p.printf("%d recorded calls of the cases were not tried with them\n", m.LeftCalls)
	}
	if m.Unread > 0 {
		p.printf("%d changes make no rules file and are no mutants\n", m.Unread)
	}
	p.printf("killed of those a call tells apart: %d%%\n", m.Percent())
	return p.err
}

// MutantsJSON is the mutants for programs.
type MutantsJSON struct {
	Percent int                     `json:"percent"`
	Kinds   map[string]MutantsCount `json:"kinds"`
	All     MutantsCount            `json:"all"`
	Left    int                     `json:"left,omitempty"`
	Unread  int                     `json:"unread,omitempty"`
	// LeftCalls counts recorded calls of cases that were not tried.
	LeftCalls int          `json:"leftCalls,omitempty"`
	Open      []MutantJSON `json:"open"` // those not killed
}

// MutantsCount counts mutants by what became of them.
type MutantsCount struct {
	Killed int `json:"killed"`
	Alive  int `json:"alive"`
	Untold int `json:"notToldApart"`
}

// MutantJSON is one mutant.
type MutantJSON struct {
	Kind    string   `json:"kind"`
	State   State    `json:"state"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Column  int      `json:"column"`
	Rules   []string `json:"rules"`
	Pointer string   `json:"pointer"`
	What    string   `json:"what"`
	Case    string   `json:"case,omitempty"`
	Tries   int      `json:"tries,omitempty"`
}

// JSON gives the mutants for programs.
func (m *Mutants) JSON() *MutantsJSON {
	count := func(kind string) MutantsCount {
		return MutantsCount{m.Count(kind, Killed), m.Count(kind, Alive), m.Count(kind, Untold)}
	}
	out := &MutantsJSON{Percent: m.Percent(), Kinds: map[string]MutantsCount{}, All: count(""), Left: m.Left, Unread: m.Unread, LeftCalls: m.LeftCalls, Open: []MutantJSON{}}
	for _, k := range Kinds() {
		out.Kinds[k] = count(k)
	}
	places := map[string]*lines{}
	for i := range m.All {
		x := &m.All[i]
		if x.State == Killed {
			continue
		}
		at := places[x.File.Path]
		if at == nil {
			at = newLines(x.File.Source)
			places[x.File.Path] = at
		}
		line, column := at.position(x.Offset)
		out.Open = append(out.Open, MutantJSON{x.Kind, x.State, x.File.Path, line, column, x.Rules, x.Pointer, x.What, x.Case, x.Tries})
	}
	return out
}
