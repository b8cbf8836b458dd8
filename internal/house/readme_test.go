package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// The README's commands do what it says, in the order they stand in.
func TestReadmeCommands(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, bin, temp := t.TempDir(), t.TempDir(), t.TempDir()
	env := append(os.Environ(), "GOBIN="+bin, "TMPDIR="+temp, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	run := func(in, block string) string {
		cmd := exec.Command("sh", "-eu", "-c", block)
		cmd.Dir, cmd.Env = in, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", block, err, out)
		}
		return string(out)
	}
	// What each step must print, by a line that stands in its block.
	want := map[string][]string{
		"go run ./cmd/countersign demo":  {"sound: every signature was checked here"},
		"countersign rules check":        {"0 errors, 0 warnings"},
		"countersign rules test":         {"3 cases: 3 passed", "coverage: 100%", "7 killed, 0 alive"},
		"countersign check":              {"no problem, 2 warnings", "no person gave this permission"},
		"countersign stdio":              {`"text":"Hello."`, "refused by the rule first/no-secrets", "refused by the slip: action-not-allowed"},
		"countersign verify book.jsonl ": {"slips 1, receipts 1", "sound: ", "ledger and book agree: 1 receipt, 2 denials"},
	}
	done := 0
	for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
		language, block := m[1], m[2]
		var out string
		switch {
		case strings.Contains(block, "go run ./cmd/countersign demo"):
			// The other command is the run that this test is part of.
			first, second, _ := strings.Cut(block, "\n")
			if !strings.HasPrefix(second, "go test ./...") {
				t.Errorf("the set-up commands are not the two that are known:\n%s", block)
			}
			out = run(repository, first)
		case strings.Contains(block, "go install "):
			out = run(repository, block)
		case language == "sh":
			out = run(dir, block)
		default:
			t.Errorf("a block that is not run:\n%s", block)
		}
		for line, texts := range want {
			if !strings.Contains(block, line) {
				continue
			}
			done++
			for _, text := range texts {
				if !strings.Contains(out, text) {
					t.Errorf("%s: %q was not printed:\n%s", line, text, out)
				}
			}
		}
	}
	if done != len(want) {
		t.Errorf("%d steps of the README were looked at, want %d", done, len(want))
	}
}

// Every file that a document of ours points to is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "examples/files/README.md")) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s points to %s, which is not there", doc, m[1])
			}
		}
	}
}
