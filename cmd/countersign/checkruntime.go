package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/ijson"
	"countersign/internal/problem"
	"countersign/internal/settings"
	"countersign/proxy"
	"countersign/rules"
	"countersign/rulestest"
)

// liveServer is what check --runtime says of the server.
type liveServer struct {
	Name     string     `json:"name"`
	Version  string     `json:"version"`
	Protocol string     `json:"protocol"`
	Tools    []liveTool `json:"tools"`
}

// liveTool is one of its tools, and what the settings make of it.
type liveTool struct {
	Name   string `json:"name"`
	Entry  string `json:"entry,omitempty"` // the name or glob of the entry
	Action string `json:"action,omitempty"`
	Pinned *bool  `json:"pinned,omitempty"` // as it was pinned; absent without pins
	Open   bool   `json:"open"`             // the agent may see and call it, as far as the settings go
}

// tell says it to a person.
func (l *liveServer) tell(p *program) {
	if l == nil {
		return
	}
	p.say("server: %q %q, protocol %q, %s", l.Name, l.Version, l.Protocol, plural(len(l.Tools), "tool"))
	for _, t := range l.Tools {
		line := "tool: " + problem.Quoted(t.Name)
		if t.Action != "" {
			line += ", " + t.Action
		}
		if t.Entry != "" && t.Entry != t.Name {
			line += ", by " + t.Entry
		}
		if !t.Open {
			line += ", refused"
		}
		p.say("%s", line)
	}
}

// checkRuntime starts the server of a world and holds what it offers against
// settings, pins and rules. Where it cannot, a problem says why.
func (p *program) checkRuntime(ctx context.Context, w *world) *liveServer {
	inventory, err := p.inspect(ctx, w)
	if err != nil {
		if !errors.Is(err, errNotStarted) { // else it is told already
			w.fault("/server", "%v", err)
		}
		return nil
	}
	live := w.holdLive(inventory)
	w.lintLive(inventory, p.now())
	return live
}

// holdLive holds a server's tools against the settings and the pins.
func (w *world) holdLive(inventory *proxy.Inventory) *liveServer {
	s := w.settings
	live := &liveServer{Name: inventory.Name, Version: inventory.Version, Protocol: inventory.Protocol, Tools: []liveTool{}}
	now := proxy.NewPins(inventory.Tools)
	stray := make(map[string]string) // what is not as pinned, by tool
	if w.pins != nil {
		added, changed, gone := w.pins.Compare(now)
		for _, name := range added {
			stray[name] = "is not among the pinned tools"
		}
		for _, name := range changed {
			stray[name] = "has changed since it was pinned"
		}
		for _, name := range gone {
			w.warn("/pinTools", "the pinned tool %s is gone from the server", problem.Quoted(name))
		}
	}
	names := make([]string, 0, len(inventory.Tools))
	met := make(map[string]bool) // entries that are some tool's
	// In mode rules without tools every tool is open.
	open := s.Mode == settings.RulesOnly && len(s.Tools.All()) == 0
	for _, tool := range inventory.Tools {
		names = append(names, tool.Name)
		t := liveTool{Name: tool.Name, Open: true}
		entry, err := s.Tools.Find(tool.Name)
		switch {
		case err != nil:
			w.fault("/tools", "%s: %v", problem.Quoted(tool.Name), err)
			t.Open = false
		case entry != nil:
			met[entry.Name] = true
			t.Entry, t.Action = entry.Name, entry.Action
			w.holdAmount(entry, tool)
		case open:
		case s.Unlisted != "" && !s.HideUnlisted:
			t.Action = s.Unlisted
		default:
			t.Open = false
			how := "hidden and refused"
			if !s.HideUnlisted {
				how = "shown and refused"
			}
			w.warn("/tools", "the server's tool %s has no entry: it is %s", problem.Quoted(tool.Name), how)
		}
		if w.pins != nil {
			why, strays := stray[tool.Name]
			pinned := !strays
			t.Pinned = &pinned
			if strays {
				t.Open = false
				w.warn("/pinTools", `the server's tool %s %s: it is hidden and refused; look at it, then "countersign pin"`, problem.Quoted(tool.Name), why)
			}
		}
		if t.Open {
			t.Open = w.holdCallable(tool)
		}
		live.Tools = append(live.Tools, t)
	}
	for _, e := range s.Tools.All() {
		if met[e.Name] {
			continue
		}
		at := "/tools/" + problem.EscapePointer(e.Name)
		switch near := problem.Nearest(e.Name, names); {
		case e.Glob:
			w.warn(at, "no tool of the server has only this glob for its entry")
		case near != "":
			w.warn(at, "the server has no such tool, did you mean %s?", problem.Quoted(near))
		default:
			w.warn(at, "the server has no such tool")
		}
	}
	return live
}

