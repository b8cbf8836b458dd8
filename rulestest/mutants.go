package rulestest
type Mutants struct{}
type MutantsJSON struct{}
func (*Mutants) JSON() *MutantsJSON { return nil }
