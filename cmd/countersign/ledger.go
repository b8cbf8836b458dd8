package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"countersign/internal/ijson"
	"countersign/internal/plainfile"
	"countersign/receipts"
)

func (p *program) ledgerCommand() *cobra.Command {
	cmd := parent(&cobra.Command{
		Use:   "ledger",
		Short: "Work on the guard's own copy of every call",
	})
	cmd.AddCommand(p.ledgerVerifyCommand())
	return cmd
}

func (p *program) ledgerVerifyCommand() *cobra.Command {
	var pubkey, head string
	var kept []string
	cmd := &cobra.Command{
		Use:   "verify FILE --pubkey KEY",
		Short: "Check a ledger: its chain, every signature, every digest",
		Long: `verify checks a ledger and says what it could not show, such as lines cut off its
end where no head was kept. KEY is the ledger's public key: the 43 characters of
it, or a file that holds them or PEM. --head names a file with the head kept from
an earlier run: its --json answer, or the object "head" of it. --receipt is the
fingerprint of a receipt that was kept, which the ledger must hold.

Exit codes: 0 sound, under the key given; 1 anything else; 2 a file cannot be
read. Without --pubkey the answer is never 0: the key would be the one the ledger
names itself.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.verifyLedger(args[0], pubkey, head, kept) },
	}
	cmd.Flags().StringVar(&pubkey, "pubkey", "", "the ledger's public key, or a file that holds it")
	cmd.Flags().StringVar(&head, "head", "", "a file with a head that was kept")
	cmd.Flags().StringArrayVar(&kept, "receipt", nil, "fingerprint of a receipt that was kept, may be repeated")
	return p.answers(cmd)
}

const (
	maxKeyText  = 4096     // far more than a public key in PEM
	maxHeadText = 64 << 10 // far more than the answer that holds a head
)

// digestForm is that of a public key too: 32 bytes in base64url.
var digestForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

func readPublicKey(text string) (ed25519.PublicKey, error) {
	b := []byte(text)
	if !digestForm.MatchString(text) {
		var err error
		if b, err = plainfile.Read(text, maxKeyText); err != nil {
			return nil, hint(fmt.Errorf("reading the public key: %w", err), `--pubkey takes the 43 characters that "countersign check" prints, or a file that holds them`)
		}
	}
	key, err := receipts.ParsePublicKey([]byte(strings.TrimSuffix(string(b), "\n")))
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	return key, nil
}

// headForm is a head as answers give it and files keep it.
type headForm struct {
	Size int64  `json:"size"`
	Last string `json:"last"`
	Root string `json:"root"`
}

func readHead(path string) (*receipts.Head, error) {
	bad := func(err error) (*receipts.Head, error) { return nil, fmt.Errorf("the head %s: %w", path, err) }
	b, err := plainfile.Read(path, maxHeadText)
	if err != nil {
		return bad(err)
	}
	doc, err := ijson.Parse(b, ijson.Options{})
	if err != nil {
		return bad(err)
	}
	v := doc.Root()
	if head := v.Member("head"); head.Exists() {
		v = head // the whole answer was kept
	}
	size, ok := v.Member("size").Int()
	h := &receipts.Head{Size: size, Last: v.Member("last").Text(), Root: v.Member("root").Text()}
	if !ok || size < 1 || v.Len() != 3 || !digestForm.MatchString(h.Last) || !digestForm.MatchString(h.Root) {
		return bad(errors.New(`expected an answer of "ledger verify --json", or its {"size": …, "last": …, "root": …} with two digests`))
	}
	return h, nil
}

func (p *program) verifyLedger(path, pubkey, head string, kept []string) error {
	o := receipts.LedgerOptions{Receipts: kept}
	if err := digests("receipt", kept); err != nil {
		return err
	}
	var err error
	if pubkey != "" {
		if o.PublicKey, err = readPublicKey(pubkey); err != nil {
			return err
		}
	}
	if head != "" {
		if o.Head, err = readHead(head); err != nil {
			return err
		}
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	defer f.Close()
	r, err := receipts.VerifyLedger(f, o)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	sound := r.Sound() && r.KeyGiven && r.Lines > 0
	if p.asJSON {
		err = p.answer(struct {
			Sound  bool                  `json:"sound"`
			Head   headForm              `json:"head"`
			Ledger receipts.LedgerReport `json:"ledger"`
		}{sound, headForm{r.Lines, r.Last, r.Root}, r})
	} else {
		p.say("%s: %s", path, r.Summary())
		for _, problem := range r.Problems[min(1, len(r.Problems)):] {
			p.say("  %s", problem)
		}
		for _, n := range r.NotShown {
			p.say("  not shown: %s", n)
		}
		if !r.KeyGiven {
			p.say("no: no --pubkey names whose ledger is expected, so it may be anyone's")
		}
	}
	if err == nil && !sound {
		return errNo
	}
	return err
}
