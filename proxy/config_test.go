package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/proxy"
)

func TestConfigThatCannotWork(t *testing.T) {
	bad := proxy.Config{
		Timeout: -time.Second, BodyLimit: -1, Tell: "all",
		Tools: map[string]proxy.Tool{"t": {Amount: &proxy.AmountRule{Scale: 10}}},
		Globs: []proxy.ToolGlob{{Pattern: "g*", Tool: proxy.Tool{Amount: &proxy.AmountRule{Scale: -1}}}},
	}
	_, err := proxy.New(bad, nil, nil, nil, nil)
	want := []string{
		"timeout: expected a time above 0",
		"bodyLimit: expected a size above 0",
		`tell: "all", expected say, rule or test`,
		`tools: "t": scale 10, expected 0 to 9`,
		`tools: "g*": scale -1, expected 0 to 9`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got %v\nwant %s", err, strings.Join(want, "\n"))
	}
	if _, err := proxy.New(proxy.Config{Credentials: []string{"long enough", "no"}}, nil, nil, nil, nil); err == nil {
		t.Error("a credential that is too short: no error")
	}
}

// Which tools may be called and shown, by the settings that say so.
func TestWhatIsOffered(t *testing.T) {
	entry := proxy.Tool{Action: "entry"}
	glob := func(prefix string) proxy.ToolGlob {
		return proxy.ToolGlob{Pattern: prefix + "*", Match: func(s string) bool { return strings.HasPrefix(s, prefix) }, Tool: proxy.Tool{Action: "glob"}}
	}
	for _, c := range []struct {
		name, tool      string
		cfg             proxy.Config
		offered, action string // of the call; "" where it is not offered
		shown           bool
	}{
		{"an entry", "t", proxy.Config{Tools: map[string]proxy.Tool{"t": entry}}, "yes", "entry", true},
		{"another case", "T", proxy.Config{Tools: map[string]proxy.Tool{"t": entry}}, "", "", false},
		{"no entry", "x", proxy.Config{Tools: map[string]proxy.Tool{"t": entry}}, "", "", false},
		{"no entry, shown", "x", proxy.Config{Tools: map[string]proxy.Tool{"t": entry}, ShowUnlisted: true}, "", "", true},
		{"an action for the rest, hidden", "x", proxy.Config{Unlisted: &proxy.Tool{Action: "rest"}}, "", "", false},
		{"an action for the rest, shown", "x", proxy.Config{Unlisted: &proxy.Tool{Action: "rest"}, ShowUnlisted: true}, "yes", "rest", true},
		{"a glob", "read_x", proxy.Config{Globs: []proxy.ToolGlob{glob("read_")}}, "yes", "glob", true},
		{"an exact name before a glob", "read_x", proxy.Config{Tools: map[string]proxy.Tool{"read_x": entry}, Globs: []proxy.ToolGlob{glob("read_")}}, "yes", "entry", true},
		{"two globs", "read_x", proxy.Config{Globs: []proxy.ToolGlob{glob("read_"), glob("read")}}, "", "", false},
		{"two globs, an action for the rest", "read_x", proxy.Config{Globs: []proxy.ToolGlob{glob("read_"), glob("read")}, Unlisted: &proxy.Tool{Action: "rest"}, ShowUnlisted: true}, "", "", true},
		{"rules alone", "x", proxy.Config{Mode: proxy.RulesOnly}, "yes", "", true},
		{"rules alone, with tools", "x", proxy.Config{Mode: proxy.RulesOnly, Tools: map[string]proxy.Tool{"t": entry}}, "", "", false},
		{"record", "x", proxy.Config{Mode: proxy.RecordOnly, Tools: map[string]proxy.Tool{"t": entry}}, "yes", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool, offered, shown := proxy.Offered(c.cfg, c.tool)
			if offered != (c.offered != "") || tool.Action != c.action || shown != c.shown {
				t.Errorf("got offered %v as %q, shown %v", offered, tool.Action, shown)
			}
		})
	}
}

// What is on record says why a tool is not offered; the agent is told the same of all.
func TestWhyAToolIsNotOffered(t *testing.T) {
	glob := func(begins string) proxy.ToolGlob {
		return proxy.ToolGlob{Match: func(name string) bool { return strings.HasPrefix(name, begins) }, Tool: proxy.Tool{Action: "a"}}
	}
	chain := newMemory()
	w := guard(t, proxy.Config{Globs: []proxy.ToolGlob{glob("read_"), glob("read")}}, nil, chain)
	for id, tool := range []string{"read_x", "other"} { // answers may pass each other
		w.agent(callOf(fmt.Sprint(id), tool, `{}`))
		w.toAgent.want(refusedLine(fmt.Sprint(id), "this tool is not offered here"))
	}
	w.close()
	for i, want := range []string{"two globs of the settings name it", "no entry in the settings"} {
		if got := chain.no[i].Note; got != want {
			t.Errorf("call %d: on record as %q, expected %q", i+1, got, want)
		}
	}
}
