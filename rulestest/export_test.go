package rulestest

import (
	"context"
	"fmt"

	"countersign/internal/ijson"
	"countersign/rules"
)

// CheckParts holds, for each mutant of a suite and some calls, what the changed
// rules alone say, put in the place of what they said, against what the whole
// changed set says. It returns how many judgements it compared.
func (s *Suite) CheckParts(ctx context.Context, calls int) (int, error) {
	n := 0
	for _, f := range s.Set.Files {
		w, err := newWritten(f)
		if err != nil {
			return n, err
		}
		for i, c := range s.changes(w) {
			alone, ok := s.part(w, &c, true, false)
			if !ok {
				continue
			}
			whole, ok := s.part(w, &c, true, true)
			if !ok {
				return n, fmt.Errorf("%s: %s: alone it is a rules file, with the others it is none", c.kind, c.what)
			}
			tried := 0
			m := maker{sets: []*rules.Set{s.Set, alone.set}, seed: uint64(i)}
			var doc ijson.Doc
			for made := range m.calls(nil) {
				if tried == calls || ctx.Err() != nil {
					break
				}
				tried++
				call, ok := s.readCall(made.tool, made.args.append(nil), &doc, DefaultNow)
				if !ok {
					continue
				}
				d := s.engine.Explain(call)
				base := s.outcome(&Judged{Decision: d})
				say := alone.says(call, true)
				got := instead(&base, s.appliedOf(&d), alone.rules, &say)
				want := whole.says(call, true)
				if !sameSayings(got.refused, want.refused) || !sameSayings(got.watched, want.watched) || got.applied != want.applied {
					return n, fmt.Errorf("%s: %s: %s %s: alone %+v, whole %+v", c.kind, c.what, made.tool, made.args, got, want)
				}
				n++
			}
		}
	}
	return n, nil
}

func sameSayings(a, b []saying) bool {
	have := map[saying]int{}
	for _, x := range a {
		have[x]++
	}
	for _, x := range b {
		have[x]--
	}
	for _, n := range have {
		if n != 0 {
			return false
		}
	}
	return true
}
