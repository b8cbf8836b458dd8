package rules

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of a rules file, for editors. What it
// rejects, Read rejects; what else Read rejects is in BeyondSchema.
func Schema() []byte { return slices.Clone(schema) }

// Beyond is a fault that Read sees and the schema does not.
type Beyond struct {
	Name  string
	Means string
}

// BeyondSchema names what only Read sees.
func BeyondSchema() []Beyond {
	return []Beyond{
		{"size", "a file over MaxBytes"},
		{"strict-json", "a repeated member, an inexact number, half a surrogate pair and all else that strict JSON is not: a schema sees values, not text"},
		{"nesting", "lists and objects nested over MaxDepth"},
		{"same-id", "two rules of one id"},
		{"set", "files of one name, or rules of one id, in one set"},
		{"no-list", "@name of a list that the file does not have"},
		{"list-kind", "a list of numbers, or with an empty text, under a test of texts"},
		{"bounds", "an upper bound under its lower"},
		{"pointer", "a ~ that is none of ~0 to ~3, ** elsewhere than at the end, more segments than a call has levels"},
		{"member-name", "a name that no call can hold"},
		{"pattern", "what RE2 does not take, or what compiles to too much"},
		{"glob", "what is no glob, or one that nothing can match"},
		{"compiled", "globs and entries over the bound of a file, each list counted where it is used"},
		{"fold", "fold beside nothing that it folds"},
		{"path", "a root or base that is not absolute and clean"},
		{"json", "a cel inside a json test, or json tests nested over MaxJSONNested"},
	}
}
