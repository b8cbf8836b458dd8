package shelltext

import "strings"

// RunsOthers says whether a program, given by name or path, is known to run
// other programs that its arguments, its input or a file name for it. Listed in
// an operand without argv it lets anything run, which the checker warns of
// (runs-others, content-rules.md 11). The wrappers of 4.3 are not among them:
// they are followed. No list can be whole; this one is of what is common.
func RunsOthers(program string) bool {
	name := base(program)
	if runsOthers(name) {
		return true
	}
	// python3.11, gcc-12, lua5.4: the name with a version behind it.
	if bare := strings.TrimRight(name, "0123456789.-"); bare != name && bare != "" && runsOthers(bare) {
		return true
	}
	// genv, gxargs, gtimeout: the wrappers as they are called beside others
	// of the name. Nothing follows them under this one.
	if bare, ok := strings.CutPrefix(name, "g"); ok && isWrapper(bare) {
		return true
	}
	return false
}

func runsOthers(name string) bool {
	switch name {
	case // interpreters and what evaluates a language with a call to the system
		"awk", "gawk", "mawk", "nawk", "original-awk", "sed", "gsed", "ed", "ex", "dc", "m4",
		"perl", "python", "pypy", "ruby", "irb", "jruby", "node", "nodejs", "deno", "bun", "tsx", "ts-node",
		"php", "lua", "luajit", "tclsh", "wish", "expect", "guile", "sbcl", "clisp", "emacs", "emacsclient",
		"java", "jshell", "scala", "groovy", "kotlin", "clojure", "ghci", "runghc", "ocaml", "erl", "elixir",
		"iex", "R", "Rscript", "julia", "octave", "swift", "raku", "pwsh", "powershell", "osascript", "gdb", "lldb",
		// shells beside those that are followed
		"ksh", "ksh93", "mksh", "pdksh", "ash", "yash", "posh", "rbash", "fish", "csh", "tcsh", "rc", "es",
		"elvish", "nu", "xonsh", "busybox", "toybox",
		// builders and package tools
		"make", "gmake", "bmake", "cmake", "ninja", "meson", "scons", "bazel", "buck2", "just", "task", "rake",
		"ant", "mvn", "gradle", "gradlew", "sbt", "lein", "cargo", "rustup", "go", "gcc", "cc", "g++", "clang",
		"npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "corepack", "pip", "pipx", "uv", "uvx", "poetry", "tox",
		"nox", "conda", "gem", "bundle", "bundler", "composer", "dotnet", "msbuild", "nix", "nix-shell", "guix",
		"apt", "apt-get", "aptitude", "dpkg", "rpm", "yum", "dnf", "zypper", "pacman", "apk", "brew", "snap", "flatpak",
		// version control
		"git", "hg", "svn", "bzr", "fossil", "jj", "gh", "glab",
		// other machines, other users, other rooms
		"ssh", "scp", "sftp", "mosh", "rsh", "rexec", "rsync", "ansible", "ansible-playbook", "salt", "pssh",
		"su", "runuser", "sg", "newgrp", "pkexec", "gosu", "su-exec", "setpriv", "capsh", "chroot", "unshare",
		"nsenter", "bwrap", "firejail", "proot", "fakeroot", "fakechroot", "systemd-run", "systemctl",
		"systemd-nspawn", "machinectl", "start-stop-daemon", "daemonize", "docker", "podman", "nerdctl", "buildah",
		"kubectl", "oc", "helm", "terraform", "tofu", "vagrant", "lxc", "lxc-attach", "incus", "virsh", "qemu",
		"ip", "wine", "adb",
		// wrappers that are not followed
		"chronic", "ifne", "parallel", "sem", "rush", "pexec", "unbuffer", "script", "screen", "tmux", "zellij",
		"at", "batch", "crontab", "entr", "fswatch", "watchexec", "inotifywait", "nodemon", "ionice", "taskset",
		"chrt", "renice", "flock", "lockfile", "setlock", "softlimit", "prlimit", "cpulimit", "choom", "setarch",
		"linux32", "linux64", "i386", "x86_64", "uname26", "numactl", "cgexec", "dbus-run-session", "dbus-launch",
		"xvfb-run", "ssh-agent", "gpg-agent", "direnv", "dotenv", "faketime", "torsocks", "torify", "proxychains",
		"proxychains4", "strace", "ltrace", "perf", "valgrind", "rr", "catchsegv", "hyperfine", "ld.so",
		"run-parts", "run-one", "pv", "pipexec", "execlineb", "foreground", "background", "s6-setuidgid", "chpst",
		"tini", "dumb-init", "catatonit", "cronic", "sponge", "vidir", "sudoedit", "visudo", "fd", "fdfind",
		// what calls out by an option
		"tar", "bsdtar", "gtar", "cpio", "zip", "7z", "rar", "sort", "split", "csplit", "locate",
		"xdg-open", "open", "less", "more", "most", "man", "info", "vi", "vim", "nvim", "view", "rvim", "nano",
		"pico", "joe", "mc", "ranger", "nnn", "lf", "fzf", "sk", "rg", "ack", "ctags", "cscope", "diff", "sdiff",
		"curl", "wget", "aria2c", "ftp", "lftp", "telnet", "nc", "ncat", "netcat", "socat", "openssl", "tcpdump",
		"tshark", "nmap", "mail", "mailx", "mutt", "sendmail", "procmail", "logrotate", "rlwrap", "dialog",
		"psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo", "redis-cli", "duckdb", "mount", "insmod",
		"modprobe", "ldconfig", "ldd", "pg_ctl", "pandoc", "latex", "pdflatex", "tex", "gnuplot", "convert",
		"magick", "ffmpeg", "gs", "aws", "gcloud", "az", "logsave", "batcat", "bat":
		return true
	}
	return false
}
