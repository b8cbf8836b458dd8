package proxy_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoIn struct {
	Text string `json:"text"`
}

type echoOut struct {
	Text string `json:"text"`
}

// everyday is a real server of the Go SDK with a few tools.
func everyday() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "everyday", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "gives back its text"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
		return nil, echoOut(in), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ A, B float64 }) (*mcp.CallToolResult, struct{ Sum float64 }, error) {
		return nil, struct{ Sum float64 }{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "delete_all"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it ran")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		// In the legacy eras the SDK makes this a request of the server's own in
		// the middle of the call, in the modern one a second round of it.
		roots, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, RequestState: "first round"}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: roots.Roots[0].URI}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1}); err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "large"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ N int }) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("a", in.N)}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "file:///note", Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///note", Text: "hello"}}}, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// stubborn ignores the end of its input and every signal it can, and so does the
// child it leaves behind. It says the process numbers of both.
func stubborn() error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if os.Getenv("GRANDCHILD") == "" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		c := exec.Command(exe)
		c.Env = append(os.Environ(), "GRANDCHILD=1")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "pids %d %d\n", os.Getpid(), c.Process.Pid)
	}
	for {
		time.Sleep(time.Hour)
	}
}

// environ prints what it was given: its environment and its open files.
func environ() error {
	env := os.Environ()
	slices.Sort(env)
	for _, e := range env {
		fmt.Fprintln(os.Stderr, "env", e)
	}
	// The folder is read by a handle of its own, the highest of all.
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, f := range files {
		if target, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && !strings.HasPrefix(target, "/proc/") && !strings.Contains(target, "anon_inode") {
			fmt.Fprintln(os.Stderr, "fd", f.Name(), target)
		}
	}
	return nil
}
