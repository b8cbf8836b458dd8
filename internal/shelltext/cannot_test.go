package shelltext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// TestCannotJudge holds, clause by clause of content-rules.md 4.3, that the
// answer is "cannot be judged" with the reason of the clause, though everything
// is allowed: programs, switches and all.
func TestCannotJudge(t *testing.T) {
	for _, c := range []struct {
		clause string
		shells string // p, b or both
		why    string
		texts  []string
	}{
		{"a control character but LF and TAB", "pb", "a control character", []string{"ls\r", "ls\r\nls", "ls a\x00", "ls \x1b", "ls \x7f", "ls '\x01'", "ls # \r", "ls \u0085", "ls '\u009b'"}},
		{"a text that does not parse", "pb", "a text that does not parse", []string{"ls (", "ls 'a", "if ls", "ls &&", "| ls", "ls $(", "ls ${", "cat <<E\na\n", "for in", "esac"}},
		{"a text that holds no simple command", "pb", "no simple command", []string{"", "  ", "\n\n", "# a"}},
		{"a text that holds no simple command", "b", "no simple command", []string{"[[ -f a ]]", "((1))"}},
		{"a comment that ends in a backslash", "pb", "a comment that ends in a backslash", []string{"ls # a\\\nls", "# \\\nls", "ls #\\\n"}},
		{"a kind of node that is not known", "b", "let", []string{"let 1+1; ls"}},
		{"a program word that is not plain", "pb", "a program word that is not plain", []string{"$x", "ls*", "~/ls", "$(ls) a", "\"$x\" a", "l?", "[l]s", "~"}},
		{"a program word that is not plain", "b", "a program word that is not plain", []string{"$'ls'", "$\"ls\"", "{ls,a}", "@(ls)"}},
		{"builtins that evaluate text", "pb", "a builtin or keyword that evaluates text or changes how it is read", []string{
			"eval ls", "source f", ". f", "trap ls EXIT", "alias ls=cat", "builtin ls", "\\eval ls", "'.' f", "command eval ls", "env eval ls"}},
		{"hash -p, enable -f", "pb", "an option of a builtin that is not known", []string{"hash -p /bin/ls cat", "enable -f f a"}},
		{"a shell reading a file or standard input", "pb", "a shell that reads a file or its input, or has an option that is not known", []string{"sh", "sh f", "bash -s", "dash -i", "ls | sh", "sh -ec ls", "env sh f", "/bin/sh f", "sh --posix -c ls"}},
		{"a wrapper with an option not in its row", "pb", "a wrapper with an option that is not known", []string{"env -S ls", "env -0 ls", "sudo -E ls", "nice -5 ls", "nohup -- ls", "timeout -v 5 ls", "stdbuf -oL ls", "xargs -a f ls", "command -v ls", "setsid -fw ls", "watch -g ls", "sudo A=1 ls", "env A=1 -i ls"}},
		{"a wrapper with nothing behind it", "pb", "a wrapper with nothing behind it", []string{"env", "env A=1", "sudo -n", "nice", "nohup", "xargs", "command", "exec", "timeout 5", "exec >f"}},
		{"find", "pb", "find with an action or a test that is not known", []string{"find . -delete", "find . -execdir ls {} \\;", "find . -ok ls \\;", "find . -okdir ls \\;", "find . -fprint f", "find . -fls f", "find . -fprintf f a", "find . -printf a"}},
		{"what xargs appends", "pb", "words appended by xargs, with no pattern for them", []string{"xargs ls", "xargs -I {} ls {}", "xargs env ls"}},
		{"R inside a program word or a followed text", "pb", "a shell whose text is not plain", []string{"find . -exec sh -c 'ls {}' \\;"}},
		{"posix: $'…' and $\"…\"", "p", "a $ that may or may not begin an expansion", []string{"ls $'a'", "ls $\"a\""}},
		{"posix: &>, >&word, |&, <<<, <(, >(, arrays, ${x@P}", "p", "a text that does not parse", []string{"ls &>f", "ls |& ls", "cat <<<a", "cat <(ls)", "ls >(ls)", "a=(1)", "echo ${x@P}", "echo ${a[0]}", "echo ${x:1}", "echo ${x^}", "echo ${!x}", "ls &>>f"}},
		{"posix: >&word", "p", ">& to more than a descriptor", []string{"ls >&f", "ls >&$x", "ls <&f", "ls >&12"}},
		{"posix: [[", "p", "a builtin or keyword that evaluates text or changes how it is read", []string{"function f", "select i", "let 1", "coproc ls"}},
		{"posix: [[", "p", "a program word that is not plain", []string{"[[ a ]]", "[[ a && ls ]]"}},
		{"posix: ((", "p", "((", []string{"((ls))", "((ls); ls)"}},
		{"posix: declare, typeset", "p", "declare or typeset", []string{"declare a=1", "typeset a=1"}},
		{"posix: brace expansion", "p", "a brace expansion", []string{"ls {a,b}", "ls a{1..3}", "ls {a,'b'}", "ls {$x,b}", "ls {,a}", "a={b,c}", "ls >{a,b}"}},
		{"posix: options of exec", "p", "a wrapper with an option that is not known", []string{"exec -a n ls", "exec -c ls", "exec -l ls"}},
		{"a quote inside a quoted default", "pb", "a quote inside a quoted expansion", []string{"ls \"${x:-'a'}\"", "ls \"${x:-\"a\"}\"", "ls \"${x#'a'}\""}},
		{"arithmetic", "pb", "arithmetic on more than numbers", []string{"ls $((x))", "ls $((x+1))", "ls $(($x))", "ls $((1+$(ls)))", "ls $((a=1))", "ls $((x++))"}},
		{"arithmetic", "b", "arithmetic on more than numbers", []string{"((x)); ls", "((x=1)); ls", "[[ $x -eq 1 ]] && ls", "[[ a -lt 1 ]] && ls", "ls ${x:n}", "ls ${x:0:$n}", "for ((i=0;i<1;i++)); do ls; done", "ls $[1]"}},
		{"subscripts", "b", "a subscript that is more than numbers", []string{"ls ${a[x]}", "ls ${a[$x]}", "ls ${a[$(ls)]}", "a[x]=1", "a=([x]=1)"}},
		{"a [ in the arguments", "pb", "a [ in the arguments of a builtin that evaluates subscripts", []string{"export 'a[0]=1'", "readonly 'a[0]'", "unset 'a[0]'", "read 'a[0]'", "printf -v 'a[0]' x", "printf '[%s]' a", "test -v 'a[0]'", "[ -v 'a[0]' ]", "local 'a[0]=1'", "[ a = '[' ]"}},
		{"a [ in the arguments", "b", "a [ in the arguments of a builtin that evaluates subscripts", []string{"declare 'a[0]=1'", "typeset 'a[0]=1'", "declare a[0]=1", "mapfile 'a[0]'"}},
		{"behind [[ -v", "b", "[[ -v of more than a name", []string{"[[ -v a[0] ]] && ls", "[[ -v $x ]] && ls", "[[ -v 'a[$(ls)]' ]] && ls"}},
	} {
		for _, shell := range []string{"posix", "bash"} {
			if !strings.Contains(c.shells, shell[:1]) {
				continue
			}
			j := judge(t, openOperand(shell))
			for _, text := range c.texts {
				got, why := j.Judge(text)
				if got != cannot || why != c.why {
					t.Errorf("%s, %s: %q: %v (%s), want cannot be judged (%s)", shell, c.clause, text, got, why, c.why)
				}
			}
		}
	}
}

