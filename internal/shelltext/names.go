package shelltext

import "strings"

// standing is what setting a variable means to the judge.
type standing uint8

const (
	// free: an ordinary name in lower case. A loop may run over it, and read
	// may fill it, without the operand's "assignments".
	free standing = iota
	// guarded: whatever sets it is an assignment. Upper case is what the system
	// and the programs listen to (PATH, LD_PRELOAD, GIT_PAGER …).
	guarded
	// evaluated: a shell evaluates its value as text, at once or later, so
	// what would run cannot be seen.
	evaluated
)

// nameStanding says what setting the variable means in the dialect. name is a
// valid name.
func nameStanding(name string, d dialect) standing {
	switch name {
	case "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", // expanded when printed; PS4 by set -x
		"ENV", "BASH_ENV", "ZDOTDIR", "FPATH", "SHELLOPTS", "BASHOPTS", // a shell that starts reads them
		"RANDOM", "SRANDOM", "SECONDS", "LINENO", "HISTCMD", "OPTIND", "OPTERR", // whole numbers: the value is arithmetic
		"EPOCHSECONDS", "EPOCHREALTIME", "UID", "EUID", "PPID", "GROUPS", "DIRSTACK",
		"FUNCNAME", "PIPESTATUS", "MAPFILE", "COPROC", // arrays, whose declared values bash evaluates
		"READLINE_POINT", "READLINE_MARK", "READLINE_LINE":
		return evaluated
	}
	if strings.HasPrefix(name, "BASH_") || name == "BASHPID" || strings.HasPrefix(name, "COMP_") {
		return evaluated // BASH_CMDS and BASH_ALIASES say what a name runs
	}
	lower := !strings.ContainsFunc(name, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if d == zsh && (!lower || zshSpecial(name)) {
		return evaluated // many of zsh's are numbers or tied to PATH and the like
	}
	if !lower || strings.HasSuffix(name, "_proxy") {
		return guarded
	}
	return free
}

// zshSpecial knows the lower-case names that mean something to zsh.
func zshSpecial(name string) bool {
	switch name {
	case "aliases", "argv", "builtins", "cdpath", "commands", "dirstack", "dis_aliases", "dis_functions",
		"fignore", "fpath", "funcstack", "functions", "galiases", "historywords", "history", "jobstates",
		"keymaps", "mailpath", "manpath", "module_path", "modules", "nameddirs", "options", "parameters",
		"path", "pipestatus", "prompt", "psvar", "saliases", "signals", "status", "termcap", "terminfo",
		"userdirs", "watch", "widgets", "zsh_eval_context":
		return true
	}
	return false
}

// validName says whether the text is a name that a variable can have.
func validName(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !letter(c) && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// digits says whether the text is a whole number without a sign.
func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
