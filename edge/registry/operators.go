package registry

import (
	"cmp"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// NamedOperator is the operator that a body names by its id, by its legal name, or by both.
type NamedOperator struct{ id, name string }

// ReadNamedOperator reads operatorId and operatorLegalName.
func ReadNamedOperator(f *strictjson.Fields) NamedOperator {
	return NamedOperator{f.Text("operatorId", engine.FieldMax), f.Name("operatorLegalName")}
}

// Find returns the operator, if the caller may see it.
func (o NamedOperator) Find(j *edge.Judge) (*engine.OperatorProfile, error) {
	if o.id == "" && o.name == "" {
		return nil, edge.MissingField("operatorLegalName", "operatorLegalName or operatorId is required")
	}
	operator, err := j.KnownOperator(cmp.Or(o.id, o.name))
	if err == nil && o.name != "" && engine.LegalText(o.name) != operator.LegalName {
		err = edge.Refuse("operator_mismatch", "operatorLegalName is not the name of this operatorId")
	}
	return operator, err
}

// OperatorLimit is what all agents of an operator may spend on a UTC day.
type OperatorLimit struct {
	limit   *engine.USD // nil: the policy's limit holds.
	grounds edge.Grounds
}

// ReadOperatorLimit reads the limit; null removes it.
func ReadOperatorLimit(f *strictjson.Fields) (OperatorLimit, error) {
	var o OperatorLimit
	if f.Get("dailyLimitUSDC") != nil {
		limit, _ := f.RequiredUSD("dailyLimitUSDC")
		o.limit = &limit
	} else if !f.Has("dailyLimitUSDC") {
		f.Missing("dailyLimitUSDC")
	}
	o.grounds = edge.ReadGrounds(f)
	return o, f.Err()
}

// Record builds the record. A higher limit needs the role policy. The log refuses it if the
// operator's revision has changed meanwhile.
func (o *OperatorLimit) Record(j *edge.Judge, operator *engine.OperatorProfile) (*wire.OperatorLimit, error) {
	policy := j.Terms.Policy()
	before, after := policy.LimitOf(operator.DailyLimit), policy.LimitOf(o.limit)
	if err := checkWidening(j, engine.LimitWidens(before, after), o.grounds.Reason); err != nil {
		return nil, err
	}
	var m strictjson.Members
	m.Text("operatorLegalName", operator.LegalName)
	m.Limit("dailyLimitUSDC", after)
	m.Limit("previousDailyLimitUSDC", before)
	o.grounds.Write(&m)
	common, err := j.Recorded(m)
	return &wire.OperatorLimit{Common: common, Operator: operator.Slot, BaseRev: operator.Rev, Limit: o.limit}, err
}
