package receipts_test

import (
	"bytes"
	"crypto/ed25519"
	"reflect"
	"strings"
	"testing"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
)

var (
	lineTime  = time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC)
	lineDig   = receipts.Fingerprint([]byte("anything"))
	lineSeed  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	linePub   = lineSeed.Public().(ed25519.PublicKey)
	lineStub  = (&receipts.Stub{ID: "AAAAAAAAAAAAAAAAAAAAAA", Slip: lineDig, Action: "files.read", When: receipts.TimeOf(lineTime), With: "guard", Details: []receipts.Detail{{Name: "arguments", SHA256: lineDig}}}).Append(nil)
	lineCount = (&receipts.Countersignature{Stub: receipts.Fingerprint(lineStub), When: receipts.TimeOf(lineTime)}).Append(nil)
	lineDeny  = (&receipts.Denial{ID: "AAAAAAAAAAAAAAAAAAAAAA", Slip: lineDig, By: "rule", Code: "condition", Rule: "files/outside", With: "guard", When: receipts.TimeOf(lineTime), Details: []receipts.Detail{{Name: "arguments", SHA256: lineDig}}}).Append(nil)
	lineRules = []receipts.RulesFile{{Name: "content-rules", SHA256: lineDig}}
)

// lineBodies is one body of each shape.
func lineBodies() map[string]receipts.LineBody {
	key := receipts.NewLedgerKey([32]byte{9}).PublicText()
	return map[string]receipts.LineBody{
		"open":       &receipts.OpenLine{Agent: "files", Key: key, Rules: lineRules, Service: "guard", Settings: lineDig, Slip: lineDig, Version: "0.1.0"},
		"open later": &receipts.OpenLine{Agent: "files", Book: receipts.Extent{Bytes: 100, Lines: 2, Last: lineDig}, Key: key, Service: "guard", Settings: lineDig, Version: "0.1.0"},
		"key":        &receipts.KeyLine{Key: key},
		"call": &receipts.CallLine{Agent: "files", AgentKeys: lineDig, GuardKeys: lineDig, Annotations: `{"readOnlyHint":true}`, Approval: []byte(`{"payload":"AA","signatures":[]}`),
			Arguments: `{ "path": "/tmp/ü\u0041\n" , "n":1.50}`, InputResponses: `[{"a":"\\\""}]`, Client: receipts.Client{Name: "tester", Version: "1"}, Draft: lineStub, Rules: lineRules, Tool: "read_file", Upstream: "files"},
		"call least":    &receipts.CallLine{Agent: "files", AgentKeys: lineDig, GuardKeys: lineDig, Draft: lineStub, Tool: ""},
		"outcome":       &receipts.OutcomeLine{Book: receipts.Extent{Bytes: 5, Lines: 1, Last: lineDig}, Call: 3, Countersignature: lineCount, How: receipts.HowToolError, Removed: 2, Result: lineDig, Status: 200, Stub: lineStub},
		"outcome least": &receipts.OutcomeLine{Countersignature: lineCount, How: receipts.ReasonCrashed, Stub: lineStub},
		"refused":       &receipts.RefusedLine{By: "rule", Code: "condition", Denial: lineDeny, Rule: "files/outside", Tool: "write_file"},
		"no denial":     &receipts.RefusedLine{By: "settings", Code: "unlisted", Details: []receipts.Detail{{Name: "arguments", SHA256: lineDig}}, Note: "hidden", Tool: "resources/read"},
		"refused count": &receipts.RefusedLine{Count: 17, From: lineTime, Until: lineTime.Add(time.Minute)},
		"watch":         &receipts.WatchLine{Of: 4, Rules: []receipts.Watched{{Rule: "files/odd", Code: "condition"}}, More: 1},
		"mark":          &receipts.MarkLine{Book: receipts.Extent{Bytes: 5, Lines: 1, Last: lineDig}, Root: lineDig},
		"mark ledger":   &receipts.MarkLine{Book: receipts.Extent{Bytes: 5, Lines: 1, Last: lineDig}, Root: lineDig, Ledger: receipts.Extent{Bytes: 900, Lines: 2, Last: lineDig}},
		"notice":        &receipts.NoticeLine{What: "reloaded", Text: "rules"},
		"notice tail":   &receipts.NoticeLine{What: "recovered-tail", File: "ledger", Bytes: 0, SHA256: lineDig},
		"notice count":  &receipts.NoticeLine{What: "counted", Count: 4, From: lineTime, Until: lineTime},
	}
}

