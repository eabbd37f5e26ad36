package desk

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// CaseMove is one step of a sanctions case.
type CaseMove struct {
	to, kind                     uint8 // wire.SanctionsTrueMatch or another state; wire.SanctionsRejected and so on.
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

// Record builds the record of the step. It moves a case as the caller's node has it.
func (s *CaseMove) Record(j *edge.Judge, row *fsm.SanctionsRow) (*wire.SanctionsCase, error) {
	opened, from := row.Leaf, row.State
	switch {
	case row.Paid && s.kind == wire.SanctionsRejected:
		return nil, edge.InvalidField("kind", "the payment went ahead, so it was not rejected: processed_transaction, or blocked_property if some of it came back and is blocked")
	case !row.Paid && s.kind == wire.SanctionsProcessed:
		return nil, edge.InvalidField("kind", "the payments of this case were stopped: rejected_transaction or blocked_property")
	}
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

// CaseOpening opens a sanctions case of a payment that went ahead.
type CaseOpening struct {
	txn, by, reason string
	cause           wire.Cause
}

// ReadCaseOpening reads of which payment a case is opened, whom an officer connects with it, and why.
func ReadCaseOpening(f *strictjson.Fields) (CaseOpening, error) {
	o := CaseOpening{txn: f.RequiredText("txnId", engine.FieldMax), by: f.RequiredName("by"), reason: f.RequiredText("reason", engine.TextMax)}
	uid, place := f.Text("uid", engine.FieldMax), f.Text("place", engine.FieldMax)
	switch {
	case (uid == "") == (place == ""):
		f.Missing("uid")
	case uid != "":
		number, err := strconv.ParseUint(uid, 10, 32)
		if o.cause = wire.PartyCause(uint32(number)); err != nil || number == 0 {
			f.Invalid("uid", "must be the number of a listed party")
		}
	default:
		if o.cause = wire.PlaceCause(place); o.cause == 0 {
			f.Invalid("place", "must be an ISO 3166-1 alpha-2 or an ISO 3166-2 code")
		}
	}
	return o, f.Err()
}

// TxnID is the transaction of the payment.
func (o *CaseOpening) TxnID() string { return o.txn }

// UID is the listed party; 0: the case is about a place.
func (o *CaseOpening) UID() uint32 {
	if uid, is := o.cause.UID(); is {
		return uid
	}
	return 0
}

// Record builds the record that opens the case of a payment that went ahead, with what was paid. The
// newest leaf about the payment is what that rests on.
func (o *CaseOpening) Record(j *edge.Judge, l *edge.Leaf, paid engine.USD, newest uint64) (*wire.SanctionsCase, error) {
	opens := &wire.PaidPayment{Cause: o.cause, Amount: paid, Newest: newest}
	if slot, ok := j.Terms.ParseAgent(l.Text("agentId")); ok {
		opens.Agent = slot
	}
	if slot, ok := j.Terms.ParseUser(l.Text("userId")); ok {
		opens.User = slot
	}
	common, err := j.Recorded(openedBy(o.by, o.reason))
	return &wire.SanctionsCase{Common: common, Leaf: l.Index, Opens: opens}, err
}
