package receipts

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Result is what was found so far: the report of the book as it stands.
func (c *Checker) Result() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{
		Format:   BookFormat,
		Size:     c.size,
		Root:     c.tree.Root().String(),
		Problems: append([]Problem{}, c.whole...),
		Notes:    []string{},
		Entries:  make([]*Entry, len(c.entries)),
	}
	for i, e := range c.entries {
		copied := *e
		copied.Problems = append([]Problem{}, e.Problems...)
		copied.Breaches = append([]Problem{}, e.Breaches...) // later lines may add to them
		r.Entries[i] = &copied
	}
	if c.o.ExpectedRoot != "" && c.o.ExpectedRoot != r.Root {
		r.Problems = append(r.Problems, problem(CodeRootMismatch, "the book's top fingerprint is not the one expected"))
	}
	if sized := c.o.ExpectedSize > 0 || c.o.ExpectedSize == 0 && c.o.ExpectedRoot != ""; sized && c.o.ExpectedSize != c.size {
		r.Problems = append(r.Problems, problem(CodeRootMismatch, "the book has %d entries, and %d were expected", c.size, c.o.ExpectedSize))
	}
	found := c.faulty > 0 || len(r.Problems) > 0
	r.Summary = Summary{
		ProblemFound:   found,
		FullyChecked:   c.unchecked == 0 && len(c.notChecked) == 0,
		IssuerCompared: len(c.o.IssuerKeys) > 0,
		MethodsMissing: append([]Method{}, c.o.WithoutMethods...),
		WithinSlips:    !found && c.uncompared == 0 && c.breached == 0 && len(c.notChecked) == 0,
		FirstBreach:    c.firstBreach,
		Counts:         c.counts,
		Development:    c.development,
		NotChecked:     slices.Clone(c.notChecked),
		Limits: []string{
			"that the book is whole: what was cut off its end, or never written, leaves no trace in it",
			"when anything happened: times are the writers' own word, and no stamps are checked here",
			"who the people and services behind the keys are",
		},
	}
	if c.counts.Seals > 0 && !slices.Contains(r.Summary.MethodsMissing, SLHDSA256s) {
		r.Summary.MethodsMissing = append(r.Summary.MethodsMissing, SLHDSA256s)
	}
	r.Summary.Intact = !found && r.Summary.FullyChecked
	if !r.Summary.IssuerCompared {
		r.Notes = append(r.Notes, "no issuer keys were given: who signed the slips was not compared with anyone")
	}
	return r
}

const (
	// batchLines and batchBytes bound what VerifyBook holds of a book at once: enough
	// lines to keep every core at work between two turns of the one that goes in
	// order.
	batchLines = 512
	batchBytes = 8 << 20

	readBuffer = 64 << 10
)

// VerifyBook checks a whole book, reading lines and checking signatures on all
// cores. It finds what a [Checker] finds that is given the lines one by one. An
// error is one of reading r; the report then covers what was read, and says so.
func VerifyBook(r io.Reader, o CheckOptions) (Report, error) {
	c := NewChecker(o)
	b := &bookReader{r: bufio.NewReaderSize(r, readBuffer)}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	parsers := make([]lineParser, workers)
	known := newForeknowledge()
	tooMany := false
	for c.size < MaxEntries && b.err == nil {
		lines := b.batch()
		read := make([]*parsed, len(lines))
		each(workers, len(lines), func(worker, i int) {
			if lines[i].tooLong {
				read[i] = &parsed{leaf: lines[i].leaf, kind: KindUnreadable,
					fault: problem(CodeTooLarge, "the line is longer than %d bytes", MaxLine)}
				return
			}
			read[i] = parsers[worker].read(lines[i].text)
		})
		var jobs []job
		for _, p := range read {
			jobs = known.jobs(p, jobs)
		}
		each(workers, len(jobs), func(_, i int) { jobs[i].run(c.v) })
		for _, p := range read {
			if tooMany = c.size == MaxEntries; tooMany {
				break
			}
			c.apply(p, false)
		}
	}
	if tooMany || c.size == MaxEntries && b.more() {
		c.wholeProblem(problem(CodeTooLarge, "the book has more than %d entries; the others were not read", MaxEntries))
	}
	if c.size == 0 && b.ended() {
		c.wholeProblem(problem(CodeNotJSON, "the book is empty"))
	}
	if b.err != nil && !b.ended() {
		c.wholeProblem(problem(CodeCheckFailed, "the book could not be read to its end"))
		return c.Result(), fmt.Errorf("reading the book: %w", b.err)
	}
	return c.Result(), nil
}

// each calls f for 0 to n-1 on so many workers, and waits for all of them.
func each(workers, n int, f func(worker, i int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(w, i)
			}
		})
	}
	wg.Wait()
}

