package rules

import (
	"regexp"

	"countersign/internal/glob"
	"countersign/internal/verdict"
)

// CheckKind is the name of a test (content rules, section 3), as it stands in
// the file.
type CheckKind string

const (
	Present     CheckKind = "present"
	OfType      CheckKind = "type"
	Is          CheckKind = "is"
	OneOf       CheckKind = "oneOf"
	Contains    CheckKind = "contains"
	StartsWith  CheckKind = "startsWith"
	EndsWith    CheckKind = "endsWith"
	Like        CheckKind = "like"
	Matches     CheckKind = "matches"
	Finds       CheckKind = "finds"
	Length      CheckKind = "length"
	Above       CheckKind = "above"
	AtLeast     CheckKind = "atLeast"
	Below       CheckKind = "below"
	AtMost      CheckKind = "atMost"
	OnlyMembers CheckKind = "onlyMembers"
	HasMembers  CheckKind = "hasMembers"
	JSON        CheckKind = "json"
	Path        CheckKind = "path"
	URL         CheckKind = "url"
	Command     CheckKind = "command"
	Email       CheckKind = "email"
)

// Type is a kind of JSON value as the test type names it.
type Type string

const (
	TypeString  Type = "string"
	TypeNumber  Type = "number"
	TypeInteger Type = "integer" // a number that is whole, however spelt
	TypeBoolean Type = "boolean"
	TypeNull    Type = "null"
	TypeObject  Type = "object"
	TypeArray   Type = "array"
)

// Check is one test and its operand, resolved and compiled: where the file says
// "@name" the values of that list stand here. Which operand fields are set
// depends on Kind and is said beside each.
type Check struct {
	Kind CheckKind
	// List is the name of the list the operand was, "" where it stood in place.
	// Of such an operand no entry is ever told to the agent.
	List string

	Present bool           // Present
	Types   []Type         // OfType; 1 or more
	Values  []Scalar       // Is (exactly one), OneOf (1 or more, none twice)
	Texts   []string       // Contains, StartsWith, EndsWith (1 or more, none empty); Like: the globs as written; Command: the programs
	Globs   *glob.Set      // Like: compiled in the order of Texts, folded where the test folds
	Judge   Judge          // Path, URL, Command, Email: of the package internal/…text of that name
	Pattern string         // Matches, Finds: as written
	Regexp  *regexp.Regexp // Matches: compiled so that only the whole string can match; Finds: as written
	Bounds  Bounds         // Length
	Number  float64        // Above, AtLeast, Below, AtMost
	Names   []string       // OnlyMembers, HasMembers; as written, not folded, none twice
	JSON    *Condition     // JSON; its pointers start at the text's root

	Pointer string // of the test in the file: /rules/0/refuse/contains
	Offset  int    // byte offset of the operand
	Written []byte // the operand as it stands in the file, where a list used with @ is its name alone

	foldSaid bool // Path: fold is given, true or false
	bare     bool // Command: without argv
	folded   bool // Like: Globs are, and take folded texts
	program  int  // Matches, Finds: about how many instructions the pattern has
}

// Judge is a compiled typed test of section 4. Why is a short reason without the
// text. A judge holds no state and may be shared by goroutines.
type Judge interface {
	Judge(text string) (r verdict.Result, why string)
}

// Bounds are those of a length, both included. Max is -1 where there is none.
type Bounds struct {
	Min, Max int64
}

// Scalar is a JSON scalar of a rules file.
type Scalar struct {
	Type   Type    // TypeString, TypeNumber, TypeBoolean or TypeNull
	Text   string  // of a string
	Number float64 // of a number; numbers are equal just where these are
	Bool   bool    // of a boolean
}
