// Package celexpr compiles and evaluates the CEL expressions of the content rules
// (section 5) under a budget.
//
// What an expression can cost is bounded three times: its text when it is read,
// its worst case when it is compiled, from the largest values it may see, and its
// real cost while it runs. A value past the limits that it touches makes the
// answer "cannot be judged", whatever the rest of the expression says.
//
// No function reads the clock, the disk or the network. Patterns, time zones and
// the operands of typed tests are constants, compiled with the expression.
package celexpr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"countersign/internal/ijson"
	"countersign/internal/verdict"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

const (
	// Depth is the most levels of lists and maps an expression sees.
	Depth = 8

	maxSource  = 8 << 10 // code points of an expression: pages of it
	maxNodes   = 10_000  // nodes after macros are expanded
	maxNesting = 100     // levels of an expression; its reader recurses

	// maxMemory is the most elements (ten bytes of a text, an item of a list) that
	// one value may have while evaluating, values of the call included: more than
	// any call holds, and some tens of MiB.
	maxMemory = 4 << 20

	// maxPrecision is the most digits that format writes behind the point of a
	// number. A double has no more that say anything but for the smallest.
	maxPrecision = 100

	// checkEvery is how many turns of a macro pass between looks at whether
	// the caller has given up.
	checkEvery = 256
)

// Limits are those of the rules file (content rules, section 6).
type Limits struct {
	Text  int    // bytes of a text that is touched
	Items int    // items of a list or map that is touched
	Cost  uint64 // units of one expression, estimated and real
}

// Judge is the judge of a typed test.
type Judge interface {
	Judge(text string) (verdict.Result, string)
}

// ArgvJudge is a Judge that takes a list of words too.
type ArgvJudge interface {
	JudgeArgv(words []string) (verdict.Result, string)
}

// Typed makes the judge of a typed test (path, url, command or email) from its
// operand, a JSON object, and counts the entries of its lists.
type Typed func(kind string, operand []byte) (j Judge, entries int, err error)

// Env compiles the expressions of one rules file. It is for one goroutine; the
// programs it makes are not bound to one.
type Env struct {
	limits Limits
	typed  Typed
	env    *cel.Env

	// What constants were compiled into, by their text. Programs only read it.
	patterns map[string]*regexp.Regexp
	judges   map[string]Judge // kind, a NUL, the operand
	zones    map[string]*time.Location

	program int // instructions of all patterns
}

// NewEnv prepares an environment.
func NewEnv(l Limits, typed Typed) (*Env, error) {
	e := &Env{limits: l, typed: typed, patterns: map[string]*regexp.Regexp{}, judges: map[string]Judge{}, zones: map[string]*time.Location{}}
	env, err := cel.NewCustomEnv(e.options()...)
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	e.env = env
	return e, nil
}

// Fault is what is wrong with an expression.
type Fault struct {
	Offset int // byte of the expression
	Msg    string
}

// Program is a compiled expression. It may be evaluated by any number of
// goroutines.
type Program struct {
	prog   cel.Program
	limits Limits

	// Source is the expression as written.
	Source string
	// Most is the most units an evaluation can cost, but for what is nested in
	// values and costs its budget only where it is there (see charge and
	// workPerUnit). (cel-go's lower estimate is not kept: for names of types,
	// indexes and some lists it is a few units above the real cost.)
	Most uint64

	// Facts are the variables it reads, sorted.
	Facts []string
	// Names are the constant member names it reads, sorted.
	Names []string
	// AllOnEmpty: it uses all(), true on what is empty, and no size().
	AllOnEmpty bool
	// Mixed: it adds, subtracts, multiplies or divides values of which whole
	// and other numbers may meet, which is an error when they do.
	Mixed bool
}

// Compile compiles an expression. All faults that could be told apart are given.
func (e *Env) Compile(src string) (*Program, []Fault) {
	parsed, iss := e.env.Parse(src)
	if iss.Err() != nil {
		return nil, faults(src, iss.Errors())
	}
	checked, iss := e.env.Check(parsed)
	if iss.Err() != nil {
		return nil, faults(src, iss.Errors())
	}
	if t := checked.OutputType(); !t.IsExactType(types.BoolType) && !t.IsExactType(types.DynType) {
		return nil, []Fault{{0, fmt.Sprintf("gives %s, expected true or false", typeName(t))}}
	}
	root := checked.NativeRep().Expr()
	est, err := e.env.EstimateCost(checked, newEstimator(e.limits, root))
	if err != nil {
		return nil, []Fault{{0, "its cost cannot be estimated: " + err.Error()}}
	}
	if est.Max > e.limits.Cost {
		most := "without bound"
		if est.Max != math.MaxUint64 {
			most = fmt.Sprintf("up to %d units", est.Max)
		}
		return nil, []Fault{{0, fmt.Sprintf("can cost %s, the budget is %d: look at less (limits celText and celItems) or raise the limit cel", most, e.limits.Cost)}}
	}
	prog, err := e.env.Program(checked,
		cel.CostTracking(charge{e.limits}), cel.CostTrackerOptions(charge{e.limits}.trackers()...), cel.CostLimit(e.limits.Cost),
		cel.MemoryLimit(maxMemory),
		cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, []Fault{{0, err.Error()}}
	}
	p := &Program{Source: src, prog: prog, limits: e.limits, Most: est.Max}
	p.look(checked.NativeRep())
	return p, nil
}

