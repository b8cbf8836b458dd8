package shelltext

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"countersign/internal/glob"
)

// Bounds of an operand. A rule's author writes it, so they only keep the worst
// case of one judgement finite; nobody should meet them.
const (
	// MaxPatterns is how many argv patterns one operand may hold: every command
	// judged is compared with each of them.
	MaxPatterns = 1024
	// MaxItems is how many globs one argv pattern may hold.
	MaxItems = 256
	// MaxPrograms is how many programs one operand may hold, as a list of a
	// rules file.
	MaxPrograms = 10_000
	// maxErrors is how many errors of one operand are reported.
	maxErrors = 100
)

// Operand is the operand of a command test, as plain data. The zero value of
// every field but Programs is the default of content-rules.md 4.3.
type Operand struct {
	// Shell is "posix" or "bash"; empty is "posix".
	Shell string
	// Programs are the programs that may run: names without a slash, or
	// absolute paths. At least one.
	Programs []string
	// Argv are patterns of whole argument vectors, the program first; nil when
	// the operand has none.
	Argv [][]string
	// Redirects is "none", "fds" or "any"; empty is "none".
	Redirects string
	// Substitutions says that command and process substitutions may stand.
	Substitutions bool
	// Assignments says that variables may be set.
	Assignments bool
	// NoFollow is the operand's "follow": false. No wrapper may then be among
	// the programs.
	NoFollow bool
}

// Error is one fault of an operand: the member it is in, the indexes of the
// element inside it (one for programs, one or two for argv), and what was
// expected.
type Error struct {
	Member string
	Index  []int
	Msg    string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Member)
	for _, i := range e.Index {
		fmt.Fprintf(&b, "[%d]", i)
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	return b.String()
}

// Errors are all the faults of one operand, in the order of its members, at
// most 100.
type Errors []*Error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the single errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

func (e *Errors) add(member string, index []int, format string, args ...any) {
	if len(*e) < maxErrors {
		*e = append(*e, &Error{Member: member, Index: index, Msg: fmt.Sprintf(format, args...)})
	}
}

// redirects is how much redirection an operand lets through.
type redirects uint8

const (
	redirectNone redirects = iota
	redirectFds
	redirectAny
)

// pattern is one compiled argv pattern.
type pattern struct {
	items []*glob.Glob
	rest  bool // the last item was **
}

// Judge is a compiled operand. It is safe for concurrent use.
type Judge struct {
	dialect       dialect
	programs      map[string]bool
	argv          []pattern
	hasArgv       bool
	redirects     redirects
	substitutions bool
	assignments   bool
	follow        bool

	// One parser is some 4 KiB and reusable, but not by two at once.
	posixParsers, bashParsers sync.Pool
}

// New compiles an operand. The error is an Errors with all its faults.
func New(o Operand) (*Judge, error) {
	j := &Judge{
		programs:      make(map[string]bool, len(o.Programs)),
		substitutions: o.Substitutions,
		assignments:   o.Assignments,
		follow:        !o.NoFollow,
	}
	var errs Errors
	switch o.Shell {
	case "", "posix":
		j.dialect = posix
	case "bash":
		j.dialect = bash
	default:
		errs.add("shell", nil, `unknown shell %q, expected "posix" or "bash"`, o.Shell)
	}
	j.addPrograms(o, &errs)
	j.addPatterns(o, &errs)
	switch o.Redirects {
	case "", "none":
		j.redirects = redirectNone
	case "fds":
		j.redirects = redirectFds
	case "any":
		j.redirects = redirectAny
	default:
		errs.add("redirects", nil, `unknown value %q, expected "none", "fds" or "any"`, o.Redirects)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	j.posixParsers.New = func() any { return newParser(syntax.LangPOSIX) }
	j.bashParsers.New = func() any { return newParser(syntax.LangBash) }
	return j, nil
}

func newParser(lang syntax.LangVariant) *syntax.Parser {
	return syntax.NewParser(syntax.KeepComments(true), syntax.Variant(lang))
}

func (j *Judge) addPrograms(o Operand, errs *Errors) {
	if len(o.Programs) == 0 {
		errs.add("programs", nil, "expected at least one program, such as \"git\" or \"/usr/bin/git\"")
		return
	}
	if len(o.Programs) > MaxPrograms {
		errs.add("programs", nil, "%d programs, expected at most %d", len(o.Programs), MaxPrograms)
		return
	}
	for i, p := range o.Programs {
		at := []int{i}
		switch {
		case p == "":
			errs.add("programs", at, "an empty program, expected a name such as \"git\"")
		case strings.ContainsAny(p, " \t\n"):
			errs.add("programs", at, "%q is more than one word; name the program alone and give its arguments in \"argv\"", p)
		case strings.ContainsAny(p, "*?") || strings.Contains(p, "[") && p != "[":
			errs.add("programs", at, "%q is no glob here, and no program word that can be judged holds such a sign; name each program, expected patterns in \"argv\" alone", p)
		case evaluates(p):
			errs.add("programs", at, "%q runs text that is not seen and is never judged; take it out", p)
		case strings.ContainsFunc(p, control):
			errs.add("programs", at, "%q holds a control character, which no command that can be judged holds", p)
		case strings.Contains(p, "="):
			errs.add("programs", at, "%q would be an assignment where a shell looks for a program; use a name without \"=\"", p)
		case strings.Contains(p, "/") && !path.IsAbs(p):
			errs.add("programs", at, "%q is a relative path, expected a name without a slash or an absolute path", p)
		case strings.Contains(p, "/") && (path.Clean(p) != p || p == "/"):
			errs.add("programs", at, "%q is not a clean path of a file, expected %q", p, path.Clean(p))
		case j.programs[p]:
			errs.add("programs", at, "%q stands in the list twice", p)
		case o.NoFollow && isWrapper(base(p)):
			errs.add("programs", at, "%q runs another program: without \"follow\" anything could run behind it; leave out \"follow\": false or the program", p)
		}
		j.programs[p] = true
	}
}

func (j *Judge) addPatterns(o Operand, errs *Errors) {
	if o.Argv == nil {
		return
	}
	j.hasArgv = true
	if len(o.Argv) == 0 {
		errs.add("argv", nil, "an empty list, expected at least one pattern such as [\"git\", \"status\", \"**\"]")
		return
	}
	if len(o.Argv) > MaxPatterns {
		errs.add("argv", nil, "%d patterns, expected at most %d", len(o.Argv), MaxPatterns)
		return
	}
	for i, items := range o.Argv {
		if len(items) == 0 {
			errs.add("argv", []int{i}, "an empty pattern, expected the program and its arguments")
			continue
		}
		if len(items) > MaxItems {
			errs.add("argv", []int{i}, "%d items, expected at most %d", len(items), MaxItems)
			continue
		}
		var p pattern
		for k, item := range items {
			if item == "**" {
				switch {
				case k != len(items)-1:
					errs.add("argv", []int{i, k}, "\"**\" stands for all the rest and so only at the end; expected \"*\" for one argument")
				case k == 0:
					errs.add("argv", []int{i, k}, "\"**\" alone names no program, expected the program before it")
				}
				p.rest = true
				continue
			}
			g, err := glob.Compile(item, glob.Options{})
			if err != nil {
				errs.add("argv", []int{i, k}, "%v", err)
				continue
			}
			p.items = append(p.items, g)
		}
		j.argv = append(j.argv, p)
	}
}

// base is the last segment of a program word.
func base(program string) string {
	return program[strings.LastIndexByte(program, '/')+1:]
}
