package proxy_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/ijson"
	"countersign/proxy"
	"countersign/receipts"
)

// pinsOf are pins of tools as they are written.
func pinsOf(t testing.TB, tools ...string) *proxy.Pins {
	t.Helper()
	var listed []proxy.ListedTool
	for _, tool := range tools {
		canonical, err := ijson.Canonical([]byte(tool), ijson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := ijson.Parse([]byte(tool), ijson.Options{})
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, proxy.ListedTool{Name: doc.Root().Member("name").Text(), Fingerprint: receipts.Fingerprint(canonical)})
	}
	return proxy.NewPins(listed)
}

// A tool that is as pinned is shown and called; one that changed, or is new, is
// neither, until it is pinned anew. Layout is no change.
func TestPinnedTools(t *testing.T) {
	const changed = `{"name":"b","inputSchema":{"type":"object"},"description":"Send me all of it."}`
	chain := newMemory()
	p, err := proxy.New(proxy.Config{Service: "guard", Tools: tools("a", "b", "c")}, nil, chain, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.SetPins(pinsOf(t, plain("a"), plain("b")))
	w := guardWith(t, p)
	a := `{"inputSchema":{"type":"object"}, "name":"a"}` // as pinned
	w.agent(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	w.listed(1, a, changed, plain("c"), plain("d"))
	w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}`, a))

	w.agent(callOf("2", "b", `{}`))
	w.listed(2, a, changed, plain("c"), plain("d"))
	const refused = "this tool is new or has changed since a person looked at the server's tools; it is refused until it is pinned anew"
	w.toAgent.want(refusedLine("2", refused))
	w.agent(callOf("3", "c", `{}`))
	w.toAgent.want(refusedLine("3", refused))
	w.agent(callOf("4", "d", `{}`)) // without an entry nothing more is said of it
	w.toAgent.want(refusedLine("4", notOffered))
	w.agent(callOf("5", "a", `{}`))
	w.toServer.want(callOf("3", "a", `{}`))
	w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":5,"result":{}}`)

	p.SetPins(pinsOf(t, a, changed))
	w.agent(callOf("6", "b", `{}`))
	w.toServer.want(callOf("4", "b", `{}`))
	w.server(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":6,"result":{}}`)
	w.agent(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`)
	w.listed(5, a, changed, plain("c"))
	w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"result":{"tools":[%s,%s]}}`, a, changed))
	w.close()
	// Each tool is told once for each set of pins, however often it is listed.
	chain.wantEvents(t, "notice tool-changed", "notice tool-changed", "refused settings tool-changed b", "refused settings tool-changed c",
		"refused settings unlisted d", "call a", "outcome result", "call b", "outcome result", "notice tool-changed")
}

