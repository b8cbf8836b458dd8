package settings_test

import (
	"strings"
	"testing"

	"countersign/internal/settings"
)

func TestToolGlobs(t *testing.T) {
	globs := strings.Replace(minimal, `"t": {"action": "a"}`, `"read_*": {"action": "read"}, "*_file": {"action": "file"}, "read_file": {"action": "exact"}`, 1)
	_, problems := settings.Read("e.json", []byte(globs))
	if len(problems) != 2 || !strings.Contains(problems[0].Msg, `needs "pinTools"`) {
		t.Fatalf("globs without pinTools: %s", problems)
	}
	s, problems := settings.Read("e.json", []byte(strings.Replace(globs, `{"name"`, `{"pinTools": "pins.json", "name"`, 1)))
	if problems = built(problems); len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct{ tool, action, err string }{
		{"read_dir", "read", ""},
		{"write_file", "file", ""},
		{"read_file", "exact", ""},
		{"read_my_file", "", `two globs of the settings name the tool: "read_*" and "*_file", expected one: write the tool's own name beside them`},
		{"list", "", ""},
	} {
		e, err := s.Tools.Find(c.tool)
		action := ""
		if e != nil {
			action = e.Action
		}
		if action != c.action || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: got %q, %v, want %q, %s", c.tool, action, err, c.action, c.err)
		}
	}
	_, problems = settings.Read("e.json", []byte(strings.Replace(minimal, `"t": `, `"t]": `, 1)))
	if len(problems) != 1 || problems[0].Pointer != "/tools/t]" {
		t.Errorf("an unsound glob: %s", problems)
	}
}
