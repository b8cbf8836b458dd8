// Package rules is the file format content-rules/v1: it reads, checks, lays out
// and fingerprints the files that say what an agent may put into a call. It
// judges no call; the package engine compiles what is read here.
//
// [Read] reads one file and [ReadSet] several that are judged together. Reading
// is strict (content rules, section 7): the text is I-JSON, every member is
// known, every list and pattern says something, and what is compiled, is compiled
// here and never while a call waits. A file is taken whole or not at all, and all
// that is wrong with it is told in one run, each [Problem] with its line, its
// JSON pointer and what was expected. [Format] lays a file out in the one usual
// way, and [Schema] tells editors what a file looks like.
//
// # The tree
//
// A [File] has [Rule]s, a rule has a [Condition], and a condition is all, any or
// not of others, an expression, or a [Test]: one [Selection] of values of the
// call and the [Check]s they are held to. The tree is plain data with lists
// resolved and patterns compiled. It is never changed after Read, so it may be
// shared by goroutines.
//
// # Warnings
//
// What is sound but probably not meant is in File.Warnings (content rules, section
// 11), each with a code that a rule's ok can silence; [Codes] says when each is
// given. They rest on what the file alone says; those that need a server's tools
// are given by whoever has them.
//
// # Bounds
//
// Reading takes time and memory within bounds that do not depend on what the file
// says: its size, its nesting, the size of what patterns compile to, the number
// of globs and paths, and the work spent on proving warnings are limited by named
// constants.
package rules
