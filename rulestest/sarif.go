package rulestest

import (
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"countersign/rules"
)

// SARIF 2.1.0, as far as findings need it.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
	Columns string        `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

// WriteSARIF writes findings as a SARIF 2.1.0 log of one run. version is the
// program's own, "" for none.
func WriteSARIF(w io.Writer, findings []Finding, version string) error {
	run := sarifRun{Columns: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "countersign", Version: version, Rules: []sarifRule{}}
	var codes []string
	for _, f := range findings {
		if !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	slices.Sort(codes)
	for _, c := range codes {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c, sarifMessage{meaning(c)}})
	}
	for _, f := range findings {
		level := "error"
		if f.Warning {
			level = "warning"
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Code, RuleIndex: slices.Index(codes, f.Code), Level: level,
			Message: sarifMessage{strings.TrimSuffix(f.Message, "\n")},
			Locations: []sarifLocation{{sarifPhysical{
				sarifArtifact{fileURI(f.File)}, sarifRegion{max(f.Line, 1), max(f.Column, 1)},
			}}},
		})
	}
	return writeJSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func meaning(code string) string {
	if m := meanings[code]; m != "" {
		return m
	}
	for _, c := range rules.Codes() {
		if c.Name == code {
			return c.Means
		}
	}
	return code
}

// fileURI is a path as a URI reference. Bytes that are no text are escaped.
func fileURI(p string) string {
	p = path.Clean(filepath.ToSlash(p))
	u := url.URL{Path: p}
	if path.IsAbs(p) {
		u.Scheme = "file"
	}
	return u.String() // with ./ before a first segment that could be read as a scheme
}
