package proxy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/proxy"
	"countersign/receipts"
)

// under gives a guard over a chain that fails or stands still on cue.
func under(t *testing.T, chain *memory, cfg proxy.Config) *wires {
	cfg.Service = "guard"
	cfg.Tools = tools("t")
	return guard(t, cfg, nil, chain)
}

// sent makes the first call and waits until it is at the server.
func (w *wires) sent() {
	w.t.Helper()
	w.agent(callOf("1", "t", `{}`))
	w.listed(1, plain("t"))
	w.toServer.want(callOf("2", "t", `{}`))
}

// impatient is a timeout for tests that wait for it, in which a machine under load
// still does all else.
const impatient = 2 * time.Second

const stillNotKnown = ", so the outcome is not known"

func TestNoAnswerInTime(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{Timeout: impatient})
	w.sent()
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"timeout"}}`)
	w.toAgent.want(refusedLine("1", "the tool server did not answer within 2s"+stillNotKnown))
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`) // too late
	w.pings(3)
	w.close()
	chain.wantEvents(t, "call t", "outcome timeout")
	if d := chain.ends[0].Detail; d.Name != "countersign.outcome-not-known" || d.SHA256 != receipts.Fingerprint([]byte("timeout")) {
		t.Errorf("the outcome is bound as %v", d)
	}
}

// A tool list that does not come keeps every call back.
func TestNoListInTime(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{Timeout: impatient})
	w.agent(callOf("1", "t", `{}`))
	w.toServer.want(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"timeout"}}`)
	w.toAgent.want(refusedLine("1", "the tool server's list of tools cannot be read, so no call can be held against it"))
	w.close()
	chain.wantEvents(t, "refused settings schema t")
}

func TestTheServerEndsInTheMiddleOfACall(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	w.serverIn.Close()
	w.toAgent.want(refusedLine("1", "the tool server closed its connection while this call was with it"+stillNotKnown))
	if err := w.wait(); !errors.Is(err, proxy.ErrUpstreamClosed) {
		t.Errorf("the guard ended: %v", err)
	}
	chain.wantEvents(t, "call t", "outcome upstream-closed")
}

// A stop settles the call in flight, and what waits is not sent.
func TestStopWithACallInFlight(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	w.agent(callOf("2", "t", `{"x":1}`), `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"ping"}`) // the agent's input is read to here
	w.cancel()
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"stopped"}}`)
	got := []string{w.toAgent.next(), w.toAgent.next(), w.toAgent.next()}
	for _, want := range []string{
		refusedLine("1", "the guard stopped while this call was with the tool server"+stillNotKnown),
		refusedLine("2", "the guard stops; the call was not sent"),
		faultLine("3", -32603, "the tool server closed its connection"),
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("missing %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	if err := w.wait(); err != nil {
		t.Errorf("the guard ended: %v", err)
	}
	chain.wantEvents(t, "call t", "outcome stopped")
}

// The agent closes its input: what it asked for is still answered.
func TestTheAgentClosesItsInput(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	w.agent(callOf("2", "t", `{}`), `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	w.agentIn.Close()
	w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"n":1}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{"n":1}}`)
	w.toServer.want(callOf("4", "t", `{}`))
	w.server(`{"jsonrpc":"2.0","id":4,"result":{"n":2}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":2,"result":{"n":2}}`)
	w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.close()
	chain.wantEvents(t, "call t", "outcome result", "call t", "outcome result")
}

