package rules

func (f *File) warn(r *reader) {}