// bookReader cuts a book into lines, and never holds more of one than may be.
type bookReader struct {
	r   *bufio.Reader
	err error
}

// bookLine is a line without its line feed; of one that is too long, only its leaf
// hash is left.
type bookLine struct {
	text    []byte
	tooLong bool
	leaf    Hash
}

func (b *bookReader) ended() bool { return errors.Is(b.err, io.EOF) }

// more says whether there is anything left to read.
func (b *bookReader) more() bool {
	if b.err != nil {
		return false
	}
	_, err := b.r.Peek(1)
	return err == nil
}

func (b *bookReader) batch() []bookLine {
	var lines []bookLine
	for size := 0; b.err == nil && len(lines) < batchLines && size < batchBytes; {
		line, ok := b.line()
		if !ok {
			break
		}
		size += len(line.text)
		lines = append(lines, line)
	}
	return lines
}

// line reads the next line; false at the end of the book.
func (b *bookReader) line() (bookLine, bool) {
	var line bookLine
	var long hash.Hash
	for {
		part, err := b.r.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		switch {
		case long != nil:
			long.Write(part)
		case len(line.text)+len(part) > MaxLine:
			long = sha256.New()
			long.Write([]byte{0}) // a leaf of the tree, see LeafHash
			long.Write(line.text)
			long.Write(part)
			line = bookLine{tooLong: true}
		default:
			line.text = append(line.text, part...)
		}
		if !whole && errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long != nil {
			line.leaf = Hash(long.Sum(nil))
		}
		if !whole {
			b.err = err
			return line, b.ended() && (line.tooLong || len(line.text) > 0)
		}
		return line, true
	}
}

// foreknowledge is what workers go by to check signatures before the book is held
// together: which keys the records read so far name. A wrong guess costs time and
// nothing else, since the check in order looks at which keys were used.
type foreknowledge struct {
	slips     map[string]*Slip
	passes    map[string]*Pass
	vouchings map[string]*Vouching
}

func newForeknowledge() *foreknowledge {
	return &foreknowledge{make(map[string]*Slip), make(map[string]*Pass), make(map[string]*Vouching)}
}

// job is one record's signatures to check.
type job struct {
	r      *record
	keys   KeySet
	issuer *Issuer
}

func (j job) run(v *verifier) {
	m := &verification{keys: j.keys, issuer: j.issuer}
	if j.issuer != nil {
		m.outcome = v.passkey(j.r.env, j.issuer)
	} else {
		m.outcome = v.keySet(j.r.env, j.keys)
	}
	j.r.made = m
}

// jobs learns from a line, and appends the jobs it gives.
func (f *foreknowledge) jobs(p *parsed, jobs []job) []job {
	if p.fault != nil || p.main.fault != nil {
		return jobs
	}
	agent := func(slip, pass string) KeySet {
		if q := f.passes[pass]; q != nil {
			return q.To.Keys
		}
		if s := f.slips[slip]; s != nil && pass == "" {
			return s.Agent.Keys
		}
		return nil
	}
	add := func(r *record, keys KeySet, issuer *Issuer) {
		if r != nil && r.fault == nil && (keys != nil || issuer != nil) {
			jobs = append(jobs, job{r, keys, issuer})
		}
	}
	switch r := p.main.content.(type) {
	case *Slip:
		if f.slips[p.main.fingerprint] == nil {
			f.slips[p.main.fingerprint] = r
		}
		add(p.main, nil, &r.Issuer)
	case *Stub:
		add(p.main, agent(r.Slip, r.Pass), nil)
		if s := f.slips[r.Slip]; s != nil {
			add(p.approval, nil, &s.Issuer)
			if w, ok := s.Service(r.With); ok {
				add(p.countersignature, w.Keys, nil)
			}
		}
	case *Cancellation:
		if s := f.slips[r.Slip]; s != nil {
			add(p.main, nil, &s.Issuer)
		}
	case *Acknowledgement:
		add(p.main, agent(r.Slip, r.Pass), nil)
	case *Refusal:
		add(p.main, r.By.Keys, nil)
	case *Terms:
		add(p.main, r.By.Keys, nil)
	case *Pass:
		if f.passes[p.main.fingerprint] == nil {
			f.passes[p.main.fingerprint] = r
		}
		add(p.main, agent(r.Slip, r.From), nil)
	case *Vouching:
		f.vouchings[p.main.fingerprint] = r
		add(p.main, r.By.Keys, nil)
	case *Withdrawal:
		if v := f.vouchings[r.Vouching]; v != nil {
			add(p.main, v.By.Keys, nil)
		}
	case *Seal:
		add(p.main, r.By.Keys, nil)
	}
	return jobs
}
