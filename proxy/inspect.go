package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"countersign/internal/ijson"
)

// Inventory is what a server offers, as the guard would show it to an agent that
// may see all.
type Inventory struct {
	Name, Version string // what the server calls itself
	Protocol      string // the revision that was spoken
	Resources     bool   // it offers resources
	Tools         []ListedTool
}

// ListedTool is one tool of a server.
type ListedTool struct {
	Name        string
	Definition  []byte // the whole tool object, as the server wrote it
	Fingerprint string // of its canonical form
}

// Schema says what is wrong with the tool's inputSchema: an error for which every call
// of the tool is refused, or the pointers of the keywords that cannot be compiled, so
// that no arguments are held against them.
func (t ListedTool) Schema() (omitted []string, err error) {
	d := new(definition)
	if err := d.doc.Parse(t.Definition, ijson.Options{Depth: serverDepth, Doubles: true, AnyName: true}); err != nil {
		return nil, fmt.Errorf("reading the tool's definition: %w", err)
	}
	if err := d.ready(t.Name, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	if d.schema == nil {
		return nil, nil
	}
	return d.schema.omitted, nil
}

// Revisions of the protocol that an inspection speaks: the last with a handshake,
// and the first without, for a server that has none.
const (
	legacyRevision = "2025-11-25"
	modernRevision = "2026-07-28"
)

// Inspect starts a server, asks what it offers, and ends it. Credentials of the
// settings are taken out of what it says, so that a tool's fingerprint is the one
// that the pipeline sees. version is the program's own. It takes at most the
// time of three answers, and of the server's end.
func Inspect(ctx context.Context, cfg Config, version string, start func(Receiver) (Server, error)) (_ *Inventory, err error) {
	p, err := New(cfg, nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	var server Server
	started := make(chan struct{})
	server, err = start(func(m *Message) {
		<-started
		defer m.free()
		if m.Kind == Request && server != nil {
			// What it may ask of an agent is not answered here; an error is for
			// the server to deal with.
			_ = server.Put(errorLine(m.ID.Raw(), codeMethod, "this is not offered while the server is inspected"))
		}
	})
	close(started)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := server.Close(); err != nil && closed != nil {
			err = fmt.Errorf("%w (%w)", err, closed)
		}
	}()
	i := inspection{p: p, up: cleaned{server, p}}
	return i.run(ctx, version)
}

type inspection struct {
	p  *Pipeline
	up Upstream
}

func (i *inspection) run(ctx context.Context, version string) (*Inventory, error) {
	client := append(ijson.AppendString([]byte(`{"name":"countersign","version":`), version), '}')
	call := &Call{peer: Peer{Upstream: i.up}}
	var out *Inventory
	hello, err := i.ask(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}}`, legacyRevision, client))
	if err != nil {
		return nil, fmt.Errorf("the server did not answer initialize: %w", err)
	}
	if hello.Kind == Result {
		r := hello.Result
		out = inventoryOf(r, r.Member("serverInfo"))
		out.Protocol = label(r.Member("protocolVersion"))
		if err := i.up.Put([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
			return nil, err
		}
	} else {
		// A server of the modern era alone: each request says everything.
		meta := fmt.Appendf(nil, `{%q:%q,%q:%s,%q:{}}`, metaVersion, modernRevision, metaClient, client, metaAbility)
		doc, err := ijson.Parse(meta, ijson.Options{})
		if err != nil {
			return nil, err
		}
		call.meta, call.modern = doc.Root(), true
		found, err := i.ask(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":%s}}`, meta))
		if err != nil {
			return nil, fmt.Errorf("the server did not answer server/discover: %w", err)
		}
		if found.Kind != Result {
			return nil, fmt.Errorf("the server answers both initialize and server/discover with an error: %q", label(hello.Error.Member("message")))
		}
		out = inventoryOf(found.Result, found.Result.Member("_meta").Member("io.modelcontextprotocol/serverInfo"))
		out.Protocol = modernRevision
	}
	if err := i.p.list(ctx, call); err != nil {
		return nil, err
	}
	c := &i.p.tools
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		d := c.tools[name]
		out.Tools = append(out.Tools, ListedTool{Name: name, Definition: d.doc.Root().Raw(), Fingerprint: d.fingerprint})
	}
	return out, nil
}

// inventoryOf is what an answer says of the server.
func inventoryOf(answer, info ijson.Value) *Inventory {
	return &Inventory{
		Name: label(info.Member("name")), Version: label(info.Member("version")),
		Resources: answer.Member("capabilities").Member("resources").Exists(),
	}
}

// ask asks within the time of one answer.
func (i *inspection) ask(ctx context.Context, line []byte) (*Message, error) {
	ctx, stop := context.WithTimeout(ctx, i.p.cfg.Timeout)
	defer stop()
	m, err := i.p.ask(ctx, i.up, line)
	if err == nil && m == nil {
		err = errors.New("no answer")
	}
	return m, err
}
