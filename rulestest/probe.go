package rulestest

import (
	"context"
	"fmt"
	"slices"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/verdict"
	"countersign/rules"
)

// What a single entry of a list does is seen with a rule made of that entry
// alone: a probe. It is judged on the same calls by the same engine, so that an
// entry is compared in no other way than when it stands in its list.

// maxProbes bounds the probes of a suite: a file can hold more entries than it is
// worth to look at one by one.
const maxProbes = 20_000

// probeBlock is after how many cases the probes that have seen both are dropped.
const probeBlock = 256

// probesInFile is how many probes are judged as one rules file.
const probesInFile = 500

type probe struct {
	text string // the rule
	file *written
	// whole: the rule's condition is what is seen, not its values.
	whole bool
	at    func(t, f bool) // takes what was seen

	seenTrue, seenFalse bool
}

// probes are those of a suite, and how many entries are left without one.
func (s *Suite) probes(c *Coverage, texts map[*rules.File]*written) (out []*probe, left int) {
	for i, r := range s.rules {
		w := texts[s.ruleFiles[i]]
		rc := &c.Rules[i]
		for _, sl := range w.slots(r) {
			if sl.cond == nil || insideJSON(r, sl.cond) {
				continue
			}
			if _, known := always(sl.cond); known {
				continue
			}
			cc := rc.condition(sl.cond.Pointer)
			k := 0
			for e := range sl.list.Elements() {
				cc.Entries = append(cc.Entries, entry(e))
				if len(out) == maxProbes {
					left++
					k++
					continue
				}
				out = append(out, sl.probe(w, cc, len(cc.Entries)-1, k))
				k++
			}
		}
		w.eachCondition(r, func(inner *rules.Condition, inWhen bool) {
			if !insideJSON(r, inner) {
				return
			}
			cc := rc.condition(inner.Pointer)
			if outer := w.jsonProbe(r, inner); outer != "" && len(out) < maxProbes {
				p := &probe{file: w, text: probeRule(w.at(r.Pointer), outer, inWhen), at: func(t, f bool) {
					cc.probeTrue, cc.probeNo = cc.probeTrue || t, cc.probeNo || f
				}}
				out = append(out, p)
			}
		})
	}
	return out, left
}

// probe makes the probe of the slot's entry k, which is entry n of its condition.
func (sl *slot) probe(w *written, cc *ConditionCoverage, n, k int) *probe {
	p := &probe{file: w, at: func(t, f bool) {
		e := &cc.Entries[n]
		e.True, e.False = e.True || t, e.False || f
	}}
	one := list(elementText(sl.list, k))
	var test string
	switch {
	case sl.member == "named":
		test = sl.selecting(object("named", one, "fold", raw(sl.test.Member("fold")), "type", allTypes))
		p.whole = true // the entry keeps a leaf, or it keeps none
	case sl.member == "onlyMembers" || sl.member == "hasMembers":
		test = sl.selecting(object("names", "", "hasMembers", one, "fold", raw(sl.test.Member("fold"))))
	case sl.member == "command" || sl.member == "url" && sl.sub == "query":
		// An entry says something only together with the others: it is seen true
		// where the test holds, and would not without it.
		full := sl.selecting(object("named", raw(sl.test.Member("named")), sl.member, raw(sl.test.Member(sl.member))))
		p.whole = true
		test = full
		if sl.list.Len() > 1 {
			operand := with(sl.test.Member(sl.member), sl.sub, without(sl.list, k))
			test = object("all", list(full, object("not", sl.selecting(object("named", raw(sl.test.Member("named")), sl.member, operand)))))
		}
	case sl.sub != "":
		operand := sl.test.Member(sl.member)
		sub := sl.sub
		if sub == "notLike" {
			sub = "like"
		}
		test = sl.selecting(object("named", raw(sl.test.Member("named")), sl.member, object(sub, one,
			"base", raw(operand.Member("base")), "style", raw(operand.Member("style")),
			"fold", raw(operand.Member("fold")), "resolve", raw(operand.Member("resolve")))))
	default:
		test = sl.selecting(object("named", raw(sl.test.Member("named")), "names", raw(sl.test.Member("names")),
			"fold", sl.foldOf(), sl.member, one))
	}
	p.text = probeRule(w.at(sl.rule.Pointer), test, sl.inWhen)
	return p
}

// foldOf is the fold of a slot's test where it means something for its member.
func (sl *slot) foldOf() string {
	if sl.member == "type" {
		return ""
	}
	return raw(sl.test.Member("fold"))
}

const allTypes = `["string", "number", "boolean", "null", "object", "array"]`

// selecting is a test with the slot's selection; one that takes every value is
// content with some.
func (sl *slot) selecting(members string) string {
	kind, pointer := string(sl.cond.Test.Select.Kind), ijson.Value{}
	if pointer = sl.test.Member(kind); kind == string(rules.Every) {
		kind = string(rules.Some)
	}
	doc, err := ijson.Parse([]byte(members), ijson.Options{})
	if err != nil {
		return ""
	}
	return object(append([]string{kind, raw(pointer)}, pairs(doc.Root())...)...)
}

