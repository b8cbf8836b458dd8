package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"

	"golang.org/x/sys/unix"
)

// One synthetic policy of N rules of ten kinds, nine in ten of one tool each and
// one in ten of every tool, and calls of its last tool, small and large. A call
// is allowed where no rule refuses it. The same policy stands in floor_test.go,
// written by hand as the least work that reading and judging can be.

// policy is N rules as files, each of at most as many rules as a file may have.
func policy(n int) (files [][]byte) {
	var list []map[string]any
	flush := func() {
		b, err := json.Marshal(map[string]any{"format": "content-rules/v1", "name": fmt.Sprintf("policy-%d", len(files)), "rules": list})
		if err != nil {
			panic(err)
		}
		files, list = append(files, b), nil
	}
	for k := range n {
		i := k / 10
		r := policyRule(k%10, i)
		r["id"] = fmt.Sprintf("rule-%d", k)
		r["tools"] = []string{fmt.Sprintf("tool-%d", i)}
		if k%10 == 9 {
			r["tools"] = []string{"*"}
		}
		if list = append(list, r); len(list) == rules.MaxRules {
			flush()
		}
	}
	if len(list) > 0 {
		flush()
	}
	return files
}

type object = map[string]any

func policyRule(kind, i int) object {
	switch kind {
	case 0:
		return object{"refuse": object{"arg": "/env", "oneOf": []string{fmt.Sprint("prod-", i), fmt.Sprint("live-", i), fmt.Sprint("main-", i)}}}
	case 1:
		return object{"refuse": object{"arg": "/body", "contains": fmt.Sprint("DROP TABLE t_", i)}}
	case 2:
		return object{"refuse": object{"arg": "/url", "startsWith": fmt.Sprintf("http://10.%d.", i)}}
	case 3:
		return object{"refuse": object{"arg": "/path", "path": object{"like": []string{fmt.Sprintf("/srv/%d/*/secret/**", i)}}}}
	case 4:
		return object{"refuse": object{"arg": "/body", "finds": pattern(i)}}
	case 5:
		return object{"refuse": object{"all": []object{{"arg": "/payment/currency", "is": "EUR"},
			{"any": []object{{"arg": "/payment/amount", "above": 1000 + i}, {"arg": "/payment/amount", "below": 0}}}}}}
	case 6:
		return object{"refuse": object{"some": "/recipients/#", "endsWith": []string{fmt.Sprintf("@evil-%d.example", i)}}}
	case 7:
		return object{"when": object{"arg": "/tags/0", "present": true},
			"require": object{"every": "/tags/#", "oneOf": []string{"red", "green", "blue", fmt.Sprint("x", i)}}}
	case 8:
		return object{"refuse": object{"all": []object{{"arg": "/override", "present": true},
			{"not": object{"arg": "/approved", "is": true}}, {"arg": "/level", "oneOf": []string{"high", "critical"}}}}}
	}
	return object{"refuse": object{"any": []object{{"arg": "/note", "contains": fmt.Sprint("password_", i)},
		{"arg": "/agent", "startsWith": fmt.Sprintf("bad-%d-", i)}}}}
}

func pattern(i int) string { return fmt.Sprintf(`(?i)\bssn[: ]+\d{3}-%d`, i) }

// policyCall is a call of the policy's last tool: a few hundred bytes or 17 KB.
func policyCall(n int, large, deny bool) []byte {
	i := n/10 - 1
	body, few, many := "Please update the quarterly figures.", 2, 0
	if large {
		body, few, many = strings.Repeat("Line of ordinary text, with numbers 123-45 in it. ", 120), 50, 100
	}
	args := object{
		"agent": "agent-7", "env": "staging", "body": body, "url": "https://api.example.com/v1/items",
		"path":    fmt.Sprintf("/srv/%d/data/report.txt", i),
		"payment": object{"amount": 129, "currency": "EUR"},
		"note":    "monthly run", "level": "high", "approved": false,
	}
	var to, tags []string
	for k := range few {
		to = append(to, fmt.Sprintf("user%d@corp.example", k))
		tags = append(tags, []string{"red", "green", "blue"}[k%3])
	}
	args["recipients"], args["tags"] = to, tags
	var files []object
	for k := range many {
		files = append(files, object{"name": fmt.Sprintf("file-%d.pdf", k), "size": 1000 + k, "meta": object{"lang": "en", "hash": fmt.Sprintf("%032x", k)}})
	}
	if many > 0 {
		args["attachments"] = files
	}
	if deny {
		args["override"] = "because"
	}
	b, err := json.Marshal(object{"tool": fmt.Sprintf("tool-%d", i), "args": args})
	if err != nil {
		panic(err)
	}
	return b
}

// reader judges raw calls as a front does: one strict reading, then the rules.
type reader struct {
	e    *engine.Engine
	doc  ijson.Doc
	call engine.Call
	tool string
}

