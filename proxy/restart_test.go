package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/proxy"
)

// atOnce restarts without a wait that a test would feel.
var atOnce = proxy.Restarts{First: time.Millisecond, Most: time.Millisecond, Attempts: 4, Within: time.Hour}

// restarting is a guard whose tool is called t and whose server comes back.
func restarting(t *testing.T, chain *memory, cfg proxy.Config, limits proxy.Restarts) *wires {
	t.Helper()
	cfg.Service, cfg.Tools = "guard", tools("t")
	p, err := proxy.New(cfg, nil, chain, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return guardRestarting(t, p, limits)
}

const (
	hello      = `{"method":"initialize","jsonrpc":"2.0","id":%s,"params":{"protocolVersion":"2025-06-18", "capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`
	greeting   = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"own":1}}`
	listed     = `{"tools":{"listChanged":true},"resources":{}}`
	pingOf     = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	pongOf     = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	toolsOther = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// shake takes agent and server through the handshake.
func (w *wires) shake(capabilities string) {
	w.t.Helper()
	w.agent(fmt.Sprintf(hello, `"h"`))
	w.toServer.want(fmt.Sprintf(hello, "1"))
	w.server(fmt.Sprintf(greeting, "1", capabilities))
	w.toAgent.want(fmt.Sprintf(greeting, `"h"`, capabilities))
	w.agent(ready)
	w.toServer.want(ready)
}

// The agent goes on: its call in flight is settled, the new process hears the
// handshake in the agent's own bytes, and the next call is served by it.
func TestRestart(t *testing.T) {
	for _, c := range []struct {
		name, capabilities string
		told               bool
	}{
		{"a server that tells of its lists", listed, true},
		{"one that does not", `{"tools":{}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := newMemory()
			w := restarting(t, chain, proxy.Config{}, atOnce)
			w.shake(c.capabilities)
			w.agent(callOf("1", "t", `{}`))
			w.listed(2, plain("t"))
			w.toServer.want(callOf("3", "t", `{}`))
			w.server(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
			w.toAgent.want(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
			w.crash()
			got := map[string]bool{w.toAgent.next(): true, w.toAgent.next(): true} // one comes with the record, one without
			for _, want := range []string{
				refusedLine("1", "the tool server closed its connection while this call was with it"+stillNotKnown),
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the tool server ended"}}`,
			} {
				if !got[want] {
					t.Fatalf("to the agent came %v, not %s", got, want)
				}
			}
			w.again()
			w.toServer.want(fmt.Sprintf(hello, "4"))
			w.server(fmt.Sprintf(greeting, "4", c.capabilities))
			w.toServer.want(ready)
			if c.told {
				w.toAgent.want(toolsOther)
			}
			// An answer to the process that is gone does not reach this one, and the
			// tools are listed anew.
			w.agent(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, callOf(`"x"`, "t", `{"n":2}`))
			w.listed(5, plain("t"))
			w.toServer.want(callOf("6", "t", `{"n":2}`))
			w.server(`{"jsonrpc":"2.0","id":6,"result":{"content":[]}}`)
			w.toAgent.want(`{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`)
			w.close()
			chain.wantEvents(t, "call t", "outcome upstream-closed", "notice server-restarted", "call t", "outcome result")
		})
	}
}

// What lasts as long as a process is brought to the next one: the last log level
// and the subscriptions that are open.
func TestRestartBringsBackWhatLasts(t *testing.T) {
	w := restarting(t, newMemory(), proxy.Config{}, atOnce)
	w.shake(`{"logging":{},"resources":{"subscribe":true}}`)
	level := `{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":"%s"}}`
	subscription := `{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"file:///%s"}}`
	id := 1
	asks := func(form string, args ...any) {
		t.Helper()
		id++
		w.agent(fmt.Sprintf(form, append([]any{100 + id}, args...)...))
		w.toServer.want(fmt.Sprintf(form, append([]any{id}, args...)...))
		w.server(fmt.Sprintf(pongOf, fmt.Sprint(id)))
		w.toAgent.want(fmt.Sprintf(pongOf, fmt.Sprint(100+id)))
	}
	asks(level, "debug")
	asks(subscription, "subscribe", "a")
	asks(subscription, "subscribe", "b")
	asks(level, "error")
	asks(subscription, "unsubscribe", "a")
	w.crash()
	w.again()
	w.toServer.want(fmt.Sprintf(hello, "7"))
	w.server(fmt.Sprintf(greeting, "7", `{"resources":{"subscribe":true},"logging":{}}`)) // the same in another order
	w.toServer.want(ready)
	w.toServer.want(fmt.Sprintf(subscription, 8, "subscribe", "b"))
	w.server(fmt.Sprintf(pongOf, "8"))
	w.toServer.want(fmt.Sprintf(level, 9, "error"))
	w.server(fmt.Sprintf(pongOf, "9"))
	w.agent(fmt.Sprintf(pingOf, "1"))
	w.toServer.want(fmt.Sprintf(pingOf, "10"))
	w.server(fmt.Sprintf(pongOf, "10"))
	w.toAgent.want(fmt.Sprintf(pongOf, "1"))
	w.close()
}

