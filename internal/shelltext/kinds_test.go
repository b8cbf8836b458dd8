package shelltext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"countersign/internal/verdict"
)

// kind is a kind of node the parser can give: its fields as this judge knows
// them, and a text in which it stands with what the judge says of it, everything
// being allowed. A kind without a text comes of no dialect that is parsed.
type kind struct {
	fields string
	bash   bool
	text   string
	want   verdict.Result
}

const (
	holds  = verdict.Holds
	cannot = verdict.CannotJudge
)

// kinds is the whole list. A parser with another kind, or another field, fails
// TestKinds until the judge knows it.
var kinds = map[string]kind{
	"File":         {"Name Stmts Last", false, "ls", holds},
	"Comment":      {"Hash Text", false, "ls # a", holds},
	"Stmt":         {"Comments Cmd Position Semicolon Negated Background Coprocess Disown Redirs", false, "! ls &", holds},
	"Assign":       {"Append Naked Name Index Value Array", false, "a=1", holds},
	"Redirect":     {"OpPos Op N Word Hdoc", false, "ls 2>&1", holds},
	"CallExpr":     {"Assigns Args", false, "a=1 ls b", holds},
	"Subshell":     {"Lparen Rparen Stmts Last", false, "(ls)", holds},
	"Block":        {"Lbrace Rbrace Stmts Last", false, "{ ls; }", holds},
	"IfClause":     {"Position ThenPos FiPos Cond CondLast Then ThenLast Else Last", false, "if ls; then ls; elif ls; then ls; else ls; fi", holds},
	"WhileClause":  {"WhilePos DoPos DonePos Until Cond CondLast Do DoLast", false, "while ls; do ls; done", holds},
	"ForClause":    {"ForPos DoPos DonePos Select Braces Loop Do DoLast", false, "for i in a; do ls; done", holds},
	"WordIter":     {"Name InPos Items", false, "for i in a; do ls; done", holds},
	"CStyleLoop":   {"Lparen Rparen Init Cond Post", true, "for ((;;)); do ls; done", holds},
	"BinaryCmd":    {"OpPos Op X Y", false, "ls && ls || ls | ls", holds},
	"FuncDecl":     {"Position RsrvWord Parens Name Names Body", false, "f() { ls; }", holds},
	"Word":         {"Parts", false, "ls", holds},
	"Lit":          {"ValuePos ValueEnd Value", false, "ls", holds},
	"SglQuoted":    {"Left Right Dollar Value", false, "ls 'a'", holds},
	"DblQuoted":    {"Left Right Dollar Parts", false, "ls \"a\"", holds},
	"CmdSubst":     {"Left Right Stmts Last Backquotes TempFile ReplyVar", false, "ls $(ls)", holds},
	"ParamExp":     {"Dollar Rbrace Short Flags Excl Length Width IsSet Split GlobSubst RcExpand Param NestedParam Index Modifiers Slice Repl Names Exp", false, "ls $x", holds},
	"ArithmExp":    {"Left Right Bracket Unsigned X", false, "ls $((1))", holds},
	"ArithmCmd":    {"Left Right Unsigned X", true, "((1)); ls", holds},
	"BinaryArithm": {"OpPos Op X Y", false, "ls $((1+1))", holds},
	"UnaryArithm":  {"OpPos Op Post X", false, "ls $((-1))", holds},
	"ParenArithm":  {"Lparen Rparen X", false, "ls $(((1)))", holds},
	"FlagsArithm":  {fields: "Flags X"},
	"CaseClause":   {"Case In Esac Braces Word Items Last", false, "case a in a) ls;; esac", holds},
	"CaseItem":     {"Op OpPos Comments Patterns Stmts Last", false, "case a in a) ls;; esac", holds},
	"TestClause":   {"Left Right X", true, "[[ a ]] && ls", holds},
	"BinaryTest":   {"OpPos Op X Y", true, "[[ a == b ]] && ls", holds},
	"UnaryTest":    {"OpPos Op X", true, "[[ -f a ]] && ls", holds},
	"ParenTest":    {"Lparen Rparen X", true, "[[ ( a ) ]] && ls", holds},
	"DeclClause":   {"Variant Args", true, "declare a=1", holds},
	"ArrayExpr":    {"Lparen Rparen Elems Last", true, "a=(1)", holds},
	"ArrayElem":    {"Index Value Comments", true, "a=(1)", holds},
	"ExtGlob":      {"OpPos Op Pattern", true, "ls @(a|b)", holds},
	"ProcSubst":    {"OpPos Rparen Op Stmts Last", true, "ls <(ls)", holds},
	"TimeClause":   {"Time PosixFormat Stmt", true, "time ls", holds},
	"CoprocClause": {"Coproc Name Stmt", true, "coproc ls", holds},
	"LetClause":    {"Let Exprs", true, "let 1", cannot},
	"BraceExp":     {fields: "Sequence Elems"}, // only SplitBraces makes it
	"TestDecl":     {fields: "Position Description Body"},

	// No nodes by themselves, but what nodes hold.
	"Slice":     {"Offset Length", true, "ls ${x:0:1}", holds},
	"Replace":   {"All Orig With", true, "ls ${x/a/b}", holds},
	"Expansion": {"Op Word", false, "ls ${x:-a}", holds},
}

