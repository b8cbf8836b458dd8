package receipts_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/receipts"
)

// fiveRecords is a ledger of five lines: open, two calls and their outcomes. The
// mark that closing wrote is left out.
func fiveRecords(t *testing.T) (w *world, text []byte, last receipts.Receipt) {
	w = newWorld(t)
	c := w.open()
	do(t, c, testCall(t, "files.read", `{"path":"/a"}`), answer(`{"content":[]}`))
	last, _ = do(t, c, testCall(t, "files.write", `{"path":"/b"}`), unknown("timeout"))
	w.close(c)
	edit(t, w.cfg.Ledger, dropLine(-1))
	text, err := os.ReadFile(w.cfg.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	return w, text, last
}

func verifyLedger(t testing.TB, text []byte, o receipts.LedgerOptions) receipts.LedgerReport {
	t.Helper()
	r, err := receipts.VerifyLedger(bytes.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerifyLedger(t *testing.T) {
	w, text, last := fiveRecords(t)
	key := w.cfg.LedgerKey.Public()
	r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: key})
	if !r.Sound() || r.Lines != 5 || r.Summary() != "consistent up to record 5" || r.Key != w.cfg.LedgerKey.PublicText() || r.Kinds["outcome"] != 2 {
		t.Fatalf("%s %+v", r.Summary(), r)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if r.Last != receipts.Fingerprint(bytes.TrimSuffix(lines[4], []byte("\n"))) {
		t.Fatal("the last line's fingerprint is another")
	}
	if !strings.Contains(strings.Join(r.NotShown, "\n"), "cut off the end") {
		t.Fatalf("does not say that a cut would not show: %v", r.NotShown)
	}
	if r := verifyLedger(t, text, receipts.LedgerOptions{}); !r.Sound() || !strings.Contains(strings.Join(r.NotShown, "\n"), "who wrote it") {
		t.Fatalf("without a key: %s, %v", r.Summary(), r.NotShown)
	}
	other := receipts.NewLedgerKey([32]byte{77}).Public()
	if r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: other}); r.Sound() {
		t.Fatal("sound under another key")
	}
	full := receipts.LedgerOptions{PublicKey: key, Head: &receipts.Head{Size: r.Lines, Last: r.Last, Root: r.Root}, Receipts: []string{last.Fingerprint}}
	if r := verifyLedger(t, text, full); !r.Sound() || r.Summary() != "intact up to record 5, the head's last" {
		t.Fatalf("with its head: %s", r.Summary())
	}
	wrong := full
	wrong.Head = &receipts.Head{Size: r.Lines, Last: r.Last, Root: lineDig}
	if r := verifyLedger(t, text, wrong); r.Sound() {
		t.Fatal("another root passes")
	}
	zeros := append(bytes.Clone(text), make([]byte, 5000)...)
	if r := verifyLedger(t, zeros, full); !r.Sound() || r.Zeroed != 5000 || !strings.Contains(r.Summary(), "5000 zero bytes") {
		t.Fatalf("zeros behind: %s", r.Summary())
	}
	middle := append(append(bytes.Clone(lines[0]), 0, 0), bytes.Join(lines[1:], nil)...)
	if r := verifyLedger(t, middle, full); r.Sound() {
		t.Fatal("zeros inside pass")
	}
	if r := verifyLedger(t, text[:len(text)-1], receipts.LedgerOptions{PublicKey: key}); r.Sound() {
		t.Fatal("a missing line end passes")
	}
	open := verifyLedger(t, bytes.Join(lines[:4], nil), receipts.LedgerOptions{PublicKey: key})
	if !open.Sound() || open.OpenCall != 4 || !strings.Contains(open.Summary(), "the call of record 4 has no outcome") {
		t.Fatalf("an open call: %s", open.Summary())
	}
}

