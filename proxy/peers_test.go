package proxy_test

// Real peers: a client and a server of the Go SDK on either side of the guard.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/proxy"
)

// guardProgram is a guard as a program: it guards the test binary's everyday
// server in mode rules, over its own standard streams.
func guardProgram() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := proxy.New(proxy.Config{Mode: proxy.RulesOnly}, nil, nil, nil, nil)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	in, out, restore := proxy.Standard()
	defer restore()
	return proxy.Serve(ctx, proxy.Connection{
		Pipeline: p,
		Start: func(r proxy.Receiver) (proxy.Server, error) {
			return proxy.StartChild(proxy.ChildConfig{Command: exe, Env: []proxy.Variable{{Name: "PROXY_TEST_SERVER", Value: "everyday"}}, Getenv: os.Getenv}, r)
		},
		In: in, Out: out,
	})
}

// client connects a real client through a guard to the everyday server.
func client(t *testing.T, p *proxy.Pipeline, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	child := self(t, "everyday")
	go func() {
		err := proxy.Serve(context.Background(), proxy.Connection{
			Pipeline: p,
			Start:    func(r proxy.Receiver) (proxy.Server, error) { return proxy.StartChild(child, r) },
			In:       inRead, Out: outWrite, Log: testLog(t),
		})
		outWrite.Close()
		done <- err
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "real", Version: "1"}, o)
	c.AddRoots(&mcp.Root{URI: "file:///srv/work", Name: "work"})
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: outRead, Writer: inWrite}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		inWrite.Close()
		if err := <-done; err != nil {
			t.Errorf("the guard ended: %v", err)
		}
	})
	return session
}

func TestRealPeers(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { realPeers(t, version) })
	}
}

func realPeers(t *testing.T, version string) {
	names := []string{"echo", "add", "ask", "wait", "large"}
	r := newRecords(t, names...)
	rules := ruleset(t, `{"id":"no-secret","tools":["echo"],"refuse":{"arg":"/text","contains":"secret"},"say":"No secrets."}`)
	cfg := proxy.Config{Service: "guard", Agent: "agent", Tools: tools(names...)}
	p, err := proxy.New(cfg, rules, proxy.Recorded(r.chain), testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	progress := make(chan float64, 1)
	s := client(t, p, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		progress <- n.Params.Progress
	}})
	call := func(name string, arguments any) *mcp.CallToolResult {
		t.Helper()
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result
	}
	text := func(result *mcp.CallToolResult) string { return result.Content[0].(*mcp.TextContent).Text }

	// The server lists two tools a page; what may not be called is not shown.
	var listed []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, tool.Name)
	}
	slices.Sort(listed)
	if want := []string{"add", "ask", "echo", "large", "wait"}; !slices.Equal(listed, want) {
		t.Errorf("listed %v, want %v", listed, want)
	}
	if got := text(call("echo", map[string]any{"text": "a<b>&\u2028é"})); !strings.Contains(got, `a<b>&`) && !strings.Contains(got, `\u003c`) {
		t.Errorf("echo gave %q", got)
	}
	if got, _ := json.Marshal(call("add", map[string]any{"A": 1.5, "B": 2}).StructuredContent); string(got) != `{"Sum":3.5}` {
		t.Errorf("add gave %s", got)
	}
	// A call in which the server asks the client something.
	if got := text(call("ask", nil)); got != "file:///srv/work" {
		t.Errorf("ask gave %q", got)
	}
	if got := text(call("large", map[string]any{"N": 3 << 20})); len(got) != 3<<20 {
		t.Errorf("large gave %d bytes", len(got))
	}
	// Refused by a rule, by the settings, by the schema.
	if result := call("echo", map[string]any{"text": "my secret"}); !result.IsError || !strings.HasSuffix(text(result), "No secrets.") {
		t.Errorf("refused with %q", text(result))
	}
	if result := call("delete_all", nil); !result.IsError || text(result) != notOffered {
		t.Errorf("refused with %q", text(result))
	}
	if result := call("echo", map[string]any{"text": 7}); !result.IsError || !strings.Contains(text(result), `at "/text": type`) {
		t.Errorf("refused with %q", text(result))
	}
	// Progress arrives, and a cancellation reaches the server.
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "wait"}
		params.SetProgressToken("token")
		_, err := s.CallTool(ctx, params)
		waited <- err
	}()
	if got := <-progress; got != 1 {
		t.Errorf("progress %v", got)
	}
	cancel()
	if err := <-waited; err == nil {
		t.Error("the cancelled call gave a result")
	}
	// What is no call passes.
	resource, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///note"})
	if err != nil || resource.Contents[0].Text != "hello" {
		t.Errorf("the resource: %v %v", resource, err)
	}
	if err := s.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.Close()
	want := []string{"call echo", "outcome result", "call add", "outcome result", "call ask", "outcome result"}
	if version == "2026-07-28" {
		want = append(want, "call ask", "outcome result") // the second round
	}
	r.want(append(want, "call large", "outcome result",
		"refused rule condition echo", "refused settings unlisted delete_all", "refused settings schema echo",
		"call wait", "outcome cancelled")...)
}

// Calls at once: each gets its own answer, and each is on record once.
func TestRealPeersAtOnce(t *testing.T) {
	r := newRecords(t, "echo")
	p, err := proxy.New(proxy.Config{Service: "guard", Agent: "agent", Tools: tools("echo")}, nil, proxy.Recorded(r.chain), testLog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := client(t, p, "", nil)
	const calls = 40
	wrong := make(chan string, calls)
	for i := range calls {
		go func() {
			want := fmt.Sprintf("text %d", i)
			result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": want}})
			switch {
			case err != nil:
				wrong <- err.Error()
			case result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, want):
				wrong <- fmt.Sprintf("%d gave %+v", i, result.Content[0])
			default:
				wrong <- ""
			}
		}()
	}
	for range calls {
		if w := <-wrong; w != "" {
			t.Error(w)
		}
	}
	s.Close()
	var want []string
	for range calls {
		want = append(want, "call echo", "outcome result")
	}
	r.want(want...)
}

// The guard as a program over its own standard streams, started and ended by a
// real client.
func TestRealPeersOverStandardStreams(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "PROXY_TEST_SERVER=guard")
	c := mcp.NewClient(&mcp.Implementation{Name: "real", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"A": 1, "B": 2}})
	if err != nil || result.IsError {
		t.Fatalf("got %v %v", result, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the guard's exit code is %d", code)
	}
}
