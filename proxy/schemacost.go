package proxy

import (
	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/internal/ijson"
	"countersign/internal/looks"
)

// inside calls f for the schemas that apply to what is in a value.
func inside(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, sub := range s.Properties {
		f(sub)
	}
	looks.OfMembers(s, f)
	looks.OfElements(s, f)
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
		looks.Beside(s, add)
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
		looks.Beside(s, func(sub *jsonschema.Schema) {
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
			looks.OfMembers(s, func(sub *jsonschema.Schema) {
				if n <= bound {
					walk(sub, member, 0)
				}
			})
		}
		for e := range v.Elements() {
			if n > bound {
				return
			}
			looks.OfElements(s, func(sub *jsonschema.Schema) {
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
