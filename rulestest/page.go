package rulestest

import (
	"cmp"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/rules"
)

// WritePage writes the coverage as one HTML page that needs nothing else: for each
// rules file its text with what no case reached marked, and a table of its rules.
func (c *Coverage) WritePage(w io.Writer) error {
	reached, all := c.Points()
	page := pageData{Percent: c.Percent(), Reached: reached, All: all, Unmeasured: c.Unmeasured}
	for _, f := range c.files() {
		page.Files = append(page.Files, c.pageFile(f))
	}
	return pageTemplate.Execute(w, page)
}

type pageData struct {
	Percent, Reached, All, Unmeasured int
	Files                             []pageFile
}

type pageFile struct {
	Path, Name, Fingerprint string
	Rules                   []pageRule
	Lines                   []pageLine
}

type pageRule struct {
	ID                                    string
	Line                                  int
	Applied, Refused, Passed, CannotJudge int64
	Missed                                int
	Watch                                 bool
}

type pageLine struct {
	Number int
	Spans  []pageSpan
	Notes  []string
}

type pageSpan struct {
	Text string
	Mark bool
	Why  string
}

func (c *Coverage) files() []*rules.File {
	var out []*rules.File
	for i := range c.Rules {
		if !slices.Contains(out, c.Rules[i].File) {
			out = append(out, c.Rules[i].File)
		}
	}
	return out
}

func (c *Coverage) pageFile(f *rules.File) pageFile {
	p := pageFile{Path: f.Path, Name: f.Name, Fingerprint: f.Fingerprint}
	at := newLines(f.Source)
	var missed []Missed
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.File != f {
			continue
		}
		row := pageRule{ID: r.Rule.ID, Applied: r.Applied, Refused: r.Refused, Passed: r.Passed, CannotJudge: r.CannotJudge, Watch: r.Rule.Watch}
		row.Line, _ = at.position(r.Rule.Offset)
		r.points(func(ok bool, m Missed) {
			if !ok {
				missed = append(missed, m)
				row.Missed++
			}
		})
		p.Rules = append(p.Rules, row)
	}
	p.Lines = marked(f.Source, at, missed)
	return p
}

// marked cuts a text into lines, and each into what is marked and what is not.
func marked(src []byte, at *lines, missed []Missed) []pageLine {
	// A mark inside another says the same of less: both notes stand by the line
	// where they begin, the text is marked once.
	slices.SortStableFunc(missed, func(a, b Missed) int { return cmp.Compare(a.Offset, b.Offset) })
	notes := map[int][]string{}
	type mark struct {
		from, to int
		why      string
	}
	var marks []mark
	for _, m := range missed {
		line, _ := at.position(m.Offset)
		note := m.What
		if m.End > m.Offset {
			note += ": " + short(m.Of)
		}
		if !slices.Contains(notes[line], note) {
			notes[line] = append(notes[line], note)
		}
		if m.End <= m.Offset {
			continue
		}
		if n := len(marks); n > 0 && m.Offset < marks[n-1].to {
			last := &marks[n-1]
			if m.End <= last.to {
				if m.Offset == last.from && m.End == last.to {
					last.why += ", " + m.What
				}
				continue
			}
			m.Offset = last.to
		}
		marks = append(marks, mark{m.Offset, m.End, m.What})
	}
	var out []pageLine
	for i, start := range at.starts {
		end := len(src)
		if i+1 < len(at.starts) {
			end = at.starts[i+1] - 1
		}
		l := pageLine{Number: i + 1, Notes: notes[i+1]}
		pos := start
		for _, m := range marks {
			from, to := max(m.from, pos), min(m.to, end)
			if from >= to {
				continue
			}
			if from > pos {
				l.Spans = append(l.Spans, pageSpan{Text: string(src[pos:from])})
			}
			l.Spans = append(l.Spans, pageSpan{string(src[from:to]), true, m.why})
			pos = to
		}
		if pos < end {
			l.Spans = append(l.Spans, pageSpan{Text: string(src[pos:end])})
		}
		out = append(out, l)
	}
	return out
}

// maxNote is how much of an entry a note repeats, in characters.
const maxNote = 60

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= maxNote {
		return s
	}
	return string([]rune(s)[:maxNote]) + "…"
}

var pageTemplate = template.Must(template.New("coverage").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Coverage of content rules: {{.Percent}}%</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #59636e; --line: #d1d9e0; --mark: #ffe3a3; --note: #8a3b00; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #12161b; --faint: #9198a1; --line: #3d444d; --mark: #5a4300; --note: #ffb77c; --good: #3fb950; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 75rem; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .25rem; overflow-wrap: anywhere; }
p { margin: .25rem 0 1rem; color: var(--faint); overflow-wrap: anywhere; }
.bar { height: .6rem; border: 1px solid var(--line); border-radius: .3rem; overflow: hidden; margin: .5rem 0; }
.bar div { height: 100%; background: var(--good); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; color: var(--faint); font-size: .875rem; }
.none { color: var(--bad); font-weight: 600; }
a { color: inherit; }
.source { margin-top: 1rem; border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto; font: 14px/1.6 ui-monospace, monospace; padding: .5rem 0; }
.row { display: flex; white-space: pre; }
.row:target { outline: 2px solid var(--note); outline-offset: -2px; }
.row > span:first-child { flex: none; width: 3.5rem; padding-right: .75rem; text-align: right; color: var(--faint); user-select: none; }
mark { background: var(--mark); color: inherit; border-radius: .15rem; }
.note { padding-left: 4.25rem; color: var(--note); white-space: normal; }
</style>
</head>
<body>
<h1>Coverage of content rules: {{.Percent}}%</h1>
<div class="bar" role="img" aria-label="{{.Percent}} percent reached"><div style="width: {{.Percent}}%"></div></div>
<p>{{.Reached}} of {{.All}} things the cases could reach.{{if .Unmeasured}} {{.Unmeasured}} list entries were not looked at one by one and count as not reached.{{end}} Marked is what no case reached.</p>
{{range $file := .Files}}<h2>{{.Path}}</h2>
<p>{{.Name}}, {{.Fingerprint}}</p>
<div class="wide" tabindex="0"><table>
<thead><tr><th scope="col">Rule</th><th scope="col">Applied</th><th scope="col">Refused</th><th scope="col">Passed</th><th scope="col">Could not be judged</th><th scope="col">Not reached</th></tr></thead>
<tbody>
{{range .Rules}}<tr><td><a href="#{{$file.Name}}-{{.Line}}">{{.ID}}</a>{{if .Watch}} (watches){{end}}</td><td>{{.Applied}}</td><td>{{.Refused}}</td><td>{{.Passed}}</td><td>{{.CannotJudge}}</td><td{{if .Missed}} class="none"{{end}}>{{.Missed}}</td></tr>
{{end}}</tbody></table></div>
<div class="source" tabindex="0" aria-label="{{.Path}}">
{{range .Lines}}<div class="row" id="{{$file.Name}}-{{.Number}}"><span>{{.Number}}</span><span>{{range .Spans}}{{if .Mark}}<mark title="{{.Why}}">{{.Text}}</mark>{{else}}{{.Text}}{{end}}{{end}}</span></div>
{{range .Notes}}<div class="note">{{.}}</div>
{{end}}{{end}}</div>
{{end}}</body>
</html>
`))
