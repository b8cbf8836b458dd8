package shelltext_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// jail is a root folder of its own, in namespaces of its own, in which every
// program is a recorder. Its first process runs the scripts.
type jail struct {
	zsh   bool       // there is one in it
	mu    sync.Mutex // guards the pipes: one script at a time
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
}

// jailLife bounds the whole life of a jail, whatever happens to it.
const jailLife = 20 * time.Minute

// jailed are the programs of the jail. Those of the second list are real ones
// behind their recorder.
var (
	recorded = strings.Fields("ls git cat rm curl evil p 2 -v foo sudo doas eval export test [ echo printf time")
	realOnes = strings.Fields("env nice nohup timeout setsid stdbuf xargs find bash dash watch zsh")
)

type jailJob struct {
	Path   string
	Argv   []string
	Env    []string
	Script string
}

type jailRecord struct {
	Name string
	Args []string
	Env  []string
}

type jailAnswer struct {
	Records  []jailRecord
	Files    []string
	TimedOut bool
	Err      string
}

// shells of the jail: what a script of a dialect may be run by.
var jailShells = map[string]jailJob{
	"dash":       {Path: "/real/dash", Argv: []string{"dash"}},
	"bash as sh": {Path: "/real/bash", Argv: []string{"sh"}},
	"bash":       {Path: "/real/bash", Argv: []string{"bash"}},
	"zsh":        {Path: "/real/zsh", Argv: []string{"zsh"}},
}

// jailEnv holds values that only an expansion can bring into a command.
var jailEnv = []string{
	"PATH=/bin", "HOME=/w", "lower=rm low", "Q1=rm q", "Q2=-v a[$(rm q2)]", "Q3=a[$(rm q3)]", "Q4=;rm q4", "Q5=$(rm q5)",
	"Q6=. -exec rm {} ;", "Q7=a[$(rm q7)]=1", "Q8='", "Q9=-va[$(rm q9)]", "EMPTY=", "n=1",
	"x=-v a[$(rm qx)]", "y=a[$(rm qy)]",
}

// newJail builds a jail, or says loudly why it cannot and skips.
func newJail(t testing.TB) *jail {
	t.Helper()
	skip := func(format string, args ...any) {
		t.Helper()
		t.Skipf("DIFFERENTIAL TEST NOT RUN, nothing was compared with a real shell: "+format, args...)
	}
	for _, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			skip("%s is not installed", shell)
		}
	}
	root, err := os.MkdirTemp("", "jail")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := furnish(root); err != nil {
		skip("building the jail: %v", err)
	}
	host := os.Getuid()
	if host == 0 {
		host = 65534 // nobody: root in the jail is none outside
	}
	if os.Getuid() == 0 {
		err := filepath.Walk(root, func(p string, _ os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, host, host)
		})
		if err != nil {
			skip("giving the jail away: %v", err)
		}
	}
	cmd := exec.Command("/bin/keeper")
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Chroot:      root,
		Credential:  &syscall.Credential{NoSetGroups: true}, // 0, as the jail counts
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: host, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: hostGroup(host), Size: 1}},
	}
	j := &jail{cmd: cmd, lines: make(chan []byte)}
	if j.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		skip("starting the jail in namespaces: %v", err)
	}
	end := time.AfterFunc(jailLife, func() { cmd.Process.Kill() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(j.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			j.lines <- line
		}
	}()
	t.Cleanup(func() {
		end.Stop()
		j.in.Close()
		cmd.Process.Kill()
		for range j.lines {
		}
		<-done
		cmd.Wait()
	})
	// A jail that records nothing would pass every test.
	if _, err := exec.LookPath("zsh"); err == nil {
		j.zsh = true
	} else {
		t.Log("zsh is not installed: what is judged behind zsh -c was not compared with it")
	}
	for name := range jailShells {
		if name == "zsh" && !j.zsh {
			continue
		}
		a := j.run(t, name, "ls one; env git 'two 3'; /bin/rm x")
		var names []string
		for _, r := range a.Records {
			names = append(names, r.Name)
		}
		if want := []string{"ls", "env", "git", "rm"}; !slices.Equal(names, want) {
			t.Fatalf("the jail under %s recorded %v, want %v (%s %s)", name, names, want, a.Err, stderr.String())
		}
	}
	return j
}

func hostGroup(uid int) int {
	if os.Getuid() == 0 {
		return uid
	}
	return os.Getgid()
}

// run runs a script in one of the shells and gives what it ran.
func (j *jail) run(t testing.TB, shell, script string) jailAnswer {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	job := jailShells[shell]
	job.Script = script
	job.Env = jailEnv
	if shell == "bash as sh" {
		job.Env = append(slices.Clone(jailEnv), "JAIL_SH=bash")
	}
	line, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("the jail is gone: %v", err)
	}
	select {
	case got, ok := <-j.lines:
		if !ok {
			t.Fatalf("the jail died of %q", script)
		}
		var a jailAnswer
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatal(err)
		}
		if a.Err != "" {
			t.Fatalf("the jail: %s", a.Err)
		}
		return a
	case <-time.After(time.Minute):
		t.Fatalf("the jail does not answer on %q", script)
	}
	panic("unreachable")
}

// furnish puts the recorder and the real programs into the folder.
func furnish(root string) error {
	for _, d := range []string{"bin", "real", "w", "rec", "dev", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o777); err != nil {
			return err
		}
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(root, "recorder"), "./testdata/recorder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %s", err, out)
	}
	image, err := os.ReadFile(filepath.Join(root, "recorder"))
	if err != nil {
		return err
	}
	mark := []byte("RECORDER-NAME-HERE................................")
	if bytes.Count(image, mark) != 1 {
		return fmt.Errorf("the recorder holds its mark %d times, want once", bytes.Count(image, mark))
	}
	names := slices.Concat(recorded, realOnes, []string{"sh", "keeper"})
	for _, name := range names {
		own := []byte(name + strings.Repeat(".", len(mark)-len(name)))
		if err := os.WriteFile(filepath.Join(root, "bin", name), bytes.Replace(image, mark, own, 1), 0o755); err != nil {
			return err
		}
	}
	for _, name := range realOnes {
		if err := transplant(root, name); err != nil {
			return err
		}
	}
	modules, _ := filepath.Glob("/usr/lib/*/zsh/*/zsh/*.so")
	for _, m := range modules {
		if err := copyFile(m, filepath.Join(root, m)); err != nil {
			return err
		}
	}
	if err := copyFile(filepath.Join(root, "real", "dash"), filepath.Join(root, "real", "sh")); err != nil {
		return err
	}
	for name, text := range map[string]string{"dev/null": "", "input": "rm y\n-exec rm ;\n", "rec/log": "", "rec/out": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(root, "recorder"))
}

var library = regexp.MustCompile(`(/\S+)\s+\(0x`)

// transplant copies a program and the libraries it needs. One that is not
// installed stays a recorder.
func transplant(root, name string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	out, err := exec.Command("ldd", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ldd %s: %v: %s", path, err, out)
	}
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		if err := copyFile(m[1], filepath.Join(root, m[1])); err != nil {
			return err
		}
	}
	if name == "stdbuf" {
		return nil // it preloads a library of its own, which does not matter here
	}
	return copyFile(path, filepath.Join(root, "real", name))
}

func copyFile(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
