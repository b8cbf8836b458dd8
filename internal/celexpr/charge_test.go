package celexpr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/celexpr"
	"countersign/internal/verdict"
)

// nest is a list of n lists of n …, to the depth given, around leaves.
func nest(depth, n int, leaf string) string {
	if depth == 0 {
		return leaf
	}
	in := nest(depth-1, n, leaf)
	return "[" + strings.TrimSuffix(strings.Repeat(in+",", n), ",") + "]"
}

// shared makes an expression of a small list that, written out, is 2^levels long.
func shared(levels int) string {
	s := "[1]"
	for i := range levels {
		s += fmt.Sprintf(".map(v%d, [v%d, v%d])", i, i, i)
	}
	return s
}

// little is a budget that a loop over 256 items just fits into.
var little = celexpr.Limits{Text: limits.Text, Items: limits.Items, Cost: 200_000}

// What is nested costs its budget where it is compared, printed or judged, though
// the model of CEL's costs sees no more of it than its top.
func TestNestedValuesSpendTheBudget(t *testing.T) {
	loop := nest(1, 256, "1")
	deep := nest(3, 40, "1")
	words := nest(1, 250, `"`+strings.Repeat("a", 4000)+`"`)
	e := env(t, little)
	for _, c := range []struct {
		name, expr, args string
		over             bool
	}{
		{"equal once", "args.a == args.b", `{"a":` + deep + `,"b":` + deep + `}`, false},
		{"equal at each turn", "args.l.all(x, args.a == args.b)", `{"l":` + loop + `,"a":` + deep + `,"b":` + deep + `}`, true},
		{"unequal at each turn", "args.l.all(x, args.a != args.b)", `{"l":` + loop + `,"a":` + deep + `,"b":` + deep + `}`, false}, // ends at the first
		{"in at each turn", "args.l.exists(x, args.a in args.b)", `{"l":` + loop + `,"a":` + nest(2, 60, "1") + `,"b":` + nest(1, 60, strings.TrimSuffix(nest(2, 60, "1"), "]]")+",2]]") + `}`, true},
		{"printed once", "'%s'.format([args.a]) != ''", `{"a":` + nest(2, 20, "1") + `}`, false},
		{"printed at each turn", "args.l.all(x, '%s'.format([args.a]) != '')", `{"l":` + loop + `,"a":` + deep + `}`, true},
		{"printed many times over", "'" + strings.Repeat("%s", 800) + "'.format([" + strings.TrimSuffix(strings.Repeat("args.a,", 800), ",") + "]) != ''", `{"a":` + words + `}`, true},
		{"sharing compared", shared(8) + " == " + shared(8), `{}`, false},
		{"much sharing compared", shared(25) + " == " + shared(25), `{}`, true},
		{"sharing compared at each turn", "args.l.all(x, " + shared(10) + " == " + shared(10) + ")", `{"l":` + loop + `}`, true},
		{"sharing in", "args.l.all(x, " + shared(10) + " in [" + shared(10) + "])", `{"l":` + loop + `}`, true},
		{"sharing in sets", "args.l.all(x, sets.contains([" + shared(10) + "], [" + shared(10) + "]))", `{"l":` + loop + `}`, true},
		{"small sets", "args.l.all(x, sets.contains([[1, 2]], [[1, 2]]))", `{"l":` + loop + `}`, false},
		{"words", "args.l.exists(x, command(args.w, {'programs': ['b']}))", `{"l":` + loop + `,"w":` + words + `}`, true},
		{"few words", "args.l.all(x, command(args.w, {'programs': ['a']}))", `{"l":` + loop + `,"w":["a","b"]}`, false},
	} {
		p := compile(t, e, c.expr)
		r, why, _, over := p.Eval(context.Background(), facts(t, c.args))
		if over != c.over || over && (r != verdict.CannotJudge || why == "") {
			t.Errorf("%s: %v, %q, over budget %v; want %v", c.name, r, why, over, c.over)
		}
	}
}

// An operator that drops an error does not drop that the budget is spent.
func TestSpentIsNotDropped(t *testing.T) {
	deep := nest(3, 40, "1")
	args := `{"ok":true,"l":` + nest(1, 256, "1") + `,"a":` + deep + `,"b":` + deep + `}`
	for _, expr := range []string{"args.l.all(x, args.a == args.b) || true", "!(args.l.all(x, args.a == args.b)) || true", "args.l.exists(x, args.a == args.b && x == 2) || true", "[args.l.map(x, args.a == args.b)] == [] || true"} {
		if _, _, _, over := compile(t, env(t, little), expr).Eval(context.Background(), facts(t, args)); !over {
			t.Errorf("%s: within the budget", expr)
		}
	}
}

