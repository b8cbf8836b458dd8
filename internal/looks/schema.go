package looks

import "github.com/santhosh-tekuri/jsonschema/v6"

// Beside calls f for every schema that is applied to the same value as s.
func Beside(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
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

// OfMembers calls f for the schemas that apply to members of any name, and whose
// names no list gives.
func OfMembers(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
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

// OfElements calls f for the schemas that apply to elements of a list.
func OfElements(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
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
