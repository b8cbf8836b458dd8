// Package receipts defines, signs, stores and checks records: the permission slip
// a person signs, the stub that says what an agent did under it, the
// countersignature, approval, cancellation and the rest of the Provared format,
// draft version 0, and this project's own denial and ledger.
//
// A record is an envelope ([Envelope]) around content in one canonical form.
// [ReadStub], [ReadSlip] and their like read content, the Append methods write
// it, and the two agree byte for byte. [Signer] signs with the two keys of an
// agent or a guard. [Checker] reads a book line by line and answers the check
// before acting; [VerifyBook] checks a whole one with its signatures on all
// cores.
//
// What is wrong with a record is a [Problem], which carries one of the codes of
// section 7 of the format. Reading never panics and never takes back what it
// could not judge: a record of a kind that is not checked here leaves its book
// not wholly checked.
package receipts
