package receipts_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/ijson"
	. "countersign/receipts"
)

// vector is one published case; inputs stay raw until the code under test sees
// them.
type vector struct {
	Name     string
	Text     json.RawMessage
	RPID     string `json:"rpId"`
	Content  json.RawMessage
	Key      json.RawMessage
	Allowed  []Method
	DER      string `json:"der"`
	Leaf     string
	Leaves   []string
	Index    json.RawMessage
	Size     json.RawMessage
	Path     []string
	Root     string
	Expected struct {
		OK      json.RawMessage
		Refused *struct{ Code Code }
	}
}

// vectors reads a published set, which must have this many cases.
func vectors(t *testing.T, name string, cases int) []vector {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Cases []vector }
	if err := json.Unmarshal(src, &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Cases) != cases {
		t.Fatalf("%s holds %d cases, want %d", name, len(set.Cases), cases)
	}
	return set.Cases
}

// answer holds an error against the published answer, and says whether the case
// was accepted.
func (v *vector) answer(t *testing.T, err error) bool {
	t.Helper()
	if v.Expected.Refused != nil {
		if CodeOf(err) != v.Expected.Refused.Code {
			t.Errorf("%s: got %v, want %s", v.Name, err, v.Expected.Refused.Code)
		}
		return false
	}
	if err != nil {
		t.Errorf("%s: refused: %v", v.Name, err)
		return false
	}
	return true
}

func (v *vector) want(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(v.Expected.OK, into); err != nil {
		t.Fatal(v.Name, err)
	}
}

// text is the case's text, decoded; a lone surrogate in it fails the test.
func (v *vector) text(t *testing.T) string {
	t.Helper()
	d, err := ijson.Parse(v.Text, ijson.Options{})
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return d.Root().Text()
}

func TestVectorsBase64url(t *testing.T) {
	for _, v := range vectors(t, "base64url", 11) {
		got, err := DecodeBase64url([]byte(v.text(t)))
		if v.answer(t, err) {
			var want string
			v.want(t, &want)
			if hex.EncodeToString(got) != want {
				t.Errorf("%s: got %x, want %s", v.Name, got, want)
			}
		}
	}
}

func TestVectorsCanonicalJSON(t *testing.T) {
	for _, v := range vectors(t, "canonical-json", 37) {
		src := []byte(v.text(t))
		root, err := ParseCanonical(src)
		if !v.answer(t, err) {
			continue
		}
		if !bytes.Equal(root.Raw(), src) {
			t.Errorf("%s: the value is not the whole text", v.Name)
		}
		want, err := ijson.Canonical(v.Expected.OK, ijson.Options{AnyName: true})
		if err != nil || !bytes.Equal(want, src) {
			t.Errorf("%s: read %s, want %s", v.Name, src, want)
		}
	}
}

func TestVectorsTimes(t *testing.T) {
	for _, v := range vectors(t, "times", 18) {
		var want *int64 // milliseconds, or null
		v.want(t, &want)
		text := v.text(t)
		got, ok := ParseTime(text)
		if ok != (want != nil) || ok && int64(got)*1000 != *want {
			t.Errorf("%s: got %d, %v", v.Name, got, ok)
		}
		if ok && got.String() != text {
			t.Errorf("%s: written again as %s", v.Name, got)
		}
	}
}

func TestVectorsCharacters(t *testing.T) {
	for _, v := range vectors(t, "characters", 7) {
		d, err := ijson.Parse(v.Text, ijson.Options{})
		if strings.HasPrefix(v.Name, "a lone") {
			if err == nil {
				t.Errorf("%s: read, want it refused before anything is counted", v.Name)
			}
			continue
		}
		var want int
		v.want(t, &want)
		if got := utf8.RuneCountInString(d.Root().Text()); err != nil || got != want {
			t.Errorf("%s: got %d, want %d", v.Name, got, want)
		}
	}
}

func TestVectorsKeys(t *testing.T) {
	for _, v := range vectors(t, "keys", 52) {
		d, err := ijson.Parse(v.Key, ijson.Options{})
		if err != nil {
			t.Fatal(v.Name, err)
		}
		key, err := ReadKey(d.Root(), v.Allowed...)
		if !v.answer(t, err) {
			continue
		}
		var want struct {
			Alg        Method
			Thumbprint string
		}
		v.want(t, &want)
		if key.Method() != want.Alg || key.Thumbprint() != want.Thumbprint {
			t.Errorf("%s: got %s %s, want %v", v.Name, key.Method(), key.Thumbprint(), want)
		}
		canonical := ijson.AppendCanonical(nil, d.Root())
		if got := key.Append(nil); !bytes.Equal(got, canonical) {
			t.Errorf("%s: written as %s", v.Name, got)
		}
	}
}

func TestVectorsECDSA(t *testing.T) {
	for _, v := range vectors(t, "ecdsa-der", 11) {
		der, err := hex.DecodeString(v.DER)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := ECDSAFromDER(der)
		if v.answer(t, err) {
			var want string
			v.want(t, &want)
			if hex.EncodeToString(raw[:]) != want {
				t.Errorf("%s: got %x", v.Name, raw)
			}
		}
	}
}

func TestVectorsOrigins(t *testing.T) {
	for _, v := range vectors(t, "origins", 101) {
		origin := v.text(t)
		var err error
		if !IsRPID(v.RPID) || !IsOrigin(origin, v.RPID) {
			err = Problem{Code: CodeBadField}
		}
		v.answer(t, err)
	}
}

