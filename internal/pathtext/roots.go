package pathtext

import "strings"

// fewRoots are compared one after the other; more are looked up segment by
// segment, since a list may hold ten thousand.
const fewRoots = 4

// roots are folders, without a slash at their end.
type roots struct {
	few  []string
	tree *folder // of more than a few
}

// folder is a node of the tree of roots.
type folder struct {
	root    bool
	folders map[string]*folder
}

func newRoots(names []string) *roots {
	if len(names) <= fewRoots {
		return &roots{few: names}
	}
	r := &roots{tree: &folder{}}
	for _, name := range names {
		at := r.tree
		for segment := range strings.SplitSeq(name, "/") {
			next := at.folders[segment]
			if next == nil {
				next = &folder{}
				if at.folders == nil {
					at.folders = map[string]*folder{}
				}
				at.folders[segment] = next
			}
			at = next
		}
		at.root = true
	}
	return r
}

// hold reports whether the path is one of the roots or lies under one.
func (r *roots) hold(path string) bool {
	for _, root := range r.few {
		if under(path, root) {
			return true
		}
	}
	for at := r.tree; at != nil; {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			at = at.folders[path]
			return at != nil && at.root
		}
		if at = at.folders[path[:i]]; at != nil && at.root {
			return true
		}
		path = path[i+1:]
	}
	return false
}

// under reports whether the path is the root or lies under it, by whole segments.
func under(path, root string) bool {
	return strings.HasPrefix(path, root) && (len(path) == len(root) || path[len(root)] == '/')
}
