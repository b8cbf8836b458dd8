package receipts

import (
	"errors"
	"fmt"
)

// Code names what is wrong with a record, or what a check found: the codes of
// section 7 of the format, spelt exactly.
type Code string

// The codes of section 7. Findings, which are no faults of the record, are
// named as such by [Code.Finding].
const (
	CodeAcknowledgementMismatch    Code = "acknowledgement-mismatch"
	CodeActionNotAllowed           Code = "action-not-allowed"
	CodeAfterCancellation          Code = "after-cancellation"
	CodeAmountMissing              Code = "amount-missing"
	CodeApprovalDatedAfterStub     Code = "approval-dated-after-stub"
	CodeApprovalInvalid            Code = "approval-invalid"
	CodeApprovalMismatch           Code = "approval-mismatch"
	CodeApprovalMissing            Code = "approval-missing"
	CodeApprovalNotFound           Code = "approval-not-found"
	CodeApprovalReused             Code = "approval-reused"
	CodeBadBase64url               Code = "bad-base64url"
	CodeBadEnvelope                Code = "bad-envelope"
	CodeBadField                   Code = "bad-field"
	CodeBadKey                     Code = "bad-key"
	CodeBadSignaturesLayout        Code = "bad-signatures-layout"
	CodeCancellationInvalid        Code = "cancellation-invalid"
	CodeCancellationNotFound       Code = "cancellation-not-found"
	CodeChainBroken                Code = "chain-broken"
	CodeCheckFailed                Code = "check-failed"
	CodeCountersignatureInvalid    Code = "countersignature-invalid"
	CodeCountersignatureMissing    Code = "countersignature-missing"
	CodeCountersignatureImpossible Code = "countersignature-not-possible"
	CodeCountersignatureWrongStub  Code = "countersignature-wrong-stub"
	CodeCoverInvalid               Code = "cover-invalid"
	CodeDatedAfterStamp            Code = "dated-after-stamp"
	CodeDuplicateID                Code = "duplicate-id"
	CodeDuplicateSlip              Code = "duplicate-slip"
	CodeHeadersInvalid             Code = "headers-invalid"
	CodeIssuerNotExpected          Code = "issuer-not-expected"
	CodeLineNotCanonical           Code = "line-not-canonical"
	CodeNotJSON                    Code = "not-json"
	CodeOutsideTerms               Code = "outside-terms"
	CodeOutsideValidTime           Code = "outside-valid-time"
	CodeOverCountLimit             Code = "over-count-limit"
	CodeOverEachLimit              Code = "over-each-limit"
	CodeOverLimit                  Code = "over-limit"
	CodeOverPeriodLimit            Code = "over-period-limit"
	CodePartyNotAllowed            Code = "party-not-allowed"
	CodePassMismatch               Code = "pass-mismatch"
	CodePassMissing                Code = "pass-missing"
	CodePassNotAllowed             Code = "pass-not-allowed"
	CodePassTooDeep                Code = "pass-too-deep"
	CodePassWider                  Code = "pass-wider"
	CodePasskeyBadData             Code = "passkey-bad-data"
	CodePasskeyChallengeMismatch   Code = "passkey-challenge-mismatch"
	CodePasskeyOriginMismatch      Code = "passkey-origin-mismatch"
	CodePasskeyRPIDMismatch        Code = "passkey-rpid-mismatch"
	CodePasskeyUserNotPresent      Code = "passkey-user-not-present"
	CodePasskeyUserNotVerified     Code = "passkey-user-not-verified"
	CodePasskeyWrongType           Code = "passkey-wrong-type"
	CodePayloadNotCanonical        Code = "payload-not-canonical"
	CodePayloadTypeMismatch        Code = "payload-type-mismatch"
	CodeProhibited                 Code = "prohibited"
	CodeProofInvalid               Code = "proof-invalid"
	CodeRecordNotSound             Code = "record-not-sound"
	CodeRootMismatch               Code = "root-mismatch"
	CodeSealChainBroken            Code = "seal-chain-broken"
	CodeSealMismatch               Code = "seal-mismatch"
	CodeSealerNotExpected          Code = "sealer-not-expected"
	CodeSignatureInvalid           Code = "signature-invalid"
	CodeSlipMissing                Code = "slip-missing"
	CodeSlipUnusable               Code = "slip-unusable"
	CodeStampBadData               Code = "stamp-bad-data"
	CodeStampInvalid               Code = "stamp-invalid"
	CodeStampWrongData             Code = "stamp-wrong-data"
	CodeTermsMismatch              Code = "terms-mismatch"
	CodeTermsNotFound              Code = "terms-not-found"
	CodeTermsUnusable              Code = "terms-unusable"
	CodeTimeWentBackwards          Code = "time-went-backwards"
	CodeTooLarge                   Code = "too-large"
	CodeUnknownEntry               Code = "unknown-entry"
	CodeUnknownType                Code = "unknown-type"
	CodeVouchingMissing            Code = "vouching-missing"
)

