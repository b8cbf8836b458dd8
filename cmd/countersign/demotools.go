package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveTools is the demonstration's tool server, with its two tools echo and
// add. It speaks MCP on standard input and output.
func serveTools(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "countersign-demo-tools", Version: version}, nil)
	type echoed struct {
		Text string `json:"text" jsonschema:"the text to give back"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Gives a text back."},
		func(_ context.Context, _ *mcp.CallToolRequest, a echoed) (*mcp.CallToolResult, any, error) {
			return textResult(a.Text), nil, nil
		})
	type numbers struct {
		A int64 `json:"a" jsonschema:"the first number"`
		B int64 `json:"b" jsonschema:"the second number"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two whole numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, n numbers) (*mcp.CallToolResult, any, error) {
			return textResult(strconv.FormatInt(n.A+n.B, 10)), nil, nil
		})
	if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the demonstration's tools: %w", err)
	}
	return nil
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
