package rulestest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"countersign/internal/ijson"
	"countersign/rules"
)

// maxMade bounds the length of a text, or a list, that is made to be near a bound
// of its length.
const maxMade = 20_000

// maxFromList bounds the entries of one list that values are made of.
const maxFromList = 200

// candidates are values that a test is likely to tell apart: what it asks for,
// what is only nearly that, its bounds, and values of the wrong kind.
func (w *written) candidates(c *rules.Condition) []*tree {
	var out []*tree
	for i := range c.Test.Checks {
		out = append(out, w.checkCandidates(c, &c.Test.Checks[i])...)
	}
	out = append(out, scalar("null"), scalar("true"), scalar("0"), text(""), text("x"), array(), empty())
	return distinct(out)
}

func distinct(l []*tree) []*tree {
	seen := map[string]bool{}
	return slices.DeleteFunc(l, func(t *tree) bool {
		s := t.String()
		if seen[s] {
			return true
		}
		seen[s] = true
		return false
	})
}

// near are texts close to one.
func near(s string) []*tree {
	out := []*tree{text(s), text(s + "x"), text("x" + s), text("x" + s + "x"), text(s + "\n")}
	if o := otherCase(s); o != s {
		out = append(out, text(o))
	}
	if o := wide(s); o != s {
		out = append(out, text(o))
	}
	if r := []rune(s); len(r) > 1 {
		out = append(out, text(string(r[:len(r)-1])), text(string(r[1:])))
	}
	return out
}

// otherCase changes the case of the first letter that has one.
func otherCase(s string) string {
	r := []rune(s)
	for i, c := range r {
		o := unicode.ToUpper(c)
		if o == c {
			o = unicode.ToLower(c)
		}
		if o != c {
			r[i] = o
			return string(r)
		}
	}
	return s
}

// wide spells the last plain character in its wide form, which folding undoes.
func wide(s string) string {
	r := []rune(s)
	for i, c := range slices.Backward(r) {
		if '!' <= c && c <= '~' {
			r[i] = c + 0xFEE0
			return string(r)
		}
	}
	return s
}

