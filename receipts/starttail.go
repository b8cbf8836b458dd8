package receipts

import (
	"bytes"
	"slices"
)

// An outcome is durable before any byte of its book line is written, and a refusal
// before any of its denial's. So an end that is not whole is what a power cut left
// of a record only while the ledger holds that record and the file does not. Any
// other such end stands there because the ledger is older than the file, or
// because somebody cut it: taking it away would give a used call back.

const (
	nothingAwaited = "nothing in the ledger awaits a record there"
	othersRecord   = "it holds a record that the ledger knows nothing of"
)

// bookTailAgainst says why the end of the book cannot be cut, "" where it can.
func (f *found) bookTailAgainst() string {
	tail := f.bookTail.bytes
	if len(tail) == 0 {
		return ""
	}
	for name, known := range map[string]func(receiptRef, string) bool{
		"stub":             func(r receiptRef, fp string) bool { return r.stub == fp },
		"countersignature": func(r receiptRef, fp string) bool { return r.counter == fp },
	} {
		for _, fp := range payloadsIn(tail, name) {
			if !slices.ContainsFunc(f.receipts, func(r receiptRef) bool { return known(r, fp) }) {
				return othersRecord
			}
		}
	}
	if len(f.receipts) > f.inBook || f.tailOfSlip(tail) || f.cancellationAwaited() {
		return ""
	}
	return nothingAwaited
}

// denialsTailAgainst is bookTailAgainst of the denials.
func (f *found) denialsTailAgainst() string {
	tail := f.denialsTail.bytes
	if len(tail) == 0 {
		return ""
	}
	for _, fp := range payloadsIn(tail, string(KindDenial)) {
		if !slices.ContainsFunc(f.refused, func(r denialRef) bool { return r.denial == fp }) {
			return othersRecord
		}
	}
	if len(f.refused) > f.inDenials {
		return ""
	}
	return nothingAwaited
}

// payloadsIn gives the fingerprints of the payloads that stand whole in a torn
// end, of records with this name. What follows a payload may be missing.
func payloadsIn(tail []byte, name string) []string {
	var prints []string
	head := []byte(`"` + name + `":{"payload":"`)
	for {
		_, after, ok := bytes.Cut(tail, head)
		if !ok {
			return prints
		}
		tail = after
		text, _, ok := bytes.Cut(after, []byte(`"`))
		if !ok {
			return prints
		}
		if payload, err := decodeBase64url(text); err == nil {
			prints = append(prints, Fingerprint(payload))
		}
	}
}

// tailOfSlip says whether an end may be what is left of the line of a slip, which
// the ledger does not announce: of the slip of the settings where the book lacks
// it, in any pieces, or of another, by its beginning.
func (f *found) tailOfSlip(tail []byte) bool {
	if bytes.HasPrefix(tail, []byte(`{"slip":`)) {
		return true
	}
	e, err := ReadEnvelope(KindSlip, f.c.cfg.Slip)
	if err != nil {
		return false
	}
	if _, in := f.c.checker.Slip(e.Fingerprint()); in {
		return false
	}
	return leftOf(tail, append(AppendLine(nil, KindSlip, f.c.cfg.Slip), '\n'))
}

// leftOf says whether tail is a beginning of line in which zeros may stand for
// what did not get to the disk.
func leftOf(tail, line []byte) bool {
	if len(tail) > len(line) {
		return false
	}
	for i, b := range tail {
		if b != 0 && b != line[i] {
			return false
		}
	}
	return true
}

// cancellationAwaited says whether a cancellation was handed in that the book does
// not hold, or holds without its acknowledgement: the two are written before it is
// taken out. An acknowledgement cannot be made again as it was, so what is left of
// it is not compared; no call is to be had under the slip any more.
func (f *found) cancellationAwaited() bool {
	handed, err := f.c.logs.Inbox.Cancellations()
	if err != nil {
		return false
	}
	for _, h := range handed {
		e, err := ReadEnvelope(KindCancellation, h.Record)
		if err != nil {
			continue
		}
		content, err := ReadCancellation(e.Payload)
		if err != nil || content.When > TimeOf(f.c.cfg.Clock())+ClockSlack {
			continue
		}
		if s := f.c.cancelled[e.Fingerprint()]; s == nil || !s.acked {
			return true
		}
	}
	return false
}
