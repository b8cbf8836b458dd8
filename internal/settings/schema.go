package settings

import _ "embed"

//go:embed executor.schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of the settings file, for editors. What it
// refuses, Read refuses too; Read sees more: repeated members, placeholders,
// members that need or exclude each other, two members with one file, globs,
// the shared list of actions, and what this version lacks.
func Schema() []byte { return append([]byte(nil), schema...) }
