package receipts

import "time"

// Time is a moment of the format: whole seconds since 1970-01-01T00:00:00Z, within
// the years 0000 to 9999. It is written YYYY-MM-DDTHH:MM:SSZ and in no other way.
type Time int64

const (
	minTime Time = -62167219200 // 0000-01-01T00:00:00Z
	maxTime Time = 253402300799 // 9999-12-31T23:59:59Z

	timeLayout = "2006-01-02T15:04:05Z"
)

// ParseTime reads the one spelling of a time; false for any other text, and for a
// day, hour or second that does not exist.
func ParseTime(s string) (Time, bool) {
	if len(s) != len(timeLayout) {
		return 0, false
	}
	t, err := time.Parse(timeLayout, s)
	if err != nil {
		return 0, false
	}
	// time.Parse is lenient in places; what it wrote back must be what it read.
	var buf [len(timeLayout)]byte
	if string(t.AppendFormat(buf[:0], timeLayout)) != s {
		return 0, false
	}
	return Time(t.Unix()), true
}

// TimeOf is t with its fraction of a second cut off.
func TimeOf(t time.Time) Time { return Time(t.Unix()) }

// Time is t in UTC.
func (t Time) Time() time.Time { return time.Unix(int64(t), 0).UTC() }

// valid says whether t can be written.
func (t Time) valid() bool { return t >= minTime && t <= maxTime }

// Append appends the text of t, 20 characters.
func (t Time) Append(dst []byte) []byte { return t.Time().AppendFormat(dst, timeLayout) }

func (t Time) String() string { return string(t.Append(nil)) }

// MarshalText writes t as the format does.
func (t Time) MarshalText() ([]byte, error) { return t.Append(nil), nil }
