package rulestest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/engine"
	"countersign/internal/ijson"
	"countersign/internal/looks"
	"countersign/internal/plainfile"
	"countersign/internal/problem"
	"countersign/rules"
)

// Suffix ends the name of a test file.
const Suffix = ".test.json"

// maxFound bounds how many test files a folder may hold, so that naming the wrong
// folder ends.
const maxFound = 10_000

// Options say what running tests needs from outside. The zero value is ready.
type Options struct {
	Engine engine.Options
	// ReadMessage reads a whole message as the guard reads it from an agent. Nil: a
	// reader that holds the envelope of a call and its params to the same.
	ReadMessage func(line []byte) (Message, error)
}

// Message is a message as it was read.
type Message struct {
	Method         string
	Tool           string // of a tools/call
	Arguments      ijson.Value
	InputResponses ijson.Value
}

// ErrNothing says that there is no test file where one was looked for.
var ErrNothing = errors.New("no test file was found")

// Suite is one set of rules and the test files that name it.
type Suite struct {
	Paths  []string // of the rules files, joined with the folder of the tests
	Set    *rules.Set
	Tests  []*File
	Server *Server // what is known of the server; nil: nothing

	options   Options
	engine    *engine.Engine
	bytes     int // limits of arguments
	depth     int
	alike     func(string, ijson.Value) string
	order     map[string]int // rule ids to places in rules
	rules     []*rules.Rule  // of all files, in order
	ruleFiles []*rules.File  // the file of each of rules
}

// Find gives the test files that paths name, sorted, each once: a test file
// itself, the one beside a rules file, or all of a folder at any depth, in which
// links to folders are not followed. An error is ErrNothing where a path names
// none.
func Find(paths []string) ([]string, error) {
	found, _, err := find(paths)
	return found, err
}

// find is Find, and gives for test files beside rules files that were named the
// rules files.
func find(paths []string) (found []string, beside map[string]string, err error) {
	beside = map[string]string{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("looking for tests: %w", err)
		}
		before := len(found)
		switch {
		case info.IsDir():
			if found, err = findIn(path, found); err != nil {
				return nil, nil, err
			}
		case strings.HasSuffix(path, Suffix):
			found = append(found, filepath.Clean(path))
		default:
			tests := filepath.Clean(strings.TrimSuffix(path, ".json") + Suffix)
			if _, err := os.Stat(tests); err == nil {
				found, beside[tests] = append(found, tests), path
			}
		}
		if len(found) == before {
			return nil, nil, fmt.Errorf("%s: %w: expected a file or a folder with files whose names end in %s", path, ErrNothing, Suffix)
		}
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("%w: no path was given", ErrNothing)
	}
	slices.Sort(found)
	// A file that was named in two ways would be counted as two.
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(path string) bool {
		real := realPath(path)
		twice := seen[real]
		seen[real] = true
		return twice
	}), beside, nil
}

// realPath is the one path of a file, whatever names it.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

func findIn(dir string, found []string) ([]string, error) {
	root := dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		root = real // the folder that is named may be a link to it
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || !strings.HasSuffix(d.Name(), Suffix):
			return nil
		case len(found) == maxFound:
			return fmt.Errorf("%s holds more than %d test files, name a smaller folder", dir, maxFound)
		}
		found = append(found, filepath.Join(dir, strings.TrimPrefix(path, root)))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for tests: %w", err)
	}
	return found, nil
}

