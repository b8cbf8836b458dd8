package settings

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"countersign/internal/ijson"
)

// server reads a program that is started as the upstream.
func (r *reader) server(p at) *Server {
	s := &Server{Dir: r.dir}
	r.object(p, r.serverFields(s)...)
	return s
}

func (r *reader) serverFields(s *Server) []field {
	return []field{
		{name: "command", needed: true, read: func(p at) { s.Command = r.command(p) }},
		{name: "args", read: func(p at) {
			r.list(p, 0, maxList, func(p at) {
				// An empty argument is one that a program may want.
				if p.v.Is("") {
					s.Args = append(s.Args, "")
				} else if a, ok := r.text(p, maxText); ok {
					s.Args = append(s.Args, a)
				}
			})
		}},
		{name: "cwd", read: func(p at) {
			if d, ok := r.path(p); ok {
				s.Dir = d
			}
		}},
		{name: "env", read: func(p at) { s.Env = r.env(p) }},
	}
}

// command reads a program: a bare name is looked for on the PATH, what has a
// slash in it is a path.
func (r *reader) command(p at) string {
	s, ok := r.text(p, maxText)
	if !ok || !strings.Contains(s, "/") {
		return s
	}
	return r.join(s)
}

func (r *reader) env(p at) []EnvVar {
	var out []EnvVar
	r.named(p, 0, maxList, func(name ijson.Value, p at) {
		e := EnvVar{Name: name.Text()}
		if !envForm.MatchString(e.Name) {
			r.fault(name.Start(), p.ptr, "expected the name of an environment variable: letters, digits and _, not beginning with a digit")
		}
		ok := r.object(p,
			field{name: "file", read: func(p at) { e.File, _ = r.path(p) }},
			field{name: "value", read: func(p at) {
				// An empty one is to most servers one that is not set. The bound is
				// what Linux lets one variable be.
				e.Value, _ = r.text(p, 32*maxText)
			}})
		if ok && p.v.Member("file").Exists() == p.v.Member("value").Exists() {
			r.wrong(p, `expected exactly one of "file", for a credential, and "value"`)
		}
		out = append(out, e)
	})
	return out
}

func (r *reader) upstream(p at, s *Settings) {
	u := new(Upstream)
	r.object(p, r.httpFields(u)...)
	s.Upstream = u
	r.notBuilt(p, "an HTTP upstream is")
}

func (r *reader) httpFields(u *Upstream) []field {
	return []field{
		{name: "url", needed: true, read: func(p at) {
			to, ok := r.httpURL(p)
			if !ok {
				return
			}
			u.URL = p.v.Text()
			if to.Scheme == "http" && !loopback(to.Hostname()) {
				r.warn(p, "plain http to another machine: whoever is on the way reads the credential and changes the answers")
			}
		}},
		{name: "credential", read: func(p at) { u.Credential = r.fileOnly(p) }},
	}
}

// servers reads several upstreams, each with the id that its tools are named by.
func (r *reader) servers(p at, s *Settings) {
	r.notBuilt(p, "several servers behind one guard are")
	r.named(p, 1, maxServers, func(name ijson.Value, p at) {
		u := Upstream{ID: name.Text()}
		if !shortForm.MatchString(u.ID) || strings.Contains(u.ID, "__") {
			r.fault(name.Start(), p.ptr, "expected a server's id: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit, without __")
		}
		extra := []field{
			{name: "source", read: func(p at) {
				u.Source, _ = r.form(p, shortForm, "the name of a release resolver")
				r.notBuilt(p, "release resolvers are")
			}},
			{name: "sourceOptions", read: func(p at) {
				u.SourceOptions = make(map[string]string)
				r.named(p, 0, maxList, func(name ijson.Value, p at) {
					u.SourceOptions[name.Text()], _ = r.text(p, maxText)
				})
			}},
		}
		switch {
		case p.v.Member("command").Exists() && p.v.Member("url").Exists():
			r.wrong(p, `expected one of "command", for a program to start, and "url"`)
		case p.v.Member("url").Exists():
			r.object(p, append(r.httpFields(&u), extra...)...)
			r.notBuilt(p, "an HTTP upstream is")
		default:
			u.Server = &Server{Dir: r.dir}
			r.object(p, append(r.serverFields(u.Server), extra...)...)
		}
		s.Servers = append(s.Servers, u)
	})
}

const thumbprint = "a passkey's thumbprint: 43 characters of base64url"

// maxIssuers bounds the passkeys of one agent: a person and a few deputies.
const maxIssuers = 64

func (r *reader) agent(p at, name string) *Agent {
	a := &Agent{Name: name}
	r.object(p, r.agentFields(a)...)
	return a
}

func (r *reader) agentFields(a *Agent) []field {
	return []field{
		{name: "slip", read: func(p at) { a.Slip, _ = r.own(p) }},
		{name: "book", read: func(p at) { a.Book, _ = r.own(p) }},
		{name: "keys", read: func(p at) { a.Keys, _ = r.own(p) }},
		{name: "issuerKeys", read: func(p at) {
			a.IssuerKeys = r.distinct(p, 1, maxIssuers, func(p at) (string, bool) {
				return r.form(p, hashForm, thumbprint)
			})
		}},
		{name: "ledger", older: "copy", read: func(p at) { a.Ledger, _ = r.own(p) }},
		{name: "ledgerKey", older: "copyKey", read: func(p at) { a.LedgerKey = r.ledgerKey(p) }},
	}
}

