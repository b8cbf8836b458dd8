package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/proxy"
	"countersign/receipts"
	"countersign/rules"
)

// Waits between a change of a file and looking at it: whoever writes a file does
// so in several steps.
const (
	settleQuiet = 50 * time.Millisecond // without another change
	settleMost  = time.Second           // however many changes there are
)

// roomAgain is how long a slip that a full disk had no room for waits for the next
// try, and lookAgain the longest wait for one that is in force only later: a clock
// may be set, and a machine may sleep.
const (
	roomAgain = time.Minute
	lookAgain = time.Hour
)

// Notices of files that changed: of those that are not taken on, and of pins that
// are.
const (
	noticeKept     = "rules-kept"
	noticeSlipKept = "slip-kept"
	noticePinsKept = "pins-kept"
	noticePinned   = "pins-reloaded"
)

// watch has the files read again when they change, and when the process is
// sent a hangup, until ctx ends. wait returns when that has ended.
func (g *guard) watch(ctx context.Context) (wait func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	files := make(map[string]bool) // those whose changes count
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		g.log.Warn("changed files are not noticed; a hangup signal has them read again", "err", err)
	} else {
		for _, path := range g.watched() {
			files[path] = true
			// The folder, since a file is often replaced and not written to.
			if err := watcher.Add(filepath.Dir(path)); err != nil {
				g.log.Warn("changes of a file are not noticed; a hangup signal has it read again", "file", path, "err", err)
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(hangups)
		changes, failures := make(chan fsnotify.Event), make(chan error)
		if watcher != nil {
			defer watcher.Close()
			changes, failures = watcher.Events, watcher.Errors
		}
		counts := func(e fsnotify.Event) bool { return files[e.Name] && e.Op != fsnotify.Chmod }
		var again <-chan time.Time
		reload := func() {
			again = nil
			if at := g.reload(ctx); !at.IsZero() {
				again = time.After(min(at.Sub(g.now()), lookAgain))
			}
		}
		reload() // what changed since the start read it
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
			case <-hangups:
				g.log.Info("reading the files again, as a hangup signal asks for")
			case err := <-failures:
				g.log.Warn("watching files", "err", err) // and what was missed is looked for
			case e := <-changes:
				if !counts(e) {
					continue
				}
				untilQuiet(ctx, changes, counts, time.After)
			}
			reload()
		}
	}()
	return func() { <-done }
}

// untilQuiet waits until no change that counts has come for a while.
func untilQuiet(ctx context.Context, changes <-chan fsnotify.Event, counts func(fsnotify.Event) bool, after func(time.Duration) <-chan time.Time) {
	most, quiet := after(settleMost), after(settleQuiet)
	for {
		select {
		case <-ctx.Done():
			return
		case <-most:
			return
		case <-quiet:
			return
		case e := <-changes:
			if counts(e) {
				quiet = after(settleQuiet)
			}
		}
	}
}

// watched are the files to watch: those of the settings and, where these are
// links, what they lead to.
func (g *guard) watched() []string {
	var out []string
	files := slices.Clone(g.world.settings.ContentRules)
	if g.chain != nil {
		files = append(files, g.world.settings.Agent.Slip)
	}
	if pins := g.world.settings.PinTools; pins != "" {
		files = append(files, pins)
	}
	for _, path := range files {
		path = filepath.Clean(path)
		out = append(out, path)
		if to, err := filepath.EvalSymlinks(path); err == nil && to != path {
			out = append(out, to)
		}
	}
	return out
}

// reload reads the files that the guard was started with again. Where another slip is
// to be taken on it waits for the call that is out, until ctx ends. again is when to
// look once more without a change; zero for never.
func (g *guard) reload(ctx context.Context) (again time.Time) {
	select {
	case g.reloading <- struct{}{}:
	case <-ctx.Done():
		return time.Time{}
	}
	defer func() { <-g.reloading }()
	again = g.reloadSigned(ctx)
	g.reloadPins()
	return again
}

// reloadSigned reads the rules files and the slip and puts them in force as one, if
// they are sound, fit each other as at a start, and the rules are no earlier ones: for
// the calls whose turn comes from then on. Else all that is in force stays, and one
// notice says why until that changes.
func (g *guard) reloadSigned(ctx context.Context) (again time.Time) {
	fresh, why, gone := g.readAgain()
	var turn *receipts.Turn // no call is out then, and none is judged until it ends
	if why == "" && g.renews(fresh) {
		var err error
		if turn, err = g.chain.TakeFirst(ctx); err != nil {
			if ctx.Err() != nil {
				return time.Time{}
			}
			g.log.Error("the slip in force stays", "err", err)
			return g.whenRoom(err)
		}
		defer turn.Release()
		fresh, why, gone = g.readAgain() // what stands there now
	}
	if why != "" {
		what := noticeKept
		if fresh.slipAtFault() || g.renews(fresh) {
			what = noticeSlipKept
		}
		g.keep(&g.kept, what, why, gone)
		return time.Time{}
	}
	renewed, changed := turn != nil && g.renews(fresh), g.changed(fresh.rules)
	if !renewed && len(changed) == 0 {
		g.kept = ""
		return time.Time{}
	}
	compiled, err := proxy.NewRules(fresh.rules, engineOptions())
	if err != nil {
		g.keep(&g.kept, noticeKept, "the rules cannot be compiled: "+err.Error(), false)
		return time.Time{}
	}
	// First on record, so that the next start knows what was in force.
	if renewed {
		if err := turn.Renew(ctx, fresh.slip, filesOf(fresh.rules)); err != nil {
			if ctx.Err() != nil || g.chain.Err() != nil {
				return time.Time{} // the guard ends, and says why
			}
			g.keep(&g.kept, noticeSlipKept, err.Error(), false)
			if errors.Is(err, receipts.ErrNotYet) {
				return fresh.permission.ValidFrom.Time()
			}
			return g.whenRoom(err)
		}
	} else {
		for _, f := range changed {
			n := receipts.Notice{What: noticeReloaded, Text: "a new version of the rules " + f.Name, Bytes: int64(len(f.Source)), Hash: f.Fingerprint}
			if err := g.notice(n); err != nil {
				g.log.Error("the rules in force stay: a reload cannot be put on record", "err", err)
				return time.Time{}
			}
		}
	}
	g.kept = ""
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set, g.rules = fresh.rules, compiled
	for p := range g.pipelines {
		p.SetRules(compiled)
	}
	if renewed {
		g.log.Info("a new slip is in force", "file", fresh.settings.Agent.Slip, "fingerprint", g.chain.Slip(), "until", fresh.permission.ValidUntil)
		tellWarnings(fresh, g.log)
	}
	for _, f := range changed {
		g.log.Info("rules reloaded", "name", f.Name, "file", f.Path, "fingerprint", f.Fingerprint)
	}
	return time.Time{}
}

