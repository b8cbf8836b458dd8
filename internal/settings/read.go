package settings

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/ijson"
	"countersign/internal/plainfile"
	"countersign/internal/problem"
)

const (
	MaxBytes      = 1 << 20 // of the file: thousands of tools fit
	maxDepth      = 16      // levels; the deepest member needs six
	MaxRulesFiles = 16      // what a slip's agent.software can name (content rules, section 8)
	maxServers    = 64
	maxAgents     = 1024
)

// Load reads the settings file at path. The error is about reading it from the
// disk; what is wrong in it are the problems.
func Load(path string) (*Settings, Problems, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the settings file: %w", err)
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the settings file: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the settings file: %w", err)
	}
	s, problems := read(path, filepath.Dir(full), src)
	return s, problems, nil
}

// Read reads src as the settings file path, which is not opened. With problems,
// the settings are what could be read and serve only to look for more problems.
func Read(path string, src []byte) (*Settings, Problems) {
	return read(path, filepath.Dir(path), src)
}

func read(path, dir string, src []byte) (*Settings, Problems) {
	s := defaults(path, dir)
	if len(src) > MaxBytes {
		return s, problem.Settle(path, nil, []Problem{{Msg: fmt.Sprintf("more than %d bytes", MaxBytes)}}, 0)
	}
	doc, err := ijson.Parse(src, ijson.Options{Depth: maxDepth})
	if err != nil {
		p := Problem{Msg: "not JSON that can be read in one way alone: " + err.Error()}
		if e := (*ijson.Error)(nil); errors.As(err, &e) {
			p.Offset, p.Msg = e.Offset, e.Msg
		}
		return s, problem.Settle(path, src, []Problem{p}, 0)
	}
	s.src, s.doc = src, doc
	digest := sha256.Sum256(ijson.AppendCanonical(nil, doc.Root()))
	s.Fingerprint = base64.RawURLEncoding.EncodeToString(digest[:])

	r := &reader{dir: dir, blanks: make(map[int]bool), taken: make(map[string]string)}
	for _, p := range blanks(doc.Root()) {
		r.blanks[p.Offset] = true
		r.problems = append(r.problems, p)
	}
	r.settings(at{doc.Root(), ""}, s)
	s.Warnings = problem.Settle(path, src, r.warnings, 0)
	return s, problem.Settle(path, src, r.problems, r.dropped)
}

func defaults(path, dir string) *Settings {
	return &Settings{
		File: path, Dir: dir, Mode: Enforce,
		HideUnlisted: true, PinRules: true, ValidateArguments: true, PassAll: true,
		Timeout: DefaultTimeout, MaxWaiting: DefaultMaxWaiting, DenialsPerHour: DefaultDenialsPerHour,
		Tell: "rule", Record: Record{Results: "fingerprint", Refused: "digests"},
		ApprovalWait: DefaultApprovalWait, DetailNames: "provared", BodyLimit: DefaultBodyLimit,
		Executor: Executor{LedgerKey: KeySource{File: filepath.Join(dir, DefaultLedgerKey)}},
		Signing:  Signing{Listen: DefaultSignListen, Origin: DefaultSignOrigin},
		Listen:   Listen{Host: DefaultHost, Port: DefaultPort}, Endpoint: DefaultEndpoint,
	}
}

