// Package peers_test puts the guard between real clients and real tool servers,
// each pair once without it and once with it, and holds the answers side by side.
package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience bounds one run of a client with a server, of which the slowest take
// seconds on a busy machine.
const patience = 2 * time.Minute

// atOnce is how many pairs run at a time: each keeps up to three programs busy.
const atOnce = 2

// need skips, loudly, where the packages are not there.
func need(t *testing.T) (modules string) {
	t.Helper()
	if raced {
		t.Skip("NOT RUN with the race detector: the programs of the pairs are built without it, and the run without it is the same")
	}
	dir := os.Getenv("COUNTERSIGN_NPM")
	if dir == "" {
		t.Skip("NOT RUN: nine real servers behind the guard and six real clients before it. " +
			"Set COUNTERSIGN_NPM to a folder with .ci/npm's packages installed (npm ci --ignore-scripts); .ci/run does")
	}
	modules = filepath.Join(dir, "node_modules")
	for _, pkg := range []string{
		"@cyanheads/git-mcp-server", "@modelcontextprotocol/client", "@modelcontextprotocol/inspector", "@modelcontextprotocol/sdk",
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory",
		"@modelcontextprotocol/server-sequential-thinking", "mcp-server-commands", "time-mcp",
	} {
		if _, err := os.Stat(filepath.Join(modules, pkg)); err != nil {
			t.Fatalf("COUNTERSIGN_NPM has no %s: %v", pkg, err)
		}
	}
	return modules
}

// call is one tools/call of a pair.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// server is a real tool server. In args and env {state} is a folder of the run's
// own and {work} one that all runs share and none changes.
type server struct {
	name   string
	argv   []string
	env    map[string]string
	tools  int  // how many it lists at least: some depend on what the client can do
	modern bool // speaks 2026-07-28
	junk   bool // prints a line that is no message first
	calls  []call
}

func servers(modules string, goServers map[string]string) []server {
	js := func(path string, args ...string) []string {
		return append([]string{"node", filepath.Join(modules, path)}, args...)
	}
	entities := []any{map[string]any{"name": "a", "entityType": "t", "observations": []any{"one", "two"}}}
	return []server{
		{name: "filesystem", argv: js("@modelcontextprotocol/server-filesystem/dist/index.js", "{work}"), tools: 14, calls: []call{
			{"read_text_file", map[string]any{"path": "{work}/note.txt"}},
			{"list_directory", map[string]any{"path": "{work}"}},
			{"read_text_file", map[string]any{"path": "/etc/passwd"}},
		}},
		{name: "everything", argv: js("@modelcontextprotocol/server-everything/dist/index.js"), tools: 13, calls: []call{
			{"echo", map[string]any{"message": "hello"}},
			{"get-sum", map[string]any{"a": 2, "b": 40}},
			{"get-structured-content", map[string]any{"location": "Chicago"}},
		}},
		{name: "memory", argv: js("@modelcontextprotocol/server-memory/dist/index.js"), tools: 9, env: map[string]string{"MEMORY_FILE_PATH": "{state}/memory.json"}, calls: []call{
			{"create_entities", map[string]any{"entities": entities}},
			{"read_graph", map[string]any{}},
		}},
		{name: "sequential-thinking", argv: js("@modelcontextprotocol/server-sequential-thinking/dist/index.js"), tools: 1, calls: []call{
			{"sequentialthinking", map[string]any{"thought": "first", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}},
		}},
		{name: "git", argv: js("@cyanheads/git-mcp-server/dist/index.js"), tools: 28, calls: []call{
			{"git_status", map[string]any{"path": "{work}"}},
			{"git_branch", map[string]any{"path": "{work}", "mode": "list"}},
		}},
		{name: "commands", argv: js("mcp-server-commands/build/index.js"), tools: 1, calls: []call{
			{"run_command", map[string]any{"command": "echo hello"}},
		}},
		{name: "time", argv: js("time-mcp/dist/index.js"), tools: 6, junk: true, calls: []call{
			{"days_in_month", map[string]any{"date": "2024-02-01"}},
			{"get_timestamp", map[string]any{"time": "2024-02-01 00:00:00"}},
		}},
		{name: "go-memory", argv: []string{goServers["memory"], "-memory", "{state}/memory.json"}, tools: 9, modern: true, calls: []call{
			{"create_entities", map[string]any{"entities": entities}},
			{"read_graph", map[string]any{}},
		}},
		{name: "go-everything", argv: []string{goServers["everything"]}, tools: 10, modern: true, calls: []call{
			{"greet", map[string]any{"name": "you"}},
			{"greet (structured)", map[string]any{"name": "you"}},
		}},
	}
}

