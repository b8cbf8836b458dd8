package rules

// Code is a kind of warning: its name, as it stands in a rule's ok, and exactly
// when it is given.
type Code struct {
	Name  string
	Means string
	Tools bool // given only where a server's tools are known
}

// Codes are the warnings of section 11 of the content rules, in its order, and a
// few more behind them. Forbidding means a place that makes a call be refused
// where it holds: a refuse, or the inside of a not in a require. Permitting is
// the other: a require, or the inside of a not in a refuse.
func Codes() []Code {
	return []Code{
		{Name: "never-applies", Means: "the rule's when holds on no call, or an entry of tools is a glob spelt for a request such as resources/read, for which only its exact name stands"},
		{Name: "never-refuses", Means: "the rule's refuse holds on no call, or its require holds on every call it can be judged on"},
		{Name: "covered", Means: "whatever this rule refuses, another rule of the file, of the same mode, refuses too: it is for the same tools or more, applies wherever this one does, and its condition follows"},
		{Name: "absent-passes", Means: "in a permitting place a not stands round a some or every, so that a call without such a value passes, and no present test stands beside the not or in the rule's when"},
		{Name: "default-passes", Means: "the schema's default of an argument would match a refuse or when that finds the argument absent", Tools: true},
		{Name: "fold-widens", Means: "fold makes a permitting test let more through"},
		{Name: "finds-in-require", Means: "finds in a permitting place: any part of the text that matches is enough"},
		{Name: "notlike-case", Means: "path with notLike in a permitting place, or with like in a forbidding one, whose globs hold letters, and without fold true or false: where the file system takes letter case as one, another spelling gets round it"},
		{Name: "anchored-twice", Means: "matches with a pattern that begins with ^ or \\A or ends with $ or \\z: matches holds on the whole text alone"},
		{Name: "kind-slip", Means: "is or oneOf over ** in a forbidding some: a leaf of another kind, such as a number sent as text, is passed over"},
		{Name: "unused-list", Means: "no test uses the list"},
		{Name: "cel-all-empty", Means: "all() in a permitting expression on what may be empty"},
		{Name: "cel-arithmetic", Means: "arithmetic between what may be an int and a double"},
		{Name: "rests-on-peer", Means: "an expression uses client or annotations, which the peers say of themselves"},
		{Name: "runs-others", Means: "a program that runs others by argument stands in programs without argv"},
		{Name: "text-on-command", Means: "contains, startsWith, endsWith, like, matches or finds, or a forbidding is or oneOf, on an argument named like a shell command"},
		{Name: "line-bound", Means: "a . in a forbidding pattern, or a ^ or $ in a forbidding finds, that a line break in the text gets round"},
		{Name: "blank-at-end", Means: "a text that is compared begins or ends with white space; not told of the inner end of a permitting startsWith, endsWith or contains"},
		{Name: "unruled-tool", Means: "no rule is for a tool of the server", Tools: true},
		{Name: "unknown-tool", Means: "an entry of tools is no tool of the server", Tools: true},
		{Name: "unknown-pointer", Means: "a pointer is not in the tool's inputSchema", Tools: true},
		{Name: "type-never", Means: "a test that a value of the schema's type can never pass", Tools: true},
		{Name: "unlooked-argument", Means: "an argument like a path, a URL or a command that no rule looks at", Tools: true},
		{Name: "resources-open", Means: "the server offers resources and path rules exist, but none names resources/read", Tools: true},
		{Name: "list-as-text", Means: "a text that is compared is spelt like a list of the file, @name, where only a text may stand"},
		{Name: "always-refuses", Means: "the rule's require holds on no call"},
		{Name: "whole-in-refuse", Means: "command or email in a forbidding place: it holds only where each command, or each address, fits, so that one more beside it gets round it"},
		{Name: "sign-in-folder", Means: "an entry of under holds $, *, ? or {, which stand for themselves there"},
		{Name: "escape-lost", Means: "a pattern holds a backspace or a form feed, which is what \\b and \\f are in JSON"},
		{Name: "text-on-path", Means: "contains, startsWith, endsWith, like, matches or finds on an argument like a path or a URL, which no rule holds to a test that understands it", Tools: true},
	}
}

func codeNames() []string {
	all := Codes()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names
}
