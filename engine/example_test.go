package engine_test

import (
	"fmt"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/rules"
)

func Example() {
	set, problems := rules.ReadSet([]rules.Source{{Path: "content-rules.json", Data: []byte(`{
		"format": "content-rules/v1",
		"name": "files",
		"rules": [
			{"id": "stay-in-workspace", "tools": ["read_*"],
			 "require": {"every": "/**", "named": ["path"], "path": {"under": ["/srv/work"]}},
			 "say": "Only files in the workspace may be read."}
		]
	}`)}})
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New(set, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/srv/work/a.txt", "/srv/workshop/a.txt", "/srv/work/../secret"} {
		d, err := ijson.Parse(fmt.Appendf(nil, `{"path": %q}`, path), ijson.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		decision := e.Judge(&engine.Call{Tool: "read_file", Arguments: d.Root()})
		fmt.Println(decision.Verdict)
		if decision.Verdict == engine.Refused {
			fmt.Println(decision.Code, "-", decision.Tell("rule"))
		}
	}
	// Output:
	// allowed
	// refused
	// condition - refused by the rule files/stay-in-workspace: its test "path" of the argument /path. Only files in the workspace may be read.
	// refused
	// cannot-judge - refused by the rule files/stay-in-workspace: its test "path" cannot judge the argument /path. Only files in the workspace may be read.
}