func (r *reader) deny(raw []byte) bool {
	if err := r.doc.Parse(raw, ijson.Options{}); err != nil {
		return true
	}
	root := r.doc.Root()
	if t := root.Member("tool"); !t.Is(r.tool) {
		r.tool = t.Text()
	}
	r.call.Tool, r.call.Arguments = r.tool, root.Member("args")
	d := r.e.Judge(&r.call)
	return d.Verdict != engine.Allowed
}

func policyEngine(t testing.TB, n int) *engine.Engine {
	t.Helper()
	return compile(t, policy(n)...)
}

var sizes = []int{10, 100, 1000, 10_000}

func BenchmarkJudge(b *testing.B) {
	for _, n := range sizes {
		setup := sync.OnceValues(func() (*reader, *floor) { return &reader{e: policyEngine(b, n)}, newFloor(n) })
		for _, large := range []bool{false, true} {
			for _, deny := range []bool{false, true} {
				raw := policyCall(n, large, deny)
				name := fmt.Sprintf("rules=%d/%s/%s", n, map[bool]string{false: "small", true: "large"}[large], map[bool]string{false: "allow", true: "deny"}[deny])
				b.Run(name+"/engine", func(b *testing.B) {
					r, _ := setup()
					b.ReportAllocs()
					for b.Loop() {
						if r.deny(raw) != deny {
							b.Fatal("wrong answer")
						}
					}
				})
				b.Run(name+"/floor", func(b *testing.B) {
					_, f := setup()
					b.ReportAllocs()
					for b.Loop() {
						if f.deny(raw) != deny {
							b.Fatal("wrong answer")
						}
					}
				})
			}
		}
	}
}

// BenchmarkRatio takes engine and floor in turns, so that noise falls on both, and
// reports the least processor time a call of each and the ratio of the two.
func BenchmarkRatio(b *testing.B) {
	for _, n := range sizes {
		setup := sync.OnceValues(func() (*reader, *floor) { return &reader{e: policyEngine(b, n)}, newFloor(n) })
		for _, large := range []bool{false, true} {
			for _, deny := range []bool{false, true} {
				raw := policyCall(n, large, deny)
				name := fmt.Sprintf("rules=%d/%s/%s", n, map[bool]string{false: "small", true: "large"}[large], map[bool]string{false: "allow", true: "deny"}[deny])
				b.Run(name, func(b *testing.B) {
					r, f := setup()
					ratio(b, func() { r.deny(raw) }, func() { f.deny(raw) })
				})
			}
		}
	}
}

// ratio runs two functions in turns on one thread and reports the medians of their
// processor times and of the ratio of two turns that follow each other, which the
// processor mostly runs at one speed.
func ratio(b *testing.B, ours, floors func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	turn := func(f func(), calls int) float64 {
		from := processorTime(b)
		for range calls {
			f()
		}
		return float64(processorTime(b)-from) / float64(calls)
	}
	calls := max(1, min(200, int(200_000/(turn(ours, 3)+1)))) // about 200 µs a turn
	var a, c, both []float64
	for b.Loop() {
		x, y := turn(ours, calls), turn(floors, calls)
		a, c, both = append(a, x), append(c, y), append(both, x/y)
	}
	for name, list := range map[string][]float64{"engine-ns": a, "floor-ns": c, "ratio": both} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

func processorTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Skip("no clock of a thread's processor time here")
	}
	return t.Nano()
}

