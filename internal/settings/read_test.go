package settings_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/problem"
	"countersign/internal/settings"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// built leaves out what this version lacks, to look at the form alone.
func built(ps settings.Problems) settings.Problems {
	return slices.DeleteFunc(ps, func(p settings.Problem) bool { return p.Code == settings.CodeNotBuilt })
}

const thumb = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"

// minimal is the least that a guard over stdio needs.
const minimal = `{"name": "n", "service": "s", "server": {"command": "srv"}, "tools": {"t": {"action": "a"}},
"agent": {"slip": "slip", "book": "book", "keys": "akeys", "issuerKeys": ["` + thumb + `"]}, "executor": {"keys": "gkeys"}}`

func TestEveryMember(t *testing.T) {
	s, problems := settings.Read("/etc/guard/executor.json", sample(t, "stdio.json"))
	if problems = built(problems); len(problems) > 0 {
		t.Fatalf("problems of sound settings:\n%s", problems)
	}
	pay := &settings.Amount{Arg: "/amount", Unit: "pence", Scale: 2, Text: true}
	for name, c := range map[string]struct{ got, want any }{
		"name":     {s.Name, "Files guard"},
		"service":  {s.Service, "files-guard"},
		"mode":     {s.Mode, settings.Enforce},
		"command":  {s.Server.Command, "node"},
		"args":     {s.Server.Args, []string{"dist/index.js", "", "/srv/work"}},
		"cwd":      {s.Server.Dir, "/etc/guard/server"},
		"env":      {s.Server.Env, []settings.EnvVar{{Name: "FILES_API_TOKEN", File: "/etc/guard/secrets/token"}, {Name: "LEVEL", Value: "debug"}}},
		"amount":   {s.Tools.All()[1].Amount, pay},
		"unlisted": {s.Unlisted, "other"},
		"hide":     {s.HideUnlisted, false},
		"rules":    {s.ContentRules, []string{"/etc/guard/content-rules.json", "/etc/guard/more.json"}},
		"validate": {s.ValidateArguments, false},
		"pins":     {s.PinTools, "/etc/guard/pins.json"},
		"pass":     {s.PassThrough, []string{"resources/read", "logging/setLevel"}},
		"pass all": {s.PassAll, false},
		"timeout":  {s.Timeout, 10 * time.Second},
		"waiting":  {s.MaxWaiting, 0},
		"denials":  {s.DenialsPerHour, 3600},
		"meta":     {s.CallIDInMeta, true},
		"tell":     {s.Tell, "test"},
		"details":  {s.DetailNames, "countersign"},
		"body":     {s.BodyLimit, 65536},
		"agent": {*s.Agent, settings.Agent{Name: "agent", Slip: "/etc/guard/slip.json", Book: "/etc/guard/book.jsonl",
			Keys: "/etc/guard/keys/agent.json", Ledger: "/var/lib/guard/ledger.jsonl", IssuerKeys: []string{thumb}}},
		"executor": {s.Executor, settings.Executor{Keys: "/etc/guard/keys/guard.json", LedgerKey: settings.KeySource{File: "/etc/guard/keys/l.key"}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %#v, want %#v", name, c.got, c.want)
		}
	}
	if e, err := s.Tools.Find("read_file"); err != nil || e == nil || e.Action != "provared.data.read" {
		t.Errorf("Find(read_file) = %v, %v", e, err)
	}
	if e, err := s.Tools.Find("Read_file"); err != nil || e != nil {
		t.Errorf("Find(Read_file) = %v, %v, want none: names are exact", e, err)
	}
}

func TestDefaults(t *testing.T) {
	s, problems := settings.Read("executor.json", []byte(minimal))
	if len(problems) > 0 {
		t.Fatalf("problems of sound settings:\n%s", problems)
	}
	for name, c := range map[string]struct{ got, want any }{
		"mode":      {s.Mode, settings.Enforce},
		"unlisted":  {s.Unlisted, ""},
		"hide":      {s.HideUnlisted, true},
		"pinRules":  {s.PinRules, true},
		"validate":  {s.ValidateArguments, true},
		"pass":      {s.PassAll, true},
		"timeout":   {s.Timeout, time.Minute},
		"waiting":   {s.MaxWaiting, 64},
		"denials":   {s.DenialsPerHour, 60},
		"meta":      {s.CallIDInMeta, false},
		"tell":      {s.Tell, "rule"},
		"record":    {s.Record, settings.Record{Results: "fingerprint", Refused: "digests"}},
		"approval":  {s.ApprovalWait, 5 * time.Minute},
		"details":   {s.DetailNames, "provared"},
		"body":      {s.BodyLimit, 10 << 20},
		"ledger":    {s.Agent.Ledger, "ledgers/agent.jsonl"},
		"ledgerKey": {s.LedgerKeyOf(s.Agent), settings.KeySource{File: "keys/ledger.key"}},
		"signing":   {s.Signing, settings.Signing{Listen: "127.0.0.1:8797", Origin: "http://localhost:8797"}},
		"listen":    {s.Listen, settings.Listen{Host: "127.0.0.1", Port: 8796}},
		"path":      {s.Endpoint, "/mcp"},
		"store":     {s.Store == nil, true},
		"sealing":   {s.SealEvery == nil, true},
		"cwd":       {s.Server.Dir, "."},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %#v, want %#v", name, c.got, c.want)
		}
	}
}

