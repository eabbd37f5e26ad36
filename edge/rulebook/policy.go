package rulebook

import (
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Policy is a policy that shall replace the one in force.
type Policy struct {
	Document []byte // Compact JSON, in the order of the caller.
	Parsed   *engine.Policy
	Reason   string
}

// Record builds the record. A policy that lets through what was stopped before needs a reason
// (decision 52). match is the version that must be in force; 0: any.
func (p *Policy) Record(j *edge.Judge, match uint64) (*wire.PolicyPut, error) {
	current := j.Terms.Policy()
	if match != 0 && match != current.Version {
		return nil, edge.MarkChangeable(edge.VersionMismatch(current.Version)) // The same call may have put it in force before.
	}
	widened := engine.Widens(current, p.Parsed)
	if len(widened) > 0 && strings.TrimSpace(p.Reason) == "" {
		refused := edge.MissingField("reason", "reason is required: the policy lets through what was stopped before")
		for _, param := range widened {
			refused.Details = append(refused.Details, strictjson.Finding{Param: param, Message: "is wider than before"})
		}
		return nil, refused
	}
	var m strictjson.Members
	m.Raw("policy", p.Document)
	m.Texts("widened", widened)
	m.TextOrNull("reason", p.Reason)
	var said strictjson.Members
	edge.Hashed(&said, "policy", p.Document)
	said.TextOrNull("reason", p.Reason)
	common, err := j.RecordedSigned(m, edge.Statement{Act: "policy.activated", Said: said})
	return &wire.PolicyPut{Common: common, Base: current.Version, Policy: *p.Parsed, Acts: engine.ActsOf(current, p.Parsed)}, err
}
