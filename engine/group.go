package engine

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"countersign/internal/ijson"
	"countersign/rules"
)

// group is the rules for the same tools, with the triggers of all of them
// gathered by what they look at.
type group struct {
	tools    []rules.ToolName
	exact    bool // no entry of tools has a glob sign
	rules    []*rule
	always   []*rule // have no cover
	programs []*program
	costs    []groupCost
}

// groupCost is what judging all of a group's rules takes from one file's budget.
type groupCost struct {
	planCost
	wild []wildCost // the wild ones, by selection
}

// wildCost is the part of one selection in the others.
type wildCost struct {
	sel           *selection
	tests, checks int
}

// program is all that triggers ask about one selection.
type program struct {
	sel   *selection
	empty []firing            // where nothing is selected
	wrong [kindCount][]firing // by a value of the kind
	ask   [kindCount][]*question
	plain *texts // of strings as they are
	fold  *texts // of strings as they are folded
	finds []patternQuestions
	lows  []bound // numbers from these on, ascending
	highs []bound // numbers up to these, descending
}

// firing is a trigger that fires: one of a rule's covers does.
type firing struct {
	rule *rule
	bit  uint8
}

// question is one check asked by itself.
type question struct {
	check *check
	when  outcomes
	fires firing
}

// patternQuestions are patterns that need the same literals.
type patternQuestions struct {
	needed []literal
	ask    []patternQuestion
}

type patternQuestion struct {
	pattern *pattern
	fires   firing
}

// bound fires by numbers beyond it, or also by itself.
type bound struct {
	number float64
	itself bool
	fires  firing
}

// texts are questions about a string that are asked for many texts at once. The
// words of an automaton are numbered as the lists of rules are.
type texts struct {
	is                []textFirings
	in, begin, end    []textFirings
	isMap             map[string][]firing
	inAll             *words
	beginAll, backAll *words
}

// textFirings is one text and what it fires.
type textFirings struct {
	text  string
	fires []firing
}

const kindCount = 6

// kindIndex is a kind's place in the tables of a program.
func kindIndex(k kinds) int { return bits.TrailingZeros8(uint8(k)) }

var everyKind = [kindCount]kinds{kindNull, kindBool, kindNumber, kindString, kindArray, kindObject}

// groupsOf gathers rules, in the order of the set, by their tools.
func groupsOf(list []*rule) []*group {
	var groups []*group
	known := map[string]*group{}
	for _, r := range list {
		var names []string
		exact := true
		for _, t := range r.src.Tools {
			names = append(names, fmt.Sprintf("%q", t.Text))
			exact = exact && t.Exact()
		}
		slices.Sort(names)
		key := strings.Join(names, ",")
		g := known[key]
		if g == nil {
			g = &group{tools: r.src.Tools, exact: exact}
			known[key] = g
			groups = append(groups, g)
		}
		g.rules = append(g.rules, r)
	}
	for _, g := range groups {
		g.compile()
	}
	return groups
}

func (g *group) names(tool string) bool {
	for _, t := range g.tools {
		if t.Matches(tool) {
			return true
		}
	}
	return false
}

func (g *group) compile() {
	programs := map[*selection]*program{}
	costs := map[*file]*groupCost{}
	for _, r := range g.rules {
		g.cost(costs, r)
		covers := coversOf(r)
		if len(covers) == 0 {
			g.always = append(g.always, r)
		}
		for i, c := range covers {
			f := firing{r, 1 << i}
			r.whole |= f.bit
			for _, t := range c.triggers {
				p := programs[t.sel]
				if p == nil {
					p = &program{sel: t.sel}
					programs[t.sel] = p
					g.programs = append(g.programs, p)
				}
				p.add(t, f)
			}
		}
	}
	for _, p := range g.programs {
		p.finish()
	}
}

// cost adds what judging a rule whole takes.
func (g *group) cost(costs map[*file]*groupCost, r *rule) {
	c := costs[r.file]
	if c == nil {
		g.costs = append(g.costs, groupCost{planCost: planCost{file: r.file}})
		for i := range g.costs { // the slice may have moved
			costs[g.costs[i].file] = &g.costs[i]
		}
		c = costs[r.file]
	}
	for _, top := range []*condition{r.when, r.condition} {
		c.checks += top.expressions()
		top.checks(func(k *check) {
			k.inner.walk(func(t *test) { c.innerChecks += len(t.checks) })
		})
		top.walk(func(t *test) {
			if t.sel.single {
				c.tests++
				c.checks += len(t.checks)
				return
			}
			c.wildTests++
			c.wildChecks += len(t.checks)
			i := slices.IndexFunc(c.wild, func(w wildCost) bool { return w.sel == t.sel })
			if i < 0 {
				i = len(c.wild)
				c.wild = append(c.wild, wildCost{sel: t.sel})
			}
			c.wild[i].tests++
			c.wild[i].checks += len(t.checks)
		})
	}
}

