package proxy

import (
	"slices"
	"sync"
)

// maxRounds is how many results that ask for input may be waiting for it. The
// oldest gives way: its call then has to be made from the start.
const maxRounds = 1024

// rounds remembers the requestState of results that ask for input, so that each
// is taken back once, for the same tool and arguments.
type rounds struct {
	mu   sync.Mutex // guards what follows
	open []round    // oldest first; a server may give one state to several calls
}

// round is a state, as its fingerprint since the server chooses its size, and
// what it was given for.
type round struct{ state, tool, arguments string }

func (r *rounds) give(state, tool, arguments string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) >= maxRounds {
		r.open = slices.Delete(r.open, 0, 1)
	}
	r.open = append(r.open, round{fingerprint([]byte(state)), tool, arguments})
}

func (r *rounds) take(state, tool, arguments string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.open, round{fingerprint([]byte(state)), tool, arguments})
	if i < 0 {
		return false
	}
	r.open = slices.Delete(r.open, i, i+1)
	return true
}