// jsonProbe is a condition that stands inside a json test as one of its own: each
// json test around it with the inner condition alone. "" where a json test around
// it could not be found.
func (w *written) jsonProbe(r *rules.Rule, inner *rules.Condition) string {
	text := raw(w.at(inner.Pointer))
	wrapped := false
	wrap := func(top *rules.Condition) {
		var around []*rules.Condition
		top.Walk(func(p *rules.Condition) {
			if p.Test == nil {
				return
			}
			for i := range p.Test.Checks {
				p.Test.Checks[i].JSON.Walk(func(q *rules.Condition) {
					if q == inner {
						around = append(around, p)
					}
				})
			}
		})
		for _, p := range slices.Backward(around) {
			sl := slot{cond: p, test: w.at(p.Pointer)}
			text = sl.selecting(object("named", raw(sl.test.Member("named")), "json", text))
			wrapped = true
		}
	}
	wrap(r.When)
	wrap(r.Condition())
	if !wrapped {
		return ""
	}
	return text
}

// probeRule is a rule for the same calls as r with one test, but for its id.
func probeRule(r ijson.Value, test string, inWhen bool) string {
	when := raw(r.Member("when"))
	if inWhen {
		when = ""
	}
	return object("id", `"p"`, "tools", raw(r.Member("tools")), "when", when, "refuse", test)
}

func elementText(v ijson.Value, i int) string {
	for e := range v.Elements() {
		if i == 0 {
			return raw(e)
		}
		i--
	}
	return ""
}

// runProbes judges the calls of the tasks by the probes.
func (s *Suite) runProbes(ctx context.Context, o RunOptions, tasks []task, all []*probe) error {
	open := slices.Clone(all)
	for from := 0; from < len(tasks) && len(open) > 0; from += probeBlock {
		block := tasks[from:min(from+probeBlock, len(tasks))]
		e, err := s.probeEngine(open)
		if err != nil {
			return err
		}
		index := make(map[string]int, len(open))
		for i := range open {
			index[probeID(i)] = i
		}
		o.FailFast = false
		_, err = s.each(ctx, o, len(block), func(w *worker, i int) bool {
			if w.seen == nil {
				w.judge.e, w.seen = e, make([][2]bool, len(open))
			}
			w.eachCall(&block[i], func(c *Call) {
				judged := w.judge.call(c, block[i].c.Now)
				look(&judged.Decision, open, index, w.seen)
			})
			return true
		}, func(w *worker) {
			for i, m := range w.seen {
				open[i].seenTrue = open[i].seenTrue || m[0]
				open[i].seenFalse = open[i].seenFalse || m[1]
			}
		})
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(p *probe) bool { return p.seenTrue && p.seenFalse })
	}
	for _, p := range all {
		p.at(p.seenTrue, p.seenFalse)
	}
	return nil
}

func probeID(i int) string { return fmt.Sprintf("p%d", i) }

// probeEngine compiles probes, with the lists of the files they are of and the
// loosest limits for each few of them.
func (s *Suite) probeEngine(open []*probe) (*engine.Engine, error) {
	most := rules.MaxLimits()
	var sources []rules.Source
	for from := 0; from < len(open); {
		w := open[from].file
		var texts []string
		to := from
		for ; to < len(open) && open[to].file == w && to < from+probesInFile; to++ {
			doc, err := ijson.Parse([]byte(open[to].text), ijson.Options{})
			if err != nil {
				return nil, fmt.Errorf("a probe of the coverage: %w", err)
			}
			texts = append(texts, with(doc.Root(), "id", quote(probeID(to))))
		}
		sources = append(sources, rules.Source{Path: "probes", Data: []byte(object(
			"format", quote(rules.Version), "name", quote(fmt.Sprintf("probes-%d", from)),
			"lists", raw(w.doc.Root().Member("lists")),
			"limits", fmt.Sprintf(`{"values": %d, "steps": %d}`, most.Values, most.Steps),
			"rules", list(texts...)))})
		from = to
	}
	set, problems := rules.ReadSet(sources)
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("a probe of the coverage is no rule: %w", err)
	}
	return engine.New(set, s.options.Engine)
}

// sound leaves out the probes that are no rules: made of a rule at a bound of the
// format they can be past it.
func (s *Suite) sound(all []*probe) (kept []*probe, left int) {
	if _, err := s.probeEngine(all); err == nil {
		return all, 0
	}
	for _, p := range all {
		if _, err := s.probeEngine([]*probe{p}); err == nil {
			kept = append(kept, p)
		}
	}
	return kept, len(all) - len(kept)
}

// look takes in what the probes saw of one call.
func look(d *engine.Decision, open []*probe, index map[string]int, seen [][2]bool) {
	for i := range d.Trace.Rules {
		t := &d.Trace.Rules[i]
		at, ok := index[t.Rule]
		if !ok || t.Condition == nil {
			continue
		}
		if open[at].whole {
			switch t.Condition.Result {
			case verdict.Holds:
				seen[at][0] = true
			case verdict.Fails:
				seen[at][1] = true
			}
			continue
		}
		for _, v := range t.Condition.Values {
			switch {
			case v.Wrong:
			case v.Result == verdict.Holds:
				seen[at][0] = true
			case v.Result == verdict.Fails:
				seen[at][1] = true
			}
		}
	}
}