func (w *written) checkCandidates(c *rules.Condition, k *rules.Check) []*tree {
	var out []*tree
	add := func(t ...*tree) { out = append(out, t...) }
	switch k.Kind {
	case rules.Present:
		add(text("x"))
	case rules.OfType:
		for _, t := range k.Types {
			add(ofType(t)...)
		}
		add(scalar("1.5"), scalar("1"))
	case rules.Is, rules.OneOf:
		for _, v := range k.Values[:min(len(k.Values), maxFromList)] {
			switch v.Type {
			case rules.TypeString:
				add(near(v.Text)...)
			case rules.TypeNumber:
				add(around(v.Number)...)
				add(text(strconv.FormatFloat(v.Number, 'f', -1, 64)))
			case rules.TypeBoolean:
				add(scalar(strconv.FormatBool(v.Bool)), scalar(strconv.FormatBool(!v.Bool)))
			default:
				add(scalar("null"))
			}
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith:
		for _, s := range k.Texts[:min(len(k.Texts), maxFromList)] {
			add(near(s)...)
		}
	case rules.Like:
		for _, s := range k.Texts[:min(len(k.Texts), maxFromList)] {
			for _, e := range globSamples(s, 0) {
				add(near(e)...)
			}
		}
	case rules.Matches, rules.Finds:
		for _, s := range patternSamples(k.Pattern) {
			add(near(s)...)
		}
	case rules.Length:
		for _, n := range []int64{k.Bounds.Min, k.Bounds.Max} {
			for _, m := range []int64{n, n - 1, n + 1} {
				if 0 <= m && m <= maxMade {
					add(text(strings.Repeat("x", int(m))), array(slices.Repeat([]*tree{scalar("0")}, int(m))...),
						array(slices.Repeat([]*tree{text("x")}, int(m))...))
					if m <= 64 {
						o := empty()
						for i := range m {
							o.names, o.kids = append(o.names, "m"+strconv.Itoa(int(i))), append(o.kids, scalar("0"))
						}
						add(o)
					}
				}
			}
		}
	case rules.Above, rules.AtLeast, rules.Below, rules.AtMost:
		add(around(k.Number)...)
	case rules.OnlyMembers, rules.HasMembers:
		whole := empty()
		for _, n := range k.Names[:min(len(k.Names), maxFromList)] {
			whole.names, whole.kids = append(whole.names, n), append(whole.kids, text("x"))
		}
		add(whole)
		for i := range whole.kids {
			o := whole.clone()
			o.names, o.kids = slices.Delete(o.names, i, i+1), slices.Delete(o.kids, i, i+1)
			add(o, member(whole.names[i], text("x")))
		}
		more := whole.clone()
		more.names, more.kids = append(more.names, "zz"), append(more.kids, scalar("0"))
		add(more)
	case rules.JSON:
		for _, t := range w.jsonCandidates(k.JSON) {
			add(text(t.String()))
		}
		add(text("{}"), text("{"))
	case rules.Path:
		add(w.pathCandidates(w.at(k.Pointer))...)
	case rules.URL:
		add(w.urlCandidates(w.at(k.Pointer))...)
	case rules.Command:
		add(w.commandCandidates(c, w.at(k.Pointer))...)
	case rules.Email:
		add(w.emailCandidates(w.at(k.Pointer))...)
	}
	return out
}

func ofType(t rules.Type) []*tree {
	switch t {
	case rules.TypeString:
		return []*tree{text("x")}
	case rules.TypeNumber, rules.TypeInteger:
		return []*tree{scalar("1")}
	case rules.TypeBoolean:
		return []*tree{scalar("true")}
	case rules.TypeNull:
		return []*tree{scalar("null")}
	case rules.TypeArray:
		return []*tree{array()}
	}
	return []*tree{empty()}
}

// around are numbers at and about a bound.
func around(n float64) []*tree {
	var out []*tree
	for _, d := range []float64{0, 1, -1, 0.5, -0.5, 0.1, -0.1, 0.01, -0.01} {
		out = append(out, scalar(string(ijson.AppendCanonical(nil, numberOf(n+d)))))
	}
	return out
}

func numberOf(f float64) ijson.Value {
	doc, err := ijson.Parse([]byte(strconv.FormatFloat(f, 'g', 15, 64)), ijson.Options{Doubles: true})
	if err != nil {
		return ijson.Value{}
	}
	return doc.Root()
}

// jsonCandidates are texts for a json test: objects with what its conditions ask
// for, each alone and all together.
func (w *written) jsonCandidates(c *rules.Condition) []*tree {
	together := empty()
	out := []*tree{}
	c.Walk(func(p *rules.Condition) {
		if p.Test == nil {
			return
		}
		for i, v := range w.candidates(p) {
			t := together.clone()
			place(t, &p.Test.Select, v)
			if i == 0 {
				together = t
			}
			out = append(out, t)
		}
	})
	return append([]*tree{together}, out...)
}

// texts are the texts of a list or "@name" of one.
func (w *written) texts(operand ijson.Value) []string {
	l, _ := w.list(operand)
	var out []string
	for e := range l.Elements() {
		if e.Kind() == ijson.String && len(out) < maxFromList {
			out = append(out, e.Text())
		}
	}
	return out
}

func (w *written) pathCandidates(o ijson.Value) []*tree {
	var out []*tree
	add := func(s ...string) {
		for _, p := range s {
			out = append(out, text(p))
		}
	}
	roots := w.texts(o.Member("under"))
	for _, r := range roots {
		r = strings.TrimSuffix(r, "/")
		up, _ := cutLast(r, "/")
		add(r+"/a", r, r+"x/a", up+"/zz", r+"/../zz", otherCase(r+"/a"), r+"/a/b", "/"+strings.TrimPrefix(up, "/"))
	}
	for _, member := range []string{"like", "notLike"} {
		for _, g := range w.texts(o.Member(member)) {
			for _, s := range globSamples(g, '/') {
				s = strings.TrimSuffix(s, "/")
				add(s, otherCase(s), s+"/a")
				for _, r := range roots[:min(len(roots), 3)] {
					add(strings.TrimSuffix(r, "/") + "/" + strings.TrimPrefix(s, "/"))
				}
				if r := strings.TrimSuffix(s, "x"); r != "" && r != "/" {
					add(r)
				}
			}
		}
	}
	add("/zz", "zz", "/", "")
	return out
}

func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(sep):]
}

