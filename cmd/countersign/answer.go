package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"countersign/internal/problem"
)

// answer writes the answer of a command as JSON.
func (p *program) answer(v any) error {
	e := json.NewEncoder(p.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// say writes a line of an answer.
func (p *program) say(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil && p.unsaid == nil {
		p.unsaid = err
	}
}

// note writes a line that is no part of the answer.
func (p *program) note(format string, args ...any) {
	fmt.Fprintf(p.err, "countersign: "+format+"\n", args...)
}

// logger writes logs of a level and above to standard error, in the form that
// --log names.
func (p *program) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if p.logAs == "json" {
		return slog.New(slog.NewJSONHandler(p.err, o))
	}
	return slog.New(slog.NewTextHandler(p.err, o))
}

// told is a problem as JSON answers have it.
type told struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// tell gives problems the form of JSON answers.
func tell(l problem.List) []told {
	out := make([]told, 0, len(l)) // a list also where it is empty
	for _, p := range l {
		out = append(out, told{p.File, p.Line, p.Column, p.Pointer, p.Code, p.Msg})
	}
	return out
}

// plural is n with a word, which gets an s unless n is one.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
