package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"countersign/receipts"
)

// demoRules are the content rules of the demonstration.
const demoRules = `{
  "format": "content-rules/v1",
  "name": "demo",
  "about": "The rules of the demonstration.",
  "lists": {
    "secret-words": ["password", "api_key", "BEGIN PRIVATE KEY"]
  },
  "rules": [
    { "id": "no-secrets",
      "about": "Nothing that looks like a secret may be sent to the tool server.",
      "tools": ["*"],
      "refuse": { "some": "/**", "contains": "@secret-words", "fold": true },
      "say": "This looks like a secret. Secrets are not sent to tools." }
  ]
}
`

// demoMost is the largest first number that the demonstration's slip lets add
// take.
const demoMost = 100

// demoSettings gives the settings of the demonstration. self is the program,
// which is the tool server too.
func demoSettings(self, thumbprint string) ([]byte, error) {
	type object map[string]any
	b, err := json.MarshalIndent(object{
		"name":    "Demonstration guard",
		"service": "demo-guard",
		"server":  object{"command": self, "args": []string{"demo", "--tools"}},
		"tools": object{
			"echo": object{"action": "demo.echo"},
			"add":  object{"action": "demo.add", "amount": object{"arg": "/a", "unit": "points"}},
		},
		"contentRules": "content-rules.json",
		"agent": object{
			"slip": "slip.json", "book": "book.jsonl", "keys": "keys/agent.keys", "ledger": "ledger.jsonl",
			"issuerKeys": []string{thumbprint},
		},
		"executor": object{"keys": "keys/guard.keys", "ledgerKey": object{"file": "keys/ledger.key"}},
	}, "", "  ")
	return append(b, '\n'), err
}

// makeDemo makes the demonstration's world in a new temporary folder: rules,
// keys, settings, and a slip signed by a stand-in. It gives the world as check
// and stdio would read it.
func (p *program) makeDemo(valid time.Duration) (*world, error) {
	dir, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return nil, fmt.Errorf("making the demonstration's folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	config := filepath.Join(dir, "executor.json")
	if err := writeNew(filepath.Join(dir, "content-rules.json"), []byte(demoRules), 0o600); err != nil {
		return nil, err
	}
	// The thumbprint is known once the stand-in has signed; until then one of
	// no key stands in its place.
	settle := func(thumbprint string) (*world, error) {
		b, err := demoSettings(self, thumbprint)
		if err != nil {
			return nil, err
		}
		if err := replaceFile(config, b); err != nil {
			return nil, err
		}
		return load(config)
	}
	w, err := settle("<the thumbprint of the stand-in>")
	if err != nil {
		return nil, err
	}
	w.readRules()
	if _, err := p.makeKeys(w, func(string) {}); err != nil {
		return nil, err
	}
	record, thumbprint, err := p.developmentSlip(w, terms{
		limits:  []string{fmt.Sprintf("demo.add each %d points", demoMost)},
		valid:   valid,
		purpose: "Showing what the guard does. Nobody gave this permission.",
		issuer:  "Demonstration",
	})
	if err != nil {
		return nil, err
	}
	if err := writeNew(w.settings.Agent.Slip, append(record, '\n'), 0o600); err != nil {
		return nil, err
	}
	if w, err = settle(thumbprint); err != nil {
		return nil, err
	}
	w.readAll()
	if err := w.problems.Err(); err != nil {
		return nil, fmt.Errorf("the demonstration's own files:\n%w", err)
	}
	return w, nil
}

// permissionOf is the slip's content in words.
func permissionOf(s *receipts.Slip) string {
	return fmt.Sprintf("%v until %s, signed by %s", s.Actions, s.ValidUntil, s.Issuer.Name.Text)
}
