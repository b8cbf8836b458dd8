package shelltext_test

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// openPrograms is a list as wide as a careless author would write it; rm, curl
// and evil are not in it.
var openPrograms = strings.Fields("ls git cat echo env sudo nice nohup timeout setsid stdbuf xargs find sh bash dash zsh command exec time " +
	"watch test [ printf read set cd unset wait getopts shift exit return continue logout bye true : break shopt mapfile hash enable jobs grep sed awk x a b f EOF E /bin/ls")

// openOperand lets all of them run with anything.
func openOperand(shell string) shelltext.Operand {
	return shelltext.Operand{Shell: shell, Programs: openPrograms, Redirects: "any", Substitutions: true, Assignments: true}
}

// attempts run rm, curl or evil in some shell, or would if it had the chance.
var attempts = map[string][]string{
	"chained": {
		"ls; rm x", "ls;rm x", "ls && rm x", "ls || rm x", "ls | rm x", "ls & rm x", "ls\nrm x", "ls |\nrm x", "ls &&\n\nrm x",
		"ls\r\nrm x", "ls\rrm x", "ls \\\n; rm x", "! rm x", "ls; ! rm x", "{ rm x; }", "(rm x)", "( ( rm x ) )", "ls;{ rm x; }",
		"if rm x; then ls; fi", "if ls; then rm x; fi", "if ls; then ls; else rm x; fi", "if ls; then ls; elif rm x; then ls; fi",
		"while rm x; do ls; done", "while ls; do rm x; done", "until rm x; do ls; done", "for i in a; do rm x; done",
		"for i in $(rm x); do ls; done", "case a in a) rm x;; esac", "case $(rm x) in a) ls;; esac", "case a in $(rm x)) ls;; esac",
		"case a in (a) ls;; (b) rm x;; esac", "f() { rm x; }; f", "f() ( rm x )\nf", "ls() { rm x; }; ls", "ls() { evil; }\nls a",
		"ls | cat | rm x", "ls |& rm x", "ls&rm x", "ls & rm x & ls", "ls;;rm x", "ls\u2028rm x; rm y", "\trm x", " rm x", "\nrm x\n",
		"ls >f; rm x", ">f; rm x", "a=1; rm x", "a=1 rm x", "a=1 >f rm x", ">f rm x", "2>f rm x", "<f rm x", "12>f rm x", "ls 2>&1; rm x",
	},
	"substituted": {
		"ls $(rm x)", "ls `rm x`", "ls \"$(rm x)\"", "ls \"`rm x`\"", "ls $(ls $(rm x))", "ls \"a$(ls \"$(rm x)\")\"", "a=$(rm x)", "a=`rm x`",
		"ls >$(rm x)", "ls ${x:-$(rm x)}", "ls \"${x:-$(rm x)}\"", "ls ${x:-`rm x`}", "ls ${x:=$(rm x)}", "ls ${x#$(rm x)}", "ls ${x%`rm x`}",
		"ls $((1+$(rm x)))", "ls $(($(rm x)))", "cat <<E\n$(rm x)\nE\n", "cat <<E\n`rm x`\nE\n", "cat <<E\n${x:-$(rm x)}\nE\n",
		"cat <(rm x)", "ls >(rm x)", "cat <<<$(rm x)", "[ -n \"$(rm x)\" ]", "[[ $(rm x) ]]", "[[ a == $(rm x) ]]", "case x in \"$(rm x)\") ls;; esac",
		"echo $(( $(rm x) ))", "a=(1 $(rm x))", "a[$(rm x)]=1", "a=([$(rm x)]=1)", "echo ${a[$(rm x)]}", "echo ${a:$(rm x)}", "$(rm x)", "`rm x`",
		"\"$(echo rm)\" x", "$(echo rm) x", "ls `echo \\`rm x\\``", "ls ${x/$(rm x)/a}", "ls ${ rm x; }", "ls ${|rm x;}", "echo @($(rm x))",
	},
	"not plain": {
		"$x", "$x y", "${x} y", "\"$x\" y", "$x$y", "r$x", "${x:-rm} y", "\"${x:-rm}\" y", "$'rm' x", "$\"rm\" x", "r*", "/bin/r?", "/b[i]n/rm x",
		"{rm,x}", "{rm,-rf,x}", "r{m,} x", "~/rm x", "$((1))", "$@", "\"$@\"", "$1", "$0 x", "$_ x", "$(printf rm) x", "@(rm) x", "!(x) y", "a$'m' x",
		"\\rm x", "r\\m x", "'rm' x", "\"rm\" x", "r'm' x", "r\"\"m x", "''rm x", "r\\\nm x", "'r'\"m\" x", "\"r\"\\m x", "'' rm x", "=rm x",
	},
	"by another path": {
		"/bin/rm x", "./rm x", "../bin/rm x", "bin/rm x", "/bin/../bin/rm x", "//bin/rm x", "/bin/ls/../rm x", "/bin/./ls; /bin/rm x", "/tmp/ls x", "./ls x",
		"/usr/bin/ls x", "/bin/LS x", "LS x", "Rm x", "ls\u00a0x", "l\u200bs x", "ls/", "/bin//ls",
	},
	"evaluated": {
		"eval rm x", "eval 'rm x'", "eval \"$x\"", "\\eval rm x", "'eval' rm x", "command eval rm x", "builtin eval rm x", "builtin rm x", ". ./f", "source f",
		". /dev/stdin <<E\nrm x\nE\n", "trap 'rm x' EXIT", "trap 'rm x' 0; ls", "alias ls='rm x'", "alias ls=rm\nls x", "hash -p /bin/rm ls; ls x", "enable -f ./f f",
		"exec rm x", "exec -a ls rm x", "exec -c rm x", "command rm x", "command -p rm x", "command -v rm", "command -pv rm x", "time rm x", "time -p rm x",
		"time ! rm x", "! time rm x", "time { rm x; }", "time (rm x)", "time if rm x; then ls; fi", "time -o f rm x", "ls | time a=x rm", "ls | time if=x", "ls | time export A=1", "ls | time \\export A=1", "ls | time [[ -f x ]]", "ls |& time rm x", "ls | time { rm x; }", "coproc rm x", "coproc ls { rm x; }", "coproc f { rm x; }",
		"let 'a[$(rm x)]=1'", "let 'a=b[$(rm x)]'", "let 1|rm", "let 1>f", "((a[$(rm x)]))", "((x=1))", "$((a[$(rm x)]))", "echo $((x))", "echo $[x]", "echo $((x[0]))",
		"[ -v 'a[$(rm x)]' ]", "[ -v a[$(rm x)] ]", "test -v 'a[$(rm x)]'", "[[ -v a[$(rm x)] ]]", "[[ -v 'a[$(rm x)]' ]]", "[[ 'a[$(rm x)]' -eq 1 ]]", "[[ $x -eq 1 ]]",
		"printf -v 'a[$(rm x)]' y", "printf \"$x\" y", "printf $x", "printf -v\"$x\" y", "read 'a[$(rm x)]'", "read $x", "read -r \"$x\"", "read -a 'a[$(rm x)]'", "unset 'a[$(rm x)]'",
		"unset $x", "unset -v \"$x\"", "declare 'a[$(rm x)]=1'", "declare -i a='b[$(rm x)]'", "declare -i a; a='b[$(rm x)]'", "declare -n a='b[$(rm x)]'; echo $a", "declare \"$x\"",
		"export 'a[$(rm x)]=1'", "export $x", "export \"$x\"", "readonly $x", "local $x", "typeset -i a='b[$(rm x)]'", "getopts a 'b[$(rm x)]'", "getopts a $x", "mapfile 'a[$(rm x)]'",
		"mapfile -C 'rm x;' -c 1 a", "mapfile -Crm a", "readarray -C rm a", "wait -p 'a[$(rm x)]'", "wait $x", "wait -n -p \"$x\"", "test $x", "[ $x ]", "[ \"$x\" \"$y\" ]", "[ $x = a ]",
		"[ ! $x ]", "[ \"$a\" -a \"$b\" -o \"$c\" ]", "[ -v \"$x\" ]", "[ $x -eq 1 ]", "test ! \"$a\" \"$b\"", "[ *.txt ]", "time test -v 'a[$(rm x)]'", "time [ -v 'a[$(rm x)]' ]",
		"echo ${!x}", "echo ${!x[0]}", "echo ${x@P}", "echo \"${x@P}\"", "PS4='$(rm x)'; set -x; ls", "export PS4='$(rm x)'; set -x; ls", "PS4='$(rm x)' bash -x -c ls", "env 'PS4=$(rm x)' sh -x -c ls",
		"for PS4 in '$(rm x)'; do set -x; ls; done", ": ${PS4:=$(rm x)}", "read PS4; set -x; ls", "printf -v PS4 '$(rm x)'; set -x; ls", "BASH_ENV=f bash -c ls", "ENV=f sh -c ls", "env BASH_ENV=f bash -c ls",
		"SHELLOPTS=xtrace bash -c ls", "RANDOM='a[$(rm x)]'", "SECONDS='a[$(rm x)]'", "RANDOM=$x", "for RANDOM in 'a[$(rm x)]'; do ls; done", "BASH_CMDS[ls]=/bin/rm; ls", "BASH_CMDS=([ls]=/bin/rm); ls",
		"BASH_ALIASES[ls]=rm", "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls", "HOME=f zsh -c ls", "ZDOTDIR=f zsh -c ls", "env HOME=/tmp zsh -c ls", "set -k; ls PATH=f", "set -o posix", "set $x",
		"set -o history; set -H", "shopt -s expand_aliases", "shopt -so history", "enable -n test -f x", "jobs -x rm x", "fc -s", "fc -e rm", "bind -x a", "complete -C rm ls", "compgen -C rm", "compgen -W '$(rm x)'",
		"exec {a[$(rm x)]}>f ls", "function ls { rm x; }; ls", "function ls\n{ rm x; }", "select i in a; do rm x; done", "@test 'a' { rm x; }", "nameref a='b[$(rm x)]'", "command export 'a[$(rm x)]=1'", "declare -a a='($(rm x))'", "a=(1); declare a='($(rm x))'", "readonly -a a='($(rm x))'", "local -a a='($(rm x))'", "declare -a a=\"$x\"", "declare -a a=$x", "a=(1); declare a=$x", "a[0]=1; typeset a=$x", "read -a a; declare a=$x", "mapfile a; declare \"a=$x\"", "declare PIPESTATUS=$x", "export a='($(rm x))'", "declare \"a=(\\$(rm x))\"", "\\declare -a 'a=($(rm x))'", "f() { local a=$1; a=(1); local a=$1; }",
		"command declare -i 'a=b[$(rm x)]'", "\\declare -i 'a=b[$(rm x)]'", "\\let 'a[$(rm x)]'", "command let 'a[$(rm x)]'", "\\unset 'a[$(rm x)]'", "${x:?$(rm x)}",
	},
	"wrapped": {
		"env rm x", "env -i rm x", "env A=1 rm x", "env -u A rm x", "env -- rm x", "env -- A=1 rm x", "env -S 'rm x'", "env -S'rm x'", "env --split-string='rm x'", "env -C / rm x", "env - rm x", "env -0 rm x",
		"env -iS 'rm x'", "env -vS 'rm x'", "env \"$x\" ls", "env $x ls", "env -u $x rm y", "env A=$x ls", "env A=$(rm x) ls", "env", "env A=1", "env env rm x", "/usr/bin/env rm x", "env $x",
		"env env env env env env env env env ls", "sudo rm x", "sudo -n rm x", "sudo -u root rm x", "sudo -- rm x", "sudo A=1 rm x", "sudo -s", "sudo -i", "sudo -u root -s rm", "sudo -e f", "sudo -E ls",
		"sudo -uroot ls", "doas rm x", "nice rm x", "nice -n 5 rm x", "nice -5 rm x", "nice -n rm x", "nice -n5 ls", "nohup rm x", "nohup -- rm x", "nohup", "setsid rm x", "setsid -f rm x", "setsid -fw ls",
		"timeout 5 rm x", "timeout -k 1 5 rm x", "timeout -s KILL 5 rm x", "timeout --foreground 5 rm x", "timeout rm 5", "timeout 5", "timeout -t 5 rm x", "timeout ls rm", "timeout -k1 5 ls", "timeout 5 $x", "timeout $x ls",
		"timeout 5 timeout 5 rm x", "stdbuf -o L rm x", "stdbuf -oL rm x", "stdbuf -o rm x", "xargs rm", "xargs -0 rm", "xargs -n 1 rm", "xargs -I{} rm {}", "xargs -I {} rm {}", "xargs -I {} {} x", "xargs -I x env x", "xargs env", "xargs sudo",
		"xargs sh -c", "xargs", "xargs -a f rm", "xargs -I {} sh -c 'ls {}'", "xargs -I{} ls x", "xargs -I % sh -c 'ls %'", "xargs -i rm {}", "xargs -n1 rm", "xargs timeout 5", "xargs watch ls", "xargs find .", "xargs git", "ls | xargs ls", "xargs nice -n",
		"xargs -I '' ls", "xargs -I g git a", "xargs --replace=x ls x", "find . -exec rm {} \\;", "find . -exec rm {} +", "find . -exec rm {} ';'", "find . -exec ls {} \\; -exec rm {} \\;", "find . -execdir rm {} \\;", "find . -ok rm {} \\;",
		"find . -okdir rm {} \\;", "find . -delete", "find . -name x -delete", "find . -fprint f", "find . -fprintf f x", "find . -fls f", "find . -exec {} \\;", "find . -exec sh -c 'rm \"$1\"' _ {} \\;", "find . -exec sh -c 'ls {}' \\;",
		"find . -exec env rm {} \\;", "find . -exec env {} \\;", "find $x", "find . \"$x\"", "find . -name $x", "find *", "find . -name *.go", "find . -exec ls", "find . -exec \\;", "find . -exec ls + \\; -delete", "find . -exec ls x + -delete \\;", "find . -name -exec rm {} \\;",
		"find . -name -delete", "find . -newer -delete x", "find -files0-from f", "find . -regextype -delete", "find . -printf x", "find . -exec ls \"$x\" -delete {} \\;", "find . -perm -delete", "find . -size -delete", "find . -exec find . -exec rm {} \\; \\;",
		"sh -c 'rm x'", "sh -c \"rm x\"", "sh -ec 'rm x'", "sh -e -c 'rm x'", "sh -o pipefail -c 'rm x'", "sh -o posix -c 'ls'", "sh -c 'ls; rm x'", "sh -c 'eval rm'", "sh -c \"$x\"", "sh -c $x", "sh -c", "sh", "sh f", "sh ./f", "sh -s", "sh <f", "cat f | sh",
		"sh -i", "sh +c ls", "sh -c -e 'rm x'", "sh -c -- 'rm x'", "sh -c '$0 x' rm", "sh -c '\"$@\"' _ rm x", "sh -c 'exec \"$@\"' _ rm x", "sh -c '. \"$1\"' _ f", "bash -c 'rm x'", "bash -lc 'ls'", "bash --rcfile f -c ls", "bash -c 'cat <(rm x)'", "bash f", "dash -c 'rm x'",
		"zsh -c 'rm x'", "zsh -c '=rm x'", "zsh -c 'ls =rm'", "zsh -c 'ls *(e:rm:)'", "zsh -c 'for path in f; do ls; done'", "zsh -c 'noglob rm x'", "zsh -c 'repeat 2 rm x'", "zsh -c 'echo $x[$(rm x)]'", "zsh -c 'echo $x[y]'", "zsh -c '[ $x -eq 1 ]'", "zsh -c '[ \"$x\" -eq 1 ]'", "zsh -c 'printf %d $x'", "zsh -c \"exit 'path[\\$(rm x)]'\"", "zsh -c \"return 'path[\\$(rm x)]'\"", "zsh -c \"ls; break 'path[\\$(rm x)]'\"", "zsh -c \"continue 'path[\\$(rm x)]'\"", "zsh -c \"shift 'path[\\$(rm x)]'\"", "zsh -c \"logout 'path[\\$(rm x)]'\"", "zsh -c \"bye 'path[\\$(rm x)]'\"", "zsh -c 'exit $x'", "zsh -c 'exit \"$x\"'", "zsh -c 'exit x'",
		"zsh -c '{ ls } ; rm x'", "sh -c \"sh -c 'rm x'\"", "sh -c \"sh -c \\\"sh -c 'rm x'\\\"\"", "/bin/sh -c 'rm x'", "ksh -c 'rm x'", "fish -c 'rm x'", "busybox rm x", "busybox sh -c 'rm x'", "watch rm x", "watch -n 1 rm x", "watch 'ls; rm x'", "watch ls ';' rm x", "watch ls '$(rm x)'", "watch -x rm x",
		"watch -n1 rm x", "watch --exec rm x", "watch $x", "watch", "watch ls \"$x\"", "chronic rm x", "parallel rm", "unshare rm x", "ionice rm x", "chroot / rm x", "busybox ls", "command env rm x", "exec env rm x", "exec >f", "exec", "command", "env time rm x", "nice env -S rm",
		"command . f", "command trap 'rm x' 0", "nohup sh -c 'rm x' &", "env -u A -- B=1 sh -c 'rm x'", "env sh f", "xargs sh f", "timeout 1 sh", "nice bash",
	},
	"hidden in text": {
		"ls # x \\\nrm y", "ls #\\\nrm y", "# x\\\nrm y", "(ls 'a'#; rm x\n)", "(ls \"a\"#'; rm x\n#'\n)", "$(ls 'a'#; rm x\n)", "ls \"$\\\n(rm x)\"", "ls $\\\n(rm x)", "ls \"`echo \\\\\\`rm x\\\\\\``\"", "cat <<E\n\\\nE\nrm x\nE\n",
		"cat <<ls; ( ls\nls\n)\nrm x\nls\n", "ls \"${x:-'}\" ; rm y ; ls \"'}\"", "ls \"${x:-\"}\" ; rm y ; ls \"\"}\"", "ls ${x:-'}'; rm y; echo '}'}", "ls ${x:-\\}; rm y}", "ls \"${x#'}\"; rm y; ls \"'}\"", "ls `echo '` ; rm x #'`", "ls `echo \"` ; rm x #\"`",
		"cat <<'E\n'\nrm x\nE\n", "cat <<E\"\"\nls\nE\nrm x\n", "cat <<\\E\nls\nE\nrm x", "cat <<-E\n\tE\nrm x\nE\n", "cat <<$x\nls\n$x\nrm y\n", "cat <<E <<F\nE\nF\nrm x\n", "cat <<E; ls \"\nE\n\"; rm x\n", "ls $(cat <<E\nE\n)\nrm x\nE\n",
		"[[ a &&\n#'\nb ]]; rm x #'\n]]", "[[ a =~ (b) || rm x ]]", "[[ a =~ b\\ ]]; rm x ]]", "ls !(rm x)", "ls @(a;rm x)", "ls \\\r\nrm x", "ls 'a\rb'; rm x", "ls \x00; rm x", "ls \x7f rm", "ls \x1b[2K; rm x", "ls \u0085rm x; rm y",
		"ls '\nrm x\n'; rm y", "ls \"\n\"; rm x", "ls ''; rm x ''", "ls \\; rm x; rm y", "ls \\\\; rm x", "ls \\\\\nrm x", "ls '\\'; rm x #'", "ls \"\\\\\"; rm x #\"", "ls \"\\\"; rm x #\"; rm y", "ls $'\\''; rm x #'", "ls a#b; rm x", "ls 'a'#b; rm x",
		"ls $#; rm x", "ls ${#x}; rm x", "ls ${x##*/}; rm x", "ls $x#; rm y", "case x in x) ls;; esac; rm y", "case x in esac; rm y", "for x in; do ls; done; rm y", "f() ls; rm x", "ls <<<'x'; rm y", "ls 3<<E\nE\nrm x\n", "a=b; c=d; rm x", "ls {a,b}; rm x",
		"ls >f 2>&1 | rm x", "ls >&f; rm x", ">&-rm x", ">& -rm x", "<&-rm x", "ls >&1 2>& -rm x", "<&-$x", "ls &>f; rm x", "ls &>>f rm; rm x", "ls >| f; rm x", "ls <> f; rm x", "((ls)); rm x", "((rm x))", "$((rm x))", "$(( (rm x) ))", "ls $((1)); rm x", "12>f ls; rm x", "ls 99999999999>f; rm x", "{ ls; } 2>f; rm x",
		"if ls; then ls; fi; rm x", "! ls; rm x", "ls \\ ; rm x", "ls \\\t; rm x", "ls x\\", "ls 'x", "ls \"x", "ls $(x", "ls `x", "ls ${x", "ls )", "ls }; }", "fi", "", " ", "\n", "# only a comment", "[[ -f x ]]", "((1))", ";", "&", "!",
	},
}

