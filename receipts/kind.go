package receipts

// Kind is a kind of record.
type Kind string

// The twelve kinds of the format, and this project's own denial.
const (
	KindSlip             Kind = "slip"
	KindStub             Kind = "stub"
	KindCountersignature Kind = "countersignature"
	KindApproval         Kind = "approval"
	KindRefusal          Kind = "refusal"
	KindTerms            Kind = "terms"
	KindSeal             Kind = "seal"
	KindCancellation     Kind = "cancellation"
	KindAcknowledgement  Kind = "acknowledgement"
	KindVouching         Kind = "vouching"
	KindWithdrawal       Kind = "withdrawal"
	KindPass             Kind = "pass"
	KindDenial           Kind = "denial" // ours, not of the published format
)

// Type is the text a record of this kind carries as its content's type member.
func (k Kind) Type() string {
	if k == KindDenial {
		return "countersign.denial.v0"
	}
	return "provared." + string(k) + ".v0"
}

// passkey says whether records of this kind are signed with a passkey.
func (k Kind) passkey() bool {
	return k == KindSlip || k == KindApproval || k == KindCancellation
}

// layout is the methods that sign a record of this kind, in their order.
func (k Kind) layout() []Method {
	switch {
	case k.passkey():
		return []Method{methodPasskey}
	case k == KindSeal:
		return []Method{Ed25519, MLDSA87, SLHDSA256s}
	}
	return []Method{Ed25519, MLDSA87}
}

// Method names a way of signing, as protected headers and keys spell it.
type Method string

// The methods of keys (section 1.5).
const (
	Ed25519    Method = "Ed25519"
	MLDSA87    Method = "ML-DSA-87"
	SLHDSA256s Method = "SLH-DSA-SHA2-256s"
	ES256      Method = "ES256"
	RS256      Method = "RS256"

	// methodPasskey stands in protected headers alone; the passkey's own key says
	// which of Ed25519, ES256 and RS256 it is.
	methodPasskey Method = "prova.red/webauthn/v0"
)

// label is one protected header: its exact bytes, and what they stand for.
type label struct {
	header string
	kind   Kind
	method Method
}

// labels are the 22 protected headers of section 1.2 and the pair of our denial.
// They are compared byte for byte; nothing in them is interpreted.
var labels = []label{
	{`{"typ":"vnd.provared.slip.v0+json","alg":"prova.red/webauthn/v0"}`, KindSlip, methodPasskey},
	{`{"typ":"vnd.provared.approval.v0+json","alg":"prova.red/webauthn/v0"}`, KindApproval, methodPasskey},
	{`{"typ":"vnd.provared.cancellation.v0+json","alg":"prova.red/webauthn/v0"}`, KindCancellation, methodPasskey},
	{`{"typ":"vnd.provared.stub.v0+json","alg":"Ed25519"}`, KindStub, Ed25519},
	{`{"typ":"vnd.provared.stub.v0+json","alg":"ML-DSA-87"}`, KindStub, MLDSA87},
	{`{"typ":"vnd.provared.countersignature.v0+json","alg":"Ed25519"}`, KindCountersignature, Ed25519},
	{`{"typ":"vnd.provared.countersignature.v0+json","alg":"ML-DSA-87"}`, KindCountersignature, MLDSA87},
	{`{"typ":"vnd.provared.refusal.v0+json","alg":"Ed25519"}`, KindRefusal, Ed25519},
	{`{"typ":"vnd.provared.refusal.v0+json","alg":"ML-DSA-87"}`, KindRefusal, MLDSA87},
	{`{"typ":"vnd.provared.terms.v0+json","alg":"Ed25519"}`, KindTerms, Ed25519},
	{`{"typ":"vnd.provared.terms.v0+json","alg":"ML-DSA-87"}`, KindTerms, MLDSA87},
	{`{"typ":"vnd.provared.acknowledgement.v0+json","alg":"Ed25519"}`, KindAcknowledgement, Ed25519},
	{`{"typ":"vnd.provared.acknowledgement.v0+json","alg":"ML-DSA-87"}`, KindAcknowledgement, MLDSA87},
	{`{"typ":"vnd.provared.vouching.v0+json","alg":"Ed25519"}`, KindVouching, Ed25519},
	{`{"typ":"vnd.provared.vouching.v0+json","alg":"ML-DSA-87"}`, KindVouching, MLDSA87},
	{`{"typ":"vnd.provared.withdrawal.v0+json","alg":"Ed25519"}`, KindWithdrawal, Ed25519},
	{`{"typ":"vnd.provared.withdrawal.v0+json","alg":"ML-DSA-87"}`, KindWithdrawal, MLDSA87},
	{`{"typ":"vnd.provared.pass.v0+json","alg":"Ed25519"}`, KindPass, Ed25519},
	{`{"typ":"vnd.provared.pass.v0+json","alg":"ML-DSA-87"}`, KindPass, MLDSA87},
	{`{"typ":"vnd.provared.seal.v0+json","alg":"Ed25519"}`, KindSeal, Ed25519},
	{`{"typ":"vnd.provared.seal.v0+json","alg":"ML-DSA-87"}`, KindSeal, MLDSA87},
	{`{"typ":"vnd.provared.seal.v0+json","alg":"SLH-DSA-SHA2-256s"}`, KindSeal, SLHDSA256s},

	{`{"typ":"vnd.countersign.denial.v0+json","alg":"Ed25519"}`, KindDenial, Ed25519},
	{`{"typ":"vnd.countersign.denial.v0+json","alg":"ML-DSA-87"}`, KindDenial, MLDSA87},
}

// labelOf finds the label with exactly these bytes.
func labelOf(header []byte) (label, bool) {
	for _, l := range labels {
		if string(header) == l.header {
			return l, true
		}
	}
	return label{}, false
}

// headerOf is the protected header of a kind and method.
func headerOf(kind Kind, method Method) (string, bool) {
	for _, l := range labels {
		if l.kind == kind && l.method == method {
			return l.header, true
		}
	}
	return "", false
}