// TestKinds reads the parser's own source: every kind of node in it, and every
// field of each, is one the judge was written for.
func TestKinds(t *testing.T) {
	fields := make(map[string]string)
	methods := make(map[string]map[string]bool)
	for _, f := range parserFiles(t) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || len(d.Recv.List) != 1 {
					continue
				}
				if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					name := star.X.(*ast.Ident).Name
					if methods[name] == nil {
						methods[name] = make(map[string]bool)
					}
					methods[name][d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					ts, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					st, ok := ts.Type.(*ast.StructType)
					if !ok {
						continue
					}
					var names []string
					for _, field := range st.Fields.List {
						for _, n := range field.Names {
							if n.IsExported() {
								names = append(names, n.Name)
							}
						}
					}
					fields[ts.Name.Name] = strings.Join(names, " ")
				}
			}
		}
	}
	found := 0
	for name, m := range methods {
		if !m["Pos"] || !m["End"] {
			continue
		}
		found++
		k, ok := kinds[name]
		if !ok {
			t.Errorf("the parser has a node %s that the judge does not know", name)
		} else if k.fields != fields[name] {
			t.Errorf("%s has the fields %q, the judge knows %q", name, fields[name], k.fields)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[name]; fields[name] != k.fields {
			t.Errorf("%s has the fields %q, the judge knows %q", name, fields[name], k.fields)
		}
	}
	if found != len(kinds)-3 {
		t.Errorf("%d kinds of node in the parser, %d in the list", found, len(kinds)-3)
	}
}

// TestEachKind parses the text of each kind, finds the kind in its tree, and
// holds what is said of it.
func TestEachKind(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		if k.text == "" {
			continue
		}
		shell, lang := "posix", syntax.LangPOSIX
		if k.bash {
			shell, lang = "bash", syntax.LangBash
		}
		f, err := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(lang)).Parse(strings.NewReader(k.text), "")
		if err != nil {
			t.Errorf("%s: %q: %v", name, k.text, err)
			continue
		}
		seen := false
		syntax.Walk(f, func(n syntax.Node) bool {
			if n == nil {
				return true
			}
			v := reflect.ValueOf(n).Elem()
			seen = seen || v.Type().Name() == name
			for i := range v.NumField() { // Slice, Replace, Expansion
				if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
					seen = seen || f.Type().Elem().Name() == name
				}
			}
			return true
		})
		if !seen {
			t.Errorf("%s does not stand in %q", name, k.text)
		}
		if got, why := judge(t, openOperand(shell)).Judge(k.text); got != k.want {
			t.Errorf("%s: %q: %v (%s), want %v", name, k.text, got, why, k.want)
		}
	}
}

