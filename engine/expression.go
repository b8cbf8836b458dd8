package engine

import (
	"context"

	"countersign/internal/celexpr"
	"countersign/internal/ijson"
	"countersign/internal/verdict"
)

// CEL is how a refusal names the kind of a condition that is an expression.
const CEL = "cel"

// expression evaluates an expression of the rule on the call. It takes a step,
// and what it costs is bounded by its own budget.
func (j *judging) expression(p *celexpr.Program, n *ConditionTrace) verdict.Result {
	if j.left.steps--; j.left.steps < 0 {
		j.over = true
		return verdict.CannotJudge
	}
	if !j.asked {
		j.facts, j.asked = factsOf(j.call), true
	}
	r, why, _, over := p.Eval(context.Background(), &j.facts)
	if over {
		j.over = true
	}
	if n != nil {
		n.Why = why
	}
	return r
}

// factsOf is what an expression may ask of a call.
func factsOf(c *Call) celexpr.Facts {
	given := func(s string, not bool) celexpr.Text { return celexpr.Text{Value: s, Given: !not} }
	f := celexpr.Facts{
		Args: c.Arguments, InputResponses: c.InputResponses,
		Tool:          given(c.Tool, false),
		Action:        given(c.Action, c.Facts.NoAction),
		Agent:         given(c.Agent, c.Facts.NoAgent),
		Upstream:      given(c.Upstream, c.Facts.NoUpstream),
		ClientName:    given(c.ClientName, c.Facts.NoClient),
		ClientVersion: given(c.ClientVersion, c.Facts.NoClient),
		Now:           c.Now,
	}
	if !c.Facts.NoAnnotations && c.Annotations.Kind() == ijson.Object {
		f.Annotations = c.Annotations
	}
	if c.Amount != nil && !c.Facts.NoAmount {
		f.AmountUnit, f.AmountValue = given(c.Amount.Unit, false), c.Amount.Value
	}
	return f
}
