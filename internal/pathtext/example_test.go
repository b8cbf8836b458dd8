package pathtext_test

import (
	"fmt"

	"countersign/internal/pathtext"
)

func Example() {
	j, err := pathtext.New(pathtext.Operand{Under: []string{"/srv/work"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"/srv//work/a.txt", "/srv/workshop/a.txt", "/srv/work/../etc/passwd"} {
		result, why := j.Judge(text)
		fmt.Printf("%v (%s)\n", result, why)
	}

	_, err = pathtext.New(pathtext.Operand{Like: []string{"/srv/work/"}})
	fmt.Println(err)
	// Output:
	// holds ()
	// does not hold (under none of the roots)
	// cannot be judged (a .. segment)
	// like, entry 1: "/srv/work/": glob, character 11: a clean path has no slash at its end; write "/srv/work"
}
