package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"countersign/internal/ijson"
)

// plan is what one tool's calls are judged by.
type plan struct {
	groups []*group
	rules  int // of all groups
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
	n := &plan{groups: slices.Clone(p.exact[tool])}
	for _, g := range p.globs {
		if g.names(tool) {
			n.groups = append(n.groups, g)
		}
	}
	for _, g := range n.groups {
		n.rules += len(g.rules)
	}
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

// most says whether a call is within the limits of all files however its rules
// come out, and the most steps it can take.
func (j *judging) most(p *plan, root ijson.Value) (steps int, within bool) {
	// A value takes a byte and what stands between it and the next another; a name
	// takes more. So at most this many are there to be selected.
	n := len(root.Raw())/2 + 1
	if steps, within = j.costs(p, n, false); within {
		return steps, true
	}
	return j.costs(p, n, true)
}

// costs adds up what all rules of a plan take, file by file. With exact the values
// of each selection are counted, else each is taken to select n.
func (j *judging) costs(p *plan, n int, exact bool) (steps int, within bool) {
	for _, g := range p.groups {
		for i := range g.costs {
			f := g.costs[i].file
			left := &j.lefts[f.number]
			c := &g.costs[i]
			left.values -= c.tests
			left.steps -= c.checks
			if exact {
				for _, w := range c.wild {
					k := j.count(w.sel, f.src.Limits.Values)
					left.values -= w.tests * k
					left.steps -= w.checks * max(1, k)
				}
			} else {
				left.values -= c.wildTests * n
				left.steps -= c.wildChecks * n
			}
		}
	}
	within = true
	for _, g := range p.groups {
		for i := range g.costs {
			f := g.costs[i].file
			left := &j.lefts[f.number]
			within = within && left.values >= 0 && left.steps >= 0
		}
	}
	for i := range j.lefts {
		l := &j.engine.files[i].src.Limits
		steps += l.Steps - j.lefts[i].steps
		j.lefts[i] = budget{l.Values, l.Steps}
	}
	return steps, within
}

// count is how many values a selection selects, most+1 where there are more.
func (j *judging) count(s *selection, most int) int {
	base := len(j.values)
	j.values = j.pick(j.values, s, j.root, most)
	n := len(j.values) - base
	j.drop(base)
	return n
}
