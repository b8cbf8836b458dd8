package rules

import "countersign/internal/glob"

// Bounds of a rules file (content rules, sections 1 and 2). Each keeps what is
// read at load, and what a call can be held against, small enough to work out
// ahead.
const (
	MaxBytes      = 1 << 20 // a file
	MaxRules      = 4096    // rules of a file
	MaxDepth      = 32      // levels of lists and objects in a file
	MaxName       = 64      // code points of a name, a rule's id or a list's name
	MaxAbout      = 1000    // code points of an about
	MaxSay        = 300     // code points of a say
	MaxTools      = 256     // tools entries of a rule
	MaxParts      = 64      // conditions of an all or an any
	MaxEntries    = 10_000  // entries of a list, named or standing in place
	MaxJSONNested = 3       // json tests, one inside the other
)

// Version is the value of a rules file's format member.
const Version = "content-rules/v1"

// Source is one rules file as it was found: where, and its bytes.
type Source struct {
	Path string // as problems name it
	Data []byte
}

// Set is the rules files that are judged, pinned and swapped as one (content
// rules, section 1), in the order they were given.
type Set struct {
	Files []*File
}

// Limits gives the bounds of a call that are looked at before any rule: of
// several files the smallest hold (content rules, section 6). A set of no files
// has the defaults.
func (s *Set) Limits() (argumentBytes, depth int) {
	d := DefaultLimits()
	argumentBytes, depth = d.ArgumentBytes, d.Depth
	for i, f := range s.Files {
		if i == 0 {
			argumentBytes, depth = f.Limits.ArgumentBytes, f.Limits.Depth
			continue
		}
		argumentBytes = min(argumentBytes, f.Limits.ArgumentBytes)
		depth = min(depth, f.Limits.Depth)
	}
	return argumentBytes, depth
}

// File is one rules file that was read and found sound. It is never changed
// afterwards, so any number of goroutines may use it.
type File struct {
	Path   string // as given to Read
	Name   string
	About  string
	Lists  map[string]*List
	Limits Limits
	Rules  []*Rule // in the order of the file

	// Fingerprint is the SHA-256 of the file's canonical form in base64url, 43
	// characters (content rules, section 8).
	Fingerprint string
	// Warnings are what the author should look at (content rules, section 11),
	// sorted by place; those that a rule's ok silences are in Silenced.
	Warnings Problems
	Silenced Problems

	Source []byte // the bytes that were read; offsets are into it

	nameAt int // byte offset of the name
}

// List is a named list of a file. Its values are texts and numbers.
type List struct {
	Name    string
	Values  []Scalar
	Pointer string // of the list in the file
	Offset  int    // byte offset of the list's first byte
}

// Limits bound what judging a call may cost (content rules, section 6).
type Limits struct {
	ArgumentBytes int // bytes of a call's arguments
	Depth         int // levels of lists and objects in them
	Values        int // values selected in one call
	Steps         int // tests in one call
	CELText       int // bytes of a text an expression touches
	CELItems      int // items of a list or map an expression touches
	CEL           int // cost units of one expression
}

// DefaultLimits are those of a file that names none.
func DefaultLimits() Limits {
	return Limits{
		ArgumentBytes: 1 << 20,
		Depth:         64,
		Values:        100_000,
		Steps:         1_000_000,
		CELText:       4 << 10,
		CELItems:      256,
		CEL:           1_000_000,
	}
}

// MaxLimits are the most a file may ask for.
func MaxLimits() Limits {
	return Limits{
		ArgumentBytes: 16 << 20,
		Depth:         64,
		Values:        10_000_000,
		Steps:         100_000_000,
		CELText:       64 << 10,
		CELItems:      4096,
		CEL:           10_000_000,
	}
}

// Rule is one rule. Exactly one of Refuse and Require is set.
type Rule struct {
	ID      string
	About   string
	Tools   []ToolName
	When    *Condition // nil: the rule applies to every call of its tools
	Refuse  *Condition
	Require *Condition
	Say     string
	Watch   bool     // mode "watch": refuses nothing
	OK      []string // warning codes silenced here

	Pointer string // of the rule in the file: /rules/3
	Offset  int    // byte offset of the rule's first byte

	idAt, toolsAt int // byte offsets of the two members
}

// Condition is the rule's own condition, whichever of the two it is.
func (r *Rule) Condition() *Condition {
	if r.Refuse != nil {
		return r.Refuse
	}
	return r.Require
}

// ToolName is one entry of a rule's tools.
type ToolName struct {
	Text string     // as written
	glob *glob.Glob // nil where Text holds no glob sign
	// Of a glob: the literal text that all it stands for begins with, and whether
	// it stands for all that begins so.
	begin string
	all   bool
}

// methods are the requests that rules may name beside tools (content rules,
// section 1): their params are judged as arguments.
var methods = [...]string{"resources/read", "prompts/get", "completion/complete"}

// IsMethod says whether a tools entry or a call's tool is the name of a request
// other than tools/call.
func IsMethod(name string) bool {
	for _, m := range methods {
		if name == m {
			return true
		}
	}
	return false
}

// Exact says whether the entry holds no glob sign, so that Text is the one name
// it stands for.
func (t ToolName) Exact() bool { return t.glob == nil }

// Matches says whether the entry stands for this tool. Only an exact entry
// stands for a request that is no tools/call.
func (t ToolName) Matches(tool string) bool {
	if t.glob == nil {
		return t.Text == tool
	}
	if IsMethod(tool) {
		return false
	}
	return t.glob.Match(tool)
}

// Names says whether the rule is for this tool.
func (r *Rule) Names(tool string) bool {
	for _, t := range r.Tools {
		if t.Matches(tool) {
			return true
		}
	}
	return false
}