// TestBypassPrograms holds that no attempt passes a require, nor a refuse that
// stands around a not, in either dialect.
func TestBypassPrograms(t *testing.T) {
	count := 0
	for group, texts := range attempts {
		for _, shell := range []string{"posix", "bash"} {
			j := judge(t, openOperand(shell))
			for _, text := range texts {
				count++
				got, why := j.Judge(text)
				if passesRequire(got) || passesRefuse(got) {
					t.Errorf("%s, %s: %q passes: %v (%s)", group, shell, text, got, why)
				}
			}
		}
	}
	if count < 2*200 {
		t.Errorf("%d attempts, want at least 200 in each dialect", count)
	}
	t.Logf("%d attempts", count)
}

// passesRequire is {"require": command}, passesRefuse {"refuse": {"not":
// command}}, as content-rules.md 2 gives them.
func passesRequire(r verdict.Result) bool { return r == verdict.Holds }

func passesRefuse(r verdict.Result) bool {
	switch r {
	case verdict.Holds: // the not does not hold, and nothing is refused
		return true
	case verdict.Fails: // the not holds
		return false
	}
	return false // cannot be judged refuses
}

// TestBypassArguments holds the same of patterns: git push is not among them.
func TestBypassArguments(t *testing.T) {
	argv := [][]string{
		{"git", "status", "**"}, {"git", "log", "**"}, {"git", "add", "--", "**"}, {"ls", "**"}, {"cat", "*"}, {"echo", "**"},
		{"env", "**"}, {"xargs", "**"}, {"timeout", "**"}, {"sh", "-c", "**"}, {"bash", "-c", "**"}, {"find", "**"}, {"nice", "**"}, {"time", "**"}, {"command", "**"},
	}
	attempts := []string{
		"git push", "git push origin main", "git", "git  push", "git\tpush", "git \\\npush", "git 'push'", "git \"push\"", "git p\\ush", "git p''ush", "git $x", "git ${x}", "git \"$x\"", "git ${x:-push}", "git $(echo push)", "git `echo push`",
		"git $'push'", "git $'\\x70ush'", "git pus[h]", "git pus?", "git p*", "git {push,}", "git {status,push}", "git {p,{ush}}", "git log {a,{b}}", "git log ['p']ush", "git log x=~", "ls a:~/b", "git ~", "git $x status", "git $x push", "git \"$@\"", "git $@", "git $* status", "git -C /r push", "git -c a=b push", "git -C push status", "git --no-pager log",
		"git -c alias.status='!rm x' status", "git --exec-path=/x status", "git status; git push", "git status && git push", "git log | git push", "git log\ngit push", "git log & git push", "env git push", "env A=1 git push", "env -i git push", "timeout 5 git push",
		"nice git push", "nice -n 3 git push", "time git push", "time -p git push", "command git push", "command -p git push", "sh -c 'git push'", "sh -c \"git push\"", "bash -c 'git push'", "bash -c 'git p{ush,}'", "xargs git", "xargs git push", "echo push | xargs git",
		"xargs -I {} git {}", "xargs -I {} git {} status", "xargs -I{} git status", "xargs -I u git pusu", "xargs -I status git status", "xargs -n 1 git", "xargs env git", "find . -exec git push {} \\;", "find . -exec git {} \\;", "find . -exec git {} +", "find . -name push -exec git {} \\;", "find . -exec env git push \\;",
		"xargs sh -c 'git push'", "xargs sh -c 'git $1'", "xargs sh -c 'git \"$@\"' _", "env sh -c 'git push'", "timeout 5 env git push", "git() { ls; }; git push", "(git push)", "{ git push; }", "if git push; then ls; fi", "for i in push; do git $i; done", "case a in a) git push;; esac",
		"cat a b", "cat", "cat $x", "cat *", "cat ~/x", "cat 'a' \"b\"", "cat a$x", "cat {a,b}", "git add -A", "git add", "git add -- $x", "git add -- *", "git logs", "git log*", "GIT push", "/usr/bin/git status", "git status $(git push)", "git status \"$(git push)\"", "ls $(git push)",
		"! git push", "git push # status", "git # status\n", "git status >f", "git status 2>&1", "A=1 git status", "git status <f", "cat <<E\nE\n", "git status ''$x", "git status a$((1))", "git status \"${x}\"", "git log ${x:+push}", "git log --format=$x", "f() { git push; }", "git log $#",
	}
	for _, shell := range []string{"posix", "bash"} {
		j := judge(t, shelltext.Operand{Shell: shell, Programs: strings.Fields("git ls cat echo env xargs timeout sh bash find nice time command"), Argv: argv, Substitutions: true})
		for _, text := range attempts {
			got, why := j.Judge(text)
			if passesRequire(got) || passesRefuse(got) {
				t.Errorf("%s: %q passes: %v (%s)", shell, text, got, why)
			}
		}
	}
	t.Logf("%d attempts in each dialect", len(attempts))
}