// settings reads the whole file into s.
func (r *reader) settings(root at, s *Settings) {
	text := func(to *string, most int) func(at) {
		return func(p at) {
			if v, ok := r.text(p, most); ok {
				*to = v
			}
		}
	}
	word := func(to *string, words ...string) func(at) {
		return func(p at) {
			if v, ok := r.oneOf(p, words...); ok {
				*to = v
			}
		}
	}
	yes := func(to *bool) func(at) {
		return func(p at) {
			if v, ok := r.boolean(p); ok {
				*to = v
			}
		}
	}
	number := func(to *int, least, most int) func(at) {
		return func(p at) {
			if v, ok := r.whole(p, least, most); ok {
				*to = v
			}
		}
	}
	seconds := func(to *time.Duration, most time.Duration) func(at) {
		return func(p at) {
			if v, ok := r.whole(p, 1, int(most/time.Second)); ok {
				*to = time.Duration(v) * time.Second
			}
		}
	}
	ok := r.object(root,
		field{name: "name", needed: true, read: text(&s.Name, 200)},
		field{name: "service", needed: true, read: func(p at) {
			s.Service, _ = r.form(p, shortForm, "a service id: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit")
		}},
		field{name: "mode", read: func(p at) { r.mode(p, s) }},
		field{name: "server", read: func(p at) { s.Server = r.server(p) }},
		field{name: "upstream", read: func(p at) { r.upstream(p, s) }},
		field{name: "servers", read: func(p at) { r.servers(p, s) }},
		field{name: "tools", read: func(p at) { s.Tools = r.tools(p) }},
		field{name: "unlisted", read: func(p at) { s.Unlisted = r.unlisted(p) }},
		field{name: "hideUnlisted", read: yes(&s.HideUnlisted)},
		field{name: "contentRules", read: func(p at) { s.ContentRules = r.contentRules(p) }},
		field{name: "pinRules", read: yes(&s.PinRules)},
		field{name: "validateArguments", read: yes(&s.ValidateArguments)},
		field{name: "pinTools", read: func(p at) { s.PinTools, _ = r.own(p) }},
		field{name: "passThrough", read: func(p at) { r.passThrough(p, s) }},
		field{name: "timeout", read: seconds(&s.Timeout, MaxTimeout)},
		field{name: "maxWaiting", read: number(&s.MaxWaiting, 0, MaxMaxWaiting)},
		field{name: "denialsPerHour", read: number(&s.DenialsPerHour, 0, MaxDenialsPerHour)},
		field{name: "callIdInMeta", read: yes(&s.CallIDInMeta)},
		field{name: "tell", read: word(&s.Tell, "say", "rule", "test")},
		field{name: "record", read: func(p at) { r.record(p, &s.Record) }},
		field{name: "approvalWait", read: func(p at) {
			seconds(&s.ApprovalWait, MaxApprovalWait)(p)
			r.notBuilt(p, "approvals are")
		}},
		field{name: "detailNames", read: word(&s.DetailNames, "provared", "countersign")},
		field{name: "agent", read: func(p at) { s.Agent = r.agent(p, DefaultAgentName) }},
		field{name: "agents", read: func(p at) { r.agents(p, s) }},
		field{name: "executor", read: func(p at) { r.executor(p, s) }},
		field{name: "unsigned", read: yes(&s.Unsigned)},
		field{name: "signing", read: func(p at) { r.signing(p, &s.Signing) }},
		field{name: "sealEvery", read: func(p at) { s.SealEvery = r.sealEvery(p) }},
		field{name: "store", read: func(p at) { s.Store = r.store(p) }},
		field{name: "masks", read: func(p at) { r.notBuilt(p, "masks are") }},
		field{name: "resolvers", read: func(p at) { r.notBuilt(p, "release resolvers are") }},
		field{name: "listen", read: func(p at) { r.listen(p, &s.Listen) }},
		field{name: "bodyLimit", read: number(&s.BodyLimit, MinBodyLimit, MaxBodyLimit)},
		field{name: "path", read: func(p at) { r.endpoint(p, s) }},
		field{name: "allowedOrigins", read: func(p at) { r.allowedOrigins(p, s) }},
		field{name: "allowedHosts", read: func(p at) { r.allowedHosts(p, s) }},
		field{name: "metrics", read: func(p at) { r.metrics(p, s) }},
	)
	if ok {
		r.together(root, s)
	}
}

func (r *reader) mode(p at, s *Settings) {
	word, ok := r.oneOf(p, string(Enforce), string(RulesOnly), string(RecordOnly))
	if !ok {
		return
	}
	s.Mode = Mode(word)
	if s.Mode == RecordOnly {
		r.notBuilt(p, `the mode "record" is`)
	}
}

