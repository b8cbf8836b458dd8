package receipts

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"countersign/internal/ijson"
)

// parsed is one line of a book, read but held against nothing yet. Reading it
// depends on the line alone, so lines are read on all cores.
type parsed struct {
	leaf             Hash
	fault            error // the line is of no known kind, or no record
	kind             Kind
	main             *record
	countersignature *record
	approval         *record
	stamps           int   // how many stand beside the record
	stampFault       error // their list is not of its shape
}

// record is one record of a line.
type record struct {
	env         *Envelope
	fingerprint string
	content     any               // *Slip and so on, nil where fault
	fault       error             // the record is not of its shape
	request     []byte            // of a stub and an approval: what the two must agree on
	sum         [sha256.Size]byte // of an approval: of the record's bytes

	// made holds what a worker found beforehand, under which keys.
	made *verification
}

// verification is what checking a record's signatures gave, and what they were
// checked against: it holds good for exactly that.
type verification struct {
	keys   KeySet
	issuer *Issuer
	outcome
}

// lineParser reads lines one after the other and reuses its memory.
type lineParser struct {
	outer, inner ijson.Doc
}

// read takes a line without its line feed apart. The result keeps parts of line.
func (r *lineParser) read(line []byte) *parsed {
	p := &parsed{leaf: LeafHash(line), kind: KindUnreadable}
	if len(line) > MaxLine {
		p.fault = problem(CodeTooLarge, "the line is longer than %d bytes", MaxLine)
		return p
	}
	v, err := parseLine(&r.outer, line)
	if err != nil {
		p.fault = err
		return p
	}
	p.kind = kindOfLine(v)
	if p.kind == KindUnreadable {
		p.fault = problem(CodeUnknownEntry, "the line is of no known kind")
		return p
	}
	for name, val := range v.Members() {
		switch {
		case name.Is("stamps"):
			p.stamps, p.stampFault = readStamps(val)
		case name.Is(string(KindCountersignature)):
			p.countersignature = r.record(KindCountersignature, val)
		case name.Is(string(KindApproval)):
			p.approval = r.record(KindApproval, val)
		default:
			p.main = r.record(p.kind, val)
		}
	}
	return p
}

// kindOfLine goes by the names of a line's members alone (section 4.1).
func kindOfLine(v ijson.Value) Kind {
	if v.Kind() != ijson.Object {
		return KindUnreadable
	}
	names := make([]string, 0, 3)
	for name := range v.Members() {
		if len(names) == cap(names) {
			return KindUnreadable
		}
		names = append(names, name.Text())
	}
	with := func(main Kind, optional ...string) Kind {
		for _, n := range names {
			if n != string(main) && !slices.Contains(optional, n) {
				return KindUnreadable
			}
		}
		return main
	}
	for _, main := range []Kind{KindStub, KindSlip, KindRefusal, KindTerms, KindPass, KindVouching,
		KindWithdrawal, KindAcknowledgement, KindSeal, KindCancellation} {
		if !slices.Contains(names, string(main)) {
			continue
		}
		switch main {
		case KindStub:
			return with(main, string(KindCountersignature), string(KindApproval))
		case KindSeal, KindCancellation:
			return with(main, "stamps")
		}
		return with(main)
	}
	return KindUnreadable
}

// readStamps sees to the list alone: 1 to 4, distinct. What a stamp says is not
// checked here.
func readStamps(v ijson.Value) (int, error) {
	bad := problem(CodeBadField, "stamps: must be a list of 1 to 4, each a text or an object, none twice")
	if v.Kind() != ijson.Array || v.Len() < 1 || v.Len() > 4 {
		return 0, bad
	}
	var seen [][]byte
	for e := range v.Elements() {
		if k := e.Kind(); k != ijson.String && k != ijson.Object {
			return 0, bad
		}
		for _, s := range seen {
			if bytes.Equal(s, e.Raw()) {
				return 0, bad
			}
		}
		seen = append(seen, e.Raw())
	}
	return v.Len(), nil
}

// record reads one record of this kind, content and all.
func (r *lineParser) record(kind Kind, v ijson.Value) *record {
	rec := new(record)
	rec.env, rec.fault = readEnvelope(kind, v, &r.inner)
	if rec.fault != nil {
		return rec
	}
	rec.fingerprint = rec.env.Fingerprint()
	content := rec.env.content
	rec.env.content = ijson.Value{} // r.inner is read into again
	if kind == KindApproval {
		rec.sum = sha256.Sum256(v.Raw())
	}
	if kind == KindApproval || kind == KindStub {
		if rec.request, rec.fault = appendRequest(nil, content); rec.fault != nil {
			return rec
		}
	}
	// A typed nil in an interface is not nil: content is set only where it was read.
	set := func(c any, err error) {
		if rec.fault = err; err == nil {
			rec.content = c
		}
	}
	switch kind {
	case KindSlip:
		set(readSlip(content))
	case KindStub:
		set(readStub(content))
	case KindCountersignature:
		set(readCountersignature(content))
	case KindApproval:
		set(readApproval(content))
	case KindCancellation:
		set(readCancellation(content))
	case KindAcknowledgement:
		set(readAcknowledgement(content))
	case KindRefusal:
		set(readRefusal(content))
	case KindTerms:
		set(readTerms(content))
	case KindPass:
		set(readPass(content))
	case KindVouching:
		set(readVouching(content))
	case KindWithdrawal:
		set(readWithdrawal(content))
	case KindSeal:
		set(readSeal(content))
	case KindDenial:
		set(readDenial(content))
	default:
		rec.fault = problem(CodeUnknownType, "no record of kind %s is known", kind)
	}
	return rec
}

// AppendLine appends a line of a book, without its line feed, of one record alone.
func AppendLine(dst []byte, kind Kind, record []byte) []byte {
	dst = append(append(append(dst, `{"`...), kind...), `":`...)
	return append(append(dst, record...), '}')
}

// AppendStubLine appends a stub's line, without its line feed. countersignature
// and approval are nil where there is none.
func AppendStubLine(dst []byte, stub, countersignature, approval []byte) []byte {
	dst = append(dst, '{')
	if approval != nil {
		dst = append(append(append(dst, `"approval":`...), approval...), ',')
	}
	if countersignature != nil {
		dst = append(append(append(dst, `"countersignature":`...), countersignature...), ',')
	}
	return append(append(append(dst, `"stub":`...), stub...), '}')
}
