package rulestest

import (
	"slices"
	"strings"
	"unicode"

	"countersign/internal/ijson"
)

// likeness is what kind of text an argument holds, by its name and its schema.
type likeness string

const (
	likePath    likeness = "path"
	likeURL     likeness = "URL"
	likeCommand likeness = "command"
)

// Words of names that say what an argument holds. A path that is one of the words
// below on its own is none of a file (a JSON path, a pattern); those names are left
// to the words beside them.
var (
	pathWords    = []string{"path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "dir", "directory", "directories", "folder", "folders", "cwd", "workdir", "workspace"}
	urlWords     = []string{"url", "urls", "uri", "uris", "href", "endpoint", "webhook"}
	commandWords = []string{"command", "commands", "cmd", "shell", "script", "argv", "commandline"}
	moveWords    = []string{"source", "destination"} // of a tool that moves or copies
)

// words cuts a name into its words: at signs, and where small letters end.
func words(name string) []string {
	var out []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			out = append(out, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	r := []rune(name)
	for i, c := range r {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(c) && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1]) && unicode.IsUpper(r[i-1])) {
			end()
		}
		b.WriteRune(c)
	}
	end()
	return out
}

// likenessOf says what an argument of a tool holds, "" where nothing says so. Only
// texts and lists of texts hold any.
func likenessOf(t *Tool, a *argument) likeness {
	if len(a.names) == 0 || a.names[len(a.names)-1] == "#" && len(a.names) == 1 {
		return ""
	}
	types := a.shape.types()
	if types != nil && !slices.Contains(types, "string") {
		return ""
	}
	if types == nil && a.shape.known() && a.shape.says("properties") {
		return ""
	}
	if _, closed := a.shape.enum(); closed {
		return "" // one of a few words
	}
	for _, v := range a.shape.schemas {
		switch f := v.Member("format"); {
		case f.Kind() != ijson.String:
		case f.Is("uri"), f.Is("url"), f.Is("iri"), f.Is("uri-reference"):
			return likeURL
		}
	}
	w := words(a.name())
	has := func(l []string) bool {
		return slices.ContainsFunc(w, func(s string) bool { return slices.Contains(l, s) })
	}
	switch {
	case has(urlWords):
		return likeURL
	case has(pathWords) && !has([]string{"pattern", "patterns", "content", "contents", "text", "type", "count", "json", "id", "ids", "name"}):
		return likePath
	case has(commandWords):
		return likeCommand
	case has(moveWords) && len(w) == 1 && a.needs && movesFiles(t):
		return likePath
	}
	return ""
}

// movesFiles: is the tool about files?
func movesFiles(t *Tool) bool {
	return slices.ContainsFunc(words(t.Name), func(s string) bool { return slices.Contains(pathWords, s) })
}