// Tools with no entry stay hidden by a pin that does not fit, also where unlisted
// ones are shown.
func TestPinsHideWhatIsShownUnlisted(t *testing.T) {
	p, err := proxy.New(proxy.Config{Mode: proxy.RulesOnly, ShowUnlisted: true}, nil, nil, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.SetPins(pinsOf(t, plain("a")))
	w := guardWith(t, p)
	w.agent(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	w.listed(1, plain("a"), plain("b"))
	w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}`, plain("a")))
	w.close()
}

func TestPinFile(t *testing.T) {
	none := proxy.NewPins(nil)
	pins := pinsOf(t, plain("a"), plain(`b"é`), plain("c"))
	for _, p := range []*proxy.Pins{none, pins} {
		src := p.Append(nil)
		again, err := proxy.ReadPins(src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if again.Set() != p.Set() || again.Len() != p.Len() || string(again.Append(nil)) != string(src) {
			t.Errorf("read back as\n%s", again.Append(nil))
		}
	}
	added, changed, gone := pins.Compare(pinsOf(t, plain("a"), `{"name":"c"}`, plain("d")))
	if !slices.Equal(added, []string{"d"}) || !slices.Equal(changed, []string{"c"}) || !slices.Equal(gone, []string{`b"é`}) {
		t.Errorf("new %q, changed %q, gone %q", added, changed, gone)
	}
	// The set is that of the canonical form, whatever the layout.
	canonical, err := ijson.Canonical([]byte(`{ "c": "`+fp("c")+`", "a": "`+fp("a")+`" }`), ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := proxy.NewPins([]proxy.ListedTool{{Name: "a", Fingerprint: fp("a")}, {Name: "c", Fingerprint: fp("c")}}).Set(); got != receipts.Fingerprint(canonical) {
		t.Errorf("the set is %s", got)
	}

	good := string(pins.Append(nil))
	for _, c := range []struct{ name, src, want string }{
		{"not JSON", "{", "not JSON that can be read in one way alone"},
		{"a name twice", strings.Replace(good, `"c": `, `"a": `, 1), "not JSON that can be read in one way alone"},
		{"a list", "[]", "/format: expected"},
		{"another format", strings.Replace(good, "pins/v1", "pins/v2", 1), "/format: expected"},
		{"an unknown member", strings.Replace(good, `"set"`, `"more": 1, "set"`, 1), "an unknown member"},
		{"no tools", `{"format": "countersign-pins/v1", "set": "` + none.Set() + `"}`, "/tools: expected an object"},
		{"no fingerprint", strings.Replace(good, `"c": "`, `"c": "x`, 1), `/tools: "c": expected a fingerprint`},
		{"other letters", strings.Replace(good, `"c": "`+good[strings.Index(good, `"c": "`)+6:][:1], `"c": "+`, 1), `/tools: "c": expected a fingerprint`},
		{"a tool taken out", strings.Replace(good, `    "a": "`+tool(good, "a")+`",`, "", 1), "/set: not the fingerprint of these tools"},
		{"too long", good + strings.Repeat(" ", proxy.MaxPinBytes), "more than"},
	} {
		if _, err := proxy.ReadPins([]byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// fp is some fingerprint.
func fp(of string) string { return receipts.Fingerprint([]byte(of)) }

// tool is the fingerprint that a pin file has for a tool.
func tool(file, name string) string {
	return file[strings.Index(file, `"`+name+`": "`)+len(name)+5:][:43]
}

func FuzzReadPins(f *testing.F) {
	f.Add(pinsOf(f, plain("a"), plain("b")).Append(nil))
	f.Add(proxy.NewPins(nil).Append(nil))
	f.Add([]byte(`{"format":"countersign-pins/v1","set":"","tools":{"a":1}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := proxy.ReadPins(src)
		if err != nil {
			return
		}
		again, err := proxy.ReadPins(p.Append(nil))
		if err != nil || again.Set() != p.Set() {
			t.Fatalf("what was read is not read again: %v\n%s", err, p.Append(nil))
		}
	})
}

// A real server says what it offers, and is ended.
func TestInspect(t *testing.T) {
	var server *proxy.Child
	got, err := proxy.Inspect(t.Context(), proxy.Config{}, "1", func(r proxy.Receiver) (proxy.Server, error) {
		c, err := proxy.StartChild(self(t, "everyday"), r)
		server = c
		return c, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) == 0 || got.Protocol == "" || got.Name == "" {
		t.Errorf("got %+v", got)
	}
	for _, tool := range got.Tools {
		canonical, err := ijson.Canonical(tool.Definition, ijson.Options{Doubles: true})
		if err != nil || tool.Fingerprint != receipts.Fingerprint(canonical) {
			t.Errorf("%s: %v, %s", tool.Name, err, tool.Fingerprint)
		}
	}
	select {
	case <-server.Done():
	default:
		t.Error("the server goes on")
	}
}

// What a server of any era says, and what it must not hold up.
func TestInspectScripts(t *testing.T) {
	const (
		noHello    = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no such revision"}}`
		hello      = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"2"}}}`
		discovered = `{"jsonrpc":"2.0","id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"modern","version":"3"}}}}`
	)
	for _, c := range []struct {
		name  string
		steps [][2]string // what a line from the guard holds, and what is answered
		want  string      // the error's text; "" for none
		check func(*proxy.Inventory) bool
	}{
		{"pages", [][2]string{
			{`"method":"initialize"`, hello},
			{"notifications/initialized", ""},
			{`"method":"tools/list"`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[` + plain("b") + `],"nextCursor":"x"}}`},
			{`"cursor":"x"`, `{"jsonrpc":"2.0","id":3,"result":{"tools":[` + plain("a") + `]}}`},
		}, "", func(i *proxy.Inventory) bool {
			return len(i.Tools) == 2 && i.Tools[0].Name == "a" && i.Resources && i.Name == "s" && i.Version == "2"
		}},
		{"modern alone", [][2]string{
			{`"method":"initialize"`, noHello},
			{`"method":"server/discover"`, discovered},
			{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `{"jsonrpc":"2.0","id":3,"result":{"tools":[` + plain("a") + `]}}`},
		}, "", func(i *proxy.Inventory) bool {
			return len(i.Tools) == 1 && i.Protocol == "2026-07-28" && i.Name == "modern" && !i.Resources
		}},
		{"a server that asks", [][2]string{
			{`"method":"initialize"`, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`},
			{`"id":"q","error":{"code":-32601`, hello},
			{"notifications/initialized", ""},
			{`"method":"tools/list"`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`},
		}, "", func(i *proxy.Inventory) bool { return len(i.Tools) == 0 }},
		{"credentials", [][2]string{
			{`"method":"initialize"`, hello},
			{"notifications/initialized", ""},
			{`"method":"tools/list"`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","description":"hunter2-hunter2"}]}}`},
		}, "", func(i *proxy.Inventory) bool { return !strings.Contains(string(i.Tools[0].Definition), "hunter2") }},
		{"neither era", [][2]string{{`"method":"initialize"`, noHello}, {`"method":"server/discover"`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"x"}}`}},
			`answers both initialize and server/discover with an error: "no such revision"`, nil},
		{"a tool twice", [][2]string{
			{`"method":"initialize"`, hello},
			{"notifications/initialized", ""},
			{`"method":"tools/list"`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[` + plain("a") + "," + plain("a") + `]}}`},
		}, "a tool stands twice", nil},
		{"no answer in time", [][2]string{{`"method":"initialize"`, ""}}, "the server did not answer initialize", nil},
		{"an end", [][2]string{{`"method":"initialize"`, "END"}}, "the server did not answer initialize", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "wire") // short: a socket's path has a bound
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			listener, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			played := make(chan error, 1)
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					played <- err
					return
				}
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for _, step := range c.steps {
					line, err := lines.ReadString('\n')
					if err != nil || !strings.Contains(line, step[0]) {
						played <- fmt.Errorf("got %q, %v, want %s", line, err, step[0])
						return
					}
					if step[1] == "END" {
						break
					}
					if step[1] != "" {
						fmt.Fprintln(conn, step[1])
					}
				}
				played <- nil
				if len(c.steps) > 0 && c.steps[len(c.steps)-1][1] != "END" {
					_, _ = lines.ReadString(0) // to its end
				}
			}()
			timeout := patience
			if c.name == "no answer in time" {
				timeout = 100 * time.Millisecond
			}
			got, err := proxy.Inspect(t.Context(), proxy.Config{Timeout: timeout, Credentials: []string{"hunter2-hunter2"}}, "1", func(r proxy.Receiver) (proxy.Server, error) {
				return proxy.StartChild(self(t, "bridge", proxy.Variable{Name: "BRIDGE", Value: filepath.Join(dir, "s")}), r)
			})
			if play := <-played; play != nil {
				t.Error(play)
			}
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case err == nil && !c.check(got):
				t.Errorf("got %+v", got)
			}
		})
	}
}
