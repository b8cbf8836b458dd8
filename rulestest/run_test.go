package rulestest_test

import (
	"testing"

	"countersign/rulestest"
)

func TestSection10Example(t *testing.T) {
	rulestest.Run(t, "testdata/files/content-rules.test.json")
}
