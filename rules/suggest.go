package rules

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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

// longestGuess is the most runes of a name that are compared with the known
// ones; no known name comes near it.
const longestGuess = 32

// nearest is the known name that word was probably meant to be, "" where none
// is near.
func nearest(word string, known []string) string {
	if utf8.RuneCountInString(word) > longestGuess {
		return ""
	}
	low := []rune(strings.ToLower(word))
	best, least := "", max(1, len(low)/3)+1 // a third of the letters may be wrong
	for _, name := range known {
		if d := distance(low, []rune(strings.ToLower(name))); d < least && d < len(low) {
			best, least = name, d
		}
	}
	if best != "" && least <= 1 {
		return best
	}
	for _, name := range known {
		for other, here := range otherWords {
			if here == name && distance(low, []rune(other)) <= 1 && len(low) > 3 || here == name && other == string(low) {
				return name
			}
		}
	}
	return best
}

// distance is the number of letters to insert, drop, change or swap with their
// neighbour to get from a to b.
func distance(a, b []rune) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

// maxQuoted is the most runes of an input that a problem repeats.
const maxQuoted = 60

// quoted is a text of the file in quotes, its end cut off when it is long.
func quoted(s string) string {
	if utf8.RuneCountInString(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(string([]rune(s)[:maxQuoted])) + "…"
}

// oneOfNames lists names as an expectation: "a", "b" or "c".
func oneOfNames(names []string) string {
	switch len(names) {
	case 0:
		return "nothing"
	case 1:
		return strconv.Quote(names[0])
	}
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = strconv.Quote(n)
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}

// instead ends the message about an unknown word: the nearest known one, or all
// of them.
func instead(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "expected " + oneOfNames(known)
}