// TestCannotJudgeFirst holds that what cannot be judged is looked at before
// anything else: a program that is not listed does not change the answer.
func TestCannotJudgeFirst(t *testing.T) {
	j := judge(t, shelltext.Operand{Programs: []string{"ls"}})
	for _, text := range []string{"rm x; eval y", "eval y; rm x", "rm x >f; $x", "rm $(eval x)", "git push # \\\n", "env -S rm", "rm 'a[' | unset 'a['", "a=1 b=2 source f"} {
		if got, why := j.Judge(text); got != cannot {
			t.Errorf("%q: %v (%s), want cannot be judged", text, got, why)
		}
	}
	for _, text := range []string{"rm x", "ls >f", "ls $(ls)", "a=1 ls", "env ls", "sh -c ls", "rm 'a['", "find . -exec ls {} \\;"} {
		if got, why := j.Judge(text); got != verdict.Fails {
			t.Errorf("%q: %v (%s), want does not hold", text, got, why)
		}
	}
}

// TestReasons holds that a reason is a text of this package and so holds nothing
// of the command.
func TestReasons(t *testing.T) {
	ours := ownTexts(t)
	seen := make(map[string]bool)
	for _, shell := range []string{"posix", "bash"} {
		for _, o := range []shelltext.Operand{openOperand(shell), {Shell: shell, Programs: []string{"git"}, Argv: [][]string{{"git", "log", "**"}}}} {
			j := judge(t, o)
			for _, texts := range attempts {
				for _, text := range texts {
					got, why := j.Judge(text)
					seen[why] = true
					if !ours[why] || (why == "") != (got == verdict.Holds) {
						t.Errorf("%q: %v with the reason %q", text, got, why)
					}
				}
			}
		}
	}
	t.Logf("%d reasons seen", len(seen))
}

// ownTexts are the string constants of the package's own source.
func ownTexts(t testing.TB) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]bool)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out[s] = true
				}
			}
			return true
		})
	}
	return out
}
