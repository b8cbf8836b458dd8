package proxy

import (
	"slices"

	"countersign/internal/ijson"
)

// plainSchema is a schema of the few keywords that most tools' schemas consist of,
// held against a value where it stands. It only ever says that a value fits:
// whatever does not, or is not plain, is for the library to judge and to word.
type plainSchema struct {
	kinds    []ijson.Kind // of a value that fits; nil: any
	integer  bool         // a whole number fits, beside kinds
	enum     []string     // texts that fit; nil: any value
	members  map[string]*plainSchema
	required []string
	closed   bool // no members but these
	elements *plainSchema
}

// annotations are keywords that say nothing about whether a value fits.
var annotations = []string{"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}

// plainOf is a schema as a plain one; nil where it has a keyword or a form that
// none has. The schema has been compiled, so its keywords have the forms they
// should have.
func plainOf(doc any, root bool) *plainSchema {
	if doc == true {
		return new(plainSchema)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	p := new(plainSchema)
	for name, v := range object {
		ok := false
		switch name {
		case "type":
			ok = p.addType(v)
		case "enum":
			p.enum, ok = texts(v)
		case "required":
			p.required, ok = texts(v)
		case "additionalProperties":
			var open bool
			open, ok = v.(bool)
			p.closed = !open
		case "items":
			p.elements = plainOf(v, false)
			ok = p.elements != nil
		case "properties":
			p.members, ok = plainMembers(v)
		case "$schema":
			dialect, _ := v.(string)
			ok = root && slices.Contains(knownDrafts, dialect)
		default:
			ok = slices.Contains(annotations, name)
		}
		if !ok {
			return nil
		}
	}
	return p
}

func plainMembers(v any) (map[string]*plainSchema, bool) {
	object, ok := v.(map[string]any)
	members := make(map[string]*plainSchema, len(object))
	for name, sub := range object {
		if members[name] = plainOf(sub, false); members[name] == nil {
			return nil, false
		}
	}
	return members, ok
}

// texts is a list of texts, at least one.
func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	var all []string
	for _, e := range list {
		text, isText := e.(string)
		ok = ok && isText
		all = append(all, text)
	}
	return all, ok && len(all) > 0
}

func (p *plainSchema) addType(v any) bool {
	names, ok := texts(v)
	if one, isText := v.(string); isText {
		names, ok = []string{one}, true
	}
	for _, name := range names {
		switch name {
		case "object":
			p.kinds = append(p.kinds, ijson.Object)
		case "array":
			p.kinds = append(p.kinds, ijson.Array)
		case "string":
			p.kinds = append(p.kinds, ijson.String)
		case "number":
			p.kinds = append(p.kinds, ijson.Number)
		case "boolean":
			p.kinds = append(p.kinds, ijson.True, ijson.False)
		case "null":
			p.kinds = append(p.kinds, ijson.Null)
		case "integer":
			p.integer = true
		default:
			return false
		}
	}
	return ok
}

// fits says that a value fits. A number that is whole and not written as one is
// left to the library: the dialects differ there.
func (p *plainSchema) fits(v ijson.Value) bool {
	kind := v.Kind()
	if (p.kinds != nil || p.integer) && !slices.Contains(p.kinds, kind) && !(p.integer && kind == ijson.Number && digits(v.Raw())) {
		return false
	}
	if p.enum != nil && (kind != ijson.String || !slices.ContainsFunc(p.enum, v.Is)) {
		return false
	}
	switch kind {
	case ijson.Object:
		for _, name := range p.required {
			if !v.Member(name).Exists() {
				return false
			}
		}
		if p.members == nil && !p.closed {
			return true
		}
		var scratch [64]byte
		for name, value := range v.Members() {
			switch sub := p.members[string(name.Bytes(scratch[:0]))]; {
			case sub != nil:
				if !sub.fits(value) {
					return false
				}
			case p.closed:
				return false
			}
		}
	case ijson.Array:
		if p.elements == nil {
			return true
		}
		for e := range v.Elements() {
			if !p.elements.fits(e) {
				return false
			}
		}
	}
	return true
}

// digits says whether a number is written as a whole one.
func digits(raw []byte) bool {
	return !slices.ContainsFunc(raw, func(c byte) bool { return c != '-' && (c < '0' || c > '9') })
}
