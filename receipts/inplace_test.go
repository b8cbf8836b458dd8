package receipts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/receipts"
)

// Records taken away, replaced or cut under a running guard end it: no further
// call is copied, and none refused without a word.
func TestChainRecordsTakenAway(t *testing.T) {
	kinds := map[string]struct {
		do   func(path string) error
		want string
	}{
		"removed": {os.Remove, "removed or moved away"},
		"moved":   {func(path string) error { return os.Rename(path, path+".moved") }, "removed or moved away"},
		"truncated": {func(path string) error {
			return os.Truncate(path, 10)
		}, "it was cut to 10 bytes"},
		"replaced by a copy": {func(path string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path+".copy", text, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".copy", path)
		}, "another file was put in its place"},
	}
	for _, file := range []string{ledgerFile, bookFile, denialsFile} {
		for name, kind := range kinds {
			for _, what := range []string{"copy", "refuse"} {
				t.Run(file+" "+name+" "+what, func(t *testing.T) {
					w, c := twoOfEach(t)
					if err := c.Sync(); err != nil {
						t.Fatal(err)
					}
					turn, err := c.Take(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer turn.Release()
					if err := kind.do(filepath.Join(w.dir, file)); err != nil {
						t.Fatal(err)
					}
					call := testCall(t, "files.read", `{}`)
					if a := turn.Check(call.Proposal); !a.Allowed {
						t.Fatal(a)
					}
					if what == "copy" {
						if _, err = turn.Copy(call); !errors.Is(err, receipts.ErrNotRecorded) {
							t.Errorf("%v, want ErrNotRecorded", err)
						}
					} else {
						err = turn.Refuse(receipts.Refused{Call: call, By: "settings", Code: "schema"})
					}
					if !errors.Is(err, receipts.ErrFinal) || !strings.Contains(err.Error(), kind.want) {
						t.Fatalf("%v, want a final error that says %q", err, kind.want)
					}
					select {
					case <-c.Failed():
					default:
						t.Fatal("the chain goes on")
					}
					turn.Release()
					if _, err := c.Take(t.Context()); !errors.Is(err, receipts.ErrFinal) {
						t.Fatalf("the next call: %v", err)
					}
				})
			}
		}
	}
}
