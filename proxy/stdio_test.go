package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/proxy"
)

func TestCallPasses(t *testing.T) {
	chain := newMemory()
	w := guard(t, proxy.Config{Service: "guard", Tools: tools("t")}, nil, chain)
	w.agent(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t","arguments":{"b":1,"a":2.0}}}`)
	w.listed(1, plain("t"))
	w.toServer.want(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"b":1,"a":2.0}}}`)
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`)
	w.close()
	chain.wantEvents(t, "call t", "outcome result")
}

// cases/stdio-and-protocol.md
func TestSTDIO01LongLines(t *testing.T) {
	chain := newMemory()
	w := guard(t, proxy.Config{Tools: tools("t")}, nil, chain)
	call := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"s":"%s"}}}`, n, strings.Repeat("a", n))
	}
	want := []string{}
	for i, n := range []int{65000, 65536, 70000, 5000000} {
		w.agent(call(n))
		if i == 0 {
			w.listed(1, plain("t"))
		}
		w.toServer.want(strings.Replace(call(n), fmt.Sprintf(`"id":%d`, n), fmt.Sprintf(`"id":%d`, i+2), 1))
		result := fmt.Sprintf(`,"result":{"content":[],"s":"%s"}}`, strings.Repeat("b", n))
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d`, i+2) + result)
		w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d`, n) + result)
		want = append(want, "call t", "outcome result")
	}
	// Past the limit, with and without an id that can be made out.
	w.agent(call(11 << 20))
	w.toAgent.want(`{"jsonrpc":"2.0","id":11534336,"error":{"code":-32600,"message":"a message of more than 10485760 bytes"}}`)
	w.agent(strings.Repeat("[", 11<<20))
	w.toAgent.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message of more than 10485760 bytes"}}`)
	w.agent(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	w.server(`{"jsonrpc":"2.0","id":6,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	w.close()
	chain.wantEvents(t, append(want, "notice refused-message", "notice refused-message")...)
}
