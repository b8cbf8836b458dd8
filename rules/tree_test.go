package rules_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/internal/ijson"
	"countersign/rules"
)

// The tree says what the file says, lists resolved, with the place of each part.
func TestTree(t *testing.T) {
	src := read(t, "testdata/good/every-test.json")
	f, ps := rules.Read("every-test.json", src)
	if f == nil {
		t.Fatal(ps)
	}
	if f.Name != "every-test" || f.Path != "every-test.json" || len(f.Rules) != 6 || len(f.Lists) != 5 {
		t.Errorf("file: %+v", f)
	}
	want := rules.Limits{ArgumentBytes: 65536, Depth: 16, Values: 1000, Steps: 20000, CELText: 128, CELItems: 8, CEL: 1000}
	if f.Limits != want {
		t.Errorf("limits: %+v", f.Limits)
	}
	types := f.Rules[1]
	if !types.Watch || !slices.Equal(types.OK, []string{"covered", "fold-widens"}) || types.When == nil || types.Condition() != types.Require {
		t.Errorf("rule: %+v", types)
	}
	if got := types.Require.All[3].Not.Test.Select.Pointer.Segments; !reflect.DeepEqual(got, []rules.Segment{{Kind: rules.Name, Name: "d*#~/", Index: -1}}) {
		t.Errorf("segments: %+v", got)
	}
	if got := types.Require.All[2].Test.Checks[0]; got.List != "kinds" || !slices.Equal(got.Types, []rules.Type{"string", "null"}) {
		t.Errorf("types: %+v", got)
	}
	texts := f.Rules[2].Refuse.Any
	check := func(i int) rules.Check { return texts[i].Test.Checks[0] }
	if got := check(2); got.List != "people" || !slices.Equal(got.Texts, []string{"ada", "Grace"}) {
		t.Errorf("endsWith: %+v", got)
	}
	if got := check(3); got.Globs == nil || !got.Globs.Match("bx") || !texts[3].Test.Fold {
		t.Errorf("like: %+v", got)
	}
	if got := check(4); got.List != "" || got.Values[0] != (rules.Scalar{Type: rules.TypeString, Text: "@people"}) {
		t.Errorf("is takes no list: %+v", got)
	}
	if got := check(5); len(got.Values) != 4 || got.Values[2] != (rules.Scalar{Type: rules.TypeNumber, Number: 1000}) {
		t.Errorf("oneOf: %+v", got)
	}
	if got := texts[7].Test; !slices.Equal(got.Select.Named, []string{"who", "To"}) || !got.Select.Pointer.Deep() || got.Checks[0].Kind != rules.Contains {
		t.Errorf("named: %+v", got)
	}
	if got := texts[8].Test; !got.Select.Names || got.Select.Kind != rules.Some {
		t.Errorf("names: %+v", got)
	}
	if got := texts[9].Test.Checks; got[1].Bounds != (rules.Bounds{Min: 2, Max: 8}) || got[0].Kind != rules.Matches {
		t.Errorf("order of the file: %+v", got)
	}
	numbers := f.Rules[3].Require.Test
	if numbers.Select.Pointer.Segments[1].Index != 0 || numbers.Select.Pointer.Wild() || numbers.Checks[0].Number != -1.5 {
		t.Errorf("numbers: %+v", numbers)
	}
	if got := f.Rules[4].Require.Test; got.Checks[2].Bounds != (rules.Bounds{Min: 0, Max: -1}) || !slices.Equal(got.Checks[1].Names, []string{"a", "b/c"}) {
		t.Errorf("members: %+v", got)
	}
	// Offsets and pointers name the same place.
	for _, r := range f.Rules {
		place(t, src, r.Pointer, r.Offset)
		for _, c := range []*rules.Condition{r.When, r.Refuse, r.Require} {
			c.Walk(func(c *rules.Condition) {
				place(t, src, c.Pointer, c.Offset)
				if c.Test != nil {
					for _, k := range c.Test.Checks {
						place(t, src, k.Pointer, k.Offset)
					}
				}
			})
		}
	}
}

func TestToolNames(t *testing.T) {
	f, ps := rules.Read("f.json", []byte(rule(`"tools": ["read_*", "{a,b}[0-9]", "exact", "say hello", "resources/read", "x\\*", "p/*", "?"], "refuse": { "arg": "/a", "is": 1 }`)))
	if f == nil {
		t.Fatal(ps)
	}
	for tool, want := range map[string]bool{
		"read_file": true, "read_": true, "Read_file": false, "a7": true, "c7": false, "exact": true, "exact ": false, "say hello": true,
		"resources/read": true, "prompts/get": false, "x*": true, "xy": false, "p/x": true, "é": true,
	} {
		if got := f.Rules[0].Names(tool); got != want {
			t.Errorf("%q: %v, want %v", tool, got, want)
		}
	}
	f, ps = rules.Read("f.json", []byte(rule(`"tools": ["*"], "refuse": { "arg": "/a", "is": 1 }`)))
	if f == nil {
		t.Fatal(ps)
	}
	if r := f.Rules[0]; !r.Names("anything") || r.Names("resources/read") || r.Names("prompts/get") || r.Names("completion/complete") {
		t.Error("* alone means tools only")
	}
}