// A loop does not make the lists, maps and texts of the call anew at each turn.
func TestLoopsMakeNothingAnew(t *testing.T) {
	var members []string
	for i := range limits.Items {
		members = append(members, fmt.Sprintf(`"k%d":1`, i))
	}
	const turns = 100 * 100
	f := facts(t, `{"l":`+nest(1, 100, "1")+`,"m":{`+strings.Join(members, ",")+`},"s":"`+strings.Repeat("a", 4000)+`"}`)
	for _, expr := range []string{"args.m.k200 == 1", "args.l[99] == 1", "args.s.startsWith('a')"} {
		p := compile(t, env(t, limits), "args.l.all(x, args.l.all(y, "+expr+"))")
		if n := testing.AllocsPerRun(1, func() {
			if r, why, _, _ := p.Eval(context.Background(), f); r != verdict.Holds {
				t.Fatalf("%s: %v, %s", expr, r, why)
			}
		}); n > 20*turns {
			t.Errorf("%s: %v allocations for %d turns", expr, n, turns)
		}
	}
}

// More lists and maps than are kept are found all the same.
func TestMoreThanIsIndexed(t *testing.T) {
	inner := `{"a":1,"b":{"c":[1,2,3]}}`
	args := `{"l":` + nest(2, 150, inner) + `}`
	for expr, want := range map[string]verdict.Result{
		"args.l.all(x, x.all(y, y.b.c[2] == 3 && has(y.a) && !has(y.c)))": verdict.Holds,
		"args.l.all(x, x.all(y, y == {'b': {'c': [1, 2, 3]}, 'a': 1}))":   verdict.Holds,
		"args.l.exists(x, x[149].size() == 3)":                            verdict.Fails,
		"args.l[149][149].b.c.all(n, n > 0)":                              verdict.Holds,
	} {
		p := compile(t, env(t, celexpr.Limits{Text: 256, Items: 150, Cost: 10_000_000}), expr)
		if r, why, _, _ := p.Eval(context.Background(), facts(t, args)); r != want {
			t.Errorf("%s: %v, %s", expr, r, why)
		}
	}
}

// RE-02: a pattern costs what its counts come to, and has a bound.
func TestRE02PatternsInExpressions(t *testing.T) {
	e := env(t, limits)
	plain, counts := compile(t, e, "finds(args.s, '[a-z]+@[a-z]+')"), compile(t, e, "finds(args.s, '(?:[a-z]{0,30}){0,30}q')")
	if counts.Most < 10*plain.Most {
		t.Errorf("a pattern of %d units, one of some thousand instructions of %d", plain.Most, counts.Most)
	}
	for _, expr := range []string{"args.l.exists(x, finds(args.s, '(?:[a-z]{0,30}){0,30}q'))", "finds(args.s, '" + strings.Repeat("(?:a|b){1000}", 40) + "')", "fullMatch(args.s, 'a{1001}')"} {
		if p, faults := e.Compile(expr); p != nil || len(faults) == 0 {
			t.Errorf("%.60s: compiled", expr)
		}
	}
	total := env(t, limits)
	for i := range 100 {
		expr := fmt.Sprintf("finds(args.s, '%d%s') || true", i, strings.Repeat("[ab]{1000}", 9))
		if _, faults := total.Compile(expr); len(faults) > 0 {
			if i < 10 {
				t.Errorf("pattern %d: %v", i, faults)
			}
			return
		}
	}
	t.Error("a hundred large patterns compiled")
}

func TestCostOfOperands(t *testing.T) {
	e := env(t, limits)
	small, large := compile(t, e, "path(args.s, {'under': ['/a']})"), compile(t, e, "path(args.s, {'under': '@large'})")
	if large.Most < 100*small.Most {
		t.Errorf("one entry costs %d, sixty-four thousand %d", small.Most, large.Most)
	}
}

func TestFormatPrecision(t *testing.T) {
	e := env(t, limits)
	if p, _ := e.Compile("'%.999999f'.format([args.n]) != ''"); p != nil {
		t.Error("a million digits")
	}
	eval(t, compile(t, e, "'%.2f'.format([args.n]) == '1.50'"), facts(t, `{"n":1.5}`))
}
