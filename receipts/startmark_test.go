package receipts_test

import (
	"strings"
	"testing"
)

// A start trusts the last mark for the lines before it, and still finds that lines
// there are missing, doubled or pushed aside.
func TestStartDamageBeforeMark(t *testing.T) {
	w, c := twoOfEach(t)
	w.close(c)
	before := len(w.lines(w.cfg.Ledger))
	double := func(n int) func(string) string {
		return func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			lines = lines[:len(lines)-1]
			if n < 0 {
				n += len(lines)
			}
			return strings.Join(append(lines[:n+1:n+1], lines[n:]...), "")
		}
	}
	for _, row := range []struct {
		name   string
		change func(string) string
		want   string
	}{
		{"first line removed", dropLine(0), "bytes stand before this mark"},
		{"middle line removed", dropLine(3), "bytes stand before this mark"},
		{"line before the mark removed", dropLine(-2), "bytes stand before this mark"},
		{"BOM in front", func(s string) string { return "\ufeff" + s }, "bytes stand before this mark"},
		{"empty line in front", func(s string) string { return "\n" + s }, "bytes stand before this mark"},
		{"first line doubled", double(0), "bytes stand before this mark"},
		{"line before the mark doubled", double(-2), "bytes stand before this mark"},
		{"last line doubled", double(-1), "bytes stand before this mark"},
		{"first line spoilt at the same length", swap(`{"agent"`, `{"agenx"`), "this is not the ledger's first line"},
		{"first line of another agent", swap(`"agent":"files"`, `"agent":"filez"`), "this is not the ledger's first line"},
		{"line before the mark spoilt at the same length", func(s string) string {
			i := strings.LastIndex(s[:len(s)-1], "\n")
			return breakSignature(s[:i+1]) + s[i+1:]
		}, "is not the one that the mark names"},
		{"lines swapped for equally long rubbish and line before altered", func(s string) string {
			l := strings.SplitAfter(s, "\n")
			l[before-2] = strings.Repeat("x", len(l[before-2])-1) + "\n"
			return strings.Join(l, "")
		}, "is not the one that the mark names"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := w.killed()
			edit(t, k.cfg.Ledger, row.change)
			k.stops(t, row.want)
		})
	}
	// Undamaged, the same ledger starts, and again after more marks.
	for range 3 {
		c := w.open()
		do(t, c, testCall(t, "files.read", `{}`), answer(`{}`))
		w.close(c)
	}
	w.whole()
}
