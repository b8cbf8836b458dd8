package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"countersign/proxy"
	"countersign/receipts"
	"countersign/rules"
)

// wordRules is a rules file that refuses one word.
func wordRules(name, word string) string {
	return fmt.Sprintf(`{"format":"content-rules/v1","name":%q,"rules":[{"id":"no-%s","tools":["*"],"refuse":{"some":"/**","contains":%q}}]}`+"\n", name, word, word)
}

func fingerprintOf(t *testing.T, text string) string {
	t.Helper()
	f, problems := rules.Read("r.json", []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	return f.Fingerprint
}

// pinnedWorld is a signed world whose slip has the given versions of each rules
// file, in order; the first version of each is on the disk.
type pinnedWorld struct {
	t       *testing.T
	config  string
	dir     string
	passkey *receipts.DevelopmentPasskey
}

// newPinnedWorld makes one. names are those of the rules files, in order.
func newPinnedWorld(t *testing.T, names ...string) *pinnedWorld {
	t.Helper()
	config, _, passkey := signedWorld(t)
	w := &pinnedWorld{t, config, filepath.Dir(config), passkey}
	var files []string
	for _, name := range names {
		files = append(files, fmt.Sprintf("%q", name+".json"))
	}
	w.edit(`"contentRules": "content-rules.json"`, `"contentRules": [`+strings.Join(files, ", ")+`]`)
	return w
}

// edit changes the settings.
func (w *pinnedWorld) edit(old, new string) {
	w.t.Helper()
	src, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Contains(src, []byte(old)) {
		w.t.Fatalf("no %s in the settings", old)
	}
	if err := os.WriteFile(w.config, bytes.Replace(src, []byte(old), []byte(new), 1), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// put replaces a rules file as an editor does.
func (w *pinnedWorld) put(name, text string) {
	w.t.Helper()
	if err := replaceFile(filepath.Join(w.dir, name+".json"), []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

// sign makes a slip with entries for rules files: name, version, version, …
func (w *pinnedWorld) sign(entries ...[]string) {
	w.t.Helper()
	w.signAs(func(*receipts.Slip) {}, entries...)
}

// signAs is sign of a slip that was changed in some way.
func (w *pinnedWorld) signAs(adjust func(*receipts.Slip), entries ...[]string) {
	w.t.Helper()
	world, err := load(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	world.readKeys(false)
	if err := world.problems.Err(); err != nil {
		w.t.Fatal(err)
	}
	var software []receipts.Detail
	for _, e := range entries {
		for _, text := range e[1:] {
			software = append(software, receipts.Detail{Name: e[0], SHA256: fingerprintOf(w.t, text)})
		}
	}
	id, err := receipts.NewID(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	slip := &receipts.Slip{
		ID: id, Agent: receipts.Agent{Keys: world.agent.Keys(), Name: receipts.Covered{Text: "agent"}, Software: software},
		Actions: actionsOf(world.settings), Requires: []receipts.Condition{{Need: receipts.KindCountersignature}},
		With:      []receipts.Service{{ID: world.settings.Service, Name: receipts.Covered{Text: "Guard"}, Keys: world.guard.Keys()}},
		ValidFrom: receipts.TimeOf(time.Now().Add(-time.Minute)), ValidUntil: receipts.TimeOf(time.Now().Add(time.Hour)),
		Purpose: receipts.Covered{Text: "A test."},
	}
	adjust(slip)
	record, err := w.passkey.SignSlip(slip)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := replaceFile(world.settings.Agent.Slip, record); err != nil {
		w.t.Fatal(err)
	}
}

// notices are what the ledger's notices say, of one kind.
func (w *pinnedWorld) notices(what string) []receipts.NoticeLine {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "ledger.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	var out []receipts.NoticeLine
	for line := range bytes.Lines(bytes.TrimRight(b, "\x00")) {
		l, err := receipts.ReadLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			w.t.Fatal(err)
		}
		if n, ok := l.Body.(*receipts.NoticeLine); ok && n.What == what {
			out = append(out, *n)
		}
	}
	return out
}

// start is the start of a guard whose input has ended: its exit code and what it
// said.
func (w *pinnedWorld) start() (int, string) {
	w.t.Helper()
	code, _, errs := command(w.t, "", "stdio", "--config", w.config)
	return code, errs
}

// A file that changes to a later version of the slip's is taken on at once; one
// that is faulty, not in the slip, an earlier one or gone changes nothing, and
// says so once.
func TestReload(t *testing.T) {
	one, two, three := wordRules("r", "one"), wordRules("r", "two"), wordRules("r", "three")
	w := newPinnedWorld(t, "r")
	w.put("r", one)
	w.sign([]string{softwareName, one, two, three})
	g := openWindow(t, w.config)
	says := func(text, refusedBy string) {
		t.Helper()
		got := g.say(t, text)
		if refusedBy == "" && got != text || refusedBy != "" && !strings.Contains(got, refusedBy) {
			t.Errorf("%q: %q, want %q", text, got, refusedBy)
		}
	}
	says("one", "r/no-one")
	says("two", "")

	w.put("r", two)
	g.errs.await(t, 1, `msg="rules reloaded"`)
	says("one", "")
	says("two", "r/no-two")

	w.put("r", "{")
	g.errs.await(t, 1, "what is in force stays")
	w.put("r", wordRules("r", "none"))
	g.errs.await(t, 1, "which is not one of the 3 versions that the person signed")
	w.put("r", one)
	g.errs.await(t, 1, "version 2 was in force already")
	if err := os.Remove(filepath.Join(w.dir, "r.json")); err != nil {
		t.Fatal(err)
	}
	g.errs.await(t, 1, "is not there any more")
	says("one", "")
	says("two", "r/no-two")

	// A hangup reads the files too, and says of what is told already nothing more.
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.errs.await(t, 1, "as a hangup signal asks for")
	w.put("r", three)
	g.errs.await(t, 2, `msg="rules reloaded"`)
	says("two", "")
	says("three", "r/no-three")
	if n := strings.Count(g.errs.String(), "is not there any more"); n != 1 {
		t.Errorf("told %d times that the file is gone", n)
	}

	// Both windows judge by the same rules, whichever opened when.
	second := openWindow(t, w.config)
	if got := second.say(t, "three"); !strings.Contains(got, "r/no-three") {
		t.Errorf("the second window: %q", got)
	}
	second.Close()
	second.ended(t)
	g.Close()
	if code := g.ended(t); code != exitDone {
		t.Errorf("code %d\n%s", code, g.errs)
	}
	var reloaded []string
	for _, n := range w.notices(noticeReloaded) {
		reloaded = append(reloaded, n.SHA256)
	}
	if want := []string{fingerprintOf(t, two), fingerprintOf(t, three)}; !slices.Equal(reloaded, want) {
		t.Errorf("reloads on record: %v, want %v", reloaded, want)
	}
	if kept := w.notices(noticeKept); len(kept) != 3 {
		t.Errorf("%d notices of rules that were kept, want 3: %v", len(kept), kept)
	}
	sound(t, w.config, 4)
}

// A slip that changes is taken on while the guard runs: its limits begin anew. One
// that is not good changes nothing, and is told once.
func TestReloadSlip(t *testing.T) {
	one := wordRules("r", "one")
	entry := []string{softwareName, one}
	w := newPinnedWorld(t, "r")
	w.put("r", one)
	twice := func(s *receipts.Slip) {
		s.Limits = []receipts.Limit{{Action: "demo.echo", Kind: receipts.LimitCount, Bound: 2}}
	}
	w.signAs(twice, entry)
	g := openWindow(t, w.config)
	says := func(x *window, text, refused string) {
		t.Helper()
		if got := x.say(t, text); refused == "" && got != text || refused != "" && !strings.Contains(got, refused) {
			t.Errorf("%q: %q, want %q", text, got, refused)
		}
	}
	const inForce, over = `msg="a new slip is in force"`, "over-count-limit"
	says(g, "a", "")
	says(g, "b", "")
	says(g, "c", over)
	w.signAs(twice, entry)
	g.errs.await(t, 1, inForce)
	says(g, "d", "")
	second, err := os.ReadFile(filepath.Join(w.dir, "slip.json"))
	if err != nil {
		t.Fatal(err)
	}

	// Slips that are not good, in the way of each.
	if code, _, errs := command(t, "", "sign", "--development", "--replace", "--config", w.config); code != exitDone {
		t.Fatal(errs)
	}
	g.errs.await(t, 1, "which agent.issuerKeys does not name")
	says(g, "e", "")
	w.signAs(func(s *receipts.Slip) { s.ValidUntil = receipts.TimeOf(time.Now()) }, entry)
	g.errs.await(t, 1, "was in force only until")
	w.signAs(func(s *receipts.Slip) { s.With[0].ID = "other" }, entry)
	g.errs.await(t, 1, "does not name this guard")
	w.put("slip", "{}")
	g.errs.await(t, 4, "what is in force stays")
	if err := os.Remove(filepath.Join(w.dir, "slip.json")); err != nil {
		t.Fatal(err)
	}
	g.errs.await(t, 1, "slip.json is not there any more")
	g.cmd.Process.Signal(syscall.SIGHUP)
	g.errs.await(t, 1, "as a hangup signal asks for")
	says(g, "f", over)

	// The one before, again, and one whose time is still to come.
	w.put("slip", string(second))
	from := time.Now().Add(3 * time.Second).Truncate(time.Second)
	w.signAs(func(s *receipts.Slip) { s.ValidFrom = receipts.TimeOf(from) }, entry)
	g.errs.await(t, 1, "the slip is not in force yet")
	g.errs.await(t, 2, inForce)
	if time.Now().Before(from) {
		t.Error("a slip came into force before its time")
	}
	says(g, "g", "")
	says(g, "h", "")

	// A window opens under the slip that stands there.
	w.signAs(twice, entry)
	beside := openWindow(t, w.config)
	says(beside, "i", "")
	says(g, "j", "")
	says(beside, "k", over)
	w.put("slip", string(second)) // of which all is used
	g.errs.await(t, 4, inForce)
	says(beside, "l", over)
	beside.Close()
	beside.ended(t)
	g.Close()
	if code := g.ended(t); code != exitDone {
		t.Errorf("code %d\n%s", code, g.errs)
	}
	if n := strings.Count(g.errs.String(), inForce); n != 4 {
		t.Errorf("%d slips came into force, want 4\n%s", n, g.errs)
	}
	if kept := w.notices(noticeSlipKept); len(kept) != 5 {
		t.Errorf("%d notices of slips that were not taken on, want 5: %v", len(kept), kept)
	}
	sound(t, w.config, 8)
	if code, out, errs := command(t, "", "compare", "--config", w.config); code != exitDone {
		t.Errorf("compare: code %d\n%s%s", code, out, errs)
	}
	if code, errs := w.start(); code != exitDone {
		t.Errorf("the next start: code %d\n%s", code, errs)
	}
}

// A slip and the rules it names come into force together, whichever is there first,
// and the next start knows of it.
func TestReloadSlipAndRules(t *testing.T) {
	one, two, three := wordRules("r", "one"), wordRules("r", "two"), wordRules("r", "three")
	w := newPinnedWorld(t, "r")
	w.put("r", one)
	w.sign([]string{softwareName, one})
	g := openWindow(t, w.config)
	says := func(text string) {
		t.Helper()
		if got := g.say(t, text); !strings.Contains(got, "r/no-"+text) {
			t.Errorf("%q: %q", text, got)
		}
	}
	const inForce = `msg="a new slip is in force"`
	w.put("r", two) // the rules first
	g.errs.await(t, 1, "what is in force stays")
	says("one")
	w.sign([]string{softwareName, two})
	g.errs.await(t, 1, inForce)
	says("two")
	w.sign([]string{softwareName, two, three}) // fits what is there
	g.errs.await(t, 2, inForce)
	w.put("r", three)
	g.errs.await(t, 2, `msg="rules reloaded"`)
	says("three")
	w.sign([]string{softwareName, one}) // the slip first
	g.errs.await(t, 2, "what is in force stays")
	says("three")
	w.put("r", one)
	g.errs.await(t, 3, inForce)
	says("one")
	if kept, slips := w.notices(noticeKept), w.notices(noticeSlipKept); len(kept) != 1 || len(slips) != 1 {
		t.Errorf("notices %v, %v", kept, slips)
	}
	w.sign([]string{softwareName, two, one})
	g.errs.await(t, 4, inForce)
	g.cmd.Process.Kill()
	g.ended(t)
	w.put("r", two)
	if code, errs := w.start(); code != exitCannot || !strings.Contains(errs, "is version 1 of those that the slip names") {
		t.Errorf("back behind what came with the slip: code %d\n%s", code, errs)
	}
	w.put("r", one)
	if code, errs := w.start(); code != exitDone {
		t.Errorf("the next start: code %d\n%s", code, errs)
	}
	sound(t, w.config, 0)
}

// While a call is out a new slip waits: a window that opens does not wait for it as
// long, and a slip that was taken back meanwhile never comes into force.
func TestReloadSlipWaits(t *testing.T) {
	one := wordRules("r", "one")
	w := newPinnedWorld(t, "r")
	w.put("r", one)
	w.sign([]string{softwareName, one})
	slip := filepath.Join(w.dir, "slip.json")
	first, err := os.ReadFile(slip)
	if err != nil {
		t.Fatal(err)
	}
	read, err := load(w.config)
	if err != nil {
		t.Fatal(err)
	}
	read.readAll()
	errs := newErrorLog()
	p := &program{in: strings.NewReader(""), out: io.Discard, err: errs, now: time.Now, rand: rand.Reader}
	g, err := p.openGuard(t.Context(), read, p.logger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	old := g.chain.Slip()
	out, err := g.chain.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.sign([]string{softwareName, one})
	began := time.Now()
	if h := g.greeting(t.Context()); h.Slip != old || time.Since(began) >= helloTime {
		t.Fatalf("after %v a window is told of the slip %s", time.Since(began), h.Slip)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		g.reload(t.Context())
	}()
	// Until it has read the new slip, and waits for the turn.
	for stacks, n := make([]byte, 1<<20), 0; !bytes.Contains(stacks[:n], []byte("receipts.(*Chain).TakeFirst")); n = runtime.Stack(stacks, true) {
		time.Sleep(time.Millisecond)
	}
	if err := replaceFile(slip, first); err != nil {
		t.Fatal(err)
	}
	out.Release()
	<-done
	if g.chain.Slip() != old || g.chain.Entries() != 1 {
		t.Errorf("a slip that was taken back is in force, or in the book: %d entries\n%s", g.chain.Entries(), errs)
	}
	w.sign([]string{softwareName, one})
	g.reload(t.Context())
	if g.chain.Slip() == old || g.chain.Entries() != 2 {
		t.Errorf("a slip is not in force though no call is out: %d entries\n%s", g.chain.Entries(), errs)
	}
}

// Rules go only forward across starts too: the ledger knows the last.
func TestRulesGoOnlyForward(t *testing.T) {
	one, two := wordRules("r", "one"), wordRules("r", "two")
	w := newPinnedWorld(t, "r")
	w.put("r", one)
	w.sign([]string{softwareName, one, two})
	if code, errs := w.start(); code != exitDone {
		t.Fatalf("the first version: code %d\n%s", code, errs)
	}
	w.put("r", two)
	if code, errs := w.start(); code != exitDone {
		t.Fatalf("the second version: code %d\n%s", code, errs)
	}
	w.put("r", one)
	const back = "is version 1 of those that the slip names"
	if code, errs := w.start(); code != exitCannot || !strings.Contains(errs, back) {
		t.Errorf("back to the first: code %d\n%s", code, errs)
	}
	if code, out, _ := command(t, "", "check", "--config", w.config); code != exitNo || !strings.Contains(out, back) {
		t.Errorf("check: code %d\n%s", code, out)
	}

	// What a reload brought counts, with no call since.
	three := wordRules("r", "three")
	w.sign([]string{softwareName, two, three})
	w.put("r", two)
	g := openWindow(t, w.config)
	w.put("r", three)
	g.errs.await(t, 1, `msg="rules reloaded"`)
	g.cmd.Process.Kill()
	g.ended(t)
	w.put("r", two)
	if code, errs := w.start(); code != exitCannot || !strings.Contains(errs, back) {
		t.Errorf("back behind a reload: code %d\n%s", code, errs)
	}

	// A slip that has them in another order is the person's word.
	w.sign([]string{softwareName, three, two})
	if code, errs := w.start(); code != exitDone {
		t.Errorf("another order: code %d\n%s", code, errs)
	}
}

// Several files with versions each: all are pinned, and taken on whole.
func TestSeveralPinnedFiles(t *testing.T) {
	a1, a2, b1, b2 := wordRules("a", "one"), wordRules("a", "two"), wordRules("b", "three"), wordRules("b", "four")
	w := newPinnedWorld(t, "a", "b")
	w.put("a", a1)
	w.put("b", b1)
	for _, c := range []struct {
		name    string
		entries [][]string
		want    string // of a refused start; "" for none
	}{
		{"all there", [][]string{{"content-rules:a", a1, a2}, {"content-rules:b", b1, b2}}, ""},
		{"one not named", [][]string{{"content-rules:a", a1}}, "the slip does not name the rules file"},
		{"under the plain name", [][]string{{softwareName, a1, b1}}, "the slip names \"content-rules\" and no such rules file is loaded"},
		{"an entry with no file", [][]string{{"content-rules:a", a1}, {"content-rules:b", b1}, {"content-rules:c", a1, a2}}, `the slip names "content-rules:c" and no such rules file is loaded`},
		{"under each other's names", [][]string{{"content-rules:a", b1}, {"content-rules:b", a1}}, "which is not the one the person signed"},
		{"other software beside them", [][]string{{"content-rules:a", a1}, {"content-rules:b", b1}, {"content-rulesx", a2}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.sign(c.entries...)
			code, errs := w.start()
			if c.want == "" && code != exitDone || c.want != "" && (code != exitCannot || !strings.Contains(errs, c.want)) {
				t.Errorf("code %d, want %q\n%s", code, c.want, errs)
			}
		})
	}
	w.t = t
	w.sign([]string{"content-rules:a", a1, a2}, []string{"content-rules:b", b2, b1})
	g := openWindow(t, w.config)
	w.put("a", a2)
	g.errs.await(t, 1, `msg="rules reloaded"`)
	// One file goes forward and the other back: neither is taken on.
	w.put("b", b2)
	g.errs.await(t, 1, "version 2 was in force already")
	if got := g.say(t, "three"); !strings.Contains(got, "b/no-three") {
		t.Errorf("after a step back: %q", got)
	}
	if got := g.say(t, "two"); !strings.Contains(got, "a/no-two") {
		t.Errorf("after a step forward: %q", got)
	}
	g.Close()
	g.ended(t)
}

// As many versions as a slip can name, the last of them in force.
func TestSixteenVersions(t *testing.T) {
	w := newPinnedWorld(t, "r")
	entry := []string{softwareName}
	for i := range 16 {
		entry = append(entry, wordRules("r", fmt.Sprintf("w%d", i)))
	}
	w.put("r", entry[16])
	w.sign(entry)
	if code, errs := w.start(); code != exitDone {
		t.Errorf("the last: code %d\n%s", code, errs)
	}
	w.put("r", entry[15])
	if code, errs := w.start(); code != exitCannot || !strings.Contains(errs, "is version 15 of those") {
		t.Errorf("the one before: code %d\n%s", code, errs)
	}
}

// Without pinRules any sound file is taken on, and the start warns.
func TestReloadWithoutPins(t *testing.T) {
	w := newPinnedWorld(t, "r")
	w.edit(`"name"`, `"pinRules": false, "name"`)
	w.put("r", wordRules("r", "one"))
	w.sign()
	g := openWindow(t, w.config)
	g.errs.await(t, 1, "the rules are not held against the slip")
	w.put("r", wordRules("r", "two"))
	g.errs.await(t, 1, `msg="rules reloaded"`)
	w.put("r", wordRules("r", "one"))
	g.errs.await(t, 2, `msg="rules reloaded"`)
	if got := g.say(t, "one"); !strings.Contains(got, "r/no-one") {
		t.Errorf("after a reload: %q", got)
	}
	g.Close()
	g.ended(t)
	sound(t, w.config, 0)
}

// In the mode "rules" changed rules are taken on too, and nothing is written.
func TestReloadInModeRules(t *testing.T) {
	dir := t.TempDir()
	w := &pinnedWorld{t: t, config: filepath.Join(dir, "executor.json"), dir: dir}
	settings := `{"name": "Guard", "service": "guard", "mode": "rules", "contentRules": "r.json", "server": {"command": "countersign", "args": ["demo", "--tools"]}}`
	if err := os.WriteFile(w.config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	w.put("r", wordRules("r", "one"))
	g := openWindow(t, w.config)
	second := openWindow(t, w.config) // beside it, and nothing to it
	w.put("r", wordRules("r", "two"))
	for _, x := range []*window{g, second} {
		x.errs.await(t, 1, `msg="rules reloaded"`)
		if got := x.say(t, "two"); !strings.Contains(got, "r/no-two") {
			t.Errorf("after a reload: %q", got)
		}
		x.Close()
		if code := x.ended(t); code != exitDone {
			t.Errorf("code %d\n%s", code, x.errs)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// Pins that are written anew hold from then on; a broken pin file changes nothing.
func TestReloadPins(t *testing.T) {
	w := newPinnedWorld(t, "r")
	w.put("r", wordRules("r", "one"))
	w.sign([]string{softwareName, wordRules("r", "one")})
	w.edit(`"name"`, `"pinTools": "pins.json", "name"`)
	w.put("pins", string(proxy.NewPins(nil).Append(nil)))
	g := openWindow(t, w.config)
	if got := g.say(t, "hello"); !strings.Contains(got, "is refused until it is pinned anew") {
		t.Errorf("a tool that is not pinned: %q", got)
	}
	if code, out, errs := command(t, "", "pin", "--config", w.config); code != exitDone || !strings.Contains(out, `new: "echo"`) {
		t.Fatalf("pin: code %d\n%s%s", code, out, errs)
	}
	g.errs.await(t, 1, `msg="pins reloaded"`)
	if got := g.say(t, "hello"); got != "hello" {
		t.Errorf("pinned: %q", got)
	}
	w.put("pins", "{}")
	g.errs.await(t, 1, "what is in force stays")
	if code, errs := w.start(); code != exitCannot || !strings.Contains(errs, "/pinTools") {
		t.Errorf("a start on a broken pin file: code %d\n%s", code, errs)
	}
	if got := g.say(t, "again"); got != "again" {
		t.Errorf("after a broken file: %q", got)
	}
	g.Close()
	if code := g.ended(t); code != exitDone {
		t.Errorf("code %d\n%s", code, g.errs)
	}
	if got := w.notices(noticePinned); len(got) != 1 {
		t.Errorf("%d notices of pins", len(got))
	}
	if got := w.notices("tool-changed"); len(got) == 0 {
		t.Error("that a tool was hidden is not on record")
	}
	sound(t, w.config, 2)
}

// The ledger's end names the rules last in force, whatever else stands there.
func TestRulesBefore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.jsonl")
	if got, err := rulesBefore(path); got != nil || err != nil {
		t.Errorf("no ledger: %v, %v", got, err)
	}
	long := strings.Repeat("x", 3*lookBackPiece)
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"zeros", strings.Repeat("\x00", 5000)},
		{"half a line", `{"kind":"open"`},
		{"other lines", "{}\n" + long + "\n\nx"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := rulesBefore(path); got != nil || err != nil {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"lines", "a\nb\nc\n", []string{"c", "b", "a"}},
		{"no end, zeros", "a\nb\nc\x00\x00", []string{"b", "a"}},
		{"long ones", "a\n" + long + "\nc\n" + strings.Repeat("\x00", 2*lookBackPiece), []string{"c", long, "a"}},
		{"one without an end", "a", nil},
		{"blank ones", "\n\na\n", []string{"a"}},
	} {
		var got []string
		for line, err := range backwards(strings.NewReader(c.text), int64(len(c.text))) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d lines, want %d: %.60q", c.name, len(got), len(c.want), got)
		}
	}
}

// A file is looked at once its changes have settled, and at the latest after a
// while; changes of other files count for nothing.
func TestUntilQuiet(t *testing.T) {
	type clock struct {
		of    time.Duration
		fires chan time.Time
	}
	begin := func() (changes chan fsnotify.Event, timers chan clock, done chan struct{}) {
		changes, timers, done = make(chan fsnotify.Event), make(chan clock, 16), make(chan struct{})
		go func() {
			defer close(done)
			untilQuiet(context.Background(), changes, func(e fsnotify.Event) bool { return e.Name == "r" }, func(d time.Duration) <-chan time.Time {
				c := clock{d, make(chan time.Time, 1)}
				timers <- c
				return c.fires
			})
		}()
		return changes, timers, done
	}
	changes, timers, done := begin()
	most, quiet := <-timers, <-timers
	if most.of != settleMost || quiet.of != settleQuiet {
		t.Fatalf("waits of %v and %v", most.of, quiet.of)
	}
	changes <- fsnotify.Event{Name: "r"}
	again := <-timers
	changes <- fsnotify.Event{Name: "other"}
	quiet.fires <- time.Time{} // of before the change: nobody waits for it
	changes <- fsnotify.Event{Name: "r"}
	last := <-timers
	again.fires <- time.Time{}
	select {
	case <-done:
		t.Fatal("it did not wait for the last change")
	default:
	}
	last.fires <- time.Time{}
	<-done

	changes, timers, done = begin()
	most, _ = <-timers, <-timers
	changes <- fsnotify.Event{Name: "r"}
	most.fires <- time.Time{}
	<-done
}
