package desk

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Confirmation is a second person's answer to a proposal: he confirms or withdraws it. Who he
// is says his key alone.
type Confirmation struct{ reason string }

// ReadConfirmation reads why a person confirms or withdraws.
func ReadConfirmation(f *strictjson.Fields) (Confirmation, error) {
	return Confirmation{f.Text("reason", engine.FieldMax)}, f.Err()
}

// Record builds the record that confirms the proposal of a leaf. Its members stand in the
// act's leaf behind those of the proposer.
func (s *Confirmation) Record(j *edge.Judge, proposal uint64, id string, hash [32]byte) (*wire.Confirm, error) {
	var fragment, said strictjson.Members
	said.Text("confirmedProposal", id)
	said.Hex("confirmedHash", hash[:])
	fragment.Text("confirmedByKey", j.Caller().ID)
	fragment.Optional("confirmedFor", s.reason)
	signed, err := j.Sign(&fragment, edge.SecondMember, edge.Statement{Act: "confirm", Said: said})
	if err != nil {
		return nil, err
	}
	if signed != nil {
		fragment.Join(said)
	}
	common := j.Common(fragment)
	common.Signed = signed
	return &wire.Confirm{Common: common, Proposal: proposal}, nil
}

// Review returns the confirmation as a disposition of the proposed kind. Its label is the
// person of the key.
func (s *Confirmation) Review(j *edge.Judge, disposition uint8) Review {
	return Review{disposition: disposition, reviewedBy: whose(j), notes: s.reason}
}

// Withdrawal builds the record that withdraws the proposal of a leaf.
func (s *Confirmation) Withdrawal(j *edge.Judge, proposal uint64) (*wire.Withdraw, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", whose(j))
	fragment.Optional("reason", s.reason)
	fragment.Text("reviewedByKey", j.Caller().ID)
	j.Actor(&fragment)
	return &wire.Withdraw{Common: j.Common(fragment), Proposal: proposal}, nil
}

// whose names the person of the caller's key; for a key without one, the key.
func whose(j *edge.Judge) string {
	caller := j.Caller()
	if caller.Person != "" {
		return cutText(caller.Person)
	}
	if caller.Name != "" {
		return cutText(caller.Name)
	}
	return caller.ID
}