func (w *written) urlCandidates(o ijson.Value) []*tree {
	schemes := append(w.texts(o.Member("scheme")), "https", "http", "ftp")
	hosts := []string{}
	for _, h := range w.texts(o.Member("host")) {
		bare := strings.TrimPrefix(strings.TrimPrefix(h, "**."), "*.")
		hosts = append(hosts, globSamples(h, '.')[0], bare, "a."+bare, "a.b."+bare, "zz"+bare)
	}
	hosts = append(hosts, "zz.example", "localhost", "10.0.0.1")
	ports := []string{""}
	if l, _ := w.list(o.Member("port")); l.Exists() {
		for p := range l.Elements() {
			ports = append(ports, ":"+raw(p))
		}
	}
	ports = append(ports, ":4444")
	paths := []string{}
	for _, p := range w.texts(o.Member("path")) {
		paths = append(paths, globSamples(p, '/')...)
	}
	paths = append(paths, "/", "/zz", "")
	queries := []string{""}
	for _, q := range w.texts(o.Member("query")) {
		queries = append(queries, "?"+q+"=1")
	}
	queries = append(queries, "?zz=1")
	var out []*tree
	seen := map[string]bool{}
	add := func(scheme, host, port, path, query string) {
		if s := scheme + "://" + host + port + path + query; !seen[s] {
			seen[s] = true
			out = append(out, text(s))
		}
	}
	// Each part in its turn, the others as they are most likely to pass.
	for _, s := range schemes {
		add(s, hosts[0], ports[0], paths[0], queries[0])
		for _, p := range ports {
			add(s, hosts[0], p, paths[0], queries[0])
		}
	}
	for _, h := range hosts {
		add(schemes[0], h, ports[0], paths[0], queries[0])
	}
	for _, p := range ports {
		add(schemes[0], hosts[0], p, paths[0], queries[0])
		add(schemes[0], "zz.example", p, paths[0], queries[0])
	}
	for _, p := range paths {
		add(schemes[0], hosts[0], ports[0], p, queries[0])
	}
	for _, q := range queries {
		add(schemes[0], hosts[0], ports[0], paths[0], q)
	}
	return append(out, text("//zz"), text("zz"))
}

func (w *written) commandCandidates(c *rules.Condition, o ijson.Value) []*tree {
	programs := w.texts(o.Member("programs"))
	var lines [][]string
	for _, p := range programs {
		lines = append(lines, []string{p}, []string{p, "x"})
	}
	if l, _ := w.list(o.Member("argv")); l.Exists() {
		for pattern := range l.Elements() {
			var words []string
			for e := range pattern.Elements() {
				if s := e.Text(); s != "**" {
					words = append(words, globSamples(s, 0)[0])
				}
			}
			lines = append([][]string{words, append(slices.Clone(words), "x"), append(slices.Clone(words), "x", "y")}, lines...)
		}
	}
	lines = append(lines, []string{"zz"}, nil)
	var out []*tree
	for _, words := range lines {
		s := strings.Join(words, " ")
		kids := make([]*tree, len(words))
		for i := range words {
			kids[i] = text(words[i])
		}
		out = append(out, text(s), array(kids...))
	}
	if len(lines) > 0 {
		s := strings.Join(lines[0], " ")
		for _, after := range []string{"; zz", " > f", " 2>&1", " $(" + s + ")", " 2>/dev/null", "; eval x"} {
			out = append(out, text(s+after))
		}
		out = append(out, text("A=1 "+s), text("env "+s))
		for _, p := range programs { // wrappers
			out = append(out, text(p+" "+s), text(p+" zz"), text(p+" 1 "+s), text(p+" 1 zz"))
		}
	}
	return out
}

func (w *written) emailCandidates(o ijson.Value) []*tree {
	var out []*tree
	for _, a := range w.texts(o.Member("addresses")) {
		out = append(out, text(a), text(otherCase(a)), text("x"+a), text(a+", zz@zz.example"))
	}
	for _, d := range w.texts(o.Member("domains")) {
		bare := strings.TrimPrefix(d, "*.")
		out = append(out, text("a@"+bare), text("a@b."+bare), text("a@c.b."+bare), text("a@zz"+bare), text("a@"+bare+", zz@zz.example"))
	}
	return append(out, text("zz@zz.example"), text("zz"))
}

// What an expression compares with stands in it as a literal.
var (
	celText   = regexp.MustCompile(`'([^'\\]*)'|"([^"\\]*)"`)
	celNumber = regexp.MustCompile(`\b\d+(?:\.\d+)?\b`)
	celArg    = regexp.MustCompile(`\bargs\.([A-Za-z_][A-Za-z0-9_]*)|\bargs\[['"]([^'"\\]*)['"]\]`)
)

// celCandidates are the arguments an expression names and values made of its
// literals.
func celCandidates(expression string) (names []string, values []*tree) {
	for _, m := range celArg.FindAllStringSubmatch(expression, maxFromList) {
		if n := m[1] + m[2]; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, m := range celText.FindAllStringSubmatch(expression, maxFromList) {
		s := m[1] + m[2]
		values = append(values, near(s)...)
		if strings.HasPrefix(s, "/") {
			values = append(values, text(s+"/a"))
		}
		values = append(values, array(text(s)))
	}
	for _, n := range celNumber.FindAllString(expression, maxFromList) {
		if f, err := strconv.ParseFloat(n, 64); err == nil {
			values = append(values, around(f)...)
		}
	}
	values = append(values, scalar("true"), scalar("false"), scalar("null"), scalar("1"), text("x"), array(), empty())
	return names, distinct(values)
}
