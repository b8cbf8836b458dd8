package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"countersign/proxy"
)

// responder is a server that answers at once and does nothing else: it is not
// what is measured. It takes ids to be what the guard and these tests write.
func responder() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		_, rest, ok := bytes.Cut(line, []byte(`"id":`))
		if !ok {
			continue
		}
		id, _, _ := bytes.Cut(rest, []byte(`,`))
		result := `{"content":[{"type":"text","text":"done"}]}`
		if bytes.Contains(line, []byte(`"tools/list"`)) {
			result = `{"tools":[{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}}]}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// BenchmarkRoundTrip is one call and its answer over pipes: to the server
// directly, through a pump that copies bytes, through the guard in mode rules,
// and through the guard with records. What each adds is its difference from
// direct.
func BenchmarkRoundTrip(b *testing.B) {
	rules := ruleset(b, `{"id":"inside","tools":["read_*"],"require":{"every":"/**","named":["path"],"path":{"under":["/srv/work"]}}},
		{"id":"no-secrets","tools":["*"],"refuse":{"some":"/**","contains":["password","api_key"],"fold":true}}`)
	for _, size := range []int{300, 20 << 10} {
		line := callOf("1", "read_file", `{"path":"/srv/work/a.txt","text":"`+strings.Repeat("a", size-150)+`"}`)
		for _, c := range []struct {
			name string
			to   func(b *testing.B, exe string) (io.Writer, io.Reader, func())
		}{
			{"direct", direct},
			{"pump", pump},
			{"rules", func(b *testing.B, exe string) (io.Writer, io.Reader, func()) {
				p, err := proxy.New(proxy.Config{Mode: proxy.RulesOnly}, rules, nil, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				return guarded(b, exe, p)
			}},
			{"enforce", func(b *testing.B, exe string) (io.Writer, io.Reader, func()) {
				r := newRecords(b, "read_file")
				p, err := proxy.New(proxy.Config{Service: "guard", Agent: "agent", Tools: tools("read_file")}, rules, proxy.Recorded(r.chain), nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				return guarded(b, exe, p)
			}},
		} {
			b.Run(fmt.Sprintf("%dB/%s", size, c.name), func(b *testing.B) {
				exe, err := os.Executable()
				if err != nil {
					b.Fatal(err)
				}
				in, out, end := c.to(b, exe)
				defer end()
				r := bufio.NewReaderSize(out, 1<<20)
				trip := func() {
					if _, err := io.WriteString(in, line+"\n"); err != nil {
						b.Fatal(err)
					}
					answer, err := r.ReadString('\n')
					if err != nil || !strings.Contains(answer, `"text":"done"`) {
						b.Fatalf("%s %v", answer, err)
					}
				}
				trip()
				before := cpu()
				for b.Loop() {
					trip()
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// cpu is the time that this process has kept the processors busy. Unlike the time
// on the clock it hardly depends on what else the machine does.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func responding(exe string) *exec.Cmd {
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "PROXY_TEST_SERVER=responder")
	return cmd
}

func direct(b *testing.B, exe string) (io.Writer, io.Reader, func()) {
	cmd := responding(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return in, out, func() { in.Close(); cmd.Wait() }
}

func pump(b *testing.B, exe string) (io.Writer, io.Reader, func()) {
	in, out, end := direct(b, exe)
	agentRead, agentWrite := pipe(b)
	guardRead, guardWrite := pipe(b)
	go func() { copyAll(in, agentRead) }()
	go func() { copyAll(guardWrite, out) }()
	return agentWrite, guardRead, func() { agentWrite.Close(); end(); guardWrite.Close() }
}

// copyAll copies as a pump would that knows nothing of pipes.
func copyAll(w io.Writer, r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func pipe(b *testing.B) (*os.File, *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return r, w
}

func guarded(b *testing.B, exe string, p *proxy.Pipeline) (io.Writer, io.Reader, func()) {
	agentRead, agentWrite := pipe(b)
	guardRead, guardWrite := pipe(b)
	done := make(chan error, 1)
	go func() {
		done <- proxy.Serve(context.Background(), proxy.Connection{
			Pipeline: p,
			Start: func(r proxy.Receiver) (proxy.Server, error) {
				return proxy.StartChild(proxy.ChildConfig{Command: exe, Env: []proxy.Variable{{Name: "PROXY_TEST_SERVER", Value: "responder"}}}, r)
			},
			In: agentRead, Out: guardWrite,
		})
	}()
	return agentWrite, guardRead, func() {
		agentWrite.Close()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}
