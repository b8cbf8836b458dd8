package celexpr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/celexpr"
	"countersign/internal/ijson"
	"countersign/internal/verdict"
)

var limits = celexpr.Limits{Text: 4 << 10, Items: 256, Cost: 1_000_000}

// under is a typed test of a test: the operand is kept, texts that begin with
// "?" cannot be judged, others hold where the operand has them as a word.
type under struct{ operand string }

func (u under) Judge(text string) (verdict.Result, string) {
	switch {
	case strings.HasPrefix(text, "?"):
		return verdict.CannotJudge, "a question"
	case strings.Contains(u.operand, `"`+text+`"`):
		return verdict.Holds, ""
	}
	return verdict.Fails, "another word"
}

func (u under) JudgeArgv(words []string) (verdict.Result, string) {
	if len(words) == 0 {
		return verdict.CannotJudge, "no word"
	}
	return u.Judge(words[0])
}

// textOnly takes no list of words.
type textOnly struct{ u under }

func (t textOnly) Judge(text string) (verdict.Result, string) { return t.u.Judge(text) }

func typed(kind string, operand []byte) (celexpr.Judge, int, error) {
	if strings.Contains(string(operand), "wrong") {
		return nil, 0, fmt.Errorf("a wrong operand of %s", kind)
	}
	if kind == "command" {
		return under{string(operand)}, 1, nil
	}
	if strings.Contains(string(operand), "@large") {
		return textOnly{under{string(operand)}}, 64_000, nil
	}
	return textOnly{under{string(operand)}}, 1, nil
}

