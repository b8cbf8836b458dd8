package receipts_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/receipts"
)

// killFolder, in the environment, makes the test binary the guard that is killed.
const killFolder = "COUNTERSIGN_KILL_FOLDER"

// tickDisk says each operation on the disk on standard output, before and after,
// so that whoever reads along can kill at any of them.
func tickDisk() *faultDisk {
	tick := func(string, string) error { _, err := os.Stdout.Write([]byte(".\n")); return err }
	d := &faultDisk{Disk: receipts.OSDisk()}
	d.set(tick, tick)
	return d
}

// TestKillWorker is the guard of TestKills: it makes calls until it is killed, and
// keeps beside its records what the server it stands before would know of them.
func TestKillWorker(t *testing.T) {
	dir := os.Getenv(killFolder)
	if dir == "" {
		t.Skip("the guard that TestKills kills")
	}
	w := killWorld(t, dir)
	upstream, err := os.OpenFile(filepath.Join(dir, "upstream"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	know := func(format string, args ...any) {
		// What was written stays, also when the writer is killed.
		if _, err := fmt.Fprintf(upstream, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(".\n")
	}
	c, err := receipts.OpenChain(t.Context(), w.config())
	if err != nil {
		know("stopped %s", strings.ReplaceAll(err.Error(), "\n", " "))
		t.Fatal(err)
	}
	know("started")
	for i := 0; ; i++ {
		turn, err := c.Take(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		call := testCall(t, []string{"files.read", "files.delete", "files.read"}[i%3], `{"text":"`+strings.Repeat("x", i*91%900)+`"}`)
		if a := turn.Check(call.Proposal); !a.Allowed {
			p, _ := a.First()
			if err := turn.Refuse(receipts.Refused{Call: call, By: "slip", Code: string(p.Code)}); err != nil {
				t.Fatal(err)
			}
			know("refused")
			continue
		}
		f, err := turn.Copy(call)
		if err != nil {
			t.Fatal(err)
		}
		know("forwarded %s", f.ID())
		r, err := f.Finish(answer(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		know("answered %s %s", r.ID, r.Fingerprint)
	}
}

// killWorld is a world whose records are in a folder given.
func killWorld(t testing.TB, dir string) *world {
	w := newWorld(t, func(s *receipts.Slip) {
		s.Limits = nil
		s.ValidFrom, s.ValidUntil = receipts.TimeOf(worldStart), receipts.TimeOf(worldStart.Add(100*365*24*time.Hour))
	})
	files := receipts.NewFiles(tickDisk(), receipts.FilesOptions{Ahead: 64 << 10, SyncEvery: 5 * time.Millisecond})
	t.Cleanup(func() { files.Close() })
	w.dir, w.files = dir, files
	w.cfg.Ledger, w.cfg.Book = filepath.Join(dir, "state", "ledger.jsonl"), filepath.Join(dir, "book.jsonl")
	w.cfg.DenialsPerHour, w.cfg.MarkEvery = 3600, 16
	w.cfg.Clock = time.Now
	w.cfg.Rand = rand.NewChaCha8([32]byte([]byte(time.Now().Format("20060102150405.000000000-padding-to-32"))[:32]))
	return w
}

// TestKills kills the guard at 300 moments, counted in operations on the disk and
// steps of calls, and starts it again on the same records each time.
func TestKills(t *testing.T) {
	kills, rounds := 300, 15
	if testing.Short() || raceEnabled {
		kills, rounds = 20, 2
	}
	var mu sync.Mutex        // guards seen
	seen := map[string]int{} // what the guard was doing last
	t.Run("rounds", func(t *testing.T) {
		for round := range rounds {
			t.Run(strconv.Itoa(round), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				random := rand.New(rand.NewPCG(4, uint64(round)))
				for range kills / rounds {
					killOnce(t, dir, 1+random.IntN(120))
					mu.Lock()
					seen[lastKnown(t, dir)]++
					mu.Unlock()
				}
				w := killWorld(t, dir)
				w.files = receipts.NewFiles(receipts.OSDisk(), receipts.FilesOptions{Ahead: 64 << 10})
				t.Cleanup(func() { w.files.Close() })
				c := w.open()
				w.close(c)
				w.whole()
				w.sameAsUpstream(t, dir)
			})
		}
	})
	t.Logf("killed after: %v", seen)
	for _, what := range []string{"forwarded", "answered", "refused", "started"} {
		if seen[what] == 0 && kills == 300 {
			t.Errorf("no kill came after %q", what)
		}
	}
}

// killOnce starts the guard and kills it after so many ticks.
func killOnce(t *testing.T, dir string, after int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillWorker$", "-test.v=false")
	// What a killed guard leaves behind is this test's to clear away.
	cmd.Env = append(os.Environ(), killFolder+"="+dir, "TMPDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	in := bufio.NewScanner(out)
	for ticks := 0; ticks < after && in.Scan(); ticks++ {
		if said = in.Text(); said != "." {
			break
		}
	}
	cmd.Process.Kill()
	err = cmd.Wait()
	var exit *exec.ExitError
	if said != "." || !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the guard ended by itself: %v %s %s", err, said, stderr.String())
	}
}

func lastKnown(t testing.TB, dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "upstream"))
	if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := simLines(text)
	return strings.Fields(lines[len(lines)-1])[0]
}

// sameAsUpstream: one receipt for each call the server saw, none twice, those that
// were answered as they were answered; and no receipt of a call that the server
// did not see, but one whose copy was written just before a kill.
func (w *world) sameAsUpstream(t testing.TB, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "upstream"))
	if err != nil {
		t.Fatal(err)
	}
	prints := map[string]string{}
	for _, line := range w.lines(w.cfg.Book) {
		if id, fp := stubOf(t, line); id != "" {
			if _, ok := prints[id]; ok {
				t.Fatalf("two receipts of %s", id)
			}
			prints[id] = fp
		}
	}
	var forwarded []string
	refused := 0
	for _, e := range simLines(text) {
		switch part := strings.Fields(e); part[0] {
		case "forwarded":
			forwarded = append(forwarded, part[1])
			if prints[part[1]] == "" {
				t.Fatalf("no receipt of %s", part[1])
			}
		case "answered":
			if prints[part[1]] != part[2] {
				t.Fatalf("another receipt of %s", part[1])
			}
		case "refused":
			refused++
		case "stopped":
			t.Fatalf("a start stopped: %s", e)
		}
	}
	for _, line := range w.lines(w.cfg.Ledger) {
		l, err := receipts.ReadLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := l.Body.(*receipts.OutcomeLine); ok && o.How != receipts.ReasonCrashed {
			stub, err := receipts.ReadStub(o.Stub)
			if err != nil || !slices.Contains(forwarded, stub.ID) {
				t.Fatalf("an outcome of a call that was not forwarded: %v", err)
			}
		}
	}
	if n := len(w.lines(w.cfg.Book + ".denials.jsonl")); n < refused {
		t.Fatalf("%d denials of %d refused calls", n, refused)
	}
}
