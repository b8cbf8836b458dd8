package rulestest_test

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/rulestest"
)

func TestTryDraft(t *testing.T) {
	path := os.Getenv("TOOLS")
	if path == "" {
		t.Skip()
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sv, err := rulestest.ReadServer("tools.json", b)
	if err != nil {
		t.Fatal(err)
	}
	d, err := rulestest.MakeDraft(t.Context(), sv, rulestest.DraftOptions{Name: "draft", Workspace: []string{"/srv/work"}, Base: "/srv/work", RulesFile: "content-rules.json", ToolsFile: "tools.json"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range d.Tools {
		t.Log(x)
	}
	t.Logf("%s\n%s", d.Rules, d.Tests)
	for _, m := range d.Open {
		t.Log(m.State, m.Kind, m.Rules, m.What, m.Case)
	}
	_ = filepath.Join
}
