package proxy

import (
	"strconv"

	"countersign/internal/ijson"
	"countersign/receipts"
)

// errorLine is a JSON-RPC error of the guard's own, under an id as its sender
// wrote it, null without one.
func errorLine(id []byte, code int, why string) []byte {
	b := make([]byte, 0, 128+len(why))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		b = append(b, "null"...)
	}
	b = append(b, id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = ijson.AppendString(b, why)
	return append(b, "}}"...)
}

// toolError is the result of a call that failed, which a model sees; an error of
// the protocol it often does not.
func (c *Call) toolError(text string) []byte {
	b := make([]byte, 0, 160+len(text))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, c.m.ID.Raw()...)
	b = append(b, `,"result":{"content":[{"type":"text","text":`...)
	b = ijson.AppendString(b, text)
	b = append(b, `}],"isError":true`...)
	if c.modern {
		b = append(b, `,"resultType":"complete"`...)
	}
	return append(b, "}}"...)
}

// receiptKey is the member of a result's _meta that names the call's receipt.
const receiptKey = "countersign/receipt"

// withReceipt is the answer under the agent's id, with its receipt named in
// _meta. A member of that name that the server put there is taken out: only the
// guard says what the guard wrote.
func withReceipt(m *Message, id []byte, r receipts.Receipt) []byte {
	mark := []byte(`"` + receiptKey + `":{"id":`)
	mark = ijson.AppendString(mark, r.ID)
	mark = append(mark, `,"fingerprint":`...)
	mark = ijson.AppendString(mark, r.Fingerprint)
	mark = append(mark, '}')

	var edits []edit
	result := m.Result
	meta := result.Member("_meta")
	switch {
	case meta.Kind() == ijson.Object:
		var others []byte
		for name, value := range meta.Members() {
			if !name.Is(receiptKey) {
				others = append(others, ',')
				others = append(others, m.line[name.Start():value.End()]...)
			}
		}
		edits = append(edits, edit{meta.Start() + 1, meta.End() - 1, append(mark, others...)})
	case meta.Exists(): // not an object, which nobody can read a _meta from
		edits = append(edits, edit{meta.Start(), meta.End(), append(append([]byte("{"), mark...), '}')})
	default:
		mark = append(append([]byte(`"_meta":{`), mark...), '}')
		if result.Len() > 0 {
			mark = append(mark, ',')
		}
		edits = append(edits, edit{result.Start() + 1, result.Start() + 1, mark})
	}
	at := edit{m.ID.Start(), m.ID.End(), id}
	if at.from < edits[0].from {
		edits = append([]edit{at}, edits...)
	} else {
		edits = append(edits, at)
	}
	return apply(m.line, edits)
}

// edit replaces a part of a line.
type edit struct {
	from, to int
	with     []byte
}

// apply makes edits that do not overlap, given in order.
func apply(line []byte, edits []edit) []byte {
	size, at := len(line), 0
	for _, e := range edits {
		size += len(e.with) - (e.to - e.from)
	}
	b := make([]byte, 0, size)
	for _, e := range edits {
		b = append(b, line[at:e.from]...)
		b = append(b, e.with...)
		at = e.to
	}
	return append(b, line[at:]...)
}

// busy is the answer to a call that comes when too many wait.
func (p *Pipeline) busy(m *Message) []byte {
	p.log.Info("turned a call away", "err", receipts.ErrBusy)
	c := Call{m: m, modern: m.Params.Member("_meta").Member(metaVersion).Kind() == ijson.String}
	return c.toolError("busy: " + receipts.ErrBusy.Error() + "; the call was not sent")
}
