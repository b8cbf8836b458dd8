package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"countersign/internal/ijson"
)

// Bounds of a tool's inputSchema, which comes from the server and is compiled
// once. The largest seen among real servers has some 300 keywords.
const (
	maxSchemaBytes = 1 << 20
	maxKeywords    = 10_000
	// maxOmitted is how many keywords are left out before the schema counts as
	// one that cannot be compiled at all.
	maxOmitted = 64
	// maxSchemaCost is the most steps that validating one call may be expected
	// to take (guard.md, section 2, validateArguments).
	maxSchemaCost = 1_000_000
)

// schema is one tool's inputSchema, compiled. It is not changed afterwards.
type schema struct {
	root     *jsonschema.Schema
	plain    *plainSchema // the same, where it is a plain one
	omitted  []string     // pointers of the keywords that could not be compiled
	keywords int
	uniques  int // keywords uniqueItems among them
	// expanded is keywords with every reference written out, as a value may
	// meet them; -1 where that is without end or too large to tell.
	expanded int
}

// schemaURL is where the library is told that the schema lies. Nothing is there.
const schemaURL = "tool:inputSchema"

// compileSchema compiles an inputSchema. A keyword that cannot be compiled is
// left out and named; nothing is fetched.
func compileSchema(v ijson.Value) (*schema, error) {
	if len(v.Raw()) > maxSchemaBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxSchemaBytes)
	}
	doc := decode(v)
	s := new(schema)
	walkSchema(doc, nil, func(_ []string, object map[string]any) {
		s.keywords += len(object)
		if object["uniqueItems"] == true {
			s.uniques++
		}
	})
	if s.keywords > maxKeywords {
		return nil, fmt.Errorf("it has more than %d keywords", maxKeywords)
	}
	// What these refer to depends on how the schema is entered, so no bound
	// could be told ahead.
	s.omit(doc, "$dynamicRef", func(any) bool { return true })
	s.omit(doc, "$recursiveRef", func(any) bool { return true })
	for {
		root, err := compileOnce(doc)
		if err == nil {
			s.root = root
			break
		}
		before := len(s.omitted)
		s.without(doc, err)
		if len(s.omitted) == before || len(s.omitted) > maxOmitted {
			return nil, errors.New("it cannot be compiled")
		}
	}
	s.expanded = expand(s.root)
	s.plain = plainOf(doc, true)
	return s, nil
}

func compileOnce(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// nowhere is the loader that loads nothing.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// without leaves out of doc what an error of the compiler is about.
func (s *schema) without(doc any, err error) {
	var invalid *jsonschema.SchemaValidationError
	var pattern *jsonschema.InvalidRegexError
	switch {
	case s.omitPatterns(doc):
	case errors.As(err, &invalid):
		var at *jsonschema.ValidationError
		if errors.As(invalid.Err, &at) {
			s.cut(doc, deepest(at))
		}
	case errors.As(err, &pattern):
		if _, fragment, ok := strings.Cut(pattern.URL, "#"); ok {
			if ptr, err := url.PathUnescape(fragment); err == nil {
				s.cut(doc, segments(ptr))
			}
		}
		s.omit(doc, "pattern", func(v any) bool { return v == pattern.Regex })
	default:
		before := len(s.omitted)
		s.omit(doc, "$ref", func(v any) bool {
			ref, ok := v.(string)
			if !ok || !strings.HasPrefix(ref, "#") {
				return true
			}
			if strings.HasPrefix(ref, "#/") {
				ptr, err := url.PathUnescape(ref[1:])
				return err != nil || !reaches(doc, segments(ptr))
			}
			return false
		})
		if len(s.omitted) == before {
			for _, name := range []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"} {
				s.omit(doc, name, func(v any) bool { return !slices.Contains(knownDrafts, fmt.Sprint(v)) })
			}
		}
	}
}

// omitPatterns leaves out the members of patternProperties whose names are no
// patterns here, of which the compiler does not say which they are.
func (s *schema) omitPatterns(doc any) bool {
	before := len(s.omitted)
	walkSchema(doc, nil, func(at []string, object map[string]any) {
		members, _ := object["patternProperties"].(map[string]any)
		for name := range members {
			if _, err := regexp.Compile(name); err != nil {
				delete(members, name)
				s.omitted = append(s.omitted, pointer(append(slices.Clone(at), "patternProperties", name)))
			}
		}
	})
	return len(s.omitted) > before
}

// knownDrafts are the dialects the library has built in.
var knownDrafts = []string{
	"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-04/schema#",
	"http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-06/schema#",
	"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2019-09/schema#",
	"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
}

// omit leaves out every keyword of a name, wherever a schema stands, whose value
// is one that cut says.
func (s *schema) omit(doc any, name string, cut func(any) bool) {
	walkSchema(doc, nil, func(at []string, object map[string]any) {
		if v, ok := object[name]; ok && cut(v) {
			delete(object, name)
			s.omitted = append(s.omitted, pointer(append(slices.Clone(at), name)))
		}
	})
}

// cut leaves out the keyword at or around a place.
func (s *schema) cut(doc any, at []string) {
	for ; len(at) > 0; at = at[:len(at)-1] {
		holder := doc
		for _, seg := range at[:len(at)-1] {
			holder = step(holder, seg)
		}
		if object, ok := holder.(map[string]any); ok {
			if _, ok := object[at[len(at)-1]]; ok {
				delete(object, at[len(at)-1])
				s.omitted = append(s.omitted, pointer(at))
			}
			return
		}
	}
}