// LEDG-02: cutting off the end leaves a perfect chain.
func TestLEDG02(t *testing.T) {
	w, text, last := fiveRecords(t)
	key := w.cfg.LedgerKey.Public()
	whole := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: key})
	head := &receipts.Head{Size: 5, Last: whole.Last, Root: whole.Root}
	l := bytes.SplitAfter(text, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, row := range []struct {
		name     string
		text     []byte
		first    int64 // record named with a head
		headless string
	}{
		{"l2 newest two removed", join(l[0], l[1], l[2]), 4, "consistent up to record 3"},
		{"l3 emptied", nil, 1, "empty"},
		{"l4 one removed", join(l[0], l[1], l[3], l[4]), 3, "not sound"},
		{"l5 two swapped", join(l[0], l[1], l[3], l[2], l[4]), 3, "not sound"},
		{"l6 first removed", join(l[1], l[2], l[3], l[4]), 1, "not sound"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := verifyLedger(t, row.text, receipts.LedgerOptions{PublicKey: key, Head: head})
			if r.Sound() || r.Problems[0].Line != row.first {
				t.Errorf("with a head: %s, want record %d named first", r.Summary(), row.first)
			}
			r = verifyLedger(t, row.text, receipts.LedgerOptions{PublicKey: key})
			if !strings.HasPrefix(r.Summary(), row.headless) || strings.Contains(r.Summary(), "valid") {
				t.Errorf("without: %q, want %q", r.Summary(), row.headless)
			}
			r = verifyLedger(t, row.text, receipts.LedgerOptions{PublicKey: key, Receipts: []string{last.Fingerprint}})
			if got := slices.ContainsFunc(r.Problems, func(p receipts.LedgerProblem) bool { return strings.Contains(p.Msg, last.Fingerprint) }); got != !bytes.Contains(row.text, l[4]) {
				t.Errorf("the receipt of record 5: problem %v", got)
			}
		})
	}
	if r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: key, Receipts: []string{last.Fingerprint}}); !r.Sound() {
		t.Fatal("the receipt does not prove against the full ledger")
	}
}

// A changed byte anywhere in a ledger is found.
func TestVerifyLedgerEveryByte(t *testing.T) {
	w, text, _ := fiveRecords(t)
	// Every fourth byte; TestLineEveryByteCounts has all of one line.
	for i := 0; i < len(text); i += 4 {
		bad := bytes.Clone(text)
		bad[i] ^= 1 << (i / 4 % 8)
		if r := verifyLedger(t, bad, receipts.LedgerOptions{PublicKey: w.cfg.LedgerKey.Public()}); r.Sound() {
			t.Fatalf("byte %d changed from %q to %q and the ledger is %s", i, text[i], bad[i], r.Summary())
		}
	}
}

// forge signs lines of the tester's making, so that only their content is wrong.
func forge(key *receipts.LedgerKey, bodies ...receipts.LineBody) []byte {
	var out []byte
	prev := ""
	for i, b := range bodies {
		line := receipts.WriteLine(receipts.Line{Seq: int64(i), Prev: prev, At: lineTime, Body: b}, receipts.PrivateOf(key))
		prev = receipts.Fingerprint(line)
		out = append(append(out, line...), '\n')
	}
	return out
}

