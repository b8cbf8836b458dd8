package celexpr

import (
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"

	"countersign/internal/ijson"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// session is one evaluation: it resolves the variables and remembers whether a
// value past the limits was touched. Remembering makes the bound hold also where
// CEL's operators would drop the error: 'x' in list, a == b, e || true.
type session struct {
	limits Limits
	facts  *Facts
	beyond string // why a value that was touched cannot be judged
}

// Parent is for the interpreter: a session stands alone.
func (s *session) Parent() interpreter.Activation { return nil }

// ResolveName gives a variable's value. One that is not given is not found,
// which the interpreter takes for an error where it is read.
func (s *session) ResolveName(name string) (any, bool) {
	f := s.facts
	switch name {
	case "args":
		if f.InputResponses.Exists() {
			return s.touchObject(f.Args, 1, f.InputResponses), true
		}
		if !f.Args.Exists() {
			return types.NewRefValMap(types.DefaultTypeAdapter, nil), true
		}
		return s.touch(f.Args, 0), true
	case "tool":
		return s.text(f.Tool)
	case "action":
		return s.text(f.Action)
	case "agent":
		return s.text(f.Agent)
	case "upstream":
		return s.text(f.Upstream)
	case "client":
		m := map[ref.Val]ref.Val{}
		for k, t := range map[string]Text{"name": f.ClientName, "version": f.ClientVersion} {
			if v, ok := s.text(t); ok {
				m[types.String(k)] = v.(ref.Val)
			}
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, m), true
	case "annotations":
		if !f.Annotations.Exists() {
			return nil, false
		}
		return s.touch(f.Annotations, 0), true
	case "amount":
		unit, ok := s.text(f.AmountUnit)
		if !ok {
			return nil, false
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{
			types.String("unit"): unit.(ref.Val), types.String("value"): types.Int(f.AmountValue)}), true
	case "now":
		if f.Now.IsZero() {
			return nil, false
		}
		return types.Timestamp{Time: f.Now.UTC()}, true
	}
	return nil, false
}

func (s *session) text(t Text) (any, bool) {
	if !t.Given {
		return nil, false
	}
	if len(t.Value) > s.limits.Text {
		return s.past("a text is longer than the limit celText"), true
	}
	return types.String(t.Value), true
}

// past notes that a value cannot be judged and gives CEL an error for it.
func (s *session) past(why string) ref.Val {
	if s.beyond == "" {
		s.beyond = why
	}
	return types.NewErr("%s", why)
}

// touch makes a value of the call one of CEL's. Depth is the number of lists
// and maps around it.
func (s *session) touch(v ijson.Value, depth int) ref.Val {
	switch v.Kind() {
	case ijson.Null:
		return types.NullValue
	case ijson.True:
		return types.True
	case ijson.False:
		return types.False
	case ijson.Number:
		// By value, not by spelling: 1.0 is the int 1, as it is to the tests.
		f := v.Float()
		if f != math.Trunc(f) {
			return types.Double(f)
		}
		if f >= -1<<63 && f < 1<<63 {
			return types.Int(int64(f))
		}
		return s.past("a whole number is larger than 64 bits hold")
	case ijson.String:
		// An escape is never shorter than what it stands for, so a text within
		// the limit as written is within it.
		var b []byte
		if v.End()-v.Start()-2 > s.limits.Text {
			if b = v.Bytes(nil); len(b) > s.limits.Text {
				return s.past("a text is longer than the limit celText")
			}
		}
		return types.String(v.Text())
	case ijson.Array:
		if v.Len() > s.limits.Items {
			return s.past("a list has more items than the limit celItems")
		}
		if depth == Depth {
			return s.past(fmt.Sprintf("lists and maps are nested deeper than %d levels", Depth))
		}
		l := &list{s: s, depth: depth + 1, items: make([]ijson.Value, 0, v.Len())}
		for e := range v.Elements() {
			l.items = append(l.items, e)
		}
		return l
	case ijson.Object:
		if depth == Depth {
			return s.past(fmt.Sprintf("lists and maps are nested deeper than %d levels", Depth))
		}
		return s.touchObject(v, depth+1, ijson.Value{})
	}
	return s.past("a value of no kind")
}

// inputResponses is the argument that a second round's answers are judged as.
const inputResponses = "inputResponses"

func (s *session) touchObject(v ijson.Value, depth int, responses ijson.Value) ref.Val {
	o := &object{s: s, depth: depth, members: make(map[string]ijson.Value, v.Len()+1)}
	for n, m := range v.Members() {
		name := n.Text()
		o.names = append(o.names, name)
		o.members[name] = m
	}
	if responses.Exists() {
		o.names = append(o.names, inputResponses)
		o.members[inputResponses] = responses
	}
	if len(o.names) > s.limits.Items {
		return s.past("a map has more members than the limit celItems")
	}
	return o
}

// list is a list of the call. Its items are touched when they are read.
type list struct {
	s     *session
	depth int
	items []ijson.Value
}

func (l *list) at(i int) ref.Val { return l.s.touch(l.items[i], l.depth) }

// AggregateSize is that of [object.AggregateSize].
func (l *list) AggregateSize(types.AggregateSizer) uint32 { return 1 }

func (l *list) Type() ref.Type { return types.ListType }

// Value is the list in CEL's own form, as extensions ask for it: every item is
// touched.
func (l *list) Value() any {
	all := make([]ref.Val, len(l.items))
	for i := range l.items {
		all[i] = l.at(i)
	}
	return all
}

func (l *list) Size() ref.Val { return types.Int(len(l.items)) }

func (l *list) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a list of the call is not converted to %v", t)
}

