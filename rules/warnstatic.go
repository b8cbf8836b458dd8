package rules

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/internal/casefold"
)

// maxProof is how much work goes into proving what the warnings say, in texts
// compared: holding each rule of a full file against each other, and each entry of
// their lists against each other, would be many billions. When it is spent nothing
// more is proved, and those warnings are not given.
const maxProof = 4_000_000

// prover works out what follows from conditions alone, whatever the call. What it
// cannot prove, or has no work left for, it does not say.
type prover struct {
	left   int
	inJSON int // json tests around the condition: the root of their text can be of any kind
}

// inside asks about the condition of a json test.
func (pr *prover) inside(ask func(*Condition) bool, c *Condition) bool {
	pr.inJSON++
	defer func() { pr.inJSON-- }()
	return ask(c)
}

// spend takes n from the work that is left; false when there is none.
func (pr *prover) spend(n int) bool {
	pr.left -= n
	return pr.left >= 0
}

// canHold: is there, perhaps, a call on which c holds?
func (pr *prover) canHold(c *Condition) bool {
	if !pr.spend(1) {
		return true
	}
	switch {
	case c.All != nil:
		return !slices.ContainsFunc(c.All, func(p *Condition) bool { return !pr.canHold(p) }) && pr.together(c.All)
	case c.Any != nil:
		return slices.ContainsFunc(c.Any, pr.canHold)
	case c.Not != nil:
		return pr.canFail(c.Not)
	case c.Test != nil:
		t := c.Test
		if isPresent(t) {
			return t.Checks[0].Present || t.Select.Pointer.Text != ""
		}
		return pr.valuePasses(pr.kindsOf(t.Select), t.Fold, t.Checks)
	}
	return true
}

// canFail: is there, perhaps, a call on which c does not hold?
func (pr *prover) canFail(c *Condition) bool {
	if !pr.spend(1) {
		return true
	}
	switch {
	case c.All != nil:
		return slices.ContainsFunc(c.All, pr.canFail)
	case c.Any != nil:
		return !slices.ContainsFunc(c.Any, func(p *Condition) bool { return !pr.canFail(p) }) && !eitherPresent(c.Any)
	case c.Not != nil:
		return pr.canHold(c.Not)
	case c.Test != nil:
		t := c.Test
		if isPresent(t) {
			return !t.Checks[0].Present || t.Select.Pointer.Text != ""
		}
		if t.Select.Kind == Some || t.Select.Kind == Every {
			return true // nothing selected
		}
		kinds := pr.kindsOf(t.Select)
		return slices.ContainsFunc(t.Checks, func(k Check) bool { return pr.checkFails(k, kinds) })
	}
	return true
}

// canBeAbsent: is there, perhaps, a call on which c is absent?
func (pr *prover) canBeAbsent(c *Condition) bool {
	if !pr.spend(1) {
		return true
	}
	switch {
	case c.All != nil:
		return slices.ContainsFunc(c.All, pr.canBeAbsent)
	case c.Any != nil:
		return !eitherPresent(c.Any) && slices.ContainsFunc(c.Any, pr.canBeAbsent) && !slices.ContainsFunc(c.Any, pr.alwaysHolds)
	case c.Test != nil:
		return (c.Test.Select.Kind == Arg || c.Test.Select.Kind == Argv) && !isPresent(c.Test) && c.Test.Select.Pointer.Text != ""
	}
	return false
}

func (pr *prover) alwaysHolds(c *Condition) bool { return !pr.canFail(c) && !pr.canBeAbsent(c) }

func isPresent(t *Test) bool { return len(t.Checks) == 1 && t.Checks[0].Kind == Present }

// eitherPresent: do two of the parts ask for something and for nothing at one pointer?
func eitherPresent(parts []*Condition) bool {
	type question struct {
		pointer string
		present bool
	}
	asked := map[question]bool{}
	for _, p := range parts {
		if p.Test != nil && isPresent(p.Test) {
			q := question{p.Test.Select.Pointer.Text, p.Test.Checks[0].Present}
			asked[q] = true
			if asked[question{q.pointer, !q.present}] {
				return true
			}
		}
	}
	return false
}

