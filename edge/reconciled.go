package edge

import (
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReconciliationNote builds the record of a comparison of a rail's extract with the log that ended
// well: its summary, one JSON object that names no party and no payment, and the API key that asked.
func ReconciliationNote(id, keyID string, summary []byte) *wire.Note {
	var m strictjson.Members
	m.Text("reconciliationId", id)
	m.Text("actorKeyId", keyID)
	m.Join(summary[1 : len(summary)-1])
	return &wire.Note{Event: wire.EventReconciled, Common: wire.Common{Fragment: m}}
}
