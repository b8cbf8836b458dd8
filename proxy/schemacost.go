package proxy

import (
	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/internal/ijson"
)

// beside calls f for every schema that is applied to the same value as s.
func beside(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, sub := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			f(sub)
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			f(sub)
		}
	}
	for _, sub := range s.DependentSchemas {
		f(sub)
	}
	for _, d := range s.Dependencies {
		if sub, ok := d.(*jsonschema.Schema); ok {
			f(sub)
		}
	}
}

// ofMembers calls f for the schemas that apply to members of any name, and whose
// names no list gives.
func ofMembers(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, sub := range s.PatternProperties {
		f(sub)
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		f(sub)
	}
	for _, sub := range []*jsonschema.Schema{s.UnevaluatedProperties, s.PropertyNames} {
		if sub != nil {
			f(sub)
		}
	}
}

// ofElements calls f for the schemas that apply to elements of a list.
func ofElements(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		f(items)
	case []*jsonschema.Schema:
		for _, sub := range items {
			f(sub)
		}
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		f(sub)
	}
	for _, sub := range s.PrefixItems {
		f(sub)
	}
	for _, sub := range []*jsonschema.Schema{s.Items2020, s.UnevaluatedItems, s.Contains} {
		if sub != nil {
			f(sub)
		}
	}
}

func inside(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, sub := range s.Properties {
		f(sub)
	}
	ofMembers(s, f)
	ofElements(s, f)
}

// ownKeywords is how many checks a schema makes of its own, at least one.
func ownKeywords(s *jsonschema.Schema) int {
	n := 1
	for _, set := range []bool{
		s.Types != nil, s.Const != nil, s.Format != nil, s.MaxProperties != nil, s.MinProperties != nil,
		s.MinItems != nil, s.MaxItems != nil, s.UniqueItems, s.MinLength != nil, s.MaxLength != nil, s.Pattern != nil,
		s.Maximum != nil, s.Minimum != nil, s.ExclusiveMaximum != nil, s.ExclusiveMinimum != nil, s.MultipleOf != nil,
	} {
		if set {
			n++
		}
	}
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	return n + len(s.Required) + len(s.PatternProperties) + len(s.DependentRequired)
}

// expand is the number of checks in a schema with every reference written out,
// or -1 where it refers to itself or there are more than any call could bear.
// Two references to one schema count twice, so a schema that doubles itself from
// step to step is seen for what it is.
func expand(root *jsonschema.Schema) int {
	const working = -2
	sizes := map[*jsonschema.Schema]int{}
	var size func(s *jsonschema.Schema) int
	size = func(s *jsonschema.Schema) int {
		switch n := sizes[s]; n {
		case 0:
		case working:
			return -1
		default:
			return n
		}
		sizes[s] = working
		n := ownKeywords(s)
		add := func(sub *jsonschema.Schema) {
			if n < 0 {
				return
			}
			m := size(sub)
			if n += m; m < 0 || n > maxSchemaCost {
				n = -1
			}
		}
		beside(s, add)
		inside(s, add)
		sizes[s] = n
		return n
	}
	return size(root)
}

// steps counts the checks that validating a value would make, and stops past a
// bound. It takes the ways that the validator may take, without taking any of
// them for decided.
func steps(s *jsonschema.Schema, v ijson.Value, bound int) int {
	n := 0
	var walk func(s *jsonschema.Schema, v ijson.Value, turns int)
	walk = func(s *jsonschema.Schema, v ijson.Value, turns int) {
		if n += ownKeywords(s); n > bound || turns > maxTurns {
			n = bound + 1
			return
		}
		beside(s, func(sub *jsonschema.Schema) {
			if n <= bound {
				walk(sub, v, turns+1)
			}
		})
		for name, member := range v.Members() {
			if n > bound {
				return
			}
			if sub, ok := s.Properties[name.Text()]; ok {
				walk(sub, member, 0)
			}
			ofMembers(s, func(sub *jsonschema.Schema) {
				if n <= bound {
					walk(sub, member, 0)
				}
			})
		}
		for e := range v.Elements() {
			if n > bound {
				return
			}
			ofElements(s, func(sub *jsonschema.Schema) {
				if n <= bound {
					walk(sub, e, 0)
				}
			})
		}
	}
	walk(s, v, 0)
	return n
}

// maxTurns is how many references may lead from schema to schema on one value.
// The validator finds a circle; this bounds the way to it.
const maxTurns = 100
