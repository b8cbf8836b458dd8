package rulestest_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/rulestest"
)

// mixed is a run with cases that pass and fail, with names and texts that each
// form of report has to escape.
func mixed(t *testing.T) *rulestest.Report {
	t.Helper()
	s := suite(t, expectRules, testFile(
		`{"name": "passes", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`,
		`{"name": "fails, with <signs> & \"quotes\": 100% #1\nand a line\u0007", "call": {"tool": "read", "arguments": {"path": "/etc/]]> \u001b[31m%0A::error::x"}}, "expect": "allowed"}`,
		`{"name": "fails too", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": {"refused": "stay"}}`,
	))
	r := run(t, s, rulestest.RunOptions{Coverage: true})
	if r.Failed() != 2 {
		t.Fatalf("%d failed", r.Failed())
	}
	return r
}

func TestJSONReport(t *testing.T) {
	var b bytes.Buffer
	r := mixed(t)
	if err := rulestest.WriteJSON(&b, []*rulestest.Report{r}); err != nil {
		t.Fatal(err)
	}
	var got rulestest.JSONReport
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Passed != 1 || got.Failed != 2 || len(got.Suites) != 1 || len(got.Suites[0].Cases) != 3 {
		t.Errorf("%+v", got)
	}
	s := got.Suites[0]
	if s.Rules[0].Fingerprint != r.Suite.Set.Files[0].Fingerprint || s.Coverage == nil || s.Coverage.Percent != r.Coverage.Percent() {
		t.Errorf("%+v", s)
	}
	c := s.Cases[1]
	if c.Passed || c.Expected != "allowed" || !strings.HasPrefix(c.Happened, `refused by "stay"`) || c.Trace == "" {
		t.Errorf("%+v", c)
	}
}

// The attributes and elements that the schema of JUnit reports, as Jenkins and
// others read them, asks for, and their order.
func TestJUnitIsWhatReadersTake(t *testing.T) {
	var b bytes.Buffer
	if err := rulestest.WriteJUnit(&b, []*rulestest.Report{mixed(t)}, nil); err != nil {
		t.Fatal(err)
	}
	type element struct {
		attrs    []string          // each needed
		numbers  []string          // attributes that are whole numbers
		children map[string][2]int // and how many, from and to; -1 is any
		order    []string
	}
	schema := map[string]element{
		"testsuites": {children: map[string][2]int{"testsuite": {0, -1}}, numbers: []string{"tests", "failures", "errors"}},
		"testsuite": {attrs: []string{"name", "tests", "failures", "errors"}, numbers: []string{"tests", "failures", "errors", "skipped"},
			children: map[string][2]int{"properties": {0, 1}, "testcase": {0, -1}}, order: []string{"properties", "testcase"}},
		"properties": {children: map[string][2]int{"property": {1, -1}}},
		"property":   {attrs: []string{"name", "value"}},
		"testcase":   {attrs: []string{"name", "classname"}, numbers: []string{"line"}, children: map[string][2]int{"error": {0, 1}, "failure": {0, 1}}},
		"error":      {attrs: []string{"type", "message"}},
		"failure":    {attrs: []string{"type", "message"}},
	}
	type open struct {
		name  string
		count map[string]int
		last  int
		attrs map[string]string
	}
	var stack []open
	counts := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	d.Strict = true
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			counts[name]++
			rule, known := schema[name]
			if !known {
				t.Fatalf("an element %s", name)
			}
			attrs := map[string]string{}
			for _, a := range x.Attr {
				attrs[a.Name.Local] = a.Value
			}
			for _, need := range rule.attrs {
				if _, ok := attrs[need]; !ok {
					t.Errorf("%s without %s", name, need)
				}
			}
			for _, n := range rule.numbers {
				if v, ok := attrs[n]; ok {
					if k, err := strconv.Atoi(v); err != nil || k < 0 {
						t.Errorf("%s: %s is %q", name, n, v)
					}
				}
			}
			if n := len(stack); n > 0 {
				p := &stack[n-1]
				if _, ok := schema[p.name].children[name]; !ok {
					t.Errorf("%s in %s", name, p.name)
				}
				p.count[name]++
				for i, o := range schema[p.name].order {
					if o == name {
						if i < p.last {
							t.Errorf("%s behind what follows it in %s", name, p.name)
						}
						p.last = i
					}
				}
			}
			stack = append(stack, open{name: name, count: map[string]int{}, attrs: attrs})
		case xml.EndElement:
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for child, bounds := range schema[p.name].children {
				if n := p.count[child]; n < bounds[0] || bounds[1] >= 0 && n > bounds[1] {
					t.Errorf("%d of %s in %s", n, child, p.name)
				}
			}
			if p.name == "testsuite" && p.attrs["tests"] != fmt.Sprint(p.count["testcase"]) {
				t.Errorf("tests says %s of %d", p.attrs["tests"], p.count["testcase"])
			}
		case xml.CharData:
			if p := stack; len(p) > 0 && p[len(p)-1].name != "failure" && len(bytes.TrimSpace(x)) > 0 {
				t.Errorf("text in %s", p[len(p)-1].name)
			}
		}
	}
	if counts["testcase"] != 3 || counts["failure"] != 2 || counts["property"] != 1 {
		t.Errorf("%v", counts)
	}
}