func TestVerifyLedgerContent(t *testing.T) {
	key := receipts.NewLedgerKey([32]byte{9})
	open := &receipts.OpenLine{Agent: "files", Key: key.PublicText(), Rules: lineRules, Service: "guard", Settings: lineDig, Slip: lineDig, Version: "0.1.0"}
	draft := receipts.Stub{ID: "AAAAAAAAAAAAAAAAAAAAAA", Slip: lineDig, Action: "files.read", When: receipts.TimeOf(lineTime), With: "guard", Details: []receipts.Detail{
		{Name: "arguments", SHA256: receipts.Fingerprint([]byte(`{"n":1.5}`))}, {Name: "provared.tool-name", SHA256: receipts.Fingerprint([]byte("read"))}, {Name: "countersign.content-rules", SHA256: lineDig}}}
	call := func(change func(*receipts.CallLine, *receipts.Stub)) *receipts.CallLine {
		d := draft
		d.Details = slices.Clone(d.Details)
		l := &receipts.CallLine{Agent: "files", AgentKeys: lineDig, GuardKeys: lineDig, Arguments: ` { "n" : 1.50 } `, Rules: lineRules, Tool: "read"}
		if change != nil {
			change(l, &d)
		}
		l.Draft = d.Append(nil)
		return l
	}
	outcome := func(of int64, change func(*receipts.OutcomeLine, *receipts.Stub)) *receipts.OutcomeLine {
		d := draft
		d.Details = append(slices.Clone(d.Details), receipts.Detail{Name: "countersign.outcome-not-known", SHA256: receipts.Fingerprint([]byte("timeout"))})
		l := &receipts.OutcomeLine{Call: of, How: "timeout"}
		if change != nil {
			change(l, &d)
		}
		l.Stub = d.Append(nil)
		counter := receipts.Countersignature{Stub: receipts.Fingerprint(l.Stub), When: d.When}
		if l.Countersignature == nil {
			l.Countersignature = counter.Append(nil)
		}
		return l
	}
	other := (&receipts.Countersignature{Stub: lineDig, When: draft.When}).Append(nil)
	for name, row := range map[string]struct {
		bodies []receipts.LineBody
		want   string // "" sound
	}{
		"sound":              {[]receipts.LineBody{open, call(nil), outcome(1, nil)}, ""},
		"no open line":       {[]receipts.LineBody{call(nil), outcome(0, nil)}, "no key is known"},
		"open names another": {[]receipts.LineBody{open, &receipts.OpenLine{Agent: "files", Key: receipts.NewLedgerKey([32]byte{8}).PublicText(), Service: "guard", Settings: lineDig, Version: "0.1.0"}}, "another key"},
		"outcome of nothing": {[]receipts.LineBody{open, outcome(0, nil)}, "no open call"},
		"outcome twice":      {[]receipts.LineBody{open, call(nil), outcome(1, nil), outcome(1, nil)}, "no open call"},
		"two calls":          {[]receipts.LineBody{open, call(nil), call(nil)}, "no outcome"},
		"other arguments":    {[]receipts.LineBody{open, call(func(l *receipts.CallLine, _ *receipts.Stub) { l.Arguments = `{"n":1.51}` })}, "digest of the arguments"},
		"broken arguments":   {[]receipts.LineBody{open, call(func(l *receipts.CallLine, _ *receipts.Stub) { l.Arguments = `{"n":1,"n":1}` })}, "not strict JSON"},
		"other tool":         {[]receipts.LineBody{open, call(func(l *receipts.CallLine, _ *receipts.Stub) { l.Tool = "write" })}, "digest of the tool name"},
		"other rules":        {[]receipts.LineBody{open, call(func(l *receipts.CallLine, _ *receipts.Stub) { l.Rules = nil })}, "other rules"},
		"odd detail":         {[]receipts.LineBody{open, call(func(_ *receipts.CallLine, s *receipts.Stub) { s.Details[0].Name = "weather" })}, "no call has"},
		"input not bound": {[]receipts.LineBody{open, call(func(l *receipts.CallLine, s *receipts.Stub) {
			s.Details = append(s.Details, receipts.Detail{Name: "countersign.input-responses", SHA256: lineDig})
			l.InputResponses = `{}`
		})}, "input responses"},
		"no arguments bound": {[]receipts.LineBody{open, call(func(_ *receipts.CallLine, s *receipts.Stub) { s.Details = s.Details[1:] })}, "does not bind the arguments"},
		"arguments twice":    {[]receipts.LineBody{open, call(func(_ *receipts.CallLine, s *receipts.Stub) { s.Details = append(s.Details, s.Details[0]) })}, "binds the arguments twice"},
		"two argument forms": {[]receipts.LineBody{open, call(func(_ *receipts.CallLine, s *receipts.Stub) {
			s.Details = append(s.Details, receipts.Detail{Name: "countersign.arguments-redacted", SHA256: s.Details[0].SHA256})
		})}, "binds the arguments twice"},
		"input left out": {[]receipts.LineBody{open, call(func(l *receipts.CallLine, _ *receipts.Stub) { l.InputResponses = `{}` })}, "does not bind the input responses"},
		"reason as a result": {[]receipts.LineBody{open, call(nil), outcome(1, func(_ *receipts.OutcomeLine, s *receipts.Stub) {
			s.Details[len(s.Details)-1].Name = "provared.tool-result"
		})}, "binds another answer"},
		"result as a reason": {[]receipts.LineBody{open, call(nil), outcome(1, func(l *receipts.OutcomeLine, s *receipts.Stub) {
			l.How, l.Result = "result", lineDig
			s.Details[len(s.Details)-1].SHA256 = lineDig
		})}, "binds another answer"},
		"approval not there": {[]receipts.LineBody{open, call(func(_ *receipts.CallLine, s *receipts.Stub) { s.Approval = lineDig })}, "not there"},
		"draft is no stub":   {[]receipts.LineBody{open, func() receipts.LineBody { l := call(nil); l.Draft = []byte(`{}`); return l }()}, "not the content of a stub"},
		"another stub":       {[]receipts.LineBody{open, call(nil), outcome(1, func(_ *receipts.OutcomeLine, s *receipts.Stub) { s.Action = "files.write" })}, "not that of the call"},
		"another answer":     {[]receipts.LineBody{open, call(nil), outcome(1, func(l *receipts.OutcomeLine, _ *receipts.Stub) { l.How = "crashed" })}, "binds another answer"},
		"result and reason":  {[]receipts.LineBody{open, call(nil), outcome(1, func(l *receipts.OutcomeLine, _ *receipts.Stub) { l.Result = lineDig })}, "exactly where there was one"},
		"other counterpart":  {[]receipts.LineBody{open, call(nil), outcome(1, func(l *receipts.OutcomeLine, _ *receipts.Stub) { l.Countersignature = other })}, "names another stub"},
		"chain of receipts":  {[]receipts.LineBody{open, call(nil), outcome(1, nil), call(nil)}, "does not follow the receipt"},
		"denial not sound":   {[]receipts.LineBody{open, &receipts.RefusedLine{By: "rule", Code: "condition", Denial: []byte(`{}`), Tool: "x"}}, "denial is not sound"},
		"watch ahead":        {[]receipts.LineBody{open, &receipts.WatchLine{Of: 1, Rules: []receipts.Watched{{Rule: "a/b", Code: "condition"}}}}, "does not stand before"},
	} {
		r := verifyLedger(t, forge(key, row.bodies...), receipts.LedgerOptions{})
		switch {
		case row.want == "" && !r.Sound():
			t.Errorf("%s: %s", name, r.Summary())
		case row.want != "" && (r.Sound() || !strings.Contains(fmt.Sprint(r.Problems), row.want)):
			t.Errorf("%s: %s, want %q", name, r.Summary(), row.want)
		}
	}
}

