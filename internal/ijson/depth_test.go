package ijson_test

import (
	"testing"

	"countersign/internal/ijson"
)

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 0, `"a[{"`: 0, `{}`: 1, `[]`: 1, `[1,[2],3]`: 2, `{"a":1,"b":{"c":[{}]},"d":[]}`: 4,
	} {
		doc, err := ijson.Parse([]byte(text), ijson.Options{Depth: 64})
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Root().Depth(); got != want {
			t.Errorf("%s: %d levels, want %d", text, got, want)
		}
	}
	if got := (ijson.Value{}).Depth(); got != 0 {
		t.Errorf("a value that is not there: %d levels, want 0", got)
	}
}
