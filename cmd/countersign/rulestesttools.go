package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/internal/ijson"
	"countersign/proxy"
	"countersign/rulestest"
)

// Bounds of asking a server for its tools.
const (
	listTime  = time.Minute // for its start and all its answers: some are fetched first
	listPages = 1000        // pages of its list
)

// protocolVersion is the newest version with a handshake; a server that speaks an
// older one says so in its answer, and lists its tools in the same way.
const protocolVersion = "2025-11-25"

// listTools starts a server, asks what tools it has and ends it. It gives them
// read, and as the text of a file that holds them.
func listTools(ctx context.Context, cfg proxy.ChildConfig, note func(string, ...any)) (*rulestest.Server, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	child, err := proxy.StartChild(cfg, func(*proxy.Message) {})
	if err != nil {
		return nil, nil, err
	}
	text, err := askTools(ctx, child)
	if end := child.Close(); end != nil && err == nil {
		note("the server %q was asked for its tools and then ended with: %v", cfg.Command, end)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("asking the server %q for its tools: %w", cfg.Command, err)
	}
	s, err := rulestest.ReadServer("the server's tools", text)
	return s, text, err
}

func askTools(ctx context.Context, up proxy.Upstream) ([]byte, error) {
	hello, err := ask(ctx, up, "initialize", `{"protocolVersion":"`+protocolVersion+`","capabilities":{},"clientInfo":{"name":"countersign","version":"`+version+`"}}`)
	if err != nil {
		return nil, err
	}
	resources := "false"
	if d, err := ijson.Parse(hello, ijson.Options{Doubles: true}); err == nil && d.Root().Member("capabilities").Member("resources").Exists() {
		resources = "true"
	}
	if err := up.Put([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return nil, err
	}
	text := []byte(`{"resources":` + resources + `,"tools":[`)
	params := "{}"
	for page := 0; ; page++ {
		if page == listPages {
			return nil, fmt.Errorf("its list of tools has more than %d pages", listPages)
		}
		answer, err := ask(ctx, up, "tools/list", params)
		if err != nil {
			return nil, err
		}
		d, err := ijson.Parse(answer, ijson.Options{Depth: 128, Doubles: true})
		if err != nil {
			return nil, fmt.Errorf("its list of tools: %w", err)
		}
		for e := range d.Root().Member("tools").Elements() {
			if text[len(text)-1] != '[' {
				text = append(text, ',')
			}
			text = append(text, e.Raw()...)
		}
		if len(text) > rulestest.MaxServerBytes {
			return nil, fmt.Errorf("its list of tools is longer than %d bytes", rulestest.MaxServerBytes)
		}
		next := d.Root().Member("nextCursor")
		if !next.Exists() || next.Kind() == ijson.Null {
			return append(text, "]}\n"...), nil
		}
		params = `{"cursor":` + string(next.Raw()) + `}`
	}
}

// ask sends one request and gives the text of its result.
func ask(ctx context.Context, up proxy.Upstream, method, params string) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	n, err := up.Open(func(m *proxy.Message, err error) {
		switch {
		case err != nil:
			got <- answer{nil, err}
		case m.Kind != proxy.Result:
			got <- answer{nil, errors.New("it answered " + method + " with an error")}
		default:
			got <- answer{append([]byte(nil), m.Result.Raw()...), nil}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := up.Put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, n, method, params)); err != nil {
		up.Forget(n)
		return nil, err
	}
	select {
	case a := <-got:
		return a.text, a.err
	case <-ctx.Done():
		up.Forget(n)
		return nil, fmt.Errorf("no answer to %s: %w", method, context.Cause(ctx))
	}
}
