package receipts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/receipts"
)

func TestLedgerKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "ledger.key")
	made, err := receipts.CreateLedgerKey(path, bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	read, err := receipts.LoadLedgerKey(path)
	if err != nil || !read.Public().Equal(made.Public()) {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	for _, one := range [][]byte{text, bytes.TrimSuffix(text, []byte("\n"))} { // a variable of the environment has no line end
		if k, err := receipts.ParseLedgerKey(one); err != nil || !k.Public().Equal(made.Public()) {
			t.Errorf("%v", err)
		}
	}
	if _, err := receipts.CreateLedgerKey(path, nil); err == nil {
		t.Error("an existing key was overwritten")
	}
	seed := strings.Split(string(text), `"`)[3]
	for _, shown := range []string{fmt.Sprint(made), fmt.Sprintf("%+v %#v %s", made, made, made), made.LogValue().String()} {
		if strings.Contains(shown, seed) || !strings.Contains(shown, made.PublicText()) {
			t.Errorf("printed as %s", shown)
		}
	}
	if _, err := json.Marshal(made); err == nil {
		t.Error("written as JSON")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := receipts.LoadLedgerKey(path); err == nil || !strings.Contains(err.Error(), "chmod 0600") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if _, err := receipts.LoadLedgerKey(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was read")
	}
}

func TestParseLedgerKeyRefuses(t *testing.T) {
	seed := b64.EncodeToString(make([]byte, 32))
	good := `{"Ed25519":"` + seed + `","type":"countersign.ledger-key.v0"}`
	if _, err := receipts.ParseLedgerKey([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty": "", "spaces": " " + good, "two line ends": good + "\n\n", "short seed": strings.Replace(good, seed, seed[:42], 1),
		"other type": strings.Replace(good, "ledger-key", "keys", 1), "more": strings.Replace(good, `"type"`, `"a":"b","type"`, 1), "long": good + strings.Repeat(" ", 5000),
	} {
		_, err := receipts.ParseLedgerKey([]byte(bad))
		if err == nil {
			t.Errorf("%s: read", name)
		} else if strings.Contains(err.Error(), seed[:42]) {
			t.Errorf("%s: the error shows the seed", name)
		}
	}
}

func TestParsePublicKey(t *testing.T) {
	k := receipts.NewLedgerKey([32]byte{4})
	for name, text := range map[string][]byte{"text": []byte(k.PublicText()), "text and line end": []byte(k.PublicText() + "\r\n"), "PEM": k.PEM()} {
		if got, err := receipts.ParsePublicKey(text); err != nil || !got.Equal(k.Public()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{"empty": nil, "weak": []byte(b64.EncodeToString(make([]byte, 32))), "short": []byte("AAAA"),
		"broken PEM": bytes.Replace(k.PEM(), []byte("MC"), []byte("MD"), 1), "another PEM": []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")} {
		if got, err := receipts.ParsePublicKey(text); err == nil {
			t.Errorf("%s: read as %x", name, got)
		}
	}
}

func FuzzParseLedgerKey(f *testing.F) {
	seeds := []string{`{"Ed25519":"` + b64.EncodeToString(make([]byte, 32)) + `","type":"countersign.ledger-key.v0"}` + "\n", "{}", ""}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	if len(seeds) == 0 {
		f.Fatal("the seeds are missing")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := receipts.ParseLedgerKey(text)
		if err == nil && k.PublicText() == "" {
			t.Fatal("a key without its public half")
		}
		if key, err := receipts.ParsePublicKey(text); err == nil && len(key) != 32 {
			t.Fatal("a public key of another length")
		}
	})
}