// The modern era has no handshake: the next request is the first.
func TestRestartInTheModernEra(t *testing.T) {
	w := restarting(t, newMemory(), proxy.Config{}, atOnce)
	discover := `{"jsonrpc":"2.0","id":%d,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	listen := `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`
	w.agent(fmt.Sprintf(discover, 9))
	w.toServer.want(fmt.Sprintf(discover, 1))
	w.server(fmt.Sprintf(pongOf, "1"))
	w.toAgent.want(fmt.Sprintf(pongOf, "9"))
	w.agent(fmt.Sprintf(listen, `"l"`))
	w.toServer.want(fmt.Sprintf(listen, "2"))
	w.crash()
	w.toAgent.want(`{"jsonrpc":"2.0","id":"l","error":{"code":-32603,"message":"the tool server closed its connection"}}`)
	w.again()
	w.agent(fmt.Sprintf(listen, `"l2"`))
	w.toServer.want(fmt.Sprintf(listen, "3"))
	w.agent(fmt.Sprintf(discover, 10))
	w.toServer.want(fmt.Sprintf(discover, 4))
	w.server(fmt.Sprintf(pongOf, "4"))
	w.toAgent.want(fmt.Sprintf(pongOf, "10"))
	w.agent(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l2"}}`)
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	w.close()
}

// Requests and calls that come while there is no server wait for it; one that the
// agent gives up meanwhile never gets there.
func TestRequestsWaitForTheServer(t *testing.T) {
	chain := newMemory()
	w := restarting(t, chain, proxy.Config{}, atOnce)
	w.shake(`{"tools":{}}`)
	w.crash()
	w.again() // it is there and has not taken the handshake up
	w.toServer.want(fmt.Sprintf(hello, "2"))
	w.agent(callOf("1", "t", `{}`), callOf("2", "t", `{"b":1}`), fmt.Sprintf(pingOf, "3"),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		// Refused at once: with its answer everything before has been read.
		`{"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"tasks are not offered here"}}`)
	w.server(fmt.Sprintf(greeting, "2", `{"tools":{}}`))
	w.toServer.want(ready)
	w.listed(3, plain("t"))
	w.toServer.want(callOf("4", "t", `{"b":1}`))
	w.server(`{"jsonrpc":"2.0","id":4,"result":{"content":[]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	w.close()
	chain.wantEvents(t, "notice refused-message", "notice server-restarted", "call t", "outcome result")
}

// A wait for the server has an end; of a call that was not sent nothing is on
// record.
func TestTheServerIsNotBackInTime(t *testing.T) {
	chain := newMemory()
	limits := atOnce
	limits.First, limits.Most = time.Hour, time.Hour
	w := restarting(t, chain, proxy.Config{Timeout: impatient}, limits)
	w.shake(`{"tools":{}}`)
	w.agent(fmt.Sprintf(pingOf, "1"))
	w.toServer.want(fmt.Sprintf(pingOf, "2"))
	w.crash()
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the tool server closed its connection"}}`)
	w.agent(callOf("2", "t", `{}`))
	w.toAgent.want(refusedLine("2", "the tool server closed its connection and was not back within 2s; the call was not sent"))
	w.agent(fmt.Sprintf(pingOf, "3"))
	w.toAgent.want(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"the tool server closed its connection and was not back within 2s; the request was not sent"}}`)
	w.agentIn.Close() // nothing keeps the guard, least of all the hour
	if err := w.wait(); err != nil {
		t.Errorf("the guard ended: %v", err)
	}
	chain.wantEvents(t)
}

// A server that comes back as another one ends the guard: the agent holds on to
// what it was told at the start.
func TestRestartAsAnother(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"another version": {
			`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
			"it negotiates another protocol version"},
		"other capabilities": {fmt.Sprintf(greeting, "2", `{"tools":{"listChanged":true}}`), "it declares other capabilities"},
		"fewer capabilities": {fmt.Sprintf(greeting, "2", `{}`), "it declares other capabilities"},
		"a refusal":          {`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`, "it refuses the handshake it took before"},
	} {
		t.Run(name, func(t *testing.T) {
			w := restarting(t, newMemory(), proxy.Config{}, atOnce)
			w.shake(`{"tools":{}}`)
			w.crash()
			w.again()
			w.toServer.want(fmt.Sprintf(hello, "2"))
			w.agent(callOf("1", "t", `{}`), fmt.Sprintf(pingOf, "2"))
			w.server(c.answer)
			if rest := w.toServer.rest(); len(rest) > 0 {
				t.Errorf("it was sent %v", rest)
			}
			err := w.wait()
			if !errors.Is(err, proxy.ErrChanged) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("the guard ended: %v", err)
			}
		})
	}
}

