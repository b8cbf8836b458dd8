package receipts_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/ijson"
	"countersign/receipts"
)

var b64 = base64.RawURLEncoding

// person stands in for someone with a passkey (Ed25519).
type person struct{ key ed25519.PrivateKey }

const personOrigin = "http://localhost:8797"

func newPerson(seed byte) person {
	return person{ed25519.NewKeyFromSeed(append(make([]byte, 31), seed))}
}

func (p person) jwk(t testing.TB) receipts.Key {
	k, err := receipts.NewEd25519Key(p.key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sign makes a passkey's record around content.
func (p person) sign(kind receipts.Kind, payload []byte) []byte {
	protected := b64.EncodeToString([]byte(`{"typ":"vnd.provared.` + string(kind) + `.v0+json","alg":"prova.red/webauthn/v0"}`))
	input := protected + "." + b64.EncodeToString(payload)
	challenge := sha256.Sum256([]byte(input))
	client := []byte(`{"type":"webauthn.get","challenge":"` + b64.EncodeToString(challenge[:]) + `","origin":"` + personOrigin + `","crossOrigin":false}`)
	rp := sha256.Sum256([]byte("localhost"))
	auth := append(rp[:], 0x05, 0, 0, 0, 1)
	hash := sha256.Sum256(client)
	sig := ed25519.Sign(p.key, append(append([]byte{}, auth...), hash[:]...))
	return fmt.Appendf(nil, `{"payload":"%s","signatures":[{"header":{"authenticatorData":"%s","clientDataJSON":"%s"},"protected":"%s","signature":"%s"}]}`,
		b64.EncodeToString(payload), b64.EncodeToString(auth), b64.EncodeToString(client), protected, b64.EncodeToString(sig))
}

// testClock is a clock tests move.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var worldStart = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is one agent's slip, keys, disk and clock, over which chains are opened.
type world struct {
	t      testing.TB
	dir    string
	disk   receipts.Disk
	files  *receipts.Files
	person person
	slip   receipts.Slip
	cfg    receipts.ChainConfig
	clock  *testClock
	random *rand.ChaCha8
	slips  [3][]byte // of a test that changes the slip
}

// testSigner makes the keys of a seed once: expanding them is slow under race.
var testSigner = sync.OnceValues(func() ([2]*receipts.Signer, error) {
	var s [2]*receipts.Signer
	for i := range s {
		var err error
		if s[i], err = receipts.NewSigner([32]byte{byte(i), 1}, [32]byte{byte(i), 2}); err != nil {
			return s, err
		}
	}
	return s, nil
})

func newWorld(t testing.TB, adjust ...func(*receipts.Slip)) *world {
	t.Helper()
	signers, err := testSigner()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: t.TempDir(), disk: receipts.OSDisk(), person: newPerson(1), clock: &testClock{now: worldStart}, random: rand.NewChaCha8([32]byte{3})}
	files := receipts.NewFiles(w.disk, receipts.FilesOptions{Ahead: 256 << 10})
	t.Cleanup(func() { files.Close() })
	w.files = files
	w.slip = receipts.Slip{
		ID:        firstID,
		Issuer:    receipts.Issuer{Key: w.person.jwk(t), Name: receipts.Covered{Text: "Ada (development)"}, Origin: personOrigin, RPID: "localhost"},
		Agent:     receipts.Agent{Keys: signers[0].Keys(), Name: receipts.Covered{Text: "files"}},
		Actions:   []string{"files.read", "files.write"},
		Limits:    []receipts.Limit{{Action: "files.write", Kind: receipts.LimitCount, Bound: 3}},
		Requires:  []receipts.Condition{{Need: receipts.KindCountersignature}},
		With:      []receipts.Service{{ID: "guard", Name: receipts.Covered{Text: "The guard"}, Keys: signers[1].Keys()}},
		ValidFrom: receipts.TimeOf(worldStart.Add(-time.Hour)), ValidUntil: receipts.TimeOf(worldStart.Add(24 * time.Hour)),
		Purpose: receipts.Covered{Text: "tests"},
	}
	for _, f := range adjust {
		f(&w.slip)
	}
	w.cfg = receipts.ChainConfig{
		Name: "files", Ledger: filepath.Join(w.dir, "state", "ledger.jsonl"), Book: filepath.Join(w.dir, "book.jsonl"),
		Slip: w.person.sign(receipts.KindSlip, w.slip.Append(nil)), Agent: signers[0], Guard: signers[1],
		LedgerKey: receipts.NewLedgerKey([32]byte{5}), IssuerKeys: []string{w.person.jwk(t).Thumbprint()},
		Service: "guard", DenialsPerHour: 60, MaxWaiting: 64, Version: "0.1.0", Settings: lineDig, Rules: lineRules,
		Clock: w.clock.Now, Rand: w.random,
	}
	return w
}

func (w *world) config() receipts.ChainConfig {
	cfg := w.cfg
	cfg.Store = w.files
	return cfg
}

// open opens the chain and closes it with the test.
func (w *world) open() *receipts.Chain {
	w.t.Helper()
	c, err := receipts.OpenChain(w.t.Context(), w.config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) close(c *receipts.Chain) {
	w.t.Helper()
	if err := c.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// digest is the fingerprint of the canonical form of a JSON text.
func digest(t testing.TB, text string) string {
	canon, err := ijson.Canonical([]byte(text), ijson.Options{Doubles: true})
	if err != nil {
		t.Fatal(err)
	}
	return receipts.Fingerprint(canon)
}

// testCall is a call of a tool with these arguments.
func testCall(t testing.TB, action, arguments string) receipts.Call {
	bound := arguments
	if bound == "" {
		bound = "{}"
	}
	c := receipts.Call{
		Proposal: receipts.Proposal{Action: action, Details: []receipts.Detail{
			{Name: "arguments", SHA256: digest(t, bound)},
			{Name: "provared.tool-name", SHA256: receipts.Fingerprint([]byte("tool"))},
			{Name: "countersign.content-rules", SHA256: lineDig},
		}},
		Tool: "tool", Annotations: []byte(`{"readOnlyHint":true}`), Rules: lineRules,
		Client: receipts.Client{Name: "tester", Version: "1"}, Upstream: "files",
	}
	if arguments != "" {
		c.Arguments = []byte(arguments)
	}
	return c
}

// answer is an outcome with this result.
func answer(result string) receipts.Outcome {
	canon := []byte(`{"result":` + result + `}`)
	return receipts.Outcome{Detail: receipts.Detail{Name: "provared.tool-result", SHA256: receipts.Fingerprint(canon)}, Result: canon}
}

// unknown is an outcome that is not known.
func unknown(reason string) receipts.Outcome {
	return receipts.Outcome{Detail: receipts.Detail{Name: "countersign.outcome-not-known", SHA256: receipts.Fingerprint([]byte(reason))}, Unknown: reason}
}

// do takes one call through, or has it refused by the slip. It gives the receipt
// or the code of the refusal.
func do(t testing.TB, c *receipts.Chain, call receipts.Call, o receipts.Outcome) (receipts.Receipt, receipts.Code) {
	t.Helper()
	turn, err := c.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	a := turn.Check(call.Proposal)
	if !a.Allowed {
		p, _ := a.First()
		if err := turn.Refuse(receipts.Refused{Call: call, By: "slip", Code: string(p.Code)}); err != nil {
			t.Fatal(err)
		}
		return receipts.Receipt{}, p.Code
	}
	f, err := turn.Copy(call)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Finish(o)
	if err != nil {
		t.Fatal(err)
	}
	return r, ""
}

// read gives the parts of a file's lines.
func (w *world) lines(path string) []string {
	w.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	s := strings.TrimRight(string(text), "\x00")
	if s == "" {
		return nil
	}
	if !strings.HasSuffix(s, "\n") {
		w.t.Fatalf("%s does not end in a line end", path)
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// ledgerKinds gives the kinds of the ledger's lines in order.
func (w *world) ledgerKinds() []string {
	w.t.Helper()
	var kinds []string
	for i, text := range w.lines(w.cfg.Ledger) {
		l, err := receipts.ReadLine([]byte(text))
		if err != nil {
			w.t.Fatalf("ledger line %d: %v\n%s", i+1, err, text)
		}
		kinds = append(kinds, string(l.Kind))
	}
	return kinds
}

// sound checks the book with the format's checker.
func (w *world) sound() receipts.Report {
	w.t.Helper()
	f, err := os.Open(w.cfg.Book)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	r, err := receipts.VerifyBook(f, receipts.CheckOptions{IssuerKeys: w.cfg.IssuerKeys})
	if err != nil {
		w.t.Fatal(err)
	}
	if !r.Summary.Intact || !r.Summary.WithinSlips {
		w.t.Fatalf("the book is not sound: %+v %+v", r.Summary, r.Problems)
	}
	return r
}

var _ io.Reader = (*rand.ChaCha8)(nil)
