package receipts_test

import (
	"bytes"
	"strings"
	"testing"

	. "countersign/receipts"
)

// TestSlipContent changes one thing at a time in a slip: section 2.1.
func TestSlipContent(t *testing.T) {
	const order = "provared.order.place"
	long := strings.Repeat("x", 200)
	for name, tt := range map[string]struct {
		change func(*Slip)
		want   Code
	}{
		"plain":                   {nil, ""},
		"all members":             {func(s *Slip) { s.Passes = 10; s.Agent.Software = []Detail{{"rules", fingerprintOf("r")}} }, ""},
		"the longest name":        {func(s *Slip) { s.Agent.Name.Text = strings.Repeat("😀", 200) }, ""},
		"a longer name":           {func(s *Slip) { s.Agent.Name.Text = long + "x" }, CodeBadField},
		"no name":                 {func(s *Slip) { s.Issuer.Name.Text = "" }, CodeBadField},
		"no purpose":              {func(s *Slip) { s.Purpose.Text = "" }, CodeBadField},
		"a longer purpose":        {func(s *Slip) { s.Purpose.Text = strings.Repeat(long, 5) + "x" }, CodeBadField},
		"no action":               {func(s *Slip) { s.Actions = nil }, CodeBadField},
		"an action twice":         {func(s *Slip) { s.Actions = []string{"a", "a"} }, CodeBadField},
		"a reserved action":       {func(s *Slip) { s.Actions = []string{"provared.money.send"} }, CodeBadField},
		"65 actions":              {func(s *Slip) { s.Actions = strings.Split(strings.Repeat("x ", 65), " ")[:65] }, CodeBadField},
		"never":                   {func(s *Slip) { s.Never = []string{"destroys", "conceal"} }, ""},
		"never twice":             {func(s *Slip) { s.Never = []string{"conceal", "conceal"} }, CodeBadField},
		"never unknown":           {func(s *Slip) { s.Never = []string{"eats"} }, CodeBadField},
		"never of an action":      {func(s *Slip) { s.Never = []string{"commits"} }, CodeBadField},
		"passes 11":               {func(s *Slip) { s.Passes = 11 }, CodeBadField},
		"until before from":       {func(s *Slip) { s.ValidUntil = s.ValidFrom }, CodeBadField},
		"a service twice":         {func(s *Slip) { s.With = append(s.With, s.With[1]) }, CodeBadField},
		"a service in capitals":   {func(s *Slip) { s.With[1].ID = "Mute" }, CodeBadField},
		"origin of another site":  {func(s *Slip) { s.Issuer.Origin = "https://example.org" }, CodeBadField},
		"an id of 15 bytes":       {func(s *Slip) { s.ID = s.ID[:20] }, CodeBadField},
		"software without digest": {func(s *Slip) { s.Agent.Software = []Detail{{"x", "y"}} }, CodeBadField},
		"17 software":             {func(s *Slip) { s.Agent.Software = make([]Detail, 17) }, CodeBadField},
		"three keys":              {func(s *Slip) { s.Agent.Keys = append(s.Agent.Keys[:2:2], s.Agent.Keys[1]) }, CodeBadKey},
		"keys in another order":   {func(s *Slip) { s.Agent.Keys = KeySet{s.Agent.Keys[1], s.Agent.Keys[0]} }, CodeBadKey},
		"every limit": {func(s *Slip) {
			s.Limits = []Limit{
				{Action: "work", Kind: LimitMax, Unit: "GBP"}, {Action: "work", Kind: LimitEach, Unit: "GBP"}, {Action: "work", Kind: LimitCount, Bound: 1},
				{Action: "work", Kind: LimitMax, Per: 1, Unit: "GBP"}, {Action: "work", Kind: LimitMax, Per: 2, Unit: "GBP"}, {Action: "work", Kind: LimitCount, Bound: 1, Per: 31_622_400}}
		}, ""},
		"a limit of no action": {func(s *Slip) { s.Limits = []Limit{{Action: "play", Kind: LimitCount, Bound: 1}} }, CodeBadField},
		"a count of 0":         {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitCount}} }, CodeBadField},
		"a count with a unit":  {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1, Unit: "GBP"}} }, CodeBadField},
		"a max without a unit": {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitMax, Bound: 1}} }, CodeBadField},
		"each in a period":     {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitEach, Unit: "GBP", Per: 9}} }, CodeBadField},
		"a period too long":    {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1, Per: 31_622_401}} }, CodeBadField},
		"a limit twice": {func(s *Slip) {
			s.Limits = []Limit{{Action: "work", Kind: LimitCount, Bound: 1}, {Action: "work", Kind: LimitCount, Bound: 2}}
		}, CodeBadField},
		"two units of one action": {func(s *Slip) {
			s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "GBP"}, {Action: "work", Kind: LimitEach, Unit: "EUR"}}
		}, CodeBadField},
		"a unit of 16": {func(s *Slip) {
			s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "A0._-aaaaaaaaaaa"}}
		}, ""},
		"a unit of 17":                  {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: long[:17]}} }, CodeBadField},
		"a unit that begins with a dot": {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: ".a"}} }, CodeBadField},
		"a unit in kelvin signs":        {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "\u212AG"}} }, CodeBadField},
		"a unit with a dotted I":        {func(s *Slip) { s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "M\u0130"}} }, CodeBadField},
		"two units of two actions": {func(s *Slip) {
			s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "GBP"}, {Action: order, Kind: LimitMax, Unit: "EUR"}}
		}, ""},
		"another unit in a condition": {func(s *Slip) {
			s.Limits = []Limit{{Action: "work", Kind: LimitMax, Unit: "GBP"}}
			s.Requires = []Condition{{Need: KindApproval, Action: "work", HasAbove: true, Unit: "EUR"}}
		}, CodeBadField},
		"conditions": {func(s *Slip) {
			s.Requires = []Condition{{Need: KindApproval}, {Need: KindCountersignature}, {Need: KindApproval, Action: "work", HasAbove: true, Unit: "GBP"}}
		}, ""},
		"a condition twice": {func(s *Slip) {
			s.Requires = []Condition{{Need: KindApproval, Action: "work"}, {Need: KindApproval, Action: "work", HasAbove: true, Unit: "GBP"}}
		}, CodeBadField},
		"a condition of no action": {func(s *Slip) { s.Requires = []Condition{{Need: KindApproval, Action: "play"}} }, CodeBadField},
		"an unknown need":          {func(s *Slip) { s.Requires = []Condition{{Need: "patience"}} }, CodeBadField},
		"above without an action":  {func(s *Slip) { s.Requires = []Condition{{Need: KindApproval, HasAbove: true, Unit: "GBP"}} }, CodeBadField},
		"above without a unit":     {func(s *Slip) { s.Requires = []Condition{{Need: KindApproval, Action: "work", HasAbove: true}} }, CodeBadField},
		"a unit without above":     {func(s *Slip) { s.Requires = []Condition{{Need: KindApproval, Action: "work", Unit: "GBP"}} }, CodeBadField},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t)
			s := w.plain()
			s.Issuer = w.passkey.Issuer()
			if tt.change != nil {
				tt.change(s)
			}
			payload := s.Append(nil)
			got, err := ReadSlip(payload)
			if CodeOf(err) != tt.want {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if err == nil && !bytes.Equal(got.Append(nil), payload) {
				t.Error("read and written again, it differs")
			}
		})
	}
}

