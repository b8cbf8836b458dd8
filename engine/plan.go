package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// plan is what one tool's calls are judged by.
type plan struct {
	groups []*group
	rules  int // of all groups
	costs  []planCost
}

// planCost is what judging all rules of a plan takes from one file's budget: the
// tests, and the checks in them, that select at most one value, and the others.
type planCost struct {
	file                  *file
	tests, checks         int
	wildTests, wildChecks int
	innerChecks           int // of the conditions in json tests
}

// maxPlans bounds the names of tools whose plans are kept, and maxPlanName the
// bytes of such a name: names come from the agent. Past maxPlans the plans are
// forgotten and made anew as calls come.
const (
	maxPlans    = 1024
	maxPlanName = 256
)

// plans finds the plan of a tool. Looking one up takes no lock.
type plans struct {
	exact map[string][]*group // groups without globs, by name
	globs []*group

	known atomic.Pointer[map[string]*plan]
	mu    sync.Mutex // guards replacing known
}

func newPlans(groups []*group) *plans {
	p := &plans{exact: map[string][]*group{}}
	for _, g := range groups {
		if !g.exact {
			p.globs = append(p.globs, g)
			continue
		}
		for _, t := range g.tools {
			if l := p.exact[t.Text]; len(l) == 0 || l[len(l)-1] != g {
				p.exact[t.Text] = append(l, g)
			}
		}
	}
	p.known.Store(&map[string]*plan{})
	return p
}

func (p *plans) of(tool string) *plan {
	if found := (*p.known.Load())[tool]; found != nil {
		return found
	}
	n := newPlan(p.groups(tool))
	if len(tool) > maxPlanName {
		return n
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := *p.known.Load()
	next := make(map[string]*plan, len(known)+1)
	if len(known) < maxPlans {
		for name, k := range known {
			next[name] = k
		}
	}
	next[tool] = n
	p.known.Store(&next)
	return n
}

// groups gives the groups whose rules name a tool.
func (p *plans) groups(tool string) []*group {
	groups := slices.Clone(p.exact[tool])
	for _, g := range p.globs {
		if g.names(tool) {
			groups = append(groups, g)
		}
	}
	return groups
}

func newPlan(groups []*group) *plan {
	p := &plan{groups: groups}
	for _, g := range groups {
		p.rules += len(g.rules)
		for i := range g.costs {
			p.add(&g.costs[i])
		}
	}
	return p
}

// inOrder gives all rules of a plan: the enforcing ones in the order of the set,
// then the watching ones.
func (p *plan) inOrder() []*rule {
	list := make([]*rule, 0, p.rules)
	for _, g := range p.groups {
		list = append(list, g.rules...)
	}
	slices.SortFunc(list, compareRules)
	return list
}

func compareRules(a, b *rule) int {
	if a.src.Watch != b.src.Watch {
		if b.src.Watch {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.order, b.order)
}

func (p *plan) add(g *groupCost) {
	for i := range p.costs {
		if c := &p.costs[i]; c.file == g.file {
			c.tests += g.tests
			c.checks += g.checks
			c.wildTests += g.wildTests
			c.wildChecks += g.wildChecks
			c.innerChecks += g.innerChecks
			return
		}
	}
	p.costs = append(p.costs, g.planCost)
}

// most says whether a call is within the limits of all files whatever comes out of
// its rules, and the most steps it can take; what is then left of each file's
// limits is in j.lefts. What only judging tells, it leaves out.
func (j *judging) most(p *plan) (steps int, within bool) {
	// A value takes a byte and what stands between it and the next another; a name
	// takes more. So at most this many are there to be selected.
	n := len(j.root.Raw())/2 + 1
	within = true
	for i := range p.costs {
		c := &p.costs[i]
		k := c.checks + c.wildChecks*n
		steps += k
		within = j.leave(c.file, c.tests+c.wildTests*n, k) && within
	}
	if within {
		return steps, true
	}
	return j.counted(p)
}

// counted is most by the number of values that each selection really has.
func (j *judging) counted(p *plan) (steps int, within bool) {
	for i := range p.costs {
		l := &p.costs[i].file.src.Limits
		values, checks := p.costs[i].tests, p.costs[i].checks
		for _, g := range p.groups {
			for k := range g.costs {
				if g.costs[k].file != p.costs[i].file {
					continue
				}
				for _, w := range g.costs[k].wild {
					n := j.count(w.sel, l.Values)
					values += w.tests * n
					checks += w.checks * max(1, n)
				}
				if values > l.Values || checks > l.Steps {
					return 0, false
				}
			}
		}
		if !j.leave(p.costs[i].file, values, checks) {
			return 0, false
		}
		steps += checks
	}
	return steps, true
}

// leave notes what is left of a file's limits; false where they are passed.
func (j *judging) leave(f *file, values, steps int) bool {
	l := &f.src.Limits
	j.lefts[f.number] = budget{l.Values - values, l.Steps - steps}
	return values <= l.Values && steps <= l.Steps
}

// count is how many values a selection selects, most+1 where there are more.
func (j *judging) count(s *selection, most int) int {
	base := len(j.values)
	j.values = j.pick(j.values, s, j.root, most)
	n := len(j.values) - base
	j.drop(base)
	return n
}
