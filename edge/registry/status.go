package registry

import (
	"slices"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// reasonCodes are the words for why a credential is revoked. A row stores the index of the
// word, so the order never changes.
var reasonCodes = []string{"", "KEY_COMPROMISE", "AFFILIATION_CHANGED", "SUPERSEDED", "CESSATION", "SANCTIONS", "OTHER"}

// StatusChange suspends, reinstates or revokes an agent, a user or an operator (decision 35).
// The log decides which step is legal, so that a replayed call gets its first answer.
type StatusChange struct {
	To            engine.Status
	reason, actor string
	code          string // One of reasonCodes; "" if the caller gave none.
}

// ReadStatusChange reads the reason of a change, which is required, and who makes it.
func ReadStatusChange(f *strictjson.Fields, to engine.Status) (StatusChange, error) {
	change := StatusChange{To: to, reason: f.RequiredText("reason", engine.TextMax), actor: f.Text("actor", engine.FieldMax)}
	if to == engine.Revoked {
		change.code = f.OneOf("reasonCode", reasonCodes[1:]...)
	}
	return change, f.Err()
}

// Write adds the caller's words about the change.
func (s *StatusChange) Write(m *strictjson.Members) {
	m.Text("reason", s.reason)
	m.TextOrNull("actor", s.actor)
	m.Optional("reasonCode", s.code)
}

// OfAgent builds the record that changes an agent's status.
func (s *StatusChange) OfAgent(j *edge.Judge, profile *engine.AgentProfile) (*wire.Status, error) {
	return s.build(j, wire.TargetAgent, uint32(profile.Slot), profile.Operator)
}

// OfUser builds the record that changes a user's status. A user may belong to no operator.
func (s *StatusChange) OfUser(j *edge.Judge, profile *engine.UserProfile) (*wire.Status, error) {
	return s.build(j, wire.TargetUser, uint32(profile.Slot), profile.Operator)
}

func (s *StatusChange) build(j *edge.Judge, target wire.Target, slot uint32, operator engine.OperatorSlot) (*wire.Status, error) {
	var m strictjson.Members
	s.Write(&m)
	var filters []uint64
	if operator != 0 {
		filters = append(filters, j.OperatorFilter(operator))
	}
	common, err := j.Recorded(m, filters...)
	return &wire.Status{Common: common, Target: target, Slot: slot, To: s.To, ReasonCode: uint8(max(slices.Index(reasonCodes, s.code), 0))}, err
}

// OfOperator builds the record that changes an operator's status. That status applies to all
// its agents.
func (s *StatusChange) OfOperator(j *edge.Judge, operator *engine.OperatorProfile) (*wire.Status, error) {
	var m strictjson.Members
	m.Text("operatorLegalName", operator.LegalName)
	s.Write(&m)
	common, err := j.Recorded(m)
	return &wire.Status{Common: common, Target: wire.TargetOperator, Slot: uint32(operator.Slot), To: s.To}, err
}

// OwnershipFlag announces that an agent goes to another operator. From effectiveAt until its
// credential is issued again, rule R8 blocks it (decision 36).
type OwnershipFlag struct {
	id, name    string      // Of the new operator.
	effectiveAt engine.Time // 0: from now on.
	note, actor string
}

// ReadOwnershipFlag reads the new operator, and when it takes over the agent.
func ReadOwnershipFlag(f *strictjson.Fields) (OwnershipFlag, error) {
	flag := OwnershipFlag{id: f.Text("newOperatorId", engine.FieldMax), name: f.Name("newOperatorLegalName")}
	if flag.id == "" && flag.name == "" {
		f.Missing("newOperatorLegalName")
	}
	if flag.name != "" && edge.FoldName(flag.name) == "" {
		f.Invalid("newOperatorLegalName", "must have letters or digits")
	}
	if at, given := f.Instant("effectiveAt"); given {
		flag.effectiveAt = at
	}
	flag.note, flag.actor = f.Text("note", engine.TextMax), f.Text("actor", engine.FieldMax)
	return flag, f.Err()
}

// Record builds the record.
func (o *OwnershipFlag) Record(j *edge.Judge, profile *engine.AgentProfile) (*wire.Ownership, error) {
	var m strictjson.Members
	operator, err := j.FutureOperator(o.id, o.name)
	if err != nil {
		return nil, err
	}
	m.Optional("newOperatorLegalName", o.name)
	m.TextOrNull("note", o.note)
	m.TextOrNull("actor", o.actor)
	common, err := j.Recorded(m, j.OperatorFilter(profile.Operator))
	return &wire.Ownership{Common: common, Agent: profile.Slot, Operator: operator, EffectiveAt: o.effectiveAt}, err
}

// CancelOwnership builds the record that removes an agent's ownership flag.
func CancelOwnership(j *edge.Judge, profile *engine.AgentProfile, grounds edge.Grounds) (*wire.Ownership, error) {
	var m strictjson.Members
	grounds.Write(&m)
	common, err := j.Recorded(m, j.OperatorFilter(profile.Operator))
	return &wire.Ownership{Common: common, Agent: profile.Slot, Cancel: true}, err
}
