package engine_test

import (
	"testing"

	"countersign/engine"
)

// An empty object under ** is of the wrong kind for every test but type and
// length, so every fails on it and some passes it over.
func TestEmptyLeafUnderDeep(t *testing.T) {
	for _, c := range []struct {
		condition string
		args      string
		want      engine.Verdict
	}{
		{`"require":{"every":"/**","onlyMembers":["x"]}`, `{"a":{}}`, engine.Refused},
		{`"require":{"every":"/**","type":"object"}`, `{"a":{}}`, engine.Allowed},
		{`"require":{"every":"/**","length":{"atMost":0}}`, `{"a":{},"b":[]}`, engine.Allowed},
		{`"refuse":{"some":"/**","onlyMembers":["x"]}`, `{"a":{}}`, engine.Allowed},
		{`"require":{"every":"/**","command":{"programs":["ls"]}}`, `{"a":[]}`, engine.Refused},
	} {
		e := docEngine(t, `{"format":"content-rules/v1","name":"x","rules":[{"id":"r","tools":["t"],`+c.condition+`}]}`)
		if d := e.Judge(&engine.Call{Tool: "t", Arguments: parse(t, []byte(c.args))}); d.Verdict != c.want {
			t.Errorf("%s on %s: %v", c.condition, c.args, d.Verdict)
		}
	}
}

// Inside a json test a name that only looks like one the test knows cannot be
// judged, as in a call.
func TestLookAlikeInsideJSON(t *testing.T) {
	e := docEngine(t, `{"format":"content-rules/v1","name":"x","rules":[{"id":"r","tools":["t"],"require":{"arg":"/a","json":{"all":[{"arg":"/b","is":1},{"arg":"","onlyMembers":["b","B2","c"]}]}}}]}`)
	for args, want := range map[string]engine.Code{
		`{"a":"{\"b\":1}"}`:         "",
		`{"a":"{\"b\":1,\"c\":2}"}`: "",
		`{"a":"{\"b\":1,\"B\":2}"}`: engine.CannotJudge,
		`{"a":"{\"b\":1,\"C\":2}"}`: engine.CannotJudge,
		`{"a":"{\"b\":2}"}`:         engine.Condition,
	} {
		if d := e.Judge(&engine.Call{Tool: "t", Arguments: parse(t, []byte(args))}); d.Code != want {
			t.Errorf("%s: %q, want %q", args, d.Code, want)
		}
	}
}

// The pointers of an argv are names that a json test knows too.
func TestLookAlikeOfArgvInsideJSON(t *testing.T) {
	e := docEngine(t, `{"format":"content-rules/v1","name":"x","rules":[{"id":"r","tools":["t"],"require":{"arg":"/a","json":{"argv":["/cmd","/args"],"command":{"programs":["ls"]}}}}]}`)
	for args, want := range map[string]engine.Code{
		`{"a":"{\"cmd\":\"ls\",\"args\":[\"x\"]}"}`: "",
		`{"a":"{\"cmd\":\"ls\",\"other\":\"x\"}"}`:  "",
		`{"a":"{\"cmd\":\"ls\",\"CMD\":\"rm\"}"}`:   engine.CannotJudge,
		`{"a":"{\"cmd\":\"ls\",\"Args\":[\"x\"]}"}`: engine.CannotJudge,
		`{"a":"{\"cmd\":\"rm\"}"}`:                  engine.Condition,
	} {
		if d := decide(t, e, "t", args); d.Code != want {
			t.Errorf("%s: %q, want %q", args, d.Code, want)
		}
	}
}
