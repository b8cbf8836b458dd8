package shelltext_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/internal/shelltext"
)

// TestNewErrors holds that each fault of an operand is placed and says what was
// expected.
func TestNewErrors(t *testing.T) {
	many := make([]string, shelltext.MaxPrograms+1)
	for i := range many {
		many[i] = strings.Repeat("a", i%50+1)
	}
	for _, c := range []struct {
		name    string
		operand shelltext.Operand
		want    []string
	}{
		{"nothing", shelltext.Operand{}, []string{`programs: expected at least one program, such as "git" or "/usr/bin/git"`}},
		{"shell", shelltext.Operand{Shell: "sh", Programs: []string{"ls"}}, []string{`shell: unknown shell "sh", expected "posix" or "bash"`}},
		{"redirects", shelltext.Operand{Programs: []string{"ls"}, Redirects: "all"}, []string{`redirects: unknown value "all", expected "none", "fds" or "any"`}},
		{"programs", shelltext.Operand{Programs: []string{"", "git log", "a=b", "bin/ls", "./ls", "/bin/../ls", "/bin/", "/", "ls", "ls", "l\rs"}}, []string{
			`programs[0]: an empty program, expected a name such as "git"`,
			`programs[1]: "git log" is more than one word; name the program alone and give its arguments in "argv"`,
			`programs[2]: "a=b" would be an assignment where a shell looks for a program; use a name without "="`,
			`programs[3]: "bin/ls" is a relative path, expected a name without a slash or an absolute path`,
			`programs[4]: "./ls" is a relative path, expected a name without a slash or an absolute path`,
			`programs[5]: "/bin/../ls" is not a clean path of a file, expected "/ls"`,
			`programs[6]: "/bin/" is not a clean path of a file, expected "/bin"`,
			`programs[7]: "/" is not a clean path of a file, expected "/"`,
			`programs[9]: "ls" stands in the list twice`,
			`programs[10]: "l\rs" holds a control character, which no command that can be judged holds`,
		}},
		{"too many programs", shelltext.Operand{Programs: many}, []string{"programs: 10001 programs, expected at most 10000"}},
		{"follow", shelltext.Operand{Programs: []string{"ls", "env", "/bin/sh", "find"}, NoFollow: true}, []string{
			`programs[1]: "env" runs another program: without "follow" anything could run behind it; leave out "follow": false or the program`,
			`programs[2]: "/bin/sh" runs another program: without "follow" anything could run behind it; leave out "follow": false or the program`,
			`programs[3]: "find" runs another program: without "follow" anything could run behind it; leave out "follow": false or the program`,
		}},
		{"argv", shelltext.Operand{Programs: []string{"ls"}, Argv: [][]string{{}, {"**"}, {"ls", "**", "a"}, {"ls", "["}, {"ls", ""}, {"ls", "a**b"}}}, []string{
			`argv[0]: an empty pattern, expected the program and its arguments`,
			`argv[1][0]: "**" alone names no program, expected the program before it`,
			`argv[2][1]: "**" stands for all the rest and so only at the end; expected "*" for one argument`,
			`argv[3][1]: glob, character 1: `,
			`argv[4][1]: glob, character 1: `,
			`argv[5][1]: glob, character `,
		}},
		{"nothing that could match", shelltext.Operand{Programs: []string{"git*", "eval", "git", "["}}, []string{
			`programs[0]: "git*" is no glob here`,
			`programs[1]: "eval" runs text that is not seen`,
		}},
		{"no argv", shelltext.Operand{Programs: []string{"ls"}, Argv: [][]string{}}, []string{`argv: an empty list, expected at least one pattern such as ["git", "status", "**"]`}},
		{"too many patterns", shelltext.Operand{Programs: []string{"ls"}, Argv: slices.Repeat([][]string{{"ls"}}, shelltext.MaxPatterns+1)}, []string{"argv: 1025 patterns, expected at most 1024"}},
		{"too many items", shelltext.Operand{Programs: []string{"ls"}, Argv: [][]string{slices.Repeat([]string{"ls"}, shelltext.MaxItems+1)}}, []string{"argv[0]: 257 items, expected at most 256"}},
		{"all at once", shelltext.Operand{Shell: "x", Programs: []string{"a b"}, Argv: [][]string{{}}, Redirects: "x"}, []string{"shell: ", "programs[0]: ", "argv[0]: ", "redirects: "}},
	} {
		j, err := shelltext.New(c.operand)
		var errs shelltext.Errors
		if j != nil || !errors.As(err, &errs) {
			t.Errorf("%s: New gave %v, %v, want Errors", c.name, j, err)
			continue
		}
		if len(errs) != len(c.want) {
			t.Errorf("%s: %d errors, want %d:\n%v", c.name, len(errs), len(c.want), err)
			continue
		}
		for i, e := range errs {
			if !strings.HasPrefix(e.Error(), c.want[i]) {
				t.Errorf("%s: error %d is\n%s\nwant\n%s", c.name, i, e, c.want[i])
			}
			var one *shelltext.Error
			if !errors.As(e, &one) || one.Member == "" || one.Msg == "" {
				t.Errorf("%s: error %d has no place: %+v", c.name, i, e)
			}
		}
	}
}

// TestNoFollow holds that without following a wrapper is a program like others,
// and can then not be listed.
func TestNoFollow(t *testing.T) {
	j := judge(t, shelltext.Operand{Programs: []string{"ls", "git"}, NoFollow: true})
	for _, text := range []string{"env ls", "sh -c ls", "xargs ls", "find . -exec ls {} \\;"} {
		if got, _ := j.Judge(text); passesRequire(got) || passesRefuse(got) {
			t.Errorf("%q: %v, want it refused", text, got)
		}
	}
	if got, why := j.Judge("ls && git log"); got != holds {
		t.Errorf("without follow: %v (%s), want holds", got, why)
	}
}

// TestRunsOthers holds the list for the checker's warning.
func TestRunsOthers(t *testing.T) {
	for _, p := range []string{"git", "tar", "awk", "ssh", "python3", "python3.11", "/usr/bin/perl", "gcc-12", "genv", "gtimeout", "busybox", "make", "npm", "docker", "vim", "ksh", "lua5.4", "chronic", "gfind", "sed"} {
		if !shelltext.RunsOthers(p) {
			t.Errorf("RunsOthers(%q) is false", p)
		}
	}
	for _, p := range []string{"ls", "cat", "grep", "echo", "head", "wc", "env", "xargs", "sh", "find", "/bin/ls", "sleep", "date", "cp", "", "/", "123", "true", "gls"} {
		if shelltext.RunsOthers(p) {
			t.Errorf("RunsOthers(%q) is true", p)
		}
	}
}
