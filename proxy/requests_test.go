package proxy_test

import (
	"fmt"
	"testing"

	"countersign/proxy"
)

// A glob in the tools of a rule means tools alone: a rule for all tools that no
// params could fulfil keeps nothing else from the server, least of all the
// handshake. What a rule names exactly is judged, where it may be named at all.
func TestRulesOnRequests(t *testing.T) {
	chain := newMemory()
	w := guard(t, proxy.Config{Tools: tools("echo"), Agent: "a", Upstream: "u"}, ruleset(t,
		`{"id":"all","tools":["*","i*","{ping,logging}*","initialize"],"require":{"arg":"/never","is":true}},`+
			`{"id":"read","tools":["resources/read"],"require":{"arg":"/uri","is":"file:///ok"}},`+
			`{"id":"prompt","tools":["prompts/get"],"refuse":{"arg":"/name","is":"bad"}},`+
			`{"id":"complete","tools":["completion/complete"],"refuse":{"some":"/**","contains":["secret"]}}`), chain)
	passed := 0
	pass := func(method, params string) {
		t.Helper()
		passed++
		w.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","method":%q,"params":%s}`, passed, method, params))
		w.toServer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, passed, method, params))
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, passed))
		w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","result":{}}`, passed))
	}
	for _, method := range []string{"initialize", "server/discover", "ping", "resources/list", "prompts/list", "logging/setLevel", "somebody/elses"} {
		pass(method, `{}`)
	}
	pass("resources/read", `{"uri":"file:///ok"}`)
	pass("prompts/get", `{"name":"good"}`)
	pass("completion/complete", `{"argument":{"name":"a","value":"b"},"ref":{"name":"p","type":"ref/prompt"}}`)

	w.agent(`{"jsonrpc":"2.0","id":"r1","method":"resources/read","params":{"uri":"file:///etc/passwd"}}`)
	w.toAgent.want(faultLine(`"r1"`, -32602, `refused by the rule test/read: its test "is" of the argument /uri`))
	w.agent(`{"jsonrpc":"2.0","id":"r2","method":"prompts/get","params":{"name":"bad"}}`)
	w.toAgent.want(faultLine(`"r2"`, -32602, `refused by the rule test/prompt: its test "is" of the argument /name`))
	w.agent(`{"jsonrpc":"2.0","id":"r3","method":"completion/complete","params":{"argument":{"name":"a","value":"a secret"}}}`)
	w.toAgent.want(faultLine(`"r3"`, -32602, `refused by the rule test/complete: its test "contains" of the argument /*/*`))
	chain.wantEvents(t,
		"refused rule condition resources/read (no denial)",
		"refused rule condition prompts/get (no denial)",
		"refused rule condition completion/complete (no denial)")

	// Without an id none of them is a notification, whatever the server would do.
	for _, method := range []string{"resources/read", "prompts/get", "completion/complete", "tools/call", "tools/list", "tasks/cancel"} {
		w.agent(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"uri":"file:///ok","name":"bad"}}`, method))
	}
	w.pings(passed + 1)
}

// A watching rule for a request that is no call is kept in the ledger too, whether
// others refuse the request or none does.
func TestWatchedRequests(t *testing.T) {
	chain := newMemory()
	w := guard(t, proxy.Config{Tools: tools("echo")}, ruleset(t,
		`{"id":"watch","tools":["resources/read"],"mode":"watch","refuse":{"some":"/**","contains":"secret"}},`+
			`{"id":"no","tools":["resources/read"],"refuse":{"arg":"/uri","is":"secret:2"}}`), chain)
	for i, uri := range []string{"plain", "secret:1"} {
		w.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":%q}}`, uri))
		w.toServer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":%q}}`, i+1, uri))
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+1))
		w.toAgent.want(`{"jsonrpc":"2.0","id":"x","result":{}}`)
	}
	w.agent(`{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"secret:2"}}`)
	w.toAgent.want(faultLine(`"x"`, -32602, "refused by the rule test/no: its test \"is\" of the argument /uri"))
	w.close()
	chain.wantEvents(t, "notice watched", "refused rule condition resources/read (no denial)")
	if got := chain.no[0].Watched; len(got) != 1 || got[0].Rule != "test/watch" || got[0].Code != "condition" {
		t.Errorf("on record as watched: %v", got)
	}
}