// TestBypassArgv holds the same of lists of strings, which no shell reads.
func TestBypassArgv(t *testing.T) {
	open := judge(t, openOperand("posix"))
	bound := judge(t, shelltext.Operand{Programs: []string{"git", "env", "xargs"}, Argv: [][]string{{"git", "log", "**"}, {"env", "**"}, {"xargs", "**"}}})
	for _, list := range [][]string{
		{}, {""}, {"rm", "x"}, {"/bin/rm"}, {"RM"}, {"rm x"}, {"ls; rm x"}, {"ls\r", "x"}, {"ls", "a\rb"}, {"ls", "a\x00b"}, {"env", "rm"}, {"env", "A=1", "rm"}, {"env", "-S", "rm x"}, {"env", "-i"}, {"env"}, {"env", ""},
		{"sh", "-c", "rm x"}, {"sh", "-c", "ls; rm x"}, {"sh"}, {"sh", "f"}, {"sh", "-c", ""}, {"bash", "-c", "cat <(rm x)"}, {"xargs", "rm"}, {"xargs"}, {"xargs", "git"}, {"xargs", "-I", "{}", "sh", "-c", "{}"}, {"timeout", "5", "rm"}, {"timeout", "rm"},
		{"find", ".", "-exec", "rm", "{}", ";"}, {"find", ".", "-exec", "rm", "{}", "+"}, {"find", ".", "-delete"}, {"find", ".", "-exec", "ls"}, {"sudo", "-u", "root", "rm"}, {"sudo", "A=1", "rm"}, {"nice", "-n", "1", "rm"}, {"watch", "ls;", "rm"}, {"watch", "-x", "rm"},
		{"command", "rm"}, {"exec", "rm"}, {"time", "rm"}, {"eval", "rm"}, {".", "f"}, {"source", "f"}, {"stdbuf", "-oL", "ls"}, {"nohup"}, {"env", "env", "env", "env", "env", "env", "env", "env", "env", "ls"}, {"export", "A=1"}, {"ls*"}, {"-v"}, {"env", "-v", "ls"},
	} {
		if got, why := open.JudgeArgv(list); passesRequire(got) || passesRefuse(got) {
			t.Errorf("%q passes: %v (%s)", list, got, why)
		}
	}
	for _, list := range [][]string{
		{"git"}, {"git", "push"}, {"git", "-C", "x", "log"}, {"env", "git", "push"}, {"xargs", "git"}, {"xargs", "git", "push"}, {"xargs", "-I", "og", "git", "log"}, {"git", "Log"}, {"git", "log\n"}, {"git", "lo*"},
	} {
		if got, why := bound.JudgeArgv(list); passesRequire(got) || passesRefuse(got) {
			t.Errorf("%q passes the patterns: %v (%s)", list, got, why)
		}
	}
	for _, list := range [][]string{{"ls"}, {"ls", "*", "$(rm)", "~", "a b;"}, {"/bin/ls"}, {"env", "A=1", "ls"}, {"sh", "-c", "ls | cat"}, {"find", ".", "-name", "*.go", "-exec", "grep", "x", "{}", "+"}, {"test", "-f", "a["}, {"printf", "[%s]", "x"}} {
		if got, why := open.JudgeArgv(list); got != verdict.Holds {
			t.Errorf("%q: %v (%s), want holds", list, got, why)
		}
	}
	if got, why := bound.JudgeArgv([]string{"xargs", "git", "log", "--"}); got != verdict.Holds {
		t.Errorf("xargs with a pattern for what it appends: %v (%s)", got, why)
	}
}

