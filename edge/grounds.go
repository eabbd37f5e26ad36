package edge

import (
	"railguard/engine"
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
