package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/engine"
)

// Each text of a call is folded once, however many rules look at it: U+FDFA takes
// eleven bytes for one, and that for each rule would take minutes.
func TestFoldedOnce(t *testing.T) {
	const many = 40
	text := strings.Repeat("\uFDFA", 5000)
	args := `{"a":"` + text + `","b":{"` + text + `":1},"c":"{\"d\":\"` + text + `\"}"}`
	took := func(n int) time.Duration {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":"a%[1]d","tools":["t"],"refuse":{"some":"/a/**","contains":"x%[1]d","endsWith":"y","fold":true}},
				{"id":"b%[1]d","tools":["t"],"refuse":{"some":"/**","named":["x%[1]d"],"is":1,"fold":true}},
				{"id":"c%[1]d","tools":["t"],"refuse":{"arg":"/b","hasMembers":["x%[1]d"],"fold":true}},
				{"id":"d%[1]d","tools":["t"],"refuse":{"arg":"/c","json":{"arg":"/d","endsWith":"x%[1]d","fold":true}}}`, i))
		}
		e := compile(t, one(list...))
		c := &engine.Call{Tool: "t", Arguments: parse(t, []byte(args))}
		least := time.Hour
		for range 3 {
			begun := time.Now()
			for _, d := range []engine.Decision{e.Judge(c), e.Explain(c)} {
				if d.Verdict != engine.Allowed {
					t.Fatal(d.Tell("test"))
				}
			}
			least = min(least, time.Since(begun))
		}
		return least
	}
	// The rest of what forty rules do is little beside one folding.
	if once, often := took(1), took(many); often > once*many/3 {
		t.Errorf("one set of rules took %v, %d took %v", once, many, often)
	}
}