// together: can the arg tests among the parts of an all hold on one call, as far
// as those of one pointer go?
func (pr *prover) together(parts []*Condition) bool {
	if eitherPresent(parts) {
		return false
	}
	at := map[string][]Check{}
	for _, p := range parts {
		if p.Test == nil || p.Test.Select.Kind != Arg {
			continue
		}
		ptr := p.Test.Select.Pointer.Text
		for _, c := range p.Test.Checks {
			if c.Kind == Present && !c.Present && len(at[ptr]) > 0 {
				return false
			}
			if p.Test.Fold && foldable(c) {
				continue // what it lets through is not listed
			}
			at[ptr] = append(at[ptr], c)
		}
		if len(at[ptr]) > 1 && !pr.valuePasses(pr.kindsOf(p.Test.Select), false, at[ptr]) {
			return false
		}
	}
	return true
}

// kinds is a set of kinds of JSON values.
type kinds byte

const (
	kindString kinds = 1 << iota
	kindNumber
	kindBoolean
	kindNull
	kindObject
	kindArray
	anyKind = 1<<iota - 1
)

// kindsOf are the kinds of values that a selection can select.
func (pr *prover) kindsOf(s Selection) kinds {
	switch {
	case s.Names:
		return kindString
	case s.Kind == Arg && s.Pointer.Text == "" && pr.inJSON == 0:
		return kindObject
	case s.Kind == Argv:
		return kindArray
	}
	return anyKind
}

func kindOfType(t Type) kinds {
	switch t {
	case TypeString:
		return kindString
	case TypeNumber, TypeInteger:
		return kindNumber
	case TypeBoolean:
		return kindBoolean
	case TypeNull:
		return kindNull
	case TypeObject:
		return kindObject
	}
	return kindArray
}

// passing are the kinds of values that can pass a check.
func passing(c Check) kinds {
	var k kinds
	switch c.Kind {
	case OfType:
		for _, t := range c.Types {
			k |= kindOfType(t)
		}
	case Is, OneOf:
		for _, v := range c.Values {
			k |= kindOfType(v.Type)
		}
	case Contains, StartsWith, EndsWith, Like, Matches, Finds, JSON, Path, URL, Email:
		k = kindString
	case Command:
		k = kindString | kindArray
	case Length:
		k = kindString | kindObject | kindArray
	case Above, AtLeast, Below, AtMost:
		k = kindNumber
	case OnlyMembers, HasMembers:
		k = kindObject
	default:
		k = anyKind
	}
	return k
}

// valuePasses: can one value of these kinds pass all the checks?
func (pr *prover) valuePasses(k kinds, fold bool, checks []Check) bool {
	for _, c := range checks {
		if k &= passing(c); k == 0 {
			return false
		}
		if c.Kind == JSON && c.JSON != nil && !pr.inside(pr.canHold, c.JSON) {
			return false
		}
	}
	if !numbersMeet(checks) || !pr.lengthsMeet(k, fold, checks) {
		return false
	}
	for _, c := range checks {
		if c.Kind != Is && c.Kind != OneOf || fold {
			continue
		}
		return slices.ContainsFunc(c.Values, func(v Scalar) bool {
			if !pr.spend(1) {
				return true
			}
			return k&kindOfType(v.Type) != 0 && !slices.ContainsFunc(checks, func(d Check) bool { return !pr.scalarPasses(d, v) })
		})
	}
	return true
}

// numbersMeet: does a number lie within all bounds?
func numbersMeet(checks []Check) bool {
	for _, low := range checks {
		for _, high := range checks {
			if (low.Kind == Above || low.Kind == AtLeast) && (high.Kind == Below || high.Kind == AtMost) {
				if low.Number > high.Number || low.Number == high.Number && (low.Kind == Above || high.Kind == Below) {
					return false
				}
			}
		}
	}
	return true
}

