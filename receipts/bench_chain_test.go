package receipts_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"

	"countersign/receipts"
)

// benchFolder is a folder on the disk to be measured: under BENCH_DISK, else under
// /var/tmp, since a folder in memory would make every sync free.
func benchFolder(b *testing.B) string {
	base := os.Getenv("BENCH_DISK")
	if base == "" {
		base = "/var/tmp"
	}
	dir, err := os.MkdirTemp(base, "countersign-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func benchChain(b *testing.B) *receipts.Chain {
	w := newWorld(b, func(s *receipts.Slip) {
		s.Limits = []receipts.Limit{{Action: "files.read", Kind: receipts.LimitCount, Bound: receipts.MaxInt}, {Action: "files.read", Kind: receipts.LimitCount, Bound: 1_000_000, Per: 3600}}
		s.ValidFrom, s.ValidUntil = receipts.TimeOf(time.Now().Add(-time.Hour)), receipts.TimeOf(time.Now().Add(24*time.Hour))
	})
	w.dir = benchFolder(b)
	files := receipts.NewFiles(receipts.OSDisk(), receipts.FilesOptions{})
	b.Cleanup(func() { files.Close() })
	w.files, w.cfg.Clock = files, time.Now
	w.cfg.Ledger, w.cfg.Book = filepath.Join(w.dir, "state", "ledger.jsonl"), filepath.Join(w.dir, "book.jsonl")
	c, err := receipts.OpenChain(b.Context(), w.config())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

// benchCall gives the nth call, never the same twice.
func benchCall(b *testing.B, n int) (receipts.Call, receipts.Outcome) {
	text := fmt.Sprintf("%s %d", strings.Repeat("x", 280), n)
	return testCall(b, "files.read", `{"text":"`+text+`","payment":{"amount":12,"currency":"EUR"}}`),
		answer(`{"content":[{"text":"` + text + `","type":"text"}]}`)
}

type timings map[string][]time.Duration

func (t timings) add(name string, f func()) {
	s := time.Now()
	f()
	t[name] = append(t[name], time.Since(s))
}

func (t timings) at(name string, q float64) float64 {
	v := slices.Sorted(slices.Values(t[name]))
	return float64(v[int(float64(len(v)-1)*q)].Nanoseconds()) / 1e3
}

// BenchmarkReceipted is one receipted call after the other by one agent, the
// server taking no time: turn, check before acting, copy, outcome, receipt.
func BenchmarkReceipted(b *testing.B) {
	c := benchChain(b)
	t := timings{}
	n := 0
	for b.Loop() {
		call, out := benchCall(b, n)
		n++
		t.add("whole", func() {
			if _, code := do(b, c, call, out); code != "" {
				b.Fatal(code)
			}
		})
	}
	b.ReportMetric(t.at("whole", 0.5), "p50-us")
	b.ReportMetric(t.at("whole", 0.99), "p99-us")
}

// floorPair is a pair of signing keys, used plainly.
type floorPair struct {
	e ed25519.PrivateKey
	q *mldsa87.PrivateKey
}

// BenchmarkParts takes whole calls and the bare parts of one in turns, so that
// both see the same machine: the floor of a call is the sum of its parts'
// medians. The parts are a signed line made durable in room written beforehand
// (the copy), such a line beside four signatures on two cores (the outcome), and
// the write of a book line. What a whole call does more (the check before acting,
// digests, the records' form) is what the ratio shows.
func BenchmarkParts(b *testing.B) {
	c := benchChain(b)
	dir := benchFolder(b)
	disk := receipts.OSDisk()
	ledger, err := disk.Open(filepath.Join(dir, "ledger"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer ledger.Close()
	book, err := disk.Open(filepath.Join(dir, "book"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer book.Close()
	zeros := make([]byte, 1<<20)
	for i := range 64 {
		if _, err := ledger.WriteAt(zeros, int64(i)<<20); err != nil {
			b.Fatal(err)
		}
	}
	if err := ledger.Sync(); err != nil {
		b.Fatal(err)
	}
	var pairs [2]floorPair
	for i := range pairs {
		seed := [32]byte{byte(i)}
		_, q := mldsa87.NewKeyFromSeed(&seed)
		pairs[i] = floorPair{ed25519.NewKeyFromSeed(seed[:]), q}
	}
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	var off, bookOff int64
	durable := func(line []byte) {
		sig := ed25519.Sign(key, line)
		line = base64.RawURLEncoding.AppendEncode(line, sig)
		if off+int64(len(line)) > 64<<20 {
			off = 0
		}
		if _, err := ledger.WriteAt(line, off); err != nil {
			b.Fatal(err)
		}
		off += int64(len(line))
		if err := ledger.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	var syncing sync.WaitGroup
	var dirty bool
	t := timings{}
	n := 0
	for b.Loop() {
		call, out := benchCall(b, n)
		n++
		t.add("whole", func() {
			if _, code := do(b, c, call, out); code != "" {
				b.Fatal(code)
			}
		})
		message := fmt.Appendf(nil, "%1900d", n)
		t.add("copy", func() { durable(message) })
		var sigs [2][]byte
		t.add("join", func() {
			var wg sync.WaitGroup
			for i, p := range pairs {
				wg.Go(func() {
					sig := make([]byte, mldsa87.SignatureSize)
					if err := mldsa87.SignTo(p.q, message[:900+100*i], nil, false, sig); err != nil {
						b.Error(err)
					}
					sigs[i] = append(sig, ed25519.Sign(p.e, message[:900])...)
				})
			}
			durable(message[:1700])
			wg.Wait()
		})
		t.add("book", func() {
			line := base64.RawURLEncoding.AppendEncode(make([]byte, 0, 14<<10), sigs[0])
			line = base64.RawURLEncoding.AppendEncode(line, sigs[1])
			if _, err := book.WriteAt(line, bookOff); err != nil {
				b.Fatal(err)
			}
			bookOff += int64(len(line))
			dirty = true
		})
		if n%60 == 0 && dirty { // as the syncer would, about every 40 ms
			syncing.Wait()
			syncing.Go(func() { book.Sync() })
		}
	}
	syncing.Wait()
	sum := 0.0
	for _, part := range []string{"copy", "join", "book"} {
		m := t.at(part, 0.5)
		sum += m
		b.ReportMetric(m, part+"-us")
	}
	b.ReportMetric(sum, "sum-us")
	b.ReportMetric(t.at("whole", 0.5), "whole-us")
	b.ReportMetric(t.at("whole", 0.99), "whole-p99-us")
	b.ReportMetric(t.at("whole", 0.5)/sum, "whole:sum")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart is the start on a book of 1,000 receipts, with marks and with
// none: a mark lets a start check only what follows.
func BenchmarkStart(b *testing.B) {
	for name, every := range map[string]int{"marks": 256, "none": 1 << 30} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, func(s *receipts.Slip) { s.Limits = nil })
			w.dir, w.cfg.MarkEvery = benchFolder(b), every
			w.cfg.Ledger, w.cfg.Book = filepath.Join(w.dir, "state", "ledger.jsonl"), filepath.Join(w.dir, "book.jsonl")
			c := w.open()
			for n := range 1000 {
				call, out := benchCall(b, n)
				do(b, c, call, out)
			}
			if err := c.Sync(); err != nil {
				b.Fatal(err)
			}
			left := w.killed() // before the mark that closing writes
			for b.Loop() {
				b.StopTimer()
				k := left.killed()
				b.StartTimer()
				c, err := receipts.OpenChain(b.Context(), k.config())
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				os.RemoveAll(k.dir)
				b.StartTimer()
			}
		})
	}
}
