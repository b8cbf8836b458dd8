// Package pathtext judges texts that name files: the path test of the content
// rules, section 4.1. What two readers could take for two places is not judged.
//
// A text is read once, as POSIX or as Windows reads it, and compared with roots
// (under) and globs (like, notLike). The reading touches no disk unless the
// operand says "resolve": "disk" and the caller gives a [Disk]; see there for
// what following links can and cannot promise.
//
// # What a path is compared as
//
// POSIX: absolute (a relative one is put behind the base), single slashes, no "."
// segment, no slash at the end; "/" stands for the root. Windows: the same with
// "/" between segments and the drive letter in upper case, as "C:/work/a.txt", or
// "//server/share/a.txt".
//
// # Unicode
//
// Invisible characters are those of Cc, Cf, Zl, Zp and Default_Ignorable_Code_Point.
// The last is derived as Unicode derives it, from the tables of the standard
// library: Other_Default_Ignorable_Code_Point, Variation_Selector and Cf (the
// exceptions that Unicode makes are all in Cf and thus not judged either).
// Characters that stand for a slash, backslash or dot are found by the full
// compatibility decomposition of golang.org/x/text/unicode/norm, which holds
// such a sign exactly where the NFKC form does: nothing composes with them.
package pathtext