// lengthsMeet: does a value have a length within all bounds?
func (pr *prover) lengthsMeet(k kinds, fold bool, checks []Check) bool {
	low, high := int64(0), int64(-1)
	for _, c := range checks {
		switch c.Kind {
		case Length:
			low = max(low, c.Bounds.Min)
			if c.Bounds.Max >= 0 && (high < 0 || c.Bounds.Max < high) {
				high = c.Bounds.Max
			}
		case Contains, StartsWith, EndsWith:
			if !fold && pr.spend(len(c.Texts)) {
				least := int64(1 << 53)
				for _, t := range c.Texts {
					least = min(least, int64(utf8.RuneCountInString(t)))
				}
				low = max(low, least)
			}
		case HasMembers:
			if !fold {
				low = max(low, int64(len(c.Names)))
			}
		}
	}
	return high < 0 || low <= high
}

// scalarPasses: can this very value, compared exactly, pass the check? Perhaps,
// where no work is left to see.
func (pr *prover) scalarPasses(c Check, v Scalar) bool {
	work := 1
	switch c.Kind {
	case OneOf:
		work = len(c.Values)
	case Contains, StartsWith, EndsWith, Like:
		work = len(c.Texts) * (1 + len(v.Text)/64)
	case Matches, Finds:
		work = 1 + len(v.Text)*c.program/64
	}
	if !pr.spend(work) {
		return true
	}
	has := func(f func(string) bool) bool { return v.Type == TypeString && slices.ContainsFunc(c.Texts, f) }
	switch c.Kind {
	case OfType:
		return slices.ContainsFunc(c.Types, func(t Type) bool {
			if t == TypeInteger {
				return v.Type == TypeNumber && v.Number == math.Trunc(v.Number)
			}
			return t == v.Type
		})
	case Is, OneOf:
		return slices.Contains(c.Values, v)
	case Contains:
		return has(func(t string) bool { return strings.Contains(v.Text, t) })
	case StartsWith:
		return has(func(t string) bool { return strings.HasPrefix(v.Text, t) })
	case EndsWith:
		return has(func(t string) bool { return strings.HasSuffix(v.Text, t) })
	case Like:
		text := v.Text
		if c.folded {
			text = new(casefold.Folder).Text(text)
		}
		return v.Type == TypeString && (c.Globs == nil || c.Globs.Match(text))
	case Matches, Finds:
		return v.Type == TypeString && (c.Regexp == nil || c.Regexp.MatchString(v.Text))
	case Length:
		n := int64(utf8.RuneCountInString(v.Text))
		return v.Type == TypeString && n >= c.Bounds.Min && (c.Bounds.Max < 0 || n <= c.Bounds.Max)
	case Above:
		return v.Number > c.Number
	case AtLeast:
		return v.Number >= c.Number
	case Below:
		return v.Number < c.Number
	case AtMost:
		return v.Number <= c.Number
	}
	return true
}

// checkFails: is there, perhaps, a value of these kinds that the check applies to
// and that fails it?
func (pr *prover) checkFails(c Check, k kinds) bool {
	switch c.Kind {
	case OfType:
		all := kinds(0)
		for _, t := range c.Types {
			if t != TypeInteger {
				all |= kindOfType(t)
			}
		}
		return k&^all != 0
	case Like:
		return !slices.ContainsFunc(c.Texts, func(g string) bool { return strings.Trim(g, "*") == "" })
	case Matches:
		tree, err := syntax.Parse(c.Pattern, syntax.Perl)
		return err != nil || !anyText(tree)
	case Finds:
		tree, err := syntax.Parse(c.Pattern, syntax.Perl)
		return err != nil || hasEdge(tree) || c.Regexp == nil || !c.Regexp.MatchString("")
	case Length:
		return c.Bounds.Min > 0 || c.Bounds.Max >= 0
	case JSON:
		return c.JSON == nil || pr.inside(pr.canFail, c.JSON) || pr.inside(pr.canBeAbsent, c.JSON)
	}
	return true
}

// anyText: does the pattern take any whole text, as (?s).* does?
func anyText(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar:
		return re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpCapture:
		return anyText(re.Sub[0])
	}
	return false
}

// hasEdge says whether an anchor or a word boundary stands anywhere.
func hasEdge(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpBeginLine, syntax.OpEndText, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, hasEdge)
}
