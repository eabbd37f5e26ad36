// Package leafjson shows stored leaves as JSON: what GET, exports, proofs and
// offline verification print of them. The same bytes give the same JSON
// everywhere, today and years later.
//
// Map: screen.go renders a screening record and the profiles it names, inputs.go
// adds what a replay needs.
//
// May import: engine, fsm/leaf, fsm/wire, strictjson.
// Never: a clock, files, net/http; anything that is not in the bytes.
package leafjson
