package main

import (
	"errors"
	"fmt"

	"countersign/internal/ijson"
	"countersign/internal/plainfile"
)

// maxReport bounds a report in bytes: 10,000 failing cases with their traces.
const maxReport = 64 << 20

// readReport holds the rules files against the answer of "rules test --json":
// each must be in it by its fingerprint, in a suite of which every case ran and
// passed.
// The error is about reading the report.
func (w *world) readReport(path string) error {
	src, err := plainfile.Read(path, maxReport)
	if err != nil {
		return err
	}
	bad := func(what string) error {
		return hint(fmt.Errorf("%s: %s", path, what), `"countersign rules test --json" writes one`)
	}
	if len(src) > maxReport {
		return bad(fmt.Sprintf("more than %d bytes", maxReport))
	}
	doc, err := ijson.Parse(src, ijson.Options{Depth: 64})
	if err != nil {
		return bad(err.Error())
	}
	suites := doc.Root().Member("suites")
	if suites.Kind() != ijson.Array {
		return bad("no report of rule tests: expected an object with a list suites")
	}
	tested := map[string]error{} // by fingerprint; nil: all of its cases passed
	for suite := range suites.Elements() {
		verdict := passedAll(suite)
		for file := range suite.Member("rules").Elements() {
			print := file.Member("fingerprint").Text()
			if before, seen := tested[print]; !seen || before == nil {
				tested[print] = verdict
			}
		}
	}
	if w.rules == nil {
		return nil
	}
	for i, f := range w.rules.Files {
		switch verdict, ok := tested[f.Fingerprint]; {
		case !ok:
			w.fault(w.rulesPointer(i), "%s is not what the report %s tested: run its tests again", f.Path, path)
		case verdict != nil:
			w.fault(w.rulesPointer(i), "%s: in the report %s %v", f.Path, path, verdict)
		}
	}
	return nil
}

// passedAll says why a suite is not one of which every case ran and passed, with
// every threshold that was asked for.
func passedAll(suite ijson.Value) error {
	cases := suite.Member("cases")
	if cases.Kind() != ijson.Array || cases.Len() == 0 {
		return fmt.Errorf("no case ran")
	}
	for c := range cases.Elements() {
		if !c.Member("passed").Bool() {
			return fmt.Errorf("the case %q did not pass", c.Member("name").Text())
		}
	}
	if n, ok := suite.Member("notRun").Int(); !ok || n != 0 {
		return errors.New("only some of the cases ran")
	}
	for m := range suite.Member("missed").Elements() {
		return errors.New(m.Text())
	}
	return nil
}
