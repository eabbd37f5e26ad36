package registry

import (
	"railguard/edge"
	"railguard/edge/registry"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// retireFleet is DELETE /v1/fleets/{id}: a fleet without agents gives its row back.
func retireFleet(c *border.Request) (border.Answer, error) {
	fleet, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindRetire, Record: func() (any, error) { return registry.RetireFleet(&c.Judge, fleet) },
		Refused: func(r wire.Result) error {
			if r.Refusal == wire.RefusedTransition {
				return border.Conflict("invalid_transition", "the fleet has agents: take them out, or retire them", nil)
			}
			return nil
		},
	}, nil)
}

// retireAgent is DELETE /v1/agents/{id}: an agent that was revoked long ago gives its row back.
func retireAgent(c *border.Request) (border.Answer, error) {
	agent, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindRetire, Record: func() (any, error) { return registry.RetireAgent(&c.Judge, agent) },
		Refused: func(r wire.Result) error {
			if r.Refusal == wire.RefusedTransition {
				return border.Conflict("invalid_transition", "only an agent without delegates that was revoked 91 days ago is retired", border.StatusMember(r))
			}
			return nil
		},
	}, nil)
}

// renderRetired answers both.
func renderRetired(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "fleetId", "operatorId")
	m.Bool("retired", true)
	m.Text("retiredAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
