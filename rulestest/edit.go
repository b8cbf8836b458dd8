package rulestest

import (
	"strings"

	"countersign/internal/ijson"
)

// Rules are changed as text: a change is a text put in the place of a value, so
// that all else stays as the author wrote it and what comes out is read by the
// one reader of rules.

// splice gives the text with one put in the place of a value.
func splice(src []byte, v ijson.Value, text string) []byte {
	out := make([]byte, 0, len(src)+len(text))
	out = append(out, src[:v.Start()]...)
	out = append(out, text...)
	return append(out, src[v.End():]...)
}

// object writes members, given as name, value, name, value …; the values are JSON
// text and those that are "" are left out.
func object(pairs ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if b.Len() > 1 {
			b.WriteString(", ")
		}
		b.WriteString(quote(pairs[i]))
		b.WriteString(": ")
		b.WriteString(pairs[i+1])
	}
	b.WriteByte('}')
	return b.String()
}

func quote(s string) string { return string(ijson.AppendString(nil, s)) }

// list writes a list of values that are JSON text.
func list(values ...string) string { return "[" + strings.Join(values, ", ") + "]" }

// raw is a value's text, "" of an absent one.
func raw(v ijson.Value) string { return string(v.Raw()) }

// pairs are an object's members in the form object takes.
func pairs(v ijson.Value) []string {
	var out []string
	for n, m := range v.Members() {
		out = append(out, n.Text(), raw(m))
	}
	return out
}

// with is an object with a member set, or dropped where text is "".
func with(v ijson.Value, name, text string) string {
	p := pairs(v)
	for i := 0; i < len(p); i += 2 {
		if p[i] == name {
			p[i+1] = text
			return object(p...)
		}
	}
	return object(append(p, name, text)...)
}

// without is a list without one element.
func without(v ijson.Value, drop int) string {
	var out []string
	i := 0
	for e := range v.Elements() {
		if i != drop {
			out = append(out, raw(e))
		}
		i++
	}
	return list(out...)
}

// replaced is a list with one element put in the place of another.
func replaced(v ijson.Value, at int, text string) string {
	var out []string
	i := 0
	for e := range v.Elements() {
		if i == at {
			out = append(out, text)
		} else {
			out = append(out, raw(e))
		}
		i++
	}
	return list(out...)
}
