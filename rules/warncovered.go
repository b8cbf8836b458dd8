package rules

import (
	"slices"
	"strings"
)

// covered reports the rules whose every refusal another rule makes as well.
func (w *warner) covered() {
	rules := w.f.Rules
	for i, b := range rules {
		for j, a := range rules {
			if i == j || a.Watch != b.Watch || !w.prover.covers(a, b) {
				continue
			}
			if j > i && w.prover.covers(b, a) {
				continue // each covers the other: told at the later one
			}
			w.rule = b
			w.add("covered", b.Offset, b.Pointer, "whatever this rule refuses, the rule %q refuses too", a.ID)
			break
		}
		if w.prover.left <= 0 {
			return
		}
	}
}

// covers: does a refuse every call that b refuses with the code condition?
func (pr *prover) covers(a, b *Rule) bool {
	for _, t := range b.Tools {
		if !pr.spend(len(a.Tools)) {
			return false
		}
		if !slices.ContainsFunc(a.Tools, func(s ToolName) bool { return s.covers(t) }) {
			return false
		}
	}
	if a.When != nil && (b.When == nil || !pr.implies(b.When, a.When)) {
		return false
	}
	return pr.implies(refusal(b), refusal(a))
}

// refusal is the condition that holds where the rule refuses.
func refusal(r *Rule) *Condition {
	if r.Refuse != nil {
		return r.Refuse
	}
	if r.Require.Not != nil {
		return r.Require.Not
	}
	return &Condition{Not: r.Require}
}

// covers: does the entry stand for every tool that t stands for?
func (s ToolName) covers(t ToolName) bool {
	switch {
	case s.Text == t.Text:
		return true
	case t.Exact():
		return s.Matches(t.Text)
	}
	return s.all && strings.HasPrefix(t.begin, s.begin)
}

// implies: does q hold wherever p does? No means that it is not known.
func (pr *prover) implies(p, q *Condition) bool {
	if !pr.spend(1) {
		return false
	}
	each := func(ps []*Condition, f func(*Condition) bool) bool {
		return !slices.ContainsFunc(ps, func(c *Condition) bool { return !f(c) })
	}
	switch {
	case p.Any != nil:
		return each(p.Any, func(x *Condition) bool { return pr.implies(x, q) })
	case q.All != nil:
		return each(q.All, func(y *Condition) bool { return pr.implies(p, y) })
	case p.All != nil && slices.ContainsFunc(p.All, func(x *Condition) bool { return pr.implies(x, q) }):
		return true
	case q.Any != nil:
		return slices.ContainsFunc(q.Any, func(y *Condition) bool { return pr.implies(p, y) })
	case p.Not != nil && q.Not != nil:
		return pr.implies(q.Not, p.Not)
	case p.CEL != "":
		return p.CEL == q.CEL
	case p.Test != nil && q.Test != nil:
		return pr.testImplies(p.Test, q.Test)
	}
	return false
}

func (pr *prover) testImplies(p, q *Test) bool {
	a, b := p.Select, q.Select
	same := a.Pointer.Text == b.Pointer.Text && a.Names == b.Names && slices.Equal(a.Named, b.Named) &&
		slices.EqualFunc(a.Argv, b.Argv, func(x, y Pointer) bool { return x.Text == y.Text })
	kind := a.Kind == b.Kind || a.Kind == Every && b.Kind == Some || a.Kind == Arg && b.Kind == Some
	if !same || !kind || p.Fold && !q.Fold {
		return false
	}
	// Texts that are equal are so when folded; a part of a text need not stay one.
	part := func(c Check) bool { return c.Kind != Is && c.Kind != OneOf }
	if p.Fold != q.Fold && (a.Named != nil || slices.ContainsFunc(q.Checks, part)) {
		return false
	}
	return !slices.ContainsFunc(q.Checks, func(y Check) bool {
		return !slices.ContainsFunc(p.Checks, func(x Check) bool { return pr.checkImplies(x, y) })
	})
}

// checkImplies: does a value that passes x pass y, both compared in one way?
func (pr *prover) checkImplies(x, y Check) bool {
	if x.Kind == y.Kind && x.List != "" && x.List == y.List {
		return true
	}
	if !pr.spend(1 + len(x.Texts)*len(y.Texts) + len(x.Names)*len(y.Names)) {
		return false
	}
	if x.Kind == Is || x.Kind == OneOf {
		if y.Kind == Path || y.Kind == URL || y.Kind == Command || y.Kind == Email || y.Kind == JSON {
			return false
		}
		all := !slices.ContainsFunc(x.Values, func(v Scalar) bool { return passing(y)&kindOfType(v.Type) == 0 || !pr.scalarPasses(y, v) })
		return all && pr.left >= 0 // with no work left scalarPasses only guesses
	}
	if within, ok := numberImplies(x, y); ok {
		return within
	}
	if x.Kind != y.Kind {
		return false
	}
	subset := func(xs, ys []string) bool {
		return !slices.ContainsFunc(xs, func(s string) bool { return !slices.Contains(ys, s) })
	}
	each := func(f func(s, t string) bool) bool {
		return !slices.ContainsFunc(x.Texts, func(s string) bool {
			return !slices.ContainsFunc(y.Texts, func(t string) bool { return f(s, t) })
		})
	}
	switch x.Kind {
	case Present:
		return x.Present == y.Present
	case OfType:
		return !slices.ContainsFunc(x.Types, func(t Type) bool {
			return !slices.Contains(y.Types, t) && !(t == TypeInteger && slices.Contains(y.Types, TypeNumber))
		})
	case Contains:
		return each(strings.Contains)
	case StartsWith:
		return each(strings.HasPrefix)
	case EndsWith:
		return each(strings.HasSuffix)
	case Like:
		return subset(x.Texts, y.Texts)
	case Matches, Finds:
		return x.Pattern == y.Pattern
	case Length:
		return x.Bounds.Min >= y.Bounds.Min && (y.Bounds.Max < 0 || x.Bounds.Max >= 0 && x.Bounds.Max <= y.Bounds.Max)
	case OnlyMembers:
		return subset(x.Names, y.Names)
	case HasMembers:
		return subset(y.Names, x.Names)
	case Path, URL, Command, Email:
		return x.Judge != nil && x.Judge == y.Judge // one operand is compiled once
	}
	return false
}

// numberImplies compares two bounds on one side.
func numberImplies(x, y Check) (implies, bounds bool) {
	low := func(k CheckKind) bool { return k == Above || k == AtLeast }
	high := func(k CheckKind) bool { return k == Below || k == AtMost }
	switch {
	case low(x.Kind) && low(y.Kind):
		return x.Number > y.Number || x.Number == y.Number && (x.Kind == y.Kind || x.Kind == Above), true
	case high(x.Kind) && high(y.Kind):
		return x.Number < y.Number || x.Number == y.Number && (x.Kind == y.Kind || x.Kind == Below), true
	}
	return false, false
}
