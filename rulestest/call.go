package rulestest

import (
	"errors"
	"time"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// ReadCall reads one call, in the form that a case of a test file has it: an
// object with a tool and arguments, or with a whole message.
func ReadCall(path string, src []byte) (*Call, problem.List) {
	var r reader
	doc, err := ijson.Parse(src, ijson.Options{Depth: maxDepth})
	if err != nil {
		at, msg := 0, err.Error()
		if e := (*ijson.Error)(nil); errors.As(err, &e) {
			at, msg = e.Offset, e.Msg
		}
		r.FaultAt(at, "", "not strict JSON: %s", msg)
		return nil, r.Settle(path, src)
	}
	c := r.call(problem.Place{Value: doc.Root()})
	if len(r.Problems) > 0 {
		return nil, r.Settle(path, src)
	}
	return c, nil
}

// Judge judges one call by the suite's rules at a time, with the whole trace.
func (s *Suite) Judge(c *Call, now time.Time) Judged {
	j := judge{s: s, e: s.engine}
	return j.call(c, now)
}
