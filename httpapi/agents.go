package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// registerAgent is POST /v1/agents/register (specification 4.1, decision 34).
func registerAgent(c *call) (Answer, error) {
	f := c.fields()
	var in edge.Registration
	if err := in.Read(&c.judge, &f); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindRegister, refused: fleetFull(c, in.Profile.Fleet), record: func() (any, error) {
		return in.Register(&c.judge)
	}}, nil)
}

// fleetFull tells a full fleet (409) from a full table of agents (503), and
// names a fleet that is not there.
func fleetFull(c *call, fleet engine.FleetSlot) func(wire.Result) error {
	return func(r wire.Result) error {
		if r.Refusal != wire.RefusedFull || fleet == 0 {
			return nil
		}
		view, err := c.judge.View()
		if err != nil {
			return err
		}
		if row, _, known := view.Fleet(fleet); known && row.Agents >= engine.FleetAgentsMax {
			return conflict("limit_reached", "the fleet has as many agents as a fleet may have", nil)
		}
		return nil
	}
}

// renderAgent answers a registration, a delegate's creation or a re-issue.
func renderAgent(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.status = http.StatusCreated
	c.header("Location", "/v1/agents/"+l.Text("agentId"))
	if !c.replayed && l.Text("ofacAtIssuance") == "MATCH" {
		registeredWithMatch.Inc()
	}
	m.Text("agentId", l.Text("agentId"))
	if err := c.judge.Terms.WriteCredential(m, c.judge.Terms.AgentCredential(l), l.Text("kid")); err != nil {
		return err
	}
	m.Raw("fleetId", l.Raw("fleetId"))
	l.CopyTo(m, "credentialVersion", "operatorEIN", "parentAgentId", "rootAgentId", "depth", "effectivePolicy",
		"previousStatus", "superseded", "overlapUntil")
	l.CopyTo(m, "effectiveVelocity")
	m.Raw("warnings", l.Raw("warnings"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// createDelegate is POST /v1/delegates/create (decision 40): a child that
// inherits what it leaves out and may only narrow the rest.
func createDelegate(c *call) (Answer, error) {
	f := c.fields()
	var in edge.Delegation
	if err := in.Read(&c.judge, &f); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{
		kind: wire.KindRegister, record: func() (any, error) { return in.Build(&c.judge) },
		refused: func(r wire.Result) error { return delegateRefused(c, r, in.Parent) },
	}, nil)
}

// delegateRefused tells a parent with too many children (409) from a full table
// of agents (503).
func delegateRefused(c *call, r wire.Result, parent engine.AgentSlot) error {
	if r.Refusal != wire.RefusedFull {
		return nil
	}
	view, err := c.judge.View()
	if err != nil {
		return err
	}
	if row, _, known := view.Agent(parent); known && row.Children >= engine.ChildrenMax {
		return conflict("limit_reached", "the parent has as many delegates as an agent may have", nil)
	}
	return nil
}

// reissueAgent is POST /v1/agents/{id}/reissue (decision 35): a new credential
// version of the same agent. A plain renewal keeps older tokens good for the
// overlap; a change of operator, wallet, policy or model does not.
func reissueAgent(c *call) (Answer, error) {
	profile, err := c.pathAgent()
	if err != nil {
		return Answer{}, err
	}
	f := c.fields()
	var in edge.Reissue
	if err := in.Read(&c.judge, &f, profile); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindReissue, refused: revokedForGood, record: func() (any, error) {
		return in.Build(&c.judge)
	}}, nil)
}

// revokedForGood is the answer for a credential that cannot be issued again.
func revokedForGood(r wire.Result) error {
	if r.Refusal != wire.RefusedTransition {
		return nil
	}
	return &Error{
		Status: http.StatusConflict, Code: "invalid_transition", Message: "a revoked credential is not issued again: register anew",
		Extra: statusMember(r),
	}
}
