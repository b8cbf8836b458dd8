package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

// TestDocsRules runs every example of docs/rules.md. A block "example" is one
// rule's condition and lines of arguments; a block "rules" is a whole file and,
// below a line of dashes, lines of calls.
func TestDocsRules(t *testing.T) {
	text, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]int{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		kind, found := strings.CutPrefix(lines[i], "```")
		if !found || kind != "example" && kind != "rules" {
			continue
		}
		at, body := i+1, []string{}
		for i++; lines[i] != "```"; i++ {
			body = append(body, lines[i])
		}
		blocks[kind]++
		t.Run(fmt.Sprintf("line %d", at), func(t *testing.T) {
			if kind == "example" {
				docExample(t, body)
			} else {
				docRules(t, body)
			}
		})
	}
	if blocks["example"] < 20 || blocks["rules"] < 11 {
		t.Errorf("only %v blocks found: the page's form has changed", blocks)
	}
}

func docExample(t *testing.T, body []string) {
	word, condition, _ := strings.Cut(body[0], " ")
	file := fmt.Sprintf(`{"format":"content-rules/v1","name":"doc","rules":[{"id":"r","tools":["t"],%q:%s}]}`, word, condition)
	e := docEngine(t, file)
	for _, line := range body[1:] {
		want, args, _ := strings.Cut(line, " ")
		docCall(t, e, line, "t", args, want, "r")
	}
	if len(body) < 3 {
		t.Error("an example with fewer than two calls shows nothing")
	}
}

func docRules(t *testing.T, body []string) {
	cut := slices.Index(body, "---")
	if cut < 0 {
		t.Fatal("no line of dashes between the file and its calls")
	}
	e := docEngine(t, strings.Join(body[:cut], "\n"))
	for _, line := range body[cut+1:] {
		words := strings.SplitN(line, " ", 3)
		switch want := words[0]; want {
		case "allowed", "unruled":
			docCall(t, e, line, words[1], words[2], want, "")
		default:
			tool, args, _ := strings.Cut(words[2], " ")
			docCall(t, e, line, tool, args, want, words[1])
		}
	}
}

func docEngine(t *testing.T, file string) *engine.Engine {
	t.Helper()
	set, problems := rules.ReadSet([]rules.Source{{Path: "docs/rules.md", Data: []byte(file)}})
	if set == nil {
		t.Fatal(problems)
	}
	e, err := engine.New(set, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// docCall judges one line. Rule is the one that is to refuse, others may too.
func docCall(t *testing.T, e *engine.Engine, line, tool, args, want, rule string) {
	t.Helper()
	d, err := ijson.Parse([]byte(args), ijson.Options{})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	got := e.Explain(&engine.Call{Tool: tool, Arguments: d.Root(), Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)})
	switch want {
	case "allowed", "unruled":
		if got.Verdict != engine.Allowed || (got.Applied == 0) != (want == "unruled") {
			t.Errorf("%s: %v by %s (%s), %d rules applied", line, got.Verdict, got.Rule, got.Code, got.Applied)
		}
		return
	}
	code := map[string]engine.Code{"refused": engine.Condition, "cannot-judge": engine.CannotJudge}[want]
	if code == "" {
		t.Fatalf("%s: unknown outcome %q", line, want)
	}
	for _, r := range got.Refusals {
		if r.Rule == rule && r.Code == code {
			return
		}
	}
	t.Errorf("%s: %v by %v, want %s by %s", line, got.Verdict, got.Refusals, code, rule)
}
