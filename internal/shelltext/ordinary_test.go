package shelltext_test

import (
	"testing"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// ordinary are commands of everyday work, of which every one must pass with the
// programs in them listed and every switch on.
var ordinary = []string{
	"ls", "ls -la", "ls -la /srv/work", "git status", "git log --oneline -n 20", "git log --format='%h %s'", "git commit -m \"fix: a thing\"", "git commit -m 'fix #12, and more'",
	"git commit -m \"fix #12\" \\\n  --no-verify", "git add -- a.txt \"b c.txt\"", "git diff HEAD~1", "git show HEAD^", "git checkout -b feature/x", "git branch -d 'old'", "git stash && git pull --rebase && git stash pop",
	"grep -rn 'TODO' .", "grep -rn \"func main\" --include=*.go .", "grep -E '^(a|b)+$' f", "grep \"foo$\" f", "grep -c x f | sort | uniq -c", "cat f | head -n 5", "cat a b > c", "cat < f", "sort f > g 2>&1", "wc -l *.go",
	"echo hello", "echo \"hello $USER\"", "echo 'it''s'", "echo \"it's\"", "echo a\\ b", "echo \"a \\\"b\\\" c\"", "echo $HOME", "echo \"${HOME}/x\"", "echo $?", "echo \"$@\"", "echo ${x:-default}", "echo \"${x:-default value}\"", "echo ${x%.txt}", "echo \"${x##*/}\"",
	"echo $((1 + 2))", "echo `date`", "echo \"$(date)\"", "echo $(git rev-parse HEAD)", "echo a; echo b", "echo a && echo b || echo c", "(cd x && ls)", "{ ls; ls; }", "ls &", "ls &\nwait", "! grep -q x f", "true", ": > f",
	"mkdir -p a/b", "rm -rf build", "cp -r a b", "mv a b", "touch 'a b'", "chmod 644 f", "ln -s a b", "tar -czf a.tgz a", "sed -n 1,5p f", "sed -e 's/a/b/g' f", "awk '{ print $1 }' f", "awk -F: '$3 > 5 { print }' /etc/passwd",
	"find . -name '*.go'", "find . -type f -name '*.go' -print0", "find . -name '*.tmp' -exec rm {} +", "find . -name '*.go' -exec grep -l x {} \\;", "find . -maxdepth 1 -type d", "find . -mtime -7 -size +10k", "find . \\( -name a -o -name b \\) -print", "find . ! -name a -prune",
	"env", "env FOO=1 ls", "env -i PATH=/bin ls", "FOO=bar ls", "timeout 30 go test ./...", "nice -n 10 make", "nohup ls", "time ls", "sh -c 'ls | head'", "bash -c 'echo \"$1\"' _ a", "sudo -u www ls", "command ls", "setsid ls",
	"if [ -f f ]; then cat f; fi", "if test -d d; then ls d; else mkdir d; fi", "[ -n \"$x\" ] && echo yes", "[ \"$x\" = y ] || echo no", "[ \"$a\" -eq 1 ] && ls", "[ $? -eq 0 ] && ls", "for f in a b c; do echo \"$f\"; done", "for f in *.txt; do cat \"$f\"; done", "for i in $(seq 1 3); do echo $i; done",
	"while read line; do echo \"$line\"; done < f", "while read -r a b; do echo $a; done", "until ls; do sleep 1; done", "case $x in a) ls;; b|c) cat f;; *) echo no;; esac", "greet() { echo hi; }", "set -e; ls", "set -eu\nls", "export FOO=bar", "export PATH=\"$PATH:/x\"", "unset x", "printf '%s\\n' a b",
	"cat <<EOF\nhello $USER\nEOF", "cat <<'EOF'\n$(not run) `nor this`\nEOF\n", "cat > f <<EOF\na\nb\nEOF\nls", "cat <<-EOF\n\ta\n\tEOF\n", "go build ./... && go vet ./...", "npm install --save-dev x", "npm run build -- --prod", "python3 -m pytest -q", "make -j4 test", "docker ps -a --format '{{.Names}}'",
	"curl -sS https://example.com/a?b=c\\&d", "curl -H 'Accept: application/json' \"https://example.com/x#y\"", "curl -d '{\"a\": [1, 2]}' https://example.com", "ls # a comment", "# a comment\nls", "ls; # done\n", "ls \\\n  -l \\\n  -a\n", "ls |\n  head", "ls &&\n  head f", "date +%Y-%m-%d", "date '+%H:%M'",
	"ls 2>/dev/null", "ls >/dev/null 2>&1", "ls 1>&2", "tr 'a-z' 'A-Z' < f", "tr -d '\\n' < f", "cut -d, -f1 f", "xargs -0 rm", "diff a b | head -n 3", "jq '.a[0]' f", "jq -r '.x | .y' < f", "ps aux | grep '[s]shd'", "kill -9 123", "sleep 0.5", "echo café", "echo {}", "echo a{b", "echo -n", "git log -S'x y'", "ls --color=never",
}

var ordinaryPrograms = []string{
	"ls", "git", "grep", "sort", "uniq", "cat", "head", "wc", "echo", "date", "cd", "wait", "true", ":", "mkdir", "rm", "cp", "mv", "touch", "chmod", "ln", "tar", "sed", "awk", "find", "env", "timeout",
	"go", "nice", "make", "nohup", "time", "sh", "bash", "sudo", "command", "setsid", "[", "test", "seq", "read", "sleep", "set", "unset", "printf", "npm", "python3", "docker", "curl", "tr", "cut", "diff", "jq", "ps", "kill", "xargs",
}

// unfollowed are those of the list that 4.3 does not let through so.
var unfollowed = map[string]string{
	"env":         "a wrapper with nothing behind it",
	"xargs -0 rm": "words appended by xargs, with no pattern for them",
}

// TestOrdinary holds that everyday commands pass.
func TestOrdinary(t *testing.T) {
	n := 0
	for _, shell := range []string{"posix", "bash"} {
		j := judge(t, shelltext.Operand{Shell: shell, Programs: ordinaryPrograms, Redirects: "any", Substitutions: true, Assignments: true})
		for _, text := range ordinary {
			got, why := j.Judge(text)
			if reason := unfollowed[text]; reason != "" {
				if got != verdict.CannotJudge || why != reason {
					t.Errorf("%s: %q: %v (%s), want cannot be judged (%s)", shell, text, got, why, reason)
				}
				continue
			}
			n++
			if got != verdict.Holds {
				t.Errorf("%s: %q: %v (%s), want holds", shell, text, got, why)
			}
		}
	}
	if n < 2*100 {
		t.Errorf("%d ordinary commands, want at least 100 in each dialect", n)
	}
}

// TestOrdinaryBash holds the same of what only bash has.
func TestOrdinaryBash(t *testing.T) {
	j := judge(t, shelltext.Operand{Shell: "bash", Programs: append(ordinaryPrograms, "shopt", "mapfile"), Redirects: "any", Substitutions: true, Assignments: true})
	for _, text := range []string{
		"[[ -f f ]] && ls", "[[ $x == a* ]] && ls", "[[ $x =~ ^[a-z]+$ ]] && ls", "[[ -n $x && -z $y ]] || ls", "[[ ! -d d ]] && mkdir d", "[[ $# -eq 0 ]] && ls", "((1 < 2)) && ls", "a=(1 2 3); echo ${a[@]}", "echo ${a[0]}", "echo ${#a[@]}", "echo \"${a[@]}\"",
		"ls &> f", "ls &>> f", "ls |& head", "cat <<< \"$x\"", "diff <(ls a) <(ls b)", "ls > >(cat)", "echo {a,b}.txt", "echo {1..3}", "echo $'a\\tb'", "echo ${x^^}", "echo ${x/a/b}", "echo ${x:0:3}", "echo ${x@Q}", "function f { ls; }", "declare -r X=1; ls", "local x=1", "declare -a a=(1 2)",
		"for ((;;)); do ls; done", "time ls | head", "mapfile -t lines < f", "shopt -s nullglob; ls", "ls >& f", "x+=1", "select i in a b; do echo $i; done", "coproc ls", "case x in x) ls ;& y) ls ;; esac", "printf -v x '%s' a", "cat {fd}<f",
	} {
		if got, why := j.Judge(text); got != verdict.Holds {
			t.Errorf("%q: %v (%s), want holds", text, got, why)
		}
	}
}