// whenRoom is when to try again what a full disk may have had no room for.
func (g *guard) whenRoom(err error) time.Time {
	if errors.Is(err, receipts.ErrNoRoom) {
		return g.now().Add(roomAgain)
	}
	return time.Time{}
}

// renews says whether the slip that was read is another than the one in force.
func (g *guard) renews(fresh *world) bool {
	return g.chain != nil && fresh.permission != nil && fresh.fingerprint != g.chain.Slip()
}

// readAgain reads the rules files and the slip, and holds them together. why says
// what keeps them from being taken on; gone is where a file is not there, which
// changes nothing.
func (g *guard) readAgain() (fresh *world, why string, gone bool) {
	s := g.world.settings
	fresh = &world{settings: s, agent: g.world.agent, guard: g.world.guard, inForce: g.fingerprints()}
	for _, path := range s.ContentRules {
		if isGone(path) {
			return fresh, fmt.Sprintf("the rules file %s is not there any more", path), true
		}
	}
	if g.chain != nil && isGone(s.Agent.Slip) {
		return fresh, fmt.Sprintf("the slip %s is not there any more", s.Agent.Slip), true
	}
	fresh.readRules()
	fresh.readSlip()
	if g.renews(fresh) {
		fresh.lookAtModes()
	}
	if len(fresh.problems) == 0 {
		fresh.hold()
	}
	if len(fresh.problems) > 0 {
		return fresh, fresh.problems.String(), false
	}
	return fresh, "", false
}

func isGone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// slipAtFault says whether a problem is one of the slip.
func (w *world) slipAtFault() bool {
	return slices.ContainsFunc(w.problems, func(p problem.Problem) bool { return p.Pointer == "/agent/slip" })
}

// kept is why a file that changed is not taken on, as it was told; "" where it is.
type kept string

// keep notes once why changed files are not taken on.
func (g *guard) keep(told *kept, what, why string, gone bool) {
	if string(*told) == why {
		return
	}
	*told = kept(why)
	g.log.Warn("what is in force stays", "why", why)
	if gone {
		return
	}
	if err := g.notice(receipts.Notice{What: what, Text: why}); err != nil {
		g.log.Error("recording a notice", "err", err)
	}
}

// reloadPins reads the pin file and has tools held against it from then on.
func (g *guard) reloadPins() {
	path := g.world.settings.PinTools
	if path == "" {
		return
	}
	b, err := plainfile.Read(path, proxy.MaxPinBytes)
	var pins *proxy.Pins
	if err == nil {
		pins, err = proxy.ReadPins(b)
	}
	if err != nil {
		g.keep(&g.keptPins, noticePinsKept, fmt.Sprintf("the pin file %s: %v", path, err), errors.Is(err, fs.ErrNotExist))
		return
	}
	g.keptPins = ""
	g.mu.Lock()
	same := g.pins != nil && g.pins.Set() == pins.Set()
	g.mu.Unlock()
	if same {
		return
	}
	if err := g.notice(receipts.Notice{What: noticePinned, Text: "other pins of tools", Bytes: int64(len(b)), Hash: pins.Set()}); err != nil {
		g.log.Error("the pins in force stay: a reload cannot be put on record", "err", err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pins = pins
	for p := range g.pipelines {
		p.SetPins(pins)
	}
	g.log.Info("pins reloaded", "file", path, "tools", pins.Len(), "set", pins.Set())
}

// notice puts something on record, where there are records.
func (g *guard) notice(n receipts.Notice) error {
	if g.chain == nil {
		return nil
	}
	return g.chain.Notice(n)
}

// fingerprints are those of the rules in force.
func (g *guard) fingerprints() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for _, f := range g.set.Files {
		out = append(out, f.Fingerprint)
	}
	return out
}

// changed are the files of a set that are others than those in force.
func (g *guard) changed(set *rules.Set) []*rules.File {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*rules.File
	for i, f := range set.Files {
		if i >= len(g.set.Files) || g.set.Files[i].Fingerprint != f.Fingerprint {
			out = append(out, f)
		}
	}
	return out
}
