package rulestest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/ijson"
	"countersign/internal/plainfile"
	"countersign/internal/problem"
)

// maxRecordedLine bounds one line of recorded calls, in bytes: the longest line
// of a ledger.
const maxRecordedLine = 48 << 20

// recordedDepth is the most levels of a recorded line: a record inside it.
const recordedDepth = 96

// maxRecordedFiles bounds the files that one path or glob of recorded calls names.
const maxRecordedFiles = 10_000

// RulesPrint is a rules file that judged a recorded call: its name and
// fingerprint.
type RulesPrint struct{ Name, SHA256 string }

// Recorded is one recorded call.
type Recorded struct {
	File string
	Line int   // from 1
	Seq  int64 // of a ledger's line, else -1
	Call Call
	// Refused: the call was refused when it was recorded, by a rule, the slip, a
	// person or the settings.
	Refused        bool
	By, Code, Rule string // Rule is "file name/rule id"
	Rules          []RulesPrint
	Watched        []Watching // rules that noticed it
	WatchedMore    int64      // and how many more, which are not named
	// Why says why the call cannot be judged again, "" where it can.
	Why string
}

// Watching is a watching rule that would have refused a call.
type Watching struct {
	Rule string // "file name/rule id"
	Code string
}

// Why a recorded call cannot be judged again.
const (
	whyDigests  = "its arguments were not kept, only their digest"
	whyRedacted = "its arguments were redacted"
	whyCounted  = "only counted, not kept one by one"
)

// RecordedFiles gives the files that a path, a folder or a glob names, sorted.
func RecordedFiles(pattern string) ([]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("the glob %q: %w", pattern, err)
	}
	if _, err := os.Stat(pattern); err == nil && !slices.Contains(paths, pattern) {
		paths = append(paths, pattern)
	}
	var files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("recorded calls: %w", err)
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		inside, err := os.ReadDir(p)
		if err != nil {
			return nil, fmt.Errorf("recorded calls: %w", err)
		}
		for _, d := range inside {
			if ext := filepath.Ext(d.Name()); ext != ".jsonl" && ext != ".json" {
				continue
			}
			path := filepath.Join(p, d.Name())
			info, err := os.Stat(path) // a link to a ledger is a ledger
			if err != nil {
				return nil, fmt.Errorf("recorded calls: %w", err)
			}
			if !info.IsDir() {
				files = append(files, path)
			}
		}
	}
	if len(files) > maxRecordedFiles {
		return nil, fmt.Errorf("%q names %d files, at most %d can be read", pattern, len(files), maxRecordedFiles)
	}
	slices.Sort(files)
	return once(files), nil
}

// once leaves out files that are named a second time, be it in another way: their
// calls would be counted twice.
func once(files []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(path string) bool {
		real := realPath(path)
		twice := seen[real]
		seen[real] = true
		return twice
	})
}

// ReadRecorded gives the recorded calls of a file in their order, each once, to
// each; it ends with the error of each, if any. The file is a ledger, or holds
// one JSON object, or one on each line: a call as a case has it, or a tools/call
// message. A ledger's lines are read, not verified. A call's text is its own.
func ReadRecorded(path string, each func(*Recorded) error) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return fmt.Errorf("recorded calls: %w", err)
	}
	defer f.Close()
	return readRecorded(path, f, each)
}

func readRecorded(path string, r io.Reader, each func(*Recorded) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	l := ledgerReader{calls: map[int64]*Recorded{}}
	var line []byte
	for n := 1; ; n++ {
		part, err := in.ReadSlice('\n')
		line = append(line[:0], part...)
		for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxRecordedLine {
			part, err = in.ReadSlice('\n')
			line = append(line, part...)
		}
		if len(line) > maxRecordedLine {
			return fmt.Errorf("%s:%d: a line of more than %d bytes", path, n, maxRecordedLine)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", path, err)
		}
		end := err != nil
		if n == 1 && len(bytes.TrimSpace(line)) > 0 && !end {
			// One object over several lines?
			var d ijson.Doc
			if d.Parse(line, ijson.Options{Depth: recordedDepth}) != nil {
				rest, err := io.ReadAll(io.LimitReader(in, maxRecordedLine))
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				line, end = append(line, rest...), true
			}
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := l.line(path, n, bytes.Clone(line), each); err != nil {
				return err
			}
		}
		if end {
			return l.end(each)
		}
	}
}

// ledgerReader reads lines. A call is given once what follows it in a ledger
// cannot add to it: its watch line comes right behind.
type ledgerReader struct {
	calls map[int64]*Recorded // waiting, by seq: at most one
	wait  *Recorded
}

func (l *ledgerReader) end(each func(*Recorded) error) error {
	w := l.wait
	l.wait = nil
	if w == nil {
		return nil
	}
	return each(w)
}

