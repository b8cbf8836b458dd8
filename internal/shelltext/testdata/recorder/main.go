// Command recorder stands in the jail of the differential test in the place of
// every program, and keeps the jail.
//
// Copied under a name, with that name written into the copy, it appends what it
// was called with to /rec/log; where /real has a program of the name, that one
// takes over. Called as "keeper" it is the jail's first process: it reads
// scripts, runs each in the shell it is told and answers with what was run.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// name is overwritten in the file of each copy, padded with dots. A variable
// of the linker would be shared by all.
var name = []byte("RECORDER-NAME-HERE................................")

// longest is how long one script may run.
const longest = 3 * time.Second

type job struct {
	Path   string   // of the shell
	Argv   []string // its words
	Env    []string
	Script string
}

type record struct {
	Name string
	Args []string
	Env  []string
}

type answer struct {
	Records  []record
	Files    []string // below /w afterwards
	TimedOut bool
	Err      string
}

func main() {
	own := strings.TrimRight(string(name), ".")
	if own == "keeper" {
		keep()
		return
	}
	line, err := json.Marshal(record{own, os.Args, os.Environ()})
	if err != nil {
		os.Exit(99)
	}
	f, err := os.OpenFile("/rec/log", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		os.Exit(99)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		os.Exit(99)
	}
	f.Close()
	real := "/real/" + own
	if own == "sh" && os.Getenv("JAIL_SH") == "bash" {
		real = "/real/bash"
	}
	if _, err := os.Stat(real); err == nil {
		syscall.Exec(real, os.Args, os.Environ())
		os.Exit(98)
	}
	os.Stdout.WriteString("rm out\n")
}

func keep() {
	limit := func(what int, n uint64) { syscall.Setrlimit(what, &syscall.Rlimit{Cur: n, Max: n}) }
	limit(syscall.RLIMIT_FSIZE, 1<<20)
	limit(syscall.RLIMIT_NOFILE, 64)
	limit(syscall.RLIMIT_CORE, 0)
	limit(syscall.RLIMIT_CPU, 600)
	limit(6 /* RLIMIT_NPROC */, 200)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var j job
		if err := json.Unmarshal(line, &j); err != nil {
			return
		}
		if err := out.Encode(run(j)); err != nil {
			return
		}
	}
}

func run(j job) (a answer) {
	fail := func(err error) answer { return answer{Err: err.Error()} }
	if err := os.WriteFile("/rec/log", nil, 0o666); err != nil {
		return fail(err)
	}
	old, _ := filepath.Glob("/w/*")
	hidden, _ := filepath.Glob("/w/.*")
	for _, f := range append(old, hidden...) {
		if b := filepath.Base(f); b != "." && b != ".." {
			os.RemoveAll(f)
		}
	}
	for _, f := range []string{"/w/a.txt", "/w/b.txt", "/w/-delete"} {
		if err := os.WriteFile(f, []byte("rm in a file\n"), 0o644); err != nil {
			return fail(err)
		}
	}
	stdin, err := os.Open("/input")
	if err != nil {
		return fail(err)
	}
	defer stdin.Close()
	sink, err := os.OpenFile("/rec/out", os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o666)
	if err != nil {
		return fail(err)
	}
	defer sink.Close()
	_, err = syscall.ForkExec(j.Path, append(j.Argv, "-c", j.Script), &syscall.ProcAttr{
		Dir:   "/w",
		Env:   j.Env,
		Files: []uintptr{stdin.Fd(), sink.Fd(), sink.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fail(err)
	}
	// Everything the script leaves behind becomes a child of ours.
	end := time.AfterFunc(longest, func() { syscall.Kill(-1, syscall.SIGKILL) })
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &ws, 0, nil); err == syscall.EINTR {
			continue
		} else if err != nil {
			break
		}
	}
	a.TimedOut = !end.Stop()
	log, err := os.ReadFile("/rec/log")
	if err != nil {
		return fail(err)
	}
	for _, line := range strings.Split(string(log), "\n") {
		var r record
		if line != "" && json.Unmarshal([]byte(line), &r) == nil {
			a.Records = append(a.Records, r)
		}
	}
	filepath.Walk("/w", func(p string, _ os.FileInfo, _ error) error {
		a.Files = append(a.Files, p)
		return nil
	})
	return a
}
