// Package rulestest shows that content rules do something (content rules,
// section 10). It runs test files in the format content-rules-tests/v1, measures
// what of the rules no case reached, changes the rules in small ways to see
// whether a case notices, holds rules against a server's tools, compares two
// versions of them, and makes cases out of recorded calls.
//
// A [Suite] is one set of rules with the test files that name it. [Load] finds
// and reads them, [Suite.Run] runs them:
//
//	suites, problems, err := rulestest.Load([]string{"."}, rulestest.Options{})
//
// A Go program that keeps its rules beside its code needs one line in a test:
//
//	func TestRules(t *testing.T) { rulestest.Run(t, "content-rules.test.json") }
//
// A test that passes because nothing looked is a fault here: a call no rule
// applied to fails, unless its case says that this is meant.
package rulestest