// What this version lacks is refused member by member, and read all the same.
func TestNotBuilt(t *testing.T) {
	s, problems := settings.Read("executor.json", sample(t, "http.json"))
	var got []string
	for _, p := range problems {
		if p.Code != settings.CodeNotBuilt {
			t.Errorf("a problem of another kind: %s", p)
		}
		got = append(got, p.Pointer)
	}
	want := []string{"/servers", "/servers/files/source", "/servers/web", "/record/results", "/record/refused", "/record/redact",
		"/approvalWait", "/agents", "/signing", "/sealEvery", "/store", "/masks", "/resolvers", "/listen", "/path",
		"/allowedOrigins", "/allowedHosts", "/metrics"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	bob := s.Agents[1]
	if bob.Name != "bob" || bob.Ledger != "copies/bob.jsonl" || s.LedgerKeyOf(&bob).File != "copies/bob.jsonl.key" {
		t.Errorf("the older names copy and copyKey were read as %+v", bob)
	}
	if alice := s.Agents[0]; alice.Ledger != "ledgers/alice.jsonl" {
		t.Errorf("alice's ledger is %q", alice.Ledger)
	}
	_, problems = settings.Read("executor.json", []byte(strings.Replace(minimal, `{"name"`, `{"mode": "record", "name"`, 1)))
	if len(problems) != 1 || problems[0].Pointer != "/mode" || problems[0].Code != settings.CodeNotBuilt {
		t.Errorf("mode record: %s", problems)
	}
}

func TestOlderNames(t *testing.T) {
	src := strings.Replace(minimal, `{"keys": "gkeys"}`, `{"keys": "gkeys", "copy": "copy.jsonl", "copyKey": "copy.key"}`, 1)
	s, problems := settings.Read("executor.json", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.Agent.Ledger != "copy.jsonl" || s.LedgerKeyOf(s.Agent).File != "copy.key" {
		t.Errorf("got %q and %q", s.Agent.Ledger, s.LedgerKeyOf(s.Agent).File)
	}
	src = strings.Replace(minimal, `"book": "book"`, `"book": "book", "copy": "c", "copyKey": {"file": "k"}`, 1)
	s, problems = settings.Read("executor.json", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.Agent.Ledger != "c" || s.LedgerKeyOf(s.Agent).File != "k" {
		t.Errorf("got %q and %q", s.Agent.Ledger, s.LedgerKeyOf(s.Agent).File)
	}
}

// with changes the minimal settings and gives the lines of their problems.
func with(t *testing.T, old, new string) string {
	t.Helper()
	src := strings.Replace(minimal, old, new, 1)
	if src == minimal {
		t.Fatalf("%q does not stand in the minimal settings", old)
	}
	_, problems := settings.Read("executor.json", []byte(src))
	return strings.TrimSuffix(problems.String(), "\n")
}

func TestFaults(t *testing.T) {
	const agent = `"slip": "slip", "book": "book", "keys": "akeys", `
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown, with a near one":     {`{"name"`, `{"tols": 1, "name"`, `executor.json:1:2: /tols: unknown member "tols", did you mean "tools"?`},
		"unknown, far":                 {`{"name"`, `{"zzzzzzzz": 1, "name"`, `executor.json:1:2: /zzzzzzzz: unknown member "zzzzzzzz", no known one is near it`},
		"letter case":                  {`"service"`, `"Service"`, "executor.json:1:1: the member \"service\" is missing\nexecutor.json:1:15: /Service: unknown member \"Service\", did you mean \"service\"?"},
		"repeated":                     {`{"name"`, `{"name": "x", "name"`, `executor.json:1:15: a member name stands twice in one object`},
		"inside, all names":            {`{"command": "srv"}`, `{"command": "srv", "argv": []}`, `executor.json:1:60: /server/argv: unknown member "argv", did you mean "args"?`},
		"missing":                      {`"name": "n", `, ``, `executor.json:1:1: the member "name" is missing`},
		"not a text":                   {`"n"`, `7`, `executor.json:1:10: /name: a number, expected a text`},
		"too long":                     {`"n"`, `"` + strings.Repeat("é", 201) + `"`, `executor.json:1:10: /name: a text of 201 characters, expected 1 to 200`},
		"service form":                 {`"s"`, `"S"`, `executor.json:1:26: /service: expected a service id: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit`},
		"mode":                         {`{"name"`, `{"mode": "off", "name"`, `executor.json:1:10: /mode: unknown value, expected "enforce", "rules" or "record"`},
		"no server":                    {`"server": {"command": "srv"}, `, ``, `executor.json:1:1: 0 of "server", "upstream" and "servers", expected exactly one`},
		"tools missing":                {`"tools": {"t": {"action": "a"}},`, ``, `executor.json:1:1: the member "tools" is missing, which the mode "enforce" needs`},
		"action form":                  {`"action": "a"`, `"action": "A b"`, `executor.json:1:87: /tools/t/action: expected an action: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit`},
		"action of the shared list":    {`"action": "a"`, `"action": "provared.data.raed"`, `executor.json:1:87: /tools/t/action: not on the shared list of actions, which alone begin with provared., did you mean "provared.data.read"?`},
		"pointer in a member's name":   {`{"t": {"action": "a"}}`, `{"a/b~": {}}`, `executor.json:1:79: /tools/a~1b~0: the member "action" is missing`},
		"thumbprint":                   {thumb, `short`, `executor.json:2:75: /agent/issuerKeys/0: expected a passkey's thumbprint: 43 characters of base64url`},
		"thumbprint twice":             {`["` + thumb + `"]`, `["` + thumb + `","` + thumb + `"]`, `executor.json:2:121: /agent/issuerKeys/1: stands in the list twice`},
		"no thumbprint":                {`["` + thumb + `"]`, `[]`, `executor.json:2:74: /agent/issuerKeys: a list of 0, expected 1 to 64 entries`},
		"one file twice":               {agent, `"slip": "slip", "book": "./x/../slip", "keys": "akeys", `, `executor.json:2:35: /agent/book: the file of /agent/slip too, expected a file of its own`},
		"a default's file":             {`{"keys": "gkeys"}`, `{"keys": "keys/ledger.key"}`, `executor.json:2:136: /executor/ledgerKey: the ledger's key would be keys/ledger.key, which is the file of /executor/keys: name another`},
		"the file of denials":          {agent, `"slip": "book.denials.jsonl", "book": "book", "keys": "akeys", `, `executor.json:2:10: /agent/book: the file of denials would be book.denials.jsonl, which is the file of /agent/slip: name another`},
		"timeout":                      {`{"name"`, `{"timeout": 0, "name"`, `executor.json:1:13: /timeout: 0, expected a whole number from 1 to 3600`},
		"not whole":                    {`{"name"`, `{"timeout": 1.5, "name"`, `executor.json:1:13: /timeout: a number that is not whole or too large, expected a whole number from 1 to 3600`},
		"unsigned":                     {`{"name"`, `{"unsigned": true, "name"`, `executor.json:1:14: /unsigned: true in the mode "enforce", expected only in "record"`},
		"home":                         {`"slip": "slip"`, `"slip": "~/slip"`, `executor.json:2:19: /agent/slip: begins with ~, which only a shell reads: expected a path from the settings file's folder, or an absolute one`},
		"an empty variable":            {`{"command": "srv"}`, `{"command": "srv", "env": {"A": {"value": ""}}}`, "executor.json:1:83: /server/env/A/value: a text of 0 characters, expected 1 to 131072"},
		"a lock in the ledger's place": {`"book": "book"`, `"book": "book", "ledger": "book.lock"`, "executor.json:2:10: /agent/book: the book's lock would be book.lock, which is the file of /agent/ledger: name another"},
		"a folder of windows in the book's place": {`"book": "book"`, `"book": "ledgers/agent.jsonl.windows"`, "executor.json:2:10: /agent/ledger: the folder of windows would be ledgers/agent.jsonl.windows, which is the file of /agent/book: name another"},
		"env":              {`{"command": "srv"}`, `{"command": "srv", "env": {"1A": {"value": "x"}, "B": {}, "C": {"file": "f", "value": "v"}}}`, "executor.json:1:68: /server/env/1A: expected the name of an environment variable: letters, digits and _, not beginning with a digit\nexecutor.json:1:95: /server/env/B: expected exactly one of \"file\", for a credential, and \"value\"\nexecutor.json:1:104: /server/env/C: expected exactly one of \"file\", for a credential, and \"value\""},
		"two names of one": {`"book": "book"`, `"book": "book", "copy": "a", "ledger": "b"`, `executor.json:2:56: /agent/ledger: "copy" and "ledger" are one member under two names: keep "ledger"`},
		"two ledgers":      {`{"keys": "gkeys"}}`, `{"keys": "gkeys", "copy": "x"}, "agent2": 1}`, ``},
		"method":           {`{"name"`, `{"passThrough": ["a b"], "name"`, `executor.json:1:18: /passThrough/0: expected a method such as "resources/read"`},
		"both agents":      {`"agent":`, `"agents": {"x": {"slip": "1", "book": "2", "keys": "3", "issuerKeys": ["` + thumb + `"]}}, "agent":`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := with(t, c.old, c.new)
			switch name {
			case "two ledgers":
				if !strings.Contains(got, `/agent2: unknown member "agent2", did you mean "agent"?`) {
					t.Errorf("got %s", got)
				}
			case "both agents":
				if !strings.Contains(got, `/agents: beside "agent", expected one of the two`) {
					t.Errorf("got %s", got)
				}
			default:
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// Every problem is told in one run, by place.
func TestAllAtOnce(t *testing.T) {
	_, problems := settings.Read("x.json", []byte("{\n \"nam\": 1,\n \"service\": \"<your service>\",\n \"tell\": \"all\",\n \"timeout\": \"1\"\n}"))
	want := `x.json:1:1: the member "name" is missing
x.json:1:1: 0 of "server", "upstream" and "servers", expected exactly one
x.json:1:1: the member "tools" is missing, which the mode "enforce" needs
x.json:1:1: the member "executor" is missing, which the mode "enforce" needs
x.json:1:1: one of the members "agent" and "agents" is missing, which the mode "enforce" needs
x.json:2:2: /nam: unknown member "nam", did you mean "name"?
x.json:3:13: /service: still written <your service>: put the value in [placeholder]
x.json:4:10: /tell: unknown value, expected "say", "rule" or "test"
x.json:5:13: /timeout: a text, expected a whole number from 1 to 3600
`
	if got := problems.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestManyProblems(t *testing.T) {
	src := `{"tools": {` + strings.Repeat(`"x": 1,`, 0)
	for i := range 300 {
		if i > 0 {
			src += ","
		}
		src += `"t` + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + `": 1`
	}
	_, problems := settings.Read("x.json", []byte(src+"}}"))
	if len(problems) != problem.Max+1 || !strings.HasSuffix(problems[problem.Max].Msg, " more") {
		t.Errorf("%d problems, the last %s", len(problems), problems[len(problems)-1])
	}
}

func TestPlaceholders(t *testing.T) {
	src := strings.NewReplacer(`"srv"`, `"<the server to start>"`, `"t"`, `"<a tool>"`, `"`+thumb+`"`, `"<thumbprint of the passkey>"`,
		`"s"`, `"<service>"`).Replace(minimal)
	_, problems := settings.Read("e.json", []byte(src))
	var got []string
	unfilled := 0
	for _, p := range problems {
		if p.Code != settings.CodePlaceholder {
			t.Errorf("told beside a placeholder: %s", p)
		}
		got = append(got, p.Pointer)
		if settings.Unfilled(p) {
			unfilled++
		}
	}
	if want := []string{"/service", "/server/command", "/tools/<a tool>", "/agent/issuerKeys/0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if unfilled != 1 {
		t.Errorf("%d of them may be left for later, want the thumbprint alone", unfilled)
	}
	for _, s := range []string{"<>", "a <b>", "<b> c", "<a><b>", "<" + strings.Repeat("x", 300) + ">", "<a\\nb>"} {
		_, problems := settings.Read("e.json", []byte(strings.Replace(minimal, `"n"`, `"`+s+`"`, 1)))
		for _, p := range problems {
			if p.Code == settings.CodePlaceholder {
				t.Errorf("%q was taken for a placeholder", s)
			}
		}
	}
	rules := []byte(`{"lists": {"roots": ["<the folder>"]}}`)
	if ps := settings.Placeholders("rules.json", rules); len(ps) != 1 || ps[0].String() != "rules.json:1:22: /lists/roots/0: still written <the folder>: put the value in [placeholder]" {
		t.Errorf("in a rules file: %v", ps)
	}
}

func TestRulesMode(t *testing.T) {
	s, problems := settings.Read("e.json", []byte(`{"name": "n", "service": "s", "mode": "rules", "server": {"command": "./srv"}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.Agent != nil || len(s.Tools.All()) != 0 || s.Server.Command != "srv" {
		t.Errorf("got %+v", s)
	}
}

func TestWarnings(t *testing.T) {
	src := strings.Replace(minimal, `{"action": "a"}`, `{"action": "a", "amount": {"arg": "/x", "unit": "GBP", "scale": 2}}`, 1)
	src = strings.Replace(src, `{"name"`, `{"pinRules": false, "contentRules": "r.json", "name"`, 1)
	s, problems := settings.Read("e.json", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `e.json:1:14: /pinRules: the rules are not held against the slip: whoever can write their files can change them [warning]
e.json:1:169: /tools/t/amount/unit: "GBP" names the whole unit, but with a scale of 2 amounts are counted in parts of it: name the part, such as "GBP-minor" [warning]
`
	if got := s.Warnings.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFingerprint(t *testing.T) {
	a, _ := settings.Read("e.json", []byte(minimal))
	b, _ := settings.Read("other.json", []byte(strings.ReplaceAll(minimal, " ", "\n ")))
	c, _ := settings.Read("e.json", []byte(strings.Replace(minimal, `"n"`, `"m"`, 1)))
	if a.Fingerprint != b.Fingerprint || len(a.Fingerprint) != 43 {
		t.Errorf("layout changed the fingerprint: %s, %s", a.Fingerprint, b.Fingerprint)
	}
	if a.Fingerprint == c.Fingerprint {
		t.Error("a changed text did not change the fingerprint")
	}
}

func TestFault(t *testing.T) {
	s, _ := settings.Read("e.json", []byte("{\n\"agent\": {\n  \"keys\": \"k\"}}"))
	for pointer, want := range map[string]string{
		"/agent/keys":       "e.json:3:11: /agent/keys: 7 wrong",
		"/agent/slip":       "e.json:2:10: /agent/slip: 7 wrong",
		"/executor/keys":    "e.json:1:1: /executor/keys: 7 wrong",
		"":                  "e.json:1:1: 7 wrong",
		"/agent/keys/0/0/0": "e.json:3:11: /agent/keys/0/0/0: 7 wrong",
	} {
		if got := s.Fault(pointer, "%d wrong", 7).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s, _ = settings.Read("e.json", []byte("no JSON"))
	if got := s.Fault("/agent", "x").String(); got != "e.json:1:1: /agent: x" {
		t.Errorf("got %s", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("e.json", []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	s, problems, err := settings.Load("e.json")
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if real, _ := os.Getwd(); s.Agent.Book != real+"/book" {
		t.Errorf("the book is %q, want an absolute path in %s", s.Agent.Book, real)
	}
	if _, _, err := settings.Load("none.json"); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile("big.json", make([]byte, settings.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems, err = settings.Load("big.json"); err != nil || len(problems) != 1 {
		t.Errorf("a file past the bound: %v, %v", problems, err)
	}
}

// FuzzRead: whatever the bytes, reading ends, does the same twice, and names
// places that are in the file.
func FuzzRead(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add(sample(f, "stdio.json"))
	f.Add(sample(f, "http.json"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, problems := settings.Read("e.json", src)
		_, again := settings.Read("e.json", src)
		if problems.String() != again.String() {
			t.Fatal("two readings differ")
		}
		if s == nil {
			t.Fatal("no settings to look for more problems with")
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Msg == "" {
				t.Fatalf("no place or no text: %+v", p)
			}
		}
	})
}

// What does nothing in the mode "rules" is told; what serves the other mode too is not.
func TestWhatDoesNothingInModeRules(t *testing.T) {
	warned := func(members string) []string {
		t.Helper()
		s, problems := settings.Read("e.json", []byte(`{"name":"n","service":"s","mode":"rules","server":{"command":"c"}`+members+`}`))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", members, problems)
		}
		var at []string
		for _, w := range s.Warnings {
			if strings.Contains(w.Msg, `does nothing in the mode "rules"`) {
				at = append(at, w.Pointer)
			}
		}
		return at
	}
	for members, want := range map[string]string{
		`,"unlisted":"refuse","hideUnlisted":true`:                                                            "/unlisted /hideUnlisted",
		`,"unlisted":"refuse","hideUnlisted":true,"tools":{"t":{"action":"a"}}`:                               "",
		`,"pinRules":true,"maxWaiting":1,"denialsPerHour":1,"callIdInMeta":false,"detailNames":"provared"`:    "/pinRules /maxWaiting /denialsPerHour /callIdInMeta /detailNames",
		`,"pinRules":false,"tell":"say","timeout":1,"validateArguments":true,"pinTools":"p","passThrough":[]`: "",
		`,"executor":{"keys":"k"}`: "",
	} {
		if got := strings.Join(warned(members), " "); got != want {
			t.Errorf("%s: warned of %q, expected %q", members, got, want)
		}
	}
}
