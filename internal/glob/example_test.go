package glob_test

import (
	"fmt"

	"countersign/internal/glob"
)

func Example() {
	g, err := glob.Compile("/srv/**/*.{go,md}", glob.Options{Separator: '/'})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Match("/srv/README.md"), g.Match("/srv/a/b/main.go"), g.Match("/srv/a/main.c"))

	_, err = glob.Compile("/srv/**.go", glob.Options{Separator: '/'})
	fmt.Println(err)
	// Output:
	// true true false
	// glob, character 8: ** is a whole segment or nothing; write * for any run of characters in a segment
}
