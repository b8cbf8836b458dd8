package receipts

import (
	"crypto/sha256"
	"io"
	"slices"

	"countersign/internal/ijson"
)

const (
	// MaxDisclosures bounds the disclosures for one slip (section 6.11).
	MaxDisclosures = 64

	// saltBytes is how many random bytes a new disclosure's salt has: 128 bits.
	saltBytes = 16

	// maxDisclosure bounds one disclosure in characters: the longest text that can
	// be covered, every character escaped, with its salt and name, in base64url.
	maxDisclosure = 16 << 10
)

// checkCoverNames refuses the members of covering where they never stand. top is
// true for the slip itself; below it, _sd is left to the readers of the objects
// that may hold it.
func checkCoverNames(v ijson.Value, top bool) error {
	for e := range v.Elements() {
		if e.Kind() == ijson.Object && e.Member("...").Exists() {
			return problem(CodeCoverInvalid, "an item of a list is covered, which no slip allows")
		}
		if err := checkCoverNames(e, false); err != nil {
			return err
		}
	}
	for name, val := range v.Members() {
		if name.Is("_sd_alg") && !(top && val.Is(coverMethod)) {
			return problem(CodeCoverInvalid, "_sd_alg stands elsewhere than at the top, or is not sha-256")
		}
		if err := checkCoverNames(val, false); err != nil {
			return err
		}
	}
	return nil
}

// covered reads a text, or the one digest that covers it.
func (m *members) covered(name string, most int) Covered {
	text, sd := m.value(name), m.value("_sd")
	switch {
	case m.err != nil:
		return Covered{}
	case text.Exists() && sd.Exists():
		m.failf("%s: stands beside _sd, which covers it", m.path(name))
	case text.Exists():
		return Covered{Text: m.text(name, "text of its length", func(s string) bool { return isText(s, 1, most) })}
	case !sd.Exists():
		m.failf("%s: %q is missing", m.what, name)
	case sd.Kind() != ijson.Array || sd.Len() != 1:
		m.failf("%s: must be a list of one digest", m.path("_sd"))
	default:
		for e := range sd.Elements() {
			if digest := e.Text(); isDigest(digest) {
				return Covered{Digest: digest}
			}
		}
		m.fail(problem(CodeCoverInvalid, "%s: a digest is malformed", m.path("_sd")))
	}
	return Covered{}
}

// checkCover: no digest twice, and _sd_alg exactly where something is covered.
func (m *members) checkCover(s *Slip) {
	seen := make(map[string]bool)
	for _, c := range s.coverable() {
		if c.Digest != "" && seen[c.Digest] {
			m.fail(problem(CodeCoverInvalid, "two fields have the same digest"))
		}
		seen[c.Digest] = true
	}
	if m.has("_sd_alg") != (s.Covered() > 0) {
		m.failf("_sd_alg: must be there exactly where a field is covered")
	}
}

// Reveal puts the texts of disclosures into the fields they cover. Each must fit
// one covered field; on an error the slip is unchanged.
func (s *Slip) Reveal(disclosures []string) error {
	if len(disclosures) > MaxDisclosures {
		return problem(CodeBadField, "more than %d disclosures for one slip", MaxDisclosures)
	}
	type field struct {
		at   *Covered
		name string
		most int
	}
	fields := make(map[string]field)
	for _, c := range s.coverable() {
		name, most := "name", maxName
		if c == &s.Purpose {
			name, most = "purpose", maxPurpose
		}
		if c.Digest != "" {
			fields[c.Digest] = field{c, name, most}
		}
	}
	texts := make(map[string]string, len(disclosures))
	for _, d := range disclosures {
		name, text, err := readDisclosure(d)
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(d))
		digest := encodeBase64url(sum[:])
		f, ok := fields[digest]
		_, twice := texts[digest]
		switch {
		case !ok:
			return problem(CodeCoverInvalid, "a disclosure fits no covered field")
		case twice:
			return problem(CodeCoverInvalid, "a disclosure is given twice")
		case name != f.name:
			return problem(CodeBadField, "a disclosure reveals another field than the one it covers")
		case !isText(text, 1, f.most):
			return problem(CodeBadField, "a disclosure reveals a text that is not of 1 to %d characters", f.most)
		}
		texts[digest] = text
	}
	for digest, text := range texts {
		fields[digest].at.Text = text
	}
	return nil
}

// readDisclosure takes base64url of canonical [salt,name,value] apart.
func readDisclosure(d string) (name, text string, err error) {
	bad := problem(CodeCoverInvalid, "a disclosure is not base64url of a canonical [salt, name, value]")
	if len(d) > maxDisclosure {
		return "", "", bad
	}
	b, err := decodeBase64url([]byte(d))
	if err != nil {
		return "", "", bad
	}
	v, err := parseCanonical(new(ijson.Doc), b)
	if err != nil || v.Kind() != ijson.Array || v.Len() != 3 {
		return "", "", bad
	}
	items := slices.Collect(v.Elements())
	if items[0].Kind() != ijson.String || items[1].Kind() != ijson.String {
		return "", "", bad
	}
	if name = items[1].Text(); name == "_sd" || name == "..." || name == "_sd_alg" {
		return "", "", problem(CodeCoverInvalid, "a disclosure reveals a member that covering itself uses")
	}
	if items[2].Kind() != ijson.String {
		return "", "", problem(CodeBadField, "a disclosure reveals something else than text")
	}
	return name, items[2].Text(), nil
}

// Cover makes the covered form of a text and its disclosure, with a salt of 128
// bits from random. name is "purpose" for a slip's purpose, else "name".
func Cover(name, text string, random io.Reader) (Covered, string, error) {
	var salt [saltBytes]byte
	if _, err := io.ReadFull(random, salt[:]); err != nil {
		return Covered{}, "", err
	}
	b := appendTexts(nil, "", []string{encodeBase64url(salt[:]), name, text})
	d := encodeBase64url(b)
	sum := sha256.Sum256([]byte(d))
	return Covered{Text: text, Digest: encodeBase64url(sum[:])}, d, nil
}