// TestSwitches holds the three switches: what each lets through and, without it,
// does not.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     func(*shelltext.Operand)
		texts  []string
		always []string // also without it
	}{
		{"redirects any", func(o *shelltext.Operand) { o.Redirects = "any" },
			[]string{"ls >f", "ls >>f", "ls <f", ">f", "ls 2>f", "ls >|f", "ls <>f", "{ ls; } >f", "ls > \"$x\"", "(ls) 2>f", "if ls; then ls; fi >f", "ls 2>&1", "ls >/dev/null", "cat <<E\na\nE\n", "cat <<'E'\n$(x)\nE\n", "while ls; do ls; done <f"},
			[]string{"ls '>f'", "ls \\>f", "ls"}},
		{"redirects fds", func(o *shelltext.Operand) { o.Redirects = "fds" },
			[]string{"ls 2>&1", "ls >&2", "ls >/dev/null", "ls 2>/dev/null", "ls </dev/null", "ls >/dev/null 2>&1", "ls 2>>/dev/null", "ls <&-", "ls 2>'/dev/null'"}, nil},
		{"substitutions", func(o *shelltext.Operand) { o.Substitutions = true },
			[]string{"ls $(ls)", "ls `ls`", "ls \"$(ls)\"", "for i in $(ls); do ls; done", "ls ${x:-$(ls)}"},
			[]string{"ls $x", "ls \"${x}\"", "ls '$(ls)'", "ls \\$\\(ls\\)", "ls $((1+1))"}},
		{"assignments", func(o *shelltext.Operand) { o.Assignments = true },
			[]string{"A=1", "A=1 ls", "export A=1", "export A", "readonly A=1", "local a=1", "env A=1 ls", "ls ${x:=1}", "ls ${x=1}", "for PATH in a; do ls; done", "read PATH", "a=1", "for http_proxy in a; do ls; done"},
			[]string{"ls A=1", "for i in a b; do ls $i; done", "read line", "ls ${x:-1}"}},
	} {
		base := shelltext.Operand{Programs: strings.Fields("ls cat env read")}
		without := judge(t, base)
		c.on(&base)
		with := judge(t, base)
		for _, text := range c.texts {
			if got, why := with.Judge(text); got != verdict.Holds {
				t.Errorf("%s: %q: %v (%s), want holds", c.name, text, got, why)
			}
			if got, why := without.Judge(text); got != verdict.Fails {
				t.Errorf("without %s: %q: %v (%s), want does not hold", c.name, text, got, why)
			}
		}
		for _, text := range c.always {
			if got, why := without.Judge(text); got != verdict.Holds {
				t.Errorf("without %s: %q: %v (%s), want holds", c.name, text, got, why)
			}
		}
	}
	fds := judge(t, shelltext.Operand{Programs: []string{"ls", "cat"}, Redirects: "fds"})
	for _, text := range []string{"ls >f", "ls >/dev/null2", "ls >/dev/nul", "ls >\"$x\"", "ls >/dev/null/../f", "cat <<E\na\nE\n", "ls 2>f", "ls >/dev/tcp/x/1", "ls >/DEV/NULL"} {
		if got, _ := fds.Judge(text); got != verdict.Fails {
			t.Errorf("redirects fds: %q: %v, want does not hold", text, got)
		}
	}
}

