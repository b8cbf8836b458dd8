// Package ijson is the one strict reader of JSON: I-JSON (RFC 7493) as section 7
// of the content rules narrows it. What it accepts, every sound reader
// understands in the same way; what readers could take differently, it refuses.
//
// Refused are invalid UTF-8, a byte-order mark, a member name that stands twice
// in one object at any depth, half a surrogate pair, NUL or a noncharacter in a
// name, a number whose decimal value is not that of the shortest text its IEEE
// double prints (so exact decimals, doubles and fingerprints agree), anything
// behind the value, and nesting past a bound.
//
// A [Doc] keeps the text it was given and beside it only places: nothing is
// copied and nothing is decoded until it is asked for. What was judged, what is
// forwarded and what is fingerprinted are therefore the same bytes.
package ijson