// Finding says whether the code is a finding (section 3.4): what the agent did,
// held against its slip, and not a fault of the record.
func (c Code) Finding() bool {
	switch c {
	case CodeActionNotAllowed, CodeAfterCancellation, CodeAmountMissing, CodeApprovalMissing,
		CodeCountersignatureMissing, CodeOutsideTerms, CodeOutsideValidTime, CodeOverCountLimit,
		CodeOverEachLimit, CodeOverLimit, CodeOverPeriodLimit, CodePartyNotAllowed,
		CodePassNotAllowed, CodePassWider, CodeProhibited:
		return true
	}
	return false
}

// known says whether the code is one of section 7.
func (c Code) known() bool {
	if c.Finding() {
		return true
	}
	switch c {
	case CodeAcknowledgementMismatch, CodeApprovalDatedAfterStub, CodeApprovalInvalid,
		CodeApprovalMismatch, CodeApprovalNotFound, CodeApprovalReused, CodeBadBase64url,
		CodeBadEnvelope, CodeBadField, CodeBadKey, CodeBadSignaturesLayout, CodeCancellationInvalid,
		CodeCancellationNotFound, CodeChainBroken, CodeCheckFailed, CodeCountersignatureInvalid,
		CodeCountersignatureImpossible, CodeCountersignatureWrongStub, CodeCoverInvalid,
		CodeDatedAfterStamp, CodeDuplicateID, CodeDuplicateSlip, CodeHeadersInvalid,
		CodeIssuerNotExpected, CodeLineNotCanonical, CodeNotJSON, CodePassMismatch, CodePassMissing,
		CodePassTooDeep, CodePasskeyBadData, CodePasskeyChallengeMismatch, CodePasskeyOriginMismatch,
		CodePasskeyRPIDMismatch, CodePasskeyUserNotPresent, CodePasskeyUserNotVerified,
		CodePasskeyWrongType, CodePayloadNotCanonical, CodePayloadTypeMismatch, CodeProofInvalid,
		CodeRecordNotSound, CodeRootMismatch, CodeSealChainBroken, CodeSealMismatch,
		CodeSealerNotExpected, CodeSignatureInvalid, CodeSlipMissing, CodeSlipUnusable,
		CodeStampBadData, CodeStampInvalid, CodeStampWrongData, CodeTermsMismatch,
		CodeTermsNotFound, CodeTermsUnusable, CodeTimeWentBackwards, CodeTooLarge,
		CodeUnknownEntry, CodeUnknownType, CodeVouchingMissing:
		return true
	}
	return false
}

// Problem is one thing found wrong, or one finding. It is an error, so that
// readers of a single record return it as such. Message never holds text from
// a record.
type Problem struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (p Problem) Error() string { return string(p.Code) + ": " + p.Message }

// problem makes a Problem; its arguments are names and numbers of the format,
// never text of a record.
func problem(code Code, format string, args ...any) Problem {
	return Problem{code, fmt.Sprintf(format, args...)}
}

// CodeOf is the code of an error that this package returned, "" where err is
// nil, and check-failed for any other error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var p Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return CodeCheckFailed
}
