package shelltext_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// hostile are pieces that nest, chain or repeat, to be repeated up to a size.
var hostile = []string{
	"(", "{ ", "$(", "\"$(", "`", "if ", "while ", "case x in x)", "time ", "coproc ", "f()", "f() { ", "$((", "$((1+", "$(((", "${x:-", "\"${x:-", "[[ ( ", "[[ ! ", "<<a ", "|a", "a|", "a&&", "a;", "a&", "a\n",
	"a=(", "a[", "for x in a;do ", "else if a;then ", "! ", "<(", "a<", ">a ", "#a\n", "#\n", " #", "'a'", "\"a\"", "a=1 ", "$x", "\"$x\"", "env ", "nice ", "command ", "time env ", "ls -a ", "ls {a,b} ", "{", "{a,", "*", "\\", "\\a", "\\\n", " \\\n", "é",
	"find . -exec a {} \\; ", "-exec a {} \\; ", "xargs ", "sh -c ", "watch ", "watch ls; ", "[ ", "ls $((1+1)) ", "cat <<E\na\nE\n", "x) ls;; ", "export a=1;", "(ls);", "((1));", "a\\ b", "@(a)", "$((1?1:", "$((1**", "$((- ", "'", "\"", "<<<a ",
}

// TestSteps holds that judging any text stays within MaxSteps, and that twice the
// size takes about twice the steps.
func TestSteps(t *testing.T) {
	argv := [][]string{{"ls", "**"}, {"env", "**"}, {"a", "b"}, {"find", "**"}}
	for i := range 60 {
		argv = append(argv, []string{"ls", fmt.Sprint(i)})
	}
	bound := openOperand("bash")
	bound.Argv = argv
	for _, o := range []shelltext.Operand{openOperand("posix"), bound} {
		j := judge(t, o)
		for _, piece := range hostile {
			for _, tail := range []string{"", "))", " ls"} {
				before := 0
				for _, n := range []int{1024, shelltext.MaxText / 2, shelltext.MaxText - 4, 2 * shelltext.MaxText} {
					text := strings.Repeat(piece, n/len(piece)) + tail
					f := j.Weigh(text)
					if limit := j.MaxSteps(len(text)); f.Steps > limit {
						t.Errorf("%q × %d: %d steps, at most %d expected", piece, n, f.Steps, limit)
					}
					if before > 2000 && f.Steps > 3*before && n == shelltext.MaxText-4 {
						t.Errorf("%q × %d: %d steps after %d for half of it", piece, n, f.Steps, before)
					}
					before = f.Steps
				}
			}
		}
	}
}

// TestMemory holds that judging allocates in proportion to the text.
func TestMemory(t *testing.T) {
	j := judge(t, openOperand("bash"))
	for _, piece := range hostile {
		for _, n := range []int{1024, shelltext.MaxText - 4} {
			text := strings.Repeat(piece, n/len(piece))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			j.Weigh(text)
			runtime.ReadMemStats(&after)
			// The parser allocates up to 540 bytes for each of a text, for nested
			// arithmetic; the judge adds little, the race detector doubles it.
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(128<<10+1200*n) {
				t.Errorf("%q × %d: %d bytes allocated", piece, n, got)
			}
		}
	}
}

// TestBounds holds that each bound gives "cannot be judged", and that what is
// just inside it is judged.
func TestBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "ls" + strings.Repeat(")", n) }
	for _, c := range []struct {
		name      string
		in, out   string
		operation func(string) string
	}{
		{"text", "ls " + strings.Repeat("a", shelltext.MaxText-3), "ls " + strings.Repeat("a", shelltext.MaxText-2), nil},
		{"openers", "ls '" + strings.Repeat("(", shelltext.MaxOpeners) + "'", "ls '" + strings.Repeat("(", shelltext.MaxOpeners+1) + "'", nil},
		{"commands", strings.Repeat("ls\n", shelltext.MaxCommands), strings.Repeat("ls\n", shelltext.MaxCommands+1), nil},
		{"wrappers", strings.Repeat("env ", shelltext.MaxFollow) + "ls", strings.Repeat("env ", shelltext.MaxFollow+1) + "ls", nil},
		{"nesting", strings.ReplaceAll(nested(40), "(", "( "), strings.ReplaceAll(nested(shelltext.MaxNesting), "(", "( "), nil},
	} {
		j := judge(t, openOperand("posix"))
		if got, why := j.Judge(c.in); got != verdict.Holds {
			t.Errorf("%s, inside: %v (%s), want holds", c.name, got, why)
		}
		if got, _ := j.Judge(c.out); got != verdict.CannotJudge {
			t.Errorf("%s, outside: %v, want cannot be judged", c.name, got)
		}
	}
	j := judge(t, openOperand("posix"))
	words := make([]string, shelltext.MaxWords+1)
	for i := range words {
		words[i] = "ls"
	}
	if got, why := j.JudgeArgv(words[:shelltext.MaxWords]); got != verdict.Holds {
		t.Errorf("the most words: %v (%s)", got, why)
	}
	if got, _ := j.JudgeArgv(words); got != verdict.CannotJudge {
		t.Errorf("more words: %v", got)
	}
	if got, _ := j.JudgeArgv([]string{"ls", strings.Repeat("a", shelltext.MaxListBytes)}); got != verdict.CannotJudge {
		t.Errorf("more bytes: %v", got)
	}
}