// together holds the members against each other, once each was read.
func (r *reader) together(root at, s *Settings) {
	v := root.v
	has := func(name string) bool { return v.Member(name).Exists() }
	upstreams := 0
	for _, name := range []string{"server", "upstream", "servers"} {
		if has(name) {
			upstreams++
		}
	}
	if upstreams != 1 {
		r.wrong(root, `%d of "server", "upstream" and "servers", expected exactly one`, upstreams)
	}
	if !v.Member("validateArguments").Exists() && s.Mode == RecordOnly {
		s.ValidateArguments = false
	}
	if has("agent") && has("agents") {
		r.wrong(root.member("agents"), `beside "agent", expected one of the two: "agent" over stdio, "agents" over HTTP`)
	}
	if s.Mode == Enforce {
		r.needed(root, s)
	}
	if s.Unsigned && s.Mode != RecordOnly {
		r.wrong(root.member("unsigned"), `true in the mode %q, expected only in "record"`, s.Mode)
	}
	if tools := root.member("tools"); s.PinTools == "" && !has("pinTools") {
		for i := range s.Tools.globs {
			g := &s.Tools.globs[i]
			r.fault(g.offset, tools.ptr+"/"+problem.EscapePointer(g.Name), `a glob, which needs "pinTools": a tool that appears later would be let through unseen`)
		}
	}
	if s.Unlisted != "" && s.HideUnlisted {
		r.warn(root.member("unlisted"), `without "hideUnlisted": false tools with no entry are hidden, and a hidden tool is refused`)
	}
	if s.Mode == RulesOnly {
		r.idle(root, s)
	}
	if !s.PinRules && len(s.ContentRules) > 0 {
		r.warn(root.member("pinRules"), "the rules are not held against the slip: whoever can write their files can change them")
	}
	if r.copied != "" {
		p := root.member("executor").member("copy")
		switch {
		case s.Agent == nil:
			r.wrong(p, `names the ledger of "agent", and there is none: expected "ledger" in each of "agents"`)
		case s.Agent.Ledger != "":
			r.wrong(p, `the agent's ledger once more, which "agent" names already: keep "ledger" there`)
		default:
			s.Agent.Ledger = r.copied
		}
	}
	if s.Agent != nil && s.Agent.Ledger == "" {
		s.Agent.Ledger = r.join(fmt.Sprintf(DefaultLedgerOf, s.Agent.Name))
	}
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Ledger == "" {
			a.Ledger = r.join(fmt.Sprintf(DefaultLedgerOf, a.Name))
		}
	}
	r.defaultFiles(root, s)
}

// idle warns of members that do nothing in the mode "rules", where somebody may rely
// on them. What only says where keys and records stand is passed over: a file may
// serve both modes.
func (r *reader) idle(root at, s *Settings) {
	warn := func(name, why string) {
		if p := root.member(name); p.v.Exists() {
			r.warn(p, `does nothing in the mode "rules", %s`, why)
		}
	}
	if !root.v.Member("tools").Exists() {
		for _, name := range []string{"unlisted", "hideUnlisted"} {
			warn(name, `without "tools": every tool of the server is shown, and none is refused for want of an entry`)
		}
	}
	if s.PinRules {
		warn("pinRules", "where there is no slip to hold the rules against: whoever can write their files can change them")
	}
	warn("maxWaiting", "where no call waits for another")
	for _, name := range []string{"denialsPerHour", "callIdInMeta", "detailNames"} {
		warn(name, "which writes no receipt and no denial")
	}
}

// needed notes what the mode "enforce" cannot do without.
func (r *reader) needed(root at, s *Settings) {
	for _, name := range []string{"tools", "executor"} {
		if !root.v.Member(name).Exists() {
			r.wrong(root, `the member %q is missing, which the mode "enforce" needs`, name)
		}
	}
	if e := root.member("executor"); e.v.Kind() == ijson.Object && !e.v.Member("keys").Exists() {
		r.wrong(e, `the member "keys" is missing`)
	}
	if !root.v.Member("agent").Exists() && !root.v.Member("agents").Exists() {
		r.wrong(root, `one of the members "agent" and "agents" is missing, which the mode "enforce" needs`)
	}
	each := func(p at) {
		for _, name := range []string{"slip", "book", "keys", "issuerKeys"} {
			if p.v.Kind() == ijson.Object && !p.v.Member(name).Exists() {
				r.wrong(p, "the member %q is missing", name)
			}
		}
	}
	each(root.member("agent"))
	for name, v := range root.v.Member("agents").Members() {
		each(at{v, "/agents/" + problem.EscapePointer(name.Text())})
	}
}