func TestVerifyLedgerKeyHandedOn(t *testing.T) {
	first, second := receipts.NewLedgerKey([32]byte{1}), receipts.NewLedgerKey([32]byte{2})
	open := func(k *receipts.LedgerKey) receipts.LineBody {
		return &receipts.OpenLine{Agent: "files", Key: k.PublicText(), Service: "guard", Settings: lineDig, Version: "0.1.0"}
	}
	var text []byte
	prev := ""
	for i, l := range []struct {
		body receipts.LineBody
		key  *receipts.LedgerKey
	}{{open(first), first}, {&receipts.KeyLine{Key: second.PublicText()}, first}, {open(second), second}} {
		line := receipts.WriteLine(receipts.Line{Seq: int64(i), Prev: prev, At: lineTime, Body: l.body}, receipts.PrivateOf(l.key))
		prev = receipts.Fingerprint(line)
		text = append(append(text, line...), '\n')
	}
	if r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: first.Public()}); !r.Sound() || r.Key != second.PublicText() {
		t.Fatalf("%s, signed last by %s", r.Summary(), r.Key)
	}
	if r := verifyLedger(t, text, receipts.LedgerOptions{PublicKey: second.Public()}); r.Sound() {
		t.Fatal("sound under the second key from the start")
	}
}

func TestParseHead(t *testing.T) {
	for _, h := range []receipts.Head{{Size: 5, Last: lineDig}, {Size: 0, Last: lineDig, Root: lineDig}} {
		if got, err := receipts.ParseHead(h.String()); err != nil || got != h {
			t.Errorf("%s: %+v %v", h, got, err)
		}
	}
	for _, s := range []string{"", "5", "5:", ":" + lineDig, "05:" + lineDig, "-1:" + lineDig, "+5:" + lineDig, "5:" + lineDig + ":", "5:" + lineDig + ":x", "5:" + lineDig + " "} {
		if h, err := receipts.ParseHead(s); err == nil {
			t.Errorf("%q read as %+v", s, h)
		}
	}
}

func FuzzVerifyLedger(f *testing.F) {
	key := receipts.NewLedgerKey([32]byte{9})
	open := &receipts.OpenLine{Agent: "files", Key: key.PublicText(), Service: "guard", Settings: lineDig, Version: "0.1.0"}
	seeds := [][]byte{forge(key, open), forge(key, open, &receipts.NoticeLine{What: "x"}), append(forge(key, open), 0, 0, 0), nil, []byte("\n\n"), []byte("{}\n")}
	for _, s := range seeds {
		f.Add(s)
	}
	if len(seeds) == 0 {
		f.Fatal("the seeds are missing")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := receipts.VerifyLedger(bytes.NewReader(text), receipts.LedgerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Sound() && r.Lines > 0 {
			// What passes is lines in their one spelling, and zeros behind them.
			rest := bytes.TrimRight(text, "\x00")
			if int64(bytes.Count(rest, []byte("\n"))) != r.Lines || rest[len(rest)-1] != '\n' {
				t.Fatalf("%s, of %q", r.Summary(), text)
			}
		}
	})
}
