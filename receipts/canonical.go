package receipts

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"countersign/internal/ijson"
)

// maxDepth is the most levels of objects and lists in a record's content and in a
// line of a book; the outermost is level 1 (section 1.4).
const maxDepth = 8

// parseCanonical reads text that must be its own canonical form, narrowed to
// objects, lists, strings and whole numbers (section 1.4). Everything else is
// payload-not-canonical: what is signed has one spelling.
func parseCanonical(d *ijson.Doc, src []byte) (ijson.Value, error) {
	if err := d.Parse(src, ijson.Options{Depth: maxDepth, AnyName: true}); err != nil {
		return ijson.Value{}, problem(CodePayloadNotCanonical, "not JSON in the canonical form: %s", err)
	}
	root := d.Root()
	if !narrow(root) {
		return ijson.Value{}, problem(CodePayloadNotCanonical, "only objects, lists, strings and whole numbers from 0 to %d are allowed", int64(MaxInt))
	}
	if !isCanonical(src, root) {
		return ijson.Value{}, problem(CodePayloadNotCanonical, "the JSON is not in the canonical form (stray spaces, members out of order, or an odd spelling)")
	}
	return root, nil
}

// narrow says whether a value holds only what records may hold. Depth is bounded
// by the parse.
func narrow(v ijson.Value) bool {
	switch v.Kind() {
	case ijson.String:
		return true
	case ijson.Number:
		n, ok := v.Int()
		return ok && n >= 0
	case ijson.Array:
		for e := range v.Elements() {
			if !narrow(e) {
				return false
			}
		}
		return true
	case ijson.Object:
		for _, e := range v.Members() {
			if !narrow(e) {
				return false
			}
		}
		return true
	}
	return false
}

func isCanonical(src []byte, root ijson.Value) bool {
	return bytes.Equal(ijson.AppendCanonical(make([]byte, 0, len(src)), root), src)
}

// parseLine is parseCanonical for a line of a book, whose faults have other
// codes: not-json where it is no JSON at all, line-not-canonical otherwise.
func parseLine(d *ijson.Doc, line []byte) (ijson.Value, error) {
	root, err := parseCanonical(d, line)
	if err == nil {
		return root, nil
	}
	// Only the choice between two refusals is left to the lenient reader.
	if len(line) == 0 || bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) || !utf8.Valid(line) || !json.Valid(line) {
		return ijson.Value{}, problem(CodeNotJSON, "the line is not JSON")
	}
	return ijson.Value{}, problem(CodeLineNotCanonical, "the line is not in the canonical form")
}
