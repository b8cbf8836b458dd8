package casefold

// Ignorable is the property of a code point.
func Ignorable(r rune) bool { return ignorable(r) }
