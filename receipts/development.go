package receipts

import "strings"

// developmentMark ends the name of an issuer that is no person.
const developmentMark = "(development)"

// IsDevelopment says whether a slip was signed by a stand-in for a passkey, made
// for demonstrations and development: its issuer's name says so. A covered name
// that is not disclosed says nothing.
func IsDevelopment(s *Slip) bool {
	return strings.HasSuffix(s.Issuer.Name.Text, developmentMark)
}
