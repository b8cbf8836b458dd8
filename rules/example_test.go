package rules_test

import (
	"fmt"

	"countersign/rules"
)

// A file is read whole: either it is sound and becomes a tree, or all that is
// wrong with it is told at once.
func Example() {
	src := []byte(`{
  "format": "content-rules/v1",
  "name": "files",
  "lists": { "workspace": ["/srv/work", "/tmp/agent"] },
  "rules": [
    {
      "id": "stay-in-workspace",
      "tools": ["read_*", "write_file"],
      "require": { "every": "/**", "named": ["path"], "path": { "under": "@workspace" } },
      "say": "Only files in the workspace may be touched."
    }
  ]
}`)
	f, problems := rules.Read("content-rules.json", src)
	if f == nil {
		fmt.Print(problems)
		return
	}
	for _, r := range f.Rules {
		fmt.Println(r.ID, r.Names("read_file"), r.Names("delete_file"))
	}
	fmt.Println("content-rules:"+f.Name, f.Fingerprint)

	_, problems = rules.Read("content-rules.json", []byte(`{
  "format": "content-rules/v1",
  "name": "files",
  "rules": [
    { "id": "a", "tool": ["t"], "refuse": { "arg": "/path", "containz": ".env" } }
  ]
}`))
	fmt.Print(problems)
	// Output:
	// stay-in-workspace true false
	// content-rules:files JyIa2YDaSz_3uO-UjSaNjZD1RJF74avaiNwawS_kGrI
	// content-rules.json:5:18: /rules/0/tool: unknown member "tool" of a rule, did you mean "tools"?
	// content-rules.json:5:61: /rules/0/refuse/containz: unknown member "containz" of a condition, did you mean "contains"?
}
