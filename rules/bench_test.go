package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/rules"
)

// BenchmarkRead reads files of the sizes that people have, warnings included.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		rs := make([]string, n)
		for i := range rs {
			rs[i] = fmt.Sprintf(`{"id":"r%d","tools":["read_%d*","write_%d"],"when":{"arg":"/path","present":true},
				"refuse":{"any":[{"some":"/**","contains":["secret%d","token"],"fold":true},{"arg":"/mode","matches":"[a-z]{1,%d}"}]}}`, i, i, i, i, 1+i%50)
		}
		src := []byte(`{"format":"content-rules/v1","name":"bench","rules":[` + strings.Join(rs, ",") + `]}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if f, ps := rules.Read("f.json", src); f == nil {
					b.Fatal(ps)
				}
			}
		})
	}
}