func (l *ledgerReader) line(path string, n int, line []byte, each func(*Recorded) error) error {
	doc, err := ijson.Parse(line, ijson.Options{Depth: recordedDepth, Doubles: true})
	if err != nil {
		at, msg := 0, err.Error()
		if e := (*ijson.Error)(nil); errors.As(err, &e) {
			at, msg = e.Offset, e.Msg
		}
		return fmt.Errorf("%s:%d: byte %d: not strict JSON: %s", path, n, at, msg)
	}
	v := doc.Root()
	if v.Kind() != ijson.Object {
		return fmt.Errorf("%s:%d: expected an object: a line of a ledger, a call or a message", path, n)
	}
	r := &Recorded{File: path, Line: n, Seq: -1}
	r.Call.from = fmt.Sprintf("%s:%d", path, n)
	switch {
	case v.Member("kind").Kind() == ijson.String && v.Member("seq").Exists():
		r.Seq, _ = v.Member("seq").Int()
		switch v.Member("kind").Text() {
		case "call":
			r.ledgerCall(v)
		case "refused":
			r.ledgerRefused(v)
		case "watch":
			of, _ := v.Member("of").Int()
			if l.wait != nil && l.wait.Seq == of {
				for w := range v.Member("rules").Elements() {
					l.wait.Watched = append(l.wait.Watched, Watching{w.Member("rule").Text(), w.Member("code").Text()})
				}
				l.wait.WatchedMore, _ = v.Member("more").Int()
			}
			return nil
		default:
			return nil
		}
	case v.Member("method").Kind() == ijson.String:
		if !v.Member("method").Is("tools/call") {
			return nil
		}
		r.Call.Message, r.Call.Tool = line, v.Member("params").Member("name").Text()
	case v.Member("tool").Kind() == ijson.String:
		if err := r.plain(v, path, n, line); err != nil {
			return err
		}
	default:
		return fmt.Errorf(`%s:%d: expected a line of a ledger, a call with "tool", or a message with "method"`, path, n)
	}
	if err := l.end(each); err != nil {
		return err
	}
	l.wait = r
	return nil
}

// plain reads a call as a case has it.
func (r *Recorded) plain(v ijson.Value, path string, n int, line []byte) error {
	var rd reader
	c := rd.call(problem.Place{Value: v})
	if len(rd.Problems) > 0 {
		p := rd.Settle(path, line)[0]
		return fmt.Errorf("%s:%d: %s: %s", path, n, p.Pointer, p.Msg)
	}
	from := r.Call.from
	r.Call = *c
	r.Call.from = from
	return nil
}

// ledgerCall reads a call line of a ledger (guard, section 5).
func (r *Recorded) ledgerCall(v ijson.Value) {
	c := &r.Call
	c.Tool = v.Member("tool").Text()
	if a := v.Member("arguments"); a.Kind() == ijson.String {
		c.Arguments = []byte(a.Text())
	}
	if a := v.Member("inputResponses"); a.Kind() == ijson.String {
		c.inputResponses = []byte(a.Text())
	}
	if a := v.Member("annotations"); a.Kind() == ijson.String {
		if d, err := ijson.Parse([]byte(a.Text()), ijson.Options{Depth: serverDepth, Doubles: true}); err == nil {
			c.Annotations = d.Root()
		}
	}
	text := func(v ijson.Value) *string {
		if v.Kind() != ijson.String {
			return nil
		}
		s := v.Text()
		return &s
	}
	peers, draft := v.Member("peers"), v.Member("draft")
	c.Agent, c.Upstream, c.Action = text(peers.Member("agent")), text(peers.Member("upstream")), text(draft.Member("action"))
	if client := peers.Member("client"); client.Kind() == ijson.Object {
		c.Client = &Client{client.Member("name").Text(), client.Member("version").Text()}
	}
	if a := draft.Member("amount"); a.Kind() == ijson.Object {
		n, _ := a.Member("value").Int()
		c.Amount = &Amount{a.Member("unit").Text(), n}
	}
	c.now = recordedTime(draft.Member("when"))
	if c.now.IsZero() {
		c.now = recordedTime(v.Member("at"))
	}
	r.Rules = printsOf(v.Member("rules"))
	for d := range draft.Member("details").Elements() {
		if d.Member("name").Is("countersign.arguments-redacted") {
			r.Why = whyRedacted
		}
	}
}

// ledgerRefused reads a refused line of a ledger.
func (r *Recorded) ledgerRefused(v ijson.Value) {
	r.Refused, r.Why = true, whyDigests
	if n, ok := v.Member("count").Int(); ok {
		r.Why = fmt.Sprintf("%d refused calls, %s", n, whyCounted)
		return
	}
	r.By, r.Code, r.Rule = v.Member("by").Text(), v.Member("code").Text(), v.Member("rule").Text()
	r.Call.Tool = v.Member("tool").Text()
	r.Call.now = recordedTime(v.Member("at"))
	if a := v.Member("arguments"); a.Kind() == ijson.String { // kept whole, where so set
		r.Call.Arguments, r.Why = []byte(a.Text()), ""
	}
}

func printsOf(v ijson.Value) []RulesPrint {
	var out []RulesPrint
	for f := range v.Elements() {
		out = append(out, RulesPrint{f.Member("name").Text(), f.Member("sha256").Text()})
	}
	return out
}

func recordedTime(v ijson.Value) time.Time {
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil {
		return time.Time{}
	}
	return t
}

// eachRecorded gives the calls that a case names, one after the other, and
// returns how many of them could not be judged again.
func (s *Suite) eachRecorded(f *File, c *Case, each func(*Call) error) (left int, err error) {
	files, err := RecordedFiles(f.beside(c.Calls.Glob))
	if err != nil {
		return 0, err
	}
	for _, path := range files {
		err := ReadRecorded(path, func(r *Recorded) error {
			switch {
			case c.Calls.Tool != "" && r.Call.Tool != c.Calls.Tool:
			case r.Why != "":
				left++
			default:
				return each(&r.Call)
			}
			return nil
		})
		if err != nil {
			return left, err
		}
	}
	return left, nil
}