// expressions is the number of expressions in a condition; each takes a step.
func (c *condition) expressions() int {
	if c == nil {
		return 0
	}
	if c.form == formCEL {
		return 1
	}
	n := 0
	for _, p := range c.parts {
		n += p.expressions()
	}
	return n
}

// counts says whether what a condition takes is known only by judging it: it holds
// an expression, a json test or a list of words.
func (c *condition) counts() bool {
	counts := c.expressions() > 0
	c.walk(func(t *test) {
		counts = counts || t.kind == rules.Argv || slices.ContainsFunc(t.checks, func(k check) bool { return k.inner != nil })
	})
	return counts
}

// walk calls f for every test of a condition, not those inside a json test.
func (c *condition) walk(f func(*test)) {
	if c == nil {
		return
	}
	if c.test != nil {
		f(c.test)
	}
	for _, p := range c.parts {
		p.walk(f)
	}
}

// add takes a trigger of a rule in.
func (p *program) add(t trigger, f firing) {
	switch {
	case t.empty:
		p.empty = appendFiring(p.empty, f)
	case t.check == nil:
		for i, k := range everyKind {
			if t.kinds&k != 0 {
				p.wrong[i] = appendFiring(p.wrong[i], f)
			}
		}
	default:
		for i, k := range everyKind {
			if t.check.applies&k != 0 && !p.together(t, k, f) {
				p.ask[i] = append(p.ask[i], &question{t.check, t.when, f})
			}
		}
	}
}

// appendFiring keeps one of each; those of a cover come one after the other.
func appendFiring(list []firing, f firing) []firing {
	if n := len(list); n > 0 && list[n-1] == f {
		return list
	}
	return append(list, f)
}

// maxShared is how many texts a test may have to be asked together with others:
// larger sets have an automaton of their own, shared by all that use the list.
const maxShared = 64

// together takes a question in that is asked together with others of its kind.
func (p *program) together(t trigger, k kinds, fires firing) bool {
	c := t.check
	if t.when&^set(cannot) != set(holds) {
		return false
	}
	switch c.src.Kind {
	case rules.Is, rules.OneOf:
		if k != kindString || len(c.values.texts) > maxShared {
			return false
		}
		for text := range c.values.texts {
			addText(&p.form(c.fold).is, text, fires)
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith:
		if len(c.texts.texts) > maxShared {
			return false
		}
		f := p.form(c.fold)
		for _, text := range c.texts.texts {
			switch c.src.Kind {
			case rules.Contains:
				addText(&f.in, text, fires)
			case rules.StartsWith:
				addText(&f.begin, text, fires)
			default:
				addText(&f.end, text, fires)
			}
		}
	case rules.Matches, rules.Finds:
		q := patternQuestion{c.pattern, fires}
		for i := range p.finds {
			if slices.Equal(p.finds[i].needed, c.pattern.needed) {
				p.finds[i].ask = append(p.finds[i].ask, q)
				return true
			}
		}
		p.finds = append(p.finds, patternQuestions{c.pattern.needed, []patternQuestion{q}})
	case rules.Above, rules.AtLeast:
		p.lows = append(p.lows, bound{c.src.Number, c.src.Kind == rules.AtLeast, fires})
	case rules.Below, rules.AtMost:
		p.highs = append(p.highs, bound{c.src.Number, c.src.Kind == rules.AtMost, fires})
	default:
		return false
	}
	return true
}

func (p *program) form(fold bool) *texts {
	at := &p.plain
	if fold {
		at = &p.fold
	}
	if *at == nil {
		*at = &texts{}
	}
	return *at
}

func addText(list *[]textFirings, text string, f firing) {
	*list = append(*list, textFirings{text, []firing{f}})
}

// finish sorts what is asked together and makes the automata.
func (p *program) finish() {
	slices.SortStableFunc(p.lows, func(a, b bound) int { return cmp.Compare(a.number, b.number) })
	slices.SortStableFunc(p.highs, func(a, b bound) int { return cmp.Compare(b.number, a.number) })
	for _, t := range []*texts{p.plain, p.fold} {
		if t == nil {
			continue
		}
		for _, l := range []*[]textFirings{&t.is, &t.in, &t.begin, &t.end} {
			*l = merged(*l)
		}
		if len(t.is) > fewTexts {
			t.isMap = make(map[string][]firing, len(t.is))
			for _, x := range t.is {
				t.isMap[x.text] = x.fires
			}
		}
		if len(t.in) > fewTexts {
			t.inAll = automatonOf(textsOf(t.in), maxCells)
		}
		if len(t.begin) > fewTexts {
			t.beginAll = trieOf(textsOf(t.begin), maxCells)
		}
		if len(t.end) > fewTexts {
			t.backAll = trieOf(reversedAll(textsOf(t.end)), maxCells)
		}
	}
}

// merged sorts texts and makes one entry of each.
func merged(list []textFirings) []textFirings {
	slices.SortStableFunc(list, func(a, b textFirings) int { return cmp.Compare(a.text, b.text) })
	out := list[:0]
	for _, t := range list {
		if n := len(out); n > 0 && out[n-1].text == t.text {
			out[n-1].fires = appendFiring(out[n-1].fires, t.fires[0])
			continue
		}
		out = append(out, t)
	}
	return out
}

func textsOf(list []textFirings) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.text
	}
	return out
}

