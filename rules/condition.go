package rules

import "countersign/internal/celexpr"

// Condition is one condition of a rule (content rules, section 2). Exactly one
// of All, Any, Not, CEL and Test is set.
type Condition struct {
	All []*Condition // 1 to MaxParts
	Any []*Condition // 1 to MaxParts
	Not *Condition
	CEL string
	// Program is CEL compiled, where CEL is set.
	Program *celexpr.Program
	Test    *Test

	Pointer string // of the condition in the file
	Offset  int    // byte offset of its first byte
}

// Walk calls f for the condition and all those inside it, also those of json
// tests, outermost first.
func (c *Condition) Walk(f func(*Condition)) {
	if c == nil {
		return
	}
	f(c)
	for _, p := range c.All {
		p.Walk(f)
	}
	for _, p := range c.Any {
		p.Walk(f)
	}
	c.Not.Walk(f)
	if c.Test != nil {
		for i := range c.Test.Checks {
			c.Test.Checks[i].JSON.Walk(f)
		}
	}
}

// Test is one selection and the checks that each selected value is held to, all
// of them.
type Test struct {
	Select Selection
	Fold   bool    // compare under compatibility caseless matching (section 3)
	Checks []Check // one for each member that is a test, in the order of the file; 1 or more

	foldAt, namedAt int // byte offsets of the two members
}

// SelectKind says how a selection's values are taken together.
type SelectKind string

const (
	Arg   SelectKind = "arg"   // the one value at the pointer
	Some  SelectKind = "some"  // a value passes
	Every SelectKind = "every" // all pass, and there is one
	Argv  SelectKind = "argv"  // texts and lists of texts, as one list
)

// Selection says which values of a call a test looks at.
type Selection struct {
	Kind SelectKind
	// Pointer selects for Arg, Some and Every.
	Pointer Pointer
	// Argv are the pointers of an Argv selection, in order; none has a wildcard.
	Argv []Pointer
	// Named keeps of the leaves under a pointer that ends in ** those with one of
	// these names on their way from the root. Nil keeps all.
	Named []string
	// Names selects member names at any depth under the pointer, in place of
	// values. The pointer's own ending in ** or not makes no difference.
	Names bool
}

// Pointer is a pointer into a call's arguments, RFC 6901 with three wildcards.
type Pointer struct {
	Text     string // as written
	Segments []Segment
}

// SegmentKind says what a segment of a pointer stands for.
type SegmentKind byte

const (
	Name    SegmentKind = 'n' // one member, or the element of that index
	Any     SegmentKind = '*' // any member or element
	Element SegmentKind = '#' // any element of a list, nothing else
	Deep    SegmentKind = 'd' // ** : the place itself and all under it; only last
)

// Segment is one step of a pointer.
type Segment struct {
	Kind SegmentKind
	Name string // of a Name, decoded
	// Index is the element that a Name stands for in a list, -1 where it is no
	// index as RFC 6901 spells one.
	Index int
}

// Deep says whether the pointer ends in **, so that it selects leaves and passes
// over those its checks do not apply to (some) or fails on them (every).
func (p Pointer) Deep() bool {
	n := len(p.Segments)
	return n > 0 && p.Segments[n-1].Kind == Deep
}

// Wild says whether the pointer can select more than one value.
func (p Pointer) Wild() bool {
	for _, s := range p.Segments {
		if s.Kind != Name {
			return true
		}
	}
	return false
}
