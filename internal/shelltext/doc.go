// Package shelltext judges what a shell command would run, as the command test
// of content-rules.md 4.3 says.
//
// A text is read by a real shell parser and every simple command in it, however
// deep, is held against a list of programs, patterns of arguments and three
// switches. A list of strings is one argument vector and no shell is involved.
// A wrapper (env, xargs, sh -c …) is followed to the command behind it.
//
// The parser reads a text in one way; dash, bash and the other programs called
// sh each read it in their own. Wherever those readings are known to part, or
// where running the text evaluates more text, the answer is that the command
// cannot be judged. That is decided before anything else: a command that cannot
// be judged is never said to hold or not to hold.
//
// What is taken for granted: sh is dash, busybox, bash or one that reads a text
// as they do, and no Korn shell, whose test evaluates arithmetic; the shell runs
// in UTF-8 or in the C locale, starts without aliases, functions and variables
// made to trap it (PS4, BASH_ENV …), and finds the programs where the author of
// the rule expects them. With assignments let through, PATH is one of them.
//
// # How it is held
//
// Each place where readings part is a test of its own, and a differential test
// runs generated scripts that hold in jailed shells: what runs must have been
// judged, word for word as far as the words were known. A list of all kinds of
// node, fields and operators of the parser fails the tests when a new version
// has another.
package shelltext
