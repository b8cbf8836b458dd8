package engine

// FoldText is the folded form of a text.
func FoldText(s string) string { return new(folder).text(s) }

// Ignorable is the property of a code point.
func Ignorable(r rune) bool { return ignorable(r) }
