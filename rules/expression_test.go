package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/rules"
)

// expressionFile is a file of one rule whose require is an expression.
func expressionFile(expr string) []byte {
	return fmt.Appendf(nil, "{\"format\":\"content-rules/v1\",\"name\":\"x\",\"lists\":{\"hosts\":[\"a.test\"]},\n\"rules\":[{\"id\":\"r\",\"tools\":[\"t\"],\n  \"require\":{\"cel\":%s}}]}", ijson.AppendString(nil, expr))
}

func TestExpressionFaults(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"args.a ==", `:3:30: /rules/0/require/cel: no expression that can be judged: Syntax error`},
		{"args.a == \"\n\\", `/rules/0/require/cel: no expression`},
		{"args.a == 'é' && nothing", `:3:38: /rules/0/require/cel: no expression that can be judged: undeclared reference to 'nothing'`},
		{"args.b == \"x\" && nothing", `:3:40: /rules/0/require/cel: no expression that can be judged: undeclared reference to 'nothing'`},
		{"path(args.p, {'under': ['srv']})", `write "/srv"`},
		{"path(args.p, {'undr': ['/srv']})", `unknown member "undr" of path, did you mean "under"?`},
		{"path(args.p, {})", `needs one`},
		{"path(args.p, {'under': ['/srv'], 'resolve': 'disk'})", `does not look at the disk`},
		{"url(args.p, {'host': '@host'})", `did you mean "@hosts"?`},
		{"email(args.p, {'domains': []})", `an empty list`},
		{"command(args.p, {'programs': ['ls'], 'shell': 'zsh'})", `expected "posix" or "bash"`},
		{"args.a.all(x, args.b.all(y, args.c.all(z, x == y && y == z)))", `the budget is 1000000`},
		{"", `an empty expression`},
	} {
		_, ps := rules.Read("x.json", expressionFile(c.expr))
		if !strings.Contains(ps.String(), c.want) {
			t.Errorf("%q: %s, want …%s…", c.expr, ps, c.want)
		}
	}
	for _, expr := range []string{"args.a == 1", "url(args.p, {'host': '@hosts'})", "command(args.c, {'programs': ['ls'], 'argv': [['ls', '**']]})", "email(args.to, {'domains': ['a.test']})", "path(args.p, {'under': ['/srv']})"} {
		f, ps := rules.Read("x.json", expressionFile(expr))
		if f == nil || f.Rules[0].Require.Program == nil {
			t.Errorf("%q: %s", expr, ps)
		}
	}
}

func TestExpressionWarnings(t *testing.T) {
	for expr, want := range map[string]string{
		"args.a.all(x, x == 1)":                     "cel-all-empty",
		"size(args.a) > 0 && args.a.all(x, x == 1)": "",
		"args.a + 1 > 2":                            "cel-arithmetic",
		"client.name == 'x'":                        "rests-on-peer",
		"has(annotations.readOnlyHint)":             "rests-on-peer",
		"args.a == 1":                               "",
	} {
		f, ps := rules.Read("x.json", expressionFile(expr))
		if f == nil {
			t.Fatalf("%q: %s", expr, ps)
		}
		got := ""
		for _, w := range f.Warnings {
			if w.Code != "unused-list" {
				got += w.Code
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", expr, got, want)
		}
	}
}

// The limits of the file are those of its expressions.
func TestExpressionLimits(t *testing.T) {
	src := strings.Replace(string(expressionFile("args.a.all(x, args.b.all(y, args.c.all(z, x == y && y == z)))")), `"rules"`, `"limits":{"celItems":8,"celText":64},"rules"`, 1)
	if f, ps := rules.Read("x.json", []byte(src)); f == nil {
		t.Error(ps)
	}
}