// The order of steps: nothing goes upstream before the copy is on the disk, and
// nothing to the agent before the receipt is.
func TestNothingBeforeItIsOnRecord(t *testing.T) {
	chain := newMemory()
	chain.hold = make(chan struct{})
	w := under(t, chain, proxy.Config{})
	w.sent()
	chain.wantEvents(t, "call t")
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	// Other traffic goes on while the receipt is written.
	w.pings(3)
	chain.wantEvents(t, "call t")
	close(chain.hold)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	w.close()
	chain.wantEvents(t, "call t", "outcome result")
	if o := chain.ends[0]; string(o.Result) != `{"result":{"content":[]}}` || o.Detail.Name != "provared.tool-result" || o.Detail.SHA256 != receipts.Fingerprint(o.Result) {
		t.Errorf("the outcome is bound as %+v", o)
	}
	var names []string
	for _, d := range chain.copies[0].Details {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "arguments provared.tool-name" {
		t.Errorf("the stub's details are %s", got)
	}
}

// What cannot be recorded: what the agent is told, and whether the guard goes on.
func TestRecordsThatFail(t *testing.T) {
	const withheld = "the server answered; its answer is withheld because it could not be recorded; do not repeat the call"
	for _, c := range []struct {
		name, event string
		err         error
		sent        bool   // the call reaches the server
		told        string // the agent is told
		fatal       bool
		events      string
	}{
		{"no turn", "take", errBroken, false, "the call cannot be recorded now and was not sent", true, ""},
		{"busy", "take", receipts.ErrBusy, false, "busy: too many calls are waiting for their turn; the call was not sent", false, ""},
		{"no copy", "call", fmt.Errorf("%w: x", receipts.ErrNotRecorded), false, "the call cannot be recorded now and was not sent", true, ""},
		{"no room", "call", receipts.ErrNoRoom, false, "the call cannot be recorded now and was not sent", false, ""},
		{"no outcome", "outcome", fmt.Errorf("%w: x", receipts.ErrWithheld), true, withheld, true, "call t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := newMemory()
			chain.fail[c.event] = c.err
			w := under(t, chain, proxy.Config{})
			w.agent(callOf("1", "t", `{}`))
			w.listed(1, plain("t"))
			number := 2
			if c.sent {
				w.toServer.want(callOf("2", "t", `{}`))
				w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
				number = 3
			}
			w.toAgent.want(refusedLine("1", c.told))
			if c.fatal {
				if err := w.wait(); !errors.Is(err, c.err) {
					t.Errorf("the guard ended: %v", err)
				}
			} else {
				w.pings(number)
				w.close()
			}
			if got := strings.Join(chain.events, "\n"); got != c.events {
				t.Errorf("on record: %q, want %q", got, c.events)
			}
		})
	}
}

// A refusal that cannot be recorded is still one.
func TestARefusalThatCannotBeRecorded(t *testing.T) {
	chain := newMemory()
	chain.fail["refused"] = errBroken
	w := under(t, chain, proxy.Config{})
	w.agent(callOf("1", "other", `{}`))
	w.toAgent.want(refusedLine("1", notOffered))
	if err := w.wait(); !errors.Is(err, errBroken) {
		t.Errorf("the guard ended: %v", err)
	}
}

// As many wait as may; the next is turned away, and nobody overtakes.
func TestWaiting(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{MaxWaiting: 2})
	w.sent() // has the turn
	w.agent(callOf("2", "t", `{"n":2}`), callOf("3", "t", `{"n":3}`), callOf("4", "t", `{"n":4}`), callOf("5", "t", `{"n":5}`))
	// One of them asks the chain for the turn, two wait behind it.
	w.toAgent.want(refusedLine("5", "busy: too many calls are waiting for their turn; the call was not sent"))
	for n := 1; n <= 4; n++ {
		if n > 1 {
			w.toServer.want(callOf(fmt.Sprint(n+1), "t", fmt.Sprintf(`{"n":%d}`, n)))
		}
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+1))
		w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n))
	}
	w.close()
}