func env(t testing.TB, l celexpr.Limits) *celexpr.Env {
	t.Helper()
	e, err := celexpr.NewEnv(l, typed)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func compile(t testing.TB, e *celexpr.Env, src string) *celexpr.Program {
	t.Helper()
	p, faults := e.Compile(src)
	if faults != nil {
		t.Fatalf("%s: %v", src, faults)
	}
	return p
}

func facts(t testing.TB, args string) *celexpr.Facts {
	t.Helper()
	d, err := ijson.Parse([]byte(args), ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &celexpr.Facts{Args: d.Root(), Tool: celexpr.Text{Value: "t", Given: true}, Now: time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC)}
}

// eval checks what every evaluation promises: the same answer twice, and a cost
// within the estimate.
func eval(t testing.TB, p *celexpr.Program, f *celexpr.Facts) verdict.Result {
	t.Helper()
	r, why, cost, over := p.Eval(context.Background(), f)
	if (why == "") != (r == verdict.Holds) {
		t.Errorf("%v with the reason %q", r, why)
	}
	if again, _, cost2, _ := p.Eval(context.Background(), f); again != r || cost2 != cost {
		t.Errorf("%v at %d units, then %v at %d", r, cost, again, cost2)
	}
	if !over && cost > p.Most {
		t.Errorf("cost %d, estimated at most %d", cost, p.Most)
	}
	return r
}

func TestEval(t *testing.T) {
	e := env(t, limits)
	const H, F, C = verdict.Holds, verdict.Fails, verdict.CannotJudge
	for _, c := range []struct {
		expr, args string
		want       verdict.Result
	}{
		// CEL-01
		{"args.blocked == true", `{"blocked":true}`, H},
		{"args.blocked == true", `{"blocked":false}`, F},
		{"args.blocked == true", `{}`, C},
		{"args.blocked == true", `{"blocked":"true"}`, F},
		{"args.blocked == true", `{"blocked":null}`, F},
		{"type(args.blocked) != bool || args.blocked", `{"blocked":"true"}`, H},
		{"type(args.blocked) != bool || args.blocked", `{"blocked":null}`, H},
		{"args.amount < 100", `{"amount":99}`, H}, // the mirror: a require of it
		{"args.amount < 100", `{}`, C},
		// CEL-02
		{"has(args.meta.owner) && args.meta.owner == 'root'", `{}`, C},
		{"has(args.meta) && has(args.meta.owner) && args.meta.owner == 'root'", `{}`, F},
		{"has(args.meta) && has(args.meta.owner) && args.meta.owner == 'root'", `{"meta":{"owner":"root"}}`, H},
		{"'x-mode' in args", `{"x-mode":"a"}`, H},
		{"'x-mode' in args", `{}`, F},
		{"args.meta.owner == 'root'", `{"meta":[{"owner":"root"}]}`, C},
		// numbers by value
		{"args.n == 1", `{"n":1.0}`, H},
		{"args.n == 1.5", `{"n":1.5}`, H},
		{"args.n < 2.5 && args.n > 1", `{"n":2}`, H},
		{"args.n + 1 == 3", `{"n":2}`, H},
		{"args.n + 1 > 3", `{"n":2.5}`, C},
		{"double(args.n) + 1.0 == 3.5", `{"n":2.5}`, H},
		{"args.n > 0", `{"n":9223372036854775000}`, H},
		{"args.n > 0", `{"n":1e19}`, C},
		{"args.n > 0 || true", `{"n":1e19}`, C},
		{"has(args.n)", `{"n":1e19}`, H},
		{"type(args.n) == int", `{"n":7e0}`, H},
		{"args.list[1] == 2", `{"list":[1,2]}`, H},
		{"args.list[2] == 2", `{"list":[1,2]}`, C},
		{"args.list[args.i] == 2", `{"list":[1,2],"i":1.0}`, H},
		// lists and maps
		{"args.p.all(x, x.startsWith('/srv/'))", `{"p":[]}`, H},
		{"args.p.all(x, x.startsWith('/srv/'))", `{"p":["/srv/a","/etc"]}`, F},
		{"args.p.exists(x, x == 'b')", `{"p":["a","b"]}`, H},
		{"'b' in args.p", `{"p":["a","b"]}`, H},
		{"args.p == ['a', 'b']", `{"p":["a","b"]}`, H},
		{"['a', 'b'] == args.p", `{"p":["a","b"]}`, H},
		{"args.p + ['c'] == ['a', 'b', 'c']", `{"p":["a","b"]}`, H},
		{"args == {'a': 1}", `{"a":1}`, H},
		{"args.all(k, k != 'x')", `{"a":1,"b":2}`, H},
		{"args.map(k, args[k]).size() == 2", `{"a":1,"b":2}`, H},
		{"size(args.s) == 2", `{"s":"éa"}`, H},
		{"args.s == null", `{"s":null}`, H},
		{"sets.contains(['a', 'b'], args.p)", `{"p":["a"]}`, H},
		{"args.p.sort() == ['a', 'b']", `{"p":["b","a"]}`, H},
		{"math.greatest(args.p) == 3", `{"p":[1,3,2]}`, H},
		{"base64.decode(args.s) == b'hi'", `{"s":"aGk="}`, H},
		{"args.s.lowerAscii() == 'ab'", `{"s":"AB"}`, H},
		// patterns
		{"fullMatch(args.s, 'a+')", `{"s":"aa"}`, H},
		{"fullMatch(args.s, 'a+|b')", `{"s":"ba"}`, F},
		{"fullMatch(args.s, 'a+')", `{"s":"aa\n"}`, F},
		{"finds(args.s, 'b')", `{"s":"abc"}`, H},
		{"finds(args.s, 'b')", `{"s":7}`, C},
		// typed tests
		{"path(args.s, {'under': ['a']})", `{"s":"a"}`, H},
		{"path(args.s, {'under': ['a']})", `{"s":"b"}`, F},
		{"path(args.s, {'under': ['a']})", `{"s":"?"}`, C},
		{"!path(args.s, {'under': ['a']})", `{"s":"?"}`, C},
		{"path(args.s, {'under': ['a']})", `{"s":["a"]}`, C},
		{"command(args.s, {'programs': ['a']})", `{"s":["a","b"]}`, H},
		{"command(args.s, {'programs': ['a']})", `{"s":[1]}`, C},
		{"args.p.all(x, url(x, {'public': true, 'host': ['a', 'b']}))", `{"p":["a","b"]}`, H},
		// time
		{"now.getHours() == 23", `{}`, H},
		{"now.getHours('Europe/London') == 23", `{}`, H},
		{"now.getDayOfWeek('Asia/Tokyo') == 2", `{}`, H},
		{"now.getHours('-01:30') == 22 && now.getMinutes('-01:30') == 0", `{}`, H},
		{"now.getDate('Pacific/Kiritimati') == 1 && now.getMonth('Pacific/Kiritimati') == 11", `{}`, H},
		{"now < timestamp('2026-12-01T00:00:00Z')", `{}`, H},
		// facts that are not given
		{"agent == 'x'", `{}`, C},
		{"tool == 't'", `{}`, H},
		{"client.name == 'x'", `{}`, C},
		{"amount.value > 1", `{}`, C},
		{"annotations.readOnlyHint == true", `{}`, C},
		// no bool
		{"args.s", `{"s":"true"}`, C},
		{"args.s", `{"s":true}`, H},
	} {
		if got := eval(t, compile(t, e, c.expr), facts(t, c.args)); got != c.want {
			t.Errorf("%s of %s: %v, want %v", c.expr, c.args, got, c.want)
		}
	}
}

// A value past the limits cannot be judged where it is touched, and nowhere else,
// whatever operator would have dropped the error.
func TestBeyondTheLimits(t *testing.T) {
	e := env(t, limits)
	long := strings.Repeat("x", limits.Text+1)
	many := "[" + strings.TrimSuffix(strings.Repeat("1,", limits.Items+1), ",") + "]"
	deep := strings.Repeat("[", celexpr.Depth) + strings.Repeat("]", celexpr.Depth)
	var members []string
	for i := range limits.Items + 1 {
		members = append(members, fmt.Sprintf(`"m%d":1`, i))
	}
	args := fmt.Sprintf(`{"ok":true,"long":%q,"list":["a",%q],"many":%s,"deep":%s,"wide":{%s},"o":{"long":%q,"a":1}}`, long, long, many, deep, strings.Join(members, ","), long)
	f := facts(t, args)
	for _, expr := range []string{
		"args.long == 'x'", "'x' == args.long", "args.long != 'x'", "'x' in args.list", "!('x' in args.list)", "args.list == ['a', 'b']", "['a', 'b'] == args.list", "args.ok || args.long == 'x'", "args.long == 'x' || args.ok",
		"args.many == [1]", "1 in args.many", "args.many.all(x, x == 1)", "size(args.many) > 0", "args.deep[0][0][0][0][0][0] == [[]]", "args.deep[0][0][0][0][0][0][0] == []", "args.wide == {}", "'m1' in args.wide", "args.o == {'a': 1, 'long': 'x'}", "args.list.reverse() == ['b', 'a']", "args.list.exists(x, x == 'b')", "sets.contains(args.list, ['b'])", "(args.list + ['b']).size() == 3", "has(args.wide.m1)", "args.list.map(x, x) == []", "args.long.contains('y')", "[args.long] == ['x']", "{'a': args.long} == {'a': 'x'}", "args.ok ? args.long == 'x' : true", "args.exists(k, args[k] == 1)",
	} {
		if expr == "args.ok || args.long == 'x'" {
			continue // the long text is not touched; below
		}
		if r := eval(t, compile(t, e, expr), f); r != verdict.CannotJudge {
			t.Errorf("%s: %v, want that it cannot be judged", expr, r)
		}
	}
	for expr, want := range map[string]verdict.Result{
		"args.ok || args.long == 'x'": verdict.Holds, "has(args.long)": verdict.Holds, "'long' in args": verdict.Holds, "args.o.a == 1": verdict.Holds, "args.list[0] == 'a'": verdict.Holds,
		"args.list.size() == 2": verdict.Holds, "has(args.o.long)": verdict.Holds, "args.ok ? true : args.long == 'x'": verdict.Holds,
	} {
		if r := eval(t, compile(t, e, expr), f); r != want {
			t.Errorf("%s: %v, want %v", expr, r, want)
		}
	}
	just := facts(t, fmt.Sprintf(`{"s":%q,"e":"%s"}`, long[1:], strings.Repeat(`\u0078`, limits.Text)))
	if r := eval(t, compile(t, e, "args.s == args.e"), just); r != verdict.Holds {
		t.Errorf("texts at the limit: %v", r)
	}
}

func TestRefusedAtLoad(t *testing.T) {
	e := env(t, limits)
	for _, c := range []struct {
		expr string
		at   int
		msg  string
	}{
		{"args.a ==", 9, "Syntax error"},
		{"", 0, ""},
		{"1 + 1", 0, "expected true or false"},
		{"'text'", 0, "gives a text"},
		{"unknown.x == 1", 0, "undeclared"},
		{"args.s.matches('x')", 4, "fullMatch"},
		{"matches(args.s, 'x')", 12, "fullMatch"},
		{"fullMatch(args.s, args.p)", 22, "constant"},
		{"fullMatch(args.s, '(')", 18, "missing closing )"},
		{"finds(args.s, '(?=x)')", 14, "invalid or unsupported"},
		{"has(args['x-mode'])", 8, "has() takes a member"},
		{"args.?meta.orValue('') == 'x'", 4, "unsupported syntax"},
		{"lists.range(10).size() > 1", 0, "not offered"},
		{"path(args.s, args.o)", 17, "constant map"},
		{"path(args.s, {'under': [args.o]})", 28, "constants"},
		{"path(args.s, {'under': ['wrong']})", 13, "a wrong operand of path"},
		{"now.getHours(args.tz) == 1", 17, "constant"},
		{"now.getHours('Europe/Lundon') == 1", 13, "unknown time zone"},
		{"now.getHours('../../etc/passwd') == 1", 13, "unknown time zone"},
		{"now.getHours('') == 1", 13, "unknown time zone"},
		{"args.a.all(x, args.b.all(y, args.c.all(z, x == y && y == z)))", 0, "budget"},
		{"args.a.contains(args.b + args.b + args.b + args.b + args.b + args.b + args.b + args.b + args.b)", 0, "budget"},
		{"cel.bind(x, args.a, x == 1)", 0, ""},
		{"args.a == 1 && é", 15, ""},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), 0, ""},
		{strings.Repeat("args.a == 1 || ", 600) + "true", 0, ""},
	} {
		p, faults := e.Compile(c.expr)
		if p != nil || len(faults) == 0 {
			t.Errorf("%.60s compiles", c.expr)
			continue
		}
		if f := faults[0]; c.msg != "" && (f.Offset != c.at || !strings.Contains(f.Msg, c.msg)) {
			t.Errorf("%s: %v, want byte %d: …%s…", c.expr, faults, c.at, c.msg)
		}
	}
}

