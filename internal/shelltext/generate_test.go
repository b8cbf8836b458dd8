package shelltext_test

import (
	"math/rand/v2"
	"strings"

	"countersign/internal/shelltext"
)

// Scripts for the differential test. rm is never among the programs, and stands
// wherever one reading of a script could take it for text and another for a
// command.

// soup are the pieces of which whole scripts are put together without a grammar:
// all that quotes, nests, comments or continues, and the programs.
var soup = strings.Split(strings.TrimSpace(`
ls
git
cat
rm
rm x
ls a
:
echo
 
 
 
 
⏎
⏎
\⏎
 \⏎
\
'
'
"
"
"$
`+"`"+`
`+"`"+`
$(
$(ls
)
)
(
((
))
{ 
 }
;
;
&&
||
|
&
#
 #
#'
#"
 # rm \⏎
'#
"#
$x
${x}
"$Q3"
$Q2
"$lower"
${x:-
${x#
"${x:-
}
}"
'}'
"}"
$
$'
$"
$((1+
$((
1))
[ 
 ]
[[ 
 ]]
 =~ 
 -v 
 -eq 
test 
! 
time 
env 
env A=1 
xargs 
xargs -I {} 
sh -c '
bash -c '
sh -c "
find . -exec 
 {} \;
 {} +
find . -name 
nice 
timeout 1 
command 
exec 
<<E⏎
<<'E'⏎
<<-E⏎
⏎E⏎
⏎	E⏎
E⏎
<<ls; 
>f
2>&1
>&
>& 
>&-
<&
<& -
-
-rm x
<>
>|
|&
=(
=
[
]
}}
,
!
:
-- 
=rm
 =rm
$x[
$~x
*(e:'rm':)
repeat 2 
&!
&|
>!
;|
(rm)
<1-2>
() {
noglob 
$Q3[1]
2>/dev/null
12>&1
&>f
<(
>(
<<<
a=
a=1 
X=(
a[
a[0]=
{a,b}
{1..3}
a{
,rm}
case x in 
case x in x) 
 in 
x)
;;
esac
 esac
if ls; then 
 then 
 else 
fi
 fi
for i in a; do 
for PATH in a; do 
 done
while ls; do 
f() { 
f() (
function f 
select i in a; do 
coproc 
let 1
declare 
export a=
local 
read a
printf -v 
printf '
set -- 
set -x
unset 
~
*
?
@(
!(
+(
\'
\"
\$
\ 
é
 
`), "\n")

// pieces is soup with its line breaks.
var pieces = func() []string {
	out := make([]string, len(soup))
	for i, s := range soup {
		out[i] = strings.ReplaceAll(s, "⏎", "\n")
	}
	return out
}()

