package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/internal/settings"
	"countersign/proxy"
	"countersign/receipts"
	"countersign/rules"
)

// world is everything that one settings file leads to, read and checked. What
// could not be read is nil, and a problem says why.
type world struct {
	settings *settings.Settings
	rules    *rules.Set // nil where a rules file is faulty; without any, an empty set

	agent, guard *receipts.Signer
	ledgerKey    *receipts.LedgerKey
	slip         []byte
	permission   *receipts.Slip // the slip's content, once its signature was checked
	fingerprint  string         // of the slip

	pins *proxy.Pins // nil where none are named

	inForce []string // fingerprints of the rules of a guard that runs; nil: the ledger knows

	oldKeys  []*receipts.Signer // of settings from before, to finish receipts
	rollover bool               // begin a new book

	credentials map[string]settings.Credential // by path

	problems problem.List
	warnings problem.List
}

// load reads the settings file. An error is one of reading the file itself.
func load(path string) (*world, error) {
	s, problems, err := settings.Load(path)
	if err != nil {
		return nil, hint(err, `"countersign init" writes one to start from`)
	}
	return &world{settings: s, problems: problems, warnings: s.Warnings, credentials: make(map[string]settings.Credential)}, nil
}

// fault notes a problem of what a member of the settings names.
func (w *world) fault(pointer, format string, args ...any) {
	w.problems = append(w.problems, w.settings.Fault(pointer, format, args...))
}

func (w *world) warn(pointer, format string, args ...any) {
	p := w.settings.Fault(pointer, format, args...)
	p.Code = settings.CodeWarning
	w.warnings = append(w.warnings, p)
}

// signs says whether the mode has a slip, keys and receipts.
func (w *world) signs() bool { return w.settings.Mode == settings.Enforce }

// readRules reads the rules files.
func (w *world) readRules() {
	var files []rules.Source
	whole := true
	for i, path := range w.settings.ContentRules {
		b, err := plainfile.Read(path, rules.MaxBytes)
		if err != nil {
			w.fault(w.rulesPointer(i), "the rules file cannot be read: %v", err)
			whole = false
			continue
		}
		files = append(files, rules.Source{Path: path, Data: b})
	}
	if !whole {
		return
	}
	set := new(rules.Set)
	if len(files) > 0 {
		var problems rules.Problems
		if set, problems = rules.ReadSet(files); len(problems) > 0 {
			w.problems = append(w.problems, unfilledFirst(files, problems)...)
			return
		}
	}
	for _, f := range files {
		w.problems = append(w.problems, settings.Placeholders(f.Path, f.Data)...)
		if tests := testsOf(f.Path); tests != "" {
			if b, err := plainfile.Read(tests, rules.MaxBytes); err == nil {
				w.problems = append(w.problems, settings.Placeholders(tests, b)...)
			}
		}
	}
	for _, f := range set.Files {
		w.warnings = append(w.warnings, f.Warnings...)
	}
	w.rules = set
}

// unfilledFirst tells a value still written <like this> as that, in place of what
// else is wrong with it.
func unfilledFirst(files []rules.Source, problems rules.Problems) rules.Problems {
	type spot struct {
		file         string
		line, column int
	}
	blank := make(map[spot]bool)
	var out rules.Problems
	for _, f := range files {
		for _, p := range settings.Placeholders(f.Path, f.Data) {
			blank[spot{p.File, p.Line, p.Column}] = true
			out = append(out, p)
		}
	}
	for _, p := range problems {
		// Where a list is used, an entry of it is quoted that is no value yet.
		quotes := len(blank) > 0 && strings.Contains(p.Msg, `"<`)
		if !quotes && !blank[spot{p.File, p.Line, p.Column}] {
			out = append(out, p)
		}
	}
	return out
}

// readPins reads the pin file.
func (w *world) readPins() {
	path := w.settings.PinTools
	if path == "" || w.blank("/pinTools") {
		return
	}
	b, err := plainfile.Read(path, proxy.MaxPinBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.fault("/pinTools", `the pin file %s is not there: "countersign pin" lists the server's tools and writes it`, path)
		return
	case err != nil:
		w.fault("/pinTools", "the pin file cannot be read: %v", err)
		return
	}
	if w.pins, err = proxy.ReadPins(b); err != nil {
		w.fault("/pinTools", `the pin file %s: %v; look at the tools and write it anew with "countersign pin"`, path, err)
		return
	}
	for _, name := range w.pins.Names() {
		if _, err := w.settings.Tools.Find(name); err != nil {
			w.warn("/tools", "every call of the pinned tool %s is refused: %v", problem.Quoted(name), err)
		}
	}
}

// testsOf is the path of a rules file's tests: content-rules.test.json beside
// content-rules.json.
func testsOf(path string) string {
	base, ok := strings.CutSuffix(path, ".json")
	if !ok {
		return ""
	}
	return base + ".test.json"
}

// rulesPointer is the place of the i-th rules file in the settings.
func (w *world) rulesPointer(i int) string {
	if len(w.settings.ContentRules) == 1 {
		return "/contentRules"
	}
	return fmt.Sprintf("/contentRules/%d", i)
}

