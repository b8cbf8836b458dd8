package proxy_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/proxy"
)

// buffer is a writer that several goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Split(strings.TrimSuffix(b.b.String(), "\n"), "\n")
}

func nobody(*proxy.Message) {}

// cases/rule-tests-secrets-replay.md
func TestSEC01TheChildsEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/home/x", "TZ": "UTC", "LANG": "C.UTF-8", "TMPDIR": "",
		"GUARD_SIGNING_KEY": "dummy-1", "CLOUD_SECRET_KEY": "dummy-2", "LC_ALL": "C",
	} {
		t.Setenv(name, value)
	}
	// A file that is open without the flag that closes it in a child, as a
	// careless parent leaves one.
	leak, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)

	cfg := self(t, "environ", proxy.Variable{Name: "NAMED", Value: "a=b c"}, proxy.Variable{Name: "LANG", Value: "de_DE"})
	var out buffer
	cfg.Stderr, cfg.Mark = &out, "[server] "
	c, err := proxy.StartChild(cfg, nobody)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var env, fds []string
	for _, line := range out.lines() {
		line, ok := strings.CutPrefix(line, "[server] ")
		if !ok {
			t.Fatalf("a line without its mark: %q", line)
		}
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "env":
			env = append(env, rest)
		case "fd":
			fd, file, _ := strings.Cut(rest, " ")
			if !strings.HasPrefix(file, "/sys/fs/cgroup/") { // the child's own runtime looks there
				fds = append(fds, fd)
			}
		}
	}
	want := []string{"HOME=/home/x", "LANG=de_DE", "NAMED=a=b c", "PATH=" + os.Getenv("PATH"), "PROXY_TEST_SERVER=environ", "TZ=UTC"}
	if !slices.Equal(env, want) {
		t.Errorf("environment:\n got %q\nwant %q", env, want)
	}
	if !slices.Equal(fds, []string{"0", "1", "2"}) {
		t.Errorf("open files: got %q in\n%s", fds, strings.Join(out.lines(), "\n"))
	}
}

func TestAVariableThatIsNotSet(t *testing.T) {
	for name, v := range map[string]proxy.Variable{
		`env: TOKEN is asked for and not set`:     {Name: "TOKEN"},
		`env: "A=B" is no name of a variable`:     {Name: "A=B", Value: "x"},
		`env: "" is no name of a variable`:        {Value: "x"},
		`env: TOKEN has a value with a NUL in it`: {Name: "TOKEN", Value: "secret\x00"},
	} {
		_, err := proxy.StartChild(self(t, "environ", v), nobody)
		if err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	if _, err := proxy.StartChild(proxy.ChildConfig{Command: "/no/such/program"}, nobody); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A child that hears nothing is killed, and what it left running with it.
func TestAChildThatWillNotEnd(t *testing.T) {
	cfg := self(t, "stubborn")
	cfg.Steps = proxy.Steps{AfterClose: 50 * time.Millisecond, AfterTerm: 50 * time.Millisecond}
	pids := make(chan string, 1)
	cfg.Stderr = writerFunc(func(b []byte) {
		if line, ok := strings.CutPrefix(string(b), "server: pids "); ok {
			pids <- strings.TrimSpace(line)
		}
	})
	c, err := proxy.StartChild(cfg, nobody)
	if err != nil {
		t.Fatal(err)
	}
	var both string
	select {
	case both = <-pids:
	case <-time.After(patience):
		t.Fatal("the child does not speak")
	}
	begin := time.Now()
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the child ended with %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the ladder took %v", took)
	}
	for pid := range strings.FieldsSeq(both) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if !gone(n) {
			t.Errorf("process %d is still there", n)
		}
	}
}

// gone waits for a process to be gone, or dead and waiting to be taken by init.
func gone(pid int) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return true
		}
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(rest, "Z") {
			return true
		}
	}
	return false
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// Close may be called again, and after the child has ended by itself.
func TestCloseTwice(t *testing.T) {
	c, err := proxy.StartChild(self(t, "environ"), nobody)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("got %v", err)
		}
	}
	if _, err := c.Open(func(*proxy.Message, error) {}); !errors.Is(err, proxy.ErrUpstreamClosed) {
		t.Errorf("a request to a closed server: %v", err)
	}
}

// What a server prints on standard error cannot pass for a line of the guard's.
func TestStandardErrorIsMarked(t *testing.T) {
	cfg := proxy.ChildConfig{Command: "/bin/sh", Args: []string{"-c", `printf 'one\r\ntwo\rthree\nno end' >&2`}, Mark: "[s] ", Getenv: os.Getenv}
	var out buffer
	cfg.Stderr = &out
	c, err := proxy.StartChild(cfg, nobody)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"[s] one", `[s] two\rthree`, "[s] no end"}
	if got := out.lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A line too long to be searched in one piece for credentials is left out: cut in
// two it could show one in halves.
func TestALongLineOnStandardError(t *testing.T) {
	secrets, err := proxy.NewSecrets([]string{"s3cr3t-of-the-server"})
	if err != nil {
		t.Fatal(err)
	}
	script := `head -c 32758 /dev/zero | tr '\\0' A >&2; echo s3cr3t-of-the-server >&2; echo next s3cr3t-of-the-server >&2`
	cfg := proxy.ChildConfig{Command: "/bin/sh", Args: []string{"-c", script}, Mark: "[s] ", Getenv: os.Getenv, Clean: secrets.Clean}
	var out buffer
	cfg.Stderr = &out
	c, err := proxy.StartChild(cfg, nobody)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	lines := out.lines()
	if len(lines) != 2 || lines[0] != "[s] (a line over 32768 bytes, left out)" || !strings.HasPrefix(lines[1], "[s] next ") {
		t.Errorf("got %q", lines)
	}
	for _, line := range lines {
		if strings.Contains(line, "s3cr") {
			t.Errorf("a part of the credential: %q", line)
		}
	}
}
