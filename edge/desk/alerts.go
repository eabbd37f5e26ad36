package desk

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Acknowledgement is a person's answer to an alert. It is final.
type Acknowledgement struct{ by, reason string }

// ReadAcknowledgement reads who acknowledges, and why.
func ReadAcknowledgement(f *strictjson.Fields) (Acknowledgement, error) {
	return Acknowledgement{by: f.RequiredName("by"), reason: f.RequiredText("reason", engine.TextMax)}, f.Err()
}

// Record builds the record that acknowledges the alert of a leaf.
func (a *Acknowledgement) Record(j *edge.Judge, leaf uint64) (*wire.Alert, error) {
	var fragment strictjson.Members
	fragment.Text("by", a.by)
	fragment.Text("reason", a.reason)
	j.Actor(&fragment)
	return &wire.Alert{Common: j.Common(fragment), Op: wire.AlertAcknowledge, Leaf: leaf}, nil
}
