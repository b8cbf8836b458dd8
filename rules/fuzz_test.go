package rules_test

import (
	"bytes"
	"slices"
	"testing"

	"countersign/internal/ijson"
	"countersign/rules"
)

// seeds are all files of testdata; a fuzz run without them would find little.
func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, name := range slices.Concat(files(t, "good/*.json"), files(t, "whole/*.json"), files(t, "errors/*.json")) {
		all = append(all, read(t, name))
	}
	return all
}

// FuzzRead: reading never panics, every problem lies in the file, and what was
// read and laid out reads again with the same fingerprint.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(readLaws)
}

func readLaws(t *testing.T, src []byte) {
	kept := bytes.Clone(src)
	file, ps := rules.Read("f.json", src)
	if !bytes.Equal(src, kept) {
		t.Fatal("the source was changed")
	}
	if (file == nil) != (len(ps) > 0) {
		t.Fatalf("a file and problems, or neither: %v %s", file, ps)
	}
	if file != nil {
		ps = append(append(ps, file.Warnings...), file.Silenced...)
	}
	before := -1
	for i, p := range ps {
		if p.Offset < 0 || p.Offset > len(src) || p.File != "f.json" || p.Msg == "" {
			t.Fatalf("outside the file: %+v", p)
		}
		if l, c := ijson.Position(src, p.Offset); l != p.Line || c != p.Column {
			t.Fatalf("%+v, expected %d:%d", p, l, c)
		}
		if file == nil && p.Offset < before {
			t.Fatalf("problem %d is out of order", i)
		}
		before = p.Offset
	}
	if file == nil && len(ps) > rules.MaxProblems+1 {
		t.Fatalf("%d problems", len(ps))
	}
	out, fps := rules.Format("f.json", src)
	if (out == nil) != (len(fps) > 0) {
		t.Fatalf("laid out and problems, or neither: %s", fps)
	}
	if out != nil {
		formatLaws(t, src, out)
	}
	if file == nil {
		return
	}
	if len(file.Fingerprint) != 43 {
		t.Fatalf("fingerprint %q", file.Fingerprint)
	}
	if out == nil { // only where it would not fit
		return
	}
	again, ps := rules.Read("f.json", out)
	if again == nil || again.Fingerprint != file.Fingerprint || len(again.Rules) != len(file.Rules) {
		t.Fatalf("laid out it reads otherwise: %s", ps)
	}
}
