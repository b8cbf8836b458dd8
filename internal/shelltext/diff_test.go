package shelltext_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// diffRuns is how many scripts that hold are run by default; more with the
// environment variable SHELLTEXT_RUNS.
const diffRuns = 120

// shellsOf are the shells that may run a script of an operand.
func shellsOf(o shelltext.Operand) []string {
	if o.Shell == "bash" {
		return []string{"bash"}
	}
	return []string{"dash", "bash as sh"}
}

// compare runs a script that the judge says holds and reports everything that
// ran and was not judged.
func compare(t *testing.T, j *jail, shells []string, o shelltext.Operand, judged []shelltext.Ran, script string) {
	t.Helper()
	for _, shell := range shells {
		a := j.run(t, shell, script)
		for _, r := range a.Records {
			if !slices.ContainsFunc(judged, func(w shelltext.Ran) bool { return covers(w, r) }) {
				t.Errorf("under %s\n%s\n%q\nran %q, which was not judged; judged: %+v", shell, script, script, r.Args, judged)
			}
			if !o.Assignments {
				for _, e := range r.Env {
					if name, _, _ := strings.Cut(e, "="); !slices.Contains(jailEnv, e) &&
						!slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_", "JAIL_SH", "LOGNAME"}, name) {
						t.Errorf("under %s\n%s\n%q\nset %q without assignments", shell, script, script, e)
					}
				}
			}
		}
		want := []string{"/w", "/w/-delete", "/w/a.txt", "/w/b.txt"}
		if o.Redirects != "any" && !slices.Equal(a.Files, want) && !slices.Contains(a.Files, "/w/nohup.out") {
			t.Errorf("under %s\n%s\n%q\nleft files %q without redirections", shell, script, script, a.Files)
		}
	}
}

// covers says whether what was judged is what ran.
func covers(w shelltext.Ran, r jailRecord) bool {
	name := w.Words[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 && name[:i] == "/bin" {
		name = name[i+1:]
	}
	if name != r.Name || len(r.Args) < w.Known {
		return false
	}
	if w.Known == len(w.Words) && !w.Tail && len(r.Args) != w.Known {
		return false
	}
	return slices.Equal(r.Args[1:w.Known], w.Words[1:w.Known])
}

// TestDifferential runs generated scripts that hold in real shells. What runs
// must be among what was judged, word for word as far as the words were known.
func TestDifferential(t *testing.T) {
	j := newJail(t)
	runs := diffRuns
	if testing.Short() {
		runs /= 4
	}
	seed := uint64(1)
	if s := os.Getenv("SHELLTEXT_RUNS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SHELLTEXT_RUNS: %v", err)
		}
		runs = n
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	judges := make([]*shelltext.Judge, len(diffOperands))
	for i, o := range diffOperands {
		judges[i] = judge(t, o)
	}
	// Every attempt at a bypass is tried as it is and changed in a place or two:
	// they stand at the edges where readings part.
	var known []string
	for _, group := range slices.Sorted(maps.Keys(attempts)) {
		known = append(known, attempts[group]...)
	}
	known = append(known, ordinary...)
	var corpus []string // of scripts that the judge understood
	seen := make(map[string]bool)
	tried, held := 0, 0
	for held < runs && !t.Failed() {
		var script string
		kind := r.IntN(4)
		n := r.IntN(len(diffOperands))
		switch {
		case kind == 0:
			script = stew(r)
		case kind == 1 && len(corpus) > 0:
			script = mutate(r, corpus[r.IntN(len(corpus))])
		case kind == 2:
			script = known[r.IntN(len(known))]
			if r.IntN(4) > 0 {
				script = mutate(r, script)
			}
		default:
			g := grammar{r: r, bash: diffOperands[n].Shell == "bash"}
			script = g.script()
		}
		if len(script) > 400 || seen[script] {
			continue
		}
		tried++
		// Some are judged as what zsh -c is given, where there is a zsh to run them.
		shells, text := shellsOf(diffOperands[n]), script
		if j.zsh && r.IntN(4) == 0 {
			shells, text = []string{"zsh"}, "zsh -c "+quote(script)
		}
		finding, judged := judges[n].Heard(text)
		if finding.Result != verdict.CannotJudge {
			corpus = append(corpus, script)
			if len(corpus) > 4000 {
				corpus = corpus[2000:]
			}
		}
		// What holds and cannot hide anything is dull; most runs are of the rest.
		if finding.Result != verdict.Holds || !strings.Contains(script, "rm") && r.IntN(4) > 0 {
			continue
		}
		seen[script] = true
		held++
		compare(t, j, shells, diffOperands[n], judged, script)
	}
	t.Logf("%d scripts, %d of them held and were run", tried, held)
}