// answers are everything that a client was answered, as plain JSON values.
type answers map[string]any

// client is a real client. run starts command, lists, calls, and tells.
type client struct {
	name   string
	strict bool // a line that is no message ends its connection
	single bool // makes the first call alone: each takes it seconds
	legacy bool // the client speaks no era but the legacy ones
	modern bool // and this one none but the modern one
	run    func(t *testing.T, w *world, command string, calls []call) answers
}

func clients() []client {
	list := []client{
		{name: "go", strict: true, run: runGo},
		{name: "inspector", single: true, legacy: true, run: runInspector},
	}
	for _, sdk := range []string{"v1", "auto", "pinned", "legacy"} {
		list = append(list, client{name: "ts-" + sdk, legacy: sdk == "v1" || sdk == "legacy", modern: sdk == "pinned",
			run: func(t *testing.T, w *world, command string, calls []call) answers {
				return w.node(t, filepath.Join(w.root, "client.mjs"), sdk, command, string(marshal(t, calls)))
			}})
	}
	return list
}

// world is what all pairs share.
type world struct {
	root, modules string // root: a folder with client.mjs and node_modules
	guard         string // the program
	work          string
}

func TestPeers(t *testing.T) {
	modules := need(t)
	w := newWorld(t, modules)
	goServers := map[string]string{}
	for _, name := range []string{"memory", "everything"} {
		goServers[name] = w.build(t, "go-"+name, "github.com/modelcontextprotocol/go-sdk/examples/server/"+name)
	}
	room := make(chan struct{}, atOnce)
	t.Run("pairs", func(t *testing.T) {
		for _, s := range servers(modules, goServers) {
			for _, c := range clients() {
				t.Run(s.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					room <- struct{}{}
					defer func() { <-room }()
					w.pair(t, s, c)
				})
			}
		}
	})
}

// pair runs one client with one server, directly and through the guard.
func (w *world) pair(t *testing.T, s server, c client) {
	var calls []call
	if err := json.Unmarshal([]byte(w.fill(string(marshal(t, s.calls)), "")), &calls); err != nil {
		t.Fatal(err)
	}
	if c.single {
		calls = calls[:1]
	}
	direct := c.run(t, w, w.direct(t, s), calls)
	guarded, config := w.guarded(t, s)
	through := c.run(t, w, guarded, calls)
	receipts := len(calls)
	held := direct // what shows that the run was no empty one
	switch {
	case s.junk && c.strict:
		// The one pair that the guard makes possible: it drops the line.
		if direct["error"] == nil {
			t.Errorf("the client went on after a line that is no message: %s", cut(marshal(t, direct)))
		}
		held = through
	case s.modern && !c.legacy, !c.modern:
		w.same(t, through, direct)
	default:
		w.same(t, through, direct)
		if direct["error"] == nil {
			t.Errorf("they have no era in common and understood each other: %s", cut(marshal(t, direct)))
		}
		receipts, held = 0, nil
	}
	if held != nil {
		if tools, _ := held["tools"].([]any); len(tools) < s.tools {
			t.Errorf("%d tools are listed, want %d: %s", len(tools), s.tools, cut(marshal(t, held)))
		}
		if results, _ := held["results"].([]any); len(results) != len(calls) {
			t.Errorf("%d results, want %d", len(results), len(calls))
		}
	}
	printed := w.countersign(t, filepath.Dir(config), "compare", "--config", config)
	if want := fmt.Sprintf("ledger and book agree: %d receipt", receipts); !strings.Contains(printed, want) {
		t.Errorf("compare printed %q, want %q", printed, want)
	}
}