// TestSlipMembers puts in, takes out and misplaces members.
func TestSlipMembers(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Issuer = w.passkey.Issuer()
	good := string(s.Append(nil))
	for name, tt := range map[string]struct {
		old, new string
		want     Code
	}{
		"unknown member":        {`"id":`, `"hue":1,"id":`, CodeBadField},
		"__proto__":             {`{"actions":`, `{"__proto__":1,"actions":`, CodeBadField},
		"no limits":             {`"limits":[],`, ``, CodeBadField},
		"no type":               {`"type":"provared.slip.v0",`, ``, CodeBadField},
		"type of a stub":        {`provared.slip.v0`, `provared.stub.v0`, CodePayloadTypeMismatch},
		"unknown in issuer":     {`"rpId":`, `"rp":"x","rpId":`, CodeBadField},
		"limits an object":      {`"limits":[]`, `"limits":{}`, CodeBadField},
		"passes 0":              {`"purpose":`, `"passes":0,"purpose":`, CodeBadField},
		"a private key part":    {`"crv":"P-256","kty"`, `"crv":"P-256","d":"AA","kty"`, CodeBadKey},
		"a space":               {`"limits":[]`, `"limits": []`, CodePayloadNotCanonical},
		"members out of order":  {`"limits":[],"never":[]`, `"never":[],"limits":[]`, CodePayloadNotCanonical},
		"a time with an offset": {`Z","validUntil"`, `+00:00","validUntil"`, CodeBadField},
	} {
		if strings.Count(good, tt.old) < 1 {
			t.Fatalf("%s: %q is not in the slip", name, tt.old)
		}
		_, err := ReadSlip([]byte(strings.Replace(good, tt.old, tt.new, 1)))
		if CodeOf(err) != tt.want {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	for _, text := range []string{"", "null", "[]", `"slip"`, "\xff"} {
		if _, err := ReadSlip([]byte(text)); err == nil {
			t.Errorf("%q is read as a slip", text)
		}
	}
}

// TestCover: section 6.11.
func TestCover(t *testing.T) {
	w := newScene(t)
	s := w.plain()
	s.Issuer = w.passkey.Issuer()
	name, nameShown, err := Cover("name", "Agent", w.random)
	w.check(err)
	purpose, purposeShown, err := Cover("purpose", "tests", w.random)
	w.check(err)
	service, serviceShown, err := Cover("name", "Guard", w.random)
	w.check(err)
	s.Agent.Name, s.Purpose, s.With[0].Name = name, purpose, service
	good := string(s.Append(nil))
	if strings.Contains(good, `"Agent"`) || strings.Contains(good, "tests") {
		t.Fatal("the covered texts stand in the slip")
	}
	read := func() *Slip {
		t.Helper()
		got, err := ReadSlip([]byte(good))
		w.check(err)
		return got
	}
	if got := read(); got.Covered() != 3 || got.Agent.Name.Text != "" || !bytes.Equal(got.Append(nil), []byte(good)) {
		t.Errorf("covered: %d", got.Covered())
	}
	_, wrongName, _ := Cover("purpose", "Agent", w.random)
	for label, tt := range map[string]struct {
		show []string
		want Code
	}{
		"none":            {nil, ""},
		"all":             {[]string{nameShown, purposeShown, serviceShown}, ""},
		"one":             {[]string{purposeShown}, ""},
		"twice":           {[]string{nameShown, nameShown}, CodeCoverInvalid},
		"of another":      {[]string{wrongName}, CodeCoverInvalid},
		"altered":         {[]string{"A" + nameShown[1:]}, CodeCoverInvalid},
		"no base64url":    {[]string{nameShown + "="}, CodeCoverInvalid},
		"one bad of two":  {[]string{nameShown, "e30"}, CodeCoverInvalid},
		"too many":        {make([]string, MaxDisclosures+1), CodeBadField},
		"a very long one": {[]string{strings.Repeat("A", 1<<16)}, CodeCoverInvalid},
	} {
		got := read()
		err := got.Reveal(tt.show)
		if CodeOf(err) != tt.want {
			t.Errorf("%s: %v", label, err)
		}
		if err != nil && (got.Agent.Name.Text != "" || got.Purpose.Text != "") {
			t.Errorf("%s: something was revealed all the same", label)
		}
		if label == "all" && (got.Agent.Name.Text != "Agent" || got.Purpose.Text != "tests" || got.With[0].Name.Text != "Guard" || got.Covered() != 3) {
			t.Errorf("revealed: %+v", got)
		}
	}
	for label, tt := range map[string]struct {
		old, new string
		want     Code
	}{
		"no _sd_alg":           {`"_sd_alg":"sha-256",`, ``, CodeBadField},
		"another _sd_alg":      {`sha-256`, `sha-512`, CodeCoverInvalid},
		"the digest elsewhere": {purpose.Digest, name.Digest, CodeCoverInvalid},
		"a malformed digest":   {purpose.Digest, purpose.Digest + "A", CodeCoverInvalid},
		"two digests":          {`"_sd":["` + purpose.Digest, `"_sd":["` + fingerprintOf("x") + `","` + purpose.Digest, CodeBadField},
		"no digest":            {`"_sd":["` + purpose.Digest + `"]`, `"_sd":[]`, CodeBadField},
		"the field beside it":  {`"requires":`, `"purpose":"x","requires":`, CodeBadField},
		"a covered list item":  {`"actions":["work"`, `"actions":[{"...":"x"}`, CodeCoverInvalid},
		"_sd_alg in a member":  {`"issuer":{`, `"issuer":{"_sd_alg":"sha-256",`, CodeCoverInvalid},
	} {
		if !strings.Contains(good, tt.old) {
			t.Fatalf("%s: %q is not in the slip", label, tt.old)
		}
		if _, err := ReadSlip([]byte(strings.Replace(good, tt.old, tt.new, 1))); CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", label, err, tt.want)
		}
	}
	plain := w.plain()
	plain.Issuer = w.passkey.Issuer()
	needless := strings.Replace(string(plain.Append(nil)), `{"actions"`, `{"_sd_alg":"sha-256","actions"`, 1)
	if _, err := ReadSlip([]byte(needless)); CodeOf(err) != CodeBadField {
		t.Errorf("_sd_alg without a covered field: %v", err)
	}

	// In a book, disclosures are given beside it; a wrong one is the check's fault,
	// not the slip's.
	w.sign(s)
	for label, tt := range map[string]struct {
		show []string
		text string
		want []Code
	}{
		"shown":     {[]string{nameShown}, "Agent", nil},
		"not shown": {nil, "", nil},
		"wrong":     {[]string{wrongName}, "", []Code{CodeCoverInvalid}},
	} {
		o := w.options()
		o.Disclosures = map[string][]string{w.slip: tt.show}
		c := NewChecker(o)
		e := c.Add(w.lines[0])
		r := c.Result()
		if len(e.Problems) > 0 || e.Covered != 3 || e.Content.(*Slip).Agent.Name.Text != tt.text || !same(r.Problems, tt.want...) {
			t.Errorf("%s: %v %v", label, e.Problems, r.Problems)
		}
	}
}
