package rules

// ReadWhole reads a file with all parts of the format, also those that are not
// switched on yet.
func ReadWhole(path string, src []byte) (*File, Problems) {
	r := newReader()
	r.notBuilt = nil
	return r.read(path, src)
}