func typeName(t *types.Type) string {
	if t.IsExactType(types.StringType) {
		return "a text"
	}
	return "a value of type " + t.String()
}

// faults gives cel-go's errors with byte offsets.
func faults(src string, errs []*common.Error) []Fault {
	var out []Fault
	for _, e := range errs {
		offset := 0
		if e.Location != common.NoLocation {
			line, column := e.Location.Line(), e.Location.Column()
			for line > 1 && offset < len(src) {
				if src[offset] == '\n' {
					line--
				}
				offset++
			}
			for ; column > 0 && offset < len(src); column-- {
				_, n := utf8.DecodeRuneInString(src[offset:])
				offset += n
			}
		}
		out = append(out, Fault{offset, e.Message})
	}
	return out
}

// arithmetic are the operators that take no mix of whole and other numbers.
var arithmetic = []string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo}

// look notes what the checker of rules wants to know of an expression.
func (p *Program) look(a *ast.AST) {
	all, size := false, false
	facts, names := map[string]bool{}, map[string]bool{}
	kind := func(x ast.Expr) *types.Type { return a.GetType(x.ID()) }
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.IdentKind:
			if slices.Contains(Variables, x.AsIdent()) {
				facts[x.AsIdent()] = true
			}
		case ast.SelectKind:
			names[x.AsSelect().FieldName()] = true
		case ast.ComprehensionKind:
			// all() is the comprehension that starts from true.
			if c := x.AsComprehension(); c.AccuInit().Kind() == ast.LiteralKind && c.AccuInit().AsLiteral() == types.True {
				all = true
			}
		case ast.CallKind:
			c := x.AsCall()
			switch fn := c.FunctionName(); {
			case fn == "size":
				size = true
			case fn == operators.Index || fn == hasFunction || fn == operators.In:
				for _, arg := range c.Args() {
					if arg.Kind() == ast.LiteralKind {
						if s, ok := arg.AsLiteral().(types.String); ok {
							names[string(s)] = true
						}
					}
				}
			case slices.Contains(arithmetic, fn) && len(c.Args()) == 2:
				l, r := kind(c.Args()[0]), kind(c.Args()[1])
				number := func(t *types.Type) bool {
					return t.IsExactType(types.IntType) || t.IsExactType(types.DoubleType)
				}
				if l.IsExactType(types.DynType) && (number(r) || r.IsExactType(types.DynType)) || number(l) && r.IsExactType(types.DynType) {
					p.Mixed = true
				}
			}
		}
	}))
	p.AllOnEmpty = all && !size
	for f := range facts {
		p.Facts = append(p.Facts, f)
	}
	for n := range names {
		p.Names = append(p.Names, n)
	}
	slices.Sort(p.Facts)
	slices.Sort(p.Names)
}

// Variables are the names an expression may read.
var Variables = []string{"args", "tool", "action", "agent", "upstream", "client", "annotations", "amount", "now"}

// Text is a fact that is a text, or is not given.
type Text struct {
	Value string
	Given bool
}

// Facts are what is known of a call. What is not given cannot be judged where it
// is read.
type Facts struct {
	Args           ijson.Value // an Object; absent is {}
	InputResponses ijson.Value // where it exists: the member inputResponses of args
	Tool, Action   Text
	Agent          Text
	Upstream       Text
	ClientName     Text
	ClientVersion  Text
	Annotations    ijson.Value // an Object, or absent: not given
	AmountUnit     Text
	AmountValue    int64
	Now            time.Time // zero: not given
}

// Eval evaluates the expression on a call. Over says that the budget was spent;
// the result is then verdict.CannotJudge. Why is a reason without any value.
func (p *Program) Eval(ctx context.Context, f *Facts) (r verdict.Result, why string, cost uint64, over bool) {
	defer func() {
		if x := recover(); x != nil { // a fault of the evaluator is no reason to pass
			r, why = verdict.CannotJudge, "the expression could not be evaluated"
		}
	}()
	s := &session{limits: p.limits, facts: f}
	val, details, err := p.prog.ContextEval(ctx, s)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) {
		over = cancelled.Cause == interpreter.CostLimitExceeded || cancelled.Cause == interpreter.MemoryLimitExceeded
		return verdict.CannotJudge, "the expression's budget is spent", cost, over
	}
	switch {
	case s.spent: // also where an operator dropped the error
		return verdict.CannotJudge, "the expression's budget is spent", cost, true
	case s.beyond != "":
		return verdict.CannotJudge, s.beyond, cost, false
	case err != nil:
		return verdict.CannotJudge, "the expression gave an error: a missing member, or a value of the wrong kind", cost, false
	case val == ref.Val(types.True):
		return verdict.Holds, "", cost, false
	case val == ref.Val(types.False):
		return verdict.Fails, "the expression gave false", cost, false
	}
	return verdict.CannotJudge, "the expression gave neither true nor false", cost, false
}
