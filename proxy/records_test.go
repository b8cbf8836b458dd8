package proxy_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/proxy"
	"countersign/receipts"
)

// records are the real slip, ledger, book and denials of one agent.
type records struct {
	t       testing.TB
	dir     string
	key     *receipts.LedgerKey
	passkey *receipts.DevelopmentPasskey
	chain   *receipts.Chain
	files   *receipts.Files
	closed  bool
}

// signers are made once: a key of ML-DSA takes a while.
var signers = sync.OnceValues(func() ([2]*receipts.Signer, error) {
	var s [2]*receipts.Signer
	for i := range s {
		var err error
		if s[i], err = receipts.NewSigner([32]byte{byte(i), 1}, [32]byte{byte(i), 2}); err != nil {
			return s, err
		}
	}
	return s, nil
})

// newRecords opens a chain whose slip allows the actions "act-<tool>" of tools.
func newRecords(t testing.TB, tools ...string) *records {
	t.Helper()
	s, err := signers()
	if err != nil {
		t.Fatal(err)
	}
	const origin = "http://localhost:8797"
	passkey, err := receipts.NewDevelopmentPasskey("Ada", origin, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	slip := receipts.Slip{
		ID:        base64.RawURLEncoding.EncodeToString(make([]byte, 16)),
		Issuer:    passkey.Issuer(),
		Agent:     receipts.Agent{Keys: s[0].Keys(), Name: receipts.Covered{Text: "agent"}},
		Requires:  []receipts.Condition{{Need: receipts.KindCountersignature}},
		With:      []receipts.Service{{ID: "guard", Name: receipts.Covered{Text: "The guard"}, Keys: s[1].Keys()}},
		ValidFrom: receipts.TimeOf(now.Add(-time.Hour)), ValidUntil: receipts.TimeOf(now.Add(time.Hour)),
		Purpose: receipts.Covered{Text: "tests"},
	}
	for _, tool := range tools {
		slip.Actions = append(slip.Actions, "act-"+strings.ReplaceAll(tool, "_", "-"))
	}
	record, err := passkey.SignSlip(&slip)
	if err != nil {
		t.Fatal(err)
	}
	r := &records{t: t, dir: t.TempDir(), passkey: passkey, key: receipts.NewLedgerKey([32]byte{5})}
	r.files = receipts.NewFiles(receipts.OSDisk(), receipts.FilesOptions{Ahead: 256 << 10})
	r.chain, err = receipts.OpenChain(t.Context(), receipts.ChainConfig{
		Name: "agent", Store: r.files, Ledger: r.path("state/ledger.jsonl"), Book: r.path("book.jsonl"),
		Slip: record, Agent: s[0], Guard: s[1], LedgerKey: r.key, IssuerKeys: []string{passkey.Issuer().Key.Thumbprint()},
		Service: "guard", DenialsPerHour: 60, MaxWaiting: 64, Version: "test", Settings: receipts.Fingerprint([]byte("settings")),
		Clock: time.Now, Rand: rand.Reader,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *records) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *records) close() {
	if r.closed {
		return
	}
	r.closed = true
	if err := r.chain.Close(); err != nil {
		r.t.Errorf("closing the chain: %v", err)
	}
	if err := r.files.Close(); err != nil {
		r.t.Errorf("closing the store: %v", err)
	}
}

// line is what the tests look at in a line of the ledger.
type line struct {
	Kind, What, Tool, How, By, Code, Rule, Note, Arguments, SHA256 string
	Bytes                                                          int64
}

// ledger closes the chain and gives its ledger's lines, once ledger and book have
// been found sound by their checkers.
func (r *records) ledger() []line {
	r.t.Helper()
	r.close()
	ledger, err := os.ReadFile(r.path("state/ledger.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	report, err := receipts.VerifyLedger(bytes.NewReader(ledger), receipts.LedgerOptions{PublicKey: r.key.Public()})
	if err != nil || len(report.Problems) > 0 {
		r.t.Fatalf("the ledger is not sound: %v %v", err, report.Problems)
	}
	book, err := os.ReadFile(r.path("book.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	checked, err := receipts.VerifyBook(bytes.NewReader(book), receipts.CheckOptions{IssuerKeys: []string{r.passkey.Issuer().Key.Thumbprint()}})
	if err != nil || len(checked.Problems) > 0 {
		r.t.Fatalf("the book is not sound: %v %v", err, checked.Problems)
	}
	var lines []line
	for text := range bytes.Lines(ledger) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			r.t.Fatal(err)
		}
		if l.Kind != "open" && l.Kind != "mark" {
			lines = append(lines, l)
		}
	}
	return lines
}

// want fails the test unless exactly this is on record, in this order.
func (r *records) want(want ...string) {
	r.t.Helper()
	var got []string
	for _, l := range r.ledger() {
		switch l.Kind {
		case "call":
			got = append(got, "call "+l.Tool)
		case "outcome":
			got = append(got, "outcome "+l.How)
		case "refused":
			got = append(got, "refused "+l.By+" "+l.Code+" "+l.Tool)
		default:
			got = append(got, l.Kind+" "+l.What)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("on record:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// recorded puts a guard with real records between the test as agent and the test
// as server. The slip allows all its tools.
func recorded(t *testing.T, rules *proxy.Rules, names ...string) (*wires, *records) {
	t.Helper()
	r := newRecords(t, names...)
	return guard(t, proxy.Config{Service: "guard", Agent: "agent", Tools: tools(names...)}, rules, proxy.Recorded(r.chain)), r
}
