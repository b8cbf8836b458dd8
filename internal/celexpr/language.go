package celexpr

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"countersign/internal/ijson"
	repattern "countersign/internal/pattern"
	"countersign/internal/verdict"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

// Functions that macros put in place of what an author writes. A name with an @
// cannot be written, so their second arguments are always constants that were
// compiled.
const (
	hasFunction   = "@has"
	fullMatchCall = "@fullMatch"
	findsCall     = "@finds"
	localCall     = "@local"
)

var typedKinds = []string{"path", "url", "command", "email"}

// accessors of a timestamp's parts, which take a time zone.
var accessors = []string{"getFullYear", "getMonth", "getDayOfYear", "getDate", "getDayOfMonth", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"}

// options is the language: the standard library and the extensions of section 5,
// less what reads anything or searches by a pattern that is no constant.
func (e *Env) options() []cel.EnvOption {
	std := env.NewLibrarySubset().AddExcludedFunctions(&env.Function{Name: "matches"}).AddExcludedMacros("has")
	o := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(std)),
		ext.Strings(ext.StringsMaxPrecision(maxPrecision)), ext.Lists(), ext.Math(), ext.Sets(), ext.Encoders(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.StrictTimestampParsing(true),
		cel.ParserExpressionSizeLimit(maxSource),
		cel.ParserRecursionLimit(maxNesting),
		cel.ExpressionNodeLimit(maxNodes),

		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("tool", cel.StringType),
		cel.Variable("action", cel.StringType),
		cel.Variable("agent", cel.StringType),
		cel.Variable("upstream", cel.StringType),
		cel.Variable("client", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("annotations", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("amount", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("now", cel.TimestampType),

		cel.Macros(
			cel.GlobalMacro("has", 1, hasMacro),
			cel.GlobalMacro("fullMatch", 2, e.patternMacro(fullMatchCall, `\A(?:%s)\z`)),
			cel.GlobalMacro("finds", 2, e.patternMacro(findsCall, `%s`)),
			cel.GlobalMacro("matches", 2, noMatches),
			cel.ReceiverMacro("matches", 1, noMatches),
			cel.ReceiverMacro("range", 1, noRange)),

		cel.Function(hasFunction, cel.Overload("has_member", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(hasMember))),
		cel.Function(fullMatchCall, cel.Overload("full_match", []*cel.Type{cel.StringType, cel.StringType, cel.IntType}, cel.BoolType,
			cel.FunctionBinding(e.search))),
		cel.Function(findsCall, cel.Overload("finds_match", []*cel.Type{cel.StringType, cel.StringType, cel.IntType}, cel.BoolType,
			cel.FunctionBinding(e.search))),
		cel.Function(localCall, cel.Overload("local_time", []*cel.Type{cel.TimestampType, cel.StringType}, cel.TimestampType,
			cel.BinaryBinding(e.local))),
		cel.CostModel(
			cost.Overload("has_member", cost.EvalCost(cost.Const(cost.CallCost))),
			cost.Overload("full_match", cost.EvalCost(scan)),
			cost.Overload("finds_match", cost.EvalCost(scan)),
			cost.Overload("local_time", cost.EvalCost(cost.Const(cost.CallCost)))),
	}
	for _, kind := range typedKinds {
		o = append(o,
			cel.Macros(cel.GlobalMacro(kind, 2, e.typedMacro(kind))),
			cel.Function("@"+kind, cel.Overload("typed_"+kind, []*cel.Type{cel.DynType, cel.StringType, cel.IntType}, cel.BoolType,
				cel.FunctionBinding(e.judge))),
			cel.CostModel(cost.Overload("typed_"+kind, cost.EvalCost(judging))))
	}
	for _, name := range accessors {
		o = append(o, cel.Macros(cel.ReceiverMacro(name, 1, e.zoneMacro(name))))
	}
	return o
}

// scan is the cost of a pattern, and judging that of a typed test: the text is read
// once for each unit of weight, the constant that stands as the last argument.
var (
	scan    = cost.Sum(cost.Const(cost.CallCost), cost.StringScan(cost.Mul(cost.Length(cost.Arg(0)), weight)))
	judging = cost.Sum(cost.Const(10), cost.StringScan(cost.Mul(cost.Length(cost.Arg(0)), weight)))
	weight  = cost.IntArg(2, 1)
)

// patternWeight is that of a pattern: each character of the text may meet each
// instruction, some of them at once. Of common patterns what is written decides,
// of those with counts what they come to.
func patternWeight(framed string, size int) types.Int {
	return types.Int(max(1, len(framed)/4, size/8))
}

// judgeWeight is that of an operand. Few entries of a list read all of the text.
func judgeWeight(entries int) types.Int { return types.Int(1 + entries/64) }

func hasMacro(mef cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if args[0].Kind() != ast.SelectKind || args[0].AsSelect().IsTestOnly() {
		return nil, mef.NewError(args[0].ID(), "has() takes a member, as has(args.name); for a name that is no identifier write 'x-name' in args")
	}
	s := args[0].AsSelect()
	return mef.NewCall(hasFunction, s.Operand(), mef.NewLiteral(types.String(s.FieldName()))), nil
}

// hasMember: is there such a member? Its value is not touched.
func hasMember(m, name ref.Val) ref.Val {
	if mapper, ok := m.(traits.Mapper); ok {
		return mapper.Contains(name)
	}
	return types.MaybeNoSuchOverloadErr(m)
}

func noMatches(mef cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	at := args[0].ID()
	if target != nil {
		at = target.ID()
	}
	return nil, mef.NewError(at, "matches searches where the rules' test matches whole: write fullMatch(text, pattern) or finds(text, pattern)")
}

func noRange(mef cel.MacroExprFactory, target ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
	return nil, mef.NewError(target.ID(), "lists.range is not offered")
}

// text is an expression's constant text.
func text(x ast.Expr) (string, bool) {
	if x.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := x.AsLiteral().(types.String)
	return string(s), ok
}

// patternMacro compiles a constant pattern, framed, and calls function with it.
func (e *Env) patternMacro(function, frame string) cel.MacroFactory {
	return func(mef cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		pattern, ok := text(args[1])
		if !ok {
			return nil, mef.NewError(args[1].ID(), "expected the pattern as a constant text")
		}
		size, err := repattern.Size(pattern)
		if err != nil { // also where its frame would make a pattern of it
			return nil, mef.NewError(args[1].ID(), err.Error())
		}
		if e.program += size; size > repattern.MaxSize || e.program > repattern.MaxTotal {
			return nil, mef.NewError(args[1].ID(), fmt.Sprintf("a pattern that compiles to over %d steps, or those of all expressions of the file to over %d; expected smaller counts", repattern.MaxSize, repattern.MaxTotal))
		}
		framed := fmt.Sprintf(frame, pattern)
		re, err := regexp.Compile(framed)
		if err != nil {
			return nil, mef.NewError(args[1].ID(), err.Error())
		}
		e.patterns[framed] = re
		return mef.NewCall(function, args[0], mef.NewLiteral(types.String(framed)), mef.NewLiteral(patternWeight(framed, size))), nil
	}
}

// search takes a text, the pattern and its weight.
func (e *Env) search(args ...ref.Val) ref.Val {
	t, ok := args[0].(types.String)
	p, ok2 := args[1].(types.String)
	re := e.patterns[string(p)]
	if !ok || !ok2 || re == nil {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	return types.Bool(re.MatchString(string(t)))
}

// typedMacro compiles the constant operand of a typed test.
func (e *Env) typedMacro(kind string) cel.MacroFactory {
	return func(mef cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if args[1].Kind() != ast.MapKind {
			return nil, mef.NewError(args[1].ID(), fmt.Sprintf("expected the operand of %s as a constant map", kind))
		}
		operand, bad := constant(nil, args[1])
		if bad != nil {
			return nil, mef.NewError(bad.ID(), fmt.Sprintf("expected the operand of %s as constants", kind))
		}
		judge, entries, err := e.typed(kind, operand)
		if err != nil {
			return nil, mef.NewError(args[1].ID(), err.Error())
		}
		key := kind + "\x00" + string(operand)
		e.judges[key] = judge
		return mef.NewCall("@"+kind, args[0], mef.NewLiteral(types.String(key)), mef.NewLiteral(judgeWeight(entries))), nil
	}
}

// constant appends a constant expression as JSON; bad is the part that is none.
func constant(dst []byte, x ast.Expr) (json []byte, bad ast.Expr) {
	switch x.Kind() {
	case ast.LiteralKind:
		switch v := x.AsLiteral().(type) {
		case types.String:
			return ijson.AppendString(dst, string(v)), nil
		case types.Bool:
			return strconv.AppendBool(dst, bool(v)), nil
		case types.Int:
			return strconv.AppendInt(dst, int64(v), 10), nil
		}
	case ast.ListKind:
		dst = append(dst, '[')
		for i, el := range x.AsList().Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, bad = constant(dst, el); bad != nil {
				return nil, bad
			}
		}
		return append(dst, ']'), nil
	case ast.MapKind:
		dst = append(dst, '{')
		for i, en := range x.AsMap().Entries() {
			if i > 0 {
				dst = append(dst, ',')
			}
			m := en.AsMapEntry()
			if _, ok := text(m.Key()); !ok || m.IsOptional() {
				return nil, m.Key()
			}
			if dst, bad = constant(dst, m.Key()); bad != nil {
				return nil, bad
			}
			dst = append(dst, ':')
			if dst, bad = constant(dst, m.Value()); bad != nil {
				return nil, bad
			}
		}
		return append(dst, '}'), nil
	}
	return nil, x
}

// judge takes a value, the key of the judge and its weight. It answers as the typed
// test does; what cannot be judged is an error.
func (e *Env) judge(args ...ref.Val) ref.Val {
	v := args[0]
	k, _ := args[1].(types.String)
	j := e.judges[string(k)]
	if j == nil {
		return types.NewErr("no such operand")
	}
	var r verdict.Result
	var why string
	if s, ok := v.(types.String); ok {
		r, why = j.Judge(string(s))
	} else if argv, ok := j.(ArgvJudge); ok {
		list, texts := words(v)
		if !texts {
			return types.MaybeNoSuchOverloadErr(v)
		}
		r, why = argv.JudgeArgv(list)
	} else {
		return types.MaybeNoSuchOverloadErr(v)
	}
	switch r {
	case verdict.Holds:
		return types.True
	case verdict.Fails:
		return types.False
	}
	return types.NewErr("cannot be judged: %s", why)
}

// zoneMacro resolves a constant time zone when the expression is compiled.
func (e *Env) zoneMacro(accessor string) cel.MacroFactory {
	return func(mef cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		name, ok := text(args[0])
		if !ok {
			return nil, mef.NewError(args[0].ID(), "expected the time zone as a constant text")
		}
		zone, err := location(name)
		if err != nil {
			return nil, mef.NewError(args[0].ID(), err.Error())
		}
		e.zones[name] = zone
		return mef.NewMemberCall(accessor, mef.NewCall(localCall, target, mef.NewLiteral(types.String(name)))), nil
	}
}

// local gives the moment whose parts in UTC are those of t in the zone.
func (e *Env) local(t, name ref.Val) ref.Val {
	at, ok := t.(types.Timestamp)
	n, ok2 := name.(types.String)
	zone := e.zones[string(n)]
	if !ok || !ok2 || zone == nil {
		return types.MaybeNoSuchOverloadErr(t)
	}
	_, offset := at.In(zone).Zone()
	return types.Timestamp{Time: at.UTC().Add(time.Duration(offset) * time.Second)}
}

// zoneinfo is the IANA time zone database, release 2025c, as Go compiles it
// (public domain). It is part of the program so that the same rules read the same
// clock on every machine.
//
//go:embed zoneinfo.zip
var zoneinfo []byte

// location finds a zone by its name in the database, or an offset as ±hh:mm.
func location(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	bad := fmt.Errorf("unknown time zone, expected a name such as Europe/London or an offset such as +01:00")
	if name == "" || strings.HasSuffix(name, "/") {
		return nil, bad
	}
	z, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		return nil, err
	}
	f, err := z.Open(name)
	if err != nil {
		return nil, bad
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(name, data)
}

// estimator gives the sizes that the limits allow.
type estimator struct {
	limits Limits
	lists  map[int64]bool // expressions that can only be lists or maps where they do not fail
}

// ofLists are functions whose receivers, or of sets.* all arguments, are lists.
var ofLists = map[string]bool{"sort": true, "distinct": true, "flatten": true, "slice": true, "join": true, "first": true, "last": true, "@sortByAssociatedKeys": true,
	"sets.contains": true, "sets.equivalent": true, "sets.intersects": true}

func newEstimator(l Limits, root ast.Expr) *estimator {
	e := &estimator{l, map[int64]bool{}}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.ComprehensionKind:
			e.lists[x.AsComprehension().IterRange().ID()] = true
		case ast.CallKind:
			c := x.AsCall()
			if c.FunctionName() == operators.In {
				e.lists[c.Args()[1].ID()] = true
			}
			if ofLists[c.FunctionName()] {
				if c.IsMemberFunction() {
					e.lists[c.Target().ID()] = true
				} else {
					for _, a := range c.Args() {
						e.lists[a.ID()] = true
					}
				}
			}
		}
	}))
	return e
}

// EstimateSize bounds the size of a value of the call. Its type is known only
// when it is there: what a macro walks over is a list or a map, anything else may be a
// text.
func (e *estimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	item := cost.RangedSizeEstimate(0, uint64(max(e.limits.Text, e.limits.Items)))
	items := cost.RangedSizeEstimate(0, uint64(e.limits.Items))
	size := item
	if k := node.Type().Kind(); k == types.ListKind || k == types.MapKind || node.Expr() != nil && e.lists[node.Expr().ID()] {
		size = items
	}
	size.Key, size.Elem = &item, &item
	return &size
}

// EstimateCallCost leaves every call to its own model.
func (e *estimator) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
