package edge

import (
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Grounds say why a change is made and by whom, in the words of the caller.
type Grounds struct{ Reason, Actor string }

// ReadGrounds reads the members reason and actor, which may be absent.
func ReadGrounds(f *strictjson.Fields) Grounds {
	return Grounds{Reason: f.Text("reason", engine.TextMax), Actor: f.Text("actor", engine.FieldMax)}
}

// Write adds both members; an absent one is null.
func (g Grounds) Write(m *strictjson.Members) {
	m.TextOrNull("reason", g.Reason)
	m.TextOrNull("actor", g.Actor)
}

// Order returns what the leaf of a member's change says of who asked for it and why. It has no
// Idempotency-Key: a call that is made again finds the members as they are.
func (j *Judge) Order(g Grounds) (wire.Common, error) {
	var m strictjson.Members
	g.Write(&m)
	by, err := j.Recorded(m)
	by.Idem = nil
	return by, err
}
