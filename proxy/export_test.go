package proxy

import (
	"io"
	"strings"

	"countersign/internal/ijson"
	"countersign/internal/looks"
)

// Check is an inputSchema held against arguments, for tests: what is left out of
// the schema, and the code and words of a refusal, "" where the arguments fit.
func Check(schema, arguments ijson.Value) (omitted []string, code, why string, err error) {
	s, err := compileSchema(schema)
	if err != nil {
		return nil, "", "", err
	}
	if m := s.check(arguments); m != nil {
		return s.omitted, m.code, m.why, nil
	}
	return s.omitted, "", "", nil
}

// Plain says whether a schema is a plain one and, where it is, whether a value fits
// by it and by the library.
func Plain(schema, v ijson.Value) (plain, fits, library bool, err error) {
	s, err := compileSchema(schema)
	if err != nil || s.plain == nil {
		return false, false, false, err
	}
	return true, s.plain.fits(v), s.root.Validate(decode(v)) == nil, nil
}

// Alike looks for a member that looks like one a schema, pointers or rules name.
func Alike(schema ijson.Value, pointers []string, anywhere []string, arguments ijson.Value) (string, error) {
	k := looks.Known{Anywhere: anywhere}
	for _, p := range pointers {
		segs := segments(p)
		for i := range segs {
			if segs[i] == "*" {
				segs[i] = looks.Any
			}
		}
		k.Pointers = append(k.Pointers, segs)
	}
	d := new(definition)
	if schema.Exists() {
		s, err := compileSchema(schema)
		if err != nil {
			return "", err
		}
		d.schema = s
	}
	l, err := looks.New(rootOf(d), k)
	if err != nil {
		return "", err
	}
	return l.Alike(arguments), nil
}

// ReadLine is a line and what the reader of a side makes of it, in words.
type ReadLine struct {
	Line, ID, Verdict string
}

// ReadLines reads a stream to its end as the agent's or the server's side.
func ReadLines(r io.Reader, max int, server bool) []ReadLine {
	from := fromAgent
	if server {
		from = fromServer
	}
	lines := newLineReader(r, max)
	var got []ReadLine
	for {
		var m Message
		line, id, flaw, err := lines.next(nil)
		if err != nil {
			return got
		}
		l := ReadLine{Line: string(line), ID: string(id)}
		m.line = line
		switch {
		case flaw == tooLong:
			l.Verdict = "too long"
		case flaw == unterminated:
			l.Verdict = "unterminated"
		case blank(line):
			continue
		default:
			if f := m.read(from); f != nil {
				l.ID, l.Verdict = string(f.id), f.why
			} else {
				l.ID = string(m.ID.Raw())
				l.Verdict = strings.Join([]string{"kind", string('0' + rune(m.Kind)), m.Method}, " ")
			}
		}
		got = append(got, l)
	}
}

// FindID is the id in a text that cannot be read.
func FindID(text []byte) []byte { return findID(text) }

// Bench reads one line as the agent's side, again and again into the same memory.
type Bench struct{ m Message }

func (b *Bench) Read(line []byte) bool {
	b.m.line = append(b.m.line[:0], line...)
	return b.m.read(fromAgent) == nil
}

// Offered is what the settings say of a tool.
func Offered(c Config, tool string) (t Tool, offered, shown bool) {
	t, offered = c.offered(tool)
	return t, offered, c.shown(tool)
}

var Endable = endable
