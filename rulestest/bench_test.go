package rulestest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"countersign/rulestest"
)

// manyRules is a file of n rules, each for a tool of its own and for a few of all.
func manyRules(n int) string {
	var all []string
	for i := range n {
		switch i % 4 {
		case 0:
			all = append(all, fmt.Sprintf(`{"id": "r%d", "tools": ["t%d"], "require": {"every": "/**", "named": ["path", "paths"], "path": {"under": ["/srv/work/%d"]}}}`, i, i, i))
		case 1:
			all = append(all, fmt.Sprintf(`{"id": "r%d", "tools": ["t%d"], "require": {"all": [{"arg": "/amount", "above": 0, "atMost": %d}, {"arg": "/currency", "oneOf": ["GBP", "EUR", "CHF"]}]}}`, i, i, i+10))
		case 2:
			all = append(all, fmt.Sprintf(`{"id": "r%d", "tools": ["t%d*"], "refuse": {"any": [{"arg": "/force", "is": true}, {"arg": "/mode", "like": ["hard-*", "x%d?"]}]}}`, i, i, i))
		default:
			all = append(all, fmt.Sprintf(`{"id": "r%d", "tools": ["*"], "refuse": {"some": "/**", "contains": ["secret-%d", "token-%d"]}}`, i, i, i))
		}
	}
	return ruleFile(all...)
}

// manyCases are n cases, a few for each rule.
func manyCases(n, rules int) string {
	var all []string
	for i := range n {
		k := i % rules
		call, expect := "", `"allowed"`
		switch k % 4 {
		case 0:
			call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"path": "/srv/work/%d/a%d", "paths": ["/srv/work/%d/b"]}}`, k, k, i, k)
			if i%8 == 4 {
				call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"path": "/srv/work/%d/a", "paths": ["/srv/%d"]}}`, k, k, i)
				expect = fmt.Sprintf(`{"refused": "r%d"}`, k)
			}
		case 1:
			amounts := []int{1, 0, k + 10, k + 11, -1}
			a := amounts[i/rules%len(amounts)]
			call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"amount": %d, "currency": "%s", "note": "n%d"}}`, k, a, []string{"GBP", "EUR", "CHF"}[i/rules%3], i)
			if a <= 0 || a > k+10 {
				expect = fmt.Sprintf(`{"refused": "r%d"}`, k)
			}
		case 2:
			call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"force": %v, "mode": "soft", "n": %d}}`, k, i/rules%2 == 1, i)
			if i/rules%2 == 1 {
				expect = fmt.Sprintf(`{"refused": "r%d"}`, k)
			}
		default:
			call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"text": "a text number %d of some length, with nothing in it"}}`, k, i)
			if i/rules%2 == 1 {
				call = fmt.Sprintf(`{"tool": "t%d", "arguments": {"text": "a text with secret-%d in it, number %d"}}`, k, k, i)
				expect = fmt.Sprintf(`{"refused": "r%d"}`, k)
			}
		}
		all = append(all, fmt.Sprintf(`{"name": "case %d", "call": %s, "expect": %s}`, i, call, expect))
	}
	return testFile(all...)
}

func benchSuite(b *testing.B, rules, cases int) *rulestest.Suite {
	b.Helper()
	s := bareBench(b, manyRules(rules))
	f, problems := rulestest.Read("t.json", []byte(manyCases(cases, rules)))
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	if _, err := s.Add(f); err != nil {
		b.Fatal(err)
	}
	return s
}

// 10,000 cases over 100 rules, reading included.
func BenchmarkCases(b *testing.B) {
	rules, cases := manyRules(100), manyCases(10_000, 100)
	b.ReportAllocs()
	for b.Loop() {
		s := bareBench(b, rules)
		f, problems := rulestest.Read("t.json", []byte(cases))
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		if _, err := s.Add(f); err != nil {
			b.Fatal(err)
		}
		r, err := s.Run(b.Context(), rulestest.RunOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		if r.Failed() > 0 || len(r.Results) != 10_000 {
			b.Fatalf("%d of %d failed", r.Failed(), len(r.Results))
		}
	}
	b.ReportMetric(heldMB(), "MB-held")
}

// The same with coverage.
func BenchmarkCoverage(b *testing.B) {
	s := benchSuite(b, 100, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(b.Context(), rulestest.RunOptions{Workers: 1, Coverage: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(heldMB(), "MB-held")
}

// The mutants of 50 rules with 500 cases, without the search for calls that tell
// apart what no case notices, and with it. ns/1000-mutants is what the target is of.
func BenchmarkMutants(b *testing.B) {
	for name, tries := range map[string]int{"judged": -1, "searched": 0} {
		b.Run(name, func(b *testing.B) {
			s := benchSuite(b, 50, 500)
			n, alive := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				m, err := s.Mutate(b.Context(), rulestest.MutantOptions{Workers: 1, Tries: tries})
				if err != nil {
					b.Fatal(err)
				}
				n, alive = len(m.All), len(m.All)-m.Count("", rulestest.Killed)
			}
			b.ReportMetric(float64(n), "mutants")
			b.ReportMetric(float64(alive), "not-killed")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)*1000, "ns/1000-mutants")
			b.ReportMetric(heldMB(), "MB-held")
		})
	}
}

// heldMB is the memory the process has from the system, in megabytes.
func heldMB() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1e6
}

func bareBench(b *testing.B, text string) *rulestest.Suite {
	b.Helper()
	s, err := newSuite(text)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// What the benchmarks run is what it says it is.
func TestBenchSuite(t *testing.T) {
	s, err := newSuite(manyRules(20))
	if err != nil {
		t.Fatal(err)
	}
	f, problems := rulestest.Read("t.json", []byte(manyCases(400, 20)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, err := s.Add(f); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, rulestest.RunOptions{}); r.Failed() > 0 {
		var b strings.Builder
		if err := rulestest.WriteText(&b, []*rulestest.Report{r}, false); err != nil {
			t.Fatal(err)
		}
		t.Error(b.String())
	}
}