// TestGeneratedBypass spells one forbidden command in every way of a few lists
// put together: places, wrappers and spellings.
func TestGeneratedBypass(t *testing.T) {
	places := []string{"%s", "ls; %s", "ls && %s", "ls | %s", "(%s)", "{ %s; }", "ls $(%s)", "a=1 %s", "if ls; then %s; fi", "for i in a; do %s; done", "case a in a) %s;; esac", "! %s", "ls >f; %s", "# '\n%s", "cat <<'E'\n'\nE\n%s", "f() { %s; }"}
	wraps := []string{"%s", "env %s", "timeout 5 %s", "nice -n 1 %s", "command %s", "env -i nohup %s", "xargs %s", "xargs -I {} %s {}", "find . -exec %s {} \\;", "watch -x %s", "exec %s", "time %s", "sudo -n %s"}
	spellings := []string{"rm x", "'rm' x", "r\\m x", "\"rm\" x", "/bin/rm x", "$lower", "$(echo rm) x", "r''m x", "${x:-rm} y"}
	n := 0
	for _, shell := range []string{"posix", "bash"} {
		j := judge(t, openOperand(shell))
		for _, p := range places {
			for _, w := range wraps {
				for _, s := range spellings {
					n++
					text := fmt.Sprintf(p, fmt.Sprintf(w, s))
					if got, why := j.Judge(text); passesRequire(got) || passesRefuse(got) {
						t.Errorf("%s: %q passes: %v (%s)", shell, text, got, why)
					}
				}
			}
		}
	}
	t.Logf("%d spellings", n)
}
