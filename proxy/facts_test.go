package proxy_test

import (
	"fmt"
	"testing"

	"countersign/proxy"
)

// A fact that the guard has nothing for cannot be judged. It is no empty text, which
// a rule that refuses by what it is would let pass.
func TestFactsThatThereAreNot(t *testing.T) {
	for _, fact := range []string{"agent", "upstream"} {
		list := fmt.Sprintf(`{"id":"tool","tools":["t"],"refuse":{"cel":"%s == 'other'"}},`+
			`{"id":"method","tools":["resources/read"],"refuse":{"cel":"%[1]s == 'other'"}}`, fact)
		read := `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a"}}`

		w := guard(t, proxy.Config{Mode: proxy.RulesOnly}, ruleset(t, list), nil)
		w.agent(callOf("1", "t", `{}`))
		w.listed(1, plain("t"))
		w.toAgent.want(refusedLine("1", "refused by the rule test/tool: its test \"cel\" cannot judge the call"))
		w.agent(read)
		w.toAgent.want(faultLine("2", -32602, "refused by the rule test/method: its test \"cel\" cannot judge the call"))
		w.close()

		w = guard(t, proxy.Config{Mode: proxy.RulesOnly, Agent: "a", Upstream: "u"}, ruleset(t, list), nil)
		w.agent(callOf("1", "t", `{}`))
		w.listed(1, plain("t"))
		w.toServer.want(callOf("2", "t", `{}`))
		w.server(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		w.agent(read)
		w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"a"}}`)
		w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`)
		w.toAgent.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		w.close()
	}
}