// readServer looks for the server's program and folder, and reads its
// credentials.
func (w *world) readServer() {
	if s := w.settings.Server; s != nil {
		w.readProgram("/server", s)
	}
	for _, u := range w.settings.Servers {
		if u.Server != nil {
			w.readProgram("/servers/"+problem.EscapePointer(u.ID), u.Server)
		}
	}
}

func (w *world) readProgram(pointer string, s *settings.Server) {
	if !w.blank(pointer+"/command") && s.Command != "" {
		if _, err := exec.LookPath(s.Command); err != nil {
			if e := (*exec.Error)(nil); errors.As(err, &e) {
				err = e.Err
			}
			w.fault(pointer+"/command", "the program %q cannot be started: %v", s.Command, err)
		}
	}
	if info, err := os.Stat(s.Dir); !w.blank(pointer + "/cwd") {
		switch {
		case err != nil:
			w.fault(pointer+"/cwd", "the server's folder cannot be used: %v", err)
		case !info.IsDir():
			w.fault(pointer+"/cwd", "%s is not a folder, expected the one the server runs in", s.Dir)
		}
	}
	for _, e := range s.Env {
		at := pointer + "/env/" + problem.EscapePointer(e.Name) + "/file"
		if e.File == "" || w.blank(at) {
			continue
		}
		c, err := settings.ReadCredential(e.File)
		if err == nil {
			_, err = proxy.NewSecrets([]string{c.Reveal()})
		}
		if err != nil {
			w.fault(at, "%v", &settings.CredentialError{Name: e.Name, File: e.File, Err: err})
			continue
		}
		w.credentials[e.File] = c
	}
}

// blank says whether a value still stands <like this>, and is told as such.
func (w *world) blank(pointer string) bool {
	for _, p := range w.problems {
		if p.Code == settings.CodePlaceholder && p.Pointer == pointer {
			return true
		}
	}
	return false
}

// readKeys reads the key files. A missing one is a problem unless it will be
// made.
func (w *world) readKeys(willMake bool) {
	if !w.signs() {
		return
	}
	missing := func(pointer, path string) {
		if !willMake {
			w.fault(pointer, `the key file %s is not there: "countersign keys" makes it`, path)
		}
	}
	signer := func(pointer, path string) *receipts.Signer {
		if path == "" || w.blank(pointer) {
			return nil
		}
		s, err := receipts.LoadSigner(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing(pointer, path)
		case err != nil:
			w.fault(pointer, "%v", err)
		}
		return s
	}
	if a := w.settings.Agent; a != nil {
		w.agent = signer("/agent/keys", a.Keys)
		source := w.settings.LedgerKeyOf(a)
		pointer := "/executor/ledgerKey"
		if a.LedgerKey != nil {
			pointer = "/agent/ledgerKey"
		}
		if !w.blank(pointer) && !w.blank(pointer+"/file") {
			w.readLedgerKey(pointer, source, missing)
		}
	}
	w.guard = signer("/executor/keys", w.settings.Executor.Keys)
}

// readLedgerKey reads the ledger's key from its file or its environment variable.
func (w *world) readLedgerKey(pointer string, source settings.KeySource, missing func(pointer, path string)) {
	var err error
	if source.Env != "" {
		text, ok := os.LookupEnv(source.Env)
		if !ok {
			w.fault(pointer+"/env", "the environment variable %s is not set, expected the text of a ledger key's file in it", source.Env)
			return
		}
		if w.ledgerKey, err = receipts.ParseLedgerKey([]byte(text)); err != nil {
			w.fault(pointer+"/env", "the environment variable %s: %v", source.Env, err)
		}
		return
	}
	w.ledgerKey, err = receipts.LoadLedgerKey(source.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		missing(pointer, source.File)
	case err != nil:
		w.fault(pointer, "%v", err)
	}
}

// lookAtModes warns of records that other users can reach. What others may write to
// stops a start; a slip is signed, and an earlier one in its place is signed too.
func (w *world) lookAtModes() {
	a := w.settings.Agent
	if !w.signs() || a == nil {
		return
	}
	look := func(pointer, path, what string, ours bool) {
		mode, ok := modeOf(path)
		switch {
		case !ok || mode&0o077 == 0:
		case mode&0o022 != 0 && ours:
			w.fault(pointer, "others than its owner may write to %s %s (mode %04o): look at what it holds, and chmod 600 it", what, path, mode)
		case mode&0o022 != 0:
			w.warn(pointer, "others than its owner may write to %s %s (mode %04o) and put an earlier one in its place: chmod 600 it", what, path, mode)
		case ours:
			w.warn(pointer, "others than its owner may read %s %s (mode %04o), which says what the agent did: chmod 600 it", what, path, mode)
		}
	}
	look("/agent/slip", a.Slip, "the slip", false)
	look("/agent/book", a.Book, "the book", true)
	look("/agent/book", receipts.Place{Book: a.Book}.Denials(), "the denials", true)
	look("/agent/ledger", a.Ledger, "the ledger", true)
}