func TestVectorsContents(t *testing.T) {
	for name, set := range map[string]struct {
		kind  Kind
		cases int
	}{
		"stub-contents":             {KindStub, 17},
		"countersignature-contents": {KindCountersignature, 4},
		"approval-contents":         {KindApproval, 137},
		"refusal-contents":          {KindRefusal, 13},
		"cancellation-contents":     {KindCancellation, 60},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range vectors(t, name, set.cases) {
				d, err := ijson.Parse(v.Content, ijson.Options{Doubles: true})
				if err != nil {
					// What is no I-JSON is never content; the published answer is a refusal too.
					if v.Expected.Refused == nil {
						t.Errorf("%s: not read: %v", v.Name, err)
					}
					continue
				}
				v.answer(t, Validate(set.kind, d.Root()))
			}
		})
	}
}

func TestVectorsApprovalRequests(t *testing.T) {
	for _, v := range vectors(t, "approval-requests", 31) {
		d, err := ijson.Parse(v.Content, ijson.Options{Doubles: true, AnyName: true, Depth: 8}) // as content is read
		if err != nil {
			v.answer(t, Problem{Code: CodePayloadNotCanonical, Message: err.Error()})
			continue
		}
		got, err := AppendRequest(nil, d.Root())
		if v.answer(t, err) {
			var want string
			v.want(t, &want)
			if string(got) != want {
				t.Errorf("%s: got %s, want %s", v.Name, got, want)
			}
		}
	}
}

func TestVectorsConstants(t *testing.T) {
	var want struct {
		Reasons   map[string]string `json:"REFUSAL_REASONS"`
		Kinds     map[string]string `json:"VOUCHED_KINDS"`
		MaxPasses int               `json:"MAX_PASSES"`
	}
	v := vectors(t, "record-constants", 1)[0]
	v.want(t, &want)
	if len(want.Reasons) != 7 {
		t.Fatal("the reasons are not there")
	}
	for r := range want.Reasons {
		if !IsRefusalReason(r) {
			t.Errorf("reason %s is not known", r)
		}
	}
	if len(want.Kinds) != 4 {
		t.Fatal("the kinds are not there")
	}
	for kind, known := range map[string]bool{"person": true, "agent": true, "service": true, "recorder": true, "robot": false, "": false} {
		_, listed := want.Kinds[kind]
		if listed != known || IsVouchedKind(kind) != known {
			t.Errorf("kind %q: listed %v, known %v", kind, listed, IsVouchedKind(kind))
		}
	}
	if want.MaxPasses != MaxPasses {
		t.Errorf("passes: %d", MaxPasses)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func leafHashes(t *testing.T, leaves []string) []Hash {
	t.Helper()
	var out []Hash
	for _, l := range leaves {
		out = append(out, LeafHash(unhex(t, l)))
	}
	return out
}

func TestVectorsTree(t *testing.T) {
	for _, v := range vectors(t, "tree-leaves", 28) {
		var want string
		v.want(t, &want)
		if got := LeafHash(unhex(t, v.Leaf)); hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: got %x", v.Name, got)
		}
	}
	for _, v := range vectors(t, "tree-roots", 41) {
		var want string
		v.want(t, &want)
		if got := Root(leafHashes(t, v.Leaves)); hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: got %x", v.Name, got)
		}
	}
	for _, v := range vectors(t, "tree-builder", 23) {
		var want struct {
			Roots, ForkRoots []string
			After            string
		}
		v.want(t, &want)
		if len(want.ForkRoots) > 0 {
			t.Fatalf("%s splits a builder off, which is not built", v.Name)
		}
		var tree Tree
		root := tree.Root()
		roots := []string{hex.EncodeToString(root[:])}
		for _, l := range leafHashes(t, v.Leaves) {
			tree.Add(l)
			root = tree.Root()
			roots = append(roots, hex.EncodeToString(root[:]))
		}
		if !slices.Equal(roots, want.Roots) || roots[len(roots)-1] != want.After {
			t.Errorf("%s: got %v", v.Name, roots)
		}
	}
	for _, v := range vectors(t, "tree-paths", 67) {
		var want []string
		v.want(t, &want)
		var index int
		if err := json.Unmarshal(v.Index, &index); err != nil {
			t.Fatal(err)
		}
		path, ok := Inclusion(leafHashes(t, v.Leaves), index)
		var got []string
		for _, h := range path {
			got = append(got, hex.EncodeToString(h[:]))
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%s: got %v", v.Name, got)
		}
	}
	for name, n := range map[string]int{"tree-inclusion": 66, "tree-inclusion-last": 67} {
		for _, v := range vectors(t, name, n) {
			var want bool
			v.want(t, &want)
			// A place or size that is no int of the format is no place or size.
			index, size := wholeNumber(v.Index), wholeNumber(v.Size)
			path := make([]Hash, 0, len(v.Path))
			sound := true
			for _, p := range v.Path {
				b := unhex(t, p)
				sound = sound && len(b) == len(Hash{})
				path = append(path, Hash(append(b, make([]byte, 32)...)[:32]))
			}
			root := unhex(t, v.Root)
			sound = sound && len(root) == len(Hash{})
			got := sound && index >= 0 && size >= 0 &&
				VerifyInclusion(int(index), int(size), LeafHash(unhex(t, v.Leaf)), path, Hash(root[:32]))
			if got != want {
				t.Errorf("%s: got %v", v.Name, got)
			}
		}
	}
}

func wholeNumber(raw json.RawMessage) int64 {
	d, err := ijson.Parse(raw, ijson.Options{Doubles: true})
	if err != nil {
		return -1
	}
	n, ok := d.Root().Int()
	if !ok {
		return -1
	}
	return n
}
