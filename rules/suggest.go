package rules

import (
	"maps"
	"slices"
	"strings"

	"countersign/internal/problem"
)

// otherWords are names that other policy languages use for what a member here
// does; whoever writes one is told the name it has here.
var otherWords = map[string]string{
	"allow": "require", "allowed": "require", "must": "require", "assert": "require", "only": "require",
	"deny": "refuse", "denied": "refuse", "forbid": "refuse", "block": "refuse", "reject": "refuse",
	"if": "when", "unless": "when", "match": "matches", "regex": "matches", "regexp": "matches", "pattern": "matches", "re": "matches",
	"search": "finds", "glob": "like", "wildcard": "like",
	"equals": "is", "equal": "is", "eq": "is", "const": "is", "value": "is", "in": "oneOf", "enum": "oneOf", "anyof": "any", "allof": "all",
	"prefix": "startsWith", "hasprefix": "startsWith", "suffix": "endsWith", "hassuffix": "endsWith", "includes": "contains", "substring": "contains",
	"min": "atLeast", "minimum": "atLeast", "gte": "atLeast", "ge": "atLeast", "max": "atMost", "maximum": "atMost", "lte": "atMost", "le": "atMost",
	"gt": "above", "over": "above", "morethan": "above", "lt": "below", "under": "below", "lessthan": "below",
	"and": "all", "or": "any", "exists": "present", "has": "hasMembers", "required": "hasMembers", "keys": "onlyMembers",
	"argument": "arg", "args": "arg", "pointer": "arg", "field": "arg", "each": "every", "forall": "every", "anywhere": "some",
	"ignorecase": "fold", "caseinsensitive": "fold", "kind": "type", "size": "length", "len": "length",
	"tool": "tools", "message": "say", "reason": "say", "description": "about", "comment": "about", "title": "about",
	"version": "format", "schema": "format", "policies": "rules", "policy": "rules", "sets": "lists", "shell": "command", "cmd": "command",
	"roots": "under", "inside": "under", "cwd": "base", "hosts": "host", "ports": "port", "schemes": "scheme",
	"ignore": "ok", "silence": "ok", "expr": "cel", "expression": "cel",
}

// nearest is the known name that word was probably meant to be, also by the words
// of others, "" where none is near.
func nearest(word string, known []string) string {
	if name := problem.Nearest(word, known); name != "" {
		return name
	}
	low := strings.ToLower(word)
	if name := otherWords[low]; slices.Contains(known, name) {
		return name
	}
	// A slip of the pen in a word of others.
	for _, other := range slices.Sorted(maps.Keys(otherWords)) {
		if name := otherWords[other]; len(other) > 3 && slices.Contains(known, name) && problem.Nearest(low, []string{other}) != "" {
			return name
		}
	}
	return ""
}
