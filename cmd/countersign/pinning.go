package main

import (
	"fmt"
	"slices"
	"strings"

	"countersign/receipts"
	"countersign/rules"
)

// Names of rules files among the software of a slip's agent (content rules,
// section 8).
const softwareName = "content-rules"

// software is an entry of a slip's agent.software.
type software struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// softwareOf gives the entries that pin a set: one file under the plain name,
// several each under its own.
func softwareOf(set *rules.Set) []software {
	out := make([]software, 0, len(set.Files))
	for _, f := range set.Files {
		name := softwareName
		if len(set.Files) > 1 {
			name += ":" + f.Name
		}
		out = append(out, software{name, f.Fingerprint})
	}
	return out
}

// unpinned says what keeps a set from being the one the person signed: a file
// that the slip does not name, and a name in the slip without its file.
func unpinned(set *rules.Set, slip *receipts.Slip) []string {
	var out []string
	loaded := make(map[string]bool)
	for i, s := range softwareOf(set) {
		loaded[s.Name] = true
		versions := 0
		pinned := slices.ContainsFunc(slip.Agent.Software, func(d receipts.Detail) bool {
			if d.Name == s.Name {
				versions++
			}
			return d.Name == s.Name && d.SHA256 == s.SHA256
		})
		switch {
		case pinned:
		case versions == 0:
			out = append(out, fmt.Sprintf("the slip does not name the rules file %s: expected %q with the fingerprint %s in its agent.software", set.Files[i].Path, s.Name, s.SHA256))
		default:
			out = append(out, fmt.Sprintf("the rules file %s has the fingerprint %s, which is not the one the person signed for %q: put the signed file back, or have a slip signed for this one", set.Files[i].Path, s.SHA256, s.Name))
		}
	}
	for _, d := range slip.Agent.Software {
		if (d.Name == softwareName || strings.HasPrefix(d.Name, softwareName+":")) && !loaded[d.Name] {
			loaded[d.Name] = true // told once, however many versions
			out = append(out, fmt.Sprintf("the slip names %q and no such rules file is loaded: expected it in the settings' contentRules", d.Name))
		}
	}
	return out
}
