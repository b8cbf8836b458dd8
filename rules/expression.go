package rules

import (
	"errors"
	"slices"
	"unicode/utf8"

	"countersign/internal/celexpr"
	"countersign/internal/ijson"
	"countersign/internal/problem"
)

// maxExpressions is the most expressions of one file. Each holds a compiled
// program of some ten thousand bytes.
const maxExpressions = 1024

// expression reads a cel condition (content rules, section 5).
func (r *reader) expression(c *Condition, p place) {
	if p.Value.Kind() != ijson.String {
		r.Fault(p, "expected an expression as a text, got %s", problem.KindOf(p.Value))
		return
	}
	if c.CEL = p.Value.Text(); c.CEL == "" {
		r.Fault(p, "an empty expression")
		return
	}
	if known := r.expressions[c.CEL]; known != nil {
		c.Program = known
		return
	}
	if len(r.expressions) == maxExpressions {
		r.Fault(p, "more than %d different expressions in this file", maxExpressions)
		return
	}
	if r.cel == nil {
		env, err := celexpr.NewEnv(celexpr.Limits{Text: r.limits.CELText, Items: r.limits.CELItems, Cost: uint64(r.limits.CEL)}, r.typed)
		if err != nil {
			r.Fault(p, "%v", err)
			return
		}
		r.cel = env
	}
	program, faults := r.cel.Compile(c.CEL)
	for _, f := range faults {
		r.FaultAt(p.Value.Start()+within(p.Value.Raw(), f.Offset), p.Pointer, "no expression that can be judged: %s", f.Msg)
	}
	c.Program = program
	r.expressions[c.CEL] = program
}

// typed makes the judge of a typed test in an expression from its operand, and
// counts its entries, those of lists included.
func (r *reader) typed(kind string, operand []byte) (celexpr.Judge, int, error) {
	doc, err := ijson.Parse(operand, ijson.Options{Depth: MaxDepth})
	if err != nil {
		return nil, 0, err
	}
	before := r.entries
	sub := newReader()
	sub.lists, sub.entries = r.lists, r.entries
	c := Check{Kind: CheckKind(kind)}
	at := place{Value: doc.Root()}
	if m := at.Member("resolve"); m.Value.Exists() && !m.Value.Is("text") {
		return nil, 0, errors.New(`an expression does not look at the disk: expected no "resolve", or a path test in place of the expression`)
	}
	sub.check(&c, at)
	r.entries = sub.entries
	if len(sub.Problems) > 0 {
		first := sub.Settle("", operand)[0]
		if first.Pointer == "" {
			return nil, 0, errors.New(first.Msg)
		}
		return nil, 0, errors.New(first.Pointer + ": " + first.Msg)
	}
	if c.Judge == nil {
		return nil, 0, errors.New("expected an object, as the test of that name in a rule has it")
	}
	return c.Judge, r.entries - before, nil
}

// within gives where in the spelling of a string, its quotes included, the byte
// of its text with the given offset stands.
func within(raw []byte, offset int) int {
	i := 1
	for n := 0; n < offset && i < len(raw)-1; {
		size := 1
		switch {
		case raw[i] != '\\':
			n++
		case raw[i+1] != 'u':
			size = 2
			n++
		default:
			size = 6
			if r, _ := ijson.Parse(slices.Concat([]byte{'"'}, raw[i:i+6], []byte{'"'}), ijson.Options{}); r != nil {
				n += len(r.Root().Text())
			} else { // the first half of a pair
				size = 12
				n += utf8.UTFMax
			}
		}
		i += size
	}
	return min(i, len(raw)-1)
}