// readSlip reads the slip and checks all of it that can be checked alone: its
// form, its signature, and that it is signed with a key the settings expect.
func (w *world) readSlip() {
	a := w.settings.Agent
	if !w.signs() || a == nil || a.Slip == "" || w.blank("/agent/slip") {
		return
	}
	b, err := plainfile.Read(a.Slip, receipts.MaxLine)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.fault("/agent/slip", `the slip %s is not there: a person signs it with what "countersign keys" prints, or "countersign sign --development" makes a stand-in`, a.Slip)
		return
	case err != nil:
		w.fault("/agent/slip", "the slip cannot be read: %v", err)
		return
	}
	b = []byte(strings.TrimSuffix(string(b), "\n"))
	if len(a.IssuerKeys) == 0 {
		return // told already, and a slip by anyone is none
	}
	c := receipts.NewChecker(receipts.CheckOptions{IssuerKeys: a.IssuerKeys})
	entry := c.Add(receipts.AppendLine(nil, receipts.KindSlip, b))
	for _, p := range entry.Problems {
		if p.Code == receipts.CodeIssuerNotExpected {
			w.fault("/agent/slip", "the slip %s is by %s, which agent.issuerKeys does not name: put it there only if you know whose it is (%s)", a.Slip, entry.IssuerKey, p.Code)
			continue
		}
		w.fault("/agent/slip", "the slip %s: %s (%s)", a.Slip, p.Message, p.Code)
	}
	if len(entry.Problems) > 0 || entry.Verified != receipts.VerifiedAll {
		return
	}
	w.slip, w.fingerprint = b, entry.Fingerprint
	w.permission, _ = c.Slip(entry.Fingerprint)
}

// hold holds the slip against keys, rules and tools, as a start does. It is for
// settings that have no other problem.
func (w *world) hold() {
	if !w.signs() || w.permission == nil || w.agent == nil || w.guard == nil {
		return
	}
	s, slip := w.settings, w.permission
	if !slip.Agent.Keys.Equal(w.agent.Keys()) {
		w.fault("/agent/slip", `the slip %s is for other keys than those in %s: a slip is needed that is signed with what "countersign keys" prints`, s.Agent.Slip, s.Agent.Keys)
	}
	service, ok := slip.Service(s.Service)
	switch {
	case !ok:
		w.fault("/agent/slip", "the slip %s does not name this guard: expected the service %q in its with", s.Agent.Slip, s.Service)
	case !service.Keys.Equal(w.guard.Keys()):
		w.fault("/agent/slip", "the slip %s names other keys for the service %q than those in %s", s.Agent.Slip, s.Service, s.Executor.Keys)
	}
	if s.PinRules && w.rules != nil {
		problems := unpinned(w.rules, slip)
		for _, p := range problems {
			w.fault("/contentRules", "%s", p)
		}
		// Files that the slip does not name have no place in its order.
		if problems == nil {
			if err := w.goneBack(); err != nil {
				w.fault("/contentRules", "%v", err)
			}
		}
	}
	w.holdTools()
}

// holdTools warns of tools whose calls the slip will always refuse, or never
// count.
func (w *world) holdTools() {
	slip := w.permission
	allowed := make(map[string]bool)
	for _, a := range slip.Actions {
		allowed[a] = true
	}
	counted := make(map[string]string) // action → unit of a limit
	for _, l := range slip.Limits {
		if l.Unit != "" {
			counted[l.Action] = l.Unit
		}
	}
	hold := func(at, action, tool string, amount *settings.Amount) {
		if !allowed[action] {
			w.warn(at, "the slip does not allow the action %q, so every call of %s is refused", action, tool)
			return
		}
		switch unit := counted[action]; {
		case unit == "":
		case amount == nil:
			w.warn(at, "the slip limits the action %q by %s, and %s has no amount: every call of it is refused", action, unit, tool)
		case amount.Unit != unit:
			w.warn(at, "the slip limits the action %q by %s, and this tool's amount is in %s: every call of it is refused", action, unit, amount.Unit)
		}
	}
	for _, t := range w.settings.Tools.All() {
		hold("/tools/"+problem.EscapePointer(t.Name), t.Action, "this tool", t.Amount)
	}
	if action := w.settings.Unlisted; action != "" && !w.settings.HideUnlisted {
		hold("/unlisted", action, "a tool with no entry", nil)
	}
	if receipts.IsDevelopment(slip) {
		w.warn("/agent/slip", "the slip was signed by a stand-in for a passkey, made for development: no person gave this permission")
	}
}

// canWrite says what keeps a file from being made at path: a folder that is not
// one, or that others than its owner may reach where private is set.
func canWrite(path string, private bool) error {
	folder := filepath.Dir(path)
	for {
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(folder) != folder:
			folder = filepath.Dir(folder)
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", folder)
		case private && folder == filepath.Dir(path) && info.Mode().Perm()&0o077 != 0:
			return fmt.Errorf("other users can reach the folder %s (mode %04o), expected 0700: chmod 700 it", folder, info.Mode().Perm())
		}
		return writable(folder)
	}
}
