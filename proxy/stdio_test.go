package proxy_test

import (
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
