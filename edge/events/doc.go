// Package events tells what happened: ordered events, derived from leaves and from
// nothing else, the same on every node and after any failover.
//
// Purpose: a Reader walks the leaves behind a Position and gives each Event that its
// caller may know of, with the JSON of its envelope. A leaf may stand for several
// events (n counts them); what a caller may not see leaves a gap, never another number.
//
// Map: types.go is the table of types and of the leaves they come from, position.go
// where a reader stands, reader.go the walk, audience.go who may know of what.
//
// May import: edge, engine, fsm/leaf, fsm/wire, audit, strictjson.
// Never: a clock, net/http, state besides the log and the profiles of now.
package events
