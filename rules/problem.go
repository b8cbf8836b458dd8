package rules

import "countersign/internal/problem"

// MaxProblems is the most problems or warnings of a file that are told at once.
const MaxProblems = problem.Max

// Problem is one fault of a rules file, or one warning, whose Code is then one of
// Codes. Its String is file:line:column: /json/pointer: what is wrong, what was
// expected.
type Problem = problem.Problem

// Problems are sorted by file, in the order they were given, and by place. Where
// one file has more than MaxProblems, a last one says how many.
type Problems = problem.List
