package proxy_test

// The cases of cases/stdio-and-protocol.md and cases/json.md, by their names. The
// inputs are the project's own.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"countersign/proxy"
)

func callOf(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

func refusedLine(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}],"isError":true}}`, id, text)
}

const notOffered = "this tool is not offered here"

func faultLine(id string, code int, why string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, strconv.Quote(why))
}

// pings shows that the connection lives on: a ping goes through. number is the
// one the guard gives it at the server.
func (w *wires) pings(number int) {
	w.t.Helper()
	w.agent(`{"jsonrpc":"2.0","id":"still here","method":"ping"}`)
	w.toServer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, number))
	w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, number))
	w.toAgent.want(`{"jsonrpc":"2.0","id":"still here","result":{}}`)
}

func TestSTDIO01LongLines(t *testing.T) {
	w, r := recorded(t, nil, "t")
	call := func(n int) string {
		return callOf(strconv.Itoa(n), "t", `{"s":"`+strings.Repeat("a", n)+`"}`)
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
	w.toAgent.want(faultLine("11534336", -32600, "a message of more than 10485760 bytes"))
	w.agent(strings.Repeat("[", 11<<20))
	w.toAgent.want(faultLine("null", -32600, "a message of more than 10485760 bytes"))
	w.pings(6)
	w.close()
	r.want(append(want, "notice refused-message", "notice refused-message")...)
}

// The same bytes, cut into pieces in every way: one verdict.
func TestSTDIO02PiecesMakeNoDifference(t *testing.T) {
	const refusesB = `{"id":"no-b","tools":["b"],"refuse":{"every":"/**","named":["x"],"type":"string"}}`
	input := callOf("1", "a", `{}`) + "\n" + callOf("2", "b", `{"x":"y"}`) + "\r\n" +
		`{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\n" + callOf("4", "a", `{"s":"€"}`) + "\n"
	cuts := map[string][]int{
		"in one piece":      {len(input)},
		"half way in":       {56, 20, 130, len(input)},
		"inside the euro":   {strings.Index(input, "€") + 2, len(input)},
		"inside a line end": {strings.Index(input, "\r\n") + 1, len(input)},
	}
	for i := range len(input) {
		_ = i
		cuts["a byte at a time"] = append(cuts["a byte at a time"], 1)
	}
	for name, sizes := range cuts {
		t.Run(name, func(t *testing.T) {
			w, r := recorded(t, ruleset(t, refusesB), "a", "b")
			rest := input
			for _, n := range sizes {
				n = min(n, len(rest))
				if _, err := w.agentIn.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			w.serve(map[string]string{"a": plain("a"), "b": plain("b")})
			answers := map[string]string{}
			for range 4 {
				line := w.toAgent.next()
				id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"jsonrpc":"2.0","id":`), ",")
				answers[id] = line
			}
			if !strings.Contains(answers["2"], `"isError":true`) || !strings.Contains(answers["2"], "test/no-b") {
				t.Errorf("the second call was not refused by its rule: %s", answers["2"])
			}
			for id, want := range map[string]string{
				"1": `{"jsonrpc":"2.0","id":1,"result":{"content":[],"got":{"name":"a","arguments":{}}}}`,
				"3": `{"jsonrpc":"2.0","id":3,"result":{}}`,
				"4": `{"jsonrpc":"2.0","id":4,"result":{"content":[],"got":{"name":"a","arguments":{"s":"€"}}}}`,
			} {
				if answers[id] != want {
					t.Errorf("answer %s:\n got %s\nwant %s", id, answers[id], want)
				}
			}
			w.closeServed()
			r.want("call a", "outcome result", "refused rule condition b", "call a", "outcome result")
		})
	}
}

func TestSTDIO03Batches(t *testing.T) {
	w, r := recorded(t, nil, "delete_all")
	lines := []string{
		`[` + callOf("1", "delete_all", `{}`) + `]`,
		`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		`[]`,
		` [ [] ]`,
		`"x"`,
		`null`,
	}
	var want []string
	for i, line := range lines {
		w.agent(line)
		why := "a batch, expected one message"
		if i > 3 {
			why = "not an object, expected one message"
		}
		w.toAgent.want(faultLine("null", -32600, why))
		want = append(want, "notice refused-message")
	}
	w.pings(1)
	// One that comes from the server is not passed on either.
	w.server(`[{"jsonrpc":"2.0","method":"notifications/message","params":{}}]`)
	w.pings(2)
	w.close()
	r.want(want...)
}

func TestSTDIO04Ids(t *testing.T) {
	w, r := recorded(t, nil, "y")
	var want []string
	for _, id := range []string{`"1"`, `1`, `"01"`, `""`, `-1`, `"a\u0000b"`, `1.0`, `9007199254740991`} {
		w.agent(callOf(id, "x", `{}`))
		w.toAgent.want(refusedLine(id, notOffered))
		want = append(want, "refused settings unlisted x")
	}
	const odd = "an id that is neither text nor a whole number within ±9007199254740991, of at most 1024 bytes"
	for _, id := range []string{`1.5`, `true`, `{"n":1}`, `null`, `[1]`, `9007199254740992`, `"` + strings.Repeat("a", 1100) + `"`} {
		w.agent(callOf(id, "x", `{}`))
		w.toAgent.want(faultLine("null", -32600, odd))
		want = append(want, "notice refused-message")
	}
	// A number that some readers round: refused whole.
	w.agent(callOf(`9007199254740993`, "x", `{}`))
	if got := w.toAgent.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`) {
		t.Errorf("got %s", got)
	}
	want = append(want, "notice refused-message")
	// "1" and 1 open at once are two calls; a second 1 is refused.
	w.agent(`{"jsonrpc":"2.0","id":"1","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	w.toAgent.want(faultLine("1.0", -32600, "the id is that of a request that is open still"))
	want = append(want, "notice refused-message")
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"n":2}}`, `{"jsonrpc":"2.0","id":1,"result":{"n":1}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{"n":2}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":"1","result":{"n":1}}`)
	// Answered, the id is free again.
	w.agent(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	w.server(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	w.close()
	r.want(want...)
}

func TestSTDIO05AListThatChanges(t *testing.T) {
	w, r := recorded(t, nil, "read_file")
	const (
		before = `{"name":"read_file","description":"one","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`
		after  = `{"name":"read_file", "description":"two","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"more":{}}}}`
	)
	// A call before the agent asked for any list.
	w.agent(callOf("1", "read_file", `{"path":"a"}`))
	w.listed(1, before, plain("delete_all"))
	w.toServer.want(callOf("2", "read_file", `{"path":"a"}`))
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)

	w.agent(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	w.server(`{"jsonrpc":"2.0","id":3,"result":{"tools":[ ` + before + ` , ` + plain("delete_all") + `],"nextCursor":""}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + before + `],"nextCursor":""}}`)

	// A denied tool and one that does not exist: one shape.
	w.agent(callOf("3", "delete_all", `{}`))
	w.toAgent.want(refusedLine("3", notOffered))
	w.agent(callOf("4", "no_such_tool", `{}`))
	w.toAgent.want(refusedLine("4", notOffered))

	w.server(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	w.toAgent.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	w.agent(`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":""}}`)
	w.toServer.want(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":""}}`)
	w.server(`{"jsonrpc":"2.0","id":4,"result":{"tools":[` + plain("delete_all") + `,` + after + `,` + plain("format_disk") + `]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":5,"result":{"tools":[` + after + `]}}`)
	w.agent(callOf("6", "format_disk", `{}`))
	w.toAgent.want(refusedLine("6", notOffered))
	w.close()
	r.want("call read_file", "outcome result",
		"refused settings unlisted delete_all", "refused settings unlisted no_such_tool",
		"notice tool-changed", "refused settings unlisted format_disk")
	var notes []string
	for _, l := range r.ledger() {
		if l.Kind == "refused" {
			notes = append(notes, l.Note)
		}
	}
	want := []string{
		"no entry in the settings; the server has such a tool",
		"no entry in the settings",
		"no entry in the settings; the server has such a tool",
	}
	if strings.Join(notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("the ledger tells them apart as\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(want, "\n"))
	}
}

func TestJSON01TheSameKeyInAnotherCase(t *testing.T) {
	w, r := recorded(t, nil, "read_file")
	var want []string
	refuse := func(line, answer string) {
		t.Helper()
		w.agent(line)
		w.toAgent.want(answer)
		want = append(want, "notice refused-message")
	}
	only := func(name string) string {
		return fmt.Sprintf("a member of params that differs from %q only in case", name)
	}
	odd := func(name string) string { return fmt.Sprintf("a member that differs from %q only in case", name) }
	refuse(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","Name":"delete_all","arguments":{}}}`, faultLine("1", -32600, only("name")))
	refuse(`{"jsonrpc":"2.0","id":2,"Method":"tools/call","method":"ping","params":{"name":"delete_all","arguments":{}}}`, faultLine("2", -32600, odd("method")))
	refuse(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/srv/a"},"argument`+"ſ"+`":{"path":"/etc/x"}}}`, faultLine("3", -32600, only("arguments")))
	refuse(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/srv/a"},"argument\u017f":{"path":"/etc/x"}}}`, faultLine("3", -32600, only("arguments")))
	refuse(`{"jsonrpc":"2.0","id":4,"METHOD":"tools/call","PARAMS":{"NAME":"delete_all"}}`, faultLine("4", -32600, odd("params")))
	refuse(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_file","tas`+"\u212a"+`":{}}}`, faultLine("5", -32600, only("task")))
	refuse(`{"jsonrpc":"2.0","ID":6,"method":"tools/call","params":{"name":"read_file"}}`, faultLine("null", -32600, odd("id")))
	refuse(`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"a","URI":"b"}}`, faultLine("7", -32600, only("uri")))
	// Also where some other reader would not mind.
	refuse(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"read_file","extra":1}}`,
		faultLine("8", -32602, "params of tools/call hold a member that is none of [_meta name arguments inputResponses requestState task]"))
	refuse(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read_file"},"extra":1}`, faultLine("9", -32600, "a member that JSON-RPC does not know"))
	// The same key twice.
	refuse(`{"jsonrpc":"2.0","id":10,"method":"ping","method":"tools/call"}`,
		faultLine("10", -32700, "not one strict JSON value: byte 41: a member name stands twice in one object"))
	refuse(`{"jsonrpc":"2.0","id":11,"id":12,"method":"ping"}`,
		faultLine("null", -32700, "not one strict JSON value: byte 25: a member name stands twice in one object"))

	// In arguments: what the tool's schema names, at its depth.
	const tool = `{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"list":{"type":"array","items":{"$ref":"#/$defs/one"}}},"$defs":{"one":{"type":"object","properties":{"deep":{}}}}}}`
	alike := func(name string) string {
		return fmt.Sprintf("a member of the arguments that differs from %q only in case", name)
	}
	w.agent(callOf("20", "read_file", `{"Path":"x"}`))
	w.listed(1, tool)
	w.toAgent.want(faultLine("20", -32602, alike("path")))
	refuse(callOf("21", "read_file", `{"path":"x","PATH":"y"}`), faultLine("21", -32602, alike("path")))
	refuse(callOf("22", "read_file", `{"list":[{},{"Deep":1}]}`), faultLine("22", -32602, alike("deep")))
	want = append(want, "notice refused-message")
	// Any others that differ only in case are legal.
	ok := callOf("23", "read_file", `{"a":1,"A":2,"list":[{"Path":1,"list":2}]}`)
	w.agent(ok)
	w.toServer.want(strings.Replace(ok, `"id":23`, `"id":2`, 1))
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":23,"result":{"content":[]}}`)
	w.pings(3)
	w.close()
	r.want(append(want, "call read_file", "outcome result")...)
}

// A name that the rules have, at its place and at any depth.
func TestJSON01NamesOfRules(t *testing.T) {
	rules := ruleset(t, `
		{"id":"one","tools":["t"],"refuse":{"arg":"/target/path","is":"x"}},
		{"id":"two","tools":["t"],"refuse":{"some":"/**","named":["secret"],"contains":"x"}},
		{"id":"three","tools":["other"],"refuse":{"arg":"/free","is":"x"}}`)
	w, r := recorded(t, rules, "t")
	w.agent(callOf("1", "t", `{"target":{"Path":"x"}}`))
	w.listed(1, plain("t"))
	alike := func(name string) string {
		return fmt.Sprintf("a member of the arguments that differs from %q only in case", name)
	}
	w.toAgent.want(faultLine("1", -32602, alike("path")))
	w.agent(callOf("2", "t", `{"Target":{}}`))
	w.toAgent.want(faultLine("2", -32602, alike("target")))
	w.agent(callOf("3", "t", `{"a":[{"b":{"Secret":1}}]}`))
	w.toAgent.want(faultLine("3", -32602, alike("secret")))
	ok := callOf("4", "t", `{"Free":{"Path":"y","path":"z"},"target":{"path":"y","other":{"PATH":1}}}`)
	w.agent(ok)
	w.toServer.want(strings.Replace(ok, `"id":4`, `"id":2`, 1))
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":4,"result":{"content":[]}}`)
	w.close()
	r.want("notice refused-message", "notice refused-message", "notice refused-message", "call t", "outcome result")
}

func TestJSON02Numbers(t *testing.T) {
	w, r := recorded(t, ruleset(t, `{"id":"r","tools":["get"],"refuse":{"arg":"/id","is":9007199254740992}}`), "get")
	var want []string
	n := 1
	pass := func(arguments string) {
		t.Helper()
		w.agent(callOf("1", "get", arguments))
		if n == 1 {
			w.listed(1, plain("get"))
		}
		n++
		w.toServer.want(callOf(strconv.Itoa(n), "get", arguments))
		// On the way back the bytes stay what they are, also past what a double
		// holds exactly.
		result := `,"result":{"content":[],"n":9223372036854775807,"f":0.10,"e":1E+2}}`
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d`, n) + result)
		w.toAgent.want(`{"jsonrpc":"2.0","id":1` + result)
		want = append(want, "call get", "outcome result")
	}
	for _, arguments := range []string{
		`{"id":9007199254740991}`, `{"id":-9007199254740991}`,
		`{"v":1.0,"w":1e2,"x":0.10,"y":"a<b&c","z":"\u2028"}`, `{"b":1,"a":2}`,
	} {
		pass(arguments)
	}
	for _, arguments := range []string{`{"id":9223372036854775807}`, `{"id":9007199254740993}`, `{"id":9007199254740993.0}`, `{"id":1e400}`} {
		w.agent(callOf("1", "get", arguments))
		got := w.toAgent.next()
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32700,`) || !strings.Contains(got, "double") {
			t.Errorf("%s: got %s", arguments, got)
		}
		if strings.Contains(arguments, "9007") && !strings.Contains(got, "9007199254740991") {
			t.Errorf("%s: the limit is not told: %s", arguments, got)
		}
		want = append(want, "notice refused-message")
	}
	w.close()
	r.want(want...)
}

// A number in an answer that no double holds: the answer is not delivered.
func TestJSON02NumbersOfAnAnswer(t *testing.T) {
	w, r := recorded(t, nil, "get")
	w.agent(callOf("1", "get", `{}`))
	w.listed(1, plain("get"))
	w.toServer.want(callOf("2", "get", `{}`))
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"content":[],"n":1e400}}`)
	w.toAgent.want(refusedLine("1", "the tool server answered; its answer cannot be read in only one way and is withheld, so the outcome is not known"))
	w.close()
	r.want("call get", "outcome unreadable")
}

func TestJSON03Depth(t *testing.T) {
	w, r := recorded(t, nil, "t")
	var want []string
	for _, arguments := range []string{
		`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		strings.Repeat(`{"a":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000),
		`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
	} {
		w.agent(callOf("1", "t", arguments))
		if got := w.toAgent.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32700,`) || !strings.Contains(got, "deeper than 66 levels") {
			t.Errorf("got %s", cut(got))
		}
		want = append(want, "notice refused-message")
	}
	deep := callOf("3", "t", `{"a":`+strings.Repeat("[", 63)+strings.Repeat("]", 63)+`}`)
	w.agent(deep)
	w.listed(1, plain("t"))
	w.toServer.want(strings.Replace(deep, `"id":3`, `"id":2`, 1))
	// A result may go deeper, and has its bound too.
	w.server(`{"jsonrpc":"2.0","id":2,"result":{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}}`)
	w.toAgent.want(`{"jsonrpc":"2.0","id":3,"result":{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}}`)
	w.agent(deep)
	w.toServer.want(strings.Replace(deep, `"id":3`, `"id":3`, 1))
	w.server(`{"jsonrpc":"2.0","id":3,"result":{"a":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + `}}`)
	w.toAgent.want(refusedLine("3", "the tool server answered; its answer cannot be read in only one way and is withheld, so the outcome is not known"))
	w.close()
	r.want(append(want, "call t", "outcome result", "call t", "outcome unreadable")...)
}

func TestJSON04BadLines(t *testing.T) {
	w, r := recorded(t, nil, "x")
	number := 0
	pinged := func(id string) {
		t.Helper()
		number++
		w.toServer.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, number))
		w.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, number))
		w.toAgent.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id))
	}
	bad := func(id, why string) {
		t.Helper()
		w.toAgent.want(faultLine(id, -32700, "not one strict JSON value: "+why))
	}
	w.agent("not json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	bad("null", "byte 0: expected a JSON value")
	pinged("1")
	// A byte-order mark is refused wherever it stands.
	w.agent("\ufeff" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	bad("null", "byte 0: a byte-order mark")
	w.agent(`{"jsonrpc":"2.0","id":3,"method":"ping"}` + "\r")
	pinged("3")
	w.agent("", "\r", "   \t", `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	pinged("4")
	w.agent(`{"jsonrpc":"2.0","id":5,"method":"ping"} {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"x"}}`)
	bad("null", "byte 41: something stands behind the value")
	w.agent(`{"jsonrpc":"2.0","id":7,`, `"method":"ping"}`)
	bad("null", "byte 24: the text ends inside a value")
	bad("null", "byte 8: something stands behind the value")
	// A carriage return inside a line ends it for some readers.
	w.agent(`{"jsonrpc":"2.0","id":8,` + "\r" + `"method":"ping"}`)
	w.toAgent.want(faultLine("8", -32700, "a carriage return inside the line"))
	w.agent(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"` + "\xff" + `"}}`)
	bad("9", "byte 55: invalid UTF-8")
	// The last line has no end: it is not acted on.
	w.agentIn.Write([]byte(`{"jsonrpc":"2.0","id":10,"method":"ping"}`))
	w.agentIn.Close()
	w.toAgent.want(faultLine("10", -32700, "the input ends inside a line"))
	w.close()
	var want []string
	for range 8 {
		want = append(want, "notice refused-message")
	}
	r.want(want...)
}

// A notification is never answered, whatever is wrong with it.
func TestNotificationsAreNotAnswered(t *testing.T) {
	w, r := recorded(t, nil, "t")
	w.agent(
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"RequestId":1}}`,
		`{"jsonrpc":"1.0","method":"notifications/initialized"}`,
	)
	w.pings(1)
	w.close()
	r.want("notice refused-message", "notice refused-message", "notice refused-message", "notice refused-message", "notice refused-message")
}

var _ = proxy.Config{}
