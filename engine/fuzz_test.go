package engine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"

	"pgregory.net/rapid"
)

// FuzzJudge: any rules file that can be read compiles; judging any call by it does
// not panic, ends within the file's budget and gives the same answer twice and in
// both ways.
func FuzzJudge(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed.rules, seed.call, "x")
	}
	f.Fuzz(func(t *testing.T, file, call []byte, tool string) {
		set, problems := rules.ReadSet([]rules.Source{{Path: "f.json", Data: file}})
		if problems.Err() != nil {
			return
		}
		e, err := engine.New(set, engine.Options{})
		if err != nil {
			t.Fatalf("a file that was read does not compile: %v\n%s", err, file)
		}
		d, err := ijson.Parse(call, ijson.Options{})
		if err != nil {
			return
		}
		c := &engine.Call{Tool: tool, Arguments: d.Root()}
		first, x, again := e.Judge(c), e.Explain(c), e.Judge(c)
		if first.Verdict != again.Verdict || first.Rule != again.Rule || first.Code != again.Code || first.Tell("test") != again.Tell("test") {
			t.Fatalf("two answers: %+v, %+v", first, again)
		}
		if first.Verdict != x.Verdict || first.Rule != x.Rule || first.Code != x.Code || first.Tell("test") != x.Tell("test") {
			t.Fatalf("Judge: %+v; Explain: %+v", first, x)
		}
		if limit := set.Files[0].Limits.Steps; first.Steps > limit || x.Steps > limit {
			t.Fatalf("%d and %d steps of %d", first.Steps, x.Steps, limit)
		}
	})
}

// FuzzTwoEngines is TestTwoEngines driven by the fuzzer.
func FuzzTwoEngines(f *testing.F) {
	f.Add([]byte("some bytes to draw rules and calls from, as many as it takes to have a few rules and a call"))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { twoEngines(t, new(tally)) }))
}

type seed struct{ rules, call []byte }

// seeds are the rules files and calls of testdata, each with each.
func seeds(t testing.TB) (out []seed) {
	t.Helper()
	files, err := filepath.Glob("testdata/rules/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d seed rules files, %v; they belong to the test", len(files), err)
	}
	b, err := os.ReadFile("testdata/calls/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&calls); err != nil || len(calls) < 5 {
		t.Fatalf("%d seed calls, %v; they belong to the test", len(calls), err)
	}
	for _, name := range files {
		r, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			out = append(out, seed{r, c})
		}
	}
	return out
}