// TestConcurrent holds that one judge gives many at once the answers it gives one.
func TestConcurrent(t *testing.T) {
	j := judge(t, openOperand("bash"))
	texts := attempts["wrapped"]
	want := make([]shelltext.Finding, len(texts))
	for i, text := range texts {
		want[i] = j.Weigh(text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, text := range texts {
				if got := j.Weigh(text); got != want[i] {
					t.Errorf("%q: %+v at once with others, %+v alone", text, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// quote writes a word so that every shell reads it as it is.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// TestQuotedIsArgv is a law: a list of words, each in quotes, is judged as the
// list is. Builtins aside, since no shell stands before a list.
func TestQuotedIsArgv(t *testing.T) {
	j := judge(t, shelltext.Operand{
		Programs: []string{"ls", "git", "env", "xargs", "find", "timeout", "sh", "/bin/ls"},
		Argv:     [][]string{{"ls", "**"}, {"git", "log", "**"}, {"git", "?"}, {"env", "**"}, {"xargs", "**"}, {"find", "**"}, {"timeout", "**"}, {"sh", "-c", "*"}},
	})
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"ls", "git", "log", "push", "env", "xargs", "find", ".", "-exec", ";", "+", "{}", "timeout", "5", "sh", "-c", "ls; git log", "rm", "-I", "-n", "1", "/bin/ls", "--", "A=1", "-name", "*", "-i", ""}),
		rapid.StringMatching("[ -~\n\té]{0,6}"),
	)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 1, 8).Draw(t, "words")
		if isBuiltinWord(words) {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		fromText, why1 := j.Judge(strings.Join(quoted, " "))
		fromList, why2 := j.JudgeArgv(words)
		if fromText != fromList {
			t.Errorf("%q: %v (%s) as a text, %v (%s) as a list", words, fromText, why1, fromList, why2)
		}
	})
}

// isBuiltinWord says whether a word could be a builtin's name to a shell.
func isBuiltinWord(words []string) bool {
	for _, w := range words {
		switch w {
		case "[", "[[", ".", "cd", "fc":
			return w != "."
		}
	}
	return words[0] == "."
}

// FuzzJudge holds for any text: no panic, the same answer twice, within the
// steps; what cannot be judged does not depend on what is allowed; and what a
// narrow operand lets through a wide one does too.
func FuzzJudge(f *testing.F) {
	seeds := 0
	for _, texts := range attempts {
		for _, text := range texts {
			f.Add(text)
			seeds++
		}
	}
	for _, text := range ordinary {
		f.Add(text)
		seeds++
	}
	if seeds < 300 {
		f.Fatalf("%d seeds, want at least 300", seeds)
	}
	ours := ownTexts(f)
	type pair struct{ narrow, wide *shelltext.Judge }
	var pairs []pair
	for _, shell := range []string{"posix", "bash"} {
		pairs = append(pairs, pair{judge(f, shelltext.Operand{Shell: shell, Programs: []string{"ls", "git", "env", "find"}}), judge(f, openOperand(shell))})
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pairs {
			narrow, wide := p.narrow.Weigh(text), p.wide.Weigh(text)
			if again := p.wide.Weigh(text); again != wide {
				t.Errorf("%q: %+v, then %+v", text, wide, again)
			}
			if limit := p.wide.MaxSteps(len(text)); wide.Steps > limit || narrow.Steps > limit {
				t.Errorf("%q: %d and %d steps, at most %d expected", text, narrow.Steps, wide.Steps, limit)
			}
			if (narrow.Result == cannot) != (wide.Result == cannot) {
				t.Errorf("%q: %+v, and with more allowed %+v", text, narrow, wide)
			}
			if narrow.Result == holds && wide.Result != holds {
				t.Errorf("%q: %+v, and with more allowed %+v", text, narrow, wide)
			}
			if !ours[narrow.Why] || !ours[wide.Why] {
				t.Errorf("%q: the reasons %q, %q", text, narrow.Why, wide.Why)
			}
		}
		for _, p := range pairs {
			if got, why := p.wide.JudgeArgv(strings.Fields(text)); !ours[why] && why != "" {
				t.Errorf("%q as a list: %v (%s)", text, got, why)
			}
		}
	})
}
