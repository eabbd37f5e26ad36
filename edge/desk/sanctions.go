package desk

import (
	"crypto/sha256"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// CaseMove is one step of a sanctions case.
type CaseMove struct {
	to, kind                     uint8 // wire.SanctionsTrueMatch or another state; wire.SanctionsRejected or SanctionsProperty.
	by, reason, notes, reference string
	property                     *wire.BlockedProperty
}

// ReadCaseMove reads the body of a step.
func ReadCaseMove(f *strictjson.Fields) (CaseMove, error) {
	move := CaseMove{by: f.RequiredName("by"), reason: f.Text("reason", engine.TextMax), notes: f.Text("notes", engine.TextMax), reference: f.Text("reference", engine.FieldMax)}
	move.to, _ = fsm.ParseSanctionsState(f.RequiredOneOf("to", fsm.SanctionsStates()...))
	move.kind, _ = fsm.ParseSanctionsKind(f.OneOf("kind", fsm.SanctionsKinds()...))
	move.property = readProperty(f)
	switch {
	case move.to == wire.SanctionsTrueMatch && f.Get("kind") == nil:
		f.Missing("kind")
	case move.to != wire.SanctionsTrueMatch && f.Get("kind") != nil:
		f.Invalid("kind", "belongs to TRUE_MATCH alone")
	}
	switch blocked := move.kind == wire.SanctionsProperty; {
	case blocked && f.Get("property") == nil:
		f.Missing("property")
	case !blocked && f.Get("property") != nil:
		f.Invalid("property", "belongs to the kind blocked_property alone")
	}
	switch reported := move.to == wire.SanctionsReported; {
	case reported && strings.TrimSpace(move.reference) == "":
		f.Missing("reference")
	case !reported && move.reference != "":
		f.Invalid("reference", "belongs to REPORTED alone")
	}
	switch move.to {
	case wire.SanctionsOpen, wire.SanctionsNotTheParty, wire.SanctionsClosed:
		if strings.TrimSpace(move.reason) == "" {
			f.Missing("reason")
		}
	}
	return move, f.Err()
}

// readProperty reads what the register of blocked property has.
func readProperty(f *strictjson.Fields) *wire.BlockedProperty {
	inner, given := f.Nested("property")
	if !given {
		return nil
	}
	p := &wire.BlockedProperty{
		Party: inner.RequiredText("party", engine.FieldMax), Description: inner.RequiredText("description", engine.FieldMax),
		Location: inner.RequiredText("location", engine.FieldMax), Authority: inner.Text("authority", engine.FieldMax),
		Action: inner.Text("action", engine.FieldMax),
	}
	p.Value, _ = inner.RequiredUSD("valueUSD")
	return p
}

// Record builds the record of the step. It moves the case that a leaf opened from a state.
func (s *CaseMove) Record(j *edge.Judge, opened uint64, from uint8) (*wire.SanctionsCase, error) {
	var fragment strictjson.Members
	fragment.Text("by", s.by)
	fragment.Optional("reason", s.reason)
	fragment.Optional("notes", s.notes)
	if p := s.property; p != nil {
		fragment.Object("property", PropertyMembers(p))
	}
	var said strictjson.Members
	said.Uint("caseLeaf", opened)
	said.Text("to", fsm.SanctionsState(s.to))
	common, err := j.RecordedSigned(fragment, edge.Statement{Act: "sanctions.moved", Said: said})
	if err != nil {
		return nil, err
	}
	record := &wire.SanctionsCase{
		Common: common, Leaf: opened, From: from, To: s.to, Kind: s.kind, Reference: strings.TrimSpace(s.reference), Property: s.property,
	}
	if s.reason != "" || s.notes != "" {
		record.Said = sha256.Sum256([]byte(s.reason + "\x00" + s.notes))
	}
	return record, nil
}

// PropertyMembers returns blocked property as leaves and answers name it.
func PropertyMembers(p *wire.BlockedProperty) (m strictjson.Members) {
	m.Text("party", p.Party)
	m.Text("description", p.Description)
	m.Text("location", p.Location)
	m.Optional("authority", p.Authority)
	m.Optional("action", p.Action)
	m.USD("valueUSD", p.Value)
	return m
}
