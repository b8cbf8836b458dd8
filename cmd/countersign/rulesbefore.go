package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"countersign/internal/plainfile"
	"countersign/receipts"
)

// Bounds of the look back into a ledger.
const (
	// lookBack is how many lines that name rules are looked at. The last one
	// nearly always tells; a call that was judged before a reload may have its
	// line behind the reload's, and several files have a line each.
	lookBack = 64

	// lookBackBytes is how much of a ledger's end is read, several of its longest
	// lines.
	lookBackBytes = 64 << 20

	lookBackPiece = 64 << 10 // bytes of the first read; each next one is twice as long
)

// noticeReloaded is the notice of a rules file whose new version came into force;
// its digest is the file's fingerprint.
const noticeReloaded = "rules-reloaded"

// detailRules names the fingerprint of a rules file in receipts and denials.
const detailRules = "countersign.content-rules"

// rulesBefore gives fingerprints of rules files that were in force lately, by the
// last lines of a ledger that name any. A ledger that is not there has none. The
// lines are not verified here: a start does that.
func rulesBefore(path string) ([]string, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var found []string
	lines, opened := 0, false
	for line, err := range backwards(f, info.Size()) {
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		named, open := rulesNamed(line)
		if len(named) == 0 && !open {
			continue
		}
		found = append(found, named...)
		opened = opened || open
		if lines++; lines >= lookBack || opened && lines > 1 {
			// Behind an open line the rules of an earlier run begin, which are
			// none later.
			break
		}
	}
	if lines == 0 && info.Size() > lookBackBytes {
		return nil, fmt.Errorf("%s: none of its last %d bytes name rules, which a ledger's lines do", path, lookBackBytes)
	}
	return found, nil
}

// rulesNamed gives the fingerprints of rules that a ledger line names, and whether
// it is an open line.
func rulesNamed(raw []byte) (fingerprints []string, open bool) {
	line, err := receipts.ReadLine(raw)
	if err != nil {
		return nil, false
	}
	of := func(files []receipts.RulesFile) {
		for _, f := range files {
			fingerprints = append(fingerprints, f.SHA256)
		}
	}
	in := func(details []receipts.Detail) {
		for _, d := range details {
			if d.Name == detailRules {
				fingerprints = append(fingerprints, d.SHA256)
			}
		}
	}
	switch b := line.Body.(type) {
	case *receipts.OpenLine:
		of(b.Rules)
		return fingerprints, true
	case *receipts.CallLine:
		of(b.Rules)
	case *receipts.RefusedLine:
		in(b.Details)
		if d, err := receipts.ReadDenial(b.Denial); b.Denial != nil && err == nil {
			in(d.Details)
		}
	case *receipts.NoticeLine:
		if b.What == noticeReloaded && b.SHA256 != "" {
			fingerprints = append(fingerprints, b.SHA256)
		}
	}
	return fingerprints, false
}

// backwards gives the whole lines at the end of a file, the last first. Zeros at
// its end are room set aside; a last line without an end is left out.
func backwards(f io.ReaderAt, size int64) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		var tail []byte // of the line whose beginning is not read yet, with what stood behind it cut off
		whole := false  // tail ends where a line ends
		low := max(size-lookBackBytes, 0)
		for end, length := size, int64(lookBackPiece); end > low; length *= 2 {
			from := max(end-length, low)
			piece := make([]byte, end-from, int(end-from)+len(tail))
			if _, err := f.ReadAt(piece, from); err != nil && err != io.EOF {
				yield(nil, err)
				return
			}
			end = from
			if !whole && len(tail) == 0 {
				piece = bytes.TrimRight(piece, "\x00")
			}
			piece = append(piece, tail...)
			for {
				i := bytes.LastIndexByte(piece, '\n')
				if i < 0 {
					break
				}
				if line := piece[i+1:]; whole && len(line) > 0 && !yield(line, nil) {
					return
				}
				piece, whole = piece[:i], true
			}
			tail = piece
		}
		if whole && low == 0 && len(tail) > 0 {
			yield(tail, nil)
		}
	}
}