// agents reads the agents of the HTTP front.
func (r *reader) agents(p at, s *Settings) {
	r.notBuilt(p, "serving several agents over HTTP is")
	secrets := make(map[string]string)
	r.named(p, 1, maxAgents, func(name ijson.Value, p at) {
		a := Agent{Name: name.Text()}
		if !agentForm.MatchString(a.Name) || a.Name == "." || a.Name == ".." {
			r.fault(name.Start(), p.ptr, "expected an agent's name: 1 to 64 of a-z 0-9 . - _")
		}
		r.object(p, append(r.agentFields(&a), field{name: "secretHash", read: func(p at) {
			h, ok := r.form(p, hashForm, "the hash of an agent's secret: 43 characters of base64url")
			if !ok {
				return
			}
			if other, twice := secrets[h]; twice {
				r.wrong(p, "the secret of %s too, expected a secret of its own", other)
			}
			secrets[h], a.SecretHash = p.ptr, h
		}})...)
		s.Agents = append(s.Agents, a)
	})
}

func (r *reader) unlisted(p at) string {
	if p.v.Is("refuse") {
		return ""
	}
	if p.v.Kind() != ijson.Object {
		r.wrong(p, `%s, expected "refuse" or {"action": …}`, kindName(p.v))
		return ""
	}
	var action string
	r.object(p, field{name: "action", needed: true, read: func(p at) { action, _ = r.action(p) }})
	return action
}

func (r *reader) signing(p at, s *Signing) {
	r.object(p,
		field{name: "listen", read: func(p at) {
			if l, ok := r.address(p); ok {
				s.Listen = l
			}
		}},
		field{name: "origin", read: func(p at) {
			if o, ok := r.origin(p); ok {
				s.Origin = o
			}
		}},
		field{name: "tls", read: func(p at) { s.TLS = r.tls(p) }})
	r.notBuilt(p, "the signing pages are")
}

var hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// origin reads the origin of a web page: scheme, host, port if not the default.
func (r *reader) origin(p at) (string, bool) {
	const expected = `expected an origin such as "https://sign.example.com" or "http://localhost:8797"`
	s, ok := r.text(p, 300)
	if !ok {
		return "", false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || s != u.Scheme+"://"+u.Host ||
		u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		r.wrong(p, expected)
		return "", false
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
		r.wrong(p, expected)
		return "", false
	}
	for label := range strings.SplitSeq(u.Hostname(), ".") {
		if !hostLabel.MatchString(label) && net.ParseIP(u.Hostname()) == nil {
			r.wrong(p, expected)
			return "", false
		}
	}
	return s, true
}

func (r *reader) sealEvery(p at) *Sealing {
	if p.v.Kind() == ijson.Number {
		if _, ok := r.whole(p, 0, 0); !ok {
			r.wrong(p, `a number of seconds alone names no keys: expected {"every": …, "keys": …}, or 0 for none`)
		}
		return nil
	}
	s := new(Sealing)
	r.object(p,
		field{name: "every", needed: true, read: func(p at) {
			n, _ := r.whole(p, 1, 365*24*3600)
			s.Every = time.Duration(n) * time.Second
		}},
		field{name: "keys", needed: true, read: func(p at) { s.Keys, _ = r.own(p) }},
		field{name: "tsa", read: func(p at) {
			if _, ok := r.httpURL(p); ok {
				s.TSA = p.v.Text()
			}
		}})
	r.notBuilt(p, "sealing is")
	return s
}

func (r *reader) store(p at) *Postgres {
	pg := new(Postgres)
	r.object(p, field{name: "postgres", needed: true, read: func(p at) {
		r.object(p, field{name: "url", needed: true, read: func(p at) { pg.URL, _ = r.keySource(p) }})
	}})
	r.notBuilt(p, "a database as the store is")
	return pg
}

func (r *reader) listen(p at, l *Listen) {
	r.object(p,
		field{name: "host", read: func(p at) {
			h, ok := r.text(p, 253)
			if !ok {
				return
			}
			l.Host = h
			if !loopback(h) {
				r.warn(p, "listens on an address that other machines may reach")
			}
		}},
		field{name: "port", read: func(p at) {
			if n, ok := r.whole(p, 1, 65535); ok {
				l.Port = n
			}
		}},
		field{name: "tls", read: func(p at) { l.TLS = r.tls(p) }})
	r.notBuilt(p, "the HTTP front is")
}

var endpointForm = regexp.MustCompile(`^/[A-Za-z0-9._~/-]{0,254}$`)

func (r *reader) endpoint(p at, s *Settings) {
	if e, ok := r.form(p, endpointForm, `the path of the endpoint, such as "/mcp"`); ok {
		s.Endpoint = e
	}
	r.notBuilt(p, "the HTTP front is")
}

func (r *reader) allowedOrigins(p at, s *Settings) {
	s.AllowedOrigins = r.distinct(p, 0, maxList, r.origin)
	r.notBuilt(p, "the HTTP front is")
}

func (r *reader) allowedHosts(p at, s *Settings) {
	s.AllowedHosts = r.distinct(p, 0, maxList, func(p at) (string, bool) { return r.text(p, 300) })
	r.notBuilt(p, "the HTTP front is")
}

func (r *reader) metrics(p at, s *Settings) {
	r.object(p, field{name: "listen", needed: true, read: func(p at) { s.Metrics, _ = r.address(p) }})
	r.notBuilt(p, "metrics are")
}