// A call that is given up while it waits is neither sent nor recorded nor
// answered, and those behind it keep their order.
func TestGivenUpWhileWaiting(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	w.agent(callOf("2", "t", `{"n":2}`), callOf("3", "t", `{"n":3}`), callOf("4", "t", `{"n":4}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	w.pings(3)
	w.server(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	w.toServer.want(callOf("4", "t", `{"n":4}`))
	w.server(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	w.close()
	chain.wantEvents(t, "call t", "outcome result", "call t", "outcome result")
}

// An agent that does not read is cut off.
func TestAnAgentThatDoesNotRead(t *testing.T) {
	p, err := proxy.New(proxy.Config{Timeout: 100 * time.Millisecond}, nil, nil, testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := guardWith(t, p, unread)
	go func() { // more than a pipe holds
		line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("a", 10_000) + `"}}` + "\n"
		for range 1000 {
			if _, err := w.serverIn.Write([]byte(line)); err != nil {
				return
			}
		}
	}()
	if err := w.wait(); !errors.Is(err, proxy.ErrStalled) {
		t.Errorf("the guard ended: %v", err)
	}
}

// A line of the server's that is too long is not kept; the call it answers has no
// outcome that is known.
func TestAnAnswerThatIsTooLong(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"` + strings.Repeat("a", proxy.ServerLimit) + `"}]}}`)
	w.toAgent.want(refusedLine("1", "the tool server answered; its answer cannot be read in only one way and is withheld, so the outcome is not known"))
	w.pings(3)
	w.close()
	chain.wantEvents(t, "call t", "outcome unreadable")
}

// A request that is no call is not waited for without end either.
func TestNoAnswerInTimeToOtherRequests(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{Timeout: impatient})
	const late = "the tool server did not answer within 2s"
	// The handshake must not be cancelled; a subscription has no end.
	w.agent(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	w.toAgent.want(faultLine("1", -32603, late))
	w.agent(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}`)
	w.agent(`{"jsonrpc":"2.0","id":"r","method":"resources/list"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"resources/list"}`)
	w.toAgent.want(faultLine(`"r"`, -32603, late))
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"timeout"}}`)
	w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`) // the first too late
	w.toAgent.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	w.agent(`{"jsonrpc":"2.0","id":"r","method":"resources/list"}`) // the id is free again
	w.toServer.want(`{"jsonrpc":"2.0","id":4,"method":"resources/list"}`)
	w.toAgent.want(faultLine(`"r"`, -32603, late))
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"timeout"}}`)
	w.close()
	chain.wantEvents(t)
}

// A call whose server ended while it waited for its turn waits for the next one, and
// nothing is on record of it before.
func TestTheServerEndsWhileACallWaits(t *testing.T) {
	chain := newMemory()
	w := restarting(t, chain, proxy.Config{}, atOnce)
	w.sent()
	w.agent(callOf("2", "t", `{"n":2}`), callOf("3", "t", `{"n":3}`))
	w.pings(3)
	w.crash()
	w.toAgent.want(refusedLine("1", "the tool server closed its connection while this call was with it"+stillNotKnown))
	w.again()
	w.listed(4, plain("t"))
	for n := 2; n <= 3; n++ {
		w.toServer.want(callOf(fmt.Sprint(n+3), "t", fmt.Sprintf(`{"n":%d}`, n)))
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n+3))
		w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n))
	}
	w.close()
	chain.wantEvents(t, "call t", "outcome upstream-closed", "notice server-restarted", "call t", "outcome result", "call t", "outcome result")
}

// A tool that changes while a call of it waits is looked at again when its turn has
// come.
func TestAToolThatChangesWhileACallWaits(t *testing.T) {
	for name, c := range map[string]struct{ tools, told, event string }{
		"other arguments": {`{"name":"t","inputSchema":{"type":"object","required":["more"]}}`, "", "refused settings schema t"},
		"gone":            {plain("other"), notOffered, "refused settings unlisted t"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := newMemory()
			w := under(t, chain, proxy.Config{})
			w.sent()
			w.agent(callOf("2", "t", `{"n":2}`))
			w.pings(3)
			w.server(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			w.toAgent.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			w.listed(4, c.tools)
			if got := w.toAgent.next(); !strings.Contains(got, `"id":2,`) || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, c.told) {
				t.Errorf("got %s", got)
			}
			w.close()
			if got := chain.events[len(chain.events)-1]; got != c.event {
				t.Errorf("on record is %s, want %s", got, c.event)
			}
		})
	}
}

// An outcome that is not known and cannot be recorded is not told as an answer.
func TestAnUnknownOutcomeThatCannotBeRecorded(t *testing.T) {
	chain := newMemory()
	chain.fail["outcome"] = fmt.Errorf("%w: x", receipts.ErrWithheld)
	w := under(t, chain, proxy.Config{Timeout: impatient})
	w.sent()
	w.toServer.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"timeout"}}`)
	w.toAgent.want(refusedLine("1", "the tool server did not answer within 2s"+stillNotKnown+", and that could not be recorded; do not repeat the call"))
	if err := w.wait(); !errors.Is(err, receipts.ErrWithheld) {
		t.Errorf("the guard ended: %v", err)
	}
}

// A state that was given back with a call that could not be sent is good for another.
func TestAStateOfACallThatWasNotSent(t *testing.T) {
	chain := newMemory()
	w := under(t, chain, proxy.Config{})
	w.sent()
	const asks = `"result":{"resultType":"input_required","requestState":"s"}}`
	w.server(`{"jsonrpc":"2.0","id":2,` + asks)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,` + asks)
	round := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{},"inputResponses":{},"requestState":"s"}}`, id)
	}
	room := func(err error) {
		chain.mu.Lock()
		defer chain.mu.Unlock()
		chain.fail["call"] = err
	}
	room(receipts.ErrNoRoom)
	w.agent(round(2))
	w.toAgent.want(refusedLine("2", "the call cannot be recorded now and was not sent"))
	room(nil)
	w.agent(round(3))
	w.toServer.want(round(3))
	w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.close()
}