// holdCallable warns of what of a tool is such that the guard refuses every call of
// it, or does not hold arguments against all of its schema. It says whether the tool
// can be called.
func (w *world) holdCallable(tool proxy.ListedTool) bool {
	if rules.IsMethod(tool.Name) {
		w.warn("/server", "the server's tool %s has the name of a method, which rules could not tell from it: every call of it is refused", problem.Quoted(tool.Name))
		return false
	}
	omitted, err := tool.Schema()
	if err != nil {
		w.warn("/server", "the server's tool %s: %v; every call of it is refused", problem.Quoted(tool.Name), err)
		return false
	}
	if len(omitted) > 0 && w.settings.ValidateArguments {
		names := strings.Join(quoted(omitted[:min(len(omitted), maxNamed)]), ", ")
		if more := len(omitted) - maxNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		w.warn("/validateArguments", "of the input schema of the tool %s these keywords cannot be compiled, and arguments are not held against them: %s", problem.Quoted(tool.Name), names)
	}
	return true
}

// holdAmount warns where the argument that is a tool's amount does not stand in
// the tool's schema.
func (w *world) holdAmount(e *settings.Tool, tool proxy.ListedTool) {
	if e.Amount == nil || e.Amount.Arg == "" {
		return
	}
	doc, err := ijson.Parse(tool.Definition, ijson.Options{Depth: maxToolDepth, Doubles: true, AnyName: true})
	if err != nil {
		return // it was read once already
	}
	at := doc.Root().Member("inputSchema")
	for segment := range strings.SplitSeq(e.Amount.Arg[1:], "/") {
		properties := at.Member("properties")
		if properties.Kind() != ijson.Object {
			return // the schema does not say
		}
		if at = properties.Member(unescape.Replace(segment)); !at.Exists() {
			w.warn("/tools/"+problem.EscapePointer(e.Name)+"/amount/arg", "the tool %s has no argument %s: every call of it is refused", problem.Quoted(tool.Name), e.Amount.Arg)
			return
		}
	}
}

// maxToolDepth is how deep a tool's definition may be nested, as answers may.
const maxToolDepth = 512

// unescape reads a segment of a JSON pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// lintLive holds the rules against a server's tools (content rules, section 11).
func (w *world) lintLive(inventory *proxy.Inventory, now time.Time) {
	if w.rules == nil || len(w.rules.Files) == 0 {
		return
	}
	server, err := serverOfInventory(inventory)
	if err != nil {
		w.warn("/contentRules", "the rules are not held against the server's tools: %v", err)
		return
	}
	suite, err := rulestest.NewSuite(w.rules, server, testOptions())
	if err != nil {
		w.warn("/contentRules", "the rules are not held against the server's tools: %v", err)
		return
	}
	warnings, _ := suite.Lint()
	w.warnings = append(w.warnings, warnings...)
	w.holdOwnFiles(suite, now)
}

// holdOwnFiles warns where the rules let tools have the guard's own files: an agent
// that reads the keys, or changes the settings, needs no guard to pass.
func (w *world) holdOwnFiles(suite *rulestest.Suite, now time.Time) {
	s := w.settings
	own := []struct{ what, path string }{{"the settings", filepath.Join(s.Dir, filepath.Base(s.File))}}
	if w.signs() {
		own = append(own, struct{ what, path string }{"the agent's keys", s.Agent.Keys}, struct{ what, path string }{"the guard's keys", s.Executor.Keys})
	}
	for _, o := range own {
		if tools := suite.Reaching(o.path, now); len(tools) > 0 {
			names := strings.Join(quoted(tools[:min(len(tools), maxNamed)]), ", ")
			if more := len(tools) - maxNamed; more > 0 {
				names += fmt.Sprintf(" and %d more", more)
			}
			w.warn("/contentRules", "the rules let %s have %s, which holds %s: keep the guard's files out of every folder that the rules let paths lie in", names, o.path, o.what)
		}
	}
}

// maxNamed is how many tools a warning names; the others have the same remedy.
const maxNamed = 3

func quoted(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, problem.Quoted(n))
	}
	return out
}
