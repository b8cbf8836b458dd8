// Package proxy stands between an agent and a tool server that speak the Model
// Context Protocol. It reads their messages strictly, takes every tools/call
// through one pipeline, and passes everything else on byte for byte but for ids.
//
//	agent ── front ── Pipeline ── Upstream ── tool server
//	                   │    │
//	                Rules  Chain
//
// [Pipeline.Begin] takes a call in, and its run is the whole of the call in the
// order of guard.md, section 3: Read, Name, Wait, Judge, Copy, Forward, Outcome,
// Answer. [Serve] is the stdio front and [StartChild] the stdio upstream.
//
// What cannot be read or judged is refused, with the reason. A message that is
// not one strict JSON object on one line is answered with a JSON-RPC error (or
// dropped, where its sender expects no answer), noticed in the ledger, and
// nothing of it goes further; the connection lives on.
//
// Every queue and every wait has a bound that is a named constant or a setting,
// and every goroutine is waited for by the function that started it.
package proxy