func (l *list) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return l
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("a list is not converted to %s", t.TypeName())
}

func (l *list) Get(index ref.Val) ref.Val {
	if d, ok := index.(types.Double); ok && float64(d) == math.Trunc(float64(d)) && math.Abs(float64(d)) < 1<<53 {
		index = types.Int(d) // a whole double indexes as its int does
	}
	i, ok := index.(types.Int)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	if i < 0 || int64(i) >= int64(len(l.items)) {
		return types.NewErr("no item %d", i)
	}
	return l.at(int(i))
}

func (l *list) Contains(v ref.Val) ref.Val {
	for i := range l.items {
		e := l.at(i)
		if types.IsUnknownOrError(e) {
			return e
		}
		if types.Equal(v, e) == types.True {
			return types.True
		}
	}
	return types.False
}

func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok || o.Size() != l.Size() {
		return types.False
	}
	for i := range l.items {
		a, b := l.at(i), o.Get(types.Int(i))
		if types.IsUnknownOrError(a) {
			return a
		}
		if types.IsUnknownOrError(b) {
			return b
		}
		if types.Equal(a, b) != types.True {
			return types.False
		}
	}
	return types.True
}

func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	n, ok := o.Size().(types.Int)
	if !ok {
		return o.Size()
	}
	all := make([]ref.Val, 0, len(l.items)+int(n))
	for i := range l.items {
		all = append(all, l.at(i))
	}
	for i := range n {
		all = append(all, o.Get(i))
	}
	for _, v := range all {
		if types.IsUnknownOrError(v) {
			return v
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

func (l *list) Iterator() traits.Iterator {
	return &iterator{n: len(l.items), at: l.at}
}

// object is a map of the call. Its values are touched when they are read.
type object struct {
	s       *session
	depth   int
	names   []string
	members map[string]ijson.Value
}

// AggregateSize says that a view of the call takes no memory of its own; to look
// inside it would be to touch its values.
func (o *object) AggregateSize(types.AggregateSizer) uint32 { return 1 }

func (o *object) Type() ref.Type { return types.MapType }

// Value is the map in CEL's own form: every value is touched.
func (o *object) Value() any {
	all := make(map[ref.Val]ref.Val, len(o.names))
	for _, name := range o.names {
		all[types.String(name)] = o.s.touch(o.members[name], o.depth)
	}
	return all
}

func (o *object) Size() ref.Val { return types.Int(len(o.names)) }

func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a map of the call is not converted to %v", t)
}

func (o *object) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("a map is not converted to %s", t.TypeName())
}

func (o *object) Contains(key ref.Val) ref.Val {
	if types.IsUnknownOrError(key) {
		return key
	}
	k, ok := key.(types.String)
	if !ok {
		return types.False
	}
	_, found := o.members[string(k)]
	return types.Bool(found)
}

func (o *object) Find(key ref.Val) (ref.Val, bool) {
	if types.IsUnknownOrError(key) {
		return key, false
	}
	k, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, found := o.members[string(k)]
	if !found {
		return nil, false
	}
	return o.s.touch(v, o.depth), true
}

func (o *object) Get(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if !found {
		if types.IsUnknownOrError(key) {
			return key
		}
		return types.NewErr("no such member")
	}
	return v
}

func (o *object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || m.Size() != o.Size() {
		return types.False
	}
	for _, name := range o.names {
		b, found := m.Find(types.String(name))
		if !found {
			return types.False
		}
		a := o.s.touch(o.members[name], o.depth)
		if types.IsUnknownOrError(a) {
			return a
		}
		if types.IsUnknownOrError(b) {
			return b
		}
		if types.Equal(a, b) != types.True {
			return types.False
		}
	}
	return types.True
}

func (o *object) Iterator() traits.Iterator {
	return &iterator{n: len(o.names), at: func(i int) ref.Val {
		if len(o.names[i]) > o.s.limits.Text {
			return o.s.past("a member's name is longer than the limit celText")
		}
		return types.String(o.names[i])
	}}
}

// iterator walks a list or a map once.
type iterator struct {
	i, n int
	at   func(int) ref.Val
}

func (it *iterator) HasNext() ref.Val { return types.Bool(it.i < it.n) }

func (it *iterator) Next() ref.Val {
	if it.i == it.n {
		return nil
	}
	it.i++
	return it.at(it.i - 1)
}

func (it *iterator) Type() ref.Type        { return types.IteratorType }
func (it *iterator) Value() any            { return nil }
func (it *iterator) Equal(ref.Val) ref.Val { return types.False }

func (it *iterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an iterator is no value")
}

func (it *iterator) ConvertToType(ref.Type) ref.Val { return types.NewErr("an iterator is no value") }

// words gives a CEL value as a list of texts.
func words(v ref.Val) ([]string, bool) {
	l, ok := v.(traits.Lister)
	if !ok {
		return nil, false
	}
	var out []string
	for it := l.Iterator(); it.HasNext() == types.True; {
		s, ok := it.Next().(types.String)
		if !ok || !utf8.ValidString(string(s)) {
			return nil, false
		}
		out = append(out, string(s))
	}
	return out, true
}