func TestLineRoundTrip(t *testing.T) {
	for name, body := range lineBodies() {
		t.Run(name, func(t *testing.T) {
			for seq, prev := range map[int64]string{0: "", 12: lineDig} {
				raw := receipts.WriteLine(receipts.Line{Seq: seq, Prev: prev, At: lineTime, Body: body}, lineSeed)
				if canon, err := ijson.Canonical(raw, ijson.Options{}); err != nil || !bytes.Equal(canon, raw) {
					t.Fatalf("not canonical (%v):\n%s\n%s", err, raw, canon)
				}
				l, err := receipts.ReadLine(raw)
				if err != nil {
					t.Fatalf("%v\n%s", err, raw)
				}
				if l.Seq != seq || l.Prev != prev || !l.At.Equal(lineTime) || !reflect.DeepEqual(l.Body, body) {
					t.Fatalf("read back as %+v %+v, want %+v", l, l.Body, body)
				}
				if l.Hash != receipts.Fingerprint(raw) {
					t.Fatal("the hash is not that of the whole line")
				}
				if signed, valid := l.Signed(linePub); !signed || !valid {
					t.Fatal("the signature does not verify")
				}
				if _, valid := l.Signed(receipts.NewLedgerKey([32]byte{1}).Public()); valid {
					t.Fatal("another key's signature verifies")
				}
			}
			raw := receipts.WriteLine(receipts.Line{Seq: 0, At: lineTime, Body: body}, nil)
			l, err := receipts.ReadLine(raw)
			if err != nil {
				t.Fatal(err)
			}
			if signed, _ := l.Signed(linePub); signed {
				t.Fatal("an unsigned line counts as signed")
			}
		})
	}
}

// Every single-byte change of a line is seen: the line is no longer read, or its
// signature no longer fits.
func TestLineEveryByteCounts(t *testing.T) {
	for name, body := range lineBodies() {
		raw := receipts.WriteLine(receipts.Line{Seq: 12, Prev: lineDig, At: lineTime, Body: body}, lineSeed)
		for i := range raw {
			for _, flip := range []byte{1, 0x20, 0x80} {
				bad := bytes.Clone(raw)
				bad[i] ^= flip
				l, err := receipts.ReadLine(bad)
				if err != nil {
					continue
				}
				if _, valid := l.Signed(linePub); valid {
					t.Fatalf("%s: byte %d changed and nobody noticed:\n%s", name, i, bad)
				}
			}
		}
	}
}

func TestLineRefused(t *testing.T) {
	good := string(receipts.WriteLine(receipts.Line{Seq: 1, Prev: lineDig, At: lineTime, Body: &receipts.NoticeLine{What: "x"}}, nil))
	if _, err := receipts.ReadLine([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ from, to string }{
		"space":            {`"kind":`, `"kind": `},
		"unknown member":   {`"what"`, `"whaa":1,"what"`},
		"unknown kind":     {`"notice"`, `"rumour"`},
		"no kind":          {`"kind":"notice",`, ``},
		"no what":          {`,"what":"x"`, ``},
		"prev missing":     {`"prev":"` + lineDig + `",`, ``},
		"prev on first":    {`"seq":1`, `"seq":0`},
		"bad time":         {`12:00:00.250Z`, `12:00:00Z`},
		"no such time":     {`2026-11-30`, `2026-11-31`},
		"count alone":      {`"kind"`, `"count":3,"kind"`},
		"negative":         {`"seq":1`, `"seq":-1`},
		"twice":            {`"seq":1`, `"seq":1,"seq":1`},
		"sig not base64":   {`"what"`, `"sig":"` + strings.Repeat("=", 86) + `","what"`},
		"mark's root gone": {`"kind":"notice"`, `"kind":"mark"`},
	} {
		bad := strings.Replace(good, c.from, c.to, 1)
		if bad == good {
			t.Fatalf("%s: the row changes nothing", name)
		}
		if _, err := receipts.ReadLine([]byte(bad)); err == nil {
			t.Errorf("%s: accepted %s", name, bad)
		}
	}
	for name, bad := range map[string]string{"empty": "", "list": "[]", "text": `"a"`, "half": good[:20], "zeros": "\x00\x00", "two": good + good} {
		if _, err := receipts.ReadLine([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzReadLine: what is read is written back byte for byte, whatever the input.
func FuzzReadLine(f *testing.F) {
	n := 0
	for _, body := range lineBodies() {
		f.Add(receipts.WriteLine(receipts.Line{Seq: 3, Prev: lineDig, At: lineTime, Body: body}, lineSeed))
		f.Add(receipts.WriteLine(receipts.Line{Seq: 0, At: lineTime, Body: body}, nil))
		n += 2
	}
	if n < 20 {
		f.Fatal("the seeds are missing")
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := receipts.ReadLine(raw)
		if err != nil {
			return
		}
		again := receipts.WriteLine(l, nil)
		if signed, _ := l.Signed(linePub); !signed && !bytes.Equal(again, raw) {
			t.Fatalf("written back as\n%s\nread from\n%s", again, raw)
		}
		back, err := receipts.ReadLine(again)
		if err != nil || !reflect.DeepEqual(back.Body, l.Body) {
			t.Fatalf("%v\n%+v\n%+v", err, back.Body, l.Body)
		}
	})
}
