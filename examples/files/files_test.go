// Package files_test runs the walk-through of this folder as it is written, with
// the TypeScript SDK, and again with the Go SDK as the client.
package files_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peers is the folder whose node_modules hold the server and the SDK. Without it
// the walk-through cannot run, which the test says loudly.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("COUNTERSIGN_NPM")
	if dir == "" {
		t.Skip("NOT RUN: the walk-through with the real file server and both clients. " +
			"Set COUNTERSIGN_NPM to a folder with .ci/npm's packages installed (npm ci --ignore-scripts); .ci/run does")
	}
	for _, pkg := range []string{"@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/sdk"} {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", pkg)); err != nil {
			t.Fatalf("COUNTERSIGN_NPM has no %s: %v", pkg, err)
		}
	}
	return dir
}

// world is a copy of this folder with a countersign on the PATH.
type world struct {
	dir string
	env []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	npm := peers(t)
	w := &world{dir: t.TempDir()}
	for _, name := range []string{"executor.json", "content-rules.json", "client.mjs"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(npm, "node_modules"), filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "countersign"), "countersign/cmd/countersign")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	w.env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return w
}

// run runs a block of shell lines as they stand in the README.
func (w *world) run(t *testing.T, block string) string {
	t.Helper()
	cmd := exec.Command("sh", "-eu", "-c", block)
	cmd.Dir, cmd.Env = w.dir, w.env
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s%s", block, err, &stdout, &stderr)
	}
	return stdout.String()
}

var blocks = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// readme gives the README's blocks of shell lines and of output, in order.
func readme(t *testing.T) [][2]string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out [][2]string
	for _, m := range blocks.FindAllStringSubmatch(string(b), -1) {
		out = append(out, [2]string{m[1], m[2]})
	}
	if len(out) < 8 {
		t.Fatalf("the README has %d blocks", len(out))
	}
	return out
}

// The walk-through, as it is written.
func TestWalkThrough(t *testing.T) {
	w := newWorld(t)
	last, installed, compared := "", false, false
	for _, b := range readme(t) {
		switch {
		case b[0] == "text":
			compared = true
			if last != b[1] {
				t.Errorf("printed\n%swant, by the README,\n%s", last, b[1])
			}
		case strings.HasPrefix(b[1], "npm install "):
			installed = true // into the folder that COUNTERSIGN_NPM names, at the same versions
			w.sameVersions(t, b[1])
		default:
			last = w.run(t, b[1])
		}
	}
	if !installed || !compared {
		t.Error("the README installs nothing, or shows no output to compare")
	}
	w.checkRecords(t, last)
}

// sameVersions holds the versions that the README installs against those that are
// there.
func (w *world) sameVersions(t *testing.T, line string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(@[a-z/-]+)@([0-9.]+)`).FindAllStringSubmatch(line, -1) {
		b, err := os.ReadFile(filepath.Join(w.dir, "node_modules", m[1], "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), `"version": "`+m[2]+`"`) {
			t.Errorf("%s is not there at version %s", m[1], m[2])
		}
	}
}

// checkRecords holds what the last block of the README printed, and the file on
// the disk, against what should have happened.
func (w *world) checkRecords(t *testing.T, printed string) {
	t.Helper()
	for _, want := range []string{"sound: every signature was checked here", "ledger and book agree: 1 receipt, 2 denials"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q was not printed:\n%s", want, printed)
		}
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "workspace/note.txt"))
	if err != nil || string(b) != "Hello from the workspace.\n" {
		t.Errorf("the note is now %q, %v: a refused write reached the server", b, err)
	}
}

// The same with the client of the Go SDK.
func TestGoClient(t *testing.T) {
	w := newWorld(t)
	var verify string
	for _, b := range readme(t) {
		switch {
		case b[0] == "text", strings.HasPrefix(b[1], "npm install "), strings.HasPrefix(b[1], "node "):
		case strings.HasPrefix(b[1], "countersign verify"):
			verify = b[1]
		default:
			w.run(t, b[1])
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.Command("sh", "-c", "exec countersign stdio --config executor.json")
	cmd.Dir, cmd.Env = w.dir, w.env
	client := mcp.NewClient(&mcp.Implementation{Name: "files-example", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "read_file" || tool.Name == "list_allowed_directories" {
			t.Errorf("%s is offered, which the settings do not name", tool.Name)
		}
	}
	if len(tools.Tools) != 12 {
		t.Errorf("%d tools are offered, want 12", len(tools.Tools))
	}
	note := filepath.Join(w.dir, "workspace", "note.txt")
	for _, c := range []struct {
		name, tool string
		arguments  map[string]any
		failed     bool
		want       string
	}{
		{"read in the workspace", "read_text_file", map[string]any{"path": note}, false, "Hello from the workspace."},
		{"read outside it", "read_text_file", map[string]any{"path": "/etc/passwd"}, true, "refused by the rule files/stay-in-workspace"},
		{"write in the workspace", "write_file", map[string]any{"path": note, "content": "changed"}, true, "refused by the slip: action-not-allowed"},
	} {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		text := ""
		for _, part := range r.Content {
			if p, ok := part.(*mcp.TextContent); ok {
				text += p.Text
			}
		}
		if r.IsError != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s: isError %v, %q, want %v with %q", c.name, r.IsError, text, c.failed, c.want)
		}
	}
	if err := session.Close(); err != nil {
		t.Errorf("ending the guard: %v", err)
	}
	w.checkRecords(t, w.run(t, verify))
}
