package rulestest

import (
	"strings"

	"countersign/internal/ijson"
	"countersign/rules"
)

// written is a rules file with the places of its text.
type written struct {
	file *rules.File
	doc  *ijson.Doc
}

func newWritten(f *rules.File) (*written, error) {
	doc, err := ijson.Parse(f.Source, ijson.Options{Depth: rules.MaxDepth})
	if err != nil {
		return nil, err
	}
	return &written{f, doc}, nil
}

// at is the value at a pointer of the file, which is there.
func (w *written) at(pointer string) ijson.Value {
	v, err := w.doc.Root().Pointer(pointer)
	if err != nil {
		return ijson.Value{}
	}
	return v
}

// list is the list that an operand is or names: "@name" is the file's. A single
// value is none.
func (w *written) list(operand ijson.Value) (v ijson.Value, name string) {
	if operand.Kind() == ijson.Array {
		return operand, ""
	}
	if s := operand.Text(); operand.Kind() == ijson.String && strings.HasPrefix(s, "@") {
		if l := w.doc.Root().Member("lists").Member(s[1:]); l.Kind() == ijson.Array {
			return l, s[1:]
		}
	}
	return ijson.Value{}, ""
}

// slot is a place in a rule where a list of values stands.
type slot struct {
	rule   *rules.Rule
	cond   *rules.Condition // nil for tools
	inWhen bool
	test   ijson.Value // the condition's object, or the rule's
	member string      // of test: oneOf, path, named, tools …
	sub    string      // of a typed test's operand: under, host …; else ""
	list   ijson.Value
	name   string // of the list, "" where it stands in place
}

// plainLists are the tests whose operand is a list of what a value may be.
var plainLists = []string{"type", "oneOf", "contains", "startsWith", "endsWith", "like", "onlyMembers", "hasMembers"}

// typedLists are the lists in the operands of typed tests.
var typedLists = map[string][]string{
	"path":    {"under", "like", "notLike"},
	"url":     {"scheme", "host", "port", "path", "query"},
	"command": {"programs", "argv"},
	"email":   {"domains", "addresses"},
}

// typedOrder keeps what is made of typedLists in one order.
var typedOrder = []string{"path", "url", "command", "email"}

// slots are the lists of a rule: its tools and those of its tests.
func (w *written) slots(r *rules.Rule) []slot {
	v := w.at(r.Pointer)
	out := []slot{{rule: r, test: v, member: "tools", list: v.Member("tools")}}
	w.eachCondition(r, func(c *rules.Condition, inWhen bool) {
		if c.Test != nil {
			out = append(out, w.testSlots(r, c, inWhen)...)
		}
	})
	return out
}

func (w *written) testSlots(r *rules.Rule, c *rules.Condition, inWhen bool) []slot {
	var out []slot
	test := w.at(c.Pointer)
	add := func(member, sub string, operand ijson.Value) {
		if l, name := w.list(operand); l.Exists() {
			out = append(out, slot{r, c, inWhen, test, member, sub, l, name})
		}
	}
	add("named", "", test.Member("named"))
	for _, m := range plainLists {
		add(m, "", test.Member(m))
	}
	for _, m := range typedOrder {
		operand := test.Member(m)
		for _, sub := range typedLists[m] {
			add(m, sub, operand.Member(sub))
		}
	}
	return out
}

// eachCondition gives the conditions of a rule, also those inside others and
// inside json tests, in the order of its text.
func (w *written) eachCondition(r *rules.Rule, f func(c *rules.Condition, inWhen bool)) {
	r.When.Walk(func(c *rules.Condition) { f(c, true) })
	r.Condition().Walk(func(c *rules.Condition) { f(c, false) })
}

// insideJSON says whether a condition of the rule stands inside a json test.
func insideJSON(r *rules.Rule, c *rules.Condition) bool {
	inside := false
	look := func(top *rules.Condition) {
		top.Walk(func(p *rules.Condition) {
			if p.Test == nil {
				return
			}
			for i := range p.Test.Checks {
				p.Test.Checks[i].JSON.Walk(func(q *rules.Condition) { inside = inside || q == c })
			}
		})
	}
	look(r.When)
	look(r.Condition())
	return inside
}

// always says whether a condition has one result whatever is called: arguments
// are always an object.
func always(c *rules.Condition) (holds, known bool) {
	switch {
	case c == nil:
		return false, false
	case c.Not != nil:
		holds, known = always(c.Not)
		return !holds, known
	case c.All != nil:
		all := true
		for _, p := range c.All {
			h, k := always(p)
			if k && !h {
				return false, true
			}
			all = all && k
		}
		return all, all
	case c.Any != nil:
		all := true
		for _, p := range c.Any {
			h, k := always(p)
			if k && h {
				return true, true
			}
			all = all && k
		}
		return false, all
	case c.Test == nil || c.Test.Select.Kind != rules.Arg || len(c.Test.Select.Pointer.Segments) > 0 || len(c.Test.Checks) != 1:
		return false, false
	}
	switch k := &c.Test.Checks[0]; k.Kind {
	case rules.Present:
		return k.Present, true
	case rules.OfType:
		for _, t := range k.Types {
			if t == rules.TypeObject {
				return true, true
			}
		}
		return false, true
	}
	return false, false
}
