package proxy

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"countersign/internal/ijson"
)

// maxMethod is the most bytes of a method. The longest of any revision has 35; a
// long one is a short one with padding that some reader strips.
const maxMethod = 256

// methods are those of all revisions that the agent's side sends, besides those
// of paramsOf.
var methods = []string{
	"ping", "server/discover", "notifications/initialized", "notifications/roots/list_changed",
	"resources/templates/list", "tasks/list",
}

// bare gives the known methods by what is left of their names when case and
// punctuation are gone.
var bare = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for m := range paramsOf {
		all[strings.Join(words(m), "")] = m
	}
	for _, m := range methods {
		all[strings.Join(words(m), "")] = m
	}
	return all
})

// misspelt says what is wrong with a method that some reader might take for
// another than the guard does: it is a known one but for case, white space or
// punctuation. Let through as unknown, it could do what the known one does, unseen.
func misspelt(method string) string {
	if _, known := paramsOf[method]; known {
		return ""
	}
	if len(method) > maxMethod {
		return fmt.Sprintf("a method of more than %d bytes", maxMethod)
	}
	if near := bare()[strings.Join(words(method), "")]; near != "" && near != method {
		return fmt.Sprintf("a method that differs from %q only in case, white space or punctuation", near)
	}
	return ""
}

// words are the words of a method for a reader that minds neither case nor what
// stands between them.
func words(method string) []string {
	return strings.FieldsFunc(ijson.FoldName(norm.NFKC.String(method)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// ofTasks says whether a request is one about tasks, however it is spelt: also one
// that no revision has yet.
func ofTasks(method string) bool {
	w := words(method)
	return len(w) > 0 && w[0] == "TASKS"
}

// tellsOfTasks is ofTasks of a notification.
func tellsOfTasks(method string) bool {
	w := words(method)
	return len(w) > 1 && w[0] == "NOTIFICATIONS" && w[1] == "TASKS"
}