// lives counts, in a file, how often the test's server was started.
func lives(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// serveShell is a guard before a shell script.
func serveShell(t *testing.T, script string, limits proxy.Restarts) (file string, w *wires) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "lives")
	p, err := proxy.New(proxy.Config{Mode: proxy.RulesOnly, Timeout: patience}, nil, nil, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	child := proxy.ChildConfig{
		Command: "/bin/sh", Args: []string{"-c", `printf x >>"$LIVES"; ` + script}, Getenv: os.Getenv,
		Env: []proxy.Variable{{Name: "LIVES", Value: file}}, Stderr: testWriter{t}, Log: testLog(t),
	}
	return file, guardChild(t, p, child, limits)
}

// A server that reads no more, or has closed its input, and goes on is ended and
// started again.
func TestAServerThatDoesNotRead(t *testing.T) {
	for name, deaf := range map[string]string{"it sleeps": "exec sleep 600", "it closes its input": "exec sleep 600 <&-"} {
		t.Run(name, func(t *testing.T) {
			lives := filepath.Join(t.TempDir(), "lives")
			p, err := proxy.New(proxy.Config{Mode: proxy.RulesOnly, Timeout: patience}, nil, nil, testLog(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			w := guardChild(t, p, proxy.ChildConfig{
				Command: "/bin/sh", Args: []string{"-c", `while read line; do
					id=${line#*'"id":'}; echo '{"jsonrpc":"2.0","id":'"${id%%,*}"',"result":{}}'
					if [ ! -e "$LIVES" ]; then >"$LIVES"; ` + deaf + `; fi
				done`}, Getenv: os.Getenv, Env: []proxy.Variable{{Name: "LIVES", Value: lives}},
				Stderr: testWriter{t}, Log: testLog(t),
				Timeout: 200 * time.Millisecond, Steps: proxy.Steps{AfterClose: time.Millisecond, AfterTerm: patience},
			}, atOnce)
			w.agent(fmt.Sprintf(pingOf, "1"))
			w.toAgent.want(fmt.Sprintf(pongOf, "1"))
			w.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":"`+strings.Repeat("a", 1<<20)+`"}}`, "2"))
			if got := w.toAgent.next(); !strings.Contains(got, `"id":2,"error"`) {
				t.Errorf("got %s", got)
			}
			w.agent(fmt.Sprintf(pingOf, "3"))
			w.toAgent.want(fmt.Sprintf(pongOf, "3"))
			w.agentIn.Close()
			if err := w.wait(); err != nil {
				t.Errorf("the guard ended: %v", err)
			}
		})
	}
}

// A server that does not stay is given up after so many starts, with the reason.
func TestRestartsHaveABound(t *testing.T) {
	file, w := serveShell(t, `read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 3`, atOnce)
	w.agent(fmt.Sprintf(pingOf, "9"))
	w.toAgent.want(fmt.Sprintf(pongOf, "9"))
	// Each life takes one line and answers a request that nobody made.
	for open := true; open; {
		io.WriteString(w.agentIn, fmt.Sprintf(pingOf, "10")+"\n") // fails once the guard has ended
		_, open = <-w.toAgent.ch
	}
	err := w.wait()
	if !errors.Is(err, proxy.ErrUpstreamClosed) || !strings.Contains(err.Error(), "it was started 4 times within 1h0m0s and does not stay: exit status 3") {
		t.Errorf("the guard ended: %v", err)
	}
	if n := lives(t, file); n != 5 {
		t.Errorf("it was started %d times, want 5", n)
	}
}

// What never answered is not started again: a wrong command does not mend itself.
func TestAServerThatNeverAnswered(t *testing.T) {
	file, w := serveShell(t, `exit 7`, proxy.Restarts{})
	err := w.wait()
	if !errors.Is(err, proxy.ErrUpstreamClosed) || !strings.HasSuffix(err.Error(), "before it answered anything: exit status 7") {
		t.Errorf("the guard ended: %v", err)
	}
	if n := lives(t, file); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

// A process that ends and leaves another behind, with its output, has ended all
// the same.
func TestAServerThatLeavesAnotherBehind(t *testing.T) {
	file, w := serveShell(t, `read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; sleep 600 & read line; exit 3`, atOnce)
	w.agent(fmt.Sprintf(pingOf, "9"))
	w.toAgent.want(fmt.Sprintf(pongOf, "9"))
	w.agent(fmt.Sprintf(pingOf, "10"))
	w.toAgent.want(`{"jsonrpc":"2.0","id":10,"error":{"code":-32603,"message":"the tool server closed its connection"}}`)
	w.agentIn.Close()
	if err := w.wait(); err != nil {
		t.Errorf("the guard ended: %v", err)
	}
	if n := lives(t, file); n < 1 {
		t.Errorf("it was started %d times", n)
	}
}