// BenchmarkRead is what reading the call alone costs, beside the floor's walk.
func BenchmarkRead(b *testing.B) {
	for _, large := range []bool{false, true} {
		raw := policyCall(10, large, false)
		b.Run(map[bool]string{false: "small", true: "large"}[large], func(b *testing.B) {
			var d ijson.Doc
			f := newFloor(10)
			ratio(b, func() {
				if err := d.Parse(raw, ijson.Options{}); err != nil {
					b.Fatal(err)
				}
			}, func() {
				if err := f.read(raw); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// edits are calls that break, or almost break, one rule each.
func edits(k int) []func(args object) {
	return []func(a object){
		func(a object) {},
		func(a object) { a["env"] = fmt.Sprint("live-", k) },
		func(a object) { a["env"] = fmt.Sprint("live-", k, "x") },
		func(a object) { a["body"] = fmt.Sprintf("x DROP TABLE t_%d;", k) },
		func(a object) { a["body"] = fmt.Sprintf("my\nSsN: 123-%d", k) },
		func(a object) { a["body"] = fmt.Sprintf("myssn: 123-%d", k) },
		func(a object) { a["url"] = fmt.Sprintf("http://10.%d.1.1", k) },
		func(a object) { a["path"] = fmt.Sprintf("/srv/./%d//a/secret/c", k) },
		func(a object) { a["path"] = fmt.Sprintf("/srv/%d/a/b/secret/c", k) },
		func(a object) { a["payment"] = object{"amount": 1001 + k, "currency": "EUR"} },
		func(a object) { a["payment"] = object{"amount": 1001 + k, "currency": "USD"} },
		func(a object) { a["payment"] = object{"amount": -1, "currency": "EUR"} },
		func(a object) { a["recipients"] = []any{"a@b", fmt.Sprintf("m@evil-%d.example", k)} },
		func(a object) { a["tags"] = []any{"red", "pink"} },
		func(a object) { a["tags"] = []any{} },
		func(a object) { delete(a, "tags") },
		func(a object) { a["override"] = nil },
		func(a object) { a["override"] = 1; a["approved"] = true },
		func(a object) { a["override"] = 1; a["level"] = "low" },
		func(a object) { a["note"] = fmt.Sprint("ppassword_", k) },
		func(a object) { a["note"] = "ppassword_" },
		func(a object) { a["agent"] = fmt.Sprintf("bad-%d-7", k) },
		func(a object) { a["agent"] = fmt.Sprintf("bad-%d", k) },
	}
}

// The floor is worth something only where it gives the same answers.
func TestFloorAgrees(t *testing.T) {
	for _, n := range []int{10, 100, 1000} {
		r, f := &reader{e: policyEngine(t, n)}, newFloor(n)
		denied := 0
		for i, edit := range edits(n/10 - 1) {
			var m object
			if err := json.Unmarshal(policyCall(n, i%2 == 0, false), &m); err != nil {
				t.Fatal(err)
			}
			edit(m["args"].(object))
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range [][]byte{raw, escapeLetters(raw)} {
				got, want := r.deny(b), f.deny(b)
				if got != want {
					t.Fatalf("%d rules, edit %d: engine %v, floor %v: %.400s", n, i, got, want, b)
				}
				if got {
					denied++
				}
			}
		}
		if denied < 20 {
			t.Errorf("only %d calls refused", denied)
		}
	}
}

// escapeLetters writes every lower-case letter and slash in strings as \u00xx.
func escapeLetters(b []byte) (out []byte) {
	inside := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '"':
			inside = !inside
			out = append(out, c)
		case inside && c == '\\':
			out = append(out, c, b[i+1])
			i++
		case inside && (c >= 'a' && c <= 'z' || c == '/'):
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// Nothing is allocated on a call that the rules let through.
func TestNoAllocations(t *testing.T) {
	for _, n := range []int{10, 1000} {
		r := &reader{e: policyEngine(t, n)}
		for _, large := range []bool{false, true} {
			raw := policyCall(n, large, false)
			if r.deny(raw) {
				t.Fatal("refused")
			}
			if a := testing.AllocsPerRun(50, func() { r.deny(raw) }); a != 0 {
				t.Errorf("%d rules, large %v: %v allocations", n, large, a)
			}
		}
	}
}

// BenchmarkText6K: what one test costs on 6 KB of clean text, beside the floors:
// a literal in any case looked for by two IndexByte, and an Aho-Corasick pass.
func BenchmarkText6K(b *testing.B) {
	body := strings.Repeat("Line of ordinary text, with numbers 123-45 in it. ", 120)
	raw := fmt.Appendf(nil, `{"body": %q}`, body)
	args := parse(b, raw)
	run := func(name, test string) {
		e := compile(b, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/body", `+test+`}}`))
		c := &engine.Call{Tool: "x", Arguments: args}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := e.Judge(c); d.Verdict != engine.Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
	run("needed-literal", `"finds": "(?i)\\bssn[: ]+\\d{3}-7"`)
	run("needed-literal-exact", `"finds": "ssn[: ]+\\d{3}-7"`)
	run("needed-literal-inside", `"finds": "[\\w.]+@evil\\.example"`)
	run("no-literal", `"finds": "\\d{3}-\\d{2}-\\d{4}"`)
	words := []string{}
	for i := range 100 {
		words = append(words, fmt.Sprintf("%cDROP TABLE t_%d", 'A'+i%26, i))
	}
	list, _ := json.Marshal(words)
	run("contains-100", `"contains": `+string(list))
	run("contains-100-fold", `"fold": true, "contains": `+string(list))
	run("contains-1", `"contains": "DROP TABLE t_7"`)
	run("contains-1-fold", `"fold": true, "contains": "DROP TABLE t_7"`)
	text := []byte(body)
	b.Run("floor/any-case-literal", func(b *testing.B) {
		for b.Loop() {
			if anyCase("ssn").in(text) {
				b.Fatal("found")
			}
		}
	})
	ac := newWords(words, true)
	b.Run("floor/aho-corasick-100", func(b *testing.B) {
		for b.Loop() {
			if ac.find(text) {
				b.Fatal("found")
			}
		}
	})
	re := regexp.MustCompile(`\d{3}-\d{2}-\d{4}`)
	b.Run("floor/regexp", func(b *testing.B) {
		for b.Loop() {
			if re.Match(text) {
				b.Fatal("found")
			}
		}
	})
}
