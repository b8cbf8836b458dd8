package celexpr

import (
	"fmt"
	"math"
	"reflect"
	"slices"
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
	work   uint64 // what touching the call's values has taken, see spend
	spent  bool   // it was more than the budget allows

	// What was made of the call's values, so that a loop does not make it anew
	// at each turn. Both are bounded; past that things are made again, and
	// charged again.
	indexes map[ijson.Value]*index
	indexed int // entries of all indexes
	texts   map[ijson.Value]types.String
}

const (
	// workPerUnit is how many values may be touched for one unit of the budget.
	// CEL's own costs know the sizes of what a list holds, but not what that
	// holds in turn, so comparing or printing nested values is charged by what
	// is touched. A unit is some ten elements of a text or list; whatever keeps
	// to the estimate touches less than this.
	workPerUnit = 8

	maxIndexed = 1 << 16 // entries of lists and maps: a few MiB
	maxTexts   = 1024    // texts, none past celText
	longText   = 64      // bytes from which a text is worth keeping
)

// spend charges for values of the call that are touched, and says whether there
// is something left. Past the budget every touch is an error, so that one
// operation on nested values ends too.
func (s *session) spend(n int) bool {
	s.work += uint64(n)
	if s.work > s.limits.Cost*workPerUnit {
		s.spent = true
	}
	return !s.spent
}

func exhausted() ref.Val { return types.NewErr("the budget is spent") }

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
	if !s.spend(1) {
		return exhausted()
	}
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
		return s.touchText(v)
	case ijson.Array:
		if v.Len() > s.limits.Items {
			return s.past("a list has more items than the limit celItems")
		}
		if depth == Depth {
			return s.past(fmt.Sprintf("lists and maps are nested deeper than %d levels", Depth))
		}
		return &list{s: s, depth: depth + 1, v: v}
	case ijson.Object:
		if depth == Depth {
			return s.past(fmt.Sprintf("lists and maps are nested deeper than %d levels", Depth))
		}
		return s.touchObject(v, depth+1, ijson.Value{})
	}
	return s.past("a value of no kind")
}

func (s *session) touchText(v ijson.Value) ref.Val {
	// An escape is never shorter than what it stands for, so a text within the
	// limit as written is within it.
	size := v.End() - v.Start() - 2
	if size < longText {
		return types.String(v.Text())
	}
	if t, known := s.texts[v]; known {
		return t
	}
	if !s.spend(size / longText) {
		return exhausted()
	}
	t := types.String(v.Text())
	if len(t) > s.limits.Text {
		return s.past("a text is longer than the limit celText")
	}
	if s.texts == nil {
		s.texts = map[ijson.Value]types.String{}
	}
	if len(s.texts) < maxTexts {
		s.texts[v] = t
	}
	return t
}

// index finds the items of a list or the members of a map.
type index struct {
	items   []ijson.Value // of a list
	names   []string      // of a map, in their order
	members map[string]ijson.Value
}

// indexOf gives the index of a list or map of the call, nil where there is no room
// for it: then what is looked for is walked to.
func (s *session) indexOf(v ijson.Value) *index {
	if x := s.indexes[v]; x != nil {
		return x
	}
	if s.indexed+v.Len() > maxIndexed {
		return nil
	}
	s.indexed += v.Len()
	x := s.newIndex(v)
	if s.indexes == nil {
		s.indexes = map[ijson.Value]*index{}
	}
	s.indexes[v] = x
	return x
}

func (s *session) newIndex(v ijson.Value) *index {
	s.spend(v.Len())
	x := &index{}
	if v.Kind() == ijson.Array {
		x.items = slices.AppendSeq(make([]ijson.Value, 0, v.Len()), v.Elements())
		return x
	}
	x.members = make(map[string]ijson.Value, v.Len())
	for n, m := range v.Members() {
		name := n.Text()
		x.names = append(x.names, name)
		x.members[name] = m
	}
	return x
}

// item is the i-th of a list, which has it.
func (s *session) item(v ijson.Value, i int) ijson.Value {
	if x := s.indexOf(v); x != nil {
		return x.items[i]
	}
	s.spend(i / 8)
	for e := range v.Elements() {
		if i == 0 {
			return e
		}
		i--
	}
	return ijson.Value{}
}

// member is that of a map, absent where it has none.
func (s *session) member(v ijson.Value, name string) ijson.Value {
	if x := s.indexOf(v); x != nil {
		return x.members[name]
	}
	s.spend(v.Len())
	return v.Member(name)
}

// walk is the index that an iterator walks.
func (s *session) walk(v ijson.Value) *index {
	if x := s.indexOf(v); x != nil {
		return x
	}
	return s.newIndex(v)
}