func TestSARIFAgainstItsSchema(t *testing.T) {
	f, err := os.Open("testdata/schema/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	r := mixed(t)
	findings := append(r.Findings(), r.Coverage.Findings()...)
	findings = append(findings, rulestest.Finding{Code: "kind-slip", Warning: true, File: "a b/ü.json", Line: 1, Column: 1, Message: "x"})
	for _, all := range [][]rulestest.Finding{nil, findings} {
		var b bytes.Buffer
		if err := rulestest.WriteSARIF(&b, all, "0.1.0"); err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, &b)
		}
		run := v.(map[string]any)["runs"].([]any)[0].(map[string]any)
		if got := len(run["results"].([]any)); got != len(all) {
			t.Errorf("%d results, want %d", got, len(all))
		}
		names := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		for _, x := range run["results"].([]any) {
			m := x.(map[string]any)
			i, _ := m["ruleIndex"].(json.Number).Int64()
			if names[i].(map[string]any)["id"] != m["ruleId"] {
				t.Errorf("ruleIndex %d is not %v", i, m["ruleId"])
			}
		}
	}
}

func TestGitHubAnnotations(t *testing.T) {
	var b bytes.Buffer
	if err := rulestest.WriteGitHub(&b, mixed(t).Findings()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each finding:\n%s", len(lines), &b)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "::error file=") || strings.Count(l, "title=case-failed::") != 1 {
			t.Errorf("%s", l)
		}
	}
	if !strings.Contains(lines[0], "100%25 #1%0Aand a line") {
		t.Errorf("not escaped: %s", lines[0])
	}
	// Outside the text of a message a colon and a comma are signs of the runner.
	b.Reset()
	if err := rulestest.WriteGitHub(&b, []rulestest.Finding{{Code: "x", Warning: true, File: "a:b,c%", Line: 2, Column: 3, Message: "m"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "::warning file=a%3Ab%2Cc%25,line=2,col=3,title=x::m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTAP(t *testing.T) {
	var b bytes.Buffer
	if err := rulestest.WriteTAP(&b, []*rulestest.Report{mixed(t)}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if lines[0] != "TAP version 13" || lines[1] != "1..3" || lines[2] != "ok 1 - passes" {
		t.Errorf("%q", lines[:3])
	}
	points, blocks := 0, 0
	inside := false
	for _, l := range lines[2:] {
		switch {
		case l == "  ---":
			inside, blocks = true, blocks+1
		case l == "  ...":
			inside = false
		case inside:
			if !strings.HasPrefix(l, "  ") {
				t.Errorf("a line of a block without indent: %q", l)
			}
		case strings.HasPrefix(l, "ok "), strings.HasPrefix(l, "not ok "):
			points++
			if i := strings.IndexByte(l, '#'); i > 0 && l[i-1] != '\\' {
				t.Errorf("a directive in a name: %q", l)
			}
		case l != "":
			t.Errorf("a line that is none of TAP: %q", l)
		}
		if strings.ContainsAny(l, "\x07\x1b") {
			t.Errorf("a control character: %q", l)
		}
	}
	if points != 3 || blocks != 2 {
		t.Errorf("%d points, %d blocks:\n%s", points, blocks, &b)
	}
}

// A report that cannot be written says so.
func TestReportsOnAFullDisk(t *testing.T) {
	r := mixed(t)
	all := []*rulestest.Report{r}
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return rulestest.WriteText(w, all, true) },
		"json":     func(w io.Writer) error { return rulestest.WriteJSON(w, all) },
		"junit":    func(w io.Writer) error { return rulestest.WriteJUnit(w, all, nil) },
		"tap":      func(w io.Writer) error { return rulestest.WriteTAP(w, all) },
		"sarif":    func(w io.Writer) error { return rulestest.WriteSARIF(w, r.Findings(), "") },
		"github":   func(w io.Writer) error { return rulestest.WriteGitHub(w, r.Findings()) },
		"coverage": r.Coverage.WriteText,
		"page":     r.Coverage.WritePage,
	} {
		if err := write(full{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }

// A case's name cannot say what its report does not: it is one line, and steers no
// terminal.
func TestNamesForgeNoReport(t *testing.T) {
	s := suite(t, expectRules, testFile(
		`{"name": "x\n9 cases: 9 passed, 0 failed\n::error::y", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": {"refused": "stay"}}`,
		`{"name": "y\u001b[2K\rpass \u202ez", "call": {"tool": "read", "arguments": {"path": "/srv/`+"\u009b2K\u202e"+`a"}}, "expect": "allowed"}`,
	))
	r := run(t, s, rulestest.RunOptions{})
	all := []*rulestest.Report{r}
	for name, write := range map[string]func(io.Writer) error{
		"text":   func(w io.Writer) error { return rulestest.WriteText(w, all, true) },
		"tap":    func(w io.Writer) error { return rulestest.WriteTAP(w, all) },
		"github": func(w io.Writer) error { return rulestest.WriteGitHub(w, r.Findings()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexAny(b.String(), "\x1b\r\u009b\u202e"); i >= 0 {
			t.Errorf("%s: steers a terminal: %q", name, b.String()[i:])
		}
		for l := range strings.Lines(b.String()) {
			if strings.HasPrefix(l, "9 cases") || strings.HasPrefix(l, "::error::") {
				t.Errorf("%s: a line that a name forged: %q", name, l)
			}
		}
	}
}

// Where a finding is stands in the log as a reference that leads back to the file.
func TestSARIFNamesFiles(t *testing.T) {
	for _, path := range []string{"a.json", "./a.json", "c:d.json", "https:x/y.json", "a b/ü#?%.json", "../a.json", "/abs/a:b.json", "x\nend.json", "\xff.json"} {
		var b bytes.Buffer
		if err := rulestest.WriteSARIF(&b, []rulestest.Finding{{Code: "x", File: path, Line: 1, Column: 1, Message: "m"}}, ""); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Runs []struct {
				Results []struct {
					Locations []struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		uri := log.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI
		base, err := url.Parse("file:///work/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := base.Parse(uri)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		want := filepath.Join("/work", path)
		if filepath.IsAbs(path) {
			want = path
		}
		if got.Scheme != "file" || got.Path != want {
			t.Errorf("%q is %q, which leads to %q, want %q", path, uri, got.Path, want)
		}
	}
}

// Perl's reader of TAP sees each case, none of them as a directive, and no error.
func TestTAPIsReadByProve(t *testing.T) {
	prove, err := exec.LookPath("prove")
	if err != nil {
		t.Skip("NOT RUN: no prove here, which Debian has in its package perl, to read the TAP report")
	}
	allowed := func(name string) string {
		return `{"name": "` + name + `", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`
	}
	names := []string{"a # TODO later", "b # SKIP", `back\\`, `back\\# TODO x`, "Bail out!", "1..9", "not ok 3", "\\n1..2"}
	for _, fails := range []bool{false, true} {
		var cases []string
		for _, n := range names {
			cases = append(cases, allowed(n))
		}
		if fails {
			cases = append(cases, `{"name": "fails # TODO", "call": {"tool": "read", "arguments": {"path": "/srv/a"}}, "expect": {"refused": "stay"}}`)
		}
		var b bytes.Buffer
		if err := rulestest.WriteTAP(&b, []*rulestest.Report{run(t, suite(t, expectRules, testFile(cases...)), rulestest.RunOptions{})}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.tap")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(prove, "-e", "cat", path).CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), fmt.Sprintf("Tests=%d", len(cases))) || strings.Contains(string(out), "Parse error") ||
			strings.Contains(string(out), "skipped") || strings.Contains(string(out), "TODO passed") {
			t.Errorf("%v\n%s\n%s", err, out, &b)
		}
	}
}
