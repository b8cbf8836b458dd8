// Count reads the output of go test -json, prints what failed and what was skipped,
// and writes how many tests passed, failed and were skipped to the file it is
// given, as three numbers on one line. With "whole" a test that says it was NOT RUN
// has failed: everything it needs is there.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string
}

func main() {
	whole := len(os.Args) == 3 && os.Args[2] == "whole"
	if len(os.Args) != 2 && !whole {
		fmt.Fprintln(os.Stderr, "usage: go test -json … | count FILE [whole]")
		os.Exit(2)
	}
	var passed, failed, skipped int
	output := make(map[[2]string]*strings.Builder) // by package and test
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			fmt.Println(in.Text()) // go itself, of what it could not build
			continue
		}
		if e.Action == "build-output" {
			fmt.Print(e.Output)
			continue
		}
		key := [2]string{e.Package, e.Test}
		text := output[key]
		if text == nil {
			text = new(strings.Builder)
			output[key] = text
		}
		switch e.Action {
		case "output":
			text.WriteString(e.Output)
			continue
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				tell(text.String(), "ok ")
			}
		case "skip":
			switch {
			case e.Test == "":
			case whole && strings.Contains(text.String(), "NOT RUN"):
				failed++
				fmt.Printf("FAILED, since it did not run: %s %s\n%s", e.Package, e.Test, text)
			default:
				skipped++
				fmt.Printf("SKIPPED %s %s\n%s", e.Package, e.Test, text)
			}
		case "fail":
			failed++ // a package too: it may fail between its tests, or not build
			fmt.Printf("FAILED %s %s\n%s", e.Package, e.Test, text)
		default:
			continue
		}
		delete(output, key)
	}
	if err := in.Err(); err != nil {
		fmt.Println("reading the output of go test:", err)
		failed++
	}
	if err := os.WriteFile(os.Args[1], fmt.Appendf(nil, "%d %d %d\n", passed, failed, skipped), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// tell prints the lines of a text that begin with a word.
func tell(text, word string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, word) {
			fmt.Print(line)
		}
	}
}
