package ijson_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/ijson"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, in string
		at       int
		why      string
	}{
		{"empty", "", 0, "ends inside"},
		{"white space alone", " \n", 2, "ends inside"},
		{"byte-order mark", "\xef\xbb\xbf{}", 0, "byte-order mark"},
		{"two values", "{} {}", 3, "behind the value"},
		{"comma behind the value", "1,", 1, "behind the value"},
		{"comment", "/* */1", 0, "expected a JSON value"},
		{"trailing comma in a list", "[1,]", 3, "expected a JSON value"},
		{"trailing comma in an object", `{"a":1,}`, 7, "member name"},
		{"no colon", `{"a" 1}`, 5, "colon"},
		{"name without quotes", `{a:1}`, 1, "member name"},
		{"list closed as an object", `[1}`, 2, "end of the list"},
		{"object closed as a list", `{"a":1]`, 6, "end of the object"},
		{"open list", `[1`, 2, "ends inside"},
		{"open list with a comma", `[`, 1, "ends inside"},
		{"open string", `"a`, 2, "ends inside"},
		{"repeated name", `{"a":1,"b":2,"a":3}`, 13, "twice"},
		{"repeated name, escaped", `{"a":1,"\u0061":3}`, 7, "twice"},
		{"repeated name, deep", `[{"x":{"a":1,"a":3}}]`, 13, "twice"},
		{"repeated name among many", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u0063":2}`, 55, "twice"},
		{"control character", "\"a\tb\"", 2, "control character"},
		{"unknown escape", `"\x41"`, 1, "escape"},
		{"cut escape", `"\u00"`, 1, "escape"},
		{"lone high surrogate", `"\ud800"`, 1, "surrogate"},
		{"lone low surrogate", `"\udc00"`, 1, "surrogate"},
		{"high surrogate and a letter", `"\ud800\u0041"`, 1, "surrogate"},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", 1, "UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", 1, "UTF-8"},
		{"cut UTF-8", "\"\xe2\x82\"", 1, "UTF-8"},
		{"NUL in a name", `{"a\u0000":1}`, 1, "NUL"},
		{"noncharacter in a name", "{\"\uffff\":1}", 1, "noncharacter"},
		{"noncharacter past the first plane in a name", `{"\ud83f\udffe":1}`, 1, "noncharacter"},
		{"leading zero", "01", 0, "not a JSON number"},
		{"minus alone", "-", 0, "not a JSON number"},
		{"no digit behind the point", "1.", 0, "not a JSON number"},
		{"no digit in the exponent", "1e+", 0, "not a JSON number"},
		{"plus", "+1", 0, "expected a JSON value"},
		{"NaN", "NaN", 0, "expected a JSON value"},
		{"2^53 + 1", "9007199254740993", 0, "exactly"},
		{"2^53 + 1 with a point", "9007199254740993.0", 0, "exactly"},
		{"2^63 - 1", "9223372036854775807", 0, "exactly"},
		{"too large", "1e400", 0, "beyond"},
		{"too small", "1e-400", 0, "exactly"},
		{"seventeen digits", "100.000000000000001", 0, "exactly"},
		{"exponent past an int", "1e99999999999999999999", 0, "beyond"},
		{"word cut", "tru", 0, "expected a JSON value"},
		{"null in capitals", "NULL", 0, "expected a JSON value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ijson.Parse([]byte(c.in), ijson.Options{})
			var e *ijson.Error
			if !errors.As(err, &e) {
				t.Fatalf("%q: got %v, want a refusal", c.in, err)
			}
			if e.Offset != c.at || !strings.Contains(e.Msg, c.why) {
				t.Errorf("%q: got %v, want byte %d: …%s…", c.in, e, c.at, c.why)
			}
		})
	}
}

