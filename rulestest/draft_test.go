package rulestest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/rules"
	"countersign/rulestest"
)

// servers are the lists of tools of six real servers, beside the example suites.
const servers = "../examples/suites"

func serverTools(t *testing.T, name string) *rulestest.Server {
	t.Helper()
	path := filepath.Join(servers, name, "tools.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rulestest.ReadServer(path, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is drafted for a real server is sound, is tested, and the tests notice
// every mutant; no path, URL or command of it is left unlooked at.
func TestDraftsForRealServers(t *testing.T) {
	for _, test := range []struct {
		name   string
		rules  []string // ids, in order
		action map[string]string
	}{
		{"filesystem", []string{"stay-in-workspace"}, map[string]string{
			"read_file": "provared.data.read", "write_file": "provared.data.change", "create_directory": "provared.data.create", "search_files": "provared.data.search"}},
		{"git", []string{"stay-in-workspace-if-given", "stay-in-workspace"}, map[string]string{"git_log": "provared.data.read", "git_push": "provared.data.export", "git_clean": "provared.data.delete"}},
		{"commands", []string{"stay-in-workspace-if-given", "known-programs"}, map[string]string{"run_command": "provared.code.run"}},
		{"playwright", []string{"stay-in-workspace-if-given", "public-web-only", "public-web-only-if-given"}, map[string]string{"browser_evaluate": "provared.code.run", "browser_navigate": "provared.web.read"}},
		{"notion", nil, map[string]string{"API-delete-a-block": "provared.data.delete", "API-retrieve-a-page": "provared.data.read"}},
		{"memory", []string{"no-private-keys"}, map[string]string{"delete_entities": "provared.data.delete", "read_graph": "provared.data.read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := serverTools(t, test.name)
			d, err := rulestest.MakeDraft(t.Context(), server, rulestest.DraftOptions{
				Name: test.name, Workspace: []string{"/srv/work"}, Base: "/srv/work", RulesFile: "content-rules.json", ToolsFile: "tools.json",
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range d.Open {
				t.Errorf("%s: %v: %s %s", m.State, m.Rules, m.What, m.Case)
			}
			if len(d.Tools) != len(server.Tools) {
				t.Errorf("%d actions for %d tools", len(d.Tools), len(server.Tools))
			}
			for _, x := range d.Tools {
				if want := test.action[x.Name]; want != "" && want != x.Action {
					t.Errorf("%s is %s, want %s", x.Name, x.Action, want)
				}
			}
			b, err := os.ReadFile(server.Path)
			if err != nil {
				t.Fatal(err)
			}
			s := loadOne(t, folder(t, map[string]string{
				"content-rules.json": string(d.Rules), "content-rules.test.json": string(d.Tests), "tools.json": string(b),
			}))
			f := s.Set.Files[0]
			if len(f.Warnings) > 0 {
				t.Errorf("rules check warns:\n%s", f.Warnings)
			}
			if laid, _ := rules.Format("r", f.Source); string(laid) != string(f.Source) {
				t.Error("not laid out as rules fmt does")
			}
			if r := run(t, s, rulestest.RunOptions{}); r.Failed() > 0 || len(r.Results) < 4 {
				t.Errorf("%d of %d cases fail", r.Failed(), len(r.Results))
			}
			m := mutate(t, s)
			if m.Count("", rulestest.Killed) != len(m.All) || len(m.All) < 6 {
				t.Errorf("%d of %d mutants killed", m.Count("", rulestest.Killed), len(m.All))
			}
			warnings, _ := s.Lint()
			for _, w := range warnings {
				if w.Code != rulestest.CodeUnruledTool {
					t.Error(w)
				}
			}
			for i, id := range test.rules {
				if i >= len(f.Rules) || f.Rules[i].ID != id {
					t.Errorf("rule %d is not %q", i, id)
				}
			}
			again, err := rulestest.MakeDraft(t.Context(), server, rulestest.DraftOptions{
				Name: test.name, Workspace: []string{"/srv/work"}, Base: "/srv/work", RulesFile: "content-rules.json", ToolsFile: "tools.json",
			})
			if err != nil || !slices.Equal(again.Tests, d.Tests) || !slices.Equal(again.Rules, d.Rules) {
				t.Errorf("drafted twice, another draft (%v)", err)
			}
		})
	}
}

// Names of tools and arguments are the server's own text.
func TestDraftOfOddNames(t *testing.T) {
	s, err := rulestest.ReadServer("t", []byte(`{"tools": [
		{"name": "read*[x]", "inputSchema": {"type": "object", "properties": {"a/b~*path": {"type": "string"}}, "required": ["a/b~*path"]}},
		{"name": "run {a,b}", "inputSchema": {"type": "object", "properties": {"shell \"command\"": {"type": "array", "items": {"type": "string"}}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := rulestest.MakeDraft(t.Context(), s, rulestest.DraftOptions{Name: "odd", Workspace: []string{"/w"}, RulesFile: "r.json"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Open {
		t.Errorf("%s: %v: %s %s", m.State, m.Rules, m.What, m.Case)
	}
	for _, want := range []string{`read\\*\\[x\\]`, `"arg": "/shell \"command\""`} {
		if !strings.Contains(string(d.Rules), want) {
			t.Errorf("%q is not in\n%s", want, d.Rules)
		}
	}
	if _, err := rulestest.MakeDraft(t.Context(), s, rulestest.DraftOptions{Name: "odd"}); err == nil {
		t.Error("drafted without a folder")
	}
}