// The real cost stays within the estimate, from empty values to the largest.
func TestEstimate(t *testing.T) {
	tight := env(t, celexpr.Limits{Text: 64, Items: 8, Cost: 20_000})
	exprs := []string{
		"args.a.all(x, args.a.all(y, x == y))", "args.a.map(x, x + x).size() > 2", "args.s.contains('xx')", "args.s.replace('x', 'yy').size() > 1", "args.a.filter(x, x.startsWith('a')).size() == 0",
		"args.s.split('').size() > 0", "args.a.join(',').size() > 2", "fullMatch(args.s, '[a-z]*')", "args.a == args.a", "args.a.sort() == args.a.distinct()", "string(args.n) == '1'", "size(args.s) > 1", "args.exists_one(k, k == 'a')",
		"args.a.exists(x, x == args.s)", "'x' in args.a", "args.m.k == args.s", "command(args.s, {'programs': ['a']})", "args.s + args.s != args.s", "args.s.upperAscii().lowerAscii() == args.s", "args.a.flatten().size() > 1",
	}
	for _, src := range exprs {
		p, faults := tight.Compile(src)
		if faults != nil {
			t.Errorf("%s: %v", src, faults)
			continue
		}
		for _, n := range []int{0, 1, 3, 8} {
			item := strings.Repeat("x", 8*n)
			items := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q,", item), n), ",")
			eval(t, p, facts(t, fmt.Sprintf(`{"a":[%s],"s":%q,"n":1,"m":{"k":%q}}`, items, item, item)))
		}
	}
}