// JSON-02 and RFC 8785: what is accepted keeps its bytes, and its canonical form
// is known.
func TestCanonicalForm(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"scalars", ` [ null , true,false , "" ] `, `[null,true,false,""]`},
		{"empty containers", `[ { } , [ ] ]`, `[{},[]]`},
		{"order of members", `{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`},
		{"many members", `{"k":1,"j":1,"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`},
		{"the largest exact whole number", `[9007199254740991,-9007199254740991,9007199254740992]`, `[9007199254740991,-9007199254740991,9007199254740992]`},
		{"spellings of a number", `[1.0,1e2,0.10,-0,-0.0,0e99999999999,1E+2,100e-2]`, `[1,100,0.1,0,0,0,100,1]`},
		{"large and small", `[1e30,4.50,0.002,1e-7,0.000001,1e21,1e20]`, `[1e+30,4.5,0.002,1e-7,0.000001,1e+21,100000000000000000000]`},
		{"escapes", `"\u0041\/\u003c\"\\\b\f\n\r\t\u001f\u007f\u2028"`, "\"A/<\\\"\\\\\\b\\f\\n\\r\\t\\u001f\u007f\u2028\""},
		{"SIG-01: past U+FFFF before U+FFFD", `{"` + "\uFFFD" + `":1,"\uD800\uDC00":2}`, "{\"\U00010000\":2,\"\uFFFD\":1}"},
		{"SIG-01: the names of RFC 8785", `{"\uFB33":1,"\uD83D\uDE02":2,"\u20AC":3,"1":4,"\r":5,"\u00F6":6,"\u0080":7}`,
			"{\"\\r\":5,\"1\":4,\"\u0080\":7,\"\u00f6\":6,\"\u20ac\":3,\"\U0001f602\":2,\"\ufb33\":1}"},
		{"SIG-01: nothing escaped that need not be", `{"a":"<>&\u2028\u007F/"}`, "{\"a\":\"<>&\u2028\u007f/\"}"},
		{"a noncharacter in a value", `["\uffff"]`, "[\"\uffff\"]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ijson.Canonical([]byte(c.in), ijson.Options{})
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	got, err := ijson.Canonical([]byte(`[333333333.33333329,9007199254740993,1e-400]`), ijson.Options{Doubles: true})
	if want := `[333333333.3333333,9007199254740992,0]`; err != nil || string(got) != want {
		t.Errorf("as doubles: got %s, %v, want %s", got, err, want)
	}
	for _, name := range []string{`{"\u0000":1}`, "{\"\uffff\":1}"} {
		if got, err := ijson.Canonical([]byte(name), ijson.Options{AnyName: true}); err != nil || string(got) != name {
			t.Errorf("any name: got %s, %v, want %s", got, err, name)
		}
	}
	if _, err := ijson.Canonical([]byte(`1e400`), ijson.Options{Doubles: true}); err == nil {
		t.Error("1e400 accepted as a double")
	}
}

