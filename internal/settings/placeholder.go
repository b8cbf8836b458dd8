package settings

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// maxPlaceholder is the most code points of a placeholder: a sentence, not a text
// that happens to stand between angle brackets.
const maxPlaceholder = 200

// isPlaceholder says whether a text still stands <like this>.
func isPlaceholder(s string) bool {
	return len(s) > 2 && s[0] == '<' && s[len(s)-1] == '>' &&
		utf8.RuneCountInString(s) <= maxPlaceholder && !strings.ContainsAny(s[1:len(s)-1], "<>\n")
}

// blanks finds every placeholder in a document, as a value or as a member's name.
func blanks(root ijson.Value) []Problem {
	var out []Problem
	note := func(v ijson.Value, ptr string) {
		if s := v.Text(); v.Kind() == ijson.String && isPlaceholder(s) {
			out = append(out, Problem{Offset: v.Start(), Pointer: ptr, Code: CodePlaceholder,
				Msg: "still written " + s + ": put the value in"})
		}
	}
	var walk func(v ijson.Value, ptr string)
	walk = func(v ijson.Value, ptr string) {
		note(v, ptr)
		i := 0
		for e := range v.Elements() {
			walk(e, ptr+"/"+strconv.Itoa(i))
			i++
		}
		for name, m := range v.Members() {
			at := ptr + "/" + problem.EscapePointer(name.Text())
			note(name, at)
			walk(m, at)
		}
	}
	walk(root, "")
	return out
}

// Placeholders finds what is still written <like this> in any JSON file a person
// fills in, such as a rules file. A file that is not strict JSON has none: its
// own reader says what is wrong with it.
func Placeholders(file string, src []byte) Problems {
	doc, err := ijson.Parse(src, ijson.Options{})
	if err != nil {
		return nil
	}
	return problem.Settle(file, src, blanks(doc.Root()), 0)
}

// Unfilled says whether a problem is a passkey's thumbprint, or the hash of an
// agent's secret, that is not filled in yet: the one thing that making keys does
// not need.
func Unfilled(p Problem) bool {
	if p.Code != CodePlaceholder {
		return false
	}
	seg := strings.Split(p.Pointer, "/")[1:]
	switch {
	case len(seg) == 3 && seg[0] == "agent":
		return seg[1] == "issuerKeys"
	case len(seg) == 4 && seg[0] == "agents":
		return seg[2] == "issuerKeys"
	case len(seg) == 3 && seg[0] == "agents":
		return seg[2] == "secretHash"
	}
	return false
}
