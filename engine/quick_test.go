package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/engine"
)

// Judge leaves rules alone that it knows to pass. These are the edges of knowing.

func TestAtTheBound(t *testing.T) {
	for _, c := range []struct{ test, below, at, above string }{
		{"above", "ALLOW", "ALLOW", "DENY"},
		{"atLeast", "ALLOW", "DENY", "DENY"},
		{"below", "DENY", "ALLOW", "ALLOW"},
		{"atMost", "DENY", "DENY", "ALLOW"},
	} {
		e := compile(t, one(fmt.Sprintf(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/n", %q: 5.5}}`, c.test),
			fmt.Sprintf(`{"id": "s", "tools": ["*"], "refuse": {"some": "/l/#", %q: 5.5}}`, c.test)))
		for n, want := range map[string]string{"5.4": c.below, "5.5": c.at, "55e-1": c.at, "5.6": c.above, "-1e300": c.below, "1e300": c.above} {
			hold(t, e, "x", []row{{`{"n":` + n + `}`, want}, {`{"l":[` + n + `]}`, want}})
		}
		hold(t, e, "x", []row{{`{"n":"5.5"}`, "UNJUDGED"}, {`{"l":[null]}`, "UNJUDGED"}, {`{}`, "ALLOW"}})
	}
}

// Of many bounds on one value each is held.
func TestManyBounds(t *testing.T) {
	var list []string
	for i := range 40 {
		test := []string{"above", "atLeast", "below", "atMost"}[i%4]
		n := 100 + i
		if i%4 >= 2 {
			n = -100 - i
		}
		list = append(list, fmt.Sprintf(`{"id": "r%d", "tools": ["x"], "refuse": {"arg": "/n", %q: %d}}`, i, test, n))
	}
	e := compile(t, one(list...))
	for n := -150; n <= 150; n++ {
		c := &engine.Call{Tool: "x", Arguments: parse(t, fmt.Appendf(nil, `{"n":%d}`, n))}
		d, x := e.Judge(c), e.Explain(c)
		if d.Rule != x.Rule || d.Verdict != x.Verdict {
			t.Fatalf("%d: Judge %s %s, Explain %s %s", n, d.Verdict, d.Rule, x.Verdict, x.Rule)
		}
		if want := n <= 100 && n >= -102; want != (d.Verdict == engine.Allowed) {
			t.Errorf("%d: %s by %s", n, d.Verdict, d.Rule)
		}
	}
}

// Of many texts on one value each is held, the longer and the shorter, folded and
// not.
func TestManyTexts(t *testing.T) {
	var list []string
	for i, test := range []string{"is", "contains", "startsWith", "endsWith"} {
		for k := range 12 {
			list = append(list,
				fmt.Sprintf(`{"id": "r%d-%d", "tools": ["x"], "refuse": {"arg": "/%s", %q: "%s%d"}}`, i, k, test, test, strings.Repeat("ab", k%3), k),
				fmt.Sprintf(`{"id": "f%d-%d", "tools": ["x"], "refuse": {"arg": "/%s", %q: "X%s%d", "fold": true}}`, i, k, test, test, strings.Repeat("Ab", k%3), k))
		}
	}
	e := compile(t, one(list...))
	for _, c := range []struct{ text, is, contains, starts, ends string }{
		{"", "ALLOW", "ALLOW", "ALLOW", "ALLOW"},
		{"q", "ALLOW", "ALLOW", "ALLOW", "ALLOW"},
		{"3", "DENY", "DENY", "DENY", "DENY"},
		{"q3", "ALLOW", "DENY", "ALLOW", "DENY"},
		{"3q", "ALLOW", "DENY", "DENY", "ALLOW"},
		{"ab4", "DENY", "DENY", "DENY", "DENY"},
		{"AB4", "ALLOW", "ALLOW", "ALLOW", "ALLOW"},
		{"xAB4", "DENY", "DENY", "DENY", "DENY"},
		{"abab11", "DENY", "DENY", "DENY", "DENY"}, // 11 has two times ab; so has 1 one, behind it
		{"qxＡbａＢ11", "ALLOW", "DENY", "ALLOW", "DENY"},
		{"ab", "ALLOW", "ALLOW", "ALLOW", "ALLOW"},
		{"ba5", "ALLOW", "ALLOW", "ALLOW", "ALLOW"},
	} {
		for test, want := range map[string]string{"is": c.is, "contains": c.contains, "startsWith": c.starts, "endsWith": c.ends} {
			hold(t, e, "x", []row{{fmt.Sprintf(`{%q:%q}`, test, c.text), want}})
		}
	}
}

// A name with a backslash is the name that JSON spells with two, not the escape
// that is spelt alike.
func TestNamesWithBackslashes(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/a\\b", "is": 1}}`,
		`{"id": "s", "tools": ["*"], "refuse": {"arg": "/caf\u00e9/~0~1x", "is": 1}}`))
	hold(t, e, "x", []row{
		{`{"a\\b":1}`, "DENY"},
		{`{"a\u005cb":1}`, "DENY"},
		{`{"a\b":1}`, "ALLOW"},
		{`{"a\\\\b":1}`, "ALLOW"},
		{`{"ab":1}`, "ALLOW"},
		{`{"caf\u00e9":{"~/x":1}}`, "DENY"},
		{`{"café":{"\u007e\/x":1}}`, "DENY"},
		{`{"cafe":{"~/x":1}}`, "ALLOW"},
	})
}