// stew puts pieces together at random.
func stew(r *rand.Rand) string {
	var b strings.Builder
	for n := 2 + r.IntN(14); n > 0; n-- {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// mutate changes a script in a few places.
func mutate(r *rand.Rand, s string) string {
	for n := 1 + r.IntN(3); n > 0; n-- {
		at := r.IntN(len(s) + 1)
		switch r.IntN(6) {
		case 0, 1:
			s = s[:at] + pieces[r.IntN(len(pieces))] + s[at:]
		case 2:
			end := min(len(s), at+1+r.IntN(3))
			s = s[:at] + s[end:]
		case 3:
			end := min(len(s), at+1+r.IntN(8))
			to := r.IntN(len(s) + 1)
			s = s[:to] + s[at:end] + s[to:]
		case 4:
			end := min(len(s), at+1)
			s = s[:at] + pieces[r.IntN(len(pieces))] + s[end:]
		case 5:
			s = strings.Replace(s, "ls", "rm x", 1)
		}
	}
	return s
}

// grammar writes scripts that are right, most of them.
type grammar struct {
	r     *rand.Rand
	bash  bool
	depth int
}

func (g *grammar) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *grammar) script() string {
	g.depth = 0
	return g.list(1+g.r.IntN(3)) + g.pick("", "", "\n", " # rm", " # rm '")
}

func (g *grammar) list(n int) string {
	out := g.pipeline()
	for ; n > 1; n-- {
		out += g.pick(" && ", " || ", "; ", "\n", " & ", " &&\n", ";\n", " # rm x\n", " \\\n&& ", "\n#'\n", "; # rm\n") + g.pipeline()
	}
	return out
}

func (g *grammar) pipeline() string {
	out := g.pick("", "", "", "", "! ", "time ") + g.command()
	for g.r.IntN(5) == 0 {
		out += g.pick(" | ", " |\n", " | ", " |& ") + g.command()
	}
	return out
}

func (g *grammar) command() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return "ls"
	}
	switch g.r.IntN(24) {
	case 0:
		return "{ " + g.list(1+g.r.IntN(2)) + "; }" + g.redirect()
	case 1:
		return "(" + g.pick("", " ") + g.list(1+g.r.IntN(2)) + ")" + g.redirect()
	case 2:
		return "if " + g.list(1) + "; then " + g.list(1) + g.pick("", "; else "+g.list(1), "; elif "+g.list(1)+"; then "+g.list(1)) + "; fi"
	case 3:
		return "while " + g.list(1) + "; do " + g.list(1) + "; break; done"
	case 4:
		return "for i in " + g.words(2) + "; do " + g.list(1) + "; done"
	case 5:
		return "case " + g.word() + " in " + g.pick("(", "") + g.pick("a", "*", "a|rm", "'rm x'", "\"$Q1\"") + ") " + g.list(1) + ";; *) " + g.list(1) + " ;; esac"
	case 6:
		return g.pick("f", "ls", "git") + "() " + g.pick("{ "+g.list(1)+"; }", "( "+g.list(1)+" )") + "; " + g.pick("ls", "git a", "f")
	case 7:
		return g.wrapper() + g.plain()
	case 8:
		return g.wrapper() + g.wrapper() + g.plain()
	case 9:
		return g.pick("sh", "bash", "dash") + " " + g.pick("", "-e ", "-x ", "-u ") + "-c '" + strings.ReplaceAll(g.command(), "'", `'\''`) + "'" + g.pick("", " a b", " rm")
	case 10:
		return "find . " + g.pick("", "-name a.txt ", "-type f ", "! -name '*rm' ") + "-exec " + g.plain() + g.pick(" {} \\;", " {} +", " {} ';'", " + \\;")
	case 11:
		return "cat " + g.heredoc()
	case 12:
		return g.pick("[ ", "test ") + g.pick("-n "+g.word(), g.word()+" = "+g.word(), "! -f "+g.word(), g.word(), "$n -eq 1", "-v a", "-v "+g.word())
	case 13:
		return g.pick("printf", "printf '%s\\n'", "printf -v v", "echo", "read a b", "set --", "unset", "export a=b", "export", "cd", "wait", "getopts ab o", "shift", "true") + " " + g.words(1)
	case 14:
		return "a=" + g.word() + g.pick("", " "+g.plain())
	case 15:
		if g.bash {
			return g.pick("[[ -f "+g.word()+" ]]", "[[ "+g.word()+" == a* ]]", "[[ "+g.word()+" =~ ^a$ ]]", "((1+1))", "[[ -v x ]]", "[[ $n -eq 1 ]]",
				"declare -r v="+g.word(), "local a", "a=(1 2)", "echo ${a[0]}", "coproc { "+g.list(1)+"; }", "ls <<< "+g.word(), "ls &>f", "cat <("+g.list(1)+")",
				"for ((;;)); do "+g.list(1)+"; break; done", "ls {a,b}", "mapfile v", "function f { ls; }")
		}
	}
	return g.plain() + g.redirect()
}

func (g *grammar) wrapper() string {
	return g.pick("env ", "env -i ", "env A=1 ", "nice ", "nice -n 5 ", "nohup ", "timeout 2 ", "timeout -s KILL 2 ", "setsid -w ",
		"command ", "command -p ", "exec ", "time ", "xargs ", "xargs -n 1 ", "xargs -I {} ", "xargs -0 ", "env -u A ", "env -- ", "env -S ", "command -v ")
}

func (g *grammar) plain() string {
	return g.pick("ls", "git", "git", "cat", "l\\s", "'ls'", "\"git\"", "/bin/ls", "p", "rm", "$lower", "$n") + " " + g.words(g.r.IntN(4))
}

