// Package settings reads the guard's one settings file: strict JSON, every
// member with its form, default and bound, every problem in one run. It reads no
// other file but a credential that is asked for, writes nothing and starts
// nothing; what the members mean is the business of the rooms that are given them.
package settings

import (
	"fmt"
	"strings"
	"time"

	"countersign/internal/ijson"
)

// Mode is how much the guard does with a call.
type Mode string

const (
	Enforce    Mode = "enforce" // everything: rules, slip, receipts
	RulesOnly  Mode = "rules"   // rules, schemas and pins; no slip, nothing written
	RecordOnly Mode = "record"  // rules, and every call into the ledger; no slip
)

// Defaults and bounds of the numbers.
const (
	DefaultTimeout = 60 * time.Second
	MaxTimeout     = time.Hour // a call that takes longer holds its chain for too long

	DefaultMaxWaiting = 64
	MaxMaxWaiting     = 10_000 // waiting calls are held in memory

	DefaultDenialsPerHour = 60
	MaxDenialsPerHour     = 3600 // one a second

	DefaultApprovalWait = 300 * time.Second
	MaxApprovalWait     = time.Hour

	DefaultBodyLimit = 10 << 20 // bytes
	MinBodyLimit     = 1 << 10  // no initialize fits in less
	MaxBodyLimit     = 64 << 20 // a body is held whole, one for each agent that sends

	MaxScale = 9 // powers of ten between an amount and its unit
)

// Defaults of the paths, from the settings file's folder.
const (
	DefaultLedgerKey  = "keys/ledger.key"
	DefaultLedgerOf   = "ledgers/%s.jsonl" // %s: the agent's name
	DefaultAgentName  = "agent"            // of agent, which has no name of its own
	DefaultEndpoint   = "/mcp"
	DefaultHost       = "127.0.0.1"
	DefaultPort       = 8796
	DefaultSignListen = "127.0.0.1:8797"
	DefaultSignOrigin = "http://localhost:8797"
)

// Settings is one settings file, read whole. Every path in it is joined to the
// settings file's folder. It is never changed after it was read.
type Settings struct {
	File        string // the settings file, as it was named
	Dir         string // the folder that relative paths were joined to
	Fingerprint string // SHA-256 of the file's canonical form (RFC 8785), base64url

	Name    string // the guard's name in the slip's with, 1 to 200 code points
	Service string // the guard's own service id, the with of every stub
	Mode    Mode

	Server   *Server    // a stdio upstream; exactly one of the three is set
	Upstream *Upstream  // an HTTP upstream
	Servers  []Upstream // several, each with an ID; in the file's order

	Tools        Tools
	Unlisted     string // the action of a tool with no entry; "" refuses it
	HideUnlisted bool

	ContentRules      []string // paths of the rules files, at most MaxRulesFiles
	PinRules          bool
	ValidateArguments bool
	PinTools          string // path of the pin file, "" none

	PassThrough    []string // methods let through besides tools/* and the lifecycle
	PassAll        bool     // every method
	Timeout        time.Duration
	MaxWaiting     int
	DenialsPerHour int
	CallIDInMeta   bool
	Tell           string // "say", "rule" or "test"
	Record         Record
	ApprovalWait   time.Duration
	DetailNames    string // "provared" or "countersign"
	BodyLimit      int    // bytes of a POST body, and of a line from the agent

	Agent    *Agent  // over stdio
	Agents   []Agent // over HTTP, in the file's order
	Executor Executor
	Unsigned bool

	Signing   Signing
	SealEvery *Sealing
	Store     *Postgres // nil: files

	Listen         Listen
	Endpoint       string // the path of the HTTP endpoint
	AllowedOrigins []string
	AllowedHosts   []string
	Metrics        string // the listen address of /metrics, "" none

	Warnings Problems // what is allowed and yet worth a look

	src []byte
	doc *ijson.Doc // nil where the file is no JSON
}

// Fault is a problem of what a member names, such as a file that is not there,
// at the member's place. A pointer to a member that is absent stands for the
// nearest object around it.
func (s *Settings) Fault(pointer, format string, args ...any) Problem {
	p := Problem{File: s.File, Line: 1, Column: 1, Pointer: pointer, Msg: fmt.Sprintf(format, args...)}
	if s.doc == nil {
		return p
	}
	for at := pointer; ; at = at[:strings.LastIndexByte(at, '/')] {
		if v, err := s.doc.Root().Pointer(at); err == nil && v.Exists() {
			p.Offset = v.Start()
			p.Line, p.Column = ijson.Position(s.src, p.Offset)
			return p
		}
		if at == "" {
			return p
		}
	}
}

// Server is a program that is started as an upstream and spoken to over stdio.
type Server struct {
	Command string // a name for the PATH, or a path
	Args    []string
	Dir     string // its working folder
	Env     []EnvVar
}

// EnvVar is one variable of a server's environment: a text that stands in the
// settings, or a credential in a file.
type EnvVar struct {
	Name  string
	Value string
	File  string // path of the credential; "" for a Value
}

// Upstream is a server of either form: one that is started, or one that is
// called over HTTP.
type Upstream struct {
	ID            string // its prefix where there are several, else ""
	Server        *Server
	URL           string
	Credential    string // path of the bearer token's file, "" none
	Source        string // the release resolver, "" none
	SourceOptions map[string]string
}

// Record says what the ledger keeps of results and refused calls, and what is
// redacted.
type Record struct {
	Results string // "fingerprint" or "whole"
	Refused string // "digests" or "whole"
	Redact  []Redaction
}

// Redaction names the arguments of a tool that the ledger keeps as digests.
type Redaction struct {
	Tool     string // a name or a glob
	Pointers []string
}

// Agent is one agent's permission and records.
type Agent struct {
	Name       string
	Slip       string
	Book       string
	Keys       string
	Ledger     string
	LedgerKey  *KeySource // its own, where the file names one; else the executor's
	IssuerKeys []string   // thumbprints of the passkeys whose slips are taken
	SecretHash string
}

// Executor is the guard's own keys.
type Executor struct {
	Keys      string
	LedgerKey KeySource
}

// KeySource is where a key is read from: a file or an environment variable.
type KeySource struct {
	File string
	Env  string
}

// Signing is the origin of the person's pages.
type Signing struct {
	Listen string
	Origin string
	TLS    *TLS
}

// Sealing says how often and with which keys the book is sealed.
type Sealing struct {
	Every time.Duration
	Keys  string
	TSA   string // URL of a time-stamp service, "" none
}

// Postgres is the database that holds the records in place of files.
type Postgres struct {
	URL KeySource
}

// Listen is where the HTTP front listens.
type Listen struct {
	Host string
	Port int
	TLS  *TLS
}

// TLS is a certificate and its key, as paths of PEM files.
type TLS struct {
	Cert string
	Key  string
}

// LedgerKeyOf is where the key of the agent's ledger is read from.
func (s *Settings) LedgerKeyOf(a *Agent) KeySource {
	if a.LedgerKey != nil {
		return *a.LedgerKey
	}
	return s.Executor.LedgerKey
}
