package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// registerAgent is POST /v1/agents/register (specification 4.1, decision 34).
func registerAgent(c *call) error {
	f := c.fields()
	var in edge.Registration
	if err := in.Read(&c.judge, &f); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindRegister, refused: c.fleetFull(in.Profile.Fleet), record: func() (any, error) {
		return in.Register(&c.judge)
	}}, nil)
}

// fleetFull tells a full fleet (409) from a full table of agents (503), and
// names a fleet that is not there.
func (c *call) fleetFull(fleet engine.FleetSlot) func(wire.Result) error {
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
	if err := c.judge.WriteCredential(m, c.judge.AgentCredential(l), l.Text("kid")); err != nil {
		return err
	}
	m.Raw("fleetId", l.Raw("fleetId"))
	l.CopyTo(m, "credentialVersion", "operatorEIN", "parentAgentId", "rootAgentId", "depth", "effectivePolicy",
		"previousStatus", "superseded", "overlapUntil")
	m.Raw("warnings", l.Raw("warnings"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