// defaultFiles holds the paths that came from defaults against those written.
func (r *reader) defaultFiles(root at, s *Settings) {
	hold := func(p at, what, path string) {
		if other, twice := r.taken[path]; twice && other != p.ptr {
			r.wrong(p, "%s would be %s, which is the file of %s: name another", what, path, other)
		}
		r.taken[path] = p.ptr
	}
	if e := root.member("executor"); e.v.Exists() && !e.v.Member("ledgerKey").Exists() && !e.v.Member("copyKey").Exists() {
		hold(at{e.v, e.ptr + "/ledgerKey"}, "the ledger's key", s.Executor.LedgerKey.File)
	}
	agent := func(p at, a *Agent) {
		if a.Ledger != "" && r.taken[a.Ledger] == "" {
			hold(at{p.v, p.ptr + "/ledger"}, "the ledger", a.Ledger)
		}
		if a.Book != "" {
			hold(at{p.v, p.ptr + "/book"}, "the file of denials", a.Book+".denials.jsonl")
			hold(at{p.v, p.ptr + "/book"}, "the book's lock", a.Book+".lock")
		}
		if a.Ledger != "" {
			hold(at{p.v, p.ptr + "/ledger"}, "the ledger's lock", a.Ledger+".lock")
			hold(at{p.v, p.ptr + "/ledger"}, "the folder of windows", a.Ledger+".windows")
		}
	}
	if s.Agent != nil {
		agent(root.member("agent"), s.Agent)
	}
	for i := range s.Agents {
		agent(root.member("agents").member(s.Agents[i].Name), &s.Agents[i])
	}
}

func (r *reader) contentRules(p at) []string {
	if p.v.Kind() == ijson.String {
		if path, ok := r.own(p); ok {
			return []string{path}
		}
		return nil
	}
	if p.v.Kind() != ijson.Array {
		r.wrong(p, "%s, expected the path of a rules file or a list of them", kindName(p.v))
		return nil
	}
	return r.distinct(p, 1, MaxRulesFiles, r.own)
}

func (r *reader) passThrough(p at, s *Settings) {
	if p.v.Is("*") {
		return
	}
	if p.v.Kind() != ijson.Array {
		r.wrong(p, `%s, expected "*" or a list of methods`, kindName(p.v))
		return
	}
	s.PassAll = false
	s.PassThrough = r.distinct(p, 0, maxList, func(p at) (string, bool) {
		return r.form(p, methodForm, `a method such as "resources/read"`)
	})
}

func (r *reader) record(p at, to *Record) {
	r.object(p,
		field{name: "results", read: func(p at) {
			if w, ok := r.oneOf(p, "fingerprint", "whole"); ok {
				to.Results = w
			}
			if to.Results == "whole" {
				r.notBuilt(p, "whole results in the ledger are")
			}
		}},
		field{name: "refused", read: func(p at) {
			if w, ok := r.oneOf(p, "digests", "whole"); ok {
				to.Refused = w
			}
			if to.Refused == "whole" {
				r.notBuilt(p, "whole refused calls in the ledger are")
			}
		}},
		field{name: "redact", read: func(p at) {
			r.notBuilt(p, "redaction is")
			r.named(p, 1, maxTools, func(name ijson.Value, p at) {
				red := Redaction{Tool: name.Text()}
				r.toolName(name, p.ptr)
				red.Pointers = r.distinct(p, 1, maxList, func(p at) (string, bool) {
					return r.form(p, pointerForm, "a JSON pointer into the arguments")
				})
				to.Redact = append(to.Redact, red)
			})
		}})
}

func (r *reader) executor(p at, s *Settings) {
	e := &s.Executor
	r.object(p,
		field{name: "keys", read: func(p at) { e.Keys, _ = r.own(p) }},
		field{name: "ledgerKey", older: "copyKey", read: func(p at) {
			if k := r.ledgerKey(p); k != nil {
				e.LedgerKey = *k
			}
		}},
		// Where the executor document keeps the ledger of its one agent.
		field{name: "copy", read: func(p at) { r.copied, _ = r.own(p) }})
}

// ledgerKey reads a key's source; under the older name a plain path too.
func (r *reader) ledgerKey(p at) *KeySource {
	if p.v.Kind() == ijson.String && strings.HasSuffix(p.ptr, "/copyKey") {
		path, ok := r.own(p)
		if !ok {
			return nil
		}
		return &KeySource{File: path}
	}
	k, ok := r.keySource(p)
	if !ok {
		return nil
	}
	return &k
}