// same fails the test unless both runs were answered alike.
func (w *world) same(t *testing.T, through, direct answers) {
	t.Helper()
	if where, got, want := differ("", plain(through), plain(direct)); where != "" {
		t.Errorf("at %s, through the guard:\n%s\nwithout it:\n%s", where, cut(marshal(t, got)), cut(marshal(t, want)))
	}
}

func newWorld(t *testing.T, modules string) *world {
	t.Helper()
	w := &world{root: t.TempDir(), modules: modules}
	script, err := os.ReadFile("client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.root, "client.mjs"), string(script), 0o600)
	if err := os.Symlink(modules, filepath.Join(w.root, "node_modules")); err != nil {
		t.Fatal(err)
	}
	w.guard = w.build(t, "countersign", "countersign/cmd/countersign")
	w.work = filepath.Join(w.root, "work")
	write(t, filepath.Join(w.work, "note.txt"), "Hello from the workspace.\n", 0o600)
	git := exec.Command("sh", "-euc", `git init -q -b main . && git add note.txt && git -c user.name=n -c user.email=n@example.org commit -q -m first`)
	git.Dir = w.work
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("making a repository: %v\n%s", err, out)
	}
	return w
}

func (w *world) build(t *testing.T, name, pkg string) string {
	t.Helper()
	file := filepath.Join(w.root, "bin", name)
	if out, err := exec.Command("go", "build", "-o", file, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return file
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (w *world) fill(text, state string) string {
	return strings.NewReplacer("{work}", w.work, "{state}", state).Replace(text)
}

// passed are the variables that the guard hands on to a server, for the run
// without it to hand on the same.
var passed = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// direct is a command that starts the server.
func (w *world) direct(t *testing.T, s server) string {
	t.Helper()
	dir := t.TempDir()
	line := "cd " + quote(dir) + " && exec env -i"
	for _, name := range passed {
		if v := os.Getenv(name); v != "" {
			line += " " + quote(name+"="+v)
		}
	}
	for name, v := range s.env {
		line += " " + quote(name+"="+w.fill(v, dir))
	}
	for _, arg := range s.argv {
		line += " " + quote(w.fill(arg, dir))
	}
	file := filepath.Join(dir, "server")
	write(t, file, "#!/bin/sh\n"+line+"\n", 0o700)
	return file
}

// guarded is a command that starts the guard before the server, with keys, rules
// and a slip of its own.
func (w *world) guarded(t *testing.T, s server) (command, config string) {
	t.Helper()
	dir := t.TempDir()
	args := []string{}
	for _, arg := range s.argv[1:] {
		args = append(args, w.fill(arg, dir))
	}
	env := map[string]any{}
	for name, v := range s.env {
		env[name] = map[string]any{"value": w.fill(v, dir)}
	}
	tools := map[string]any{} // the others are unlisted ones, which are let through too
	for _, c := range s.calls {
		tools[c.Name] = map[string]any{"action": "provared.data.read"}
	}
	settings := func(thumbprint string) {
		write(t, filepath.Join(dir, "executor.json"), string(marshal(t, map[string]any{
			"name": "Peers", "service": "peers-guard",
			"server":       map[string]any{"command": s.argv[0], "args": args, "env": env},
			"tools":        tools,
			"unlisted":     map[string]any{"action": "provared.data.read"},
			"hideUnlisted": false,
			"contentRules": "rules.json",
			"agent":        map[string]any{"slip": "slip.json", "book": "book.jsonl", "keys": "keys/agent.keys", "ledger": "ledger.jsonl", "issuerKeys": []string{thumbprint}},
			"executor":     map[string]any{"keys": "keys/guard.keys", "ledgerKey": map[string]any{"file": "keys/ledger.key"}},
		})), 0o600)
	}
	config = filepath.Join(dir, "executor.json")
	write(t, filepath.Join(dir, "rules.json"), `{"format":"content-rules/v1","name":"peers","rules":[
		{"id":"no-secrets","tools":["*"],"refuse":{"some":"/**","contains":["password"],"fold":true}}]}`, 0o600)
	settings("<thumbprint>")
	w.countersign(t, dir, "keys")
	thumbprint := w.countersign(t, dir, "sign", "--development", "--action", "provared.data.read")
	settings(strings.TrimSpace(thumbprint))
	command = filepath.Join(dir, "guard")
	write(t, command, "#!/bin/sh\nexec "+quote(w.guard)+" stdio --config "+quote(config)+"\n", 0o700)
	return command, config
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// countersign runs a command that must succeed and gives what it printed.
func (w *world) countersign(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(w.guard, args...)
	cmd.Dir = dir
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("countersign %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

// node runs a script and reads the JSON it prints.
func (w *world) node(t *testing.T, args ...string) answers {
	t.Helper()
	out, err := w.program(t, "node", args...)
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("node %v printed %q: %v", args, cut(out), err)
	}
	return a
}

func (w *world) program(t *testing.T, name string, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = w.root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s%s", name, args, err, cut(errs.Bytes()), cut(out.Bytes()))
	}
	return out.Bytes(), nil
}

// runInspector is one run of the Inspector for the list and one for each call,
// each of which starts the server anew.
func runInspector(t *testing.T, w *world, command string, calls []call) answers {
	inspector := func(args ...string) (v any) {
		args = append([]string{filepath.Join(w.modules, "@modelcontextprotocol/inspector/cli/build/cli.js"), "--cli", command, "--method"}, args...)
		out, err := w.program(t, "node", args...)
		if err != nil {
			var failed *exec.ExitError
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			return map[string]any{"exit": failed.ExitCode()}
		}
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("the Inspector printed %q: %v", cut(out), err)
		}
		return v
	}
	a := answers{}
	list, _ := inspector("tools/list").(map[string]any)
	a["tools"] = list["tools"]
	var results []any
	for _, c := range calls {
		args := []string{"tools/call", "--tool-name", c.Name}
		for name, v := range c.Arguments {
			text, plain := v.(string)
			if !plain {
				text = string(marshal(t, v))
			}
			args = append(args, "--tool-arg", name+"="+text)
		}
		results = append(results, inspector(args...))
	}
	a["results"] = results
	return a
}

// runGo is the client of the Go SDK.
func runGo(t *testing.T, _ *world, command string, calls []call) answers {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1.0.0"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command)}, nil)
	if err != nil {
		return answers{"error": err.Error()}
	}
	defer session.Close()
	shook := session.InitializeResult()
	all := map[string]any{"capabilities": shook.Capabilities, "server": shook.ServerInfo, "version": shook.ProtocolVersion}
	var tools []any
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	all["tools"] = tools
	var results []any
	for _, c := range calls {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.Name, Arguments: c.Arguments})
		if err != nil {
			results = append(results, map[string]any{"error": err.Error()})
			continue
		}
		results = append(results, r)
	}
	all["results"] = results
	var a answers
	if err := json.Unmarshal(marshal(t, all), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func cut(b []byte) string {
	const most = 4000
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// differ finds the first place at which two values are not the same; "" for none.
func differ(at string, a, b any) (where string, x, y any) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(a))
		for name := range b {
			if _, both := a[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if where, x, y := differ(at+"/"+name, a[name], b[name]); where != "" {
				return where, x, y
			}
		}
		return "", nil, nil
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			if where, x, y := differ(fmt.Sprintf("%s/%d", at, i), a[i], b[i]); where != "" {
				return where, x, y
			}
		}
		return "", nil, nil
	}
	if reflect.DeepEqual(a, b) {
		return "", nil, nil
	}
	return at + "/", a, b
}

// varying are the parts of answers that two runs of one server never share.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// plain is a value without what varies.
func plain(v any) any {
	switch v := v.(type) {
	case answers:
		return plain(map[string]any(v))
	case map[string]any:
		m := map[string]any{}
		for name, value := range v {
			m[name] = plain(value)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = plain(v[i])
		}
		return l
	case string:
		return varying.ReplaceAllString(v, "VARIES")
	}
	return v
}
