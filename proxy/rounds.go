package proxy

import "sync"

// maxRounds is how many results that ask for input may be waiting for it. The
// oldest gives way: its call then has to be made from the start.
const maxRounds = 1024

// rounds remembers the requestState of results that ask for input, so that each
// is taken back once, for the same tool and arguments.
type rounds struct {
	mu    sync.Mutex // guards what follows
	open  map[string]round
	order []string // keys of open, oldest first; some may be gone
}

// round is what a state was given for.
type round struct{ tool, arguments string }

func (r *rounds) give(state, tool, arguments string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[string]round{}
	}
	for len(r.order) >= maxRounds {
		delete(r.open, r.order[0])
		r.order = r.order[1:]
	}
	key := fingerprint([]byte(state)) // the server chooses its size
	r.open[key] = round{tool, arguments}
	r.order = append(r.order, key)
}

func (r *rounds) take(state, tool, arguments string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fingerprint([]byte(state))
	if was, ok := r.open[key]; !ok || was != (round{tool, arguments}) {
		return false
	}
	delete(r.open, key)
	return true
}
