package rules

func (r *reader) toolGlob(p place, text string) Judge {
	r.fault(p, "a tool name with a glob sign is not in this version")
	return nil
}

func (r *reader) globs(o operand, fold bool) []Judge {
	r.fault(o.at, "the test like is not in this version")
	return nil
}

func (r *reader) path(c *Check, p place) {
	r.fault(p, "the test path is not in this version")
}