// Load reads the test files that paths name (see [Find]) and the rules they are
// of. Test files of the same rules make one Suite; suites are in the order of
// their first test file. With any problem there are no suites.
func Load(paths []string, o Options) ([]*Suite, problem.List, error) {
	found, beside, err := find(paths)
	if err != nil {
		return nil, nil, err
	}
	var suites []*Suite
	var problems problem.List
	bySet := map[string]*Suite{}
	for _, path := range found {
		src, err := plainfile.Read(path, MaxBytes)
		if err != nil {
			return nil, nil, fmt.Errorf("reading a test file: %w", err)
		}
		f, faults := Read(path, src)
		if f == nil {
			problems = append(problems, faults...)
			continue
		}
		if named := beside[path]; named != "" && !f.isOf(named) {
			problems = append(problems, f.ofOthers(named)...)
			continue
		}
		real := f.rulesPaths()
		for i, p := range real {
			real[i] = realPath(p)
		}
		key := strings.Join(real, "\x00")
		s := bySet[key]
		if s == nil {
			s, faults, err = newSuite(f, o)
			if err != nil {
				return nil, nil, err
			}
			problems = append(problems, faults...)
			bySet[key] = s
			suites = append(suites, s)
		}
		if err := s.add(f); err != nil {
			return nil, nil, err
		}
		problems = append(problems, s.ids(f)...)
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	for _, s := range suites {
		if err := s.compile(); err != nil {
			return nil, nil, err
		}
	}
	return suites, nil, nil
}

// isOf says whether the file tests a rules file.
func (f *File) isOf(rules string) bool {
	want := realPath(rules)
	return slices.ContainsFunc(f.rulesPaths(), func(p string) bool { return realPath(p) == want })
}

// ofOthers is the problem of tests that stand beside rules that they do not test.
func (f *File) ofOthers(rules string) problem.List {
	var r reader
	at := 0
	if doc, err := ijson.Parse(f.Source, ijson.Options{Depth: maxDepth}); err == nil {
		at = doc.Root().Member("rules").Start()
	}
	r.FaultAt(at, "/rules", "these are the tests of other rules, expected those of %s beside them", problem.Quoted(rules))
	return r.Settle(f.Path, f.Source)
}

// rulesPaths are the paths of the rules as they are found on the disk.
func (f *File) rulesPaths() []string {
	paths := make([]string, len(f.Rules))
	for i, p := range f.Rules {
		paths[i] = f.beside(p)
	}
	return paths
}

// beside is a path of the file, from its folder.
func (f *File) beside(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// newSuite reads the rules that a test file names. The Set is nil where they have
// faults.
func newSuite(f *File, o Options) (*Suite, problem.List, error) {
	s := &Suite{Paths: f.rulesPaths(), options: o}
	var sources []rules.Source
	for i, path := range s.Paths {
		src, err := plainfile.Read(path, rules.MaxBytes)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: reading the rules it names, %q: %w", f.Path, f.Rules[i], err)
		}
		sources = append(sources, rules.Source{Path: path, Data: src})
	}
	set, problems := rules.ReadSet(sources)
	s.Set = set
	return s, problems, nil
}

// NewSuite is a suite of rules already read, without tests.
func NewSuite(set *rules.Set, server *Server, o Options) (*Suite, error) {
	s := &Suite{Set: set, Server: server, options: o}
	for _, f := range set.Files {
		s.Paths = append(s.Paths, f.Path)
	}
	return s, s.compile()
}

// Add takes a test file into a suite; it must be of the suite's rules. Problems
// are ids that no rule has.
func (s *Suite) Add(f *File) (problem.List, error) {
	if err := s.add(f); err != nil {
		return nil, err
	}
	return s.ids(f), nil
}

func (s *Suite) add(f *File) error {
	s.Tests = append(s.Tests, f)
	if f.Tools == "" {
		return nil
	}
	path := f.beside(f.Tools)
	if s.Server != nil {
		if s.Server.Path != path {
			return fmt.Errorf("%s: names the tools %q, another test file of these rules names %q; expected one server for one set of rules", f.Path, path, s.Server.Path)
		}
		return nil
	}
	src, err := plainfile.Read(path, MaxServerBytes)
	if err != nil {
		return fmt.Errorf("%s: reading the tools it names: %w", f.Path, err)
	}
	s.Server, err = ReadServer(path, src)
	return err
}

// ids reports rule ids in expectations that no rule has.
func (s *Suite) ids(f *File) problem.List {
	if s.Set == nil {
		return nil
	}
	var known []string
	for _, file := range s.Set.Files {
		for _, r := range file.Rules {
			known = append(known, r.ID)
		}
	}
	has := make(map[string]bool, len(known))
	for _, id := range known {
		has[id] = true
	}
	var r reader
	unknown := func(c *Case, id, under string) {
		if has[id] {
			return
		}
		p := c.Pointer + "/expect/" + under
		at := c.Offset
		if doc, err := ijson.Parse(f.Source, ijson.Options{Depth: maxDepth}); err == nil {
			if v, err := doc.Root().Pointer(p); err == nil && v.Exists() {
				at = v.Start()
			}
		}
		guess := "expected the id of one of them"
		if near := problem.Nearest(id, known); near != "" {
			guess = fmt.Sprintf("did you mean %q?", near)
		}
		r.FaultAt(at, p, "no rule has the id %s, %s", problem.Quoted(id), guess)
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		for n, id := range c.Expect.Refused {
			under := "refused"
			if c.Expect.refusedList {
				under = fmt.Sprintf("refused/%d", n)
			}
			unknown(c, id, under)
		}
		if c.Expect.Watched != "" {
			unknown(c, c.Expect.Watched, "watched")
		}
	}
	return r.Settle(f.Path, f.Source)
}

// compile makes the suite ready to judge calls.
func (s *Suite) compile() error {
	e, err := engine.New(s.Set, s.options.Engine)
	if err != nil {
		return err
	}
	s.engine = e
	s.bytes, s.depth = e.Limits()
	s.alike = (&names{engine: e, server: s.Server, of: map[string]*looks.Names{}}).alike
	s.order = map[string]int{}
	s.rules, s.ruleFiles = nil, nil
	for _, f := range s.Set.Files {
		for _, r := range f.Rules {
			s.order[r.ID] = len(s.rules)
			s.rules = append(s.rules, r)
			s.ruleFiles = append(s.ruleFiles, f)
		}
	}
	return nil
}
