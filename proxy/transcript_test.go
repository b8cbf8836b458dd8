package proxy_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"countersign/proxy"
)

// Wire transcripts: what goes over the four wires of a guard, byte for byte, and
// what is on record afterwards.
//
//	agent   the agent writes a line
//	>server exactly this line reaches the server, next
//	server  the server writes a line
//	>agent  exactly this line reaches the agent, next
//
// Whatever reaches one of them besides fails the test. Receipt ids, which are
// drawn, stand as ID and FP.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) < 13 {
		t.Fatalf("transcripts are missing: %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, file)
		})
	}
}

var drawn = regexp.MustCompile(`"countersign/receipt":\{"id":"[A-Za-z0-9_-]{22}","fingerprint":"[A-Za-z0-9_-]{43}"\}`)

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := map[string]string{}
	for _, f := range archive.Files {
		part[f.Name] = string(f.Data)
	}
	cfg := proxy.Config{Service: "guard", Agent: "agent"}
	var allowed []string
	var rules *proxy.Rules
	recorded := true
	for line := range strings.Lines(part["settings"]) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "tools":
			cfg.Tools = tools(strings.Fields(rest)...)
			allowed = strings.Fields(rest)
		case "slip": // the tools it allows, where not all
			allowed = strings.Fields(rest)
		case "amount": // tool, pointer, unit, scale
			f := strings.Fields(rest)
			scale, err := strconv.Atoi(f[3])
			if err != nil {
				t.Fatal(err)
			}
			tool := cfg.Tools[f[0]]
			tool.Amount = &proxy.AmountRule{Arg: f[1], Unit: f[2], Scale: scale}
			cfg.Tools[f[0]] = tool
		case "rules":
			rules = ruleset(t, rest)
		case "pass":
			cfg.PassThrough = strings.Fields(rest)
		case "tell":
			cfg.Tell = rest
		case "mark":
			cfg.CallIDInMeta = true
		case "credential":
			cfg.Credentials = append(cfg.Credentials, rest)
		case "mode":
			cfg.Mode = proxy.RulesOnly
			recorded = false
		case "":
		default:
			t.Fatalf("the setting %q is not known", word)
		}
	}
	var w *wires
	var r *records
	if recorded {
		r = newRecords(t, allowed...)
		w = guard(t, cfg, rules, proxy.Recorded(r.chain))
	} else {
		w = guard(t, cfg, rules, nil)
	}
	n := 0
	for line := range strings.Lines(part["wire"]) {
		n++
		line = strings.TrimSuffix(line, "\n")
		word, text, _ := strings.Cut(line, " ")
		text = strings.TrimLeft(text, " ")
		want := func(l *lines) {
			got := drawn.ReplaceAllString(l.next(), `"countersign/receipt":{"id":"ID","fingerprint":"FP"}`)
			if got != text {
				t.Fatalf("line %d, %s:\n got %s\nwant %s", n, l.name, got, text)
			}
		}
		switch word {
		case "agent":
			w.agent(text)
		case "server":
			w.server(text)
		case ">server":
			want(w.toServer)
		case ">agent":
			want(w.toAgent)
		case "#", "":
		default:
			t.Fatalf("line %d begins with %q", n, word)
		}
	}
	w.close()
	if recorded {
		var record []string
		for line := range strings.Lines(part["record"]) {
			record = append(record, strings.TrimSpace(line))
		}
		r.want(record...)
	}
}
