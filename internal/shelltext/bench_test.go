package shelltext_test

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"countersign/internal/shelltext"
	"countersign/internal/verdict"
)

// benchTexts are what an agent's commands look like, from short to long.
var benchTexts = map[string]string{
	"short":    "git log --oneline -n 20",
	"pipeline": "grep -rn \"func main\" --include='*.go' . | sort | uniq -c | head -n 5",
	"script":   "set -e\nif [ -f go.mod ]; then\n  go build ./... && go vet ./...\nelse\n  echo \"no module in $PWD\" 1>&2\nfi\nfor f in a b c; do\n  cp \"$f\" \"out/$f\" # copied\ndone\n",
	"wrapped":  "find . -name '*.go' -exec env A=1 timeout 5 sh -c 'grep -l x \"$1\" | head' _ {} +",
	"heredoc":  "cat > f <<'EOF'\n" + strings.Repeat("a line of text that is written\n", 40) + "EOF\nls -l f\n",
	"long":     strings.Repeat("echo \"one of many\" 'arguments' --flag=$HOME && ls -la /srv/work/a/b/c\n", 100),
}

// benchInner are the texts within those, which the parser has to read too.
var benchInner = map[string]string{"wrapped": "grep -l x \"$1\" | head"}

// BenchmarkJudge judges each text, beside the parser alone on the same text: the
// target is at most three times the parser.
func BenchmarkJudge(b *testing.B) {
	for _, name := range []string{"short", "pipeline", "script", "wrapped", "heredoc", "long"} {
		text := benchTexts[name]
		b.Run(name+"/parser", func(b *testing.B) {
			p := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangPOSIX))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(strings.NewReader(text), ""); err != nil {
					b.Fatal(err)
				}
				if inner := benchInner[name]; inner != "" {
					if _, err := p.Parse(strings.NewReader(inner), ""); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		j := judge(b, shelltext.Operand{Programs: ordinaryPrograms, Redirects: "any", Substitutions: true, Assignments: true})
		b.Run(name+"/judge", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, why := j.Judge(text); got != verdict.Holds {
					b.Fatal(got, why)
				}
			}
		})
	}
}
