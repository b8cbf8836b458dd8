package glob

// Steps matches and gives the steps that the matcher in use took.
func (g *Glob) Steps(text string) (bool, int) { return g.match(text) }

// Walk matches by sets of states, as patterns with braces are.
func (g *Glob) Walk(text string) (bool, int) { return g.walk(text) }
