package engine

import (
	"time"

	"countersign/internal/ijson"
)

// Call is what a decision rests on. Nothing of it is changed or kept.
type Call struct {
	// Tool is the tool's name, or the method of a request that rules may name
	// beside tools (resources/read, prompts/get, completion/complete), whose
	// params are then the arguments.
	Tool string
	// Arguments is an object, strictly read; absent is {}. Its text must not
	// change while the call is judged.
	Arguments ijson.Value
	// InputResponses is judged as the argument member inputResponses; absent, as
	// it is in the first round of a call, is no member.
	InputResponses ijson.Value

	// The facts of the call beside its arguments, which only expressions ask for.
	Action, Agent, Upstream   string
	ClientName, ClientVersion string      // what the peer says of itself
	Annotations               ijson.Value // what the server says of the tool
	Amount                    *Amount     // nil where the action has none
	Now                       time.Time   // T0 of the call
	Facts                     Facts
}

// Amount is what a call spends.
type Amount struct {
	Unit  string
	Value int64 // whole, in the unit; at least 0
}

// Facts says which facts of a Call are not given. One that is asked for and not
// given cannot be judged; the zero value says that all are.
type Facts struct {
	NoAction, NoAgent, NoUpstream, NoClient, NoAnnotations, NoAmount bool
}
