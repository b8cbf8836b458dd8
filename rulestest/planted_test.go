package rulestest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/rules"
	"countersign/rulestest"
)

// plantedTools are the tools of the server that the planted rules are for.
const plantedTools = `{"resources": [{"uri": "file:///a"}], "tools": [
	{"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "head": {"type": "integer"}}, "required": ["path"]}},
	{"name": "move_file", "inputSchema": {"type": "object", "properties": {"source_path": {"type": "string"}, "target_path": {"type": "string"}}}},
	{"name": "transfer", "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}, "currency": {"type": "string", "enum": ["GBP", "EUR"]}, "note": {"type": "string"}}}},
	{"name": "delete", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}, "force": {"type": "boolean", "default": true}}}},
	{"name": "fetch", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}},
	{"name": "send", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}},
	{"name": "run", "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}}}]}`

// planted are mistakes that authors make, each with what names it. The rules are
// one or more rules of a file, or a whole file; the cases pass where cases are
// not what is wrong.
var planted = []struct {
	mistake string
	by      string // check, lint, test, coverage or mutants
	names   string // what it says: a code, or a part of the line
	rules   string
	cases   string
}{
	// What the reader of rules refuses.
	{"a misspelt member of a rule", "check", `did you mean "require"?`, `{"id": "a", "tools": ["run"], "requires": {"arg": "/command", "is": "ls"}}`, ""},
	{"a misspelt test", "check", `did you mean "contains"?`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "containz": "rm"}}`, ""},
	{"one tool where a list stands", "check", `expected a list of tool names`, `{"id": "a", "tools": "run", "refuse": {"arg": "/command", "is": "rm"}}`, ""},
	{"an empty list", "check", `an empty list`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "oneOf": []}}`, ""},
	{"an upper bound under its lower", "check", `atMost`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "length": {"atLeast": 10, "atMost": 1}}}`, ""},
	{"a member twice", "check", `a repeated member`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}, "refuse": {"arg": "/command", "is": "dd"}}`, ""},
	{"two rules of one id", "check", `is already that of`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}, {"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "dd"}}`, ""},
	{"a format from the future", "check", `the one format this version reads`, `FILE{"format": "content-rules/v2", "name": "r", "rules": [{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}]}`, ""},
	{"a list called by another name", "check", `workspce`, `FILE{"format": "content-rules/v1", "name": "r", "lists": {"workspace": ["/srv"]}, "rules": [{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": "@workspce"}}}]}`, ""},
	{"a pattern that is none", "check", `missing closing`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "matches": "(a"}}`, ""},
	{"a path glob that no path can match", "check", `srv/**`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"like": ["srv/**"]}}}`, ""},
	{"a folder with a slash at its end", "check", `/srv/work`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv/work/"]}}}`, ""},
	{"the same entry twice", "check", `a repeated entry`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "oneOf": ["GBP", "GBP"]}}`, ""},
	{"fold beside a pattern", "check", `(?i)`, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "finds": "x", "fold": true}}`, ""},
	// What it warns of.
	{"a pattern anchored that is anchored anyway", "check", "anchored-twice", `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "matches": "^[a-z]+$"}}`, ""},
	{"a pattern that is not anchored", "check", "finds-in-require", `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "finds": "invoice [0-9]+"}}`, ""},
	{"fold where it lets more through", "check", "fold-widens", `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "is": "GBP", "fold": true}}`, ""},
	{"a not that lets an absent value pass", "check", "absent-passes", `{"id": "a", "tools": ["transfer"], "require": {"not": {"some": "/note/*", "is": "x"}}}`, ""},
	{"a forbidden file name in one spelling", "check", "notlike-case", `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv"], "notLike": ["/**/.env"]}}}`, ""},
	{"a number that may come as text", "check", "kind-slip", `{"id": "a", "tools": ["transfer"], "refuse": {"some": "/**", "is": 7}}`, ""},
	{"a list that nothing uses", "check", "unused-list", `FILE{"format": "content-rules/v1", "name": "r", "lists": {"words": ["x"]}, "rules": [{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}]}`, ""},
	{"a rule in the shadow of another", "check", "covered", `{"id": "a", "tools": ["*"], "refuse": {"arg": "/note", "contains": "x"}}, {"id": "b", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": "x"}}`, ""},
	{"a rule that can refuse nothing", "check", "never-refuses", `{"id": "a", "tools": ["transfer"], "require": {"any": [{"arg": "/note", "present": true}, {"arg": "/note", "present": false}]}}`, ""},
	{"a rule that refuses everything", "check", "always-refuses", `{"id": "a", "tools": ["transfer"], "require": {"all": [{"arg": "/note", "present": true}, {"arg": "/note", "present": false}]}}`, ""},
	{"a when that holds on no call", "check", "never-applies", `{"id": "a", "tools": ["transfer"], "when": {"all": [{"arg": "/note", "present": true}, {"arg": "/note", "present": false}]}, "refuse": {"arg": "/amount", "above": 1}}`, ""},
	{"a word looked for in a command", "check", "text-on-command", `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "contains": "rm -rf"}}`, ""},
	{"a pattern that a line break gets round", "check", "line-bound", `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "finds": "ignore.*instructions"}}`, ""},
	{"a blank at the end of a word", "check", "blank-at-end", `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "is": "rent "}}`, ""},
	{"a program that runs others", "check", "runs-others", `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["git"]}}}`, ""},
	{"all() on a list that may be empty", "check", "cel-all-empty", `{"id": "a", "tools": ["transfer"], "require": {"cel": "args.notes.all(n, n == 'x')"}}`, ""},
	{"a rule that rests on what the server says", "check", "rests-on-peer", `{"id": "a", "tools": ["*"], "require": {"cel": "annotations.readOnlyHint == true"}}`, ""},
	{"a list's name where a text stands", "check", "list-as-text", `FILE{"format": "content-rules/v1", "name": "r", "lists": {"words": ["x", "y"]}, "rules": [{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": ["@words", "z"]}}, {"id": "b", "tools": ["transfer"], "refuse": {"arg": "/note", "is": "@words"}}, {"id": "c", "tools": ["transfer"], "refuse": {"arg": "/currency", "oneOf": "@words"}}]}`, ""},
	// What it warns of with the server's tools.
	{"a tool misspelt", "lint", rulestest.CodeUnknownTool, `{"id": "a", "tools": ["raed_file"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`, ""},
	{"an argument misspelt", "lint", rulestest.CodeUnknownPointer, `{"id": "a", "tools": ["read_file"], "refuse": {"arg": "/pth", "startsWith": "/etc"}}`, ""},
	{"an argument misspelt among names", "lint", rulestest.CodeUnknownPointer, `{"id": "a", "tools": ["read_file"], "refuse": {"some": "/**", "named": ["file_path"], "startsWith": "/etc"}}`, ""},
	{"a number compared as text", "lint", rulestest.CodeTypeNever, `{"id": "a", "tools": ["read_file"], "refuse": {"arg": "/head", "is": "5"}}`, ""},
	{"a word that the argument never is", "lint", rulestest.CodeTypeNever, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/currency", "is": "USD"}}`, ""},
	{"a tool that no rule is for", "lint", rulestest.CodeUnruledTool, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["ls"]}}}`, ""},
	{"an argument forgotten among names", "lint", rulestest.CodeUnlooked, `{"id": "a", "tools": ["move_file"], "require": {"every": "/**", "named": ["source_path"], "path": {"under": ["/srv"]}}}`, ""},
	{"a default that does what the rule refuses", "lint", rulestest.CodeDefaultPasses, `{"id": "a", "tools": ["delete"], "refuse": {"arg": "/force", "is": true}}`, ""},
	{"files that are read as resources", "lint", rulestest.CodeResourcesOpen, `{"id": "a", "tools": ["*"], "require": {"every": "/**", "named": ["path"], "path": {"under": ["/srv"]}}}`, ""},
	// What is seen when the cases run.
	{"a case that no rule looks at", "test", "no rule applied", `{"id": "a", "tools": ["read_files"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`},
	{"a refusal for another reason than the one meant", "test", "not with that code", `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "etc/passwd"}}, "expect": {"refused": "a"}}`},
	{"a rule that was left watching", "test", "watched by", `{"id": "a", "tools": ["read_file"], "mode": "watch", "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/etc/a"}}, "expect": {"refused": "a"}}`},
	{"an expectation of a rule that is gone", "test", "no rule has the id", `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}`,
		`{"name": "a", "call": {"tool": "run", "arguments": {"command": "rm"}}, "expect": {"refused": "no-rm"}}`},
	{"recorded calls that are not there", "test", "no recorded call was found", `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}`,
		`{"name": "a", "calls": "ledgers/*.jsonl", "expect": "allowed"}`},
	// What no case reaches.
	{"a rule without a case", "coverage", "never applied", `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}, {"id": "b", "tools": ["transfer"], "refuse": {"arg": "/amount", "above": 100}}`,
		`{"name": "a", "call": {"tool": "run", "arguments": {"command": "rm"}}, "expect": {"refused": "a"}}`},
	{"a rule never seen to refuse", "coverage", "never refused", `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/amount", "above": 100}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 1}}, "expect": "allowed"}`},
	{"a when that no case meets", "coverage", "never applied", `{"id": "a", "tools": ["transfer"], "when": {"arg": "/currency", "is": "EUR"}, "refuse": {"arg": "/amount", "above": 100}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 1, "currency": "GBP"}}, "expect": "allowed", "unruled": true}`},
	{"an entry of a list that nothing needs", "coverage", `never true: "EUR"`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "oneOf": ["GBP", "EUR"]}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"currency": "GBP"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "transfer", "arguments": {"currency": "USD"}}, "expect": {"refused": "a"}}`},
	// What no case notices.
	{"a test that would pass without its rule", "mutants", rulestest.KindRemoved, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/amount", "above": 100}}, {"id": "b", "tools": ["transfer"], "require": {"arg": "/currency", "is": "GBP"}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 1, "currency": "GBP"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "transfer", "arguments": {"amount": 1, "currency": "USD"}}, "expect": {"refused": "b"}}`},
	{"a bound off by one", "mutants", rulestest.KindBound, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/amount", "atMost": 101}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 50}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "transfer", "arguments": {"amount": 1000}}, "expect": {"refused": "a"}}`},
	{"some for every", "mutants", rulestest.KindSelection, `{"id": "a", "tools": ["read_file"], "require": {"some": "/**", "named": ["path"], "path": {"under": ["/srv"]}}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "read_file", "arguments": {"path": "/etc/a"}}, "expect": {"refused": "a"}}`},
	{"any for all", "mutants", rulestest.KindEntry, `{"id": "a", "tools": ["transfer"], "require": {"any": [{"arg": "/amount", "atMost": 100}, {"arg": "/currency", "is": "GBP"}]}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 1, "currency": "GBP"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "transfer", "arguments": {"amount": 1000, "currency": "USD"}}, "expect": {"refused": "a"}}`},
	{"a folder too high", "mutants", rulestest.KindGlob, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv/work"]}}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/srv/work/a"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "read_file", "arguments": {"path": "/etc/a"}}, "expect": {"refused": "a"}}`},
	{"names that hold no more than all do", "mutants", rulestest.KindNamed, `{"id": "a", "tools": ["read_file"], "require": {"every": "/**", "named": ["path"], "startsWith": "/srv/"}}`,
		`{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "read_file", "arguments": {"path": "/etc/a"}}, "expect": {"refused": "a"}}`},
	{"fold where no case needs it", "mutants", rulestest.KindFold, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": "password", "fold": true}}`,
		`{"name": "a", "call": {"tool": "transfer", "arguments": {"note": "hi"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "transfer", "arguments": {"note": "password"}}, "expect": {"refused": "a"}}`},
	// What a second reader tried.
	{"refuse and require in one rule", "check", `expected one of the two`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}, "require": {"arg": "/command", "is": "ls"}}`, ``},
	{"a rule that asks nothing", "check", `of which it needs one`, `{"id": "a", "tools": ["run"]}`, ``},
	{"a pointer without its slash", "check", `did you mean "/command"?`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "command", "is": "rm"}}`, ``},
	{"a pointer as others write them", "check", `a pointer begins with a slash`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "$.command", "is": "rm"}}`, ``},
	{"a wildcard where one value is named", "check", `many values are selected with some or every`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/*", "is": "rm"}}`, ``},
	{"a folder that is not absolute", "check", `write "/srv/work"`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["srv/work"]}}}`, ``},
	{"a home folder by its sign", "check", `write the home folder out`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["~/work"]}}}`, ``},
	{"a variable in a folder", "check", `sign-in-folder`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/home/$USER/work"]}}}`, ``},
	{"a glob where a folder stands", "check", `or like for a glob`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["/srv/*"]}}}`, ``},
	{"a folder of another system", "check", `needs style`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "path": {"under": ["C:\\work"]}}}`, ``},
	{"a host with its scheme", "check", `expected a host name`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "url": {"host": ["https://example.com"]}}}`, ``},
	{"a host with its port", "check", `expected a host name, a glob`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "url": {"host": ["example.com:443"]}}}`, ``},
	{"a host in capitals", "check", `write "example.com"`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "url": {"host": ["Example.com"]}}}`, ``},
	{"a scheme with its colon", "check", `without the colon`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "url": {"scheme": ["https:"]}}}`, ``},
	{"a port as text", "check", `from 1 to 65535, got a text`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "url": {"port": ["443"]}}}`, ``},
	{"a mail domain with its sign", "check", `expected a domain such as example.com`, `{"id": "a", "tools": ["send"], "require": {"arg": "/to", "email": {"domains": ["@example.com"]}}}`, ``},
	{"a forbidden mail domain", "check", `one address more in the list`, `{"id": "a", "tools": ["send"], "refuse": {"arg": "/to", "email": {"domains": ["evil.example"]}}}`, ``},
	{"a forbidden program", "check", `whole-in-refuse`, `{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "command": {"programs": ["rm"]}}}`, ``},
	{"a program with its arguments", "check", `give its arguments in`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["git status"]}}}`, ``},
	{"a program by a glob", "check", `is no glob here`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["git*"]}}}`, ``},
	{"a program by a relative path", "check", `is a relative path`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["./ls"]}}}`, ``},
	{"a shell that is not followed", "check", `anything could run behind it`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["bash"], "follow": false}}}`, ``},
	{"one pattern of argv where a list of them stands", "check", `expected a list of globs, got a text`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["git"], "argv": ["git", "status"]}}}`, ``},
	{"a bound as text", "check", `expected a number, got a text`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/amount", "atMost": "100"}}`, ``},
	{"bounds with nothing between", "check", `no number is both`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/amount", "above": 5, "below": 5}}`, ``},
	{"a length as a number", "check", `expected length as an object`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "length": 10}}`, ``},
	{"a list where one value stands", "check", `for one of several write oneOf`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "is": ["GBP"]}}`, ``},
	{"one value where a list stands", "check", `for one value write is`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "oneOf": "GBP"}}`, ``},
	{"a type of another language", "check", `is no type`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/currency", "type": "text"}}`, ``},
	{"an empty word", "check", `expected texts that say something`, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": ""}}`, ``},
	{"a pattern that looks ahead", "check", `no look-ahead`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "matches": "(?!x).*"}}`, ``},
	{"a glob where a pattern stands", "check", `missing argument to repetition`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "matches": "*.txt"}}`, ``},
	{"a word's edge lost to JSON", "check", `escape-lost`, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "finds": "\bdrop\b"}}`, ``},
	{"a mode that is none", "check", `expected "enforce" or "watch"`, `{"id": "a", "tools": ["run"], "mode": "warn", "refuse": {"arg": "/command", "is": "rm"}}`, ``},
	{"a warning misspelt where it is silenced", "check", `did you mean "text-on-command"?`, `{"id": "a", "tools": ["run"], "ok": ["text-on-comand"], "refuse": {"arg": "/command", "is": "rm"}}`, ``},
	{"a blank behind a tool's name", "check", `begins or ends with white space`, `{"id": "a", "tools": ["run "], "refuse": {"arg": "/command", "is": "rm"}}`, ``},
	{"named beside a pointer of one value", "check", `expected it only where leaves`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "named": ["path"], "path": {"under": ["/srv"]}}}`, ``},
	{"present of many values", "check", `present beside`, `{"id": "a", "tools": ["transfer"], "require": {"some": "/note", "present": true}}`, ``},
	{"one sign of equality in an expression", "check", `Syntax error`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "args.currency = 'GBP'"}}`, ``},
	{"a search in an expression taken for a match", "check", `write fullMatch`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "args.note.matches('a')"}}`, ``},
	{"an expression that gives a number", "check", `expected true or false`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "1 + 1"}}`, ``},
	{"a time zone misspelt", "check", `unknown time zone`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "now.getDayOfWeek('Europe/Londn') in [1, 2]"}}`, ``},
	{"a day by its name", "check", `no matching overload`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "now.getDayOfWeek() in ['Mon']"}}`, ``},
	{"a list of numbers compared as texts", "check", `is a number, expected texts`, `FILE{"format": "content-rules/v1", "name": "r", "lists": {"n": [1, 2]}, "rules": [{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": "@n"}}]}`, ``},
	{"a comment", "check", `no strict JSON`, `FILE{"format": "content-rules/v1", /* x */ "name": "r", "rules": [{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}]}`, ``},
	{"a comma behind the last", "check", `expected a JSON value`, `FILE{"format": "content-rules/v1", "name": "r", "rules": [{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}},]}`, ``},
	{"a limit misspelt", "check", `did you mean "argumentBytes"?`, `FILE{"format": "content-rules/v1", "name": "r", "limits": {"argumentsBytes": 5}, "rules": [{"id": "a", "tools": ["run"], "refuse": {"arg": "/command", "is": "rm"}}]}`, ``},
	{"a looser bound beside a tighter one", "check", `the rule "a" refuses too`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/amount", "atMost": 100}}, {"id": "b", "tools": ["transfer"], "require": {"arg": "/amount", "atMost": 1000}}`, ``},
	{"two values of one argument at once", "check", `the refuse holds on no call`, `{"id": "a", "tools": ["transfer"], "refuse": {"all": [{"arg": "/currency", "is": "GBP"}, {"arg": "/currency", "is": "EUR"}]}}`, ``},
	{"a path held by its beginning", "lint", `text-on-path`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "/path", "startsWith": "/srv/work/"}}`, ``},
	{"a URL held by a pattern", "lint", `expected the test url`, `{"id": "a", "tools": ["fetch"], "require": {"arg": "/url", "matches": "https://example.com/.*"}}`, ``},
	{"a file forbidden by its ending", "lint", `expected the test path`, `{"id": "a", "tools": ["read_file"], "refuse": {"arg": "/path", "endsWith": ".env"}}`, ``},
	{"a tool by a pattern", "lint", `no tool of the server is like`, `{"id": "a", "tools": ["read_.*"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`, ``},
	{"tools in one text", "lint", `no tool "read_file|move_file"`, `{"id": "a", "tools": ["read_file|move_file"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`, ``},
	{"a tool in other letters", "lint", `did you mean "read_file"?`, `{"id": "a", "tools": ["Read-File"], "require": {"arg": "/path", "path": {"under": ["/srv"]}}}`, ``},
	{"a request misspelt", "lint", `no tool "resource/read"`, `{"id": "a", "tools": ["resource/read"], "require": {"arg": "/uri", "url": {"scheme": ["file"]}}}`, ``},
	{"a pointer that begins at the call", "lint", `no member "arguments"`, `{"id": "a", "tools": ["run"], "require": {"arg": "/arguments/command", "type": "string"}}`, ``},
	{"a pointer where a name stands", "lint", `did you mean "path"?`, `{"id": "a", "tools": ["read_file"], "require": {"every": "/**", "named": ["/path"], "path": {"under": ["/srv"]}}}`, ``},
	{"a truth as text", "lint", `it is boolean`, `{"id": "a", "tools": ["delete"], "refuse": {"arg": "/force", "is": "true"}}`, ``},
	{"a length of a number", "lint", `it is number`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/amount", "length": {"atMost": 10}}}`, ``},
	{"a member misspelt among the only ones", "lint", `did you mean "path"?`, `{"id": "a", "tools": ["read_file"], "require": {"arg": "", "onlyMembers": ["paht", "head"]}}`, ``},
	{"refuse where require was meant", "test", `refused by "a" (condition)`, `{"id": "a", "tools": ["read_file"], "refuse": {"arg": "/path", "path": {"under": ["/srv"]}}}`, `{"name": "a", "call": {"tool": "read_file", "arguments": {"path": "/srv/a"}}, "expect": "allowed"}`},
	{"a pattern between slashes", "test", `refused by "a" (condition)`, `{"id": "a", "tools": ["transfer"], "require": {"arg": "/note", "matches": "/[a-z]+/"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"note": "rent"}}, "expect": "allowed"}`},
	{"a number compared with a text in an expression", "test", `refused by "a" (cannot-judge)`, `{"id": "a", "tools": ["transfer"], "require": {"cel": "args.amount <= '100'"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 5}}, "expect": "allowed"}`},
	{"an argument misspelt in an expression that asks for it", "test", `expected: refused by "a"`, `{"id": "a", "tools": ["transfer"], "refuse": {"cel": "has(args.amont) && args.amont > 100"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"amount": 500}}, "expect": {"refused": "a"}}`},
	{"a tool misspelt in an expression", "coverage", `never refused`, `{"id": "a", "tools": ["*"], "refuse": {"cel": "tool == 'tranfer'"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {}}, "expect": "allowed"}`},
	{"a day that no week has", "coverage", `never true`, `{"id": "a", "tools": ["transfer"], "refuse": {"cel": "now.getDayOfWeek() == 7"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {}}, "expect": "allowed"}`},
	{"a program whose arguments no pattern takes", "coverage", `never true: "ls"`, `{"id": "a", "tools": ["run"], "require": {"arg": "/command", "command": {"programs": ["git", "ls"], "argv": [["git", "**"]]}}}`, `{"name": "a", "call": {"tool": "run", "arguments": {"command": "git log"}}, "expect": "allowed"}, {"name": "b", "call": {"tool": "run", "arguments": {"command": "rm x"}}, "expect": {"refused": "a"}}`},
	{"a refusal that one clean text lifts", "mutants", `selection`, `{"id": "a", "tools": ["transfer"], "refuse": {"every": "/**", "contains": "x"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"note": "x"}}, "expect": {"refused": "a"}}, {"name": "b", "call": {"tool": "transfer", "arguments": {"note": "y"}}, "expect": "allowed"}`},
	{"a word forbidden in one spelling", "mutants", `fold`, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "contains": "password"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"note": "password"}}, "expect": {"refused": "a"}}, {"name": "b", "call": {"tool": "transfer", "arguments": {"note": "y"}}, "expect": "allowed"}`},
	{"a pattern that forbids one spelling", "mutants", `fold`, `{"id": "a", "tools": ["transfer"], "refuse": {"arg": "/note", "finds": "password"}}`, `{"name": "a", "call": {"tool": "transfer", "arguments": {"note": "password"}}, "expect": {"refused": "a"}}, {"name": "b", "call": {"tool": "transfer", "arguments": {"note": "y"}}, "expect": "allowed"}`},
}

// Each planted mistake is named by what the documentation says names it.
func TestPlantedMistakes(t *testing.T) {
	if len(planted) < 40 {
		t.Fatalf("%d mistakes, want at least 40", len(planted))
	}
	seen := map[string]bool{}
	for _, p := range planted {
		t.Run(p.mistake, func(t *testing.T) {
			if seen[p.mistake] {
				t.Fatal("planted twice")
			}
			seen[p.mistake] = true
			text, whole := strings.CutPrefix(p.rules, "FILE")
			if !whole {
				text = ruleFile(text)
			}
			if got := namedBy(t, p.by, text, p.cases); !strings.Contains(got, p.names) {
				t.Errorf("%s does not say %q:\n%s", p.by, p.names, got)
			}
		})
	}
}

// namedBy is all that one of the commands says.
func namedBy(t *testing.T, by, text, cases string) string {
	t.Helper()
	set, problems := rules.ReadSet([]rules.Source{{Path: "r.json", Data: []byte(text)}})
	switch by {
	case "check":
		if set == nil {
			return problems.String()
		}
		return set.Files[0].Warnings.String()
	case "lint":
		warnings, _ := bare(t, text, plantedTools).Lint()
		return warnings.String()
	}
	s := bare(t, text, "")
	f, problems := rulestest.Read("a.test.json", []byte(testFile(cases)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	unknown, err := s.Add(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(unknown) > 0 {
		return unknown.String()
	}
	r := run(t, s, rulestest.RunOptions{Coverage: true})
	var b strings.Builder
	switch by {
	case "test":
		if r.Failed() == 0 {
			t.Error("no case fails")
		}
		err = rulestest.WriteText(&b, []*rulestest.Report{r}, false)
	case "coverage":
		if r.Failed() > 0 {
			t.Errorf("a case fails: %s", r.Results[0].Explanation())
		}
		err = r.Coverage.WriteText(&b)
	case "mutants":
		// Nothing else names this one: the cases pass and reach all but what a
		// mutant is needed to see.
		if r.Failed() > 0 {
			t.Errorf("a case fails: %s", r.Results[0].Explanation())
		}
		for _, m := range mutate(t, s).All {
			if m.State == rulestest.Alive {
				b.WriteString(m.Kind + ": " + m.What + ": " + m.Case + "\n")
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The table of the documentation is this one.
func TestPlantedMistakesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/rule-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	commands := map[string]string{"check": "`rules check`", "lint": "`rules coverage`", "test": "`rules test`", "coverage": "`rules test --coverage`", "mutants": "`rules test --mutants`"}
	for _, p := range planted {
		names := ""
		isCode := func(c rules.Code) bool { return c.Name == p.names }
		if p.by == "mutants" || slices.ContainsFunc(rules.Codes(), isCode) {
			names = ", `" + p.names + "`"
		}
		want.WriteString("| " + p.mistake + " | " + commands[p.by] + names + " |\n")
	}
	if !strings.Contains(string(b), want.String()) {
		t.Errorf("docs/rule-tests.md has another table than this:\n%s", want.String())
	}
}