// operators are all operators of the parser by their type. The judge names those
// it knows where it looks at them; any other cannot be judged.
var operators = map[string]string{
	"RedirOperator":    "RdrOut AppOut RdrIn RdrInOut DplIn DplOut RdrClob AppClob Hdoc DashHdoc WordHdoc RdrAll RdrAllClob AppAll AppAllClob",
	"ProcOperator":     "CmdIn CmdInTemp CmdOut",
	"GlobOperator":     "GlobZeroOrOne GlobZeroOrMore GlobOneOrMore GlobOne GlobExcept",
	"BinCmdOperator":   "AndStmt OrStmt Pipe PipeAll",
	"CaseOperator":     "Break Fallthrough Resume ResumeKorn",
	"ParNamesOperator": "NamesPrefix NamesPrefixWords",
	"ParExpOperator": "AlternateUnset AlternateUnsetOrNull DefaultUnset DefaultUnsetOrNull ErrorUnset ErrorUnsetOrNull AssignUnset AssignUnsetOrNull " +
		"RemSmallSuffix RemLargeSuffix RemSmallPrefix RemLargePrefix MatchEmpty ArrayExclude ArrayIntersect UpperFirst UpperAll LowerFirst LowerAll OtherParamOps",
	"UnAritOperator": "Not BitNegation Inc Dec Plus Minus",
	"BinAritOperator": "Add Sub Mul Quo Rem Pow Eql Gtr Lss Neq Leq Geq And Or Xor Shr Shl AndArit OrArit XorBool Comma TernQuest TernColon " +
		"Assgn AddAssgn SubAssgn MulAssgn QuoAssgn RemAssgn AndAssgn OrAssgn XorAssgn ShlAssgn ShrAssgn AndBoolAssgn OrBoolAssgn XorBoolAssgn PowAssgn",
	"UnTestOperator": "TsExists TsRegFile TsDirect TsCharSp TsBlckSp TsNmPipe TsSocket TsSmbLink TsSticky TsGIDSet TsUIDSet TsGrpOwn TsUsrOwn TsModif " +
		"TsRead TsWrite TsExec TsNoEmpty TsFdTerm TsEmpStr TsNempStr TsOptSet TsVarSet TsRefVar TsNot TsParen",
	"BinTestOperator": "TsReMatch TsNewer TsOlder TsDevIno TsEql TsNeq TsLeq TsGeq TsLss TsGtr AndTest OrTest TsMatchShort TsMatch TsNoMatch TsBefore TsAfter",
}

// TestOperators reads the operators out of the parser's source.
func TestOperators(t *testing.T) {
	got := make(map[string][]string)
	for _, f := range parserFiles(t) {
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			kind := "" // of the last constant that says so
			for _, s := range d.Specs {
				s := s.(*ast.ValueSpec)
				if len(s.Values) > 0 {
					kind = operatorKind(s.Values[0])
				}
				if strings.HasSuffix(kind, "Operator") {
					for _, n := range s.Names {
						got[kind] = append(got[kind], n.Name)
					}
				}
			}
		}
	}
	if len(got) != len(operators) {
		t.Errorf("operators of %v, the judge knows those of %d types", slices.Sorted(maps.Keys(got)), len(operators))
	}
	for kind, names := range got {
		if list := strings.Join(names, " "); list != operators[kind] {
			t.Errorf("%s: the parser has %q, the judge knows %q", kind, list, operators[kind])
		}
	}
}

// operatorKind gives the T of T(x) or T(x) + iota.
func operatorKind(x ast.Expr) string {
	if sum, ok := x.(*ast.BinaryExpr); ok {
		x = sum.X
	}
	if call, ok := x.(*ast.CallExpr); ok {
		if id, ok := call.Fun.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

// parserFiles parses the parser's own source.
func parserFiles(t *testing.T) []*ast.File {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "mvdan.cc/sh/v3").Output()
	if err != nil {
		t.Fatalf("finding the parser's source: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "syntax", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("finding the parser's source: %v", err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "gen_") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
