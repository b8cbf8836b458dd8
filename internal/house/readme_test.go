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

// documents are the texts that people read.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// Every file that a document of ours points to is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, doc := range documents(t) {
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

// Every command that a document of ours names is there, with the flags it is named
// with.
func TestDocumentedFlags(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "countersign")
	build := exec.Command("go", "build", "-o", bin, "./cmd/countersign")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	helps := make(map[string]string)
	help := func(command string) string {
		if text, ok := helps[command]; ok {
			return text
		}
		out, err := exec.Command(bin, append(strings.Fields(command), "--help")...).Output()
		if err != nil {
			t.Errorf("countersign %s --help: %v", command, err)
		}
		helps[command] = string(out)
		return string(out)
	}
	// A call stands in code: between backticks, or on a line set in by four blanks.
	call := regexp.MustCompile("(?m)(?:`(?:countersign )?((?:rules|ledger) [a-z-]+)|(?:`|^    )countersign ((?:(?:rules|ledger) )?[a-z-]+))([^`|]*)")
	flag := regexp.MustCompile(`\s(--?[a-z][a-z-]*)`)
	flags := 0
	for _, doc := range documents(t) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			text := help(m[1] + m[2])
			for _, f := range flag.FindAllStringSubmatch(m[3], -1) {
				flags++
				if !regexp.MustCompile(`(?m)(^|[\s(])` + regexp.QuoteMeta(f[1]) + `([\s,)]|$)`).MatchString(text) {
					t.Errorf("%s names %s of countersign %s, which its help does not", doc, f[1], m[1]+m[2])
				}
			}
		}
	}
	if len(helps) < 12 || flags < 12 {
		t.Errorf("looked at %d commands and %d flags only", len(helps), flags)
	}
}