// Places in lists are found by their index, and by nothing that looks like one.
func TestIndexes(t *testing.T) {
	e := compile(t, one(`{"id": "r", "tools": ["*"], "refuse": {"arg": "/l/10", "is": 1}}`, `{"id": "s", "tools": ["*"], "refuse": {"arg": "/l/0/2", "is": 1}}`,
		`{"id": "t", "tools": ["*"], "refuse": {"arg": "/l/01", "is": 1}}`, `{"id": "u", "tools": ["*"], "refuse": {"arg": "/l/-", "is": 1}}`))
	hold(t, e, "x", []row{
		{`{"l":[0,0,0,0,0,0,0,0,0,0,1]}`, "DENY"},
		{`{"l":[0,0,0,0,0,0,0,0,0,0,2,1]}`, "ALLOW"},
		{`{"l":[[0,0,1]]}`, "DENY"},
		{`{"l":{"0":{"2":1}}}`, "DENY"},
		{`{"l":{"10":1}}`, "DENY"},
		{`{"l":[0,1]}`, "ALLOW"},
		{`{"l":{"01":1}}`, "DENY"},
		{`{"l":[1]}`, "ALLOW"},
		{`{"l":{"-":1}}`, "DENY"},
	})
}

// What a json test takes counts the same whether or not something else has settled
// its condition, so both ways end at the same place.
func TestWhatJSONTakesCounts(t *testing.T) {
	text := `{"a":1,"j":"[` + strings.TrimSuffix(strings.Repeat("1,", 50), ",") + `]"}`
	for steps := 1; steps < 70; steps++ {
		e := compile(t, fmt.Appendf(nil, `{"format": "content-rules/v1", "name": "t", "limits": {"steps": %d}, "rules": [
			{"id": "j", "tools": ["*"], "refuse": {"all": [{"arg": "/a", "is": 2}, {"arg": "/j", "json": {"some": "/#", "is": 2}}]}},
			{"id": "k", "tools": ["*"], "refuse": {"arg": "/a", "is": 3}},
			{"id": "w", "tools": ["*"], "mode": "watch", "refuse": {"arg": "/a", "is": 1}}]}`, steps))
		d := decide(t, e, "x", text)
		want, watched := "", 0
		switch {
		case steps < 52: // one for a, one for j and fifty inside it
			want = "j"
		case steps < 53:
			want = "k"
		default:
			watched = 1
		}
		if d.Rule != want || want != "" && d.Code != engine.OverBudget || len(d.Watched) != watched {
			t.Errorf("%d steps: %s by %q for %s, %d watched", steps, d.Verdict, d.Rule, d.Code, len(d.Watched))
		}
	}
}
