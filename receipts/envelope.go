package receipts

import (
	"countersign/internal/ijson"
)

// MaxRecord is the most characters of a record: of its payload and of every text
// in its signature entries together (section 1.1). Writers are held to it too.
const MaxRecord = 65536

// Envelope is one signed record, read but not verified: a JWS in general JSON
// serialisation of exactly the shape of section 1.1.
type Envelope struct {
	Kind    Kind
	Payload []byte // decoded: the content in canonical form

	encoded []byte // the payload as it stands in the record
	parts   []signature
	content ijson.Value // of Payload
}

// signature is one entry of a record's signatures.
type signature struct {
	method     Method
	protected  []byte // as it stands in the record
	value      []byte // decoded
	authData   []byte // of a passkey, still in base64url
	clientData []byte // of a passkey, still in base64url
}

// Fingerprint is the record's fingerprint.
func (e *Envelope) Fingerprint() string { return Fingerprint(e.Payload) }

// input is what the entry signs: its protected header and the payload, as they
// stand in the record.
func (e *Envelope) input(s *signature) []byte {
	b := make([]byte, 0, len(s.protected)+1+len(e.encoded))
	b = append(append(b, s.protected...), '.')
	return append(b, e.encoded...)
}

// ReadEnvelope reads a record that stands alone: the canonical JSON of one
// envelope of this kind.
func ReadEnvelope(kind Kind, record []byte) (*Envelope, error) {
	var d ijson.Doc
	v, err := parseCanonical(&d, record)
	if err != nil {
		return nil, err
	}
	return readEnvelope(kind, v, new(ijson.Doc))
}

// readEnvelope reads the record at v, which must be of this kind, in the order of
// section 1.1. content keeps the payload's places.
func readEnvelope(kind Kind, v ijson.Value, content *ijson.Doc) (*Envelope, error) {
	shape := func(what string) (*Envelope, error) {
		return nil, problem(CodeBadEnvelope, "the record is not a payload with signatures of exactly the format's shape: %s", what)
	}
	m := open(v, "record", "payload signatures", "")
	payload, list := m.value("payload"), m.value("signatures")
	if m.err != nil || payload.Kind() != ijson.String || list.Kind() != ijson.Array {
		return shape("it must hold payload and signatures, and nothing else")
	}
	if recordSize(payload, list) > MaxRecord {
		return nil, problem(CodeTooLarge, "the record is longer than %d characters", MaxRecord)
	}
	e := &Envelope{Kind: kind, encoded: payload.Bytes(nil)}
	known, other := true, false
	for entry := range list.Elements() {
		em := open(entry, "signature", "protected signature", "header")
		protected, value, header := em.value("protected"), em.value("signature"), em.value("header")
		if em.err != nil || protected.Kind() != ijson.String || value.Kind() != ijson.String {
			return shape("a signature must hold protected and signature")
		}
		if kind.passkey() != header.Exists() {
			return shape("a signature holds a header in a passkey's record, and there alone")
		}
		s := signature{protected: protected.Bytes(nil)}
		if header.Exists() {
			hm := open(header, "header", "authenticatorData clientDataJSON", "")
			auth, client := hm.value("authenticatorData"), hm.value("clientDataJSON")
			if hm.err != nil || auth.Kind() != ijson.String || client.Kind() != ijson.String {
				return shape("a passkey's header must hold authenticatorData and clientDataJSON")
			}
			s.authData, s.clientData = auth.Bytes(nil), client.Bytes(nil)
		}
		text, err := decodeBase64url(s.protected)
		if err != nil {
			return nil, err
		}
		if s.value, err = decodeBase64url(value.Bytes(nil)); err != nil {
			return nil, err
		}
		l, ok := labelOf(text)
		ok = ok && (l.kind != KindDenial || kind == KindDenial) // the published format has no denial
		known = known && ok
		other = other || ok && l.kind != kind
		s.method = l.method
		e.parts = append(e.parts, s)
	}
	switch {
	case !known:
		return nil, problem(CodeUnknownType, "a protected header is not one of the format's")
	case other:
		return nil, problem(CodePayloadTypeMismatch, "a protected header is that of another kind of record than %s", kind)
	}
	layout := kind.layout()
	if len(e.parts) != len(layout) {
		return nil, problem(CodeBadSignaturesLayout, "a record of kind %s has %d signatures", kind, len(layout))
	}
	for i, s := range e.parts {
		if s.method != layout[i] {
			return nil, problem(CodeBadSignaturesLayout, "the signatures of a record of kind %s must be in the order %v", kind, layout)
		}
	}
	var err error
	if e.Payload, err = decodeBase64url(e.encoded); err != nil {
		return nil, err
	}
	if e.content, err = parseCanonical(content, e.Payload); err != nil {
		return nil, err
	}
	return e, checkType(kind, e.content)
}

// checkType: content is an object whose type is that of its kind.
func checkType(kind Kind, v ijson.Value) error {
	if v.Kind() != ijson.Object {
		return problem(CodeBadField, "%s: must be an object", kind)
	}
	t := v.Member("type")
	if !t.Exists() {
		return problem(CodeBadField, "%s: \"type\" is missing", kind)
	}
	if !t.Is(kind.Type()) {
		return problem(CodePayloadTypeMismatch, "the content's type is not that of a %s", kind)
	}
	return nil
}

// readContent is how the exported readers read content that stands alone.
func readContent(kind Kind, payload []byte) (ijson.Value, error) {
	v, err := parseCanonical(new(ijson.Doc), payload)
	if err != nil {
		return ijson.Value{}, err
	}
	return v, checkType(kind, v)
}

// recordSize is the number of characters that MaxRecord bounds. Whatever is not
// of the right shape is counted with all its JSON, so that nothing goes uncounted.
func recordSize(payload, list ijson.Value) int {
	size := len(payload.Raw()) - 2
	for entry := range list.Elements() {
		size += textSize(entry)
	}
	return size
}

func textSize(v ijson.Value) int {
	if v.Kind() == ijson.String {
		return len(v.Raw()) - 2
	}
	size := 0
	for _, m := range v.Members() {
		size += textSize(m)
	}
	for e := range v.Elements() {
		size += textSize(e)
	}
	return size
}

// appendEnvelope appends the canonical envelope of a record that is not a
// passkey's.
func appendEnvelope(dst []byte, payload []byte, protected []string, values [][]byte) []byte {
	dst = append(dst, `{"payload":"`...)
	dst = base64url.AppendEncode(dst, payload)
	dst = append(dst, `","signatures":[`...)
	for i, p := range protected {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"protected":"`...)
		dst = append(dst, p...)
		dst = append(dst, `","signature":"`...)
		dst = base64url.AppendEncode(dst, values[i])
		dst = append(dst, `"}`...)
	}
	return append(dst, `]}`...)
}