func step(v any, seg string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[seg]
	case []any:
		if i, err := strconv.Atoi(seg); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

func reaches(doc any, at []string) bool {
	for _, seg := range at {
		if doc = step(doc, seg); doc == nil {
			return false
		}
	}
	return true
}

// deepest is the place of the innermost cause of an error.
func deepest(e *jsonschema.ValidationError) []string {
	at := e.InstanceLocation
	for _, cause := range e.Causes {
		if d := deepest(cause); len(d) > len(at) {
			at = d
		}
	}
	return at
}

func segments(ptr string) []string {
	if ptr == "" {
		return nil
	}
	segs := strings.Split(strings.TrimPrefix(ptr, "/"), "/")
	for i, seg := range segs {
		segs[i] = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
	}
	return segs
}

func pointer(segs []string) string {
	var b strings.Builder
	for _, seg := range segs {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(seg, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Where schemas stand inside a schema, by keyword.
var (
	holdsSchema  = []string{"additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems", "unevaluatedItems", "contains", "not", "if", "then", "else", "contentSchema"}
	holdsList    = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	holdsMembers = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// walkSchema calls f for every schema that is an object, outermost first. What is
// data, such as a default, is not looked into.
func walkSchema(doc any, at []string, f func(at []string, object map[string]any)) {
	object, ok := doc.(map[string]any)
	if !ok {
		return
	}
	f(at, object)
	for _, name := range holdsSchema {
		walkSchema(object[name], append(at[:len(at):len(at)], name), f)
	}
	for _, name := range holdsList {
		if list, ok := object[name].([]any); ok {
			for i, sub := range list {
				walkSchema(sub, append(at[:len(at):len(at)], name, strconv.Itoa(i)), f)
			}
		}
	}
	for _, name := range holdsMembers {
		if members, ok := object[name].(map[string]any); ok {
			for member, sub := range members {
				walkSchema(sub, append(at[:len(at):len(at)], name, member), f)
			}
		}
	}
}

// decode gives a value as the library wants it. Numbers keep their digits.
func decode(v ijson.Value) any {
	switch v.Kind() {
	case ijson.Object:
		object := make(map[string]any, v.Len())
		for name, value := range v.Members() {
			object[name.Text()] = decode(value)
		}
		return object
	case ijson.Array:
		list := make([]any, 0, v.Len())
		for e := range v.Elements() {
			list = append(list, decode(e))
		}
		return list
	case ijson.String:
		return v.Text()
	case ijson.Number:
		return json.Number(v.Raw())
	case ijson.True, ijson.False:
		return v.Bool()
	}
	return nil
}

// misfit is why arguments do not pass a schema.
type misfit struct {
	code string // schema or over-budget
	why  string // for the agent: places and keywords, never a value
}

// check holds arguments, an object or absent, against the schema; nil where they fit.
func (s *schema) check(arguments ijson.Value) *misfit {
	values, longest := count(arguments)
	cost := values * max(s.keywords, 1)
	if s.uniques > 0 {
		cost += s.uniques * longest * values
	}
	switch {
	case cost > maxSchemaCost:
	case s.expanded >= 0:
		cost = max(cost, values*s.expanded)
	default:
		cost = max(cost, steps(s.root, arguments, maxSchemaCost))
	}
	if cost > maxSchemaCost {
		return &misfit{"over-budget", "checking the arguments against the tool's input schema would take too long"}
	}
	if s.plain != nil && arguments.Exists() && s.plain.fits(arguments) {
		return nil
	}
	var document any = map[string]any{} // what absent arguments are
	if arguments.Exists() {
		document = decode(arguments)
	}
	err := s.root.Validate(document)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &misfit{"schema", "the arguments cannot be checked against the tool's input schema"}
	}
	return &misfit{"schema", "the arguments do not fit the tool's input schema: " + strings.Join(complaints(invalid, nil), "; ")}
}

// maxComplaints is how many of a schema's complaints are told: enough to mend a
// call, and no more than one would read.
const maxComplaints = 3

// complaints adds the innermost causes of an error to those told, of which the
// first few in the order of their texts are kept, each with its place and the
// keyword that failed. The values are not told, nor what would have been right
// but for the members that are missing, which the server's own list names.
func complaints(e *jsonschema.ValidationError, told []string) []string {
	if len(e.Causes) == 0 {
		place := pointer(e.InstanceLocation)
		if len(place) > 200 {
			place = place[:200] + "…"
		}
		what := strings.Join(e.ErrorKind.KeywordPath(), "/")
		if missing, ok := e.ErrorKind.(*kind.Required); ok {
			what = "required: " + strings.Join(missing.Missing, ", ")
		}
		if what == "" {
			what = "not allowed"
		}
		text := fmt.Sprintf("at %q: %s", place, what)
		if i, found := slices.BinarySearch(told, text); !found && i < maxComplaints {
			told = slices.Insert(told, i, text)
		}
		return told[:min(len(told), maxComplaints)]
	}
	for _, cause := range e.Causes {
		told = complaints(cause, told)
	}
	return told
}

// count is the number of values in v, itself included, and the most elements of
// a list in it.
func count(v ijson.Value) (values, longest int) {
	values = 1
	add := func(v ijson.Value) {
		n, l := count(v)
		values += n
		longest = max(longest, l)
	}
	switch v.Kind() {
	case ijson.Object:
		for _, m := range v.Members() {
			add(m)
		}
	case ijson.Array:
		longest = v.Len()
		for e := range v.Elements() {
			add(e)
		}
	}
	return values, longest
}