// fire notes what fires; a rule of which every cover did is to be judged.
func (j *judging) fire(list []firing) {
	for _, f := range list {
		j.fireOne(f)
	}
}

func (j *judging) fireOne(f firing) {
	fired := j.fired[f.rule.order]
	if fired&f.bit != 0 {
		return
	}
	if fired == 0 {
		j.touched = append(j.touched, f.rule.order)
	}
	fired |= f.bit
	j.fired[f.rule.order] = fired
	if fired == f.rule.whole {
		j.candidates = append(j.candidates, f.rule)
	}
}

// run asks a program's questions of a call.
func (j *judging) run(p *program) {
	if p.sel.single {
		v := j.places[p.sel.at]
		if !v.Exists() {
			j.fire(p.empty)
			return
		}
		j.ask(p, v)
		return
	}
	if p.sel.elements {
		v := j.places[p.sel.at]
		if v.Kind() != ijson.Array || v.Len() == 0 {
			j.fire(p.empty)
		}
		for e := range v.Elements() {
			j.ask(p, e)
		}
		return
	}
	base := len(j.values)
	j.values = j.pick(j.values, p.sel, j.root, maxSelected)
	if len(j.values) == base {
		j.fire(p.empty)
	}
	for _, v := range j.values[base:] {
		j.ask(p, v)
	}
	j.drop(base)
}

// maxSelected bounds a selection that no budget does: it is past every limit a
// file may set.
const maxSelected = 1 << 30

// ask asks about one value.
func (j *judging) ask(p *program, v ijson.Value) {
	kind := kindOf(v.Kind())
	i := kindIndex(kind)
	if w := p.wrong[i]; w != nil {
		j.fire(w)
	}
	if p.ask[i] != nil {
		j.askEach(p.ask[i], v, kind)
	}
	switch kind {
	case kindString:
		if p.plain != nil || p.finds != nil {
			text := textOf(v, &j.decoded)
			if p.plain != nil {
				j.askTexts(p.plain, text)
			}
			if p.finds != nil {
				j.askPatterns(p.finds, text)
			}
		}
		if p.fold != nil {
			j.askTexts(p.fold, j.folded(textOf(v, &j.decoded), &j.form))
		}
	case kindNumber:
		if p.lows != nil || p.highs != nil {
			j.askBounds(p, v.Float())
		}
	}
}

func (j *judging) askEach(list []*question, v ijson.Value, kind kinds) {
	s := subject{v: v, kind: kind}
	for _, q := range list {
		if o, _ := j.judge(q.check, &s); q.when.has(o) {
			j.fireOne(q.fires)
		}
	}
}

func (j *judging) askPatterns(list []patternQuestions, text []byte) {
	for k := range list {
		f := &list[k]
		if f.needed != nil && !possible(f.needed, text) {
			continue
		}
		for _, q := range f.ask {
			if j.fired[q.fires.rule.order]&q.fires.bit == 0 && q.pattern.matches(text) {
				j.fireOne(q.fires)
			}
		}
	}
}

func (j *judging) askBounds(p *program, f float64) {
	for k := range p.lows {
		b := &p.lows[k]
		if f < b.number {
			break
		}
		if f > b.number || b.itself {
			j.fireOne(b.fires)
		}
	}
	for k := range p.highs {
		b := &p.highs[k]
		if f > b.number {
			break
		}
		if f < b.number || b.itself {
			j.fireOne(b.fires)
		}
	}
}

func (j *judging) askTexts(t *texts, text []byte) {
	if t.isMap != nil {
		j.fire(t.isMap[string(text)])
	} else {
		for k := range t.is {
			if t.is[k].text == string(text) {
				j.fire(t.is[k].fires)
			}
		}
	}
	if t.inAll != nil {
		j.hits = t.inAll.all(text, j.hits[:0], &j.seenStates)
		for _, k := range j.hits {
			j.fire(t.in[k].fires)
		}
	} else {
		for k := range t.in {
			if strings.Contains(view(text), t.in[k].text) {
				j.fire(t.in[k].fires)
			}
		}
	}
	if t.begin != nil {
		j.askEnds(t.beginAll, t.begin, text, false)
	}
	if t.end != nil {
		j.askEnds(t.backAll, t.end, text, true)
	}
}

// askEnds asks what a text begins with, or ends with.
func (j *judging) askEnds(all *words, list []textFirings, text []byte, backwards bool) {
	if all != nil {
		j.hits = all.beginning(text, j.hits[:0], backwards)
		for _, k := range j.hits {
			j.fire(list[k].fires)
		}
		return
	}
	for k := range list {
		if w := list[k].text; len(text) >= len(w) &&
			(!backwards && string(text[:len(w)]) == w || backwards && string(text[len(text)-len(w):]) == w) {
			j.fire(list[k].fires)
		}
	}
}