func TestReadSet(t *testing.T) {
	file := func(name, id string, bytes, depth int) []byte {
		return fmt.Appendf(nil, `{"format":"content-rules/v1","name":%q,"limits":{"argumentBytes":%d,"depth":%d},"rules":[{"id":%q,"tools":["t"],"refuse":{"arg":"/a","is":1}}]}`, name, bytes, depth, id)
	}
	set, ps := rules.ReadSet([]rules.Source{{Path: "a.json", Data: file("a", "x", 100, 20)}, {Path: "b.json", Data: file("b", "y", 200, 10)}})
	if set == nil {
		t.Fatal(ps)
	}
	if bytes, depth := set.Limits(); bytes != 100 || depth != 10 || len(set.Files) != 2 {
		t.Errorf("the smallest hold: %d, %d", bytes, depth)
	}
	if bytes, depth := new(rules.Set).Limits(); bytes != 1<<20 || depth != 64 {
		t.Errorf("no file: %d, %d", bytes, depth)
	}
	set, ps = rules.ReadSet([]rules.Source{{Path: "a.json", Data: file("a", "x", 100, 20)}, {Path: "b.json", Data: file("a", "x", 200, 10)}, {Path: "c.json", Data: []byte("{}")}})
	want := `b.json:1:37: /name: the name "a" is already that of a.json; files of one set need names of their own
b.json:1:98: /rules/0/id: the rule id "x" is already in a.json; rules of one set need ids of their own
c.json:1:1: the file without "format", which it needs
c.json:1:1: the file without "name", which it needs
c.json:1:1: the file without "rules", which it needs
`
	if set != nil || ps.String() != want {
		t.Errorf("got\n%swant\n%s", ps, want)
	}
}

// The fingerprint is of the canonical form: layout, member order and spelling do
// not count, everything else does.
func TestFingerprint(t *testing.T) {
	const canonical = `{"format":"content-rules/v1","name":"p","rules":[{"id":"r","refuse":{"arg":"/é","is":100},"tools":["t"]}]}`
	const want = "FiLqOk11O_Xwgn4jzktpN802US8x_VTYBWSbfRBgOeM"
	for name, src := range map[string]string{
		"canonical": canonical,
		"layout":    "\n{ \"format\" : \"content-rules/v1\",\r\n\t\"name\":\"p\", \"rules\" : [ { \"id\":\"r\",\"refuse\":{\"arg\":\"/é\",\"is\":100},\"tools\":[\"t\"]} ] }\n",
		"order":     `{"rules":[{"tools":["t"],"refuse":{"is":100,"arg":"/é"},"id":"r"}],"name":"p","format":"content-rules/v1"}`,
		"spelling":  `{"format":"content-rules\/v1","name":"p","rules":[{"id":"r","refuse":{"arg":"/\u00e9","is":1e2},"tools":["\u0074"]}]}`,
	} {
		f, ps := rules.Read("f.json", []byte(src))
		if f == nil {
			t.Fatal(ps)
		}
		if f.Fingerprint != want {
			t.Errorf("%s: %s, want %s", name, f.Fingerprint, want)
		}
	}
	for i := range len(canonical) - 1 {
		changed := canonical[:i] + "x" + canonical[i+1:]
		if f, _ := rules.Read("f.json", []byte(changed)); f != nil && f.Fingerprint == want && changed != canonical {
			t.Errorf("byte %d does not count: %s", i, changed)
		}
	}
}

// Problems say where, also behind characters of several bytes.
func TestColumns(t *testing.T) {
	_, ps := rules.Read("f.json", []byte("{\n\t\"näme\": \"😀\", \"x\": 1}"))
	if !strings.Contains(ps.String(), "f.json:2:2: /näme") || !strings.Contains(ps.String(), "f.json:2:15: /x") {
		t.Errorf("got %s", ps)
	}
}

// place checks that an offset is that of the value a pointer names.
func place(t *testing.T, src []byte, pointer string, offset int) {
	t.Helper()
	d, err := ijson.Parse(src, ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Root().Pointer(pointer)
	if err != nil || !v.Exists() || v.Start() != offset {
		t.Errorf("%s: offset %d, the value's is %d (%v)", pointer, offset, v.Start(), err)
	}
}
