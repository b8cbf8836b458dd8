package receipts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folderInbox is the inbox of a chain in files: the state folder, where a record
// handed in is a file beside the ledger, named for it.
type folderInbox struct {
	disk   Disk
	ledger string // path

	changed time.Time // of the folder, when it was last listed
	settled bool      // nothing stood in it then, and nothing can have been added unnoticed since
}

const (
	cancellationMark = ".cancellation-"
	handedEnd        = ".json"

	// maxHanded is how many records may wait in the inbox: held cancellations
	// are bounded alike.
	maxHanded = MaxHeld

	// settling is how old a folder's last change must be before it is trusted to
	// be the last: file systems tell time in steps of some milliseconds.
	settling = time.Second
)

// Cancellations lists the folder only when it may have changed. Whatever stands
// under the name of a cancellation must be read, link or not: an error stands until
// it is gone. What waits is read again at each call, as it may be put right in place.
func (b *folderInbox) Cancellations() ([]Handed, error) {
	folder, base := filepath.Split(b.ledger)
	changed, err := b.disk.Changed(folder)
	if err != nil {
		return nil, err
	}
	if b.settled && changed.Equal(b.changed) {
		return nil, nil
	}
	b.settled = false
	names, changed, err := b.disk.List(folder)
	if err != nil {
		return nil, err
	}
	var handed []Handed
	for _, name := range names {
		if !strings.HasPrefix(name, base+cancellationMark) || !strings.HasSuffix(name, handedEnd) {
			continue
		}
		if len(handed) == maxHanded {
			return nil, errors.New("more cancellations wait beside the ledger than can be held")
		}
		path := filepath.Join(folder, name)
		record, err := b.disk.Read(path, MaxLine)
		if err != nil {
			return nil, err
		}
		if n := len(record); n > 0 && record[n-1] == '\n' {
			record = record[:n-1]
		}
		handed = append(handed, Handed{Name: path, Record: record})
	}
	b.changed, b.settled = changed, len(handed) == 0 && time.Since(changed) > settling
	return handed, nil
}

// Done removes the file.
func (b *folderInbox) Done(h Handed) error {
	b.settled = false
	return b.disk.Remove(h.Name)
}

// HandInCancellation puts a cancellation beside the ledger of a chain, where the
// guard that runs it, or the next start, takes it up. Whether it is sound is for
// the caller to check. It gives the file's path.
func HandInCancellation(ledger string, record []byte) (string, error) {
	e, err := ReadEnvelope(KindCancellation, record)
	if err != nil {
		return "", err
	}
	folder, base := filepath.Split(ledger)
	path := filepath.Join(folder, base+cancellationMark+e.Fingerprint()+handedEnd)
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return "", err
	}
	// Under its own name the file is whole or not there.
	half := path + ".new"
	if err := os.Remove(half); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := writeNew(half, append(record[:len(record):len(record)], '\n')); err != nil {
		return "", err
	}
	if err := os.Rename(half, path); err != nil {
		return "", err
	}
	return path, syncDir(filepath.Dir(path))
}
