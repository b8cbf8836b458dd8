package main

import (
	"errors"
	"fmt"
	"maps"
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

// versionsOf gives the fingerprints that a slip has for rules files: for each name
// its versions, in the order they may come into force. Files times versions are at
// most 16, as a slip has no more entries.
func versionsOf(slip *receipts.Slip) map[string][]string {
	versions := make(map[string][]string)
	for _, d := range slip.Agent.Software {
		if d.Name == softwareName || strings.HasPrefix(d.Name, softwareName+":") {
			versions[d.Name] = append(versions[d.Name], d.SHA256)
		}
	}
	return versions
}

// unpinned says what keeps a set from being one that the person signed: a file
// that the slip does not name, and a name in the slip without its file.
func unpinned(set *rules.Set, slip *receipts.Slip) []string {
	var out []string
	versions := versionsOf(slip)
	for i, s := range softwareOf(set) {
		known := versions[s.Name]
		delete(versions, s.Name)
		switch {
		case slices.Contains(known, s.SHA256):
		case len(known) == 0:
			out = append(out, fmt.Sprintf("the slip does not name the rules file %s: expected %q with the fingerprint %s in its agent.software", set.Files[i].Path, s.Name, s.SHA256))
		default:
			out = append(out, fmt.Sprintf("the rules file %s has the fingerprint %s, which is not %s for %q: put a signed file back, or have a slip signed for this one",
				set.Files[i].Path, s.SHA256, theOne(len(known)), s.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, fmt.Sprintf("the slip names %q and no such rules file is loaded: expected it in the settings' contentRules", name))
	}
	return out
}

func theOne(versions int) string {
	if versions == 1 {
		return "the one the person signed"
	}
	return fmt.Sprintf("one of the %d versions that the person signed", versions)
}

// earlier says which files of a set are versions that come, in the order of the
// slip, before one that was in force. A fingerprint that stands twice under one
// name has its first place; one that the slip does not have has none.
func earlier(set *rules.Set, slip *receipts.Slip, before []string) []string {
	versions := versionsOf(slip)
	var out []string
	for i, s := range softwareOf(set) {
		at := slices.Index(versions[s.Name], s.SHA256)
		last := -1
		for _, fingerprint := range before {
			last = max(last, slices.Index(versions[s.Name], fingerprint))
		}
		if at < last {
			out = append(out, fmt.Sprintf("the rules file %s is version %d of those that the slip names for %q, and version %d was in force already (%s): rules go only forward",
				set.Files[i].Path, at+1, s.Name, last+1, versions[s.Name][last]))
		}
	}
	return out
}

// goneBack says whether the rules are earlier ones than those in force.
func (w *world) goneBack() error {
	if !w.settings.PinRules || w.rules == nil || w.permission == nil || w.settings.Agent.Ledger == "" {
		return nil
	}
	before := w.inForce
	if before == nil {
		var err error
		if before, err = rulesBefore(w.settings.Agent.Ledger); err != nil {
			return fmt.Errorf("looking for the rules last in force: %w", err)
		}
	}
	if back := earlier(w.rules, w.permission, before); len(back) > 0 {
		return errors.New(strings.Join(back, "; "))
	}
	return nil
}
