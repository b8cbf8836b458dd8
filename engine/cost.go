package engine

// WorstSteps gives, for each file of the set, the most steps that judging one call
// by it could take: every selection of more than one value, and every json test,
// taking in all that arguments of the file's argumentBytes can hold. Where it is past the file's own
// limit of steps, the limit ends the judging.
func (e *Engine) WorstSteps() map[string]int {
	worst := map[string]int{}
	for _, f := range e.files {
		worst[f.src.Name] = 0
	}
	add := func(groups []*group) {
		p := newPlan(groups)
		for i := range p.costs {
			c := &p.costs[i]
			l := &c.file.src.Limits
			most := min(l.ArgumentBytes/2+1, l.Values+1)
			worst[c.file.src.Name] = max(worst[c.file.src.Name], c.checks+(c.wildChecks+c.innerChecks)*most)
		}
	}
	add(e.plans.globs)
	for name := range e.plans.exact {
		add(e.plans.groups(name))
	}
	return worst
}

// SlowPattern is a pattern that a clean text is held against at the speed of
// package regexp: some ten times slower than other tests.
type SlowPattern struct {
	File, Rule string
	Pointer    string // of the test in the file
}

// SlowPatterns names the patterns of the set that have neither a table nor a
// literal that every text they match holds, in the order of the set.
func (e *Engine) SlowPatterns() []SlowPattern {
	var slow []SlowPattern
	for _, r := range e.rules {
		for _, c := range []*condition{r.when, r.condition} {
			c.checks(func(k *check) {
				if k.pattern != nil && k.pattern.table == nil && k.pattern.needed == nil {
					slow = append(slow, SlowPattern{r.file.src.Name, r.src.ID, k.src.Pointer})
				}
			})
		}
	}
	return slow
}

// checks calls f for every check of a condition, those inside json tests too.
func (c *condition) checks(f func(*check)) {
	c.walk(func(t *test) {
		for i := range t.checks {
			f(&t.checks[i])
			t.checks[i].inner.checks(f)
		}
	})
}
