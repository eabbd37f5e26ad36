// Package leaf is the stored form of audit records: bytes that are hashed into
// the log, written once by Apply and rendered for people whenever they are read.
//
// A leaf's first byte names its form: '{' is an event as one JSON object, 1 a
// screening record, 2 a profile (who was judged, and by which policy). A
// screening record names the profile it was judged with by leaf index and hash, so
// that what every call of an agent has in common is stored once a day. The
// bytes are described in docs/FORMATS.md; a decoder refuses what its encoder
// cannot have written.
//
//	registry.go  a row for every kind: its struct, its events, who may know of them
//	events.go    the structs of events, which name their members; events_parties.go too
//	event.go     writes an event from its struct; read.go reads it into that
//	screen.go    the screening record: what Apply knows of a call
//	fragment.go  the part of it that the edge wrote, copied by Apply as it came
//	profile.go   the profile, and how engine's profiles are reduced for it
//	ratchet.go   salts: a key a day, of which old ones cannot be made again
//
// May import: engine, fsm/wire.
// Never: a clock, randomness, IO; anything that two builds may compute differently.
package leaf
