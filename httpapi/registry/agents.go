package registry

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// registerAgent is POST /v1/agents/register (specification 4.1, decision 34).
func registerAgent(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	var in edge.Registration
	if err := in.Read(&c.Judge, &f); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindRegister, Refused: fleetFull(c, in.Profile.Fleet), Record: func() (any, error) {
		return in.Register(&c.Judge)
	}}, nil)
}

// fleetFull tells a full fleet (409) from a full table of agents (503), and names a fleet
// that does not exist.
func fleetFull(c *border.Request, fleet engine.FleetSlot) func(wire.Result) error {
	return func(r wire.Result) error {
		if r.Refusal != wire.RefusedFull || fleet == 0 {
			return nil
		}
		view, err := c.Judge.View()
		if err != nil {
			return err
		}
		if row, _, known := view.Fleet(fleet); known && row.Agents >= engine.FleetAgentsMax {
			return border.Conflict("limit_reached", "the fleet has as many agents as a fleet may have", nil)
		}
		return nil
	}
}

// renderAgent answers a registration, a delegate's creation or a re-issue.
func renderAgent(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusCreated
	c.SetHeader("Location", "/v1/agents/"+l.Text("agentId"))
	if !c.Replayed && l.Text("ofacAtIssuance") == "MATCH" {
		registeredWithMatch.Inc()
	}
	m.Text("agentId", l.Text("agentId"))
	if err := c.Judge.Terms.WriteCredential(m, c.Judge.Terms.AgentCredential(l), l.Text("kid")); err != nil {
		return err
	}
	m.Raw("fleetId", l.Raw("fleetId"))
	l.CopyTo(m, "operatorId", "similarOperators", "credentialVersion", "operatorEIN", "parentAgentId", "rootAgentId", "depth", "effectivePolicy",
		"previousStatus", "superseded", "overlapExpiresAt")
	l.CopyTo(m, "effectiveVelocity", "publicKeyThumbprint")
	m.Raw("warnings", l.Raw("warnings"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// createDelegate is POST /v1/delegates/create (decision 40): the child inherits what the
// call leaves out, and may only narrow the rest.
func createDelegate(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	var in edge.Delegation
	if err := in.Read(&c.Judge, &f); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindRegister, Record: func() (any, error) { return in.Build(&c.Judge) },
		Refused: func(r wire.Result) error { return delegateRefused(c, r, in.Parent) },
	}, nil)
}

// delegateRefused tells a parent with too many children (409) from a full table
// of agents (503).
func delegateRefused(c *border.Request, r wire.Result, parent engine.AgentSlot) error {
	if r.Refusal != wire.RefusedFull {
		return nil
	}
	view, err := c.Judge.View()
	if err != nil {
		return err
	}
	if row, _, known := view.Agent(parent); known && row.Children >= engine.ChildrenMax {
		return border.Conflict("limit_reached", "the parent has as many delegates as an agent may have", nil)
	}
	return nil
}

// reissueAgent is POST /v1/agents/{id}/reissue (decision 35): a new credential version of
// the same agent. After a plain renewal older tokens stay valid for the overlap; after a
// change of operator, wallet, policy or model they do not.
func reissueAgent(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	var in edge.Reissue
	if err := in.Read(&c.Judge, &f, profile); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindReissue, Refused: revokedForGood, Record: func() (any, error) {
		return in.Build(&c.Judge)
	}}, nil)
}

// revokedForGood answers for a credential that cannot be issued again.
func revokedForGood(r wire.Result) error {
	if r.Refusal != wire.RefusedTransition {
		return nil
	}
	return &border.Error{
		Status: http.StatusConflict, Code: "invalid_transition", Message: "a revoked credential is not issued again: register anew",
		Extra: border.StatusMember(r),
	}
}