// inputResponses is the argument that a second round's answers are judged as.
const inputResponses = "inputResponses"

func (s *session) touchObject(v ijson.Value, depth int, responses ijson.Value) ref.Val {
	o := &object{s: s, depth: depth, v: v, responses: responses}
	if o.len() > s.limits.Items {
		return s.past("a map has more members than the limit celItems")
	}
	return o
}

// list is a list of the call. Its items are touched when they are read.
type list struct {
	s     *session
	depth int
	v     ijson.Value
}

// each touches the items in their order until yield gives false.
func (l *list) each(yield func(ref.Val) bool) {
	for e := range l.v.Elements() {
		if !yield(l.s.touch(e, l.depth)) {
			return
		}
	}
}

// AggregateSize is that of [object.AggregateSize].
func (l *list) AggregateSize(types.AggregateSizer) uint32 { return aggregateSize(l.v) }

func (l *list) Type() ref.Type { return types.ListType }

// Value is the list in CEL's own form, as extensions ask for it: every item is
// touched.
func (l *list) Value() any {
	all := make([]ref.Val, 0, l.v.Len())
	for e := range l.each {
		all = append(all, e)
	}
	return all
}

func (l *list) Size() ref.Val { return types.Int(l.v.Len()) }

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
	if i < 0 || int64(i) >= int64(l.v.Len()) {
		return types.NewErr("no item %d", i)
	}
	return l.s.touch(l.s.item(l.v, int(i)), l.depth)
}

func (l *list) Contains(v ref.Val) ref.Val {
	for e := range l.each {
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
	it := o.Iterator()
	for a := range l.each {
		b := it.Next()
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
	all := make([]ref.Val, 0, l.v.Len()+int(n))
	for e := range l.each {
		all = append(all, e)
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
	x := l.s.walk(l.v)
	return &iterator{n: len(x.items), at: func(i int) ref.Val { return l.s.touch(x.items[i], l.depth) }}
}

// object is a map of the call. Its values are touched when they are read.
type object struct {
	s         *session
	depth     int
	v         ijson.Value
	responses ijson.Value // a further member inputResponses, where it exists
}

func (o *object) len() int {
	if o.responses.Exists() {
		return o.v.Len() + 1
	}
	return o.v.Len()
}

// AggregateSize says how large the value would be if it were written out, so that
// a list that holds it many times over counts. It touches nothing.
func (o *object) AggregateSize(types.AggregateSizer) uint32 {
	return aggregateSize(o.v) + aggregateSize(o.responses)
}

// aggregateSize is that of a value of the call, in elements of ten bytes.
func aggregateSize(v ijson.Value) uint32 { return 1 + uint32(v.End()-v.Start())/10 }

func (o *object) Type() ref.Type { return types.MapType }

// each touches the members in their order until yield gives false.
func (o *object) each(yield func(string, ref.Val) bool) {
	for n, m := range o.v.Members() {
		if !yield(n.Text(), o.s.touch(m, o.depth)) {
			return
		}
	}
	if o.responses.Exists() {
		yield(inputResponses, o.s.touch(o.responses, o.depth))
	}
}

// Value is the map in CEL's own form: every value is touched.
func (o *object) Value() any {
	all := make(map[ref.Val]ref.Val, o.len())
	for name, v := range o.each {
		all[types.String(name)] = v
	}
	return all
}

func (o *object) Size() ref.Val { return types.Int(o.len()) }

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

// member finds a member without touching it.
func (o *object) member(name string) ijson.Value {
	if name == inputResponses && o.responses.Exists() {
		return o.responses
	}
	return o.s.member(o.v, name)
}

func (o *object) Contains(key ref.Val) ref.Val {
	if types.IsUnknownOrError(key) {
		return key
	}
	k, ok := key.(types.String)
	if !ok {
		return types.False
	}
	return types.Bool(o.member(string(k)).Exists())
}

func (o *object) Find(key ref.Val) (ref.Val, bool) {
	if types.IsUnknownOrError(key) {
		return key, false
	}
	k, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v := o.member(string(k))
	if !v.Exists() {
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
	for name, a := range o.each {
		b, found := m.Find(types.String(name))
		if !found {
			return types.False
		}
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
	x := o.s.walk(o.v)
	return &iterator{n: o.len(), at: func(i int) ref.Val {
		if i == len(x.names) {
			return types.String(inputResponses)
		}
		if len(x.names[i]) > o.s.limits.Text {
			return o.s.past("a member's name is longer than the limit celText")
		}
		return types.String(x.names[i])
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
