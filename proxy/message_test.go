package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"countersign/internal/ijson"
	"countersign/proxy"
)

// lineLimit of these tests: small, so that it is met.
const lineLimit = 300

var streams = []string{
	callOf("1", "t", `{"a":[1,2,{"b":"\u00e9"}]}`) + "\n",
	callOf(`"x"`, "t", `{}`) + "\r\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
	"\n\r\n   \n" + `{"jsonrpc":"2.0","id":4,"method":"ping"}` + "\n",
	`{"jsonrpc":"2.0","id":7,` + "\n" + `"method":"ping"}` + "\n",
	`{"jsonrpc":"2.0","id":8,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":8,` + "\r" + `"method":"ping"}` + "\n",
	"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n",
	`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}` + "\n",
	`[{"jsonrpc":"2.0","id":1,"method":"ping"}]` + "\n" + `null` + "\n" + `"x"` + "\n",
	callOf("3", "t", `{"s":"`+strings.Repeat("a", lineLimit)+`"}`) + "\n" + `{"jsonrpc":"2.0","id":4,"method":"ping"}` + "\n",
	strings.Repeat("a", lineLimit) + "\r\n" + strings.Repeat("a", lineLimit+1) + "\n" + strings.Repeat("a", lineLimit) + "\n",
	`{"jsonrpc":"2.0","id":1,"Method":"ping","method":"ping"}` + "\n",
	`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}` + "\n",
	`{"id":"a\"}","x":{"id":2},"y":[{"id":3}],"z":"\\"}` + "\n",
	"\x00\n\xff\n{\"a\":\"\xff\"}\n",
}

// FuzzReadLines: how a stream is cut into pieces makes no difference; what is
// accepted is one JSON object that a second reader understands in the same way;
// and the id of what cannot be read is the one that stands in it.
func FuzzReadLines(f *testing.F) {
	if len(streams) == 0 {
		f.Fatal("the seeds are missing")
	}
	for _, s := range streams {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, stream []byte, server bool) {
		whole := proxy.ReadLines(bytes.NewReader(stream), lineLimit, server)
		for name, r := range map[string]io.Reader{
			"a byte at a time":  iotest.OneByteReader(bytes.NewReader(stream)),
			"half of each read": iotest.HalfReader(bytes.NewReader(stream)),
			"the end with data": iotest.DataErrReader(bytes.NewReader(stream)),
			"in random pieces":  &pieces{stream, rand.New(rand.NewPCG(1, uint64(len(stream))))},
		} {
			if got := proxy.ReadLines(r, lineLimit, server); !slices.Equal(got, whole) {
				t.Fatalf("%s:\n got %q\nwant %q", name, got, whole)
			}
		}
		for _, l := range whole {
			if len(l.Line) > lineLimit && l.Verdict != "unterminated" {
				t.Errorf("a line of %d bytes was kept", len(l.Line))
			}
			if !strings.HasPrefix(l.Verdict, "kind ") {
				continue
			}
			accepted(t, l, server)
		}
	})
}

// accepted holds a line that was accepted against a second reader.
func accepted(t *testing.T, l proxy.ReadLine, server bool) {
	t.Helper()
	if strings.ContainsAny(l.Line, "\r\n") {
		t.Errorf("accepted a line end inside a line: %q", l.Line)
	}
	var object map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(l.Line))
	if err := d.Decode(&object); err != nil {
		t.Fatalf("accepted what is no JSON object: %q: %v", l.Line, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("accepted something behind the object: %q", l.Line)
	}
	// A reader that takes any case for the same, with the last one winning.
	var loose struct {
		Jsonrpc, Method string
		ID              json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(l.Line), &loose); err != nil {
		t.Fatalf("%q: %v", l.Line, err)
	}
	if loose.Jsonrpc != "2.0" {
		t.Errorf("accepted version %q: %q", loose.Jsonrpc, l.Line)
	}
	if fields := strings.SplitN(l.Verdict, " ", 3); loose.Method != fields[2] {
		t.Errorf("another reader takes the method for %q, not %q: %q", loose.Method, fields[2], l.Line)
	}
	if l.ID != "" && string(loose.ID) != l.ID {
		t.Errorf("another reader takes the id for %s, not %s: %q", loose.ID, l.ID, l.Line)
	}
	if l.ID != "" {
		if found := proxy.FindID([]byte(l.Line)); string(found) != l.ID && !strings.Contains(l.Line, `\`) {
			t.Errorf("the id is %s, found %s: %q", l.ID, found, l.Line)
		}
	}
	if !server {
		for name := range object {
			if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
				t.Errorf("accepted a member %q: %q", name, l.Line)
			}
		}
	}
}

// pieces gives a text in pieces of random sizes.
type pieces struct {
	rest []byte
	r    *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(len(p.rest), 1+p.r.IntN(40))])
	p.rest = p.rest[n:]
	return n, nil
}

func TestFindID(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1}`:                            `1`,
		` { "id" : "a\"b" , "x" : [ { } ] } `: `"a\"b"`,
		`{"x":{"id":2},"id":-3}`:              `-3`,
		`{"x":"\",\"id\":9","id":4}`:          `4`,
		`{"a":[[[[`:                           ``,
		`{"id":1,"id":2}`:                     ``,
		`{"id":1} {"id":2}`:                   ``,
		`[{"id":1}]`:                          ``,
		`{"id":1.5}`:                          ``,
		`{"id":null}`:                         ``,
		`{"id":[1]}`:                          ``,
		`{"id":9007199254740993}`:             ``,
		`{"id":"` + strings.Repeat("a", 1022) + `"}`: `"` + strings.Repeat("a", 1022) + `"`,
		`{"id":"` + strings.Repeat("a", 1023) + `"}`: ``,
		`{"id":"` + "\xff" + `"}`:                    ``,
		`{"id":1`:                                    ``,
		`{"Id":1}`:                                   ``,
		`{"id":1,"x":` + "\xff\x00" + `}`:            `1`,
		`{"id":tru e}`:                               ``,
		`{"ids":5,"i":6}`:                            ``,
		``:                                           ``,
	} {
		if got := string(proxy.FindID([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", cut(text), got, want)
		}
	}
}

// A line that is too long is read at the cost of a buffer, whatever its length.
func TestALongLineIsNotKept(t *testing.T) {
	const limit = 1 << 10
	long := func(n int64) io.Reader {
		return io.MultiReader(strings.NewReader(`{"id":5,"x":"`), io.LimitReader(zeros{}, n), strings.NewReader(`"}`+"\n"))
	}
	allocated := func(n int64) uint64 {
		return uint64(testing.AllocsPerRun(3, func() {
			got := proxy.ReadLines(long(n), limit, false)
			if len(got) != 1 || got[0].Verdict != "too long" || got[0].ID != "5" {
				t.Fatalf("got %q", got)
			}
		}))
	}
	if short, long := allocated(1<<16), allocated(1<<26); long > short+2 {
		t.Errorf("%d allocations for 64 KiB, %d for 64 MiB", short, long)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{300, 1 << 10, 16 << 10, 1 << 20} {
		line := []byte(callOf("1", "read_file", `{"path":"/srv/work/a.txt","text":"`+strings.Repeat("a", n-110)+`"}`))
		if _, err := ijson.Parse(line, ijson.Options{}); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			var r proxy.Bench
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if !r.Read(line) {
					b.Fatal("not read")
				}
			}
		})
	}
}
