package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"countersign/rulestest"
)

// leastBench is the shortest time that a rule is measured for: in less it may not be
// judged once, and its mean is no number.
const leastBench = time.Millisecond

func (p *program) rulesBenchCommand() *cobra.Command {
	var each time.Duration
	cmd := p.answers(&cobra.Command{
		Use:   "bench PATH…",
		Short: "Measure what rules cost, on the calls of their tests",
		Long: `bench judges the calls of test files again and again and prints, for all rules
together and for each by itself, the time, the allocations and the steps of a
call; the most steps a call can take by each file; and the most that each CEL
expression can cost. A path is a test file, a rules file with its tests beside
it, or a folder. Times are of this machine; compare them within one run.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if each < leastBench {
				return fmt.Errorf("--each %v, expected at least %v", each, leastBench)
			}
			suites, problems, err := rulestest.Load(args, testOptions())
			if err != nil {
				return err
			}
			if err := problems.Err(); err != nil {
				return err
			}
			var all []*rulestest.Bench
			for _, s := range suites {
				b, err := s.Measure(cmd.Context(), each)
				if err != nil {
					return err
				}
				if all = append(all, b); p.asJSON {
					continue
				}
				if err := b.WriteText(p.out); err != nil {
					return err
				}
			}
			if p.asJSON {
				return p.answer(all)
			}
			return nil
		},
	})
	cmd.Flags().DurationVar(&each, "each", 200*time.Millisecond, "how long each rule is measured")
	return cmd
}
