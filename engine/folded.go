package engine

import (
	"bytes"

	"countersign/internal/casefold"
)

// maxForms bounds the folded forms that are kept of one call, in bytes: all of a
// call of the default argumentBytes, at eleven bytes for one, and of JSON in its
// texts. Past it texts are folded again.
const maxForms = 64 << 20

// formSize is about what the table of forms takes for an entry, beside its bytes.
const formSize = 100

// folded is the folded form of a text of the call: in scratch, or kept. Folding
// other letters than ASCII is far dearer than comparing them, so each text is
// folded once a call, however many rules look at it.
func (j *judging) folded(text []byte, scratch *[]byte) []byte {
	form, plain := casefold.AppendASCII((*scratch)[:0], text)
	if *scratch = form; plain {
		return form
	}
	if form, known := j.forms[string(text)]; known {
		return form
	}
	*scratch = j.folder.Append((*scratch)[:0], text)
	if size := len(text) + len(*scratch) + formSize; j.formed+size <= maxForms {
		if j.forms == nil {
			j.forms = map[string][]byte{}
		}
		j.forms[string(text)] = bytes.Clone(*scratch)
		j.formed += size
	}
	return *scratch
}