func (g *grammar) words(n int) string {
	var out []string
	for ; n > 0; n-- {
		out = append(out, g.word())
	}
	return strings.Join(out, " ")
}

func (g *grammar) word() string {
	switch g.r.IntN(8) {
	case 0:
		return g.pick("\"$(", "$(") + g.list(1) + g.pick(")\"", ")", ")", ")#'")
	case 1:
		return "\"" + g.pick("rm", "a b", "$Q1", "${x:-rm}", "${x:-$n}", "\\$(rm)", "\\\"", "a \\\nb", "'", "#", "`ls`", "$") + "\""
	case 2:
		return "'" + g.pick("rm", "; rm", "$(rm)", "\"", "a\\", "#", "a\\\nb", "") + "'"
	case 3:
		return g.pick("$Q1", "$Q2", "\"$Q3\"", "$Q4", "$Q5", "\"$Q6\"", "$Q7", "\"$Q9\"", "\"$@\"", "$lower", "${Q3}", "${x:-rm}", "${n}", "$?", "$((1+1))", "${x:=v}", "${#Q1}", "${Q1%m*}", "${Q3:0:1}", "${!lower}", "${Q5@P}", "`ls`", "`echo rm`")
	case 4:
		return g.pick("\\;", "\\'", "\\\"", "a\\ b", "\\#", "a#b", "x=y", "-v", "-c", "--", "{}", "{a}", "{a,rm}", "~", "*.txt", "[a]", "a[0]", "!", "=", "é", "-exec", "@(a|rm)", "'a'#b", "{a,{b}}", "x=~", "['a']", "a:~", "{a,{b},c}", "[a'b]'")
	}
	return g.pick("a", "b", "rm", "a.txt", "-n", "x", "push", "status")
}

func (g *grammar) redirect() string {
	switch g.r.IntN(6) {
	case 0:
		return g.pick(" >f", " 2>&1", " >/dev/null", " 2>/dev/null", " <a.txt", " >&2", " 12>&1", " >>f", " <&-", " <&rm", " >&f")
	}
	return ""
}

func (g *grammar) heredoc() string {
	q := g.pick("", "'", "\"")
	op := g.pick("<<", "<<", "<<-")
	body := g.pick("rm x", "$Q1", "$(rm)", "'", "a\\", "${n}", "\\$(rm)", "\tE", "  E", "E ", "`rm`", "#", "\\", "")
	return op + q + "E" + q + g.pick("", "; git a", " && ls", "; (ls", " | cat") + "\n" + body + "\n" + g.pick("", "a\n", "\\\n") + g.pick("E\n", "\tE\n", "E\nE\n") + g.pick("", "git log", ")", "rm x\nE\n", ")\nrm x\nE\n")
}

// operands of the differential test, by the dialect of their scripts.
var (
	diffPrograms = strings.Fields("ls git cat /bin/ls env nice nohup timeout setsid stdbuf xargs find sh bash dash zsh command exec time watch " +
		"test [ printf echo read set cd unset wait getopts shift true : break shopt mapfile")
	diffArgv = [][]string{
		{"ls", "**"}, {"git", "log", "**"}, {"git", "status"}, {"git", "a"}, {"git"}, {"cat", "**"}, {"env", "**"}, {"nice", "**"},
		{"timeout", "**"}, {"xargs", "**"}, {"find", "**"}, {"sh", "-c", "**"}, {"bash", "**"}, {"zsh", "**"}, {"command", "**"}, {"exec", "**"}, {"time", "**"},
		{"echo", "**"}, {`\[`, "**"}, {"test", "*", "*"}, {"true"}, {":"}, {"break"}, {"nohup", "**"}, {"setsid", "**"}, {"printf", "*", "**"},
	}
	diffOperands = []shelltext.Operand{
		{Shell: "posix", Programs: diffPrograms, Redirects: "any", Substitutions: true, Assignments: true},
		{Shell: "bash", Programs: diffPrograms, Redirects: "any", Substitutions: true, Assignments: true},
		{Shell: "posix", Programs: diffPrograms, Redirects: "fds", Argv: diffArgv, Substitutions: true},
		{Shell: "bash", Programs: diffPrograms, Argv: diffArgv, Assignments: true},
		{Shell: "posix", Programs: diffPrograms},
	}
)