// JSON-03: depth is bounded before memory is.
func TestJSON03Depth(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, c := range []struct {
		name  string
		in    []byte
		depth int
		ok    bool
	}{
		{"at the default bound", nest(64), 0, true},
		{"one past it", nest(65), 0, false},
		{"at a bound given", nest(512), 512, true},
		{"one past a bound given", nest(513), 512, false},
		{"far past it", nest(2_000_000), 0, false},
		{"objects, far past it", []byte(strings.Repeat(`{"a":`, 200_000)), 0, false},
	} {
		_, err := ijson.Parse(c.in, ijson.Options{Depth: c.depth})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	var d ijson.Doc
	deep := nest(2_000_000)
	if n := testing.AllocsPerRun(10, func() { d.Parse(deep, ijson.Options{}) }); n > 8 {
		t.Errorf("refusing a deep text allocates %v times", n)
	}
}

func TestValue(t *testing.T) {
	src := []byte(`{"a":[1,-2.5,"x\ny",null,true],"b/c":{"~":7},"n":-0,"big":9007199254740992,"m":{"":0}}`)
	d, err := ijson.Parse(src, ijson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	for _, c := range []struct{ ptr, raw string }{
		{"", string(src)}, {"/a", `[1,-2.5,"x\ny",null,true]`}, {"/a/1", "-2.5"}, {"/a/2", `"x\ny"`}, {"/b~1c/~0", "7"}, {"/m/", "0"},
		{"/a/5", ""}, {"/a/01", ""}, {"/a/-", ""}, {"/zz", ""}, {"/n/x", ""},
	} {
		v, err := r.Pointer(c.ptr)
		if err != nil || string(v.Raw()) != c.raw {
			t.Errorf("Pointer(%q) = %q, %v; want %q", c.ptr, v.Raw(), err, c.raw)
		}
		if v.Exists() && string(src[v.Start():v.End()]) != c.raw {
			t.Errorf("Pointer(%q): offsets %d to %d", c.ptr, v.Start(), v.End())
		}
	}
	for _, bad := range []string{"a", "/~", "/~2", "/a~"} {
		if _, err := r.Pointer(bad); err == nil {
			t.Errorf("Pointer(%q) is no error", bad)
		}
	}
	a := r.Member("a")
	var kinds string
	for e := range a.Elements() {
		kinds += string(rune(e.Kind()))
	}
	if kinds != `00"nt` || a.Len() != 5 || r.Len() != 5 {
		t.Errorf("kinds %s, lengths %d and %d", kinds, a.Len(), r.Len())
	}
	s, _ := r.Pointer("/a/2")
	if s.Text() != "x\ny" || !s.Is("x\ny") || s.Is(`x\ny`) {
		t.Errorf("text %q", s.Text())
	}
	if n, ok := r.Member("n").Int(); !ok || n != 0 {
		t.Error("-0 is not the whole number 0")
	}
	if _, ok := r.Member("big").Int(); ok {
		t.Error("2^53 passes for a whole number that all readers agree on")
	}
	var none ijson.Value
	if none.Exists() || none.Kind() != 0 || none.Raw() != nil || none.Len() != 0 || none.Text() != "" || none.Member("x").Exists() || none.Is("") {
		t.Error("the absent value answers")
	}
}

func TestPosition(t *testing.T) {
	src := []byte("ab\nüß\n\nx")
	for _, c := range []struct{ offset, line, column int }{{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {7, 2, 3}, {8, 3, 1}, {9, 4, 1}, {99, 4, 2}, {-1, 1, 1}} {
		if l, k := ijson.Position(src, c.offset); l != c.line || k != c.column {
			t.Errorf("offset %d: %d:%d, want %d:%d", c.offset, l, k, c.line, c.column)
		}
	}
}

// JSON-01: the letters that Go's own decoder folds are among those folded here.
func TestFoldName(t *testing.T) {
	for _, pair := range [][2]string{{"arguments", "argumentſ"}, {"task", "tas\u212a"}, {"name", "NAME"}, {"σ", "ς"}, {"_meta", "_META"}} {
		if ijson.FoldName(pair[0]) != ijson.FoldName(pair[1]) {
			t.Errorf("%q and %q fold apart", pair[0], pair[1])
		}
	}
	if ijson.FoldName("name") == ijson.FoldName("nane") || ijson.FoldName("ß") == ijson.FoldName("ss") {
		t.Error("simple folding only")
	}
}

func TestParseReusesMemory(t *testing.T) {
	src := message(10)
	var d ijson.Doc
	d.Parse(src, ijson.Options{})
	if n := testing.AllocsPerRun(100, func() {
		if d.Parse(src, ijson.Options{}) != nil {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("reading again allocates %v times", n)
	}
}

// Held against a second reader: whatever is accepted here, jsontext accepts and
// gives the same canonical form (gowebpki as well); what jsontext accepts and
// this reader does not is refused for a reason jsontext does not know.
func FuzzParse(f *testing.F) {
	seeds := []string{`{"a":1,"a":2}`, `{"b":[1.5e3,null,true],"a":"\ud83d\ude02"}`, `9007199254740993`, `"\ud800"`, "\xef\xbb\xbf1", `{"\u0000":1}`,
		`[1e400,1e-400,-0]`, `{"k":1,"j":1,"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"\u006b":1}`, "\"\xff\"", `[[[[]]]]`, ` [ ] `, `1 2`, "{\"\uffff\":0}", `5e-324`, `0.1e1`, `123456789012345678`, "\"" + strings.Repeat("x", 40) + "\""}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, doubles := range []bool{false, true} {
			d, err := ijson.Parse(src, ijson.Options{Doubles: doubles, Depth: 100})
			second := jsontext.Value(bytes.Clone(src))
			valid := second.IsValid()
			if err == nil && !valid {
				t.Fatalf("accepted %q, which jsontext refuses", src)
			}
			if err != nil {
				var e *ijson.Error
				if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(src) {
					t.Fatalf("%q: %v", src, err)
				}
				known := false
				for _, w := range []string{"exactly", "beyond", "noncharacter", "nested", "byte-order"} {
					known = known || strings.Contains(e.Msg, w)
				}
				if valid && !known {
					t.Fatalf("%q: %v, but jsontext accepts it", src, err)
				}
				continue
			}
			canon := ijson.AppendCanonical(nil, d.Root())
			if err := second.Canonicalize(); err != nil || !bytes.Equal(canon, second) {
				t.Fatalf("%q: canonical %s, jsontext has %s, %v", src, canon, second, err)
			}
			if k := d.Root().Kind(); k == ijson.Object || k == ijson.Array {
				if third, err := jcs.Transform(src); err == nil && !bytes.Equal(canon, third) {
					t.Fatalf("%q: canonical %s, gowebpki has %s", src, canon, third)
				}
			}
			again, err := ijson.Canonical(canon, ijson.Options{Doubles: true, Depth: 100})
			if err != nil || !bytes.Equal(again, canon) {
				t.Fatalf("%q: the canonical form %s becomes %s, %v", src, canon, again, err)
			}
			check(t, src, d.Root())
		}
	})
}

// check: every place holds one whole value of its kind.
func check(t *testing.T, src []byte, v ijson.Value) {
	n := 0
	for name, m := range v.Members() {
		if !v.Member(name.Text()).Exists() || m.Start() <= name.End() || m.End() >= v.End() {
			t.Fatalf("%q: member %s", src, name.Raw())
		}
		check(t, src, m)
		n++
	}
	for e := range v.Elements() {
		check(t, src, e)
		n++
	}
	if n != v.Len() || !jsontext.Value(v.Raw()).IsValid() || jsontext.Value(v.Raw()).Kind() != jsontext.Kind(v.Kind()) {
		t.Fatalf("%q: value %s has %d parts, says %d", src, v.Raw(), n, v.Len())
	}
}

// message is a call with n arguments of mixed kinds, about 75 bytes each.
func message(n int) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file","arguments":{`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"path-%d":"/srv/work/reports/%d.txt","size-%d":%d,"flags-%d":[true,null,{"x":%d.5}]`, i, i, i, i*1000, i, i)
	}
	return append(b, "}}}"...)
}

// BenchmarkRead is reading one message; jsontext's token walk, which checks the
// same but keeps no places, is the floor.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{3, 12, 800} {
		src := message(n)
		b.Run(fmt.Sprintf("%dB/ijson", len(src)), func(b *testing.B) {
			var d ijson.Doc
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if d.Parse(src, ijson.Options{}) != nil {
					b.Fatal("refused")
				}
			}
		})
		b.Run(fmt.Sprintf("%dB/jsontext-walk", len(src)), func(b *testing.B) {
			var buf bytes.Buffer
			dec := jsontext.NewDecoder(&buf)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				buf = *bytes.NewBuffer(src)
				dec.Reset(&buf)
				if dec.SkipValue() != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

// BenchmarkCanonical: the text read and written canonically, beside jsontext and gowebpki.
func BenchmarkCanonical(b *testing.B) {
	for _, n := range []int{12, 800} {
		src := message(n)
		b.Run(fmt.Sprintf("%dB/ijson", len(src)), func(b *testing.B) {
			var d ijson.Doc
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				if d.Parse(src, ijson.Options{}) != nil {
					b.Fatal("refused")
				}
				out = ijson.AppendCanonical(out[:0], d.Root())
			}
		})
		b.Run(fmt.Sprintf("%dB/jsontext", len(src)), func(b *testing.B) {
			var v jsontext.Value
			b.ReportAllocs()
			for b.Loop() {
				v = append(v[:0], src...)
				if v.Canonicalize() != nil {
					b.Fatal("refused")
				}
			}
		})
		b.Run(fmt.Sprintf("%dB/gowebpki", len(src)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jcs.Transform(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