func TestGivenUp(t *testing.T) {
	p := compile(t, env(t, limits), "args.a.all(x, x == 1)")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 256), ",") + "]"
	r, _, _, over := p.Eval(ctx, facts(t, `{"a":`+list+`}`))
	if r != verdict.CannotJudge || over {
		t.Errorf("%v, over %v: a caller that gave up got an answer", r, over)
	}
}

func TestLook(t *testing.T) {
	e := env(t, limits)
	p := compile(t, e, "args.a.all(x, x == 1) && client.name == 'x' && has(args.b) && args['c-d'] == 1 && 'e' in args")
	if got := fmt.Sprint(p.Facts, p.Names, p.AllOnEmpty, p.Mixed); got != "[args client] [a b c-d e name] true false" {
		t.Error(got)
	}
	for src, mixed := range map[string]bool{"args.a + 1 == 2": true, "args.a + args.b > 1": true, "args.a + 'x' == 'y'": false, "double(args.a) * 2.0 > 1.0": false, "args.a > 1.5": false} {
		if p := compile(t, e, src); p.Mixed != mixed {
			t.Errorf("%s: mixed %v", src, p.Mixed)
		}
	}
	if p := compile(t, e, "size(args.a) > 0 && args.a.all(x, x == 1)"); p.AllOnEmpty {
		t.Error("all() beside size() is reported")
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"args.a == 1", "args.a.all(x, x.startsWith('b'))", "path(args.a, {'under': ['x']})", "fullMatch(args.s, 'a|b')", "now.getHours('Asia/Tokyo') > 3", "has(args.x) && args.x in ['a']", "args.s.replace(args.s, args.s + args.s).size() < 5"} {
		f.Add(s, `{"a":["b",{"c":1.5}],"s":"abab","x":null}`)
	}
	e := env(f, celexpr.Limits{Text: 256, Items: 16, Cost: 50_000})
	f.Fuzz(func(t *testing.T, src, args string) {
		p, faults := e.Compile(src)
		for _, x := range faults {
			if x.Offset < 0 || x.Offset > len(src) {
				t.Fatalf("%q: fault at %d", src, x.Offset)
			}
		}
		d, err := ijson.Parse([]byte(args), ijson.Options{})
		if p == nil || err != nil || d.Root().Kind() != ijson.Object {
			return
		}
		r, _, cost, over := p.Eval(context.Background(), &celexpr.Facts{Args: d.Root(), Now: time.Unix(1e9, 0)})
		if !over && cost > p.Most {
			t.Fatalf("%q of %q: cost %d, estimated at most %d", src, args, cost, p.Most)
		}
		if r == verdict.Absent {
			t.Fatal("absent")
		}
	})
}

func BenchmarkEval(b *testing.B) {
	e := env(b, limits)
	f := facts(b, `{"amount":129,"currency":"EUR","tags":["red","green"]}`)
	for _, src := range []string{"args.amount <= 1000 && args.currency in ['EUR', 'GBP']", "args.tags.all(t, t in ['red', 'green', 'blue'])"} {
		p := compile(b, e, src)
		b.Run(src[:12], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, why, _, _ := p.Eval(context.Background(), f); r != verdict.Holds {
					b.Fatal(why)
				}
			}
		})
	}
}
